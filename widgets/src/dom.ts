/** Elements that stay: made at once, and looked after by the pane that made them. */
import { h as virtualH, make, s as virtualS, type Attributes, type Child } from "./virtual";

/** An HTML element; an attribute `on...` is a listener. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return make(virtualH(tag, attributes, ...children)) as HTMLElementTagNameMap[K];
}

/** An SVG element. */
export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return make(virtualS(tag, attributes, ...children)) as SVGElementTagNameMap[K];
}

/** Set or remove; touches the element only where something changes. */
export function attribute(element: Element, name: string, value: string | null): void {
  if (value === null) {
    if (element.hasAttribute(name)) element.removeAttribute(name);
  } else if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/** Have the keys, with nothing scrolled. */
export function focus(element: HTMLElement | SVGElement | null | undefined): void {
  element?.focus({ preventScroll: true });
}

/** Set the words of an element that holds nothing else; the text node stays, so that the browser changes it in place. */
export function text(element: Element, value: string): void {
  const only = element.firstChild;
  if (only === null || only.nodeType !== 3) element.textContent = value;
  else if (only.nodeValue !== value) only.nodeValue = value;
}
