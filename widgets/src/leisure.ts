/** Work for when the browser has nothing else to do, or after a while. */
const LEAST = 5; // ms that have to be left for one piece of work
const LATEST = 200; // ms after which a piece is done though there was no time

type Go = (deadline: Pick<IdleDeadline, "didTimeout" | "timeRemaining">) => void;

/** Where a browser tells of no such time (Safari), pieces come one by one. */
function soon(go: Go): void {
  if (typeof requestIdleCallback === "function") requestIdleCallback(go, { timeout: LATEST });
  else setTimeout(go, LATEST / 4, { didTimeout: true, timeRemaining: () => 0 });
}

/** A function that takes over the next work, in pieces, and drops what is left of the last. */
export function leisure(): (pieces: Iterator<void>) => void {
  let serial = 0;
  return (pieces) => {
    const mine = ++serial;
    const go: Go = (deadline) => {
      if (mine !== serial) return;
      while (deadline.didTimeout || deadline.timeRemaining() >= LEAST) {
        if (pieces.next().done) return;
        if (deadline.didTimeout) break;
      }
      soon(go);
    };
    soon(go);
  };
}
