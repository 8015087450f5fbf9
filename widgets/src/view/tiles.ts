/** The marks of a picture in tiles, of which only those in sight are drawn: what is not costs the browser nothing, neither at a step nor while panning. */
import { s } from "../dom";

const [KEPT, MOST] = [64, 96]; // tiles that stay drawn out of sight, as a pass goes to and fro between a node and its operands: usually, and while there is no time
const COLUMN = 720; // px of the picture in which tiles are looked up together: two of the tiles that Python cuts

export type Area = readonly [left: number, top: number, right: number, bottom: number];

/** Marks that are shown or hidden together. */
export class Tile {
  /** Bring each of its marks up to date. */
  readonly marks: (() => void)[] = [];
  off = false;
  /** The step that its marks show. */
  stamp = -1;

  constructor(
    readonly element: SVGGElement | null = null,
    readonly layer = 0,
    private readonly box: readonly number[] = [],
  ) {}

  covers([left, top, right, bottom]: Area): boolean {
    const [l = 0, t = 0, r = 0, b = 0] = this.box;
    return r >= left && l <= right && b >= top && t <= bottom;
  }

  get columns(): [number, number] {
    const [l = 0, , r = 0] = this.box;
    return [Math.floor(l / COLUMN), Math.floor(r / COLUMN)];
  }
}

export class Tiles {
  readonly #known = new Map<Element, Tile>();
  readonly #columns = new Map<number, Tile[]>();
  readonly #layers: SVGGElement[] = [];
  /** Those that are drawn, the one that was in sight last behind all others. */
  readonly #drawn = new Set<Tile>();
  #inSight = 0;
  /** Marks that stand in no tile. */
  readonly #rest = new Tile();
  /** Holds what is out of sight; to be kept under something that is not displayed. Inside the picture `display: none` would cost as much as drawing. */
  readonly parked = s("svg");
  #step = -1;

  constructor(elements: Iterable<SVGGElement>) {
    for (const element of elements) {
      const box = (element.dataset["box"] ?? "").split(" ").map(Number);
      const tile = new Tile(element, Number(element.dataset["layer"]), box);
      this.#known.set(element, tile);
      this.#drawn.add(tile);
      const layer = (this.#layers[tile.layer] ??= s("g"));
      if (!layer.parentNode) element.before(layer);
      layer.append(element);
      const [first, last] = tile.columns;
      for (let k = first; k <= last; k++) {
        const column = this.#columns.get(k);
        if (column) column.push(tile);
        else this.#columns.set(k, [tile]);
      }
    }
  }

  /** The tile in which a mark stands. */
  of(mark: Element): Tile {
    return this.#known.get(mark.parentElement as Element) ?? this.#rest;
  }

  park(): void {
    for (const tile of [...this.#drawn]) this.#turn(tile, false);
  }

  /** All marks that are drawn show this step now, if they showed the one before. */
  stamp(step: number): void {
    for (const tile of [this.#rest, ...this.#drawn]) if (tile.stamp === this.#step) tile.stamp = step;
    this.#step = step;
  }

  /** What is drawn is out of date; `see` brings what is in sight up to date, or here everything is. */
  renew(step: number, everything: boolean): void {
    this.#step = step;
    this.#rest.stamp = -1;
    for (const tile of this.#drawn) tile.stamp = -1; // also where a later step brings single marks up to date
    for (const tile of everything ? [this.#rest, ...this.#drawn] : [this.#rest]) this.#refresh(tile);
  }

  #refresh(tile: Tile): void {
    if (tile.stamp === this.#step) return;
    for (const mark of tile.marks) mark();
    tile.stamp = this.#step;
  }

  #turn(tile: Tile, on: boolean): void {
    if (!on && tile.element?.matches(":focus-within")) return; // away from here it would lose the focus, and no key would be heard
    if (tile.off === on) {
      tile.off = !on;
      (on ? this.#layers[tile.layer] : this.parked)?.append(tile.element as Element);
    }
    this.#drawn.delete(tile);
    if (!on) return;
    this.#drawn.add(tile);
    this.#refresh(tile);
  }

  #touching(area: Area): Set<Tile> {
    const found = new Set<Tile>();
    for (let k = Math.floor(area[0] / COLUMN); k <= Math.floor(area[2] / COLUMN); k++)
      for (const tile of this.#columns.get(k) ?? []) if (tile.covers(area)) found.add(tile);
    return found;
  }

  /** Draw what lies in this area, but for those that may wait; `small` leaves out the layer of numbers. */
  see(area: Area, small: boolean, waits: (tile: Tile) => boolean): void {
    if (small) for (const tile of [...this.#drawn]) if (tile.layer === 2) this.#turn(tile, false);
    this.#inSight = 0;
    for (const tile of this.#touching(area)) {
      if ((small && tile.layer === 2) || (tile.off && waits(tile))) continue;
      this.#inSight++;
      this.#turn(tile, true);
    }
    this.tidy(MOST);
  }

  /** Draw one more tile of this area before it is seen; false where all of it is drawn. */
  prepare(area: Area): boolean {
    for (const tile of this.#touching(area)) {
      if (!tile.off) continue;
      this.#turn(tile, true);
      return true;
    }
    return false;
  }

  /** Put away what has not been in sight for long. */
  tidy(spare = KEPT): void {
    for (const tile of this.#drawn) {
      if (this.#drawn.size <= this.#inSight + spare) return;
      this.#turn(tile, false);
    }
  }
}
