/** Slanting lines through a rectangle, as the data of a path. */
export function hatch(x: number, y: number, w: number, h: number, gap: number, first: number): string {
  let d = "";
  for (let at = first; at < w + h; at += gap) {
    const [a, b] = [Math.max(0, at - h), Math.min(w, at)];
    if (b > a)
      d += `M${+(x + a).toFixed(1)},${+(y + at - a).toFixed(1)}L${+(x + b).toFixed(1)},${+(y + at - b).toFixed(1)}`;
  }
  return d;
}
