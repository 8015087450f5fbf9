/** The values a rule kept from the forward pass, how long each is needed, and what the pass holds at every step. */
import { bytesOf, heldBy } from "../held";
import { shortTitle } from "../step";
import { h, s, type Virtual } from "../virtual";
import type { Recording } from "../wire";
import { array, fits } from "./cells";
import type { Context } from "./context";
import { slice } from "./slice";

const [WIDTH, HEIGHT] = [420, 64];
const FEW = 3; // readers that are named

/** The nodes whose saved values matter at a step: the inspected one, and the op whose rule made the share. */
export function savers({ rec, steps, store, shown }: Context): number[] {
  const share = store.now.selected === null ? steps.shareAt(store.now.step) : -1;
  return [...new Set([shown(), share >= 0 ? (rec.share.consumer[share] ?? -1) : -1])].filter((id) => id >= 0);
}

export function savedCount(context: Context): number {
  return savers(context).reduce((sum, id) => sum + Object.keys(context.rec.header.nodes[id]?.saved ?? {}).length, 0);
}

export function savedPane(context: Context): Virtual {
  const { rec } = context;
  return h(
    "div",
    {},
    ...savers(context).map((id) => {
      const node = rec.header.nodes[id];
      const entries = Object.entries(node?.saved ?? {});
      const from = (name: string) => {
        const slot = node?.saved_from[name];
        if (slot === undefined) return "made by the rule for itself";
        return slot === -1 ? "its own result" : `operand ${shortTitle(rec, node?.inputs[slot] ?? -1, 20)}`;
      };
      return h(
        "section",
        {},
        h(
          "h3",
          {},
          `Saved by ${shortTitle(rec, id, 24)} `,
          h("span", {}, entries.length ? "for its backward rule" : "nothing: its rule needs no value"),
        ),
        ...entries.map(([name, index]) =>
          h(
            "div",
            {},
            array(rec, "value", rec.array(index), name),
            fits(rec.array(index)) ? null : part(context, index, name),
            h("p", { class: "tv-dim tv-small" }, `${from(name)} · `, ...life(context, index)),
          ),
        ),
      );
    }),
    memory(context),
  );
}

function part(context: Context, index: number, name: string) {
  const view = context.rec.array(index);
  return view && slice(context, "value", view, name);
}

/** Who needs a value, until when, and whether that is over. */
function life({ rec, store, go }: Context, index: number) {
  const found = heldBy(rec).lives.get(index);
  if (!found) return [];
  const { readers, last, bytes } = found;
  if (last < 0) return [`${bytesOf(bytes)}, which no rule of this pass reads`];
  const names = readers.slice(-FEW).map((r) => shortTitle(rec, r.node, 14));
  const more = readers.length > FEW ? `${readers.length - FEW} more, ` : "";
  const over = store.now.step > last;
  return [
    `${bytesOf(bytes)}, needed by ${more}${names.join(", ")}; `,
    over ? "free since " : "for the last time at ",
    h("button", { class: "tv-quiet tv-small", onclick: () => go(last) }, `step ${last + 1}`),
  ];
}

const drawn = new WeakMap<Recording, { both: string; saved: string }>();

/** The outlines of what is held: of both together, and of the saved values below. */
function outlines(rec: Recording): { both: string; saved: string } {
  const known = drawn.get(rec);
  if (known) return known;
  const { saved, gradients, peak } = heldBy(rec);
  const n = rec.length;
  const columns = Math.min(n, WIDTH);
  const [high, low]: [number[], number[]] = [[], []];
  for (let c = 0; c < columns; c++) {
    // The largest of the steps that fall on one column: a peak is not lost.
    let [a, b] = [0, 0];
    for (let k = Math.floor((c * n) / columns); k < Math.floor(((c + 1) * n) / columns); k++) {
      a = Math.max(a, (saved[k] ?? 0) + (gradients[k] ?? 0));
      b = Math.max(b, saved[k] ?? 0);
    }
    high.push(a);
    low.push(b);
  }
  const y = (v: number) => (HEIGHT - (v / (peak || 1)) * (HEIGHT - 4)).toFixed(1);
  const path = (list: number[]) =>
    list.map((v, c) => `${c ? "V" : `M0,${HEIGHT}V`}${y(v)}H${(((c + 1) * WIDTH) / columns).toFixed(1)}`).join("") +
    `V${HEIGHT}Z`;
  const made = { both: path(high), saved: path(low) };
  drawn.set(rec, made);
  return made;
}

/** Bytes held at every step, with the peak and where the pass is now. */
function memory({ rec, store, go }: Context): Virtual {
  const { saved, gradients, peak, peakStep } = heldBy(rec);
  const { step } = store.now;
  const { both, saved: below } = outlines(rec);
  const x = (k: number) => (((k + 0.5) * WIDTH) / Math.max(1, rec.length)).toFixed(1);
  const [now, grads] = [saved[step] ?? 0, gradients[step] ?? 0];
  const words = `${bytesOf(now)} of saved values and ${bytesOf(grads)} of gradients`;
  const most = `${bytesOf(peak)} at step ${peakStep + 1}`;
  return h(
    "section",
    { class: "tv-memory" },
    h("h3", {}, "Held at every step ", h("span", {}, "a saved value goes once no later rule reads it")),
    s(
      "svg",
      {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        width: "100%",
        height: HEIGHT,
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": `bytes held at each of ${rec.length} steps; now ${words}; most ${most}`,
      },
      s("path", { class: "tv-grads", d: both }),
      s("path", { class: "tv-kept", d: below }),
      s("path", { class: "tv-at", d: `M${x(step)},0V${HEIGHT}` }),
    ),
    h(
      "p",
      {},
      "now ",
      h("b", { class: "tv-v" }, bytesOf(now)),
      " saved, ",
      h("b", { class: "tv-g" }, bytesOf(grads)),
      " of gradients · most: ",
      h("button", { class: "tv-quiet", onclick: () => go(peakStep) }, most),
    ),
  );
}
