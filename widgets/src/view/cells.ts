/** An array as numbered heat cells, as a small picture, or as figures. */
import { DECADES, logStrength, strength, STRONGEST, type Kind } from "../color";
import { Bools, cells as words, count, number, one, shape, stats, TRUTH } from "../format";
import { isLog, largest, shade } from "../tints";
import { h, type Attributes, type Child, type Virtual } from "../virtual";
import type { ArrayView, Recording } from "../wire";

const MOST_COLUMNS = 16; // wider than the pane scrolls
const MOST_ROWS = 12;
const [FEW_ROWS, FEW_LETTERS] = [4, 12]; // what has room in a cell of the ledger
const [PICTURE, THIN] = [96, 12]; // px of the longer side, and the least of the shorter one: a line would not be seen as a picture
const SOFT = 6; // how fast the tints of a picture rise: it has no numbers, so it keeps more of the differences between large ones

/** Rows and columns of the table of an array: the last axis runs to the right, all others down. */
export function grid(sizes: readonly number[]): [number, number] {
  if (!sizes.length) return [1, 1];
  return [sizes.slice(0, -1).reduce((a, b) => a * b, 1), sizes.at(-1) ?? 1];
}

export function fits(array: ArrayView | null): boolean {
  if (!array?.data || !array.size) return false;
  const [rows, columns] = grid(array.shape);
  return rows <= MOST_ROWS && columns <= MOST_COLUMNS;
}

/** One heat cell. */
export function cell(rec: Recording, kind: Kind, value: number, word: string, more: Attributes = {}): Virtual {
  const odd = Number.isNaN(value) ? "nan" : Number.isFinite(value) ? null : value > 0 ? "inf" : "ninf";
  // Below the end of the log scale: not zero, though it has no tint.
  const clipped = isLog(rec) && value !== 0 && Math.abs(value) < largest(rec, kind) / 10 ** DECADES;
  return h(
    "td",
    {
      class: value === 0 ? "tv-zero" : null,
      "data-special": clipped ? "clipped" : odd,
      title: String(value),
      style: odd ? "" : `background: ${shade(rec, kind, value)}`,
      ...more,
    },
    word,
  );
}

/** What a table and each of its cells are given besides. */
export interface Dress {
  readonly whole?: Attributes;
  readonly each?: (index: number, word: string) => Attributes;
}

/** An array in full, small enough to be read. */
export function table(
  rec: Recording,
  kind: Kind,
  array: ArrayView,
  label: string,
  { whole, each }: Dress = {},
): Virtual {
  const [rows, columns] = grid(array.shape);
  const data = array.data ?? new Float64Array(array.size);
  const text = words(data);
  const body = Array.from({ length: rows }, (_, r) =>
    h(
      "tr",
      each ? { role: "row" } : {},
      ...Array.from({ length: columns }, (_, c) => {
        const i = r * columns + c;
        const word = text[i] ?? "";
        const truth = data instanceof Bools && { title: one(data, i), style: data[i] && "background: var(--tv-hair)" };
        return cell(rec, kind, data[i] ?? NaN, word, { ...truth, ...each?.(i, word) });
      }),
    ),
  );
  return h(
    "table",
    { class: `tv-cells tv-${kind}`, "aria-label": `${label} ${shape(array.shape)}`, ...whole },
    h("tbody", {}, ...body),
  );
}

/** A down-sampled picture on a scale of its own, since nothing would be seen of an array beside one of far larger numbers; on the log scale, on that of the pass. */
export function picture(array: ArrayView, kind: Kind, rec?: Recording): Virtual | null {
  const [rows, columns] = array.picture ? [array.picture.rows, array.picture.columns] : grid(array.shape);
  const data = array.picture?.data ?? array.data;
  if (!data || !rows || !columns) return null;
  const unit = Math.max(1, Math.min(12, Math.floor(PICTURE / Math.max(rows, columns))));
  const { min, max } = array.stats;
  const log = rec !== undefined && isLog(rec);
  const top = log ? largest(rec, kind) : Math.max(Math.abs(min), Math.abs(max));
  const paint = (box: HTMLCanvasElement) => {
    const brush = box.getContext?.("2d");
    if (!brush) return;
    const style = getComputedStyle(box);
    const token = (name: string) => style.getPropertyValue(`--tv-${name}`).trim() || "#888";
    const letter = kind === "value" ? "v" : "g";
    const [pos, neg, zero, bad] = [token(`${letter}pos`), token(`${letter}neg`), token("cell0"), token("err")];
    for (let i = 0; i < rows * columns; i++) {
      const value = data[i] ?? 0;
      const [x, y] = [i % columns, Math.floor(i / columns)];
      brush.globalAlpha = 1;
      brush.fillStyle = Number.isFinite(value) ? zero : bad;
      brush.fillRect(x, y, 1, 1);
      if (!Number.isFinite(value) || value === 0) continue;
      brush.globalAlpha = (log ? logStrength(value, top) : strength(value, top, SOFT)) / STRONGEST;
      brush.fillStyle = value > 0 ? pos : neg;
      brush.fillRect(x, y, 1, 1);
    }
  };
  return h("canvas", {
    key: log ? data : array, // on the other scale it is another picture
    class: `tv-picture tv-${kind}`,
    width: columns,
    height: rows,
    role: "img",
    "aria-label": `picture of ${shape(array.shape)}`,
    style: `width: ${Math.max(THIN, columns * unit)}px; height: ${Math.max(THIN, rows * unit)}px`,
    // Drawn when it is on the page: only there do the theme's colours have values.
    made: (box: HTMLCanvasElement) => requestAnimationFrame(() => paint(box)),
    "ontv-theme": (event: Event) => paint(event.currentTarget as HTMLCanvasElement),
  });
}

/** min, mean, max, norm and the counts that matter. */
export function figures(array: ArrayView): Virtual {
  const s = array.stats;
  if (array.dtype === TRUTH) return h("p", {}, stats(array));
  const rows: [string, string, boolean][] = [
    ["min", number(s.min), false],
    ["mean", number(s.mean), false],
    ["max", number(s.max), false],
    ["‖·‖", number(s.norm), false],
    ["zeros", `${count(s.zeros)} of ${count(array.size)}`, false],
  ];
  if (s.nan) rows.push(["NaN", count(s.nan), true]);
  if (s.posinf) rows.push(["+∞", count(s.posinf), true]);
  if (s.neginf) rows.push(["−∞", count(s.neginf), true]);
  return h(
    "dl",
    { class: "tv-figures" },
    ...rows.flatMap(([a, b, bad]) => [h("dt", {}, a), h("dd", { class: bad ? "tv-bad" : null }, b)]),
  );
}

/** The best way to show an array in the inspector; `whole`: in full. */
export function array(
  rec: Recording,
  kind: Kind,
  view: ArrayView | null,
  label: string,
  dress?: Dress,
  whole = fits(view),
): Virtual {
  if (!view) return h("p", { class: "tv-dim" }, "none yet");
  const head = h(
    "div",
    { class: `tv-title ${kind === "value" ? "tv-v" : "tv-g"}` },
    label,
    h("span", { class: "tv-dim tv-mono" }, ` ${shape(view.shape)}`),
  );
  if (view.size === 0) return h("div", { class: "tv-array" }, head, h("p", { class: "tv-dim" }, "no entries"));
  const body: Child[] = whole
    ? [h("div", { class: "tv-scroll" }, table(rec, kind, view, label, dress))]
    : [
        h("div", { class: "tv-side" }, picture(view, kind, rec), figures(view)),
        !isLog(rec) && view.dtype !== TRUTH && h("p", { class: "tv-dim tv-small" }, "the picture is on its own scale"),
      ];
  return h("div", { class: "tv-array" }, head, ...body);
}

/** An array in a cell of a table: in full while it is narrow and low, else its norm, and below it what is wrong with it. */
export function brief(view: ArrayView | null, letters = FEW_LETTERS): Child[] {
  if (!view) return ["…"];
  let [rows, columns] = grid(view.shape);
  if (view.data?.length && rows <= FEW_ROWS) {
    const { data } = view;
    const text = words(data);
    const wide = Math.max(...text.map((w) => w.length));
    const most = letters / (wide + 2);
    // A short vector stands upright where its row has no room: norms of shares do not add.
    if (rows === 1 && columns > most && columns <= FEW_ROWS) [rows, columns] = [columns, rows];
    if (columns <= most) {
      const word = (i: number) => {
        const said = (i % columns ? "  " : "") + (text[i] ?? "").padStart(rows * columns > 1 ? wide : 0);
        return data[i] === 0 ? h("span", { class: "tv-zero" }, said) : said;
      };
      const all = [...data.keys()].map(word);
      return [...Array(rows).keys()].map((r) =>
        h(rows > 1 ? "div" : "span", {}, ...all.slice(r * columns, (r + 1) * columns)),
      );
    }
  }
  const [norm, ...strange] = stats(view).split(" · ");
  return [
    h("span", { class: "tv-norm" }, "‖·‖ "),
    norm ?? "",
    ...strange.map((word) => h("small", { class: "tv-bad" }, word)),
  ];
}
