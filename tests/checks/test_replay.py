"""Running a recorded graph again with some nodes replaced."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import DTypeError, ReplayError, ShapeError
from tensorviz.replay import Program, replay, replay_nodes
from tensorviz.trace import Trace, TraceData


def squares():
    x = tv.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    b = tv.tensor([10.0, 20.0], requires_grad=True)
    return x, b, ((x + b) ** 2).sum().backward()


def test_nothing_replaced_gives_the_recorded_root():
    _, _, trace = squares()
    assert replay(trace, {}) == trace.nodes[trace.roots[0]].value == 11.0**2 + 22**2 + 13**2 + 24**2


def test_a_node_is_replaced_by_tensor_name_or_id():
    _, b, trace = squares()
    expected = 1.0 + 4 + 9 + 16
    for key in (b, "b", trace.node("b").id):
        assert trace.replay({key: [0.0, 0.0]}) == expected


def test_a_replaced_result_is_taken_as_given_whatever_its_operands_are():
    x, _, trace = squares()
    total = next(n for n in trace.nodes if n.op == "add")
    assert trace.replay({total.id: np.ones((2, 2)), x: np.full((2, 2), 99.0)}) == 4.0


def test_only_what_lies_downstream_is_computed_again():
    calls = []

    def forward(a):
        calls.append(1)
        return a * 2.0

    double = tv.custom_op("counted_double", forward, lambda g, a: (g * 2.0,))
    x = tv.tensor(3.0, requires_grad=True)
    y = tv.tensor(5.0, requires_grad=True)
    trace = (double(x) * y).backward()
    calls.clear()
    assert trace.replay({y: 7.0}) == 42.0 and calls == []
    assert trace.replay({x: 1.0}) == 10.0 and calls == [1]


def test_the_values_of_all_nodes_can_be_had():
    x, _, trace = squares()
    found = replay_nodes(trace, {x: np.zeros((2, 2))})
    assert [v.shape for v in found] == [n.shape for n in trace.nodes]
    assert found[trace.node("x").id].tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert found[trace.roots[0]] == 2 * (100.0 + 400.0)


def test_float32_replays_as_float32_because_python_scalars_stay_weak():
    x = tv.tensor(np.array([1.0, 2.0], dtype=np.float32), requires_grad=True)
    trace = ((x * 0.1 + 3) ** 2).sum().backward()
    assert trace.replay({x: [1.0, 2.0]}).dtype == np.float32
    assert trace.replay({x: [1.0, 2.0]}) == trace.nodes[trace.roots[0]].value


def test_a_dtype_replays_the_whole_graph_in_it():
    x = tv.tensor(np.array([1.0, 2.0], dtype=np.float32), requires_grad=True)
    trace = ((x * 0.1 + 3) ** 2).sum().backward()
    exact = trace.replay({}, dtype=np.float64)
    assert exact.dtype == np.float64 and exact == 3.1**2 + 3.2**2


def test_a_cast_inside_the_graph_follows_the_dtype():
    x = tv.tensor([1 / 3, 2 / 3], requires_grad=True)
    trace = (x.astype(np.float32) * 3.0).sum().backward()
    assert trace.replay({}).dtype == np.float32
    assert trace.replay({}, dtype=np.float64) == pytest.approx(3.0, abs=1e-15)


def test_values_without_gradient_are_replayed_too():
    x = tv.tensor([1.0, -2.0], requires_grad=True)
    trace = np.where(x > 0, x * 10.0, x).sum().backward()
    assert trace.replay({x: [-1.0, 2.0]}) == 19.0


def test_what_was_detached_stays_as_it_was():
    x = tv.tensor(3.0, requires_grad=True)
    trace = (x * x.detach()).backward()
    assert trace.replay({x: 10.0}) == 30.0


def test_a_deep_chain_replays_without_recursion():
    x = tv.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(5_000):
        y = y * 1.0
    assert y.backward().replay({x: 2.0}) == 2.0


def test_a_wrong_shape_is_refused_even_where_it_would_broadcast():
    _, b, trace = squares()
    with pytest.raises(ShapeError, match=r"has shape \(2,\), got \(1,\)"):
        trace.replay({b: [1.0]})


def test_an_unknown_key_names_what_there_is():
    _, _, trace = squares()
    with pytest.raises(KeyError, match=r"'c' is not in the trace. Names: b, x"):
        trace.replay({"c": [1.0]})


def test_what_does_not_fit_the_dtype_is_refused():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    trace = (x * np.array([1, 2])).sum().backward()
    integers = next(n for n in trace.nodes if n.dtype.startswith("int"))
    with pytest.raises(DTypeError, match="holds int64, which float64 does not fit into"):
        trace.replay({integers.id: [1.5, 2.5]})
    with pytest.raises(DTypeError, match="complex128"):
        trace.replay({x: [1j, 2.0]})
    with pytest.raises(DTypeError, match="a float type"):
        trace.replay({}, dtype=int)


def test_one_node_under_two_keys_is_refused():
    _, b, trace = squares()
    with pytest.raises(ReplayError, match="replaced twice"):
        trace.replay({b: [1.0, 2.0], "b": [1.0, 2.0]})


def test_a_custom_op_that_this_process_does_not_know_says_that_it_cannot():
    from dataclasses import replace

    cube = tv.custom_op("cube_of_elsewhere", lambda a: a**3, lambda g, a: (g * 3 * a**2,))
    x = tv.tensor(2.0, requires_grad=True)
    data = cube(x).backward().data
    foreign = Trace(TraceData(tuple(replace(n, op="never_defined") if n.kind == "op" else n for n in data.nodes), data.steps, data.roots))
    with pytest.raises(ReplayError, match=r"'never_defined'.*no record holds it.*custom_op"):
        foreign.replay({0: 3.0})


def test_downstream_lists_each_result_once_in_forward_order():
    a = tv.tensor(1.0, requires_grad=True)
    b = a * 2.0
    trace = (b * b + a).backward()
    program = Program(trace.nodes)
    order = program.downstream([trace.node(a).id])
    assert order == sorted(set(order)) and [trace.nodes[i].op for i in order] == ["mul", "mul", "add"]
