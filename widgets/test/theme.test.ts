import { afterEach, describe, expect, it } from "vitest";
import { hostIsDark } from "../src/theme";

const { body, documentElement: root } = document;

afterEach(() => {
  for (const element of [body, root]) for (const { name } of [...element.attributes]) element.removeAttribute(name);
});

describe("the page around", () => {
  it.each([
    ["JupyterLab", body, "data-jp-theme-light", "true", "false"],
    ["VS Code", body, "data-vscode-theme-kind", "vscode-light", "vscode-dark"],
    [
      "VS Code with high contrast",
      body,
      "data-vscode-theme-kind",
      "vscode-high-contrast-light",
      "vscode-high-contrast",
    ],
    ["Sphinx", root, "data-theme", "light", "dark"],
    ["marimo", body, "data-theme", "light", "dark"],
    ["marimo, by class", body, "class", "light light-theme", "dark dark-theme"],
    ["Colab", root, "theme", "light", "dark"],
    ["a page with a colour scheme", body, "style", "color-scheme: light", "color-scheme: dark"],
  ])("%s says whether it is dark", (_, element, name, light, dark) => {
    element.setAttribute(name, light);
    expect(hostIsDark()).toBe(false);
    element.setAttribute(name, dark);
    expect(hostIsDark()).toBe(true);
  });

  it("says nothing where it takes both, or has words that only look alike", () => {
    expect(hostIsDark()).toBe(null);
    root.className = "darkroom lightbox highlight no-dark-mode";
    expect(hostIsDark()).toBe(null);
    body.style.colorScheme = "light dark";
    expect(hostIsDark()).toBe(null);
  });
});
