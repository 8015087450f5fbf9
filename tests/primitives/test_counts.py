"""Recompute counts: how often an element is used, and computed, where nothing is kept but what is staged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorviz as tv
from tensorviz import primitives as p


def leaf(value: Any) -> tv.Tensor:
    return tv.tensor(np.asarray(value, dtype=float), requires_grad=True)


def layer(inputs: int, outputs: int, batch: int, staged: bool) -> tuple[tv.Tensor, tv.Tensor]:
    """The logits of a linear layer in primitives, and the mean of their squares."""
    rng = np.random.default_rng(0)
    x, W = tv.tensor(rng.standard_normal((batch, inputs)), name="x"), tv.tensor(rng.standard_normal((inputs, outputs)), requires_grad=True, name="W")
    full = (batch, inputs, outputs)
    product = p.mul(p.expand(p.reshape(x, (batch, inputs, 1)), full), p.expand(p.reshape(W, (1, inputs, outputs)), full))
    logits = p.reduce(p.permute(product, (1, 0, 2)))
    logits = p.stage(logits) if staged else logits
    return logits, p.mul(p.reduce(p.mul(logits, logits), pop=2), 1 / (batch * outputs))


def test_on_784_inputs_the_gradient_at_the_logits_is_computed_784_times():
    z, y = layer(784, 10, 4, staged=False)
    graph = p.grad_graph(y)
    dz = graph.grad(z)
    counts = graph.counts()
    assert counts[dz].uses == 784
    assert counts[dz].computed == 784
    assert counts[dz].most == 784


def test_staged_it_is_computed_once():
    z, y = layer(784, 10, 4, staged=True)
    graph = p.grad_graph(y)
    counts = graph.counts()
    (kept,) = [row for row in counts.rows if row.op == "stage" and row.uses == 784]  # the gradient of a staged value is staged
    assert kept.computed == 1
    assert counts[graph.grad(z)].uses == 1  # read once, by stage
    assert counts[graph.grad(z)].computed == 1


def test_staging_leaves_less_to_compute():
    work = [p.grad_graph(layer(20, 3, 2, staged)[1]).counts().work for staged in (False, True)]
    assert work[1] < work[0]


def test_expand_multiplies_and_reduce_hands_on():
    x = leaf([1.0, 2.0])
    e = p.mul(x, 3.0)
    y = p.reduce(p.expand(e, (5, 2)), pop=2)
    counts = p.recompute_counts(y)
    assert (counts[e].uses, counts[e].computed) == (5, 5)
    assert counts[x].uses == 5
    assert counts[x].computed == 0  # a leaf is there
    assert counts[y].uses == 1


def test_uses_at_a_fork_add_up():
    e = p.mul(leaf([1.0, 2.0]), 3.0)
    y = p.add(p.mul(e, e), e)
    assert p.recompute_counts(y)[e].uses == 3


def test_elements_that_nobody_asks_for_are_not_computed():
    e = p.mul(leaf([1.0, 2.0, 3.0]), 2.0)
    y = p.add(p.shrink(e, (1,), (2,)), p.expand(p.index(e, 2), (2,)))
    counts = p.recompute_counts(y)
    assert counts[e].uses.tolist() == [0, 1, 3]
    assert (counts[e].most, counts[e].work) == (3, 4)


def test_counts_go_through_every_movement():
    e = p.mul(leaf([[1.0, 2.0, 3.0]]), 2.0)  # (1, 3)
    stacked = p.stack(p.shrink(e, (0, 0), (1, 3)), e)  # (2, 1, 3)
    padded = p.pad(p.permute(stacked, (2, 0, 1)), [1, 0])  # (4, 2, 1)
    y = p.shrink(p.reshape(padded, (8,)), (0,), (5,))  # the zeros, element 0 twice, element 1 once
    assert p.recompute_counts(y)[e].uses.tolist() == [[2, 1, 0]]


def test_large_counts_are_exact():
    e = p.mul(leaf(1.0), 2.0)
    y = e
    for _ in range(12):
        y = p.reduce(p.expand(y, (1000,)))
    counts = p.recompute_counts(y)
    assert counts[e].uses == 1000**12
    assert " 10^36.0 " in repr(counts)


def test_an_op_that_is_no_primitive_keeps_its_result_and_reads_each_element_once():
    e = p.mul(leaf([[1.0, 2.0]]), 2.0)
    h = e @ np.ones((2, 50))
    y = p.reduce(p.expand(h, (7, 1, 50)), pop=3)
    counts = p.recompute_counts(y)
    assert (counts[h].uses, counts[h].computed) == (7, 1)
    assert counts[e].uses == 1


def test_several_wanted_values_are_computed_once_each():
    x = leaf([1.0])
    a = p.mul(x, 2.0)
    b = p.mul(a, 3.0)
    counts = p.recompute_counts(a, b)
    assert (counts[a].uses, counts[b].uses) == (2, 1)


def test_the_table_has_a_line_per_node_and_the_sum():
    x = leaf([1.0, 2.0])
    e = p.mul(x, 3.0)
    counts = p.recompute_counts(p.reduce(p.expand(e, (5, 2)), pop=2))
    assert repr(counts).splitlines() == [
        "node  op          shape   used  computed",
        "0 x   leaf        (2,)       5         0",
        "1     constant    ()        10         0",
        "2 e   mul         (2,)       5         5",
        "3     expand      (5, 2)     1         1",
        "4     reduce_add  ()         1         1",
        "21 elements are computed in all.",
    ]
    assert len(counts) == 5
    assert list(counts) == [0, 1, 2, 3, 4]
    assert counts["e"].most == counts[2].most == 5


def test_a_long_table_shows_the_largest_counts_and_says_what_it_leaves_out():
    y = p.mul(leaf([1.0]), 2.0)
    for _ in range(200):
        y = p.add(y, y)
    shown = repr(p.recompute_counts(y)).splitlines()
    assert len(shown) == 103
    assert shown[1].startswith("2 ")  # the oldest sums are computed most often
    assert shown[-2] == "and 103 more that are computed less often."
    assert len(p.recompute_counts(y).table().splitlines()) == 205


def test_the_picture_carries_the_count_beside_the_name():
    e = p.stage(p.mul(leaf([1.0, 2.0]), 3.0))
    f = p.mul(e, e)
    y = p.reduce(p.expand(f, (5, 2)), pop=2)
    svg = p.recompute_counts(y).draw().to_svg()
    assert "f computed 5×" in svg
    assert "e 1 of 10 uses" in svg


def test_a_node_that_is_not_in_the_graph_is_refused_with_the_names():
    x = leaf([1.0])
    counts = p.recompute_counts(p.mul(x, 2.0))
    with pytest.raises(KeyError, match="Names: x"):
        counts["nobody"]


# ---- counted one by one -----------------------------------------------------------------------------------------


class Lazy:
    """Computes every element when it is asked for, keeps nothing but what is staged, and counts."""

    def __init__(self, trace: tv.Trace) -> None:
        self.trace = trace
        self.asked = [np.zeros(n.shape, int) for n in trace.nodes]
        self.computed = [np.zeros(n.shape, int) for n in trace.nodes]
        self.kept: set[tuple[int, tuple[int, ...]]] = set()

    def ask(self, i: int, at: tuple[int, ...]) -> None:
        node = self.trace.nodes[i]
        self.asked[i][at] += 1
        if node.is_leaf or (i, at) in self.kept:
            return
        self.computed[i][at] += 1
        if node.op == "stage":
            self.kept.add((i, at))
        for operand, place in self.sources(node, at):
            self.ask(operand, place)

    def sources(self, node: tv.TraceNode, at: tuple[int, ...]) -> Any:
        """The elements of the operands that one element is made of."""
        first = self.trace.nodes[node.inputs[0]]
        params = node.params
        if node.op == "reshape":
            yield first.id, np.unravel_index(np.ravel_multi_index(at, node.shape) if at else 0, first.shape) if first.shape else ()
        elif node.op == "permute":
            yield first.id, tuple(at[params["order"].index(k)] for k in range(len(at)))
        elif node.op == "expand":
            yield first.id, tuple(0 if n == 1 else k for n, k in zip(first.shape, at[len(at) - len(first.shape) :], strict=True))
        elif node.op.startswith("reduce_"):
            for popped in np.ndindex(first.shape[: params["pop"]]):
                yield first.id, (*popped, *at)
        elif node.op == "pad_zeros":
            place = tuple(k - left for k, left in zip(at, params["pads"][::2], strict=True))
            if all(0 <= k < n for k, n in zip(place, first.shape, strict=True)):
                yield first.id, place
        elif node.op == "shrink":
            yield first.id, tuple(k + o for k, o in zip(at, params["offsets"], strict=True))
        elif node.op == "stack_front":
            yield node.inputs[at[0]], at[1:]
        elif node.op == "index":
            yield first.id, (params["j"], *at)
        else:
            for i in node.inputs:
                yield i, at if self.trace.nodes[i].shape else ()


@pytest.mark.parametrize("staged", [False, True], ids=["nothing staged", "every result staged"])
@pytest.mark.parametrize(
    "f",
    [
        lambda x, w: (x @ w).sum(),
        lambda x, w: tv.softmax(x @ w, axis=1)[0, 1],
        lambda x, w: tv.concatenate([x[:, 1:], w[:2]]).mean() * x[1, 1],
        lambda x, w: np.stack([x[0], w[:, 1]]).max(),
        lambda x, w: np.maximum(x, w.T).sum() + np.max(x) * np.pad(w, 1)[1:3].sum(),
    ],
    ids=["product", "softmax", "concatenate", "stack", "max and pad"],
)
def test_the_counts_are_those_of_a_program_that_computes_each_element_when_it_is_asked_for(f: Any, staged: bool):
    rng = np.random.default_rng(0)
    lowered = tv.lower(f(leaf(rng.standard_normal((2, 3))), leaf(rng.standard_normal((3, 2)))), stage=staged)
    graph = lowered.grad_graph()
    counts = graph.counts()
    lazy = Lazy(graph.trace)
    for root in graph.trace.roots:
        for at in np.ndindex(graph.trace.nodes[root].shape):
            lazy.ask(root, at)
    for row in counts.rows:
        np.testing.assert_array_equal(np.broadcast_to(row.uses, row.shape), lazy.asked[row.id], err_msg=f"{row.op} {row.id}")
        np.testing.assert_array_equal(np.broadcast_to(row.computed, row.shape), lazy.computed[row.id], err_msg=f"{row.op} {row.id}")
    assert counts.work == sum(int(c.sum()) for c in lazy.computed)
