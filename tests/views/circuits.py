"""Records built by hand, without the engine: a tape whose rules stand beside each op, and the circuits that the view tests draw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tensorviz.axes import sum_axes
from tensorviz.trace import Array, Share, Source, Step, Trace, TraceData, TraceNode

Rule = Callable[[Array], Array]


class Tape:
    """Nodes in forward order; ``record`` walks them backwards and writes every step down."""

    def __init__(self) -> None:
        self.nodes: list[TraceNode] = []
        self.rules: dict[int, list[Rule | None]] = {}
        self.routes: dict[tuple[int, int], Array] = {}
        self.scope = ""

    def _add(self, op: str, label: str, name: str | None, inputs: Sequence[int], value: Any, kind: Any, grad: bool, **more: Any) -> int:
        array = np.asarray(value)
        source = Source("/home/someone/circuit.py", len(self.nodes) + 1, "<module>", f"line {len(self.nodes) + 1}")
        node = TraceNode(
            len(self.nodes), op, label, name, tuple(inputs), {}, array.shape, str(array.dtype), array, {}, kind, grad, self.scope, source
        )
        self.nodes.append(replace(node, **more))
        return node.id

    def leaf(self, value: Any, name: str | None = None, kind: str = "leaf") -> int:
        return self._add("leaf", name or "leaf", name, (), np.asarray(value, dtype=float), kind, True)

    def constant(self, value: Any, name: str | None = None) -> int:
        return self._add("constant", "constant", name, (), value, "constant", False)

    def detached(self, source: int, name: str | None = None) -> int:
        return self._add("detach", "detach", name, (), self.nodes[source].value, "detached", False, cut=source)

    def op(self, op: str, label: str, inputs: Sequence[int], value: Any, rules: Sequence[Rule | None], name: str | None = None, **more: Any) -> int:
        made = self._add(op, label, name, inputs, value, "op", any(self.nodes[i].requires_grad for i in inputs), **more)
        self.rules[made] = list(rules)
        return made

    def value(self, node: int) -> Array:
        return self.nodes[node].value

    # ---- a few ops -------------------------------------------------------------------------------------------

    def add(self, a: int, b: int, name: str | None = None) -> int:
        return self.op(
            "add",
            "+",
            (a, b),
            self.value(a) + self.value(b),
            [lambda g: g, lambda g: g],
            name,
            formulas=("g", "g"),
            slots=("a", "b"),
            word="distributes",
        )

    def mul(self, a: int, b: int, name: str | None = None) -> int:
        x, y = self.value(a), self.value(b)
        more = {"formulas": ("g * b", "g * a"), "slots": ("a", "b"), "saved": {"a": x, "b": y}, "saved_from": {"a": 0, "b": 1}, "word": "swaps"}
        return self.op("mul", "×", (a, b), x * y, [lambda g: g * y, lambda g: g * x], name, **more)

    def square(self, a: int, name: str | None = None) -> int:
        x = self.value(a)
        more = {"formulas": ("2 * a * g",), "slots": ("a",), "saved": {"a": x}, "saved_from": {"a": 0}}
        return self.op("square", "**2", (a,), x**2, [lambda g: 2 * x * g], name, **more)

    def sum(self, a: int, name: str | None = None) -> int:
        x = self.value(a)
        return self.op("sum", "sum", (a,), x.sum(), [lambda g: np.broadcast_to(g, x.shape).copy()], name, formulas=("g",), slots=("a",))

    def sigmoid(self, a: int, name: str | None = None) -> int:
        s = 1 / (1 + np.exp(-self.value(a)))
        return self.op(
            "sigmoid",
            "σ",
            (a,),
            s,
            [lambda g: s * (1 - s) * g],
            name,
            saved={"s": s},
            saved_from={"s": -1},
            formulas=("s * (1 - s) * g",),
            slots=("a",),
        )

    def divide(self, a: int, b: int, name: str | None = None) -> int:
        x, y = self.value(a), self.value(b)
        more = {"saved": {"a": x, "b": y}, "saved_from": {"a": 0, "b": 1}, "formulas": ("g / b", "-g * a / b**2"), "slots": ("a", "b")}
        return self.op("divide", "÷", (a, b), x / y, [lambda g: g / y, lambda g: -g * x / y**2], name, **more)

    def max(self, a: int, axis: int, name: str | None = None) -> int:
        x = self.value(a)
        won = x == x.max(axis, keepdims=True)
        route = won / won.sum(axis, keepdims=True)
        made = self.op("max", "max", (a,), x.max(axis), [lambda g: np.where(won, route * np.expand_dims(g, axis), 0.0)], name, word="routes")
        self.routes[made, 0] = route
        return made

    def matmul(self, a: int, b: int, name: str | None = None) -> int:
        x, y = self.value(a), self.value(b)

        def left(g: Array) -> Array:
            return g * y if y.ndim == 1 and x.ndim == 1 else g @ y.T

        def right(g: Array) -> Array:
            return g * x if x.ndim == 1 and y.ndim == 1 else x.T @ g

        return self.op(
            "matmul",
            "@",
            (a, b),
            x @ y,
            [left, right],
            name,
            saved={"a": x, "b": y},
            saved_from={"a": 0, "b": 1},
            formulas=("g @ b.T", "a.T @ g"),
            slots=("a", "b"),
        )

    # ---- the pass --------------------------------------------------------------------------------------------

    def record(self, root: int | None = None, *, forward_only: bool = False) -> Trace:
        root = len(self.nodes) - 1 if root is None else root
        if forward_only:
            return Trace(TraceData(tuple(self.nodes), (), (root,)))
        seed = np.ones_like(self.nodes[root].value, dtype=float)
        totals: dict[int, Array] = {root: seed}
        shares: dict[int, list[Share]] = {}
        steps = [Step("seed", root, None, None, seed, "The seed: the output's own gradient is 1.")]
        for i in range(root, -1, -1):
            node = self.nodes[i]
            if i not in totals or node.kind != "op":
                continue
            steps.append(Step("pull", i, None, None, None, f"The rule of {node.op} runs."))
            for slot, (target, rule) in enumerate(zip(node.inputs, self.rules[i], strict=True)):
                if rule is None or not self.nodes[target].requires_grad:
                    continue
                local = np.asarray(rule(totals[i]))
                axes = sum_axes(local.shape, self.nodes[target].shape)
                value = local.sum(axes).reshape(self.nodes[target].shape) if axes else local
                before = totals.get(target)
                total = value if before is None else before + value
                share = Share(i, slot, target, local, axes, value, total, self.routes.get((i, slot)))
                if axes:
                    steps.append(Step("unbroadcast", target, share, None, None, f"The share is summed over axes {axes}."))
                totals[target] = total
                shares.setdefault(target, []).append(share)
                steps.append(Step("accumulate", target, share, before, total, f"A share arrives at {self.nodes[target].title}."))
        for i, node in enumerate(self.nodes):
            if node.is_leaf and i in totals:
                steps.append(Step("leaf", i, None, None, totals[i], f"{node.title}.grad is written."))
        nodes = tuple(replace(n, shares=tuple(shares.get(n.id, ())), cotangent=totals.get(n.id)) for n in self.nodes)
        return Trace(TraceData(nodes, tuple(steps), (root,)))


def broadcast(**how: Any) -> Trace:
    """``L = ((X + b) ** 2).sum()`` with X (2, 3) and b (3,): 12 steps, b's share is summed over axis 0."""
    t = Tape()
    x, b = t.leaf([[1, 2, 3], [4, 5, 6]], "X"), t.leaf([0.1, 0.2, 0.3], "b")
    t.sum(t.square(t.add(x, b)), "L")
    return t.record(**how)


def staged() -> Trace:
    """``f = (x + sigmoid(y)) / (sigmoid(x) + (x + y)**2)`` at (3, -4): x is used three times, y twice."""
    t = Tape()
    x, y = t.leaf(3.0, "x"), t.leaf(-4.0, "y")
    num = t.add(x, t.sigmoid(y, "sigy"), "num")
    sigx = t.sigmoid(x, "sigx")
    den = t.add(sigx, t.square(t.add(x, y, "xpy"), "xpysqr"), "den")
    t.mul(num, t.divide(t.constant(1.0), den, "invden"), "f")
    return t.record()


def routed() -> Trace:
    """``L = w @ A.max(axis=1)`` with a tie in row 0 and a -inf."""
    t = Tape()
    a = t.leaf([[0.2, 1.5, 1.5, -0.3], [-np.inf, 0.7, 2.1, 0.4], [3.0, -1.2, 0.8, 2.9]], "A")
    w = t.leaf([1.0, -2.0, 0.5], "w", "parameter")
    t.matmul(w, t.max(a, 1, "m"), "L")
    return t.record()


def squared(value: Any = 3.0, name: str | None = "x") -> Trace:
    """``x * x``: one leaf, two uses."""
    t = Tape()
    x = t.leaf(value, name)
    y = t.mul(x, x)
    if t.value(y).size != 1:
        t.sum(y)
    return t.record()


def cut() -> Trace:
    """``z = x * u`` where u is x detached."""
    t = Tape()
    x = t.leaf(3.0, "x")
    t.mul(x, t.detached(x, "u"), "z")
    return t.record()


def chain(length: int) -> Trace:
    """``x + 1 + 1 + ...``."""
    t = Tape()
    y = t.leaf(np.ones(3), "x")
    for _ in range(length):
        y = t.add(y, t.constant(1.0))
    t.sum(y, "s")
    return t.record()


def layers(count: int, width: int = 64, *, scoped: bool = False) -> Trace:
    """A net of ``count`` dense layers."""
    draw = np.random.default_rng(0)
    t = Tape()
    h = t.constant(draw.normal(size=(32, width)), "x")
    for i in range(count):
        t.scope = f"layer{i}" if scoped else ""
        w = t.leaf(draw.normal(size=(width, width)) / np.sqrt(width), f"W{i}", "parameter")
        b = t.leaf(np.zeros(width), f"b{i}", "parameter")
        z = t.add(t.matmul(h, w), b)
        on = t.value(z) > 0
        h = t.op("relu", "relu", (z,), np.where(on, t.value(z), 0.0), [lambda g, on=on: np.where(on, g, 0.0)], f"h{i}")  # type: ignore[misc]
        t.routes[h, 0] = on.astype(float)
    t.scope = ""
    t.sum(t.square(h), "loss")
    return t.record()
