"""Which entries a result was computed from: closed forms against what moves when an entry moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.trace import Trace, TraceNode
from tensorviz.views.origins import ALL, FIRST, Origin, origins

A = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])


def expanded(origin: Origin | None, shape: tuple[int, ...], result: tuple[int, ...]) -> list[set[int]]:
    """The links as a browser reads them: per entry of the result a set of flat positions."""
    assert origin is not None
    if origin.sources is not None:
        return [{int(i) for i in row if i >= 0} for row in origin.sources]
    assert origin.axes is not None
    out = []
    for at in np.ndindex(result):
        ranges = [range(n) if a == ALL else [0] if a == FIRST else [at[a]] for n, a in zip(shape, origin.axes, strict=True)]
        out.append(
            {int(np.ravel_multi_index(i, shape)) for i in np.array(np.meshgrid(*ranges, indexing="ij")).reshape(len(shape), -1).T} if shape else {0}
        )
    return out


def moved(trace: Trace, node: TraceNode, slot: int) -> list[set[int]]:
    """What of the result changes when one entry of the operand does."""
    from tensorviz.replay import Program

    program = Program(trace.nodes)
    operands = [np.array(program.values[i]) for i in node.inputs]
    out: list[set[int]] = [set() for _ in range(node.value.size)]
    for k in range(operands[slot].size):
        seen = np.zeros(node.value.size, dtype=bool)
        for by in (7.5, -6.25):
            other = [o.copy() for o in operands]
            other[slot].reshape(-1)[k] += by
            seen |= np.asarray(program.apply(node.id, other)).reshape(-1) != node.value.reshape(-1)
        for r in np.flatnonzero(seen):
            out[int(r)].add(k)
    return out


SUMS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(),
    "sum of an axis": lambda x: x.sum(axis=0),
    "mean kept": lambda x: x.mean(axis=1, keepdims=True),
    "sum of two axes": lambda x: x.reshape(1, 2, 3).sum(axis=(0, 2)),
    "softmax": lambda x: tv.softmax(x, axis=1),
    "matmul": lambda x: x @ x.T,
    "matrix by vector": lambda x: x @ x[0],
    "vector by matrix": lambda x: x[:, 1] @ x,
    "batched": lambda x: x.reshape(1, 2, 3) @ np.arange(1.0, 25.0).reshape(4, 3, 2),
    "einsum": lambda x: np.einsum("ij,kj->ki", x, x),
    "implicit einsum": lambda x: np.einsum("ij,jk", x, np.eye(3) + 1),
    "transpose": lambda x: x.T,
    "reshape": lambda x: x.reshape(3, 2),
    "index": lambda x: x[1, ::-1],
    "concatenate": lambda x: np.concatenate([x, x * 2]),
    "pad": lambda x: np.pad(x, 1),
    "cumsum": lambda x: np.cumsum(x, axis=1),
    "convolution": lambda x: tv.conv1d(x.reshape(1, 2, 3), np.ones((1, 2, 2))),
    "layer norm": lambda x: tv.layer_norm(x, (3,)),
    "mse": lambda x: tv.mse_loss(x, np.ones((2, 3))),
    "inverse": lambda x: np.linalg.inv(square(x)),
    "determinant": lambda x: np.linalg.det(square(x)),
    "determinants of a stack": lambda x: np.linalg.slogdet(x.reshape(1, 2, 3)[..., :2] + 4 * np.eye(2) + np.full((3, 1, 1), 2.0))[1],
    "solution": lambda x: np.linalg.solve(square(x), np.array([1.0, 2.0, 5.0])),
    "solutions": lambda x: np.linalg.solve(square(x), x.T + 1.0),
    "solutions of a stack": lambda x: np.linalg.solve(x[None, :, :2] + 4 * np.eye(2), np.arange(1.0, 13.0).reshape(3, 2, 2)),
    "pseudoinverse": lambda x: np.linalg.pinv(x),
}


def square(x: Any) -> Any:
    """A matrix that is well away from a singular one, whichever entry of it moves."""
    return x.T @ x + np.array([[40.0, 1.0, 2.0], [3.0, 50.0, 1.5], [2.5, 1.0, 60.0]])


@pytest.mark.parametrize("name", SUMS)
def test_the_links_are_what_moves(name: str) -> None:
    y = SUMS[name](tv.tensor(A, requires_grad=True))
    trace = y.backward(np.ones(y.shape))
    found = origins(trace)
    node = trace.nodes[trace.roots[0]]
    for slot, i in enumerate(node.inputs):
        if trace.nodes[i].value.dtype.kind == "f":
            links = expanded(found[f"{node.id}:{slot}"], trace.nodes[i].shape, node.shape)
            assert links == moved(trace, node, slot)


def test_what_works_entry_by_entry_needs_no_links() -> None:
    x, b = tv.tensor(A, requires_grad=True), tv.tensor([1.0, 2.0, 3.0], requires_grad=True)
    trace = (np.tanh(x + b) * 2).backward(np.ones((2, 3)))
    assert origins(trace) == {}


def test_a_broadcast_batch_axis_has_one_position() -> None:
    x = tv.tensor(A.reshape(1, 2, 3), requires_grad=True)
    trace = (x @ np.ones((4, 3, 2))).backward(np.ones((4, 2, 2)))
    assert origins(trace)["2:0"] == Origin((FIRST, 1, ALL))
    assert origins(trace)["2:1"] == Origin((0, ALL, 2))


def test_what_a_user_defined_is_not_run_and_what_is_large_is_not_tried() -> None:
    runs = []

    def forward(a):
        runs.append(1)
        return a * 2

    double = tv.custom_op("double_for_links", forward, lambda g, a: (g * 2,))
    trace = double(tv.tensor(A, requires_grad=True)).backward(np.ones((2, 3)))
    assert origins(trace) == {"1:0": None}
    assert len(runs) == 1
    trace = tv.tensor(np.ones((20, 20)), requires_grad=True).T.backward(np.ones((20, 20)))
    assert list(origins(trace).values()) == [None]
