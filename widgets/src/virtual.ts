/** Elements as descriptions: what is on the page already is kept, and only what differs is touched. Text goes in as text, never as markup. */
export type Child = Virtual | Node | string | number | null | undefined | false;
type Listener = (event: never) => void;
/**
 * What an element is given: attributes; listeners under `on...`; `style` as declarations; under `key` what it is about, so that it is not taken over for
 * something else; and under `made` what is done with it once it is there.
 */
export type Attributes = Record<string, string | number | boolean | null | undefined | object | Listener>;

const SVG = "http://www.w3.org/2000/svg";

export class Virtual {
  constructor(
    readonly tag: string,
    readonly space: string | null,
    readonly attributes: Attributes,
    readonly children: Child[],
  ) {}
}

const maker =
  (space: string | null) =>
  (tag: string, attributes: Attributes = {}, ...children: Child[]) =>
    new Virtual(tag, space, attributes, children);
export const h = maker(null);
export const s = maker(SVG);

/** An element with what it was last given; a property, since a browser's collector looks through a weak map at every step. */
type Given = Node & { tvGiven?: Virtual };

/** One listener for all that an element ever hears: what it was last given decides. */
function heard(this: Element, event: Event): void {
  const listener = (this as Given).tvGiven?.attributes[`on${event.type}`];
  if (typeof listener === "function") (listener as (event: Event) => void)(event);
}

function dress(element: Element, { attributes }: Virtual, before: Attributes): void {
  for (const name in attributes) {
    const value = attributes[name];
    if (name === "key" || name === "made") continue;
    if (typeof value === "function")
      element.addEventListener(name.slice(2), heard); // once, however often it is added
    else if (value === null || value === undefined || value === false) element.removeAttribute(name);
    else if (name === "style") {
      // Not as an attribute: a page may forbid those.
      if (value !== before[name]) (element as HTMLElement).style.cssText = String(value);
    } else {
      const text = value === true ? "" : String(value);
      if (element.getAttribute(name) !== text) element.setAttribute(name, text);
    }
  }
  for (const name in before) if (!(name in attributes)) element.removeAttribute(name);
}

/** A new element. */
export function make(virtual: Virtual): Element {
  const { tag, space, attributes, children } = virtual;
  const element = space ? document.createElementNS(space, tag) : document.createElement(tag);
  if (tag === "button") element.setAttribute("type", "button"); // none of them sends a form of the page around
  (element as Given).tvGiven = virtual;
  dress(element, virtual, {});
  for (const child of children) if (there(child)) element.append(node(child));
  if (typeof attributes["made"] === "function") (attributes["made"] as (element: Element) => void)(element);
  return element;
}

type There = Exclude<Child, null | undefined | false>;
const there = (child: Child): child is There => child !== null && child !== undefined && child !== false;

function node(child: There): Node {
  return child instanceof Virtual
    ? make(child)
    : child instanceof Node
      ? child
      : document.createTextNode(String(child));
}

/** Whether what stands there can become this child. */
function fits(old: Node, child: There): boolean {
  if (child instanceof Node) return old === child;
  if (!(child instanceof Virtual)) return old.nodeType === 3;
  const was = (old as Given).tvGiven;
  return was?.tag === child.tag && was.space === child.space && was.attributes["key"] === child.attributes["key"];
}

/** Make these the children of an element. */
export function patch(parent: Element, children: readonly Child[]): void {
  const wanted = children.filter(there);
  let old = parent.firstChild;
  wanted.forEach((child, i) => {
    if (old && fits(old, child)) {
      if (child instanceof Virtual) become(old as unknown as Element, child);
      else if (!(child instanceof Node) && old.nodeValue !== String(child)) old.nodeValue = String(child);
      old = old.nextSibling;
      return;
    }
    const made = node(child);
    const here = old;
    // What stands here is kept where a later child is to take it over.
    const kept = here && wanted.slice(i + 1).some((later) => fits(here, later));
    if (!here || kept) parent.insertBefore(made, here);
    else {
      old = here.nextSibling;
      parent.replaceChild(made, here);
    }
  });
  while (old) {
    const next: ChildNode | null = old.nextSibling;
    old.remove();
    old = next;
  }
}

function become(element: Element, virtual: Virtual): void {
  const was = (element as Given).tvGiven;
  if (was === virtual) return;
  (element as Given).tvGiven = virtual;
  dress(element, virtual, was?.attributes ?? {});
  patch(element, virtual.children);
}
