import { afterEach, expect, it, vi } from "vitest";
import { leisure } from "../src/leisure";

afterEach(() => vi.unstubAllGlobals());

function* pieces(done: string[], ...names: string[]) {
  for (const name of names) {
    done.push(name);
    yield;
  }
}

it("works while there is time, and drops what was wanted before", () => {
  const waiting = new Map<number, IdleRequestCallback>();
  let serial = 0;
  vi.stubGlobal("requestIdleCallback", (f: IdleRequestCallback) => (waiting.set(++serial, f), serial));
  vi.stubGlobal("cancelIdleCallback", (handle: number) => waiting.delete(handle));
  /** The browser has time for so many pieces. */
  const idle = (count: number) => {
    const [[handle, go] = [0, () => {}]] = waiting;
    waiting.delete(handle);
    go({ didTimeout: false, timeRemaining: () => (count-- > 0 ? 12 : 1) });
  };
  const done: string[] = [];
  const later = leisure();
  later(pieces(done, "a", "b", "c"));
  expect(done).toEqual([]);
  idle(2);
  expect(done).toEqual(["a", "b"]);
  later(pieces(done, "x", "y"));
  idle(9);
  expect(done).toEqual(["a", "b", "x", "y"]);
  expect(waiting.size).toBe(0);
});

it("is left out where the browser has no such time", () => {
  vi.stubGlobal("requestIdleCallback", undefined);
  const done: string[] = [];
  leisure()(pieces(done, "a"));
  expect(done).toEqual([]);
});
