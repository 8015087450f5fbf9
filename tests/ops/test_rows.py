"""Reductions along a last axis of many short rows: the maximum is NumPy's to the last bit, sums of products are no further from the truth than NumPy's."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest

from tensorviz.ops.rows import dotted, largest

INF, NAN = math.inf, math.nan
R = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", "efdgi")
@pytest.mark.parametrize("shape", [(3,), (40, 1), (31, 8), (32, 8), (4, 5, 20), (300, 7, 2), (40, 1024), (40, 1025)], ids=str)
def test_the_largest_element_is_numpys(shape: tuple[int, ...], dtype: str):
    a = (100 * R.normal(size=shape)).astype(dtype)
    for given in (a, a.T.copy().T, a[..., ::-1]):
        for axis in (-1, 0, None, len(shape) - 1, tuple(range(len(shape)))):
            found, expected = largest(given, axis), given.max(axis, keepdims=True)
            assert found.dtype == expected.dtype
            assert np.array_equal(found, expected)


def test_infinities_are_compared_and_a_row_with_a_nan_has_no_largest_element_but_that():
    a = np.tile([[-INF, 1.0, 0.0], [-INF, -INF, -INF], [2.0, INF, 3.0], [5.0, NAN, INF], [NAN, NAN, NAN]], (20, 1))
    assert np.array_equal(largest(a, -1), np.tile([[1.0], [-INF], [INF], [NAN], [NAN]], (20, 1)), equal_nan=True)


def test_rows_without_elements_have_no_largest_one():
    with pytest.raises(ValueError, match="zero-size"):
        largest(np.zeros((50, 0)), -1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(50, 100), (5, 10, 100), (1000, 7), (5, 1024), (5, 1025)], ids=str)
def test_sums_of_many_products_are_as_near_to_the_truth_as_numpys(shape: tuple[int, ...], dtype: Any):
    a, b = (R.normal(size=shape).astype(dtype) for _ in range(2))
    for x, y in ((a, b), (a, np.ascontiguousarray(b.T).T), (np.broadcast_to(a[:1], shape), b)):
        products = x.astype(np.longdouble) * y
        found = dotted(x, y, -1)
        off = np.abs(found - products.sum(-1, keepdims=True)) / np.abs(products).sum(-1, keepdims=True)
        assert found.dtype == dtype
        # of a row of 1,024 some 40 additions follow one another, and each rounds half a unit at most
        assert (off <= 20 * np.finfo(dtype).eps).all()


@pytest.mark.parametrize("axis", [-1, 0, (0, 1), None, (1,)], ids=str)
@pytest.mark.parametrize("dtypes", ["dd", "ff", "ee", "df", "gg", "di"])
def test_sums_of_few_products_are_numpys_to_the_last_bit_and_so_are_those_along_other_axes(axis: Any, dtypes: str):
    a, b = (np.asarray(10 * R.normal(size=(40, 50))).astype(d) for d in dtypes)
    expected = (a * b).sum(axis, keepdims=True)
    found = dotted(a, b, axis)
    assert found.dtype == expected.dtype
    assert found.tobytes() == expected.tobytes()


def test_infinities_and_nans_stay_in_their_rows():
    a, b = np.ones((200, 30)), np.full((200, 30), 2.0)
    a[0, 3], a[1, 4], a[2, 5], a[3, 6], b[3, 6], a[4, 0], a[4, 1] = INF, -INF, NAN, INF, 0.0, INF, -INF
    with np.errstate(invalid="ignore"):
        found = dotted(a, b, -1)
    assert np.array_equal(found[:6], [[INF], [-INF], [NAN], [NAN], [NAN], [60.0]], equal_nan=True)
    assert (found[5:] == 60.0).all()


def test_no_array_of_all_products_is_made():
    a = R.normal(size=(500, 100))
    tracemalloc.start()
    try:
        dotted(a, a, -1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < a.nbytes / 10
