/** Light or dark: what the user forced, else what the page around is, else what the system says. */
import type { Theme } from "./state";

/** What changes on a page's root or body when its colours do. */
export const MARKS = {
  attributeFilter: [
    "data-jp-theme-light",
    "data-jp-theme-name",
    "data-vscode-theme-kind",
    "data-theme",
    "theme",
    "class",
  ],
};

/** Whether the host page says it is dark; null where it says nothing. Jupyter, VS Code, marimo and Sphinx, and Colab each have an attribute for it. */
export function hostIsDark(): boolean | null {
  const { body, documentElement: root } = document;
  const said = [
    body.dataset["jpThemeLight"]?.replace("true", "light").replace("false", "dark"),
    body.dataset["vscodeThemeKind"]?.replace(/contrast$/, "dark"),
    root.dataset["theme"],
    body.dataset["theme"],
    root.getAttribute("theme"),
    body.className,
    root.className,
    getComputedStyle(body).colorScheme,
  ];
  for (const words of said) {
    const found = /(?:^|[\s-])(dark|light)(?![\w-])/.exec(words ?? "");
    if (found && !/light.*dark/.test(words ?? "")) return found[1] === "dark";
  }
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
  observer.observe(document.body, MARKS);
  observer.observe(document.documentElement, MARKS);
  const system = globalThis.matchMedia?.("(prefers-color-scheme: dark)");
  system?.addEventListener("change", change);
  return () => {
    observer.disconnect();
    system?.removeEventListener("change", change);
  };
}
