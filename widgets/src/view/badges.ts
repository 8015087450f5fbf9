/** The verdicts on the picture: a tick, a cross or a question mark at the corner of each node that was checked. */
import { BAD, WORST, type Check } from "../check";
import { s } from "../dom";
import { ranges, type Picture } from "./picture";

const R = 6.5;
const SIGNS = {
  ok: "M-3,0.3l2.2,2.3l3.8,-5",
  bad: "M-2.6,-2.6l5.2,5.2M2.6,-2.6l-5.2,5.2",
  open: "M-1.9,-1.6a1.9,1.9 0 1 1 2.6,1.8q-0.7,0.3 -0.7,1.1M0,3.1v0.4",
};

interface Marked {
  readonly element: SVGGElement;
  readonly ids: readonly number[];
  shown: string;
  sign: SVGGElement | null;
}

/** Draws what has changed since it was called last; a scope or fold has the worst verdict of what is in it. */
export function badges(check: Check, picture: Picture): () => void {
  const marked: Marked[] = [...picture.items()].map((element) => {
    const { node, members } = element.dataset;
    return { element, ids: members === undefined ? [Number(node)] : ranges(members), shown: "", sign: null };
  });
  let version = -1;
  return () => {
    if (check.version === version) return;
    version = check.version;
    for (const mark of marked) {
      const found = new Set(mark.ids.map((id) => check.worst.get(id)));
      const verdict = WORST.find((name) => found.has(name)) ?? "";
      if (mark.shown === verdict) continue;
      mark.shown = verdict;
      mark.sign?.remove();
      mark.sign = null;
      if (!verdict) continue;
      const { w, h } = picture.box(mark.element);
      mark.sign = sign(verdict, 2 - w / 2, 2 - h / 2);
      mark.element.append(mark.sign);
    }
  };
}

function sign(verdict: string, x: number, y: number): SVGGElement {
  const kind = verdict === "ok" ? "ok" : BAD.has(verdict) ? "bad" : "open";
  return s(
    "g",
    { class: "tv-verdict", "data-verdict": verdict, "data-sign": kind, transform: `translate(${x},${y})` },
    s("circle", { r: R }),
    s("path", { d: SIGNS[kind] }),
    s("title", {}, `check: ${verdict}`),
  ) as SVGGElement;
}
