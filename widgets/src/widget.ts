/** The stepper as an anywidget view, for VBox, VS Code, Colab and marimo. */
import { bench } from "./bench";
import type { CheckMessage } from "./check";
import { h } from "./dom";
import { QUIET } from "./frame";
import { KEYS, Store, type State } from "./state";
import type { Reply } from "./kernel";
import { decode, gunzip, ownBytes } from "./wire";

interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  on(name: string, callback: (message?: unknown, buffers?: unknown) => void): void;
  off(name: string, callback: (message?: unknown, buffers?: unknown) => void): void;
  send?(message: object): void;
}

interface RenderArgs {
  readonly model: Model;
  readonly el: HTMLElement;
}

export async function render({ model, el }: RenderArgs): Promise<() => void> {
  const bytes = model.get("payload") as DataView | null;
  if (!bytes?.byteLength) {
    el.replaceChildren(h("p", {}, "This stepper was closed."));
    return () => {};
  }
  const rec = decode(await gunzip(ownBytes(bytes)));
  const read = () => Object.fromEntries(KEYS.map((key) => [key, model.get(key)])) as unknown as State;
  const store = new Store(read());
  const say = (message: object) => {
    try {
      model.send?.(message);
    } catch {
      // its comm is gone, or this page has no kernel: stepping goes on
    }
  };
  const options = {
    ask: (action: "start" | "cancel") => say({ type: "check", action }),
    wish: (wish: object) => say({ type: "wish", wish }),
  };
  const view = bench(rec, store, options, (element) => el.replaceChildren(element));
  view.kernel.set(model.send !== undefined);

  let timer: ReturnType<typeof setTimeout> | undefined;
  const waiting = new Set<keyof State>();
  const tell = () => {
    clearTimeout(timer);
    if (!waiting.size) return;
    for (const key of waiting) model.set(key, store.now[key]);
    waiting.clear();
    model.save_changes();
  };
  const off = store.on((_, changed, mine) => {
    if (!mine) return;
    for (const key of Object.keys(changed) as (keyof State)[]) waiting.add(key);
    clearTimeout(timer);
    timer = setTimeout(tell, QUIET);
  });
  const hear = KEYS.map((key) => {
    const callback = () => {
      if (!waiting.has(key)) store.set({ [key]: model.get(key) }, false);
    };
    model.on(`change:${key}`, callback);
    return { key, callback };
  });
  const told = (message?: unknown, buffers?: unknown) => {
    const { type, check, answer } = (message ?? {}) as { type?: string; check?: CheckMessage; answer?: Reply };
    if (type === "check") view.hear(check ?? null);
    const [part] = (buffers ?? []) as DataView[];
    if (type === "answer") view.kernel.hear({ ...answer, ...(part ? { bytes: ownBytes(part) } : {}) });
  };
  model.on("msg:custom", told);
  say({ type: "hello" });
  return () => {
    model.off("msg:custom", told);
    off();
    tell(); // some front ends draw a view twice: the second goes on where the first was left
    for (const { key, callback } of hear) model.off(`change:${key}`, callback);
    view.destroy();
  };
}
