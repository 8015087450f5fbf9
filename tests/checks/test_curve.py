"""The error of differences against their step is a V: it falls as h², then rises as 1/h."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import CheckError


def cube():
    x = tv.tensor([2.0, 1.0], requires_grad=True)
    return (x * x * x).sum().backward()


def test_on_the_right_the_error_is_the_truncation_of_a_central_difference():
    h, error = tv.error_curve(cube(), "x", h=[0.5, 0.25])
    # ((2+h)³ - (2-h)³) / 2h = 12 + h²
    assert h.tolist() == [0.5, 0.25]
    assert error == pytest.approx([0.25 / 12.25, 0.0625 / 12.0625], rel=1e-12)


def test_the_curve_falls_and_rises_again():
    x = tv.tensor([2.1, 1.0], requires_grad=True)
    h, error = tv.error_curve((x * x * x).sum().backward(), "x")
    lowest = int(np.argmin(error))
    assert h[0] == 2.0 and (h[:-1] == 2 * h[1:]).all() and 1e-7 < h[lowest] < 1e-3
    assert error[lowest] < 1e-11 and error[0] > 0.2 and error[-1] > 1e-3


def test_index_chooses_the_element_and_slot_the_ops_own_rule():
    assert tv.error_curve(cube(), "x", index=1, h=[0.5])[1] == pytest.approx([0.25 / 3.25])
    assert tv.error_curve(cube(), "x", index=(1,), h=[0.5])[1] == pytest.approx([0.25 / 3.25])
    square = next(n.id for n in cube().nodes if n.op == "mul")
    assert tv.error_curve(cube(), square, slot=1, h=[0.5])[1] == pytest.approx([0.0], abs=1e-14)


def test_a_wrong_rule_gives_no_v_but_a_floor():
    wrong = tv.custom_op("curve_wrong", lambda a: a * 2.0, lambda g, a: (g * 2.06,))
    x = tv.tensor([1.0], requires_grad=True)
    trace = wrong(x).sum().backward()
    error = tv.error_curve(trace, "x", h=[1e-2, 1e-4, 1e-6])[1]
    assert error == pytest.approx([0.06 / 2.06] * 3, rel=1e-6)


def test_float32_is_replayed_in_float64():
    x = tv.tensor(np.array([1.0], dtype=np.float32), requires_grad=True)
    assert tv.error_curve(np.exp(x).sum().backward(), "x", h=[1e-5])[1][0] < 1e-6


@pytest.mark.parametrize(
    ("key", "options", "said"),
    [("c", {}, "c received no gradient"), ("y", {"slot": 5}, "sent no share from slot 5; it did from"), ("x", {"h": [0.0]}, "positive numbers")],
)
def test_what_cannot_be_compared_is_said(key, options, said):
    x = tv.tensor([1.0], requires_grad=True)
    c = np.array([2.0])
    y = x * c
    trace = y.sum().backward()
    with pytest.raises(CheckError, match=said):
        tv.error_curve(trace, key, **options)
