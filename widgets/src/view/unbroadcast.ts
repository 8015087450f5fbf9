/** A share before and after its axes are summed, with the axes tinted. */
import { axes, cells, shape } from "../format";
import { shortTitle } from "../step";
import { shade } from "../tints";
import { h, s, type Child, type Virtual } from "../virtual";
import type { ArrayView, Recording } from "../wire";
import { pieces } from "./formula";
import { fits, grid, array as shown } from "./cells";

const [CELL, HEIGHT, GAP, BETWEEN] = [56, 34, 6, 8];
const LETTER = 8; // px of a letter of 13 px monospace
const ROOM = 446; // px that the pane shows hardly smaller

/** The picture for one summed share; text for what is too large to draw. */
export function unbroadcast(rec: Recording, share: number): Virtual {
  const summed = rec.axes(share);
  const target = rec.share.target[share] ?? -1;
  const local = rec.array(rec.share.local[share]);
  const value = rec.array(rec.share.value[share]);
  const name = shortTitle(rec, target, 20);
  if (!local || !value) return h("div");
  const words = `local share ${shape(local.shape)}, summed over ${axes(summed)}, becomes the share ${shape(value.shape)} for ${name}`;
  const drawn = fits(local) && grid(local.shape)[1] <= 5 && grid(local.shape)[0] <= 6;
  return h(
    "div",
    {},
    h(
      "p",
      { class: "tv-said" },
      h("mark", {}, `summed over ${axes(summed)}`),
      `: ${shape(local.shape)} becomes ${shape(value.shape)}`,
    ),
    (drawn && strips(rec, share, local, value, words)) ||
      h(
        "div",
        { class: "tv-before-after" },
        shown(rec, "gradient", local, "local share"),
        h("span", { class: "tv-sum" }, "Σ ↓"),
        shown(rec, "gradient", value, `share for ${name}`),
      ),
    ruler(rec, share, local.shape, name),
  );
}

/** Whether all axes that run down the table are summed, or none: then each sum is a strip of it. */
function together(shape: readonly number[], summed: readonly number[]): boolean {
  return new Set(shape.slice(0, -1).flatMap((n, axis) => (n === 1 ? [] : summed.includes(axis)))).size < 2;
}

/** The flat position of the entry into whose sum an entry of the share goes. */
function goesTo(i: number, shape: readonly number[], summed: readonly number[]): number {
  let [at, step] = [0, 1];
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const n = shape[axis] ?? 1;
    if (!summed.includes(axis)) {
      at += (i % n) * step;
      step *= n;
    }
    i = Math.floor(i / n);
  }
  return at;
}

/** The flat position of the entry that the formula spells out. */
function spelledOut(rec: Recording, share: number, shape: readonly number[]): number {
  const at = (pieces(rec, share, "entry")?.join("").match(/\d+/g) ?? []).map(Number);
  return shape.reduce((flat, n, i) => flat * n + (at[i] ?? 0), 0);
}

/** None where the numbers are too long for the pane. */
function strips(rec: Recording, share: number, local: ArrayView, value: ArrayView, words: string): Virtual | null {
  if (!local.data || !value.data) return null;
  const summed = rec.axes(share);
  const [rows, columns] = grid(local.shape);
  // Axes of the table as drawn: a vector has its only axis to the right.
  const last = local.shape.length - 1;
  const leading = summed.filter((axis) => axis < last);
  const whole = together(local.shape, summed);
  const down = whole && leading.length > 0;
  const across = whole && summed.includes(last);
  const [before, after] = [cells(local.data), cells(value.data)];
  const wide = Math.max(CELL, Math.max(...before.map((w) => w.length)) * 9.7 + 14);
  const wideAfter = Math.max(CELL, Math.max(...after.map((w) => w.length)) * 9.7 + 14);
  const [x0, y0] = [down ? 42 : 8, across ? 48 : 28];
  const spelled = spelledOut(rec, share, value.shape);
  const parts: Child[] = [];
  const write = (kind: string, x: number, y: number, words: string, anchor = "end", more = {}) =>
    parts.push(s("text", { class: `tv-${kind}`, x, y, "text-anchor": anchor, ...more }, words));
  const box = (x: number, y: number, w: number, v: number, word: string, first: boolean) => {
    parts.push(
      s("rect", {
        style: Number.isFinite(v) ? `fill: ${shade(rec, "gradient", v)}` : "",
        class: `tv-cell${first ? " tv-first" : ""}`,
        x,
        y,
        width: w,
        height: HEIGHT,
        rx: 3,
        "data-special": Number.isNaN(v) ? "nan" : Number.isFinite(v) ? null : "inf",
      }),
    );
    write(v === 0 ? "num tv-zero" : "num", x + w - 8, y + HEIGHT / 2 + 5.5, word);
  };
  const axis = (d: string) => parts.push(s("path", { class: "tv-axis", d }));
  const px = (c: number) => x0 + c * (wide + GAP);
  // Where the rows of a sum are not one strip, the last two axes stand apart as a block, and the terms of the sum that is spelled out are ringed.
  const block = whole ? rows : (local.shape.at(-2) ?? 1);
  const py = (r: number) => y0 + r * (HEIGHT + GAP) + Math.floor(r / block) * BETWEEN;
  // One strip per sum along what is summed together; the first is the one that is spelled out.
  const strip = (x: number, y: number, w: number, hh: number, first: boolean) =>
    parts.push(
      s("rect", {
        class: `tv-strip${first ? " tv-first" : ""}`,
        x: x - 3,
        y: y - 5,
        width: w + 6,
        height: hh + 10,
        rx: 7,
      }),
    );
  const [fullWidth, fullHeight] = [columns * (wide + GAP) - GAP, py(rows - 1) + HEIGHT - y0];
  if (x0 + fullWidth > ROOM) return null;
  const head = x0 + 76 + shape(local.shape).length * LETTER; // where the line above it ends
  if (down && across) strip(px(0), py(0), fullWidth, fullHeight, true);
  else if (whole) {
    // Last, so that its outline lies above those of its neighbours.
    const order = [...Array(down ? columns : rows).keys()].filter((k) => k !== spelled).concat(spelled);
    for (const k of order)
      if (down) strip(px(k), py(0), wide, fullHeight, k === spelled);
      else strip(px(0), py(k), fullWidth, HEIGHT, k === spelled);
  }
  local.data.forEach((v, i) =>
    box(
      px(i % columns),
      py(Math.floor(i / columns)),
      wide,
      v,
      before[i] ?? "",
      !whole && goesTo(i, local.shape, summed) === spelled,
    ),
  );
  if (down) {
    axis(`M${x0 - 14},${y0 - 4}V${y0 + fullHeight - 2}m-5,-6l5,8l5,-8`);
    write("axis-name", 0, 0, axes(leading), "middle", {
      transform: `translate(${x0 - 22},${y0 + fullHeight / 2}) rotate(-90)`,
    });
  }
  if (across) {
    const y = y0 - 12;
    axis(`M${x0 - 2},${y}H${x0 + fullWidth}m-6,-5l8,5l-8,5`);
    write("axis-name", x0 + fullWidth / 2, y - 6, axes([last]), "middle");
  }
  write("part", x0 - 3, 13, "local share", "start");
  write("dims", Math.max(x0 + fullWidth + 3, head), 13, shape(local.shape));

  const [rowsAfter, columnsAfter] = grid(value.shape);
  const afterWidth = columnsAfter * (wideAfter + 2) - 2;
  const afterHeight = rowsAfter * (HEIGHT + 2) - 2;
  const kept = value.shape.length === local.shape.length;
  const arrow = Math.max(x0 + fullWidth, head) + 8;
  const beside = arrow + (kept && down ? 56 : 42);
  // Where both have no room side by side the share stands below: nothing is drawn smaller.
  const widest = Math.max(afterWidth, summed.length > 1 ? 176 : 128); // of the share, and of what became of the axes
  const below = beside + widest > ROOM;
  const [from, middle] = below ? [x0 + fullWidth / 2, y0 + fullHeight + 10] : [arrow, y0 + fullHeight / 2];
  const [x2, y2] = below ? [x0, middle + 60] : [beside, middle - afterHeight / 2];
  parts.push(
    s("path", {
      class: "tv-arrow",
      d: "M0,0h28m-7,-6l8,6l-8,6",
      transform: `translate(${from},${middle}) rotate(${below ? 90 : 0})`,
    }),
  );
  write("sigma", from + 9, below ? middle + 20 : middle - 9, "Σ", "start");
  write("part", x2, y2 - 12, "share", "start");
  write("dims", x2 + Math.max(afterWidth, 38 + shape(value.shape).length * LETTER), y2 - 12, shape(value.shape));
  value.data.forEach((v, i) =>
    box(
      x2 + (i % columnsAfter) * (wideAfter + 2),
      y2 + Math.floor(i / columnsAfter) * (HEIGHT + 2),
      wideAfter,
      v,
      after[i] ?? "",
      i === spelled,
    ),
  );
  if (kept && down) {
    axis(`M${x2 - 5},${y2 - 3}h-5v${afterHeight + 6}h5`);
    write("axis-name", x2 - 14, y2 + afterHeight / 2 + 5, "1");
  }
  const added = local.shape.length - value.shape.length;
  const gone = summed.filter((axis) => !wrongly(axis, local.shape, value.shape));
  const fates = [
    [gone.filter((axis) => axis < added), "dropped"],
    [gone.filter((axis) => axis >= added), "kept as size 1"],
  ] as const;
  let low = y2 + afterHeight + 18;
  for (const [which, fate] of fates) {
    if (!which.length) continue;
    write("fate", x2, low, `${axes(which)} ${which.length === 1 ? "is" : "are"} ${fate}`, "start");
    low += 16;
  }
  const w = Math.max(x0 + fullWidth, x2 + widest) + 6;
  const hh = Math.max(y0 + fullHeight + 8, low - 8);
  return s(
    "svg",
    {
      class: "tv-strips",
      viewBox: `0 0 ${w.toFixed(0)} ${hh.toFixed(0)}`,
      width: w.toFixed(0),
      height: hh.toFixed(0),
      role: "img",
      "aria-label": words,
    },
    ...parts,
  );
}

/** Whether the operand has a size of its own along an axis of the share, so that forward repeated nothing there. */
function wrongly(axis: number, full: readonly number[], own: readonly number[]): boolean {
  return (own[axis - (full.length - own.length)] ?? 1) !== 1;
}

/** The broadcasting rule: shapes aligned from the right, the summed axes lit. */
function ruler(rec: Recording, share: number, full: readonly number[], name: string): Virtual {
  const summed = rec.axes(share);
  const target = rec.share.target[share] ?? -1;
  const consumer = rec.share.consumer[share] ?? -1;
  const own = rec.header.nodes[target]?.shape ?? [];
  const row = (title: string, sizes: readonly number[], mine: boolean) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, title),
      ...full.map((_, i) => {
        const size = sizes[i - (full.length - sizes.length)];
        return h(
          "td",
          { class: summed.includes(i) ? "tv-summed" : null, "data-mine": mine ? "" : null },
          size === undefined ? "–" : String(size),
        );
      }),
    );
  const dropped = summed.filter((axis) => axis < full.length - own.length);
  const kept = summed.filter((axis) => axis >= full.length - own.length && !wrongly(axis, full, own));
  const why = [
    dropped.length
      ? `${name} has no ${axes(dropped)}: forward repeats it, backward adds the repeats and drops ${dropped.length === 1 ? "the axis" : "them"}.`
      : "",
    kept.length
      ? `${name} has size 1 along ${axes(kept)}: backward adds along ${kept.length === 1 ? "it" : "them"} and keeps size 1.`
      : "",
    // Only a broken engine does this.
    ...summed
      .filter((axis) => wrongly(axis, full, own))
      .map((axis) => `${name} has its own size ${full[axis] ?? 0} along axis ${axis}, which must not be summed.`),
  ];
  return h(
    "div",
    { class: "tv-ruler" },
    h(
      "table",
      { "aria-label": "shapes aligned from the right" },
      h("tbody", {}, row(name, own, true), row(shortTitle(rec, consumer, 20), full, false)),
    ),
    h("p", {}, why.filter(Boolean).join(" ")),
  );
}
