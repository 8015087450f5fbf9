"""Gradients made by hand against the recorded ones."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tensorviz as tv


def recorded():
    X = tv.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    b = tv.tensor([0.1, 0.2, 0.3], requires_grad=True)
    return X, b, ((X + b) ** 2).sum().backward()


def test_exact_and_close_are_told_apart():
    X, b, trace = recorded()
    table = trace.compare({"X": X.grad, "b": b.grad + 1e-7})
    assert table["X"].exact and table["X"].close and table["X"].difference == 0
    assert not table["b"].exact and table["b"].close and table["b"].difference == pytest.approx(1e-7, rel=1e-3)
    assert table.ok and bool(table)
    assert table.headline == "2 gradients compared: 1 exact, 1 close, 0 off"


def test_tensors_ids_and_a_students_names_are_keys():
    X, b, trace = recorded()
    table = trace.compare({X: X.grad, trace.node(b).id: b.grad})
    assert [r.name for r in table] == ["X", "b"] and table.ok
    assert trace.compare({"dX": X.grad, "b.grad": b.grad}).ok


def test_the_place_of_the_largest_difference_is_given():
    X, _, trace = recorded()
    mine = X.grad.copy()
    mine[1, 2] += 0.5
    row = trace.compare({"X": mine})["X"]
    assert (row.index, row.difference, row.close) == ((1, 2), 0.5, False)
    assert row.note == "1 of 6 numbers are off"


def test_a_wrong_shape_is_said_and_never_broadcast():
    X, b, trace = recorded()
    row = trace.compare({"b": X.grad})["b"]
    assert not row.close and np.isnan(row.difference)
    assert row.note == "yours has shape (2, 3), the gradient (3,): summed over axis 0 it has the right shape and the right numbers"
    assert "yours has shape ()" in trace.compare({"b": 1.0})["b"].note
    assert trace.compare({"X": X.grad.T})["X"].note.endswith(": it is the transpose")
    assert trace.compare({"b": b.grad.reshape(3, 1)})["b"].note.endswith(": the numbers are right")


def test_simple_mistakes_are_recognised():
    X, _, trace = recorded()
    assert trace.compare({"X": X.grad / 2})["X"].note == "every number is 0.5 times the recorded one"
    assert trace.compare({"X": -X.grad})["X"].note == "every number is -1 times the recorded one"
    assert trace.compare({"X": X.grad / 64})["X"].note == "every number is 1/64 of the recorded one"
    assert trace.compare({"X": X.grad * 64})["X"].note == "every number is 64 times the recorded one"
    assert trace.compare({"X": X.grad * 0})["X"].note == "yours is zero throughout"
    w = tv.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    square = (w * np.array([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert square.compare({"w": w.grad.T})["w"].note == "it is the transpose"


def test_nan_is_never_close():
    X, _, trace = recorded()
    mine = X.grad.copy()
    mine[0, 0] = np.nan
    row = trace.compare({"X": mine})["X"]
    assert not row.exact and not row.close and row.index == (0, 0) and row.note.startswith("1 NaN in yours")


def test_a_node_without_gradient_and_an_unknown_name_say_so():
    X, _, trace = recorded()
    two = next(n for n in trace.nodes if n.kind == "constant")
    assert "no gradient reached" in trace.compare({two.id: 1.0}).rows[0].note
    with pytest.raises(KeyError, match="Names: "):
        trace.compare({"nobody": X.grad})


def test_the_table_reads_as_text_and_as_html_that_is_escaped():
    x = tv.tensor([1.0], requires_grad=True, name="<b>x</b>")
    table = (x * 2.0).sum().backward().compare({x: [3.0]})
    assert str(table).splitlines()[1].split("  ")[0] == "gradient of"
    assert "NO" in str(table) and "every number is 1.5 times" in str(table)
    assert "<b>x" not in table._repr_html_() and "&lt;b&gt;x" in table._repr_html_()
    assert repr(table) == "<ComparisonTable 1 gradient compared: 0 exact, 0 close, 1 off>"


def fork_of(x):
    return (np.sin(x) + x * 3.0).sum().backward()


@pytest.mark.parametrize(
    ("mine", "told"),
    [
        (lambda x: np.cos(x), r"it is the share from sin, node \d+, alone; 2 shares add up"),
        (lambda x: (np.cos(x) + 3.0) / 2, "every number is 0.5 times the recorded one"),
        (lambda x: (np.cos(x) + 3.0)[::-1], "the numbers are right, in another order"),
        (lambda x: np.cos(x) + [3.0, 3.0, 4.0], "1 of 3 numbers are off"),
    ],
)
def test_what_a_wrong_gradient_is_instead_is_said(mine, told):
    x = tv.tensor([0.1, 0.7, 1.9], requires_grad=True, name="x")
    assert re.fullmatch(told, fork_of(x).compare({"x": mine(x.data)})["x"].note)


def test_a_gradient_that_stopped_before_the_last_rule_is_said_to_be_that_of_the_node_behind():
    x = tv.tensor([0.1, 0.7, 1.9], requires_grad=True, name="x")
    h = np.tanh(x)
    trace = (h * h).sum().backward()
    assert trace.compare({"x": 2 * h.data})["x"].note == f"it is the gradient of h, node {trace.node('h').id}"


def test_a_row_or_a_column_that_is_off_is_named():
    w = tv.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True, name="w")
    trace = (w * w).sum().backward()
    mine = 2 * w.data
    mine[1] += [0.5, 0.25]
    assert trace.compare({"w": mine})["w"].note == "2 of 6 numbers are off, all in row 1"
    mine = 2 * w.data
    mine[:, 1] += [0.5, 0.25, 1.0]
    assert trace.compare({"w": mine})["w"].note == "3 of 6 numbers are off, all in column 1"
