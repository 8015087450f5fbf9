/** The sentence of the step, said aloud by screen readers. */
import { attribute, h, text } from "../dom";
import { longest, told } from "../told";
import { h as v, patch, type Child } from "../virtual";
import type { Context, Pane } from "./context";

const SUMMED = /summed over ax(?:is|es) (?:\([\d, ]+\)|\d+(?:, \d+)*)/;
/** What a gate does follows the op's name, which may be such a word itself. */
const RUNS = /(?<= runs: \w+ )\w+/;
const GATE = /\b(?:distributes|routes|swaps|repeats|scales|copies|gathers|scatters|selects)\b|(?<=its shares )add/;
/** With the brackets of calls, and of calls in their arguments. */
const NUMBER =
  /∂(?:\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|[^\s,.;:]*)(?: = [−+]?(?:\d[\d.e−]*\d|\d|∞|NaN))?|(?<=, )[−+]?\d[\d.e−]*(?=,? from )/g;

const ONE_LINE = 100; // characters of the large type on 1,240 px

/** The sentence with its gradients coloured and the word of the moment marked; the text itself stays as it is. */
export function marked(sentence: string): Child[] {
  const now = SUMMED.exec(sentence) ?? RUNS.exec(sentence) ?? GATE.exec(sentence);
  const parts = now
    ? [sentence.slice(0, now.index), now[0], sentence.slice(now.index + now[0].length)]
    : [sentence, "", ""];
  const plain = (text: string): Child[] => {
    const out: Child[] = [];
    let at = 0;
    for (const found of text.matchAll(NUMBER)) {
      out.push(text.slice(at, found.index), v("span", { class: "tv-g" }, found[0]));
      at = found.index + found[0].length;
    }
    return [...out, text.slice(at)];
  };
  return [...plain(parts[0] ?? ""), now && v("mark", {}, parts[1]), ...plain(parts[2] ?? "")];
}

export function caption({ rec, store }: Context): Pane {
  const k = h("b");
  const sentence = h("span");
  const element = h(
    "div",
    { class: "tv-caption", role: "status", "aria-live": "polite", "aria-atomic": "true" },
    h(
      "div",
      {},
      h("span", { class: "tv-k" }, "Step ", k, ` of ${rec.length}`, h("span", { class: "tv-hidden" }, ": ")),
      sentence,
    ),
  );
  // One line is enough where no sentence of this pass is longer; the height never changes while stepping.
  element.dataset["lines"] = longest(rec) > ONE_LINE ? "2" : "1";
  let shown = -1;
  return {
    element,
    update() {
      const { step } = store.now;
      if (step === shown) return;
      shown = step;
      const words = told(rec, step) ?? "Nothing was recorded.";
      // Long sentences are set smaller, so that every step's caption has the same height and nothing jumps.
      attribute(element, "data-length", words.length > 150 ? "long" : words.length > ONE_LINE ? "middle" : "short");
      text(k, String(rec.length ? step + 1 : 0));
      patch(sentence, marked(words));
    },
  };
}
