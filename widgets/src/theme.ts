/** Light or dark: what the user forced, else what the page around is, else what the system says. */
import type { Theme } from "./state";

/** Whether the host page says it is dark; null where it says nothing. */
export function hostIsDark(): boolean | null {
  const { body, documentElement } = document;
  const flag = body.dataset["jpThemeLight"] ?? body.dataset["vscodeThemeKind"] ?? documentElement.dataset["theme"];
  if (flag !== undefined) return /false|dark/.test(flag);
  if (body.classList.contains("dark") || documentElement.classList.contains("dark")) return true;
  return null;
}

export function apply(root: HTMLElement, theme: Theme, frameDark: boolean | null): void {
  const dark = frameDark ?? hostIsDark() ?? globalThis.matchMedia?.("(prefers-color-scheme: dark)").matches ?? false;
  const scheme = theme === "auto" ? (dark ? "dark" : "light") : theme;
  root.dataset["scheme"] = scheme;
  const { dataset } = document.body;
  if (dataset["scheme"] !== undefined) dataset["scheme"] = scheme; // a document of our own
  root.toggleAttribute("data-follow", theme === "auto");
  for (const picture of root.querySelectorAll("canvas")) picture.dispatchEvent(new Event("tv-theme"));
}

/** Call back when the page around changes its colours. */
export function watch(change: () => void): () => void {
  const observer = new MutationObserver(change);
  const options = {
    attributeFilter: ["data-jp-theme-light", "data-jp-theme-name", "data-vscode-theme-kind", "data-theme", "class"],
  };
  observer.observe(document.body, options);
  observer.observe(document.documentElement, options);
  const system = globalThis.matchMedia?.("(prefers-color-scheme: dark)");
  system?.addEventListener("change", change);
  return () => {
    observer.disconnect();
    system?.removeEventListener("change", change);
  };
}
