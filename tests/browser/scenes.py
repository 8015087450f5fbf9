"""Moments of the stepper: every pane at a step where it has something to show. The gallery photographs them, the accessibility tests judge them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Locator, Page, expect

import tensorviz as tv
from tensorviz.trace import Trace
from tensorviz.views.text import xml
from tensorviz.widgets import assets, state, wishes
from tensorviz.widgets.pair import pair
from tensorviz.widgets.payload import payload
from views import gallery

Act = Callable[[Locator], None]


def loop() -> Trace:
    """A function that the cell calls three times: three nodes come from one line."""
    w = tv.tensor([0.5, -0.25], requires_grad=True, name="w")

    def layer(h: Any) -> Any:
        return np.tanh(h * w)

    h: Any = tv.tensor([1.0, 2.0], name="x")
    for _ in range(3):
        h = layer(h)
    return h.sum().backward()


def wrong() -> Trace:
    """A rule that forgets its factor 2: the check blames it."""
    square = tv.custom_op("wrong_square", lambda a: a * a, lambda g, a: (g * a,))
    x = tv.tensor([0.5, -1.0, 2.0], requires_grad=True, name="x")
    trace = (square(np.sin(x)) * 3.0).sum().backward()
    trace.check()
    return trace


def hostile() -> Trace:
    """Entries from 1e-9 to 1e200 and NaN, both infinities and zero."""
    v = tv.tensor([[1e200, -3.5, 0.0], [np.nan, np.inf, -np.inf], [1e-9, 2.5e-3, 7.0]], requires_grad=True, name="v")
    k = tv.tensor([2.0, -1.0, 0.5], requires_grad=True, name="k")
    with np.errstate(all="ignore"):
        return (v * k).sum().backward()


def large() -> Trace:
    """Arrays too large to be read as numbers."""
    draw = np.random.default_rng(3)
    X, W = (tv.tensor(draw.normal(size=s), requires_grad=True, name=n) for s, n in (((64, 48), "X"), ((48, 32), "W")))
    c = tv.tensor(np.zeros(32), requires_grad=True, name="c")
    return (tv.relu(X @ W + c) ** 2).mean().backward()


def network() -> Trace:
    """Three blocks of four layers: some 300 nodes in scopes, closed."""
    draw = np.random.default_rng(1)
    h: Any = tv.tensor(draw.normal(size=(8, 16)), name="data")
    for i in range(12):
        with tv.scope(f"block{i // 4}/layer{i}"):
            W = tv.tensor(draw.normal(size=(16, 16)) / 4, requires_grad=True, name=f"W{i}")
            c = tv.tensor(np.zeros(16), requires_grad=True, name=f"c{i}")
            z = h @ W + c
            m = z.mean(axis=1, keepdims=True)
            s = np.sqrt(((z - m) ** 2).mean(axis=1, keepdims=True) + 1e-5)
            h = tv.relu((z - m) / s) * 0.5 + h
    return (h**2).mean().backward()


def fork() -> Trace:
    """One value used three times."""
    x = tv.tensor(3.0, requires_grad=True, name="x")
    return (x * x + x).backward()


def checked(make: Callable[[], Trace]) -> Callable[[], Trace]:
    """The same with its gradients checked."""

    def make_() -> Trace:
        trace = make()
        trace.check()
        return trace

    make_.__name__ = make.__name__
    return make_


def at(kind: str, of: int = 0, node: str | None = None) -> Callable[[Trace], int]:
    """The step of a kind (the ``of``-th, and only to a node of that name)."""

    def find(trace: Trace) -> int:
        found = [k for k, s in enumerate(trace.steps) if s.kind == kind and (node is None or trace.nodes[s.node].name == node)]
        return found[of]

    return find


def part(of: float) -> Callable[[Trace], int]:
    """So far through the pass."""
    return lambda trace: int((len(trace.steps) - 1) * of)


def tab(name: str) -> Act:
    return lambda stepper: stepper.get_by_role("tab", name=name, exact=True).click()


def node(name: str) -> Act:
    """Select a node by its name, as somebody who searches for it."""

    def act(stepper: Locator) -> None:
        stepper.get_by_role("searchbox", name="Find node").fill(name)
        stepper.get_by_role("searchbox", name="Find node").press("Enter")
        expect(stepper.locator("[data-node][data-selected]").first).to_be_attached()

    return act


def found(words: str) -> Act:
    """Write into the search, and go nowhere yet."""

    def act(stepper: Locator) -> None:
        stepper.get_by_role("searchbox", name="Find node").fill(words)
        expect(stepper.get_by_role("listbox", name="Nodes found")).to_be_visible()

    return act


def button(name: str) -> Act:
    return lambda stepper: stepper.get_by_role("button", name=name).first.click()


def press(key: str) -> Act:
    def act(stepper: Locator) -> None:
        stepper.focus()
        stepper.page.keyboard.press(key)

    return act


def entry(name: str) -> Act:
    """Focus one entry of an array."""
    return lambda stepper: stepper.locator(f'[role=tabpanel] [role=gridcell][aria-label^="{name} is"]').focus()


def edited(name: str, to: str) -> Act:
    """Write another number into an entry; the kernel's half of the stepper runs the graph again."""

    def act(stepper: Locator) -> None:
        entry(name)(stepper)
        stepper.page.keyboard.press("Enter")
        stepper.page.keyboard.type(to)
        stepper.page.keyboard.press("Enter")
        expect(stepper.get_by_role("group", name="Changes")).to_be_visible()

    return act


def zeroed(stepper: Locator) -> None:
    stepper.get_by_role("button", name="set to 0").first.click()
    expect(stepper.get_by_role("group", name="Changes")).to_be_visible()


def sliced(index: str) -> Act:
    """Ask for a part of a large array."""

    def act(stepper: Locator) -> None:
        field = stepper.get_by_role("textbox").first
        field.fill(index)
        field.press("Enter")
        expect(stepper.locator("[role=tabpanel] .tv-slice table")).to_be_visible()
        field.scroll_into_view_if_needed()

    return act


@dataclass(frozen=True)
class Scene:
    """One moment: what to look at in it, the pass, the step, and what a person has done to be there."""

    name: str
    title: str
    says: str
    make: Callable[[], Trace]
    step: Callable[[Trace], int]
    acts: tuple[Act, ...] = ()
    live: bool = False
    """With a kernel, so that numbers can be changed and loaded."""
    presentation: bool = False
    beside: bool = False
    """Two linked views of the pass."""
    size: tuple[int, int] = (1280, 720)

    def open(self, page: Page, folder: Path, theme: str) -> Locator:
        """The scene on a page; gives the stepper."""
        trace = self.make()
        step = self.step(trace)
        options = {"step": step, "theme": theme, "presentation": self.presentation}
        path = folder / "scene.html"
        if self.live:
            kernelled(page, path, trace, options)
        elif self.beside:
            pair(trace, trace, names=("where the pass is", "Wq, all along"), step=step, theme=theme).to_html(path)
        else:
            trace.to_html(path, **options)
        page.goto(path.resolve().as_uri())
        stepper = page.get_by_role("region", name="Backward pass debugger").last
        expect(stepper).to_have_attribute("data-step", str(step))
        for act in self.acts:
            act(stepper)
        page.evaluate("document.fonts.ready.then(() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r))))")
        return stepper


SCENES = (
    Scene("unbroadcast", "Unbroadcast", "b was copied down the rows of X, so its share is summed over axis 0: before and after, axes and ledger", checked(gallery.broadcast), at("unbroadcast")),
    Scene("fork", "A fork adds", "The second of three shares reaches x: Σ 2/3 on the stem, the running sum in the ledger", checked(gallery.staged), at("accumulate", 1, "x")),
    Scene("route", "A maximum routes", "max sends its gradient to the winners: a tie is split, −∞ gets 0", checked(gallery.tie), at("accumulate", 0, "A")),
    Scene("nan", "NaN is born", "An overflow and a NaN: marks on the timeline, red dashes while it lives", gallery.born, part(0.6)),
    Scene("findings", "Findings", "What the tool found, the root cause first", gallery.born, part(0.9), (tab("Findings"),)),
    Scene("shares", "Shares", "The whole ledger of a fork with the steps of its running sum", checked(gallery.staged), at("accumulate", 2, "x"), (tab("Shares"),)),
    Scene("saved", "Saved values", "Saved values with their lifetime, and the bytes held at every step", checked(gallery.staged), part(0.4), (tab("Saved values"),)),
    Scene("check", "Check", "Analytic, numeric and error, share by share", checked(gallery.staged), part(0.6), (tab("Check"),)),
    Scene("blame", "A wrong rule", "A rule that forgets a factor: the check blames it", wrong, at("pull", 2), (tab("Check"),)),
    Scene("source", "Source", "The line that made the node, one of three iterations", loop, part(0.5), (tab("Source"),)),
    Scene("attention", "Matrices", "An attention head: heatmaps of matrices, the softmax routed and scaled", checked(gallery.attention), part(0.5)),
    Scene("log", "Log scale", "Tints by powers of ten, where the linear scale shows nothing", gallery.attention, part(0.7), (button("log scale"),)),
    Scene("glyphs", "Special numbers", "NaN, both infinities, zero and numbers of every size in one array", hostile, at("accumulate", 0, "v"), (node("v"),)),
    Scene("entry", "One entry", "One entry: where it comes from and goes to, ringed in the graph", gallery.broadcast, part(1), (node("b"), entry("∂b[1]"))),
    Scene("large", "Large arrays", "Arrays beyond reading: a picture, figures, and a part of it loaded from the kernel", large, part(0.7), (node("W"), sliced("[:3, :4]")), live=True),
    Scene("edit", "A number changed", "One entry of b changed: the graph ran again and every pane follows", gallery.broadcast, part(1), (node("b"), edited("b[1]", "10.25")), live=True),
    Scene("zero", "A share set to 0", "One share set to 0: what is missing downstream went through it", fork, part(1), (node("x"), tab("Shares"), zeroed), live=True),
    Scene("network", "A large graph", "Twelve layers in scopes, closed; the neighbourhood of the step below", network, part(0.4)),
    Scene("detached", "Detached and zero", "A detached value and a gradient that is zero throughout", gallery.cut, part(0.8)),
    Scene("search", "Find a node", "Nodes whose names hold these letters", checked(gallery.staged), part(0.3), (found("x"),)),
    Scene("stops", "Breakpoints", "Where to stop", checked(gallery.staged), part(0.3), (button("Stop at"),)),
    Scene("help", "Help", "The keys", gallery.broadcast, part(0.3), (press("?"),)),
    Scene("pair", "Two linked views", "Two linked views of one pass", gallery.attention, part(0.5), (node("Wq"),), beside=True, size=(1920, 800)),
    Scene("lecture", "Lecture hall", "Presentation mode: large type, high contrast, one pane", gallery.broadcast, at("unbroadcast"), presentation=True, size=(1920, 1080)),
    Scene("lecture-fork", "Lecture hall, a fork", "Presentation mode at a fork", gallery.staged, at("accumulate", 1, "x"), presentation=True),
    Scene("lecture-network", "Lecture hall, a large graph", "Presentation mode of a large graph", network, part(0.4), presentation=True, size=(1920, 1080)),
)  # fmt: skip


def kernelled(page: Page, path: Path, trace: Trace, options: dict[str, Any]) -> None:
    """A page with the plain widget whose model answers as the kernel does: with the Python half of the stepper, in this process."""

    def answer(wish: str) -> str:
        reply, buffers = wishes.answer(trace, json.loads(wish))
        return json.dumps({"answer": reply, "buffers": [base64.b64encode(b).decode() for b in buffers]})

    page.expose_function("tensorvizKernel", answer)
    model = state.settings("Stepper", trace, options)
    path.write_text(PLAIN % (xml("A stepper with a kernel"), assets.text("stepper.css"), json.dumps(model), *map(_base64, (payload(trace), assets.text("stepper.js").encode()))), "utf-8")  # fmt: skip


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


PLAIN = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>%s</title><style>:root{color-scheme:light dark}body{margin:12px}%s</style><main id="widget"></main>
<script type="module">
const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const state = %s, listeners = {}, payload = new DataView(bytes("%s").buffer);
const model = {
  get: (name) => (name === "payload" ? payload : state[name]),
  set: (name, value) => { state[name] = value; },
  save_changes() {},
  on: (name, f) => (listeners[name] ??= new Set()).add(f),
  off: (name, f) => listeners[name]?.delete(f),
  async send(message) {
    if (message.type !== "wish") return;
    const { answer, buffers } = JSON.parse(await tensorvizKernel(JSON.stringify(message.wish)));
    const parts = buffers.map((b) => new DataView(bytes(b).buffer));
    for (const f of listeners["msg:custom"] ?? []) f({ type: "answer", answer }, parts);
  },
};
const module = await import("data:text/javascript;base64,%s");
await module.default.render({ model, el: document.getElementById("widget") });
</script></html>
"""
