import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { KEYS } from "../src/state";
import { render } from "../src/widget";
import { bytes } from "./golden";

/** A model as anywidget hands it over. */
function model() {
  const state: Record<string, unknown> = { step: 2, playing: false, speed: 1, granularity: "micro", breakpoints: [] };
  state["selected"] = null;
  state["theme"] = "auto";
  state["payload"] = new DataView(new Uint8Array(gzipSync(new Uint8Array(bytes("broadcast")))).buffer);
  const saved: Record<string, unknown>[] = [];
  return {
    saved,
    get: (name: string) => state[name],
    set: (name: string, value: unknown) => void (state[name] = value),
    save_changes: () => void saved.push(Object.fromEntries(KEYS.map((key) => [key, state[key]]))),
    on: () => {},
    off: () => {},
  };
}

it("a view that is taken away leaves its step behind, so that the next one goes on from there", async () => {
  const kernel = model();
  const place = document.body.appendChild(document.createElement("div"));
  const close = await render({ model: kernel, el: place });
  place.querySelector<HTMLElement>("[aria-label='Next step']")?.click();
  close();
  expect(kernel.saved.map(({ step }) => step)).toEqual([3]);
  const again = await render({ model: kernel, el: place });
  expect(place.querySelector("[data-step]")?.getAttribute("data-step")).toBe("3");
  again();
  expect(kernel.saved.length).toBe(1);
});
