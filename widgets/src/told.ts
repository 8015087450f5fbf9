/** The sentences of the steps: templates with what each step's row says put in, as `views/captions.py` fills them. Knows no DOM. */
import { count, one } from "./format";
import type { Recording } from "./wire";

const FIELD = /\{\{|\{(\w+)\}/g;
const NUMBER = 9; // characters of the longest number that is usual
const MANY = 5_000; // steps from which the longest sentence is estimated

/** The sentence of a step. */
export function told(rec: Recording, k: number): string | undefined {
  const template = rec.header.steps.captions[rec.captions[k] ?? -1];
  return template?.replace(FIELD, (open, name: string | undefined) => (name ? field(rec, k, name) : open.slice(1)));
}

function field(rec: Recording, k: number, name: string): string {
  const node = rec.stepNode[k] ?? -1;
  const share = rec.stepShare[k] ?? -1;
  switch (name) {
    case "node":
      return title(rec, node);
    case "symbol": {
      const words = title(rec, node);
      return rec.header.nodes[node]?.name || /^[\p{XID_Start}_]\p{XID_Continue}*$/u.test(words) ? words : `(${words})`;
    }
    case "sender":
      return title(rec, rec.share.consumer[share] ?? -1);
    case "arrived":
      return count((rec.header.nodes[node]?.shares.indexOf(share) ?? -1) + 1);
    case "before":
      return single(rec, rec.stepBefore[k]);
    case "after":
      return single(rec, rec.stepAfter[k]);
    case "cotangent":
      return single(rec, rec.header.nodes[node]?.cotangent);
    case "value":
    case "total":
      return single(rec, rec.share[name][share]);
    default:
      return "?";
  }
}

function title(rec: Recording, node: number): string {
  return rec.header.view.titles[rec.called[node] ?? -1] ?? "?";
}

function single(rec: Recording, index = -1): string {
  return one(rec.array(index)?.data);
}

/** Characters of the longest sentence; of a long pass about as many. */
export function longest(rec: Recording): number {
  const most = (lengths: Iterable<number>) => {
    let found = 0;
    for (const n of lengths) found = Math.max(found, n);
    return found;
  };
  if (rec.length <= MANY) return most(Array.from(rec.captions, (_, k) => told(rec, k)?.length ?? 0));
  const name = most(rec.header.view.titles.map((words) => words.length));
  return most(
    rec.header.steps.captions.map(
      (template) =>
        template.replace(FIELD, (_, f?: string) => "x".repeat(/node|symbol|sender/.test(f ?? "") ? name : NUMBER))
          .length,
    ),
  );
}
