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
  /** The browser has time for so many pieces. */
  const idle = (count: number, didTimeout = false) => {
    const [handle, go] = [...waiting].at(-1) ?? [0, () => {}];
    waiting.delete(handle);
    go({ didTimeout, timeRemaining: () => (count-- > 0 ? 12 : 1) });
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
  idle(9);
  expect(done).toEqual(["a", "b", "x", "y"]);
  expect(waiting.size).toBe(0);
  later(pieces(done, "late", "later"));
  idle(0);
  expect(done.at(-1)).toBe("y");
  idle(0, true);
  expect(done.at(-1)).toBe("late");
});

it("goes piece by piece where the browser tells of no such time", () => {
  vi.stubGlobal("requestIdleCallback", undefined);
  vi.useFakeTimers();
  const done: string[] = [];
  leisure()(pieces(done, "a", "b"));
  expect(done).toEqual([]);
  vi.advanceTimersByTime(60);
  expect(done).toEqual(["a"]);
  vi.advanceTimersByTime(60);
  expect(done).toEqual(["a", "b"]);
  vi.useRealTimers();
});
