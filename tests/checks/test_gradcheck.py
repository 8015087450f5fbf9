"""gradcheck: what it finds, what it says where it cannot, and that it leaves everything as it was."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import CheckError, OptionError

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def gradcheck(f, *inputs, **options):
    return tv.gradcheck(f, *inputs, raise_exception=False, **options)


def product(name, wrong):
    return tv.custom_op(name, lambda a, b: a * b, lambda g, a, b: (g * b, g * a * wrong))


A = np.array([[1.0, 2.0], [3.0, -4.0]])
B = np.array([[0.5, 1.5], [-2.0, 1.0]])


def test_a_right_function_passes_and_rows_are_per_input_and_element():
    report = gradcheck(lambda a, b: np.tanh(a) * b, A, B)
    assert report.ok and report.kind == "ok"
    assert {(r.operand, r.index) for r in report.rows} == {(k, i) for k in (0, 1) for i in np.ndindex(2, 2)}
    assert {r.scope for r in report.rows} == {"function"}


def test_a_wrong_rule_raises_with_the_report_and_the_node():
    f = product("gradcheck_wrong", 1.03)
    with pytest.raises(CheckError, match=r"(?s)mismatch.*The backward rule of gradcheck_wrong for operand b is wrong.*analytic.*numeric") as caught:
        tv.gradcheck(lambda a, b: f(a, b), A, B)
    report = caught.value.report
    assert report.worst.operand == 1 and report.trace.nodes[report.blame].op == "gradcheck_wrong"


def test_an_argument_that_is_refused_is_no_finding_about_a_gradient():
    with pytest.raises(OptionError, match=r"gradcheck: eps must be a finite number above 0, got -1\.0") as caught:
        tv.gradcheck(np.tanh, A, eps=-1.0)
    assert not isinstance(caught.value, CheckError)


def test_rows_hold_derivatives_of_the_weighted_sum_and_one_number_has_weight_one():
    report = gradcheck(lambda a: (a * a).sum(), np.array([3.0, -1.0]))
    assert [r.analytic for r in report.rows] == [6.0, -2.0]
    weights = [r.analytic for r in gradcheck(lambda a: a * 1.0, np.zeros(50)).rows]
    assert len(set(weights)) == 50 and {np.sign(w) for w in weights} == {-1.0, 1.0} and min(map(abs, weights)) >= 0.5


@pytest.mark.parametrize("f", [lambda a: a**2, lambda a: (a**2).sum(), lambda a: a[0, 0] ** 2])
def test_a_rule_that_squares_its_gradient_is_found_whatever_the_shape_of_the_result(f):
    squared = tv.custom_op("gradcheck_squares", lambda a: a * 3.0, lambda g, a: (g * g * 3.0,))
    report = gradcheck(lambda a: squared(f(a)), A)
    assert report.kind == "mismatch" and report.trace.nodes[report.blame].op == "gradcheck_squares"


def test_a_gradient_of_the_wrong_shape_is_reported_as_such():
    add = tv.custom_op("gradcheck_shape", lambda a, b: a + b, lambda g, a, b: (g, g))
    report = gradcheck(lambda a, b: add(a, b), np.ones((4, 3)), np.ones(3))
    assert report.kind == "mismatch" and "shape (4, 3), expected (3,)" in str(report)


@pytest.mark.parametrize(
    ("f", "x", "index", "numeric"),
    [
        (lambda p: tv.relu(p).sum(), [-1.0, 0.0, 2.0], (1,), 0.5),
        (lambda p: np.abs(p).sum(), [-1.0, 0.0, 2.0], (1,), 0.0),
        (lambda p: p.max(), [3.0, 1.0, 3.0], (0,), 0.5),
        (lambda p: np.maximum(p, 2.0).sum(), [2.0, 1.0], (0,), 0.5),
    ],
)
def test_kinks_and_ties_are_nonsmooth(f, x, index, numeric):
    report = gradcheck(f, np.array(x))
    assert report.ok and report.kind == "nonsmooth"
    assert report.worst.index == index and report.worst.numeric == pytest.approx(numeric, abs=1e-9)


@pytest.mark.parametrize(("f", "x"), [(np.sign, 0.0), (np.floor, 2.0), (lambda p: np.where(p > 1.0, p + 1.0, p), 1.0)])
def test_jumps_are_nonsmooth(f, x):
    report = gradcheck(lambda p: f(p), np.array([x]))
    assert report.ok and report.kind == "nonsmooth"


def test_a_staircase_is_never_red():
    report = gradcheck(lambda p: np.floor(p).sum(), np.array([1.3, -1.9, 1e6 + 0.3, 1000.001]))
    assert report.ok


def test_a_kink_that_is_near_but_not_at_the_point_is_resolved():
    assert gradcheck(lambda p: tv.relu(p), np.array([1e-9, -1e-12])).kind == "ok"


def test_a_runner_up_nearer_than_the_given_step_is_no_mismatch():
    assert gradcheck(lambda p: p.max(), np.array([1.0, 1.0 - 1e-9, -3.0]), eps=1e-6).kind in ("ok", "nonsmooth")


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_narrow_inputs_are_promoted(dtype):
    assert gradcheck(lambda p: (p * p).sum(), np.array([3.0, 10.0, 100.0], dtype=dtype)).kind == "ok"


def test_a_cast_to_float32_inside_is_noise_and_not_a_mismatch():
    report = gradcheck(lambda p: np.exp(p.astype(np.float32) * 0.1).sum(), np.array([3.0, 10.0, 100.0]))
    assert report.ok and report.kind in ("noise", "ok")


@pytest.mark.parametrize("x", [[1e10, -3e9], [1e-10, 1e-12], [1e200, 1.0], [1e-200]])
def test_the_step_scales_with_the_value(x):
    report = gradcheck(lambda p: np.sqrt(np.abs(p)), np.array(x))
    assert report.kind == "ok", str(report)


def test_elements_of_very_different_size_are_not_red():
    assert gradcheck(lambda p: (p * p).sum(), np.array([1e10, 1e-3])).ok
    assert gradcheck(lambda p, q: p * p + q * q, 1e10, 1e-3).ok
    assert gradcheck(lambda p: ((p + 1e10) - 1e10).sum(), np.array([1.0, 1e-9])).ok
    assert gradcheck(lambda p: np.sin(p * 1e10).sum(), np.array([1e-10, 0.0])).kind == "ok"


def test_zero_and_tiny_gradients_have_errors_that_are_numbers():
    report = gradcheck(lambda p: (p * np.array([1.0, 0.0, 1e-12])).sum(), np.array([1.0, 2.0, 3.0]))
    assert report.kind == "ok" and all(r.error == r.error for r in report.rows)


def test_nan_is_never_green():
    bad = tv.custom_op("gradcheck_nan", lambda a: a * 2.0, lambda g, a: (g * np.nan,))
    assert gradcheck(lambda p: bad(p), np.array([1.0, 2.0])).kind == "undefined"
    assert gradcheck(lambda p: np.log(p), np.array([-1.0])).kind == "undefined"
    assert gradcheck(lambda p: p * np.array([1.0, np.nan]), np.array([1.0, 2.0])).kind == "undefined"
    assert not gradcheck(lambda p: p.sum(), np.array([1.0, np.nan])).ok


def test_beside_a_gradient_that_is_nan_stands_what_it_would_have_been():
    report = gradcheck(lambda p: np.where(p > 1.0, np.sqrt(p), p * 3.0).sum(), np.array([0.0, 4.0]))
    assert report.kind == "undefined" and np.isnan(report.worst.analytic) and report.worst.numeric == pytest.approx(3.0)


def test_new_random_numbers_at_each_call_are_nondeterministic():
    rng = np.random.default_rng(0)
    report = gradcheck(lambda p: (p * (rng.random(p.shape) > 0.05)).sum(), np.arange(1.0, 30.0))
    assert report.kind == "nondeterministic" and not report.ok
    assert gradcheck(lambda p: (p * (np.random.default_rng(3).random(p.shape) > 0.5)).sum(), np.arange(1.0, 9.0)).kind == "ok"


def test_the_global_random_state_counts_as_random_and_is_put_back():
    np.random.seed(7)  # noqa: NPY002
    random.seed(7)
    wanted = np.random.RandomState(7).random()
    drawn = random.Random(7).random()
    assert gradcheck(lambda p: (p * (np.random.random(p.shape) > 0.5) * random.random()).sum(), np.arange(1.0, 9.0)).kind == "nondeterministic"  # noqa: NPY002
    assert np.random.random() == wanted and random.random() == drawn  # noqa: NPY002


def test_everything_is_left_as_it_was():
    w = tv.tensor([2.0, 3.0], requires_grad=True)
    (w * 1.0).sum().backward()
    x, t = np.array([1.0, 1.0]), tv.tensor([1.0, 2.0], requires_grad=True)
    with tv.no_grad():
        assert gradcheck(lambda p, q: (p * w * q).sum(), x, t).kind == "ok"
        assert not tv.is_grad_enabled()
    assert tv.is_grad_enabled()
    assert w.grad.tolist() == [1.0, 1.0] and t.grad is None and x.tolist() == [1.0, 1.0] and t.data.tolist() == [1.0, 2.0]


def test_a_function_that_calls_backward_itself_writes_to_no_gradient_and_finds_the_same_at_every_call():
    w, t = tv.tensor([2.0, 3.0], requires_grad=True), tv.tensor([1.0, 2.0], requires_grad=True)
    seen = set()

    def f(p):
        y = (p * w * t).sum()
        y.backward()
        seen.add(tuple(w.grad.tolist()))
        t.grad *= 2
        return y

    x = np.array([5.0, 5.0])
    with tv.history() as passes:
        assert gradcheck(f, x).kind == "ok"
    assert w.grad is None and t.grad is None and not len(passes)
    assert (5.0, 10.0) in seen, "not added to that of the call before"
    mine = t.grad = w.grad = np.array([7.0, 7.0])
    kept = w.grad
    gradcheck(f, x)
    gradcheck(lambda p: [setattr(w, "grad", None), f(p)][1], x)
    assert w.grad is kept and kept.tolist() == t.grad.tolist() == mine.tolist() == [7.0, 7.0]
    f(tv.tensor(x, requires_grad=True))
    assert w.grad.tolist() == [12.0, 17.0] and t.grad.tolist() == [34.0, 44.0], "outside of a check all is as ever"


def test_a_function_that_writes_to_its_input_does_not_write_to_the_callers():
    def f(p):
        h = p * 1.0
        h += 1.0
        return h * h

    x = np.array([1.0, 2.0])
    assert gradcheck(f, x).kind == "ok" and x.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("f", [lambda p: p, lambda p: p.T, lambda p: p.reshape(-1)[::-1], lambda p: p[0]])
def test_views_of_the_input_may_be_returned(f):
    assert gradcheck(f, A).kind == "ok"


def test_tuples_and_dicts_may_be_returned():
    assert gradcheck(lambda p, q: (p * q, [p + q, (p - q).sum()]), A, B).kind == "ok"
    assert gradcheck(lambda p: {"double": p * 2.0, "sum": p.sum(), "which": np.argmax(p)}, A).kind == "ok"


def test_numbers_overlapping_and_empty_inputs_are_taken():
    assert gradcheck(lambda p: np.sin(p), 1.3).rows[0].index == ()
    x = np.array([1.0, 2.0])
    assert gradcheck(lambda p, q: p * q, x, x).kind == "ok"
    assert gradcheck(lambda p: (p * np.arange(3.0)).sum(), np.broadcast_to(np.array(2.0), (3,))).kind == "ok"
    report = gradcheck(lambda p: p.sum(), np.zeros((0, 3)))
    assert report.ok and report.rows == () and report.worst is None
    assert gradcheck(lambda p, q: np.concatenate([p, q]).sum(), np.zeros(0), x).kind == "ok"


def test_integers_among_floats_are_passed_on_and_alone_they_are_refused():
    assert gradcheck(lambda p, i: p[i].sum(), np.array([1.0, 2.0, 3.0]), np.array([0, 2])).kind == "ok"
    report = gradcheck(lambda p: (p * p).sum(), np.array([1, 2]))
    assert report.kind == "input" and "dtype int64" in str(report) and "1.0 instead of 1" in str(report)
    assert gradcheck(lambda p: (p * p).sum(), np.array([1j])).kind == "input"
    assert gradcheck(lambda: tv.tensor(1.0)).kind == "input"
    assert gradcheck(lambda p: np.argmax(p), np.array([1.0, 2.0])).kind == "input"


def test_a_graph_that_is_cut_is_a_mismatch_that_says_where():
    report = gradcheck(lambda p: (p * p.detach()).sum(), np.array([3.0, 10.0]))
    assert report.kind == "mismatch" and report.blame is None and "cut at detach" in str(report)
    report = gradcheck(lambda p: tv.tensor(p.numpy() if isinstance(p, tv.Tensor) else p).sum() * 2.0, np.array([3.0]))
    assert report.kind == "mismatch" and "no gradient reaches this input" in str(report)


def test_a_result_that_does_not_depend_on_the_input_is_ok():
    assert gradcheck(lambda p: tv.tensor(3.0), np.array([1.0])).kind == "ok"


def test_a_result_whose_shape_depends_on_the_values_cannot_be_checked():
    report = gradcheck(lambda p: p[p.numpy() > 1.0] if isinstance(p, tv.Tensor) else p[p > 1.0], np.array([1.0, 2.0]))
    assert report.kind == "input" and "shape of the result changes" in str(report)


def test_a_selection_that_no_short_step_changes_is_checked():
    x = np.array([1e-9, 1.0, -1.0])
    assert gradcheck(lambda p: p[p > 0] * 2.0, x).kind == "ok"
    half = tv.custom_op("half_of_positive", lambda a: a[a > 0] * 2.0, lambda g, a: (np.where(a > 0, 1.0, 0.0),))
    report = gradcheck(lambda p: half(p).sum(), x)
    assert report.kind == "mismatch" and report.blame is not None


def test_what_a_function_refuses_beside_the_point_is_the_end_of_its_domain():
    def root(p):
        if any(float(v) < 0 for v in p):
            raise ValueError("below 0")
        return p**1.5 + 3.0 * p

    report = gradcheck(root, np.array([0.0, 1.0]))
    assert report.ok and "only one side" in str(report)
    near = np.array([[1.0, 1 - 1e-9], [1 - 1e-9, 1.0]])  # a millionth further it has no Cholesky factor
    assert gradcheck(lambda a: np.linalg.cholesky((a + a.T) / 2), near).kind == "ok"

    def only_here(p):
        if float(p[0]) != 1:
            raise ValueError("moved")
        return p * 2.0

    with pytest.raises(ValueError, match="moved"):
        tv.gradcheck(only_here, np.array([1.0]))


def test_a_large_input_is_sampled_and_one_wrong_element_is_still_found():
    def vjp(g, a):
        share = np.array(np.cumsum(g[::-1])[::-1])
        share[4321] *= 1.02
        return (share,)

    bad = tv.custom_op("gradcheck_cumsum", lambda a: np.cumsum(a), vjp)
    x = np.random.default_rng(0).normal(size=6000)
    report = gradcheck(lambda p: bad(p), x)
    assert report.kind == "mismatch" and report.worst.index == (4321,)
    assert gradcheck(lambda p: np.cumsum(p), x).kind == "ok"


def test_settings_are_looked_at():
    with pytest.raises(OptionError, match="gradcheck: eps must be a finite number above 0"):
        gradcheck(lambda p: p, A, eps=0)
    assert gradcheck(lambda a, b: product("gradcheck_loose", 1.03)(a, b), A, B, rtol=0.1).kind == "ok"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_not_finite_is_told_with_where_it_began_and_what_to_do():
    def f(x):
        return np.where(x > 1.0, np.sqrt(x), 0.0)

    report = tv.gradcheck(f, np.array([0.0, 4.0]), raise_exception=False)
    (note,) = report.notes
    assert report.kind == "undefined" and "nan, backward, at sqrt" in note and "np.sqrt(x)" in note and "np.where(mask, x, 1.0)" in note
    (note,) = f(tv.tensor([0.0, 4.0], requires_grad=True)).sum().backward().check().notes
    assert "nan, backward, at sqrt" in note
    assert tv.gradcheck(f, np.array([2.0, 4.0])).notes == ()


@pytest.mark.parametrize("returned", [None, "x", (), object()])
def test_a_function_that_returns_no_array_at_all_is_told_so(returned):
    report = tv.gradcheck(lambda x: returned, np.array([1.0]), raise_exception=False)
    assert report.kind == "input" and "expected a Tensor or array of floats" in report.worst.reason and "return in f" in report.worst.reason


def counting():
    calls = []
    return tv.custom_op(f"counts_its_calls_{id(calls)}", lambda a: a * 2, lambda g, a: (calls.append(1), (g * 2 * (1 + 0.1 * len(calls)),))[1])


def drawing():
    rng = np.random.default_rng(0)
    return tv.custom_op(f"draws_{id(rng)}", lambda a: a * 2, lambda g, a: (g * 2 * rng.uniform(0.5, 1.5),))


@pytest.mark.parametrize("made", [counting, drawing])
def test_a_rule_that_gives_another_share_each_time_is_nondeterministic_and_blamed(made):
    op = made()
    report = tv.gradcheck(lambda x: np.tanh(op(x)), np.array([0.1, 0.7]), raise_exception=False)
    assert report.kind == "nondeterministic" and not report.ok
    assert "another one each time the backward pass runs" in report.worst.reason and op.__name__ in report.blame_text
    trace = np.tanh(op(np.exp(tv.tensor([0.1, 0.7], requires_grad=True)))).sum().backward()
    found = trace.check()
    assert not found.ok and trace.nodes[found.blame].op == op.__name__ and "another share each time" in found.blame_text
    assert {r.verdict for r in found.rows if r.node == found.blame and r.scope == "local"} == {"nondeterministic"}
    with tv.break_on("check"), pytest.raises(tv.Breakpoint, match="another share each time"):
        np.tanh(op(tv.tensor([0.1, 0.7], requires_grad=True))).sum().backward()
