"""``tv.lower``: what a graph becomes, what runs beside what, and what is said where an op has no lowering."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from typing import Any

import numpy as np
import pytest

import tensorviz as tv
from tensorviz import lowering
from tensorviz import primitives as p
from tensorviz.errors import GraphError, LoweringError, OptionError
from tensorviz.lowering import RULES, Lowered


def leaf(value: Any, name: str | None = None) -> tv.Tensor:
    return tv.tensor(np.asarray(value, dtype=float), requires_grad=True, name=name)


def ops(lowered: Lowered, key: Any) -> list[str]:
    return [t._current().op.name for t in lowered.of(key)]


@pytest.mark.parametrize("module", sorted(m.name for m in pkgutil.iter_modules(lowering.__path__)))
def test_the_examples_of_every_file_run(module: str):
    assert doctest.testmod(importlib.import_module(f"tensorviz.lowering.{module}")).failed == 0


# ---- a matrix product -------------------------------------------------------------------------------------------


def product() -> tuple[tv.Tensor, tv.Tensor, tv.Tensor]:
    A, B = leaf([[1.0, 2.0], [3.0, 4.0]], "A"), leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "B")
    C = A @ B
    C.name = "C"
    return A, B, C


def test_a_matrix_product_is_reshape_expand_mul_permute_and_reduce():
    _, _, C = product()
    lowered = tv.lower(C)
    assert ops(lowered, C) == ["reshape", "expand", "reshape", "expand", "mul", "permute", "reduce_add"]
    assert lowered.root.tolist() == C.tolist()


def test_running_it_backward_makes_G_B_transposed_and_A_transposed_G_appear():
    A, B, C = product()
    lowered = tv.lower(C)
    G = np.array([[1.0, 10.0, 100.0], [2.0, 20.0, 200.0]])
    trace = lowered.backward(G)
    np.testing.assert_array_equal(lowered.grad("A"), G @ B.numpy().T)
    np.testing.assert_array_equal(lowered.grad("B"), A.numpy().T @ G)
    # step by step: G repeated for every k, times what stood beside it, summed over what had been repeated
    mul = next(n for n in trace.nodes if n.op == "mul")
    np.testing.assert_array_equal(mul.cotangent, np.broadcast_to(G[:, None, :], (2, 2, 3)))
    shares = {trace.nodes[s.target].id: s.value for n in trace.nodes for s in n.shares if s.consumer == mul.id}
    beside_a, beside_b = (shares[i] for i in mul.inputs)
    np.testing.assert_array_equal(beside_a, G[:, None, :] * B.numpy()[None, :, :])
    np.testing.assert_array_equal(beside_b, G[:, None, :] * A.numpy()[:, :, None])
    assert trace.check().ok


def test_the_gradient_of_a_sum_of_a_product_has_the_row_sums_of_B_as_rows_in_steps():
    _, _, C = product()
    L = C.sum()
    lowered = tv.lower(L)
    graph = lowered.grad_graph()
    assert graph.grad(lowered.value("A")).tolist() == [[6.0, 15.0], [6.0, 15.0]]
    told = [s.caption for s in graph.steps]
    assert "Rule of expand in matmul C: reduce add pops the leading axis: (3, 2, 2) becomes (2, 2)." in told
    assert told[-1] == "Rule of reshape in matmul C for A: reshape keeps every element in its order: (2, 2, 1) becomes (2, 2); this is ∂A."
    for k in range(len(graph.steps)):
        assert 'data-state="active"' in graph.trace.to_svg(step=k)


def test_a_matrix_product_differentiated_in_primitives_is_that_of_the_fused_rule_in_every_rank():
    rng = np.random.default_rng(0)
    for a, b in [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((5, 1, 2, 3), (4, 3, 2)), ((3,), (4, 3, 2)), ((4, 2, 3), (3,))]:
        A, B = leaf(rng.standard_normal(a)), leaf(rng.standard_normal(b))
        y = A @ B
        g = rng.standard_normal(y.shape)
        y.backward(g)
        lowered = tv.lower(y)
        lowered.backward(g)
        np.testing.assert_allclose(lowered.grad(A), A.grad, rtol=1e-12)
        np.testing.assert_allclose(lowered.grad(B), B.grad, rtol=1e-12)


# ---- beside the original ----------------------------------------------------------------------------------------


def network() -> tuple[tv.Tensor, dict[str, tv.Tensor]]:
    rng = np.random.default_rng(1)
    made = {name: leaf(rng.standard_normal(shape), name) for name, shape in (("W1", (4, 5)), ("b1", (5,)), ("W2", (5, 3)), ("b2", (3,)))}
    X = rng.standard_normal((6, 4))
    with tv.scope("layer1"):
        h = tv.relu(X @ made["W1"] + made["b1"])
    logits = h @ made["W2"] + made["b2"]
    loss = tv.cross_entropy(logits, np.array([0, 1, 2, 0, 1, 2]))
    return loss, made


def test_the_original_and_its_gradients_are_left_alone():
    loss, made = network()
    loss.backward()
    before = {name: w.grad.copy() for name, w in made.items()}
    lowered = tv.lower(loss)
    lowered.backward()
    for name, w in made.items():
        np.testing.assert_array_equal(w.grad, before[name])
        np.testing.assert_allclose(lowered.grad(w), before[name], rtol=1e-10, atol=1e-14)
        np.testing.assert_allclose(lowered.grad(name), before[name], rtol=1e-10, atol=1e-14)
    assert lowered.original is loss.trace


def test_a_second_pass_does_not_add_to_the_first():
    loss, _ = network()
    lowered = tv.lower(loss)
    lowered.backward()
    first = lowered.grad("W1")
    lowered.backward()
    np.testing.assert_array_equal(lowered.grad("W1"), first)
    assert "was None" in lowered.trace.steps[-1].caption


def test_a_recorded_trace_is_lowered_too_and_one_from_a_file(tmp_path):
    loss, made = network()
    trace = loss.backward()
    trace.save(tmp_path / "t.tvz")
    for source in (trace, tv.load(tmp_path / "t.tvz")):
        lowered = tv.lower(source)
        lowered.backward()
        for name, w in made.items():
            np.testing.assert_allclose(lowered.grad(name), w.grad, rtol=1e-10, atol=1e-14)


def test_every_original_node_knows_what_it_became():
    loss, _ = network()
    trace = loss.backward()
    lowered = tv.lower(trace)
    assert set(lowered.nodes) == set(range(len(trace.nodes)))
    for i, node in enumerate(trace.nodes):
        if node.weak:
            continue
        np.testing.assert_allclose(lowered.value(i).numpy(), node.value, rtol=1e-12)
        assert lowered.nodes[i][-1]._current() is lowered.value(i)._current()
    lowered.backward()
    linked = [i for ids in lowered.links.values() for i in ids]
    assert len(linked) == len(set(linked))
    assert {lowered.trace.nodes[lowered.links[n.id][-1]].shape == n.shape for n in trace.nodes if lowered.links[n.id]} == {True}


def test_names_scopes_and_source_lines_stay_with_the_values():
    loss, _ = network()
    lowered = tv.lower(loss)
    trace = lowered.backward()
    assert {"W1", "b1", "W2", "b2", "h", "logits", "loss"} <= {n.name for n in trace.nodes}
    made = [trace.nodes[i] for i in lowered.links[lowered.original.node("h").id]]
    assert {n.scope for n in made if n.kind == "op"} == {"layer1/relu h"}
    h = trace.node("h")
    assert "tv.relu" in h.source.code
    inner = trace.nodes[lowered.links[lowered.original.node("logits").id - 1][0]]
    assert inner.source.line == lowered.original.node("logits").source.line
    assert inner.source.expression == ""  # what the line's expression made is the value at the end
    assert any(re.match(r"Reshape reshapes; a share goes to W2\.", s.caption) for s in trace.steps)


def test_it_is_drawn_shown_and_told():
    loss, _ = network()
    lowered = tv.lower(loss)
    assert repr(lowered) == "Lowered graph: 6 ops written as 43 primitives" or re.match(
        r"Lowered graph: 6 ops written as \d+ primitives", repr(lowered)
    )
    assert re.search(r"\d+ matmul\s+(permute, )?reshape, expand, reshape, expand, mul, permute, reduce_add", lowered.table())
    shown = lowered._repr_mimebundle_()
    assert shown["text/html"].count("<img") == 2
    assert lowered.draw().to_svg().startswith("<svg")
    tv.set_display("text")
    try:
        assert set(lowered._repr_mimebundle_()) == {"text/plain"}
    finally:
        tv.set_display("stepper")
    assert lowered.trace is None
    assert lowered.show(alone=True).trace is lowered.trace


def steps_together(shown: Any) -> list[tuple[str, str]]:
    return [(shown.a.steps[i].caption, shown.b.steps[j].caption) for i, j in shown.steps]


def test_it_opens_beside_the_original_and_a_step_in_one_is_a_step_in_the_other(tmp_path):
    A, _, C = product()
    L = C.sum()
    lowered = tv.lower(L)
    shown = lowered.show()
    assert A.grad is None
    assert L.trace is None
    assert shown.names == ("as you wrote it", "in primitives")
    assert shown.b is lowered.trace
    assert [s.kind for s in shown.a.steps] == ["seed", "pull", "accumulate", "pull", "accumulate", "accumulate", "leaf", "leaf"]
    np.testing.assert_array_equal(shown.a.node("A").cotangent, lowered.grad("A"))
    together = steps_together(shown)
    assert ("A receives its only share from C, so ∂A is complete.", "A receives its only share from reshape, so ∂A is complete.") in together
    assert [shown.b.steps[j].kind for i, j in shown.steps if shown.a.steps[i].kind == "pull"] == ["pull", "pull"]
    page = lowered.to_html(tmp_path / "page.html", step=4)
    assert page == (tmp_path / "page.html").read_text("utf-8")
    with pytest.raises(OptionError, match="two linked steppers take step= and theme=, got speed"):
        lowered.show(speed=2)


def test_in_a_notebook_it_shows_two_pictures_and_after_backward_two_steppers(monkeypatch):
    monkeypatch.setattr("tensorviz.display.in_kernel", lambda: True)
    _, _, C = product()
    lowered = tv.lower(C.sum())
    assert lowered._repr_mimebundle_()["text/html"].count("<img") == 2
    lowered.backward()
    shown = lowered._repr_mimebundle_()
    assert shown["text/html"].count('title="Two passes, step by step"') == 1
    assert shown["text/plain"].startswith("Lowered graph: 2 ops written as 8 primitives")


def test_beside_it_stands_the_recorded_pass_where_that_began_with_the_same_seed():
    loss, _ = network()
    trace = loss.backward()
    shown = tv.lower(loss).show()
    assert shown.a is trace
    assert {trace.steps[i].kind for i, _ in shown.steps} >= {"seed", "pull", "accumulate", "leaf"}
    missed = set(range(len(trace.steps))) - {i for i, _ in shown.steps}
    assert all(trace.steps[k].kind in ("unbroadcast", "accumulate") for k in missed)
    assert shown.steps[-1] == (len(trace.steps) - 1, len(shown.b.steps) - 1)


def test_with_another_seed_the_original_pass_is_made_again_from_the_record():
    x = leaf([1.0, 2.0], "x")
    y = x * x
    y.backward([1.0, 1.0])
    lowered = tv.lower(y)
    lowered.backward([10.0, 100.0])
    shown = lowered.show()
    assert shown.a.node("x").cotangent.tolist() == [20.0, 400.0]
    assert x.grad.tolist() == [2.0, 4.0]
    assert tv.lower(y).show().a is y.trace  # seeded as the record was


def test_several_roots_stand_beside_the_original_and_are_counted():
    x = leaf([1.0, 2.0], "x")
    a, b = x * x, (x * 3.0).sum()
    trace = tv.backward([a, b], [np.array([1.0, 10.0]), None])
    lowered = tv.lower(trace)
    assert lowered.show().a is trace
    assert lowered.grad("x").tolist() == x.grad.tolist() == [5.0, 43.0]
    graph = lowered.grad_graph([np.array([1.0, 10.0]), None])
    assert graph.grad(lowered.value("x")).tolist() == [5.0, 43.0]
    assert [s.caption for s in graph.steps[:2]] == [
        "The pass starts with the seed, ∂a, of shape (2,).",
        "Another seed, ∂b, of shape ().",
    ]
    assert lowered.counts().work > tv.lower(b).counts().work


def test_modules_are_lowered_with_all_that_they_are_made_of():
    net = tv.nn.Sequential(tv.nn.Linear(4, 6, rng=0), tv.nn.GELU(), tv.nn.LayerNorm(6), tv.nn.Linear(6, 3, rng=1))
    x = np.random.default_rng(0).standard_normal((5, 4))
    loss = tv.mse_loss(tv.softmax(net(x)), np.full((5, 3), 1 / 3))
    loss.backward()
    lowered = tv.lower(loss)
    trace = lowered.backward()
    assert {n.op for n in trace.nodes if not n.is_leaf} <= p.PRIMITIVES
    for w in net.parameters():
        np.testing.assert_allclose(lowered.grad(w), w.grad, rtol=1e-9, atol=1e-13)


def test_a_convolution_is_blocks_stacked_and_multiplied():
    rng = np.random.default_rng(0)
    x, w = leaf(rng.standard_normal((1, 2, 4, 4)), "x"), leaf(rng.standard_normal((3, 2, 2, 2)), "w")
    y = tv.conv2d(x, w, stride=2)
    lowered = tv.lower(y)
    assert ops(lowered, y).count("stack_front") == 1
    assert ops(lowered, y)[-1] in ("permute", "reduce_add")
    g = rng.standard_normal(y.shape)
    y.backward(g)
    lowered.backward(g)
    np.testing.assert_allclose(lowered.grad("w"), w.grad, rtol=1e-12)
    np.testing.assert_allclose(lowered.grad("x"), x.grad, rtol=1e-12)


def test_several_roots_are_lowered_together():
    x = leaf([1.0, 2.0], "x")
    a, b = (x * x).sum(), (x * 3.0).sum()
    trace = tv.backward([a, b])
    lowered = tv.lower(trace)
    lowered.backward()
    assert lowered.grad("x").tolist() == x.grad.tolist() == [5.0, 7.0]


def test_a_long_chain_is_lowered_without_recursion():
    x = leaf(1.0, "x")
    y = x
    for _ in range(1000):
        y = y * 0.999 + 0.001
    lowered = tv.lower(y)
    lowered.backward()
    y.backward()
    np.testing.assert_allclose(lowered.grad("x"), x.grad, rtol=1e-12)


def test_what_was_detached_stays_cut():
    x = leaf([1.0, 2.0], "x")
    y = (x * (x * 2.0).detach()).sum()
    lowered = tv.lower(y)
    lowered.backward()
    assert lowered.grad("x").tolist() == [2.0, 4.0]


def test_a_value_changed_in_place_is_lowered_as_it_was():
    x = leaf([1.0, 2.0, 3.0], "x")
    h = x * 2.0
    h[1] = 10.0
    h += 1.0
    y = (h * h).sum()
    lowered = tv.lower(y)
    lowered.backward()
    y.backward()
    np.testing.assert_array_equal(lowered.grad("x"), x.grad)


# ---- staging ----------------------------------------------------------------------------------------------------


def test_the_gradient_at_the_logits_of_784_inputs_is_computed_784_times_and_staged_once():
    rng = np.random.default_rng(0)
    x, W = rng.standard_normal((2, 784)), leaf(rng.standard_normal((784, 10)) * 0.03, "W")
    logits = x @ W
    loss = tv.cross_entropy(logits, np.array([3, 7]))
    plain = tv.lower(loss)
    graph = plain.grad_graph()
    counts = graph.counts()
    assert counts[graph.grad(plain.value("logits"))].computed == 784
    assert counts["∂logits"].most == 784
    staged = tv.lower(loss, stage="logits")
    graph = staged.grad_graph()
    counts = graph.counts()
    assert counts["∂logits"].most == 1
    (kept,) = [row for row in counts.rows if row.op == "stage" and row.uses == 784]
    assert kept.computed == 1
    np.testing.assert_array_equal(graph.grad("W").numpy(), plain.grad_graph().grad("W").numpy())
    assert staged.counts().work < plain.counts().work / 100


def test_stage_true_stages_every_result():
    loss, _ = network()
    lowered = tv.lower(loss, stage=True)
    trace = lowered.trace_of_forward
    assert sum(n.op == "stage" for n in trace.nodes) == sum(n.kind == "op" for n in lowered.original.nodes)
    assert lowered.counts(backward=False).work < tv.lower(loss).counts(backward=False).work


def test_only_a_result_can_be_staged():
    loss, _ = network()
    with pytest.raises(LoweringError, match="W1 is a leaf and not computed"):
        tv.lower(loss, stage=["W1"])
    with pytest.raises(KeyError, match="nobody"):
        tv.lower(loss, stage="nobody")


# ---- where there is no lowering ---------------------------------------------------------------------------------


def test_an_op_without_a_lowering_is_named_with_its_line_and_those_that_have_one():
    M = leaf(np.eye(2) * 2.0, "M")
    inverse = np.linalg.inv(M)
    y = inverse.sum()
    with pytest.raises(LoweringError) as caught:
        tv.lower(y)
    text = str(caught.value)
    assert "node 1 (inv inverse, shape (2, 2), made at" in text
    assert "inverse = np.linalg.inv(M)" in text
    assert "keep=True (or keep='inv')" in text
    assert "cross_entropy" in text
    assert "softmax" in text
    assert isinstance(caught.value, NotImplementedError)


def test_it_can_be_kept_as_it_is():
    M = leaf(np.array([[2.0, 1.0], [0.0, 4.0]]), "M")
    y = np.linalg.inv(M).sum()
    y.backward()
    for keep in (True, "inv", {"inv"}):
        lowered = tv.lower(y, keep=keep)
        lowered.backward()
        np.testing.assert_allclose(lowered.grad("M"), M.grad, rtol=1e-12)
    assert ops(lowered, 1) == ["inv"]


def test_an_op_with_a_lowering_can_be_kept_too():
    loss, _ = network()
    lowered = tv.lower(loss, keep="cross_entropy")
    assert "cross_entropy" in {n.op for n in lowered.trace_of_forward.nodes}
    with pytest.raises(LoweringError, match="keep='nonsense' is no op"):
        tv.lower(loss, keep="nonsense")


def test_an_op_without_a_gradient_is_kept_by_itself():
    x = leaf([1.0, 3.0, 2.0], "x")
    y = x[np.argmax(x)] * 2.0
    lowered = tv.lower(y)
    lowered.backward()
    assert lowered.grad("x").tolist() == [0.0, 2.0, 0.0]
    assert "argmax" in {n.op for n in lowered.trace_of_forward.nodes}


def test_a_custom_op_is_refused_unless_kept():
    twice = tv.custom_op("twice_as_much", lambda a: 2 * a, lambda g, a: (2 * g,))
    x = leaf([1.0, 2.0], "x")
    y = twice(x).sum()
    with pytest.raises(LoweringError, match="twice_as_much"):
        tv.lower(y)
    lowered = tv.lower(y, keep=True)
    lowered.backward()
    assert lowered.grad("x").tolist() == [2.0, 2.0]


def test_a_lowering_that_would_fill_the_memory_is_refused_with_the_node():
    A, B = leaf(np.zeros((400, 400)), "A"), leaf(np.zeros((400, 400)), "B")
    y = A @ B
    with pytest.raises(LoweringError, match=r"node 2 \(matmul y.*shape \(400, 400, 400\), 64000000 elements.*keep='matmul'"):
        tv.lower(y)


def test_wrong_arguments_are_named():
    with pytest.raises(GraphError, match="takes a Tensor or a Trace, got int"):
        tv.lower(3)
    x = leaf([1.0], "x")
    lowered = tv.lower(x * 2)
    with pytest.raises(GraphError, match=r"backward\(\) has not been called"):
        lowered.grad("x")
    with pytest.raises(GraphError, match="is a Python number"):
        lowered.value(1)
    with pytest.raises(KeyError, match="nobody"):
        lowered.of("nobody")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"keep": 3}, "lower: keep must be a list such as .*, got 3"),
        ({"keep": ["sum", 3]}, "keep=3 is no op"),
        ({"keep": [["sum"]]}, "is no op"),
        ({"stage": 1.5}, "lower: stage must be a list such as .*, got 1.5"),
    ],
)
def test_what_is_no_list_of_names_is_refused(options: dict[str, Any], words: str):
    with pytest.raises((OptionError, LoweringError), match=words):
        tv.lower(leaf([1.0, 2.0]).sum(), **options)


def test_two_lowerings_of_one_op_are_refused():
    with pytest.raises(ValueError, match="softmax has a lowering already"):
        lowering.lowering("softmax")(lambda a: a)
    assert RULES["softmax"].__name__ == "softmax"


# ---- where values are special -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        lambda x: tv.relu(x),
        lambda x: np.max(x),
        lambda x: np.max(x, axis=0, keepdims=True),
        lambda x: np.maximum(x, 0.5),
        lambda x: np.minimum(x, x * 1.0),
        lambda x: np.clip(x, -1.0, 2.0),
        lambda x: np.linalg.norm(x * 0.0),
        lambda x: np.std(x * 0.0),
        lambda x: tv.elu(x),
        lambda x: np.abs(x),
    ],
    ids=["relu", "max", "max over an axis", "maximum", "minimum", "clip", "norm at 0", "std at 0", "elu", "abs"],
)
def test_ties_and_kinks_go_where_the_fused_rule_sends_them(f: Any):
    x = leaf([-1.0, 0.0, 2.0, 2.0, 0.5, -1.0])
    y = f(x)
    y.backward(np.ones(y.shape))
    lowered = tv.lower(y)
    lowered.backward(np.ones(y.shape))
    np.testing.assert_allclose(lowered.grad(x), x.grad, rtol=1e-12)


def test_infinities_that_were_not_chosen_reach_nothing():
    x = leaf([[0.5, -np.inf, 1.0], [np.inf, 2.0, 3.0]], "x")
    y = tv.cross_entropy(x, np.array([2, -100]))
    y.backward()
    lowered = tv.lower(y)
    lowered.backward()
    np.testing.assert_allclose(lowered.grad("x"), x.grad, rtol=1e-12)
    assert np.isfinite(lowered.grad("x")).all()


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
def test_a_copy_is_lowered_in_whatever_order_it_lies_in_memory(order: str):
    x = leaf([[1.0, 2.0], [3.0, 4.0]], "x")
    lowered = tv.lower((x.copy(order) ** 2).sum())
    lowered.backward()
    assert lowered.grad("x").tolist() == [[2.0, 4.0], [6.0, 8.0]]
