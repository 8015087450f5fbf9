/**
 * The page's side, once per page: sizes the frames, gives them the theme, remembers their state, and joins them to the
 * kernel while one is there. The same text is an inline script in each output and the head of the relay widget's module.
 */
import { hostIsDark, MARKS } from "./theme";

interface HostModel {
  send(message: object): void;
  on(name: string, callback: (message: KernelMessage, buffers?: DataView[]) => void): void;
}
interface KernelMessage {
  readonly type: "mine" | "gone" | "ack" | "state" | "check" | "answer";
  readonly id: string;
  readonly state: Record<string, unknown>;
  readonly page?: string;
  readonly check?: { readonly whole?: boolean };
  readonly answer?: object;
}
interface FrameMessage {
  readonly tensorviz?: number;
  readonly type: "hello" | "height" | "escape" | "state" | "check" | "wish";
  readonly id: string;
  readonly px: number;
  readonly action: string;
  readonly wish: object;
  readonly state: Record<string, unknown>;
}
interface Host {
  attach(model: HostModel): () => void;
}

const VARIABLES = [
  "--jp-layout-color1",
  "--jp-layout-color2",
  "--jp-ui-font-color0",
  "--jp-ui-font-color1",
  "--jp-border-color2",
  "--jp-ui-font-family",
  "--jp-code-font-family",
];
const PATIENCE = 3000; // ms without an answer after which the kernel is called busy

function host(): Host {
  const kept = new Map<string, Record<string, unknown>>(); // id -> what was set since the page was opened
  const checks = new Map<string, object[]>(); // id -> what the kernel has said of its check
  const owner = new Map<string, HostModel>(); // id -> the model whose kernel knows it
  const busy = new Map<string, { timer: ReturnType<typeof setTimeout>; next: Record<string, unknown> | null }>();
  const models = new Set<HostModel>();
  const asked = new Set<string>(); // ids that the models were asked for: to ask again brings all verdicts again
  const page = Math.random().toString(36).slice(2);
  const frames = () => [...document.querySelectorAll<HTMLIFrameElement>("iframe.tensorviz-frame")];
  const idOf = (frame: HTMLIFrameElement) => frame.dataset["tensorviz"] ?? "";
  const post = (frame: HTMLIFrameElement, message: object) =>
    frame.contentWindow?.postMessage({ tensorviz: 1, ...message }, "*"); // "*": its origin is null
  const all = (id: string, message: object, but?: HTMLIFrameElement) => {
    for (const frame of frames()) if (idOf(frame) === id && frame !== but) post(frame, message);
  };
  const theme = () => {
    const style = getComputedStyle(document.body);
    const dark = hostIsDark() ?? matchMedia("(prefers-color-scheme: dark)").matches;
    return {
      type: "theme",
      dark,
      variables: Object.fromEntries(VARIABLES.map((name) => [name, style.getPropertyValue(name).trim()])),
    };
  };
  const keep = (id: string, patch: Record<string, unknown>) => kept.set(id, { ...kept.get(id), ...patch });
  const tell = (model: HostModel | undefined, message: object) => {
    try {
      model?.send(message);
    } catch {
      /* its comm is gone; the frame steps on */
    }
  };
  const hail = (model: HostModel, id: string) => {
    asked.add(id);
    tell(model, { type: "hello", id });
  };
  const answered = (id: string) => {
    const waiting = busy.get(id);
    clearTimeout(waiting?.timer);
    busy.delete(id);
    return waiting?.next;
  };
  const join = (id: string, model: HostModel | null) => {
    answered(id);
    if (model) owner.set(id, model);
    else owner.delete(id);
    all(id, { type: "link", link: model ? "live" : "offline" });
    if (!model) all(id, { type: "check" });
  };
  // One message in flight, what comes meanwhile is merged and waits: a busy kernel gets no queue.
  const toKernel = (id: string, patch: Record<string, unknown>) => {
    if (!owner.has(id)) return;
    const waiting = busy.get(id);
    if (waiting) {
      waiting.next = { ...waiting.next, ...patch };
      return;
    }
    busy.set(id, { timer: setTimeout(() => all(id, { type: "link", link: "waiting" }), PATIENCE), next: null });
    tell(owner.get(id), { type: "state", id, state: patch, page });
  };
  addEventListener("message", ({ data: message, source }: MessageEvent<FrameMessage>) => {
    if (message?.tensorviz !== 1) return;
    const frame = frames().find((f) => f.contentWindow === source && idOf(f) === message.id); // only our own frames are heard
    if (!frame) return;
    if (message.type === "height") frame.style.height = `${Math.min(Math.max(message.px, 40), 4000)}px`;
    else if (message.type === "escape") {
      frame.blur();
      (frame.closest<HTMLElement>(".jp-Cell") ?? frame.closest<HTMLElement>("[tabindex]"))?.focus();
    } else if (message.type === "hello") {
      post(frame, theme());
      const state = kept.get(message.id);
      if (state) post(frame, { type: "state", state });
      for (const check of checks.get(message.id) ?? []) post(frame, { type: "check", check });
      if (owner.has(message.id)) post(frame, { type: "link", link: "live" });
      else post(frame, { type: "check" });
      if (!asked.has(message.id)) for (const model of models) hail(model, message.id);
    } else if (message.type === "check") {
      tell(owner.get(message.id), { type: "check", id: message.id, action: message.action });
    } else if (message.type === "wish") {
      tell(owner.get(message.id), { type: "wish", id: message.id, wish: message.wish });
    } else if (message.type === "state") {
      keep(message.id, message.state);
      all(message.id, { type: "state", state: message.state }, frame);
      toKernel(message.id, message.state);
    }
  });
  const paint = new MutationObserver(() => frames().forEach((f) => post(f, theme())));
  for (const element of [document.body, document.documentElement]) paint.observe(element, MARKS);
  return {
    attach(model) {
      const hello = () => new Set(frames().map(idOf)).forEach((id) => hail(model, id));
      const drop = () => owner.forEach((m, id) => m === model && join(id, null));
      model.on("msg:custom", (message, [part] = []) => {
        const { type, id, state } = message;
        if (type === "mine") join(id, model);
        if (type === "gone") join(id, null);
        if (type === "ack") {
          const next = answered(id);
          all(id, { type: "link", link: "live" });
          if (next) toKernel(id, next);
        }
        if (type === "answer") {
          const bytes = part && new Uint8Array(part.buffer, part.byteOffset, part.byteLength).slice();
          all(id, { type: "answer", answer: { ...message.answer, bytes } });
        }
        if (type === "check" && message.check) {
          checks.set(id, [...(message.check.whole ? [] : (checks.get(id) ?? [])), message.check]);
          all(id, { type: "check", check: message.check });
        }
        if (type === "mine" || type === "state" || (type === "ack" && message.page !== page)) {
          keep(id, state);
          all(id, { type: "state", state });
        }
      });
      model.on("comm_live_update", () => {
        drop();
        hello();
      });
      models.add(model);
      hello();
      return () => {
        models.delete(model);
        drop();
      };
    },
  };
}

const place = globalThis as { __tensorvizHost1?: Host };
place.__tensorvizHost1 ??= host();

export {};
