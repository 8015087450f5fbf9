"""NaN and infinities are found where they were born, with the value responsible."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def leaf(*values, **options):
    return tv.tensor(list(values), requires_grad=True, **options)


def first(y):
    found = y.backward().findings()
    return found[0], found


def test_a_log_of_a_negative_number_is_a_nan_born_in_forward():
    x = leaf(1.0, 2.0)
    finding, found = first(np.log(-x).sum())
    assert (finding.kind, finding.phase, finding.op) == ("nan", "forward", "log")
    assert "Born here" in finding.why and "[0]" in finding.why and "a = -1" in finding.why and "1 later value inherits it" in finding.why
    assert "above 0" in finding.remedy
    assert finding.source is not None and "np.log(-x)" in finding.source.code
    assert len(found) == 1


def test_sqrt_at_zero_is_an_infinity_born_in_backward_with_the_saved_value():
    x = leaf(0.0, 1.0)
    finding, _ = first((np.sqrt(x) * 3.0).sum())
    assert (finding.kind, finding.phase, finding.op) == ("inf", "backward", "sqrt")
    assert "g = 3" in finding.why and "out = 0" in finding.why


def test_the_branch_that_where_did_not_take_is_named_and_the_remedy_says_how():
    x = leaf(0.0, 4.0)
    finding, _ = first(np.where(x > 1.0, np.sqrt(x), x).sum())
    assert (finding.kind, finding.phase, finding.op) == ("nan", "backward", "sqrt")
    assert "not taken" in finding.why and "np.where(mask, x, 1.0)" in finding.remedy


def test_a_nan_of_an_untaken_branch_that_was_born_in_forward_is_reported_there():
    x = leaf(-1.0, 4.0)
    finding, _ = first(np.where(x > 1.0, np.sqrt(x), x).sum())
    assert (finding.kind, finding.phase, finding.op) == ("nan", "forward", "sqrt")
    assert "not taken" in finding.why


def test_a_nan_of_what_an_index_left_out_is_told_with_a_remedy_for_indices():
    scores = tv.tensor([[800.0, 0.0, -800.0]], requires_grad=True)
    finding = next(f for f in (-np.log(tv.softmax(scores))[0, 0]).backward().findings() if f.phase == "backward")
    assert (finding.kind, finding.op) == ("nan", "log")
    assert "getitem behind it left it out" in finding.why and "f(x[i])" in finding.remedy and "np.where" not in finding.remedy


@pytest.mark.parametrize(
    ("y", "op"),
    [
        (lambda x: x**2, "pow"),
        (lambda x: x * np.float32(1e20), "mul"),
        (lambda x: np.square(x), "square"),
        (lambda x: x / np.float32(1e-20), "div"),
        (lambda x: (x * np.float32(1e8)) @ np.array([1.0, 1.0], np.float32), "matmul"),
    ],
)
def test_a_number_too_large_for_its_dtype_is_told_from_a_pole(y, op):
    x = tv.tensor(np.array([3e30, 3e30], dtype=np.float32), requires_grad=True)
    finding, _ = first(y(x).sum())
    assert (finding.kind, finding.phase, finding.op) == ("inf", "forward", op)
    assert "larger than float32 can hold (about 3.4e+38)" in finding.remedy and "float64" in finding.remedy


def test_what_is_nan_in_forward_is_not_told_again_in_backward():
    finding, found = first((leaf(-1.0, 1.0) ** 0.5).sum())
    assert (finding.kind, finding.phase, finding.op) == ("nan", "forward", "pow") and len(found) == 1


def test_an_overflow_comes_before_the_nan_that_it_causes():
    x = leaf(800.0, 1.0)
    _, found = first(np.log(np.exp(x)).sum())
    assert [(f.kind, f.phase, f.op) for f in found] == [("inf", "forward", "exp"), ("nan", "backward", "exp")]
    assert "a = 800" in found[0].why and "out = inf" in found[1].why


def test_a_division_by_zero_names_the_divisor():
    x, y = leaf(1.0), leaf(0.0)
    finding, _ = first((x / y).sum())
    assert (finding.kind, finding.phase, finding.op) == ("inf", "forward", "div")
    assert "b = 0" in finding.why


def test_nan_in_the_data_is_said_to_be_given():
    x = leaf(1.0, 2.0)
    data = np.array([1.0, np.nan])
    finding, _ = first((x * data).sum())
    assert (finding.kind, finding.phase, finding.op) == ("nan", "forward", "constant")
    assert "was given with 1 NaN among 2 numbers" in finding.why


def test_a_softmax_row_that_is_masked_throughout_is_explained():
    x = tv.tensor([[-np.inf, -np.inf], [1.0, 2.0]], requires_grad=True)
    finding, _ = first((tv.softmax(x) * np.array([1.0, 2.0])).sum())
    assert (finding.kind, finding.op) == ("nan", "softmax")
    assert "-inf throughout" in finding.remedy


def test_a_mask_of_minus_infinity_that_stays_inside_is_no_finding():
    x = tv.tensor([[0.3, -0.2], [1.0, 2.0]], requires_grad=True)
    mask = np.array([[True, False], [True, True]])
    assert (tv.softmax(np.where(mask, x, -np.inf)) * np.array([1.0, 2.0])).sum().backward().findings() == []


def test_a_mask_of_minus_infinity_hides_no_overflow_beside_it():
    scores = tv.tensor([[1.0, 2.0], [800.0, 3.0]], requires_grad=True)
    weights = np.exp(scores + np.array([[0.0, -np.inf], [0.0, 0.0]]))
    first, *_ = (weights / weights.sum(axis=1, keepdims=True)).backward(np.ones((2, 2))).findings()
    assert (first.op, first.phase, first.kind) == ("exp", "forward", "inf")
    assert "1 inf among 4 numbers; at [1, 0] from a = 800, while no operand is infinite there." in first.why


def test_a_nan_at_one_place_hides_none_that_is_born_at_another():
    x = tv.tensor([np.nan, -1.0, 0.0], requires_grad=True, name="x")
    found = np.sqrt(x).sum().backward().findings()
    assert [(f.op, f.phase, f.kind) for f in found] == [("leaf", "forward", "nan"), ("sqrt", "forward", "nan"), ("sqrt", "backward", "inf")]
    assert "at [1] from a = -1, while no operand is NaN there" in found[1].why
    assert "what arrives at [2] is g = 1" in found[2].why


def test_a_nan_that_infinities_make_in_backward_is_told_beside_another_of_forward():
    z = tv.tensor([[1000.0, 0.0]], requires_grad=True)
    e = np.exp(z)
    found = (-np.log((e / e.sum(axis=1, keepdims=True))[0, 1])).backward().findings()
    div = [f for f in found if f.op == "div"]  # inf / inf at [0, 0] in forward; -inf / inf at [0, 1] in backward
    assert [(f.phase, f.kind) for f in div] == [("forward", "nan"), ("backward", "nan")]
    assert "what arrives at [0, 1] is g = -inf" in div[1].why


def test_a_seed_that_is_not_finite_is_blamed_on_who_gave_it():
    x = leaf(1.0, 2.0)
    finding = (x * 2.0).backward(np.array([1.0, np.nan])).findings()[0]
    assert (finding.kind, finding.phase) == ("nan", "backward") and "seed" in finding.why


def test_shares_that_overflow_when_added_are_found_at_the_fork():
    x = leaf(1.0)
    big = 1.5e308
    finding = (x * big + x * big).sum().backward().findings()[0]
    assert (finding.kind, finding.phase, finding.op) == ("inf", "forward", "add")
    finding = (x * big + x * big - x * big).sum().backward(np.array(1.0)).findings()
    assert {f.kind for f in finding} >= {"inf"}


def test_a_finding_reads_as_text():
    x = leaf(0.0)
    text = str(np.sqrt(x).sum().backward().findings()[0])
    assert text.startswith("inf (backward, sqrt): Born here") and "test_nonfinite.py" in text
