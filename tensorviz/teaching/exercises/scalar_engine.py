"""An exercise on a whole engine: a scalar class with +, *, tanh and backward, compared with this package's own on hidden expressions. Imports the exercise, the engine and the zoo."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tensorviz.engine.backward import backward
from tensorviz.engine.tensor import tensor
from tensorviz.teaching.exercise import Exercise, Part, judged, raised
from tensorviz.teaching.feedback import Feedback
from tensorviz.teaching.sweep import Right, Sweep
from tensorviz.teaching.zoo import with_bug
from tensorviz.trace import Trace

Expression = Callable[[Any, Any, Any], Any]


def _meets_again(a: Any, b: Any, c: Any) -> Any:
    h = a * b
    return h * (h + c) + h


def _long_way(a: Any, b: Any, c: Any) -> Any:
    h = a * b
    long = (h * c).tanh() + c
    return h + long * h


def _neuron(a: Any, b: Any, c: Any) -> Any:
    n = a * b + c
    return n.tanh() * n


EXPRESSIONS: tuple[tuple[str, Expression], ...] = (
    ("a sum: a + b", lambda a, b, _: a + b),
    ("a product: a * b", lambda a, b, _: a * b),
    ("both: a * b + c", lambda a, b, c: a * b + c),
    ("tanh: (a * b + c).tanh()", lambda a, b, c: (a * b + c).tanh()),
    ("a value used twice by one op: a + a", lambda a, *_: a + a),
    ("a square: a * a", lambda a, *_: a * a),
    ("a value used by two ops: h = a * b, then h * (h + c) + h", _meets_again),
    ("a short and a long way to the same value: h = a * b, then h + ((h * c).tanh() + c) * h", _long_way),
    ("a neuron that multiplies itself: n = a * b + c, then n.tanh() * n", _neuron),
)
"""Run on the student's values and on Tensors alike."""


class _Again(Right):
    """Passes on whatever has come, each time that it comes by."""

    def pulled(self, sweep: Sweep, i: int) -> None:
        sweep.visited.discard(i)


def _in_wrong_orders(trace: Trace) -> Iterator[Trace]:
    """The pass in the orders that come to mind first: breadth first, depth first, and by plain recursion, which visits a node once for each use."""
    for flip in (1, -1):
        broad, deep, repeated = [list(trace.roots) for _ in range(3)]
        for i in broad:
            broad += [j for j in trace.nodes[i].inputs[::flip] if j not in broad]
        for order, again in ((deep, False), (repeated, True)):
            stack = [order.pop()]
            while stack:
                i = stack.pop()
                if again or i not in order:
                    order.append(i)
                    stack += trace.nodes[i].inputs[::flip]
        for order, mistake in ((broad, Right()), (deep, Right()), (repeated, _Again())):
            sweep = Sweep(trace, mistake)
            sweep.order = [i for i in order if trace.nodes[i].kind == "op"]
            yield Trace(sweep.run(()))


def _judge(cls: Any, rng: np.random.Generator) -> Feedback | None:
    for what, f in EXPRESSIONS:
        numbers = [float(x) for x in np.copysign(rng.uniform(0.5, 1.5, 3), rng.standard_normal(3))]
        leaves = [tensor(x, requires_grad=True, name=n) for x, n in zip(numbers, "abc", strict=True)]
        trace = backward([f(*leaves)])
        try:
            values = [cls(x) for x in numbers]
            out = f(*values)
            data = out.data
            out.backward()
            found = [v.grad for v in values]
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the student's class may raise anything, and is told what
            return raised(error, what)
        said = judged(Part("the value", trace.nodes[trace.roots[0]].value), data, what)
        if said is not None:
            return said
        bugs: list[tuple[str, Trace]] = [
            (kind, with_bug(trace, bug, node="all"))
            for bug, kind in (("overwrite", "overwrote"), ("wrong-order", "wrong-order"), ("average", "averaged"))
        ]
        bugs += [("wrong-order", wrong) for wrong in _in_wrong_orders(trace)]
        for name, leaf, got in zip("abc", leaves, found, strict=True):
            expected = 0.0 if leaf.grad is None else float(leaf.grad)
            wrong = [(kind, 0.0 if (g := t.node(leaf).cotangent) is None else g) for kind, t in bugs] if leaf.grad is not None else []
            said = judged(Part(f"{name}.grad", expected, tuple(wrong)), 0.0 if got is None else got, what)
            if said is not None:
                return said
    return None


ENGINE = Exercise(
    "engine",
    "Write a class of numbers that can differentiate: Value(data) with .data and .grad (0 at first), + and * between two of them, .tanh(), and .backward(), "
    "which sets .grad of everything that the value was made of.",
    "class Value",
    lambda _: (),
    judge=_judge,
)
