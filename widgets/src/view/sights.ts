/** What is to be in sight of a picture at a step. Knows nothing of windows. */
import type { Context } from "./context";
import type { Picture } from "./picture";
import type { Sights } from "./stage";

const MOST = 12; // operands, of an op that takes many

const those = <T>(list: readonly (T | undefined)[]) => list.filter((box) => box !== undefined);

/** Nodes, and their numbers where there is room; the first of them counts most. */
export function sight(picture: Picture, ids: readonly number[]): Sights {
  const found = those(ids.map((id) => picture.of(id)));
  return { needed: found.map((element) => picture.box(element)), wanted: those(ids.map((id) => picture.reach(id))) };
}

/**
 * What a step is about: the node in which it happens, and who sends it something or, where its rule runs, its operands, with what stands on the wires between
 * them; and the node that is held where it has room beside that.
 */
export function sights(context: Context, picture: Picture, k: number, selected = context.store.now.selected): Sights {
  const { rec, steps } = context;
  const node = steps.activeNode(k);
  const edge = steps.activeEdge(k);
  const inputs = rec.kinds[k] === "pull" ? (rec.header.nodes[node]?.inputs ?? []).slice(0, MOST) : [];
  const slots = inputs.map((_, slot) => slot);
  const consumer = rec.share.consumer[steps.shareAt(k)] ?? -1;
  const about = sight(picture, [node, consumer, ...inputs]);
  const signs = edge === null ? slots.map((slot) => `${node}:${slot}`) : [edge];
  const needed = [...about.needed, ...those(signs.map((key) => picture.signs(key)))];
  if (selected === null) return { needed, wanted: about.wanted };
  const held = sight(picture, [selected]);
  return { needed: needed.length ? needed : held.needed, wanted: [...about.wanted, ...held.needed, ...held.wanted] };
}
