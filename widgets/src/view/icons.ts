/** The few icons, drawn as paths so that no font is needed. */
import { s, type Virtual } from "../virtual";

const PATHS = {
  first: "M3 3h2.4v12H3zM15 3v12L6.4 9z",
  previous: "M13 3v12L4 9z",
  play: "M5.5 3v12L14.5 9z",
  pause: "M5 3h3v12H5zM10 3h3v12h-3z",
  next: "M5 3v12l9-6z",
  last: "M12.6 3H15v12h-2.4zM3 3v12l8.6-6z",
  breakBack: "M8 4v10L1.5 9zM13 5l4 4-4 4-4-4z",
  breakOn: "M10 4v10l6.5-5zM5 5l4 4-4 4-4-4z",
  theme: "M9 2a7 7 0 1 0 0 14A7 7 0 0 0 9 2zm0 1.6v10.8a5.4 5.4 0 0 1 0-10.8z",
  down: "M4 6h10l-5 6z",
  plus: "M8 3h2v5h5v2h-5v5H8v-5H3V8h5z",
  minus: "M3 8h12v2H3z",
  fit: "M2 2h6v2H4v4H2zM10 2h6v6h-2V4h-4zM2 10h2v4h4v2H2zM14 10h2v6h-6v-2h4z",
} as const;

const STROKES = {
  find: "M12 12l4 4M7.5 13a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11z",
  tick: "M3 9.5l4 4 8-9",
  wait: "M9 4.5V9l3.5 2.5M9 2a7 7 0 1 0 0 14A7 7 0 0 0 9 2z",
  ask: "M5.5 6.5a3.5 3.5 0 1 1 5 3.2c-1.2.6-1.5 1.1-1.5 2M9 14.2v1.6",
  present: "M2 3.5h14v8.5H2zM9 12v3M5.5 15.5h7",
  cross: "M4 4l10 10M14 4L4 14",
  unbroadcast: "M4 4.5H14M4 8.2H14M9 8.2V13.6M6 11L9 14L12 11",
  route: "M3 9H6.5L10 5H15M12.5 2.7L15 5L12.5 7.3M6.5 9L9.8 12.8H12.2",
} as const;

export type Icon = keyof typeof PATHS | keyof typeof STROKES;

export function icon(name: Icon): Virtual {
  const filled = name in PATHS;
  const d = filled ? PATHS[name as keyof typeof PATHS] : STROKES[name as keyof typeof STROKES];
  return s(
    "svg",
    { class: filled ? "tv-icon" : "tv-icon tv-stroke", viewBox: "0 0 18 18", "aria-hidden": "true" },
    s("path", { d, "fill-rule": "evenodd" }),
  );
}

/** The path of a stroked icon, centred on 0, for use inside another SVG. */
export function glyph(name: keyof typeof STROKES, x: number, y: number): Virtual {
  return s("g", { transform: `translate(${x - 9},${y - 9})` }, s("path", { class: "tv-glyph", d: STROKES[name] }));
}
