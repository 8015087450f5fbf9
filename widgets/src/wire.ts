/** Bytes of the container to a record that can be looked at. Knows no DOM. */
import { Bools } from "./format";
import { nodesOf, type NodeEntry } from "./nodes";
import { SCHEMA_VERSION, STEP_KINDS, type ColumnEntry, type PayloadHeader, type StepKind } from "./trace";

export type { NodeEntry } from "./nodes";

export type Numbers =
  | Float64Array
  | Float32Array
  | Int32Array
  | Int8Array
  | Int16Array
  | Uint8Array
  | Uint16Array
  | Uint32Array;

export interface Statistics {
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly norm: number;
  readonly nan: number;
  readonly posinf: number;
  readonly neginf: number;
  readonly zeros: number;
}

export interface Picture {
  readonly data: Numbers;
  readonly rows: number;
  readonly columns: number;
}

/** One array of the record: in full, or as figures and a picture. */
export interface ArrayView {
  readonly index: number;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly size: number;
  /** null where only the summary has travelled. */
  readonly data: Numbers | null;
  readonly picture: Picture | null;
  readonly stats: Statistics;
}

const MAGIC = [0x89, 0x54, 0x56, 0x5a, 0x0d, 0x0a, 0x1a, 0x0a];
const PREFIX = 32;

/** Undo gzip with what every current browser (and Node) brings. */
export async function gunzip(bytes: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/** The header with its nodes one by one. */
export type Header = Omit<PayloadHeader, "nodes"> & { readonly nodes: NodeEntry[] };

export class Recording {
  readonly header: Header;
  readonly kinds: readonly StepKind[];
  readonly stepNode: Numbers;
  readonly stepShare: Numbers;
  readonly stepBefore: Numbers;
  readonly stepAfter: Numbers;
  /** Per step the position of its caption's template. */
  readonly captions: Numbers;
  /** Per node the position of what captions call it. */
  readonly called: Numbers;
  readonly share: Record<
    "consumer" | "slot" | "target" | "local" | "value" | "total" | "route" | "summed_axes",
    Numbers
  >;
  private readonly places: { dtype: Numbers; shape: Numbers; offset: Numbers };
  private readonly made = new Map<number, ArrayView>();
  private readonly doubles: number;
  private readonly sizes: readonly number[];
  /** The body as float64: every array begins where one could. */
  private readonly whole: Float64Array;

  constructor(
    travelled: PayloadHeader,
    private readonly body: ArrayBuffer,
    private readonly start: number,
  ) {
    const { steps, shares, arrays } = travelled;
    this.header = { ...travelled, nodes: nodesOf(travelled.nodes, (entry) => this.column(entry)) };
    this.kinds = [...this.column(steps.kind)].map((k) => STEP_KINDS[k] ?? "pull");
    this.stepNode = this.column(steps.node);
    this.stepShare = this.column(steps.share);
    this.stepBefore = this.column(steps.before);
    this.stepAfter = this.column(steps.after);
    this.captions = this.column(steps.caption);
    this.called = this.column(travelled.view.called);
    this.share = {
      consumer: this.column(shares.consumer),
      slot: this.column(shares.slot),
      target: this.column(shares.target),
      local: this.column(shares.local),
      value: this.column(shares.value),
      total: this.column(shares.total),
      route: this.column(shares.route),
      summed_axes: this.column(shares.summed_axes),
    };
    this.places = {
      dtype: this.column(arrays.dtype),
      shape: this.column(arrays.shape),
      offset: this.column(arrays.offset),
    };
    this.doubles = arrays.dtypes.indexOf("<f8");
    this.sizes = arrays.shapes.map((shape) => shape.reduce((a, b) => a * b, 1));
    this.whole = new Float64Array(body, start, Math.floor((body.byteLength - start) / 8));
  }

  get length(): number {
    return this.kinds.length;
  }

  column(entry: ColumnEntry): Numbers {
    const at = this.start + entry.offset;
    switch (entry.type) {
      case "i1":
        return new Int8Array(this.body, at, entry.count);
      case "i4":
        return new Int32Array(this.body, at, entry.count);
      case "f4":
        return new Float32Array(this.body, at, entry.count);
      case "f8":
        return new Float64Array(this.body, at, entry.count);
      case "d4":
        return summed(new Int32Array(this.body.slice(at, at + 4 * entry.count)));
      case "d8":
        return summed(new Float64Array(this.body.slice(at, at + 8 * entry.count)));
    }
  }

  private chains: { first: Int32Array; next: Int32Array } | undefined;

  /** The shares that a node sends, by slot: an operand that is used all over has too many shares to look through. */
  sent(id: number): number[] {
    const { consumer, slot } = this.share;
    if (!this.chains) {
      const first = new Int32Array(this.header.nodes.length).fill(-1);
      const next = Int32Array.from(consumer, (from, share) => {
        const before = first[from] ?? -1;
        first[from] = share;
        return before;
      });
      this.chains = { first, next };
    }
    const found: number[] = [];
    for (let share = this.chains.first[id] ?? -1; share >= 0; share = this.chains.next[share] ?? -1) found.push(share);
    return found.sort((a, b) => (slot[a] ?? 0) - (slot[b] ?? 0));
  }

  /** The axes over which a share was summed. */
  axes(share: number): readonly number[] {
    return this.header.shares.axes[this.share.summed_axes[share] ?? -1] ?? [];
  }

  /** The same, but none of a share that was set by hand. */
  summed(share: number): readonly number[] {
    return this.byHand(share) ? [] : this.axes(share);
  }

  byHand(share: number): boolean {
    return this.header.shares.by_hand.includes(share);
  }

  /** The number of an array that is one float64, as nearly all of a very long pass are; null for every other. */
  single(index = -1): number | null {
    const kind = this.places.dtype[index];
    if (kind === undefined || kind !== this.doubles || this.sizes[this.places.shape[index] ?? -1] !== 1) return null;
    return this.whole[(this.places.offset[index] ?? 0) / 8] ?? null;
  }

  /** The array at a position of the table; null for -1. */
  array(index = -1): ArrayView | null {
    if (index < 0) return null;
    const known = this.made.get(index);
    if (known) return known;
    const dtype = this.header.arrays.dtypes[this.places.dtype[index] ?? -1] ?? "?";
    const shape = this.header.arrays.shapes[this.places.shape[index] ?? -1] ?? [];
    const size = shape.reduce((a, b) => a * b, 1);
    const offset = this.places.offset[index] ?? -1;
    const summary = this.header.arrays.summaries[index];
    const data = offset < 0 ? null : numbers(dtype, this.body, this.start + offset, size);
    const picture = summary && { data: this.column(summary.picture), rows: summary.rows, columns: summary.columns };
    let stats: Statistics | null = summary ? listed(this.column(summary.stats)) : null;
    const view: ArrayView = {
      index,
      dtype,
      shape,
      size,
      data,
      picture: picture ?? null,
      get stats() {
        return (stats ??= counted(data));
      },
    };
    this.made.set(index, view);
    return view;
  }
}

/** Numbers out of their differences. */
function summed<T extends Int32Array | Float64Array>(differences: T): T {
  let sum = 0;
  for (let i = 0; i < differences.length; i++) differences[i] = sum += differences[i] ?? 0;
  return differences;
}

function listed(row: Numbers): Statistics {
  const [min = NaN, max = NaN, mean = NaN, norm = NaN, nan = 0, posinf = 0, neginf = 0, zeros = 0] = row;
  return { min, max, mean, norm, nan, posinf, neginf, zeros };
}

/** The figures of an array that has travelled in full. */
export function counted(data: Numbers | null): Statistics {
  let [min, max, sum, nan, posinf, neginf, zeros, finite] = [Infinity, -Infinity, 0, 0, 0, 0, 0, 0];
  for (const x of data ?? []) {
    if (Number.isNaN(x)) nan++;
    else if (x === Infinity) posinf++;
    else if (x === -Infinity) neginf++;
    else {
      finite++;
      min = Math.min(min, x);
      max = Math.max(max, x);
      sum += x;
      if (x === 0) zeros++;
    }
  }
  if (!finite) [min, max, sum] = [NaN, NaN, NaN];
  // Scaled by the largest, so that squares neither overflow nor vanish.
  const top = Math.max(Math.abs(min), Math.abs(max));
  let squares = 0;
  for (const x of data ?? []) if (Number.isFinite(x) && top > 0) squares += (x / top) ** 2;
  return { min, max, mean: sum / finite, norm: top ? top * Math.sqrt(squares) : top, nan, posinf, neginf, zeros };
}

function numbers(dtype: string, body: ArrayBuffer, at: number, size: number): Numbers | null {
  switch (dtype) {
    case "<f8":
      return new Float64Array(body, at, size);
    case "<f4":
      return new Float32Array(body, at, size);
    case "<i4":
      return new Int32Array(body, at, size);
    case "<i2":
      return new Int16Array(body, at, size);
    case "|i1":
      return new Int8Array(body, at, size);
    case "|b1":
      return new Bools(body, at, size);
    case "|u1":
      return new Uint8Array(body, at, size);
    case "<u2":
      return new Uint16Array(body, at, size);
    case "<u4":
      return new Uint32Array(body, at, size);
    case "<i8":
      return Float64Array.from(new BigInt64Array(body, at, size), Number);
    case "<u8":
      return Float64Array.from(new BigUint64Array(body, at, size), Number);
    default:
      return null;
  }
}

/** JSON without the marks that reorder text, with which a name or a line of code could pretend to be another; the twin of `views/text.py`. */
const ordered = (json: string) =>
  json.replace(/(\\\\)|\\u(?:061c|20(?:0[ef]|2[89a-e]|6[6-9]))/g, (_, escaped?: string) => escaped ?? "\ufffd");

/** The record in a container that `payload.build` made (after gzip). */
export function decode(content: ArrayBuffer): Recording {
  const head = new DataView(content);
  if (content.byteLength < PREFIX || MAGIC.some((byte, i) => head.getUint8(i) !== byte)) {
    throw new Error("this is not a tensorviz trace");
  }
  const version = head.getUint32(8, true);
  if (version !== SCHEMA_VERSION) {
    throw new Error(`this trace has format ${version}, this stepper reads ${SCHEMA_VERSION}`);
  }
  const textBytes = Number(head.getBigUint64(16, true));
  const bodyBytes = Number(head.getBigUint64(24, true));
  if (content.byteLength < PREFIX + textBytes + bodyBytes) throw new Error("this trace is cut off");
  const text = new TextDecoder().decode(new Uint8Array(content, PREFIX, textBytes));
  return new Recording(JSON.parse(ordered(text)) as PayloadHeader, content, PREFIX + textBytes);
}

/** A copy in its own buffer: what a comm hands over is a view into a larger message, at any offset. */
export function ownBytes(view: DataView | ArrayBuffer | Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes =
    view instanceof ArrayBuffer ? new Uint8Array(view) : new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  const copy = new Uint8Array(bytes.byteLength);
  copy.set(bytes);
  return copy;
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}
