/** The stepper in a document of its own: the notebook's sandboxed frame, or the offline page. Talks to its host by messages alone. */
import { bench, type Bench } from "./bench";
import type { CheckMessage } from "./check";
import { focus, h } from "./dom";
import { KEYS, Store, type State } from "./state";
import type { Reply } from "./kernel";
import { decode, fromBase64, gunzip } from "./wire";

export interface FrameData {
  readonly id: string;
  readonly state: Partial<State>;
  /** The gzipped container, base64. */
  readonly data: string;
  /** A second pass, stepped together with the first. */
  readonly beside?: {
    readonly state: Partial<State>;
    readonly data: string;
    readonly names: readonly [string, string];
    /** Steps of both that belong together, ascending. */
    readonly steps: readonly (readonly [number, number])[];
  };
}

interface Message {
  readonly tensorviz?: number;
  readonly type?: string;
  readonly state?: Partial<State>;
  readonly key?: string;
  readonly link?: string;
  readonly check?: CheckMessage;
  readonly answer?: Reply;
  readonly dark?: boolean;
  readonly variables?: Record<string, string>;
}

export const QUIET = 120; // ms without a change after which the position is told

const LINKS: Record<string, string> = {
  live: "live: the kernel follows",
  offline: "no kernel: stepping goes on",
  waiting: "the kernel is busy",
  recorded: "two recorded passes: no kernel follows them or changes their numbers",
};

/** A step in one takes the other to its counterpart, or to the last one before; speed, granularity, theme and presentation are shared. */
export function together(first: Store, second: Store, steps: readonly (readonly [number, number])[]): void {
  let leading = false; // one of them is being led: what it says is no news
  const lead = (from: Store, to: Store, mine: 0 | 1) =>
    from.on(({ step, speed, granularity, theme, presentation }, changed) => {
      if (leading) return;
      leading = true;
      const pair = steps.findLast((p) => p[mine] <= step) ?? [0, 0];
      to.set({
        speed,
        granularity,
        theme,
        presentation,
        ...("step" in changed ? { step: pair[1 - mine] ?? 0, playing: false } : {}),
      });
      leading = false;
    });
  lead(first, second, 0);
  lead(second, first, 1);
}

export async function boot({ id, state, data, beside }: FrameData): Promise<void> {
  const alone = globalThis.parent === globalThis.window;
  const send = (message: object) => {
    if (!alone) globalThis.parent.postMessage({ tensorviz: 1, id, ...message }, "*"); // "*": a sandboxed frame does not know its host's origin
  };
  try {
    const rec = decode(await gunzip(fromBase64(data)));
    const store = new Store(state);
    const pill = h("span", { class: "tv-link", "data-link": alone ? "page" : "offline" });
    const link = (name: string) => {
      pill.dataset["link"] = name;
      pill.title = LINKS[name] ?? "";
      pill.textContent = name;
    };
    const mark = (element: HTMLElement, sign: Node) => element.querySelector(".tv-space")?.after(sign);
    if (!alone) link(beside ? "recorded" : "offline");
    document.body.classList.toggle("tv-page", alone);
    document.body.dataset["scheme"] = ""; // follows the stepper
    let height = 0;
    const tall = new ResizeObserver(([entry]) => {
      const px = Math.ceil(entry?.target.getBoundingClientRect().height ?? 0) + 2;
      if (px !== height) send({ type: "height", px: (height = px) });
    });
    const live = !alone && !beside;
    const options = {
      leave: () => send({ type: "escape" }),
      ...(beside ? {} : { ask: (action: "start" | "cancel") => send({ type: "check", action }) }),
      ...(live ? { wish: (wish: object) => send({ type: "wish", wish }) } : {}),
    };
    let [whole, place] = [document.body, document.body];
    let other: Bench | null = null;
    if (beside) {
      const second = new Store(beside.state);
      const parts = beside.names.map((name) => h("section", { "aria-label": name }, h("h2", {}, name)));
      whole = h("main", { class: "tv-pair" }, ...parts);
      place = parts[0] ?? whole;
      document.body.append(whole);
      tall.observe(whole);
      const leave = { leave: options.leave };
      other = bench(decode(await gunzip(fromBase64(beside.data))), second, leave, (e) => {
        if (!alone) mark(e, pill.cloneNode(true));
        parts[1]?.append(e);
      });
      together(store, second, beside.steps);
    }
    const view = bench(rec, store, options, (element) => {
      if (!alone) mark(element, pill);
      place.append(element);
      if (beside) return;
      tall.disconnect();
      tall.observe(element);
    });

    // Stepping asks the kernel nothing; it hears where the person has come to rest.
    let news: Partial<State> = {};
    let rest: ReturnType<typeof setTimeout> | undefined;
    store.on((_, changed, mine) => {
      if (!mine || beside) return;
      news = { ...news, ...changed };
      clearTimeout(rest);
      rest = setTimeout(() => {
        send({ type: "state", state: news });
        news = {};
      }, QUIET);
    });
    globalThis.addEventListener("message", ({ data: message, source }: MessageEvent<Message>) => {
      if (source !== globalThis.parent || message?.tensorviz !== 1) return;
      if (message.type === "state" && message.state) {
        // What was set here since then is newer than what comes back.
        const known = (key: string) => KEYS.includes(key as keyof State) && !(key in news);
        store.set(Object.fromEntries(Object.entries(message.state).filter(([key]) => known(key))), false);
      } else if (message.type === "key") {
        document.querySelector(".tensorviz")?.dispatchEvent(new KeyboardEvent("keydown", { key: message.key ?? "" }));
      } else if (message.type === "check") view.hear(message.check ?? null);
      else if (message.type === "answer") view.kernel.hear(message.answer ?? {});
      else if (message.type === "link") {
        link(message.link ?? "offline");
        view.kernel.set(message.link !== "offline");
      } else if (message.type === "theme") {
        for (const [name, value] of Object.entries(message.variables ?? {})) {
          if (value) document.documentElement.style.setProperty(name, value);
          else document.documentElement.style.removeProperty(name);
        }
        document.documentElement.style.colorScheme = message.dark ? "dark" : "light";
        for (const each of [view, other]) each?.recolour(message.dark ?? null);
      }
    });
    // The keys work at once where the page is the stepper's own.
    if (alone && document.activeElement === document.body) focus(document.querySelector<HTMLElement>(".tensorviz"));
    send({ type: "hello" });
    document.body.dataset["ready"] = "";
  } catch (error) {
    document.body.append(h("p", { role: "alert" }, `The stepper could not open this trace: ${String(error)}`));
    throw error;
  }
}
