/** The check beside the pass: begin it, see how far it is, stop it, and go to the node that it blames. */
import { attribute, h } from "../dom";
import { count } from "../format";
import { checkOf } from "../check";
import { shortTitle } from "../step";
import { make } from "../virtual";
import type { Context, Pane } from "./context";
import { icon } from "./icons";

export function checker(context: Context): Pane {
  const { rec, steps } = context;
  const check = checkOf(rec);
  const said = h("span");
  const bar = h("progress", { "aria-label": "Check progress", max: 1, value: 0 });
  const stop = make(icon("cross"));
  const act = h(
    "button",
    {
      class: "tv-select",
      onclick: () => context.ask(check.progress?.state === "running" ? "cancel" : "start"),
    },
    said,
    stop,
  );
  const name = h("span", { class: "tv-blamed-name" });
  const blamed = h("button", { class: "tv-select tv-blamed", onclick: () => blame(context) }, icon("cross"), name);
  const element = h("div", { class: "tv-checker", role: "group", "aria-label": "Check" }, act, bar, blamed);
  let shown = -1;
  return {
    element,
    update() {
      if (check.version === shown) return;
      shown = check.version;
      const { progress } = check;
      const running = progress?.state === "running";
      const sign = check.sign && `${check.sign} `;
      const [done, total] = [progress?.done ?? 0, Math.max(1, progress?.total ?? 1)];
      act.hidden = progress === null;
      attribute(act, "aria-label", running ? "Cancel the check" : "Check the gradients");
      act.title =
        (check.partial ? `${count(done)} of ${count(total)} nodes are checked. ` : "") +
        (running ? "Click to stop; what was found stays" : "Compare every gradient with finite differences") +
        (check.sign === "?" ? `. ${check.note}` : "");
      said.textContent = running ? `${count(done)} / ${count(total)}` : `${sign}Check`;
      stop.toggleAttribute("hidden", !running);
      bar.hidden = !running;
      bar.value = done / total;
      blamed.hidden = check.blame < 0;
      if (check.blame >= 0) {
        name.textContent = shortTitle(rec, check.blame);
        attribute(blamed, "aria-label", `Go to the blamed node, ${name.textContent}`);
        blamed.title = `The rule of ${name.textContent} is wrong by itself (step ${steps.ruled(check.blame) + 1})`;
      }
    },
  };
}

/** Go to where the rule of the blamed node runs. */
export function blame({ rec, steps, store }: Context): void {
  const id = checkOf(rec).blame;
  if (id < 0) return;
  const step = steps.ruled(id);
  // The inspector is about it there by itself, and follows whoever steps on.
  store.set({ playing: false, step, selected: steps.activeNode(step) === id ? null : id });
}
