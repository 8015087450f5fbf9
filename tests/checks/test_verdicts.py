"""Verdicts where differences are hard put to it: infinities, fast oscillations, edges of domains, tiny values, kinks inside."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

INF = np.inf


def leaf(values):
    return tv.tensor(values, requires_grad=True)


def gradcheck(f, x):
    return tv.gradcheck(f, np.asarray(x), raise_exception=False)


def exp_times(factor):
    return tv.custom_op(f"exp_times_{factor}", np.exp, lambda g, x: (factor * g * np.exp(x),))


@pytest.mark.parametrize(
    "f",
    [
        lambda: leaf([INF]) * 0.0,
        lambda: leaf([INF]) - leaf([INF]),
        lambda: leaf([INF, 1.0]) * 2.0,
        lambda: tv.softmax(leaf([-INF, -INF])),
        lambda: np.tanh(leaf([INF])),
    ],
)
def test_an_infinite_leaf_is_undefined_in_a_trace(f):
    y = f()
    report = y.backward(np.ones(y.shape)).check()
    assert report.kind == "undefined" and not report.ok


@pytest.mark.parametrize(("f", "x"), [(tv.softmax, [-INF, -INF]), (tv.softmax, [-INF, 1.0]), (np.tanh, [INF]), (lambda x: x * 2.0, [1.0, INF])])
def test_an_infinite_input_is_undefined_and_its_finite_neighbours_are_judged(f, x):
    report = gradcheck(f, x)
    assert report.kind == "undefined" and not report.ok
    assert all(r.verdict == "undefined" or np.isfinite(x[r.index[0]]) for r in report.rows)


def test_in_a_large_array_the_row_that_stands_for_what_is_not_finite_is_one_that_is_spoilt():
    x = np.ones((100, 100))
    x[0, 0], x[50, 50] = -INF, np.nan
    report = gradcheck(lambda x: np.exp(x).sum(axis=1), x)
    assert report.kind == "undefined" and any(r.index == (50, 50) for r in report.rows)


def test_a_mask_of_minus_infinity_on_the_way_is_left_out_and_attention_stays_green():
    rng = np.random.default_rng(0)
    q, k, v = (leaf(rng.normal(size=(2, 4, 3))) for _ in range(3))
    mask = np.triu(np.full((4, 4), -INF), 1)
    report = (tv.softmax(q @ np.swapaxes(k, -1, -2) + mask) @ v).sum().backward().check()
    assert report.ok and report.kind == "skipped" and set(report.counts) == {"skipped", "ok"}


def test_a_bound_that_is_infinite_and_never_reached_is_not_red():
    x, low = leaf([0.5, -2.0]), leaf(-INF)
    report = np.clip(x, low, 3.0).sum().backward().check()
    assert report.ok and report.kind == "skipped"


@pytest.mark.parametrize("f", [np.sin, np.cos, np.tan])
@pytest.mark.parametrize("decade", [*range(-20, 19, 2), 22, 36, 176, 246])
def test_a_function_of_period_one_is_never_red_however_large_its_operand(f, decade):
    assert gradcheck(f, [10.0**decade, -1.37 * 10.0**decade]).kind in ("ok", "noise", "nonsmooth")


def test_a_wrong_sine_is_red_as_long_as_steps_shorter_than_its_period_exist_and_noise_beyond():
    wrong = tv.custom_op("wrong_sine", np.sin, lambda g, x: (2 * g * np.cos(x),))
    flat = tv.custom_op("flat_sine", np.sin, lambda g, x: (g * 0 * x,))
    assert {gradcheck(f, [10.0**k]).kind for f in (wrong, flat) for k in range(0, 9, 2)} == {"mismatch"}
    assert gradcheck(flat, [1e10]).kind != "ok"
    assert {gradcheck(f, [1e16]).kind for f in (wrong, flat)} == {"noise"}


@pytest.mark.parametrize(
    ("f", "edge", "inward"),
    [
        (np.arccos, -1.0, 1.0),
        (np.arcsin, 1.0, -1.0),
        (np.arctanh, 1.0, -1.0),
        (np.arccosh, 1.0, 1.0),
        (np.log1p, -1.0, 1.0),
        (lambda x: np.sqrt(1 - x), 1.0, -1.0),
        (lambda x: np.log(1 - x), 1.0, -1.0),
        (lambda x: (x - 1000) ** 0.3, 1000.0, 1.0),
        (np.log, 0.0, 1.0),
    ],
)
def test_near_the_edge_of_a_domain_a_right_rule_is_never_red_and_mostly_ok(f, edge, inward):
    kinds = [gradcheck(f, [edge + inward * max(1.0, abs(edge)) * 10.0**-k]).kind for k in np.arange(0, 15.5, 0.5)]
    assert set(kinds) <= {"ok", "noise", "nonsmooth"} and kinds[:26] == ["ok"] * 26  # down to 3e-13


@pytest.mark.parametrize("x", [1e-300, 1e-30, 1e-15, -1e-15, 1e-12, 1e-9, 1e-3])
def test_at_tiny_values_steps_are_no_longer_in_proportion(x):
    assert gradcheck(np.exp, [x]).kind == "ok"
    assert gradcheck(exp_times(2), [x]).kind == "mismatch"
    assert gradcheck(exp_times(0), [x]).kind == "mismatch"
    assert gradcheck(np.log, [abs(x)]).kind == "ok"
    assert gradcheck(lambda x: np.log(np.exp(x)), [x]).ok


@pytest.mark.parametrize("scale", [1e-15, 1e-9])
def test_large_arrays_of_tiny_values_too(scale):
    x = np.random.default_rng(1).normal(size=(80, 80)) * scale
    assert gradcheck(lambda x: np.exp(x).sum(), x).kind == "ok"
    assert gradcheck(lambda x: exp_times(2)(x).sum(), x).kind == "mismatch"
    assert gradcheck(lambda x: exp_times(0)(x).sum(), x).kind == "mismatch"


def test_a_rule_that_gives_zero_is_not_saved_by_a_large_number_beside():
    f = tv.custom_op("beside_a_trillion", lambda x: 1e12 + x, lambda g, x: (0 * g,))
    assert gradcheck(f, [1.0]).kind == "mismatch"


@pytest.mark.parametrize("x", [[1e-9], [1e-6], [1e-3, 2e-3], [1.0], [1e3]])
def test_round_off_inside_is_never_red(x):
    assert gradcheck(lambda x: (x + 1e10) - 1e10, x).kind in ("ok", "noise")
    report = ((leaf(x) + 1e10) - 1e10).sum().backward().check()
    assert report.kind in ("ok", "noise") and report.blame is None


def test_round_off_inside_hides_no_wrong_rule():
    assert gradcheck(lambda x: (exp_times(2)(x) + 1e10) - 1e10, [1e-3, 2e-3]).kind == "mismatch"
    report = ((exp_times(2)(leaf([1e-3, 2e-3])) + 1e10) - 1e10).sum().backward().check()
    assert report.kind == "mismatch" and "exp_times_2" in report.blame_text


@pytest.mark.parametrize(
    ("op", "beside"),
    [
        (np.add, [[0.0], [1.0], [0.0]]),
        (np.subtract, [[0.0], [-1.0], [2.0]]),
        (np.arctan2, [[-1.0], [2.0], [-3.0]]),  # the branch cut, where steps go to the other side or nowhere
        (np.hypot, [[1e-12], [1.0], [0.0]]),
    ],
)
@pytest.mark.parametrize("tiny", [1e-11, 3e-15, 2.8e-18])
def test_what_is_absorbed_by_one_result_and_moves_another_is_never_red(op, beside, tiny):
    x, weights = leaf([[tiny]]), np.array([[0.9], [1.2], [1.4]])
    report = (op(x, np.array(beside)) * weights).sum().backward().check()
    assert report.kind in ("ok", "noise", "nonsmooth") and report.blame is None


@pytest.mark.parametrize("op", [np.floor, np.ceil, np.rint, np.trunc, lambda x: x // 0.7, lambda x: x - np.floor(x), lambda x: x % 0.7])
def test_a_staircase_is_never_red_however_many_stairs_lie_within_a_step(op):
    for decade in range(-3, 18, 4):
        x = [10.0**decade, -2.5 * 10.0**decade, 1.37 * 10.0**decade]
        report = op(1000 * leaf(x)).sum().backward().check()
        assert report.kind in ("ok", "noise", "nonsmooth") and report.blame is None
        assert gradcheck(op, x).kind in ("ok", "noise", "nonsmooth")


def test_a_staircase_whose_rule_gives_its_slope_from_afar_is_red_or_said_to_be_one():
    passes = tv.custom_op("floor_that_passes", np.floor, lambda g, x: (g,))
    assert passes(leaf([0.3, 0.6])).sum().backward().check().kind == "mismatch"
    report = passes(leaf([20.3, 47.6])).sum().backward().check()
    assert report.kind == "nonsmooth" and "staircase" in report.worst.reason


def test_of_a_symmetric_matrix_numpy_reads_one_half_and_the_rule_both():
    a = np.array([[2.0, 0.5], [0.5, 1.0]])
    assert gradcheck(np.linalg.cholesky, a).kind == "ok" and np.linalg.cholesky(leaf(a)).sum().backward().check().kind == "ok"


def test_a_function_that_runs_a_backward_of_its_own_is_checked():
    def f(x):
        y = (x * x).sum()
        y.backward()
        return y

    assert gradcheck(f, [1.0, 2.0]).kind == "ok"


def hinges(x):
    return tv.relu(x) - tv.relu(-x)


def test_conventions_at_a_kink_that_do_not_add_up_to_a_derivative_are_nonsmooth():
    assert [r.verdict for r in gradcheck(hinges, [0.0, 1.0]).rows] == ["nonsmooth", "ok"]
    report = hinges(leaf([0.0, 1.0])).sum().backward().check()
    assert report.kind == "nonsmooth" and report.blame is None


def test_a_kink_excuses_no_part_that_is_not_in_the_graph():
    report = gradcheck(lambda x: hinges(x) + np.asarray(x) ** 2, [0.0, 1.0])
    assert report.kind == "mismatch"


@pytest.mark.parametrize(
    "f",
    [
        lambda h: (h[h > 0] * 3.0).sum(),
        lambda h: (h[h > 0] * np.array([2.0])).sum(),  # which two chosen elements do not fit
        lambda h: np.concatenate([h[h > 0], h]).max(),
    ],
)
def test_a_mask_that_lets_other_elements_through_beside_the_point_is_never_red(f):
    w = leaf([0.0, 0.5, -0.3])
    report = f(np.tanh(w)).backward().check()
    assert report.ok
    assert {row.verdict for row in report.rows} <= {"ok", "nonsmooth"}
    assert any("one side" in row.reason for row in report.rows)


def test_where_a_mask_changes_on_both_sides_the_gradient_is_nonsmooth():
    x = leaf([0.0, 2.0])
    y = np.concatenate([x, -x])  # its positive elements: |x|, but for the 0
    report = (y[y > 0] ** 2).sum().backward().check()
    assert report.kind == "nonsmooth"
    assert "a mask lets other elements through" in report.worst.reason


def test_a_wrong_rule_behind_such_a_mask_is_found():
    wrong = tv.custom_op("behind_a_mask", lambda a: a * a, lambda g, a: (g * 3 * a,))
    h = np.tanh(leaf([0.0, 0.5, -0.3]))
    trace = wrong(h[h > 0]).sum().backward()
    report = trace.check()
    assert trace.nodes[report.blame].op == "behind_a_mask"
