"""What is found of many arrays together is what is found of each."""

import math

import numpy as np
import pytest

from tensorviz import bulk

ARRAYS = [
    *(np.array(x) for x in (0.0, -2.0, np.nan, np.inf, 1e-200)),
    np.array([3.0, -4.0]),
    np.array([1.0, -np.inf]),
    np.zeros((2, 3)),
    np.zeros((0, 3)),
    np.arange(6.0).reshape(2, 3).T,
    np.arange(200.0),
    np.full(200, np.nan),
    *(np.array([1, 2], d) for d in ("float32", "float16", "int64", "bool", ">f8")),
    np.array(np.nan, "float32"),
]


@pytest.mark.parametrize("some", [ARRAYS, ARRAYS[:5], ARRAYS[10:], [], ARRAYS[::-1]])
def test_many_arrays_are_told_what_each_is(some: list[np.ndarray]) -> None:
    each = [bool(np.isfinite(a).all()) for a in some]
    assert bulk.finite(some).tolist() == each
    assert bulk.some(some).tolist() == [bool(np.any(a)) for a in some]
    norms = [math.hypot(*a.astype(float).ravel()) if whole else np.nan for a, whole in zip(some, each, strict=True)]
    np.testing.assert_allclose(bulk.norms(some), norms, rtol=1e-14)


def test_only_small_plain_arrays_are_put_together() -> None:
    which, entries, starts = bulk.together(ARRAYS)
    assert which == [0, 1, 2, 3, 4, 5, 6, 7]
    assert [len(part) for part in np.split(entries, starts[1:])] == [ARRAYS[k].size for k in which]


def test_norms_are_right_at_the_ends_of_the_range_too():
    some = [np.array(v) for v in (3e-170, 5e-324, -1e200, 0.0, 2.0)]
    some += [np.array([3e-170, -4e-170]), np.full(100, 1e-200), np.zeros(100), np.full(100, 1e300), np.zeros(0), np.array(1e-40, np.float32)]
    expected = [3e-170, 5e-324, 1e200, 0.0, 2.0, 5e-170, 1e-199, 0.0, 1e301, 0.0, float(np.float32(1e-40))]
    np.testing.assert_allclose(bulk.norms(some), expected, rtol=1e-14)
