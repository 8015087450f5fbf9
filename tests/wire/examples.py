"""Small records made by hand, so that wire and widgets are tested without the engine."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.trace import Array, NodeKind, Share, Source, Step, Trace, TraceData, TraceNode


def node(id: int, op: str, value: Any, inputs: tuple[int, ...] = (), kind: NodeKind = "op", **more: Any) -> TraceNode:
    array = np.asarray(value)
    given: dict[str, Any] = {
        "label": {"add": "+", "pow": "**2"}.get(op, op),
        "name": None,
        "params": {},
        "saved": {},
        "requires_grad": True,
        "scope": "",
        "source": None,
    } | more
    return TraceNode(id=id, op=op, inputs=inputs, shape=array.shape, dtype=str(array.dtype), value=array, kind=kind, **given)


def share(consumer: int, slot: int, target: int, local: Array, axes: tuple[int, ...] = (), **more: Any) -> Share:
    value = local.sum(axis=axes) if axes else local
    return Share(consumer, slot, target, local, axes, value, more.pop("total", value), **more)


def broadcast() -> Trace:
    """L = ((X + b) ** 2).sum() with X (2, 3) and b (3,): b's share is summed over axis 0."""
    x, b = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([0.1, 0.2, 0.3])
    a = x + b
    code = "L = ((X + b) ** 2).sum()"
    g = 2 * a
    to_p, to_a = share(4, 0, 3, np.ones((2, 3))), share(3, 0, 2, g)
    to_x, to_b = share(2, 0, 0, g), share(2, 1, 1, g, (0,))
    rules = {"slots": ("a", "b"), "formulas": ("g", "g"), "word": "distributes"}
    line = lambda start, end: Source("lesson.py", 3, "<module>", code, 3, start, end)  # noqa: E731
    nodes = (
        node(
            0, "leaf", x, kind="leaf", name="X", shares=(to_x,), cotangent=g, source=Source("lesson.py", 1, "<module>", "X = tv.tensor(x)", 1, 4, 16)
        ),
        node(
            1, "leaf", b, kind="leaf", name="b", shares=(to_b,), cotangent=to_b.value, source=Source("lesson.py", 2, "<module>", "b = tv.tensor(y)")
        ),
        node(2, "add", a, (0, 1), source=line(6, 11), shares=(to_a,), cotangent=g, **rules),
        node(
            3,
            "pow",
            a**2,
            (2,),
            params={"exponent": 2.0},
            saved={"x": a},
            saved_from={"x": 0},
            slots=("x",),
            formulas=("g * 2 * x",),
            source=line(5, 17),
            shares=(to_p,),
            cotangent=np.ones((2, 3)),
        ),
        node(
            4,
            "sum",
            (a**2).sum(),
            (3,),
            name="L",
            source=line(4, 24),
            params={"axis": None, "keepdims": False},
            slots=("x",),
            formulas=("g",),
            cotangent=np.array(1.0),
        ),
    )
    zero = np.zeros
    steps = (
        Step("seed", 4, None, None, np.array(1.0), "The pass starts at L, so ∂L = 1."),
        Step("pull", 4, None, None, None, "sum distributes: a share goes to (X + b) ** 2."),
        Step("accumulate", 3, to_p, zero((2, 3)), to_p.value, "(X + b) ** 2 receives its only share from L."),
        Step("pull", 3, None, None, None, "The rule of (X + b) ** 2 runs."),
        Step("accumulate", 2, to_a, zero((2, 3)), to_a.value, "X + b receives its only share."),
        Step("pull", 2, None, None, None, "add distributes; shares go to X and b."),
        Step("accumulate", 0, to_x, zero((2, 3)), to_x.value, "X receives its only share from X + b."),
        Step("unbroadcast", 1, to_b, None, None, "Forward copied b along axis 0, so backward its share is summed over axis 0: (2, 3) becomes (3,)."),
        Step("accumulate", 1, to_b, zero(3), to_b.value, "b receives its only share from X + b."),
        Step("leaf", 0, None, None, g, "X.grad was None and now holds ∂X."),
        Step("leaf", 1, None, None, to_b.value, "b.grad was None and now holds ∂b."),
    )
    return Trace(TraceData(nodes, steps, (4,)))


def fork() -> Trace:
    """y = x * x at 3: two shares of one node, and the sum is 6."""
    x = np.array(3.0)
    first = share(1, 0, 0, np.array(3.0))
    second = share(1, 1, 0, np.array(3.0), total=np.array(6.0))
    rules = {"slots": ("a", "b"), "formulas": ("g * b", "g * a"), "word": "swaps", "saved": {"a": x, "b": x}, "saved_from": {"a": 0, "b": 1}}
    nodes = (
        node(0, "leaf", x, kind="leaf", name="x", shares=(first, second), cotangent=np.array(6.0)),
        node(1, "multiply", x * x, (0, 0), label="*", name="y", cotangent=np.array(1.0), **rules),
    )
    steps = (
        Step("seed", 1, None, None, np.array(1.0), "The pass starts at y, so ∂y = 1."),
        Step("pull", 1, None, None, None, "multiply swaps; shares go to x."),
        Step("accumulate", 0, first, np.array(0.0), first.total, "x is used twice, so its shares add: the first, 3 from y, makes ∂x = 3."),
        Step(
            "accumulate", 0, second, first.total, second.total, "x is used twice, so its shares add: the second, 3 from y, makes ∂x = 6; all are in."
        ),
        Step("leaf", 0, None, None, second.total, "x.grad was None and now holds ∂x = 6."),
    )
    return Trace(TraceData(nodes, steps, (1,)))


def routed() -> Trace:
    """m = max(A, axis=1) with a tie, a -inf and a NaN: the weights say who wins."""
    a = np.array([[0.2, 1.5, 1.5], [-np.inf, 0.7, 2.1]])
    route = np.array([[0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
    seed = np.array([1.0, np.nan])
    sent = np.array([[0.0, 0.5, 0.5], [0.0, 0.0, np.nan]])
    one = share(1, 0, 0, sent, route=route)
    nodes = (
        node(0, "leaf", a, kind="parameter", name="A", shares=(one,), cotangent=sent),
        node(
            1,
            "max",
            a.max(axis=1),
            (0,),
            params={"axis": 1, "keepdims": False},
            name="m",
            word="routes",
            slots=("x",),
            formulas=("route * g",),
            cotangent=seed,
        ),
    )
    steps = (
        Step("seed", 1, None, None, seed, "The pass starts at m with the given seed of shape (2,)."),
        Step("pull", 1, None, None, None, "max routes; a share goes to A."),
        Step("accumulate", 0, one, np.zeros((2, 3)), sent, "m routes its gradient to 3 of 6 elements and 0 to the others."),
        Step("leaf", 0, None, None, sent, "A.grad was None and now holds ∂A."),
    )
    return Trace(TraceData(nodes, steps, (1,)))


EXAMPLES = {"broadcast": broadcast, "fork": fork, "routed": routed}
