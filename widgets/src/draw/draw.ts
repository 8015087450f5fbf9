/** A picture in the browser, of what Python did not draw: the same marks and class names as `views/picture.py`. Knows nothing of states. */
import type { Kind } from "../color";
import { s } from "../dom";
import { axes, cells, count, lead, one, shape, stats, TRUTH } from "../format";
import type { Steps } from "../step";
import { depth } from "../tints";
import type { ArrayView, Recording } from "../wire";
import { hatch } from "./hatch";
import { layered, type Point } from "./layered";
import type { Item, Scene } from "./tree";

export const ADVANCE = 0.602; // of a monospaced character, in parts of its size
const [SPREAD, SWING, PILL, CELL, MARGIN] = [28, 24, 22, 25, 12];
const TILE = [360, 220] as const;
const LONGEST = 24; // characters of a word in a glyph
const [MOST_CELLS, MOST_COLUMNS] = [12, 6];
const SIGNS: Record<string, string> = {
  unbroadcast: "M-5,-5H5M-5,-1.5H5M0,-1.5V5M-3,2L0,5L3,2",
  route: "M-6,0H-2.5L1.5,-4H6M3.5,-6.5L6,-4L3.5,-1.5M-2.5,0L0.5,3.8H2.5",
};

export interface Drawing {
  readonly svg: SVGSVGElement;
  /** Per edge every use that it stands for. */
  readonly uses: ReadonlyMap<Element, readonly string[]>;
}

interface Row {
  readonly uses: readonly string[];
  readonly stub: boolean;
  port: number;
  turn: number;
  meet: Point;
}

/** What belongs to one item, with places relative to its glyph's centre. */
interface Station {
  readonly item: Item;
  readonly kind: string;
  readonly root: boolean;
  /** The seed comes in on a wire of its own. */
  readonly seed: boolean;
  readonly word: string;
  readonly size: number;
  readonly w: number;
  readonly h: number;
  readonly name: string;
  readonly rows: Row[];
  readonly marks: SVGElement[];
  left: number;
  right: number;
  half: number;
}

const f = (v: number) => String(Math.round(v * 10) / 10);
const wide = (text: string, size: number) => [...text].length * ADVANCE * size;
const cut = (text: string) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);

export function draw(rec: Recording, steps: Steps, scene: Scene): Drawing {
  const { roots } = rec.header;
  const taken = new Set(scene.wires.map((wire) => wire.tail));
  const into = scene.items.map((_, i): Row[] =>
    (scene.stubs.get(i) ?? []).map((uses) => ({ uses, stub: true, port: 0, turn: 0, meet: [0, 0] })),
  );
  const rowOf = scene.wires.map((wire) => {
    const row: Row = { uses: wire.uses, stub: false, port: 0, turn: 0, meet: [0, 0] };
    into[wire.head]?.push(row);
    return row;
  });
  const order = (row: Row) => row.uses[0]?.split(":").map(Number) ?? [];
  for (const rows of into)
    rows.sort((a, b) => (order(a)[0] ?? 0) - (order(b)[0] ?? 0) || (order(a)[1] ?? 0) - (order(b)[1] ?? 0));
  const stations = scene.items.map((item, i) => {
    const root = roots.some((r) => scene.owner[r] === i);
    return station(rec, steps, item, root, taken.has(i), into[i] ?? []);
  });
  const links = scene.wires.map((wire, i) => ({ tail: wire.tail, head: wire.head, port: rowOf[i]?.port ?? 0 }));
  const placed = layered(
    stations.map((t) => ({ width: t.left + t.right, height: 2 * t.half })),
    links,
  );
  const centre = stations.map((t, i): Point => {
    const [x, y] = placed.centres[i] ?? [0, 0];
    return [x + MARGIN - (t.left + t.right) / 2 + t.left, y + MARGIN];
  });
  const uses = new Map<Element, readonly string[]>();
  const layers: [Point, Point, SVGElement[]][][] = [[], [], []];
  scene.wires.forEach((wire, i) => {
    const [tail, head, row] = [stations[wire.tail], stations[wire.head], rowOf[i]];
    const [at, to] = [centre[wire.tail], centre[wire.head]];
    if (!tail || !head || !row || !at || !to) return;
    const way = (placed.ways[i] ?? []).map(([x, y]): Point => [x + MARGIN, y + MARGIN]);
    const knots: Point[] = [
      [at[0] + tail.w / 2 + (tail.kind === "scope" ? 4 : 0), at[1]],
      ...way,
      [to[0] + row.turn, to[1] + row.port],
      [to[0] + row.meet[0], to[1] + row.meet[1]],
    ];
    const edge = s("g", { class: "tv-edge", "data-edge": wire.uses[0], "data-state": "idle" }, ...strands(knots));
    uses.set(edge, wire.uses);
    const [xs, ys] = [knots.map((k) => k[0]), knots.map((k) => k[1])];
    layers[0]?.push([[Math.min(...xs), Math.min(...ys)], [Math.max(...xs), Math.max(...ys) + 12], [edge]]);
  });
  stations.forEach((t, i) => {
    const [x, y] = centre[i] ?? [0, 0];
    const low: Point = [x - t.left, y - t.half];
    const high: Point = [x + t.right, y + t.half];
    const node = glyph(rec, t, x, y);
    layers[1]?.push([low, high, [...stubs(t, x, y), node]]);
    for (const mark of t.marks) mark.setAttribute("transform", `translate(${f(x)},${f(y)})`);
    layers[2]?.push([low, high, t.marks]);
  });
  const [width, height] = [placed.width + 2 * MARGIN, placed.height + 2 * MARGIN];
  const svg = s(
    "svg",
    { class: "tv-graph", viewBox: `0 0 ${f(width)} ${f(height)}`, width: f(width), height: f(height) },
    ...layers.flatMap((layer, depth) => tiles(layer, depth)),
  );
  return { svg, uses };
}

/** Marks in tiles by where they stand; each tile says what it covers. */
function tiles(layer: readonly [Point, Point, SVGElement[]][], depth: number): SVGGElement[] {
  const found = new Map<string, { box: number[]; marks: SVGElement[] }>();
  for (const [[l, t], [r, b], marks] of layer) {
    if (!marks.length) continue;
    const key = `${Math.floor((l + r) / 2 / TILE[0])} ${Math.floor((t + b) / 2 / TILE[1])}`;
    const tile = found.get(key) ?? { box: [l, t, r, b], marks: [] };
    found.set(key, tile);
    const [L = l, T = t, R = r, B = b] = tile.box;
    tile.box = [Math.min(L, l), Math.min(T, t), Math.max(R, r), Math.max(B, b)];
    tile.marks.push(...marks);
  }
  return [...found.values()].map(({ box, marks }) =>
    s("g", { class: "tv-tile", "data-layer": depth, "data-box": box.map(Math.round).join(" ") }, ...marks),
  );
}

/** Forward wire, backward wire beside it, and what lights up when it is active. */
function strands(knots: readonly Point[]): SVGElement[] {
  const forward = path(knots, 0);
  const [x, y] = knots.at(-1) ?? [0, 0];
  const [x0, y0] = knots[0] ?? [0, 0];
  const back = path([[x0 + 8, y0], ...knots.slice(1)], 5);
  return [
    s("path", { class: "tv-band", d: back }),
    s("path", { class: "tv-wire", d: forward }),
    s("path", { class: "tv-head", d: `M${f(x)},${f(y)}l-8,-3.3v6.6z` }),
    s("path", { class: "tv-back", d: back }),
    s("path", { class: "tv-backhead", d: `M${f(x0 + 1)},${f(y0 + 5)}l9,-5v10z` }),
  ];
}

/** S-curves from knot to knot, each leaving and arriving along the flow; `below` moves the whole to its right-hand side. */
function path(knots: readonly Point[], below: number): string {
  const [first = [0, 0], ...rest] = knots;
  let [x, y] = first;
  let d = `M${f(x)},${f(y + below)}`;
  for (const [nx, ny] of rest) {
    if (Math.abs(ny - y) < 0.5) d += `H${f(nx)}`;
    else {
      // On the slope the parallel is moved sideways too, so that it does not run into the forward wire.
      const half = (nx - x) / 2;
      const aside = below && Math.abs(ny - y) > Math.abs(nx - x) / 2 ? (ny > y ? -below : below) : 0;
      d += `C${f(x + half + aside)},${f(y + below)} ${f(nx - half + aside)},${f(ny + below)} ${f(nx)},${f(ny + below)}`;
    }
    [x, y] = [nx, ny];
  }
  return d;
}

/** The words and the room of an item. */
function station(rec: Recording, steps: Steps, item: Item, root: boolean, taken: boolean, rows: Row[]): Station {
  const leaves = taken || root;
  const n = rec.header.nodes[item.node];
  const kind = item.group ? item.group.kind : (n?.kind ?? "op");
  const value = n ? rec.array(n.value) : null;
  const lone = kind === "constant" && !n?.name;
  let word = item.group ? item.group.label : kind === "op" ? n?.label || n?.op || "" : (n?.name ?? kind);
  if (lone) word = value?.data && value.size === 1 ? one(value.data) : "const";
  word = cut(word);
  const name = item.group
    ? kind === "scope"
      ? `${count(item.group.members.length)} nodes`
      : ""
    : kind === "op"
      ? cut(n?.name ?? "")
      : "";
  const size = [...word].length <= 3 && !lone ? 18 : 14;
  const text = wide(word, size);
  const [w, hh] =
    kind === "op"
      ? [text <= 24 ? 42 : Math.max(46, text + (size === 18 ? 18 : 26)), 42]
      : kind === "constant"
        ? [Math.max(28, text + 14), 28]
        : kind === "fold"
          ? [text + 28, 34]
          : kind === "scope"
            ? [Math.max(84, text + 28), 46]
            : [Math.max(54, text + 28), 42];
  const saved = { input: false, output: false };
  for (const slot of Object.values(n?.saved_from ?? {})) saved[slot < 0 ? "output" : "input"] = true;
  const gap = saved.input ? 7 : 0;
  const marks: SVGElement[] = [];
  const made: Station = {
    seed: root && !taken,
    item,
    kind,
    root,
    word,
    size,
    w,
    h: hh,
    name,
    rows,
    marks,
    left: 0,
    right: 0,
    half: 0,
  };

  let below = hh / 2 + 4;
  let left = w / 2 + gap + (rows.length ? 10 : 8);
  const spread = rows.length > 12 ? 16 : SPREAD;
  const step = rows.length === 2 ? SPREAD : Math.min(SPREAD, 30 / Math.max(1, rows.length - 1));
  rows.forEach((row, i) => {
    const off = (i - (rows.length - 1) / 2) * step;
    const r = hh / 2;
    const edge = kind === "op" ? w / 2 - r + Math.sqrt(Math.max(0, r * r - off * off)) : w / 2;
    row.port = (i - (rows.length - 1) / 2) * spread;
    row.meet = [-edge - (Math.abs(off) < 9 ? gap : 0), off];
    const straight = Math.abs(row.port - off) < 0.5;
    row.turn = straight ? row.meet[0] : -w / 2 - gap - SWING;
    let x = row.turn - (straight ? 12 : 2);
    const share = n ? (steps.edges.get(row.uses[0] ?? "")?.share ?? -1) : -1;
    for (const sign of ["unbroadcast", "route"]) {
      const has = share >= 0 && (sign === "route" ? (rec.share.route[share] ?? -1) >= 0 : rec.summed(share).length > 0);
      if (!has) continue;
      x -= PILL + 4;
      marks.push(
        s(
          "g",
          { class: "tv-badge", "data-badge": sign, "data-on": row.uses[0], "data-future": "" },
          s("title", {}, sign === "route" ? "routed" : `summed over ${axes(rec.axes(share))}`),
          s("rect", { class: "tv-pill", x: f(x), y: f(row.port - PILL / 2), width: PILL, height: PILL, rx: PILL / 2 }),
          s("path", { class: "tv-sign", d: SIGNS[sign], transform: `translate(${f(x + PILL / 2)},${f(row.port)})` }),
        ),
      );
    }
    if (row.stub) x -= 16 + ahead(row);
    left = Math.max(left, -x + 4);
  });
  if (rows.length) below = Math.max(below, (rows.at(-1)?.port ?? 0) + 8);

  const start = w / 2 + 10 + (saved.output ? 6 : 0);
  let right = w / 2;
  if (n && value && !(lone && value.size === 1)) {
    const label = labelled(rec, "value", value, start, (height) => -10 - height);
    marks.push(s("g", { "data-value": item.node }, ...label.parts));
    right = Math.max(right, start + label.width);
    below = Math.max(below, 10 + label.height);
  }
  const last = rec.array(n?.cotangent) ?? rec.array(rec.share.total[n?.shares.at(-1) ?? -1]);
  if (n && last && (n.shares.length || root)) {
    const label = labelled(rec, "gradient", last, start, () => 15);
    const { form } = label;
    marks.push(s("g", { "data-total": item.node, "data-form": form, "data-state": "idle" }, ...label.parts));
    right = Math.max(right, start + label.width);
    below = Math.max(below, 15 + label.height);
  }
  if (leaves && n && n.shares.length > 1) {
    const words = `Σ ${n.shares.length}/${n.shares.length}`;
    const pill = Math.max(PILL, 14 + 7.4 * words.length);
    const x = Math.max(right + 8, w / 2 + 30);
    marks.push(
      s(
        "g",
        {
          class: "tv-badge",
          "data-badge": "fork",
          "data-fork": item.node,
          "data-count": n.shares.length,
          "data-future": "",
        },
        s("rect", { class: "tv-pill", x: f(x), y: -PILL / 2, width: f(pill), height: PILL, rx: PILL / 2 }),
        s(
          "text",
          { class: "tv-pilltext", x: f(x + pill / 2), y: 4.4, "font-size": 12, "text-anchor": "middle" },
          words,
        ),
      ),
    );
    right = x + pill;
  } else if (leaves) right = Math.max(right + 6, w / 2 + 20 + (saved.output ? 6 : 0));
  if (root) right += 12;
  const named = wide(name, root ? 14 : 12) / 2 + 4;
  if (name) below = Math.max(below, hh / 2 + 24);
  Object.assign(made, { left: Math.max(left, named), right: Math.max(right, named), half: below + 2 });
  if (saved.input) marks.push(diamond(-w / 2 - 1));
  if (saved.output) marks.push(diamond(w / 2 + 1));
  return made;
}

const diamond = (x: number) => s("path", { class: "tv-saved", d: `M${f(x)},-7l5,7l-5,7l-5,-7z` });

/** An array as cells, one number or statistics. */
function labelled(rec: Recording, kind: Kind, array: ArrayView, x: number, top: (height: number) => number) {
  const { size } = array;
  const columns = array.shape.at(-1) ?? 1;
  const sense = kind === "gradient" ? "∂ " : "";
  const word = (className: string, text: string, more: Record<string, string | number>) =>
    s("text", { class: `${className} tv-${kind}`, "font-size": 14, ...more }, text);
  if (array.data && size > 1 && size <= MOST_CELLS && columns <= MOST_COLUMNS && columns > 0) {
    const words = cells(array.data);
    const truth = array.dtype === TRUTH;
    const cell = Math.max(45, Math.ceil(ADVANCE * 14 * Math.max(...words.map((t) => t.length))) + 11);
    const mark = kind === "gradient" ? 16 : 0;
    const [rows, height] = [size / columns, (size / columns) * CELL];
    const y = top(height);
    const parts: SVGElement[] = mark
      ? [word("tv-mark", "∂", { x: f(x + 10), y: f(y + height / 2 + 5), "text-anchor": "end" })]
      : [];
    words.forEach((text, i) => {
      const v = Number(array.data?.[i]);
      const [cx, cy] = [x + mark + (i % columns) * cell, y + Math.floor(i / columns) * CELL];
      const hue = truth ? v && "true" : Number.isNaN(v) ? "nan" : `${kind[0]}${v >= 0 ? "pos" : "neg"}`;
      const rect = s("rect", { class: `tv-cell tv-${hue}`, x: f(cx), y: f(cy), width: cell, height: CELL });
      rect.style.setProperty("--tv-tint", `${depth(rec, kind, v)}%`);
      const odd = v === 0 ? " tv-zero" : Number.isNaN(v) ? " tv-nan" : Number.isFinite(v) ? "" : " tv-inf";
      parts.push(
        rect,
        word(`tv-num tv-in${odd}`, text, { x: f(cx + cell - 6), y: f(cy + 17.5), "text-anchor": "end" }),
      );
    });
    const frame = { x: f(x + mark - 0.5), y: f(y - 0.5), width: f(columns * cell + 1), height: f(rows * CELL + 1) };
    parts.push(s("rect", { class: `tv-frame tv-${kind}`, rx: 1.5, ...frame }));
    return { form: "cells", parts, width: mark + columns * cell, height };
  }
  if (size === 1 && array.data) {
    const text = one(array.data);
    const y = f(top(18) + 14);
    const inside = s("tspan", { class: `tv-num tv-${kind}` }, text);
    const label = s("text", { class: `tv-mark tv-${kind}`, "font-size": 14, x: f(x), y }, sense, inside);
    return { form: "number", parts: [label], width: Math.max(76, wide(sense + text, 14)), height: 18 };
  }
  const [dims, text, sign] = [shape(array.shape), stats(array), lead(array, kind === "gradient" ? "∂" : "·")];
  const height = kind === "value" ? 34 : 18;
  const y = top(height);
  const inside = s("tspan", { class: `tv-num tv-${kind}` }, text);
  const parts: SVGElement[] = [
    s("text", { class: `tv-mark tv-${kind}`, "font-size": 14, x: f(x), y: f(y + height - 4) }, sign, inside),
  ];
  if (kind === "value") parts.unshift(s("text", { class: "tv-dims", "font-size": 12, x: f(x), y: f(y + 12) }, dims));
  return { form: "stats", parts, width: Math.max(110, wide(sign + text, 14), wide(dims, 12)), height };
}

function glyph(rec: Recording, t: Station, x: number, y: number): SVGGElement {
  const { item, kind, w, h: hh } = t;
  const n = rec.header.nodes[item.node];
  const round = kind === "op" || kind === "fold" ? hh / 2 : kind === "scope" ? 6 : 3;
  const box = (className: string, grow: number, rx: number, dx = 0, dy = 0) =>
    s("rect", {
      class: className,
      x: f(-w / 2 - grow + dx),
      y: f(-hh / 2 - grow + dy),
      width: f(w + 2 * grow),
      height: f(hh + 2 * grow),
      rx,
    });
  const outline: Record<string, string> = {
    parameter: `M${f(10 - w / 2)},${-hh / 2}H${f(w / 2 - 10)}L${f(w / 2)},0L${f(w / 2 - 10)},${hh / 2}H${f(10 - w / 2)}L${f(-w / 2)},0Z`,
    detached: `M${f(8 - w / 2)},${-hh / 2}H${f(w / 2)}L${f(w / 2 - 8)},${hh / 2}H${f(-w / 2)}Z`,
  };
  const d = outline[kind];
  const inside = item.group ? `${count(item.group.members.length)} nodes` : "";
  const said = item.group
    ? `${kind === "scope" ? `scope ${item.group.key.slice(6)}` : "fold"} ${inside}`
    : `${n?.op ?? ""}${n?.name || kind === "constant" ? ` ${n?.name || t.word}` : ""} ${shape(n?.shape ?? [])}`;
  const lines = n ? [said + ` ${n.dtype}`, n.scope && `in ${n.scope}`] : [`${said}: click to open`];
  return s(
    "g",
    {
      ...(item.group
        ? { "data-group": item.group.key, "data-members": spans(item.group.members), "aria-expanded": "false" }
        : { "data-node": item.node }),
      class: `tv-node tv-kind-${kind}${t.root ? " tv-root" : ""}`,
      "data-state": "idle",
      tabindex: "-1",
      role: "button",
      "aria-label": said,
      transform: `translate(${f(x)},${f(y)})`,
    },
    s("title", {}, lines.filter(Boolean).join("\n")),
    ...(t.seed
      ? [
          s(
            "g",
            { class: "tv-seed" },
            s("path", { class: "tv-wire", d: `M${f(w / 2)},0H${f(t.right)}` }),
            s("path", { class: "tv-back", d: `M${f(w / 2 + 10)},5H${f(t.right)}` }),
            s("path", { class: "tv-backhead", d: `M${f(w / 2 + 1)},5l9,-5v10z` }),
          ),
        ]
      : []),
    box("tv-halo", 7, round + 7),
    kind === "scope" && box("tv-card", 0, round, 4, -4),
    d ? s("path", { class: "tv-shape", d }) : box("tv-shape", 0, round),
    s("path", { class: "tv-hatch", d: hatch(4 - w / 2, 4 - hh / 2, w - 8, hh - 8, 6, 4) }),
    t.root && box("tv-inner", -4, Math.max(2, round - 4)),
    ...letters(t, said),
    " ", // or a reader would run the two together
    t.name &&
      s(
        "text",
        { class: "tv-name", "font-size": t.root ? 14 : 12, x: 0, y: f(hh / 2 + 19), "text-anchor": "middle" },
        t.name,
      ),
  );
}

/** The words of a glyph. A letter that stands for an op is not what its button is called, and speech input would stumble over it: it is seen through a `use`. */
function letters({ word, size }: Station, said: string): SVGElement[] {
  const look = { class: "tv-label", "font-size": size, x: 0, y: size > 16 ? 6.2 : 5, "text-anchor": "middle" };
  if (!/[\p{L}\p{N}]/u.test(word) || said.split(" ").includes(word)) return [s("text", look, word)];
  const id = `tv-word-${encodeURIComponent(word).replace(/%/g, "-")}`;
  return [s("defs", {}, s("text", { id }, word)), s("use", { href: `#${id}`, ...look })];
}

/** Ids as `3-17 20`. */
function spans(ids: readonly number[]): string {
  const found: [number, number][] = [];
  for (const id of ids) {
    const last = found.at(-1);
    if (last && last[1] === id - 1) last[1] = id;
    else found.push([id, id]);
  }
  return found.map(([a, b]) => (a === b ? a : `${a}-${b}`)).join(" ");
}

const rest = ({ uses }: Row) => (uses.length > 1 ? `… ${count(uses.length)} more` : "…");
/** Room for what stands at the beginning of a wire whose operand is not drawn. */
const ahead = (row: Row) => (row.uses.length > 1 ? 6 + wide(rest(row), 14) : 14);

/** The last pieces of wires whose operands are not drawn, each after an ellipsis. */
function stubs(t: Station, x: number, y: number): SVGElement[] {
  return t.rows
    .filter((row) => row.stub)
    .map((row) => {
      const knots: Point[] = [
        [x - t.left + 2 + ahead(row), y + row.port],
        [x + row.turn, y + row.port],
        [x + row.meet[0], y + row.meet[1]],
      ];
      const dots = s(
        "text",
        { class: "tv-dims", "font-size": 14, x: f(x - t.left + 2), y: f(y + row.port + 4) },
        rest(row),
      );
      const wire = { class: "tv-edge tv-stub", "data-edge": row.uses[0], "data-state": "idle" };
      return s("g", wire, dots, ...strands(knots));
    });
}
