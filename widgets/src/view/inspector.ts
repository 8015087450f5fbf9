/** Everything about one node at one step, in six sections. */
import { checkOf } from "../check";
import { attribute, focus, h as element } from "../dom";
import { one, shape } from "../format";
import { expressionOf, shortTitle } from "../step";
import { h, patch, type Child, type Virtual } from "../virtual";
import { array } from "./cells";
import { scaleChoice } from "./scale";
import type { Context, Pane } from "./context";
import { alarm, findingsOf, findingsPane, severity } from "./findings";
import { byHand, changesBar } from "./changes";
import { entries } from "./entries";
import { entryBox, look } from "./entry";
import { ledger } from "./ledger";
import { pin } from "./pin";
import { route } from "./route";
import { pullRules, shareRule } from "./rule";
import { savedCount, savedPane } from "./saved";
import { fileName, listing, place, sourceNode } from "./source";
import { unbroadcast } from "./unbroadcast";
import { born, checkPane, chip } from "./verdict";

const TABS = ["Node", "Shares", "Saved values", "Check", "Source", "Findings"] as const;
const [MOST_LINES, AHEAD] = [26, 12]; // of the source, and of these before the current one
const ALL = 40; // rows of the ledger where it has the whole pane

type Tab = (typeof TABS)[number];

export function inspector(context: Context): Pane {
  const { rec, steps, store } = context;
  const uid = Math.random().toString(36).slice(2, 8);
  const { memory } = context.session;
  let tab = (TABS.find((name) => name === memory.tab) ?? "Node") as Tab;
  const panel = element("div", { class: "tv-panel tv-island", role: "tabpanel", id: `tv-panel-${uid}`, tabindex: "0" });
  let scrolled = 0;
  panel.addEventListener("scroll", () => (scrolled = panel.scrollTop), { passive: true });
  const tabs = TABS.map((name) => {
    const extra = element("span", { class: "tv-count" });
    const button = element(
      "button",
      {
        role: "tab",
        "aria-label": name,
        "data-level": name === "Findings" ? severity(rec) : null,
        id: `tv-tab-${uid}-${TABS.indexOf(name)}`,
        "aria-controls": panel.id,
        // Verdicts that arrive make tabs wider: what was pressed may have moved away when the button is let go.
        onmousedown: (event: MouseEvent) => event.button === 0 && open(name),
        onclick: () => tab !== name && open(name),
      },
      name.replace(" ", "\xa0"), // its words stay together, its count need not
      " ",
      extra,
    );
    return { name, button, extra };
  });
  const open = (name: Tab) => {
    tab = name;
    memory.tab = name;
    if (name === "Findings") memory.warned = true;
    shown = "";
    pane.update();
    tabs.find((t) => t.name === name)?.button.scrollIntoView?.({ block: "nearest", inline: "nearest" });
  };
  /** As in every row of tabs: the arrows go along it, and open. */
  const along = (event: KeyboardEvent) => {
    const at = TABS.indexOf(tab);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: TABS.length - 1 }[event.key];
    if (to === undefined || event.shiftKey) return;
    event.preventDefault();
    const name = TABS[(to + TABS.length) % TABS.length] ?? tab;
    open(name);
    tabs.find((t) => t.name === name)?.button.focus();
  };
  const pinned = pin(context);
  const whole = element(
    "div",
    { class: "tv-inspector" },
    h(
      "div",
      { class: "tv-island" },
      h(
        "div",
        { class: "tv-tabs", role: "tablist", "aria-label": "Inspector", onkeydown: along },
        ...tabs.map((t) => t.button),
      ),
      h("div", { class: "tv-bars" }, changesBar(context), pinned.element),
      h("div", { class: "tv-hold" }, panel),
    ),
  );
  let shown = "";
  let at = ""; // the tab and the node, which stay where all is drawn again
  let stale = false; // the kernel has come or gone since

  const content = (id: number): Child[] => {
    switch (tab) {
      case "Node":
        return [memory.warned ? null : alarm(context, () => open("Findings")), ...nodePane(context, id)];
      case "Shares":
        return [heading(context, id), ledger(context, id, ALL), entryBox(context, id), ...sent(context, id)];
      case "Saved values":
        return [heading(context, id), savedPane(context)];
      case "Check":
        return [heading(context, id), checkPane(context, id)];
      case "Source":
        return [heading(context, id), sourcePane(context)];
      case "Findings":
        return [h("h3", {}, "Findings ", h("span", {}, "root cause first")), findingsPane(context, null)];
    }
  };

  const pane: Pane = {
    element: whole,
    update() {
      pinned.update();
      const id = context.shown();
      const { step, selected } = store.now;
      // Whether the node is pinned counts, too: of the active one the source and the saved values are then its own.
      const moment = `${tab}|${id}|${step}|${selected === null}|`;
      const key = moment + checkOf(rec).version;
      if (key === shown && !stale) return;
      // Somebody writes a number: verdicts that arrive meanwhile, and word of the kernel, can wait.
      const writing = panel.contains(document.activeElement) && document.activeElement instanceof HTMLInputElement;
      const same = shown.startsWith(moment);
      if (writing && same) return;
      const samePlace = at === `${tab}|${id}`;
      at = `${tab}|${id}`;
      if (shown && !same) context.session.tell(""); // that was about another node or step
      shown = key;
      stale = false;
      panel.querySelector<HTMLElement>(".tv-edit")?.blur(); // it would put back the number that it stands for while all is being replaced
      const total = rec.header.nodes[id]?.shares.length ?? 0;
      const counts: Record<Tab, string> = {
        Node: "",
        Shares: `${steps.total(id, step)?.shares ?? 0}/${total}`,
        "Saved values": String(savedCount(context)),
        Check: checkOf(rec).sign,
        Source: "",
        Findings: String(rec.header.view.findings.length),
      };
      for (const { name, button, extra } of tabs) {
        const on = name === tab;
        attribute(button, "aria-selected", String(on));
        // Words and numbers would belong to the tab's name, which is fixed; a sign does not.
        const sign = /\w/.test(counts[name]) ? "" : counts[name];
        if (extra.textContent !== sign) extra.textContent = sign;
        const counted = sign ? "" : counts[name];
        if (extra.dataset["count"] !== counted) extra.dataset["count"] = counted;
        if (on) attribute(panel, "aria-labelledby", button.id);
        attribute(button, "tabindex", on ? "0" : "-1");
      }
      const focused = panel.contains(document.activeElement) ? document.activeElement : null;
      const cell = focused?.getAttribute("data-cell");
      patch(panel, content(id));
      if (cell && document.activeElement?.getAttribute("data-cell") !== cell)
        focus(panel.querySelector<HTMLElement>(`[data-cell="${cell}"]`));
      // What had the focus is gone: the keys stay in the pane.
      if (focused && !panel.contains(document.activeElement)) focus(panel);
      // Reading a scroll position makes the browser lay the page out at once, so it is only done where somebody scrolled.
      if (scrolled > 0) panel.scrollTop = samePlace ? scrolled : 0;
    },
  };
  panel.addEventListener("focusout", () => requestAnimationFrame(() => pane.update()));
  const again = () => {
    shown = "";
    pane.update();
  };
  context.session.kernel.on(() => {
    stale = true;
    pane.update();
  });
  pane.again = again;
  return pane;
}

function heading(context: Context, id: number): Virtual {
  const { rec } = context;
  const node = rec.header.nodes[id];
  if (!node) return h("h2", {}, "No node");
  const value = rec.array(node.value);
  const facts = [
    node.kind === "op" ? node.op : node.kind,
    shape(node.shape),
    node.dtype,
    node.scope && `in ${node.scope}`,
  ]
    .filter(Boolean)
    .join(" · ");
  return h(
    "div",
    { class: "tv-heading" },
    h(
      "h2",
      {},
      shortTitle(rec, id, 28),
      " ",
      h(
        "small",
        {},
        facts,
        value?.data && value.size === 1 ? h("span", {}, " · value ", h("b", { class: "tv-v" }, one(value.data))) : null,
      ),
    ),
    born(context, id) ?? chip(context, id),
  );
}

function nodePane(context: Context, id: number): Child[] {
  const { rec, steps, store } = context;
  const node = rec.header.nodes[id];
  if (!node) return [h("p", { class: "tv-dim" }, "There is no node to show.")];
  const { step, selected } = store.now;
  const kind = rec.kinds[step];
  const active = selected === null || steps.activeNode(step) === id;
  const share = active ? steps.shareAt(step) : -1;
  const parts: Child[] = [heading(context, id)];
  const hand = share >= 0 && byHand(context, share);
  if (hand) parts.push(hand);
  else if (share >= 0) {
    parts.push(shareRule(rec, share));
    if (rec.axes(share).length) parts.push(unbroadcast(rec, share));
    if ((rec.share.route[share] ?? -1) >= 0) parts.push(route(rec, share));
  } else if (active && kind === "pull") parts.push(pullRules(rec, id), ...routes(context, id));
  else if (active && kind === "leaf") parts.push(leaf(context, id));
  parts.push(...(steps.computes ? operands(context, id) : [ledger(context, id)]));
  const total = steps.total(id, step);
  const value = rec.array(node.value);
  const scalar = value?.size === 1;
  const see = look(context, id);
  const so =
    total && total.shares < node.shares.length ? `∂ so far, ${total.shares} of ${node.shares.length} shares` : "∂";
  // A single number stands in the heading and the ledger; that of a leaf is shown as one cell, since it can be changed.
  if (value && (!scalar || node.kind !== "op"))
    parts.push(h("section", { key: "value" }, entries(context, id, "value", value, "value", see)));
  if (!scalar && total?.array && !steps.computes)
    parts.push(h("section", { key: "gradient" }, entries(context, id, "gradient", total.array, so, see)));
  if (!scalar) parts.push(scaleChoice(context));
  parts.push(entryBox(context, id));
  if (node.kind === "detached")
    parts.push(
      h("p", {}, `Cut from the graph by ${node.op === "detach" ? "detach()" : "no_grad"}: nothing flows further back.`),
    );
  if (share < 0 && kind !== "pull" && node.kind === "op") parts.push(pullRules(rec, id));
  // Shares stand in order of arrival, so that those that are in come first.
  const earlier = share < 0 ? node.shares.slice(0, total?.shares ?? 0) : [];
  for (let i = 0, drawn = 0; i < earlier.length && drawn < 2; i++) {
    const s = earlier[i] ?? -1;
    if (rec.axes(s).length && !byHand(context, s) && ++drawn) parts.push(unbroadcast(rec, s));
  }
  if (findingsOf(context, id).length) parts.push(h("section", {}, h("h3", {}, "Findings"), findingsPane(context, id)));
  return parts;
}

/** Of a record in which every step computes a value: what this one was computed from. */
function operands({ rec }: Context, id: number): Child[] {
  const node = rec.header.nodes[id];
  return (node?.inputs ?? []).map((input, slot) => {
    const value = rec.array(rec.header.nodes[input]?.value);
    return h("section", { key: `operand ${slot}` }, array(rec, "value", value, operandName(rec, id, slot)));
  });
}

function operandName(rec: Context["rec"], id: number, slot: number): string {
  const node = rec.header.nodes[id];
  const operand = node?.inputs[slot] ?? -1;
  const name = rec.header.nodes[operand]?.name ?? rec.header.nodes[operand]?.op ?? "";
  return (node?.inputs.length ?? 0) > 1 ? `operand ${node?.slots[slot] ?? slot}: ${name}` : `of ${name}`;
}

/** On a pull: where a selecting op is about to send its gradient. */
function routes({ rec }: Context, id: number): Child[] {
  return rec
    .sent(id)
    .filter((share) => (rec.share.route[share] ?? -1) >= 0)
    .map((share) => route(rec, share));
}

/** What a node sent on, for the Shares section. */
function sent(context: Context, id: number): Child[] {
  const rules = pullRules(context.rec, id);
  return rules ? [rules] : [];
}

function leaf(context: Context, id: number): Virtual {
  const { rec, store } = context;
  const [before, after] = [rec.array(rec.stepBefore[store.now.step]), rec.array(rec.stepAfter[store.now.step])];
  const name = shortTitle(rec, id, 20);
  return h(
    "section",
    {},
    before
      ? array(rec, "gradient", before, `${name}.grad held before`)
      : h("p", { class: "tv-dim" }, `${name}.grad was None before.`),
    array(rec, "gradient", after, `${name}.grad now`),
  );
}

function sourcePane(context: Context): Virtual {
  const { rec } = context;
  const id = sourceNode(context);
  const node = rec.header.nodes[id];
  const found = rec.header.sources[node?.source ?? -1];
  if (!node || !found) return h("p", { class: "tv-dim" }, "Where this node was made is not known.");
  const expression = expressionOf(rec, node);
  return h(
    "div",
    {},
    h(
      "p",
      {},
      place(rec, id),
      // A cell has no other name.
      fileName(found.file) !== found.file && h("span", { class: "tv-dim tv-mono tv-small" }, ` ${found.file}`),
    ),
    expression && h("p", { class: "tv-mono" }, h("mark", {}, expression)),
    h("div", { class: "tv-lines tv-long" }, ...listing(context, node.source, MOST_LINES, AHEAD)),
    h(
      "p",
      { class: "tv-dim tv-small" },
      "Click code to select the node it made; click again for the next turn of a loop.",
    ),
  );
}
