/** What differs from the recorded run: how entries and shares are changed, and the way back. */
import type { Pick } from "../bench";
import { h } from "../dom";
import { number } from "../format";
import { shortTitle } from "../step";
import { h as v, patch, type Virtual } from "../virtual";
import type { Recording } from "../wire";
import type { Context } from "./context";
import { position } from "./formula";

const SHOWN = 3;

/** Why an entry cannot be changed; empty where it can be. */
export function changeable({ rec, session }: Context, { node, what }: Pick): string {
  const entry = rec.header.nodes[node];
  const name = shortTitle(rec, node, 20);
  const { possible, live } = session.kernel;
  if (!possible) return NO_NOTEBOOK;
  if (!live) return NO_KERNEL;
  if (typeof what === "number") return "";
  if (what === "value") {
    return entry?.kind === "op"
      ? `${name} is the result of ${entry.op}: change the leaves that it is computed from.`
      : "";
  }
  if (entry?.shares.length === 1) return "";
  return entry?.shares.length
    ? `∂${name} is the sum of ${entry.shares.length} shares: change one of them in Shares.`
    : `∂${name} is the seed: it starts the pass.`;
}

/** Change one entry and run again; what it could not do, in words. */
export function change({ rec, session }: Context, pick: Pick, from: number, to: number): Promise<string> {
  const { node, what, position: at } = pick;
  const { values, shares } = session.changes;
  if (what === "value") {
    const { was } = session.memory;
    const key = `${node}:${at}`;
    if (!was.has(key)) was.set(key, from); // nobody has changed it before, so it is the recorded number
    const others = values.filter(([i, k]) => i !== node || k !== at);
    return session.change({ shares, values: Object.is(was.get(key), to) ? others : [...others, [node, at, to]] });
  }
  const share = typeof what === "number" ? what : (rec.header.nodes[node]?.shares[0] ?? -1);
  return setShare(session, edge(rec, share), at, to);
}

export const edge = (rec: Recording, share: number) => `${rec.share.consumer[share]}:${rec.share.slot[share]}`;

/** Set an entry of a share, or with null all of it. */
export function setShare(session: Context["session"], at: string, entry: number | null, to: number): Promise<string> {
  const { values, shares } = session.changes;
  const others = shares.filter(([e, k]) => e !== at || (entry !== null && k !== entry));
  return session.change({ values, shares: [...others, [at, entry, to]] });
}

const NO_NOTEBOOK = "Numbers can be changed in a notebook that shows this trace by itself: trace.show().";
const NO_KERNEL = "Numbers can be changed while a kernel is there: run the cell again.";

/** Zero for a share, or what its rule sent again: what moves downstream is what went through it. Off where the kernel is gone, and not there where none can come. */
export function shareButton({ rec, session }: Context, share: number, name: string): Virtual | null {
  const { kernel } = session;
  if (!kernel.possible) return null;
  const at = edge(rec, share);
  const { values, shares } = session.changes;
  const changed = shares.some(([e]) => e === at);
  const act = () => {
    if (!kernel.live) return session.tell(NO_KERNEL);
    const done = changed
      ? session.change({ values, shares: shares.filter(([e]) => e !== at) })
      : setShare(session, at, null, 0);
    void done.then((said) => session.tell(said));
  };
  const word = changed ? "as sent" : "set to 0";
  return v(
    "button",
    {
      class: "tv-quiet tv-small",
      "aria-label": `${word}: share from ${name}`,
      "aria-disabled": kernel.live ? null : "true",
      title: kernel.live ? null : NO_KERNEL,
      onclick: act,
    },
    word,
  );
}

/** What was set by hand of a share, or of one entry of it: no rule computed it, so none is shown with its numbers. Null where nothing was. */
export function byHand({ rec, session }: Context, share: number, only?: number): Virtual | null {
  const made = session.changes.shares.filter(
    ([e, at]) => e === edge(rec, share) && (at ?? only ?? null) === (only ?? at),
  );
  if (!made.length) {
    const said = rec.byHand(share) && !session.changes.shares.some(([e]) => e === edge(rec, share));
    return said ? v("p", { class: "tv-hand" }, "set by hand: no rule computed it") : null;
  }
  const { recorded } = session;
  const slot = rec.share.slot[share];
  const sent = recorded.sent(rec.share.consumer[share] ?? -1).find((i) => recorded.share.slot[i] === slot) ?? -1;
  const before = recorded.array(recorded.share.value[sent] ?? -1);
  const said = made.slice(-SHOWN).map(([, at, to]) => {
    const i = at ?? only ?? (before?.size === 1 ? 0 : -1);
    const was = before?.data?.[i];
    const place = i < 0 ? "all of it" : position(i, before?.shape ?? []);
    return `${place} set to ${number(to)} by hand${was === undefined ? "" : `; the recorded rule gave ${number(was)}`}`.trim();
  });
  return v("p", { class: "tv-hand" }, said.join(", "));
}

function words({ recorded: rec, changes: { values, shares }, memory }: Context["session"]): string[] {
  const nodes = rec.header.nodes;
  return [
    ...values.map(([node, at, to]) => {
      const was = memory.was.get(`${node}:${at}`) ?? NaN;
      return `${shortTitle(rec, node, 16)}${position(at, nodes[node]?.shape ?? [])}: ${number(was)} → ${number(to)}`;
    }),
    ...shares.map(([e, at, to]) => {
      const [consumer = 0, slot = 0] = e.split(":").map(Number);
      const target = nodes[consumer]?.inputs[slot] ?? 0;
      const place = at === null ? "" : position(at, nodes[target]?.shape ?? []);
      return `share from ${shortTitle(rec, consumer, 16)} to ∂${shortTitle(rec, target, 16)}${place} → ${number(to)}`;
    }),
  ];
}

/** The line above the sections: what was changed, what could not be, and one click back. */
export function changesBar({ session }: Context) {
  const list = h("span");
  const message = h("p", { class: "tv-message" });
  const back = h("button", { class: "tv-quiet", onclick: () => session.reset() }, "Back to the recorded run");
  const strip = h("div", { class: "tv-changed", role: "group", "aria-label": "Changes" }, list, back);
  const element = h("div", { "aria-live": "polite" }, strip, message);
  const update = () => {
    const made = words(session);
    strip.hidden = made.length === 0;
    const more = made.length > SHOWN ? ` and ${made.length - SHOWN} more` : "";
    patch(list, [v("b", {}, "Changed: "), made.slice(-SHOWN).join(", ") + more]);
  };
  session.tell = (said) => {
    message.textContent = said;
  };
  update();
  return element;
}
