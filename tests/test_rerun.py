"""A recorded pass run again with something changed: the same as running the user's program with it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import DTypeError, ReplayError, ShapeError
from tensorviz.trace import Trace
from tensorviz.views.formulas import formula


def network(w: np.ndarray, x: np.ndarray) -> Trace:
    W, X = tv.tensor(w, requires_grad=True, name="W"), tv.tensor(x, name="X")
    b = tv.tensor([0.1, -0.3], requires_grad=True, name="b")
    h = np.tanh(X @ W + b)
    return ((h**2).sum() + (h.max(axis=0) ** 3).sum()).backward()


W0, X0 = np.array([[0.3, -0.2], [0.8, 0.5]]), np.array([[0.5, -1.0], [2.0, 0.25], [1.5, -0.5]])


def same(a: Trace, b: Trace) -> None:
    assert [(s.kind, s.node, s.caption) for s in a.steps] == [(s.kind, s.node, s.caption) for s in b.steps]
    for one, other in zip(a.nodes, b.nodes, strict=True):
        arrays = [(one.value, other.value), *((one.saved[k], other.saved[k]) for k in one.saved)]
        assert set(one.saved) == set(other.saved)
        for s, t in zip(one.shares, other.shares, strict=True):
            assert (s.edge, s.summed_axes) == (t.edge, t.summed_axes)
            arrays += [(s.local, t.local), (s.value, t.value), (s.total, t.total)]
            if s.route is not None:
                arrays.append((s.route, t.route))
        for x, y in arrays:
            assert x.dtype == y.dtype
            np.testing.assert_array_equal(x, y)


def test_with_nothing_changed_it_is_the_same_record() -> None:
    trace = network(W0, X0)
    same(trace, trace.rerun())


def test_a_changed_leaf_gives_what_the_program_gives_with_it() -> None:
    other = W0 + [[0.0, 0.0], [-1.0, 0.0]]
    same(network(other, X0), network(W0, X0).rerun({"W": other}))
    moved = X0.copy()
    moved[1, 0] = -2.0
    same(network(W0, moved), network(W0, X0).rerun({"X": moved}))


@pytest.mark.parametrize(
    "program",
    [
        lambda x: tv.scaled_dot_product_attention(x, x * 2, x + 1).sum(),
        lambda x: tv.layer_norm(x, x.shape[-1:]).sum() + tv.gelu(x).mean(),
        lambda x: np.sort(x, axis=1)[:, 1:].prod(),
        lambda x: (x[0] / 3 + x.astype(np.float32).sum(axis=0) * 2).max(),
    ],
    ids=["attention", "normalised", "sorted", "float32"],
)
def test_ops_that_keep_values_for_their_rules_run_again(program: Callable[..., tv.Tensor]) -> None:
    a = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]])

    def run(values: np.ndarray) -> Trace:
        return program(tv.tensor(values, requires_grad=True, name="x")).backward()

    same(run(a), run(a).rerun())
    same(run(a + 0.125), run(a).rerun({"x": a + 0.125}))


def test_what_was_drawn_at_random_stays_as_it_was_drawn() -> None:
    x = tv.tensor(np.ones(8), requires_grad=True, name="x")
    y = tv.dropout(x, 0.5, seed=3)
    scale = tv.tensor(2.0, requires_grad=True, name="scale")
    trace = (y * scale).sum().backward()
    again = trace.rerun({"scale": 3.0})
    np.testing.assert_array_equal(again.node("y").value, trace.node("y").value)
    np.testing.assert_array_equal(again.node("x").cotangent, trace.node("x").cotangent * 1.5)


def test_the_tensors_of_the_program_are_not_touched() -> None:
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    trace = (x * x).sum().backward()
    again = trace.rerun({"x": [3.0, 4.0]})
    assert x.tolist() == [1.0, 2.0]
    assert x.grad.tolist() == [2.0, 4.0]
    assert trace.node("x").cotangent.tolist() == [2.0, 4.0]
    assert again.node(x).cotangent.tolist() == [6.0, 8.0]


def test_what_grad_held_before_is_shown_again() -> None:
    x = tv.tensor(2.0, requires_grad=True)
    (x * 3).backward()
    trace = (x * x).backward()
    last = trace.rerun({"x": 5.0}).steps[-1]
    assert (last.kind, float(last.before), float(last.after)) == ("leaf", 3.0, 13.0)


def test_a_share_set_to_zero_is_missing_downstream_and_only_there() -> None:
    x = tv.tensor(3.0, requires_grad=True)
    y = x * x
    z = y + x
    trace = z.backward()
    shares = trace.node("x").shares
    assert [float(s.value) for s in shares] == [1.0, 3.0, 3.0]
    again = trace.rerun(shares={shares[1].edge: 0.0})
    assert [float(s.value) for s in again.node("x").shares] == [1.0, 0.0, 3.0]
    assert float(again.node("x").cotangent) == 4.0
    cut = trace.rerun(shares={trace.node("y").shares[0].edge: 0.0})
    assert [float(s.value) for s in cut.node("x").shares] == [1.0, 0.0, 0.0]
    assert float(cut.node("z").value) == 12.0


def test_a_loaded_record_runs_again(tmp_path) -> None:
    trace = network(W0, X0)
    trace.save(tmp_path / "pass.tvz")
    same(trace.rerun({"b": [1.0, 2.0]}), tv.load(tmp_path / "pass.tvz").rerun({"b": [1.0, 2.0]}))


def test_several_roots_start_from_their_own_seeds() -> None:
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    y, z = x * 2, x * x
    trace = tv.backward([y, z], [[1.0, 1.0], [0.0, 2.0]])
    again = trace.rerun({"x": [1.0, 5.0]})
    assert again.node("x").cotangent.tolist() == [2.0, 22.0]


def test_what_does_not_fit_is_refused_in_words() -> None:
    trace = network(W0, X0)
    with pytest.raises(ReplayError, match=r"is the result of tanh; change the leaves"):
        trace.rerun({"h": np.zeros((3, 2))})
    with pytest.raises(ShapeError, match=r"\(W\) has shape \(2, 2\), got \(2,\)"):
        trace.rerun({"W": [1.0, 2.0]})
    with pytest.raises(DTypeError, match="float64"):
        trace.rerun({"W": [["a", "b"], ["c", "d"]]})
    with pytest.raises(KeyError, match="Names: W, X, b"):
        trace.rerun({"V": 1.0})
    with pytest.raises(ReplayError, match="no share was sent over '0:9'; there are"):
        trace.rerun(shares={"0:9": 0.0})
    edge = trace.node("b").shares[0].edge
    with pytest.raises(ShapeError, match=r"has shape \(2,\), got \(3,\)"):
        trace.rerun(shares={edge: [1.0, 2.0, 3.0]})


def test_a_share_set_by_hand_says_so_and_keeps_what_its_rule_gave(tmp_path) -> None:
    X, b = tv.tensor(X0, requires_grad=True, name="X"), tv.tensor([0.1, 0.2], requires_grad=True, name="b")
    trace = ((X + b) ** 2).sum().backward()
    was = trace.node("b").shares[0]
    again = trace.rerun(shares={was.edge: [9.0, 0.0]})
    share = again.node("b").shares[0]
    assert (share.by_hand, share.value.tolist(), share.summed_axes) == (True, [9.0, 0.0], (0,))
    np.testing.assert_array_equal(share.local, was.local)
    assert not any(s.by_hand for n in again.nodes for s in n.shares if s is not share)
    again.save(tmp_path / "changed.tvz")
    assert [s.edge for n in tv.load(tmp_path / "changed.tvz").nodes for s in n.shares if s.by_hand] == [was.edge]


def test_the_sentences_say_what_was_set_by_hand_and_what_follows_from_it() -> None:
    X, b = tv.tensor(X0, requires_grad=True, name="X"), tv.tensor([0.1, 0.2], requires_grad=True, name="b")
    h = X + b
    trace = ((h * 2.0) ** 2).sum().backward()
    said = [s.caption for s in trace.rerun(shares={trace.node("h").shares[0].edge: 1.0, trace.node("b").shares[0].edge: 9.0}).steps]
    assert "The rule of h * 2.0 runs: mul swaps; a share goes to h. The share of h is set by hand instead." in said
    assert "h receives its only share, set by hand in place of that from h * 2.0, so ∂h is complete." in said
    assert (
        "The rule of h runs: add distributes; shares go to X and b. ∂h follows from a share set by hand: it is no derivative. "
        "The share of b is set by hand instead." in said
    )
    assert (
        "Forward copied b along axis 0, so backward what h sends would be summed over axis 0, (3, 2) to (2,); this share is set by hand instead."
        in said
    )
    assert "X.grad was None and now holds ∂X. ∂X follows from a share set by hand: it is no derivative." in said
    assert not any("by hand" in s.caption for s in trace.rerun({"b": [1.0, 2.0]}).steps)


def test_one_share_of_several_that_was_set_by_hand_is_told_apart() -> None:
    x = tv.tensor(3.0, requires_grad=True)
    trace = (x * x).backward()
    again = trace.rerun(shares={"1:1": -1.0})
    assert [s.caption for s in again.steps][1:4] == [
        "The rule of x * x runs: mul swaps; two shares go to x. A share of x is set by hand instead.",
        "x is used twice, so its shares add: the first, 3 from x * x, makes ∂x = 3.",
        "x is used twice, so its shares add: the second, −1, set by hand in place of that from x * x, makes ∂x = 2; all are in.",
    ]
    assert [str(formula(again, s)).split("\n")[0] for s in again.node("x").shares] == ["∂x ← ∂(x * x) · x", "∂x ← −1, set by hand"]
    assert "share 2 of 2, set by hand; share = −1" in again.summary()
    assert 'data-badge="hand"' in again.to_svg()


def test_no_rule_is_blamed_for_a_share_that_was_set_by_hand() -> None:
    trace = network(W0, X0)
    report = trace.rerun(shares={trace.node("b").shares[0].edge: 0.0}).check()
    assert report.blame is None
    assert "Shares set by hand: that of b from " in str(report)
    assert {r.node for r in report.rows if r.verdict == "mismatch"} == {trace.node("b").id}
