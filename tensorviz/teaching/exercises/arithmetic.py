"""Exercises on sums and products: add, mul, matmul. Imports the exercise and the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tensorviz.engine.unbroadcast import unbroadcast
from tensorviz.teaching.exercise import Case, Exercise, Part
from tensorviz.teaching.exercises.answers import gradients, random


def _pairs(rng: np.random.Generator) -> list[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    n, m, k = (int(i) for i in rng.permutation([2, 3, 4, 5])[:3])
    return [
        ("two numbers", (), ()),
        ("one shape", (n, m), (n, m)),
        ("a row", (n, m), (m,)),
        ("a column", (n, 1), (n, m)),
        ("both broadcast", (n, 1, k, 1), (m, 1, 1)),
        ("size 1", (1,), (n,)),
        ("a number and an array", (), (n, m)),
        ("a square, where any axis would fit", (n, n), (n,)),
        ("no elements", (0, m), (m,)),
    ]


def _cases(f: Callable[..., Any], locals_: Callable[[Any, Any, Any], tuple[Any, Any]]) -> Callable[[np.random.Generator], Iterator[Case]]:
    """Cases of a broadcasting op of two operands; ``locals_`` gives the shares before unbroadcast."""

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        for what, a_shape, b_shape in _pairs(rng):
            a, b = random(rng, a_shape), random(rng, b_shape)
            g = random(rng, np.broadcast_shapes(a_shape, b_shape))
            right = gradients(f, [a, b], g)
            unsummed = [np.broadcast_to(x, g.shape) for x in locals_(g, a, b)]
            alone = locals_(np.ones(g.shape), a, b)
            own = (g * a, g * b)
            parts = []
            for i, (name, x) in enumerate((("the share of a", a), ("the share of b", b))):
                wrong = [("not-summed", unsummed[i])]
                if x.shape != g.shape and g.size:
                    wrong.append(("averaged", right[i] / (g.size / x.size)))
                wrong += [
                    ("passed-on", unbroadcast(g, x.shape)),
                    ("without-g", unbroadcast(np.broadcast_to(alone[i], g.shape), x.shape)),
                    ("own-operand", unbroadcast(own[i], x.shape)),
                    ("swapped", right[1 - i]),
                ]
                parts.append(Part(name, right[i], tuple(wrong)))
            yield Case(f"{what}: a of shape {a_shape}, b of shape {b_shape}", (g, a, b), tuple(parts))

    return cases


def _products(rng: np.random.Generator) -> Iterator[Case]:
    n, m, k = (int(i) for i in rng.permutation([2, 3, 4, 5])[:3])
    shapes = [
        ("matrices", n, m, k),
        ("square matrices", m, m, m),
        ("a row and a column", 1, m, 1),
        ("size 1", 1, 1, 1),
        ("an outer product", n, 1, k),
        ("no rows", 0, m, k),
        ("nothing to sum over", n, 0, k),
    ]
    for what, rows, inner, columns in shapes:
        a, b, g = random(rng, (rows, inner)), random(rng, (inner, columns)), random(rng, (rows, columns))
        right = gradients(lambda x, y: x @ y, [a, b], g)
        square = rows == inner == columns
        wrong_a, wrong_b = [("swapped", right[1])], [("swapped", right[0])]
        if square:
            wrong_a += [("transposed", g @ b), ("transposed", b @ g), ("transposed", b.T @ g)]
            wrong_b += [("transposed", a @ g), ("transposed", g @ a), ("transposed", g @ a.T)]
        wrong_a.append(("without-g", np.ones(g.shape) @ b.T))
        wrong_b.append(("without-g", a.T @ np.ones(g.shape)))
        parts = (Part("the share of A", right[0], tuple(wrong_a)), Part("the share of B", right[1], tuple(wrong_b)))
        yield Case(f"{what}: A of shape {a.shape}, B of shape {b.shape}", (g, a, b), parts)


_RULE = "Write its backward rule: g is the gradient of y; return the shares of both operands as a tuple, each in the shape of its operand."

ARITHMETIC = (
    Exercise("add", f"y = a + b, with broadcasting. {_RULE}", "rule(g, a, b)", _cases(lambda a, b: a + b, lambda g, *_: (g, g))),
    Exercise("mul", f"y = a * b, with broadcasting. {_RULE}", "rule(g, a, b)", _cases(lambda a, b: a * b, lambda g, a, b: (g * b, g * a))),
    Exercise("matmul", f"y = A @ B for two matrices. {_RULE}", "rule(g, A, B)", _products),
)
