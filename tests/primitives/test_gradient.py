"""The backward pass as a graph: what a student sees of it, as sentences, as steps and as a picture."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tensorviz as tv
from tensorviz import primitives as p
from tensorviz.errors import GraphError, RecordError, SeedError
from tensorviz.views.stops import stops


def leaf(value: Any, name: str | None = None) -> tv.Tensor:
    return tv.tensor(np.asarray(value, dtype=float), requires_grad=True, name=name)


def captions(graph: p.GradGraph) -> list[str]:
    return [step.caption for step in graph.steps]


def highlighted(svg: str) -> str:
    """The id of the node that a picture marks as the active one."""
    found = re.findall(r'data-node="(\d+)"[^>]*data-state="active"|data-state="active"[^>]*data-node="(\d+)"', svg)
    assert len(found) == 1
    return found[0][0] or found[0][1]


def test_a_broadcast_sum_is_undone_by_permute_reduce_and_reshape_in_sentences():
    a, b = leaf(np.ones((5, 1, 4, 1))), leaf(np.ones((3, 1, 1)))
    y = a + b
    graph = p.grad_graph(y, np.ones((5, 3, 4, 1)))
    assert captions(graph) == [
        "The pass starts with the seed, ∂y, of shape (5, 3, 4, 1).",
        "Rule of add (y) for a: permute takes the axes in the order (1, 0, 2, 3): (5, 3, 4, 1) becomes (3, 5, 4, 1).",
        "Rule of add (y) for a: reduce add pops the leading axis: (3, 5, 4, 1) becomes (5, 4, 1).",
        "Rule of add (y) for a: reshape keeps every element in its order: (5, 4, 1) becomes (5, 1, 4, 1); this is ∂a.",
        "Rule of add (y) for b: permute takes the axes in the order (0, 2, 1, 3): (5, 3, 4, 1) becomes (5, 4, 3, 1).",
        "Rule of add (y) for b: reduce add pops the leading 2 axes: (5, 4, 3, 1) becomes (3, 1).",
        "Rule of add (y) for b: reshape keeps every element in its order: (3, 1) becomes (3, 1, 1); this is ∂b.",
    ]


def test_a_tie_at_the_max_is_split_in_sentences():
    x = leaf([1.0, 5.0, 5.0, 2.0])
    m = p.reduce(x, "max")
    graph = p.grad_graph(m)
    told = captions(graph)
    assert told[0] == "The pass starts with the seed, ∂m, of shape ()."
    assert told[3] == "Rule of reduce max (m) for x: equal works element by element on (4,)."
    assert told[4] == "Rule of reduce max (m) for x: cast turns (4,) into float64."
    assert told[5] == "Rule of reduce max (m) for x: reduce add pops the leading axis: (4,) becomes ()."
    assert told[-1] == "Rule of reduce max (m) for x: div works element by element on (4,); this is ∂x."
    assert graph.trace.node("∂x").value.tolist() == [0.0, 0.5, 0.5, 0.0]


def test_pad_is_undone_by_shrink_in_a_sentence_and_a_picture():
    x = leaf([1.0, 2.0, 3.0])
    y = p.pad(x, [2, 1])
    graph = p.grad_graph(y, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    assert captions(graph)[1] == "Rule of pad (y) for x: shrink cuts out the block from (2,) on: (6,) becomes (3,); this is ∂x."
    assert graph.trace.node("∂x").value.tolist() == [2.0, 3.0, 4.0]
    svg = graph.trace.to_svg(step=1)
    assert highlighted(svg) == str(graph.trace.node("∂x").id)
    assert ">shrink<" in svg


def test_permute_is_undone_by_the_inverse_order_in_a_sentence():
    x = leaf(np.zeros((2, 3, 4)))
    y = p.permute(x, [2, 0, 1])
    graph = p.grad_graph(y, np.ones((4, 2, 3)))
    assert captions(graph)[1] == "Rule of permute (y) for x: permute takes the axes in the order (1, 2, 0): (4, 2, 3) becomes (2, 3, 4); this is ∂x."


def test_a_fork_adds_and_says_so():
    x = leaf([2.0, 3.0])
    y = p.reduce(p.mul(x, x))
    graph = p.grad_graph(y)
    assert "x is used more than once, so its shares add: add works element by element on (2,); this is ∂x." in captions(graph)
    assert graph.grad(x).tolist() == [4.0, 6.0]


def test_the_trace_plays_the_pass_in_the_order_in_which_it_ran():
    A, B = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    L = (A @ B).sum()
    graph = p.grad_graph(L)
    trace = graph.trace
    order = [step.node for step in trace.steps]
    assert len(set(order)) == len(order)
    for k, i in enumerate(order):
        gradients_before = [j for j in trace.nodes[i].inputs if j in order]
        assert all(order.index(j) < k for j in gradients_before)
    assert trace.node("∂A").value.tolist() == [[6.0, 15.0], [6.0, 15.0]]  # the row sums of B, twice
    assert trace.nodes[order[-1]].name == "∂B"


def test_every_step_can_be_drawn_and_marks_the_primitive_that_runs():
    b = leaf(np.ones((3, 1)), "b")
    graph = p.grad_graph(p.expand(b, (5, 3, 4)), np.ones((5, 3, 4)))
    for k, step in enumerate(graph.steps):
        svg = graph.trace.to_svg(step=k)
        assert highlighted(svg) == str(step.node)
    assert "reduce add" in graph.trace.to_svg()
    assert "∂b" in graph.trace.to_svg()


def test_a_gradient_graph_is_saved_loaded_shown_and_summed_up(tmp_path):
    x = leaf([1.0, 5.0, 5.0, 2.0], "x")
    graph = p.grad_graph(p.reduce(x, "max"))
    graph.trace.save(tmp_path / "graph.tvz")
    loaded = tv.load(tmp_path / "graph.tvz")
    assert [s.caption for s in loaded.steps] == captions(graph)
    assert loaded.replay({"x": [9.0, 5.0, 5.0, 2.0]}).tolist() == [1.0, 0.0, 0.0, 0.0]
    assert graph.summary().splitlines()[1].startswith(" 1  Rule of reduce max")
    assert graph.show().trace is graph.trace
    assert graph.draw().to_svg().startswith("<svg")
    assert "image/svg+xml" in graph._repr_mimebundle_()
    assert "<script" in graph.trace.to_html()
    assert graph.trace.findings() == []


def test_the_gradients_are_tensors_whose_own_pass_can_be_stepped_through_and_checked():
    x = leaf([1.0, 2.0, 4.0])
    y = p.reduce(p.mul(p.mul(x, x), x))
    dx = p.grad_graph(y).grad(x)
    trace = dx.backward(np.ones(3))
    assert x.grad.tolist() == [6.0, 12.0, 24.0]  # the second derivative, 6 x
    assert trace.steps[0].caption
    assert trace.check().ok
    assert dx.name == "∂x"


def test_grad_of_the_leaves_is_left_alone():
    x = leaf([1.0, 2.0])
    y = p.reduce(x)
    p.grad_graph(y)
    assert x.grad is None
    assert y.trace is None


def test_gradients_are_found_by_tensor_and_by_name():
    x, w = leaf([1.0, 2.0], "x"), leaf([3.0, 4.0])
    h = p.mul(x, w)
    graph = p.grad_graph(p.reduce(h))
    assert graph.grad("w").tolist() == graph.grad(w).tolist() == [1.0, 2.0]
    assert graph.grad(h).tolist() == graph.grad("h").tolist() == [1.0, 1.0]
    assert [g.tolist() for g in graph.gradients] == [[3.0, 4.0], [1.0, 2.0]]
    with pytest.raises(KeyError, match="those with a name that do: h, w, x"):
        graph.grad("nobody")


def test_a_leaf_that_receives_the_seed_itself_has_it_as_its_gradient():
    a, b = leaf([1.0]), leaf([2.0])
    graph = p.grad_graph(p.add(a, b), [5.0])
    assert [g.tolist() for g in graph.gradients] == [[5.0], [5.0]]
    assert graph.ops == ()
    assert len(graph.trace.nodes) == 1


def test_a_gradient_that_no_seed_changes_is_told_as_a_constant(tmp_path):
    x = leaf([1.0, -2.0], "x")
    graph = p.grad_graph(np.sign(x), [1.0, 1.0])
    assert graph.grad("x").tolist() == [0.0, 0.0]
    assert captions(graph)[-1] == "∂x is a constant, whatever the seed: its rule gives 0."
    graph.trace.save(tmp_path / "t.tvz")
    assert tv.load(tmp_path / "t.tvz").steps[-1].caption == captions(graph)[-1]


def test_a_gradient_graph_of_other_ops_holds_what_their_rules_call():
    A, B = leaf(np.ones((2, 3))), leaf(np.ones((3, 4)))
    graph = p.grad_graph((A @ B).sum())
    assert "matmul" in graph.ops
    assert not p.only_primitives(graph)


def test_a_value_changed_in_place_after_a_rule_saved_it_is_refused():
    x = leaf([1.0, 2.0])
    h = p.mul(x, 2.0)
    y = p.reduce(p.mul(h, h))
    h += 1.0
    with pytest.raises(tv.errors.InPlaceError):
        p.grad_graph(y)


def test_a_pass_of_primitives_is_drawn_stepped_and_checked_like_any_other():
    b = leaf(np.ones((3, 1)), "b")
    y = p.reduce(p.stage(p.expand(b, (2, 3, 4))), pop=3)
    trace = y.backward()
    assert trace.check().ok
    told = [s.caption for s in trace.steps]
    assert any("expand sums the copies" in c for c in told)
    assert "stage" in trace.to_svg()
    assert trace.replay({"b": np.full((3, 1), 2.0)}) == 48.0


def test_a_loaded_trace_of_primitives_is_replayed_and_checked_in_a_process_that_has_not_used_them(tmp_path):
    import subprocess
    import sys

    x = leaf([1.0, 5.0, 2.0], "x")
    p.reduce(p.mul(p.expand(x, (2, 3)), 2.0), pop=2).backward().save(tmp_path / "t.tvz")
    code = f"import tensorviz as tv; t = tv.load({str(tmp_path / 't.tvz')!r}); print(t.replay({{'x': [1.0, 1.0, 1.0]}}), t.check().ok)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["12.0", "True"]


def test_several_roots_are_one_pass():
    x = leaf([1.0, 2.0], "x")
    h = p.mul(x, x)
    graph = p.grad_graph([h, p.reduce(p.mul(h, x))], [[1.0, 10.0], None])
    assert graph.grad("x").tolist() == [2.0 + 3.0, 40.0 + 12.0]
    assert len(graph.seeds) == 2
    twice = p.grad_graph([h, h], [[1.0, 1.0], [2.0, 2.0]])
    assert twice.grad("x").tolist() == [6.0, 12.0]
    with pytest.raises(SeedError, match="of 2 Tensors takes a list of as many seeds"):
        p.grad_graph([h, h], [[1.0, 1.0]])
    with pytest.raises(GraphError, match="or a list of them, got"):
        p.grad_graph([])


def test_no_mistake_is_made_in_a_pass_that_is_a_graph_itself():
    with pytest.raises(RecordError, match="the pass is a graph itself"):
        p.grad_graph(p.reduce(leaf([1.0, 5.0]), "max")).trace.with_bug("overwrite")


def test_the_pass_stops_after_each_rule_and_each_rule_has_a_group_of_its_own():
    A, B = leaf(np.ones((2, 3)), "A"), leaf(np.ones((3, 2)), "B")
    graph = tv.lower((A @ B).sum()).grad_graph()
    ends = stops(graph.trace, "node")
    assert len(ends) == 3
    assert ends[0] == 0
    assert ends[-1] == len(graph.steps) - 1
    assert stops(graph.trace, "share") == list(range(len(graph.steps)))
    x = leaf(np.ones((2, 3)), "x")
    y = p.reduce(p.reshape(p.stage(p.reshape(x, (6,))), (3, 2)), pop=2)
    scopes = [n.scope for n in p.grad_graph(y).trace.nodes if n.kind == "op"]
    assert scopes == ["∂y", "∂y", "∂reshape 2", "∂stage", "∂reshape 1"]
