"""The rules of real ops in the user's names and with numbers; the numbers were worked out by hand."""

from __future__ import annotations

import numpy as np

import tensorviz as tv
from tensorviz.views import formulas
from tensorviz.views.format import MINUS
from tensorviz.views.formulas import formula


def test_a_matrix_product_is_written_out_for_one_entry_while_its_terms_are_few() -> None:
    a = tv.tensor([[1.0, 2.0], [3.0, -4.0]], requires_grad=True)
    b = tv.tensor([[0.5], [2.0]], requires_grad=True)
    trace = (a @ b).backward([[1.0], [-2.0]])
    to_a, to_b = (trace.node(t).shares[0] for t in (a, b))
    assert formula(trace, to_a).names == "∂(a @ b) @ b.T"
    assert formula(trace, to_a).numbers == f"∂a[1, 1] = {MINUS}2 · 2 = {MINUS}4"
    assert formula(trace, to_b).numbers == f"∂b[1, 0] = 2 · 1 + ({MINUS}4) · ({MINUS}2) = 10"
    w, m = tv.tensor(np.ones(6), requires_grad=True), tv.tensor(np.full((6, 3), 0.5), requires_grad=True)
    trace = (w @ m).backward([1.0, 2.0, 3.0])
    assert formula(trace, trace.node(w).shares[0]).numbers == "∂w[0] = 1 · 0.5 + 2 · 0.5 + 3 · 0.5 = 3"
    assert formula(trace, trace.node(m).shares[0]).numbers == "∂m[0, 2] = 1 · 3 = 3"
    trace = (m.T @ w).backward([1.0, 2.0, 3.0])
    assert formula(trace, trace.node(w).shares[0]).numbers == "∂w[0] = 0.5 · 1 + 0.5 · 2 + 0.5 · 3 = 3"


def test_a_layer_of_one_vector_is_written_out_as_that_of_a_row() -> None:
    for x in ([3.0, 4.0], [[3.0, 4.0]]):
        x, w = tv.tensor(x, requires_grad=True), tv.tensor([[1.0, 2.0], [0.5, 7.0]], requires_grad=True)
        y = tv.linear(x, w)
        trace = y.backward(np.reshape([10.0, 1.0], y.shape))
        to_x, to_w = (formula(trace, trace.node(t).shares[0]) for t in (x, w))
        assert (to_x.names, to_w.names) == ("∂y @ w", "∂y.T @ x")
        assert to_x.numbers.partition(" = ")[2] == "10 · 2 + 1 · 7 = 27"
        assert to_w.numbers == "∂w[0, 1] = 10 · 4 = 40"


def test_of_a_long_sum_the_first_terms_and_their_count_are_written() -> None:
    b = tv.tensor(1.0, requires_grad=True)
    trace = (b * np.arange(1.0, 7.0)).sum().backward()
    assert formula(trace, trace.node("b").shares[0]).numbers == "∂b = 1 + 2 + … (6 terms) = 21"


def test_negative_terms_are_subtracted() -> None:
    b = tv.tensor(1.0, requires_grad=True)
    trace = (b * np.array([-1.0, -2.0, 3.0])).sum().backward()
    assert formula(trace, trace.node("b").shares[0]).numbers == f"∂b = {MINUS}1 {MINUS} 2 + 3 = 0"


def test_a_rule_in_words_keeps_its_spaces_and_signs() -> None:
    A = tv.tensor([[0.2, 1.5, 1.5], [0.7, 2.1, 0.4]], requires_grad=True)
    m = A.max(axis=1)
    trace = m.backward([1.0, -2.0])
    found = formula(trace, trace.node("A").shares[0])
    assert found.names == "∂m / ties where A = m, else 0"
    assert found.numbers == "∂A[0, 1] = ½ · 1 = 0.5"
    assert [(p.text, p.kind) for p in found.rule] == [
        ("∂m", "gradient"),
        (" / ties where ", "text"),
        ("A", "value"),
        (" = ", "text"),
        ("m", "value"),
        (", else 0", "text"),
    ]
    h = tv.relu(A - 1.0)
    trace = h.sum().backward()
    assert formula(trace, trace.node("h").shares[0]).names.startswith("∂")
    assert formula(trace, trace.nodes[2].shares[0]).names == "∂h where (A - 1.0) > 0, else 0"


def test_an_exponent_is_raised_and_its_brackets_stay_in_plain_text() -> None:
    x = tv.tensor(-3.0, requires_grad=True)
    trace = (x**3).backward()
    found = formula(trace, trace.node("x").shares[0])
    assert [p.text for p in found.rule if p.raised] == ["3", f" {MINUS} 1"]
    assert found.numbers == f"∂x = 1 · 3 · ({MINUS}3) ** (3 {MINUS} 1) = 27"


def test_what_a_mean_divides_by_is_put_in() -> None:
    x = tv.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    trace = x.mean(axis=1).backward([1.0, 3.0])
    assert formula(trace, trace.node("x").shares[0]).numbers == "∂x[1, 0] = 3 / 2 = 1.5"


def test_the_entry_that_is_written_out_is_the_one_that_has_most_to_say() -> None:
    x = tv.tensor([2.0, -8.0, 1.0], requires_grad=True)
    trace = (x * x).backward([1.0, 1.0, 1.0])
    assert formula(trace, trace.node("x").shares[0]).entry == "[1]"
    for worst in (np.inf, np.nan):
        trace = (x * np.array([3.0, -9.0, worst])).backward([1.0, 1.0, 1.0])
        assert formula(trace, trace.node("x").shares[0]).entry == "[2]"
    b = tv.tensor([0.0, 1.0], requires_grad=True)
    trace = (b * np.array([[0.0, 2.0], [0.0, 5.0]])).sum().backward()
    assert formula(trace, trace.node("b").shares[0]).numbers == "∂b[1] = 2 + 5 = 7"
    b = tv.tensor([1.0, 1.0], requires_grad=True)
    trace = (b * np.array([[1.0, 2.0], [3.0, np.inf]])).sum().backward()
    assert formula(trace, trace.node("b").shares[0]).numbers == "∂b[1] = 2 + +∞ = +∞"


def test_a_rule_that_is_no_formula_of_single_entries_stays_in_words() -> None:
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    y = tv.softmax(x)
    trace = y.backward([1.0, 0.0])
    assert formula(trace, trace.node("x").shares[0]).names == "y · (∂y − sum(∂y · y))"
    assert formula(trace, trace.node("x").shares[0]).numbers == ""


def test_a_hostile_name_is_cut_and_its_control_characters_are_shown() -> None:
    x = tv.tensor(2.0, requires_grad=True, name="a\x00" + "b" * 50_000)
    trace = (x * x).backward()
    assert len(formula(trace, trace.node(x).shares[0]).left) < 40
    assert "␀" in formula(trace, trace.node(x).shares[0]).names


def test_the_formulas_of_an_op_of_many_operands_are_those_of_one_of_few(monkeypatch) -> None:
    parts = [tv.tensor(1.0 + i, requires_grad=True, name=f"p{i}") for i in range(14)]
    for root in (tv.stack(parts).sum(), np.einsum("i,i,i->", *(tv.stack(parts),) * 3)):
        trace = root.backward()
        shares = [share for node in trace.nodes for share in node.shares]
        short = [formulas.Formulas(trace).of(share) for share in shares]
        monkeypatch.setattr(formulas, "FEW", 1_000)
        assert short == [formulas.Formulas(trace).of(share) for share in shares]
        monkeypatch.undo()
