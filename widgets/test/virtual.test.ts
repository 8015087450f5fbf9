import { beforeEach, describe, expect, it, vi } from "vitest";
import { h, patch, s, type Child } from "../src/virtual";

let place: HTMLElement;
const draw = (...children: Child[]) => patch(place, children);
beforeEach(() => (place = document.createElement("div")));

describe("what is drawn again", () => {
  it("stays the same elements, and changes where it differs", () => {
    draw(h("p", { class: "a", title: "gone" }, "one ", h("b", {}, "x")), "two");
    const [p, text] = place.childNodes;
    const b = place.querySelector("b");
    draw(h("p", { class: "b", hidden: true }, "uno ", h("b", {}, "x")), "dos");
    expect([...place.childNodes]).toEqual([p, text]);
    expect(place.querySelector("b")).toBe(b);
    expect(place.innerHTML).toBe('<p class="b" hidden="">uno <b>x</b></p>dos');
    draw();
    expect(place.innerHTML).toBe("");
  });

  it("touches nothing that is as it was", async () => {
    const same = () => h("p", { class: "a", style: "color: red", onclick: () => {} }, "one", s("svg", { width: 4 }));
    draw(same());
    const seen = vi.fn();
    const watch = new MutationObserver(seen);
    watch.observe(place, { subtree: true, childList: true, attributes: true, characterData: true });
    draw(same());
    await Promise.resolve();
    expect(watch.takeRecords()).toEqual([]);
    expect(seen).not.toHaveBeenCalled();
  });

  it("undoes what was changed by hand", () => {
    draw(h("td", { tabindex: 0, "aria-selected": null }, "1"));
    const td = place.querySelector("td");
    td?.setAttribute("tabindex", "-1");
    td?.setAttribute("aria-selected", "true");
    td?.replaceChildren(document.createElement("input"));
    draw(h("td", { tabindex: 0, "aria-selected": null }, "2"));
    expect(place.innerHTML).toBe('<td tabindex="0">2</td>');
  });

  it("hears by what it was given last", () => {
    const [first, second] = [vi.fn(), vi.fn()];
    draw(h("button", { onclick: first }));
    const button = place.querySelector("button");
    button?.click();
    draw(h("button", { onclick: second }));
    button?.click();
    draw(h("button", {}));
    button?.click();
    expect([first.mock.calls.length, second.mock.calls.length]).toEqual([1, 1]);
  });

  it("is made anew where it is about something else", () => {
    const made = vi.fn();
    draw(h("canvas", { key: 1, made }));
    const canvas = place.firstChild;
    draw(h("canvas", { key: 1, made }));
    expect([place.firstChild === canvas, made.mock.calls.length]).toEqual([true, 1]);
    draw(h("canvas", { key: 2, made }));
    expect([place.firstChild === canvas, made.mock.calls.length]).toEqual([false, 2]);
  });

  it("makes room for what comes in between", () => {
    draw(h("h2", {}), h("table", {}, "t"), h("ul", {}));
    const table = place.querySelector("table");
    draw(h("h2", {}), h("p", {}), h("table", {}, "t"), h("ul", {}));
    expect(place.innerHTML).toBe("<h2></h2><p></p><table>t</table><ul></ul>");
    expect(place.querySelector("table")).toBe(table);
    draw(h("ul", {}), false, null, 7);
    expect(place.innerHTML).toBe("<ul></ul>7");
  });

  it("stays text, whatever is in it", () => {
    draw("<img src=x>", h("b", { title: '"><i>' }, "<img src=x>"));
    draw("<img src=y>", h("b", { title: '"><i>' }, "<img src=y>"));
    expect(place.querySelector("img, i")).toBeNull();
    expect(place.textContent).toBe("<img src=y><img src=y>");
  });
});
