/** Work for when the browser has nothing else to do; where it offers no such time (Safari) it is left out. */
const LEAST = 5; // ms that have to be left for one piece of work

/** A function that takes over the next work, in pieces, and drops what is left of the last. */
export function leisure(): (pieces: Iterator<void>) => void {
  let handle = 0;
  return (pieces) => {
    globalThis.cancelIdleCallback?.(handle);
    const go = (deadline: IdleDeadline) => {
      do if (deadline.timeRemaining() < LEAST) return void (handle = requestIdleCallback(go));
      while (!pieces.next().done);
    };
    handle = globalThis.requestIdleCallback?.(go) ?? 0;
  };
}
