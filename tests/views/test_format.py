"""Numbers, arrays, counts and shapes, printed by hand-checked examples and for every double."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorviz.views import format as fmt


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (0.0, "0"), (-0.0, "0"), (3.0, "3"), (-4.0, "−4"), (100.5, "100.5"), (0.1 + 0.2, "0.3"), (1 / 3, "0.3333"), (16.81, "16.81"),
        (6.554e-5, "6.554e−5"), (1e-4, "0.0001"), (9.99996e-5, "0.0001"), (1e5, "1e5"), (99999.5, "1e5"), (12345.6, "12346"), (-1.23456e10, "−1.235e10"),
        (math.nan, "NaN"), (math.inf, "+∞"), (-math.inf, "−∞"), (2.0625, "2.063"), (True, "True"), (np.False_, "False"), (np.float32(0.1), "0.1"), (np.int64(7), "7"),
    ],
)  # fmt: skip
def test_a_number_has_at_most_four_digits_and_a_true_minus(x: float, text: str) -> None:
    assert fmt.number(x) == text


def test_an_error_has_two_digits() -> None:
    assert fmt.number(1.6449e-10, 2) == "1.6e−10"


def test_entries_of_one_array_share_one_count_of_decimals() -> None:
    assert fmt.cells([[2.2, 4.4], [8.2, 10.41]]) == ["2.20", "4.40", "8.20", "10.41"]


def test_the_largest_entry_of_an_array_has_four_digits() -> None:
    assert fmt.cells([1 / 3, 2.0]) == ["0.333", "2.000"]
    assert fmt.cells([1 / 3, 0.25]) == ["0.3333", "0.2500"]
    assert fmt.cells([-2.32503, 0.03204]) == ["−2.325", "0.032"]


def test_exact_zero_is_told_from_a_small_number_rounded_and_keeps_its_column() -> None:
    assert fmt.cells([0.0, 0.5]) == ["0\u00a0\u00a0", "0.5"]


def test_an_entry_keeps_its_digits_beside_a_large_one() -> None:
    assert fmt.cells([1234.5, 0.001234]) == ["1235", "0.001234"]
    assert fmt.cells([100.5, 0.01]) == ["100.50", "0.01"]
    assert fmt.cells([1000.0, 0.5, -1.0]) == ["1000.0", "0.5", "−1.0"]  # not 1 for the half
    assert fmt.cells([12345.0, 0.04]) == ["12345", "0.04"]


def test_strange_entries_are_spelled_and_do_not_decide_the_decimals() -> None:
    assert fmt.cells([math.nan, 1.25, math.inf, -math.inf]) == ["NaN", "1.25", "+∞", "−∞"]


def test_integers_have_no_decimals_and_truth_values_are_letters() -> None:
    assert fmt.cells(np.array([1, 20])) == ["1", "20"]
    assert fmt.cells(np.array([[True], [False]])) == ["T", "F"]


def test_statistics_give_the_norm_and_the_strange_entries_in_words() -> None:
    assert fmt.stats([3.0, 4.0]) == "5"
    assert fmt.stats([3.0, 4.0, math.nan, math.inf]) == "5 · 1 NaN · 1 +∞"
    assert fmt.stats([math.nan, math.nan]) == "2 NaN"
    assert fmt.stats(np.zeros((0, 3))) == "empty"
    assert fmt.stats(np.arange(2000) < 1500) == "1,500 of 2,000 true"


def test_the_norm_neither_overflows_nor_underflows() -> None:
    assert fmt.norm([3e200, 4e200]) == pytest.approx(5e200)
    assert fmt.norm([3e-200, 4e-200]) == pytest.approx(5e-200)


def test_shapes_and_counts() -> None:
    assert (fmt.shape((2, 3)), fmt.shape((3,)), fmt.shape(())) == ("(2, 3)", "(3,)", "()")
    assert (fmt.counted(1, "tie"), fmt.counted(20000, "node")) == ("1 tie", "20,000 nodes")


@given(st.floats(min_value=-1e308, max_value=1e308) | st.sampled_from([math.nan, math.inf, -math.inf]))
def test_every_number_reads_back_to_four_digits(x: float) -> None:
    text = fmt.number(x).replace("−", "-").replace("∞", "inf")
    back = float(text)
    if math.isnan(x):
        assert math.isnan(back)
    else:
        assert back == pytest.approx(x, rel=6e-4)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), max_size=24))
def test_no_entry_that_is_not_zero_prints_as_zero(values: list[float]) -> None:
    for x, text in zip(values, fmt.cells(values), strict=True):
        back = float(text.replace("−", "-").replace("\u00a0", ""))
        assert (back == 0) == (x == 0)
