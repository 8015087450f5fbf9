"""The first look at many arrays at once: it moves and steps as a look at each of them alone does."""

from __future__ import annotations

import numpy as np
import pytest

from tensorviz.checks.differences import Ruler
from tensorviz.checks.problems import stacked_moves
from tensorviz.checks.quick import every, plan

ARRAYS = [np.array(3.0), np.array([1e-9, 2.0, -5e7]), np.zeros((2, 2)), np.array([[1.0, np.inf]]), np.array([np.nan]), np.array([[-0.25], [4.0]])]


@pytest.mark.parametrize("ruler", [Ruler(), Ruler(eps=1e-4)], ids=["by the scale", "given"])
def test_arrays_that_are_planned_together_are_moved_as_each_would_be_alone(ruler):
    gradients = [np.ones(x.shape) for x in ARRAYS]
    gradients[0] = np.array(np.nan)
    with np.errstate(all="ignore"):
        together = every(gradients, ARRAYS, ruler)
        alone = [plan(g, x, np.full(x.size, np.inf), ruler) for g, x in zip(gradients, ARRAYS, strict=True)]
    assert [p is None for p in together] == [p is None for p in alone] == [True, False, False, True, True, False]
    for one, other in zip(together, alone, strict=True):
        if one is not None and other is not None:
            assert one.h.tobytes() == other.h.tobytes()
            assert (one.where, one.moves, one.analytic.tolist()) == (other.where, other.moves, other.analytic.tolist())
            assert one.rows().tobytes() == other.rows().tobytes()


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (1, 1)], ids=str)
def test_all_elements_in_turn_are_moved_as_those_of_a_list_are(shape):
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape)
    h = rng.uniform(size=x.size)
    for still in (0, 1):
        rows = stacked_moves(x, range(x.size), h, still)
        assert rows.tobytes() == stacked_moves(x, list(range(x.size)), h, still).tobytes()
        assert np.array_equal(rows[0].reshape(-1)[1:], x.reshape(-1)[1:])
        assert rows[0].reshape(-1)[0] == x.reshape(-1)[0] + h[0]
