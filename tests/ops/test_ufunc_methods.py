"""Methods of ufuncs, ``out=`` and ``where=``: what is written where, once or several times, and what gets a gradient."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import AxisError, DTypeError, IndexingError, InPlaceError, NoRuleError, ShapeError


def leaf(data) -> tv.Tensor:
    return tv.tensor(data, requires_grad=True)


def test_what_is_added_at_a_position_twice_arrives_twice():
    x = leaf([1.0, 10.0, 100.0])
    total = np.zeros_like(x, shape=(2,))
    np.add.at(total, [0, 1, 0], x)
    assert total.tolist() == [101, 10]
    total.backward(np.array([2.0, 3.0]))
    assert x.grad.tolist() == [2, 3, 2]


def test_what_is_multiplied_at_a_position_twice_is_multiplied_one_after_the_other():
    x = leaf([2.0, 5.0, 3.0])
    product = np.ones_like(x, shape=(2,))
    np.multiply.at(product, [0, 1, 0], x)
    assert product.tolist() == [6, 5]
    product.backward(np.ones(2))
    assert x.grad.tolist() == [3, 1, 2]


AT = {
    "rows": lambda o, v: np.add.at(o, [0, 0, 2], v),
    "columns": lambda o, v: np.add.at(o, (slice(None), [1, 1, 0]), v),
    "a row": lambda o, v: np.subtract.at(o, 1, v[0]),
    "a number": lambda o, v: np.add.at(o, [1, 1], 2),
    "pairs": lambda o, v: np.divide.at(o, ([0, 0, 1], [1, 1, 2]), v[:, 0]),
    "broadcast": lambda o, v: np.multiply.at(o, [0, 0], v[0]),
    "a power": lambda o, v: np.power.at(o, [0, 0], 2.0),
    "one operand": lambda o, v: np.negative.at(o, [0, 0, 1]),
    "a mask": lambda o, v: np.maximum.at(o, np.array([True, False, True]), v[:2] * 3),
    "a list": lambda o, v: np.minimum.at(o, [2, 2], [v[0], v[1]]),
    "an index Tensor": lambda o, v: np.add.at(o, tv.tensor([2, 2, 0]) if isinstance(o, tv.Tensor) else [2, 2, 0], v),
}


@pytest.mark.parametrize("name", AT)
def test_at_changes_what_numpy_changes(name):
    def run(x, v):
        o = x * 1.0
        AT[name](o, v)
        return o

    rng = np.random.default_rng(5)
    x, v = rng.uniform(0.5, 2, (3, 3)), rng.uniform(0.5, 2, (3, 3))
    np.testing.assert_allclose(run(leaf(x), leaf(v)).numpy(), run(x, v))
    assert tv.gradcheck(run, x, v)


def test_at_leaves_plain_arrays_to_numpy_and_keeps_dtypes():
    counts = np.zeros(3, int)
    np.add.at(counts, tv.tensor([0, 0, 2]), 1)
    assert counts.tolist() == [2, 0, 1]
    total = tv.tensor(np.zeros(2, np.float32))
    np.add.at(total, [0, 0], np.array([1.0, 2.0]))
    assert total.dtype == np.float32
    assert total.tolist() == [3, 0]
    with pytest.raises(DTypeError, match="does not fit"):
        np.add.at(tv.tensor([1, 2]), [0], leaf([0.5]))
    with pytest.raises(InPlaceError, match="leaf"):
        np.add.at(leaf([1.0]), [0], 1.0)
    with pytest.raises(IndexingError):
        np.add.at(leaf([1.0]) * 1, [5], 1.0)


def test_at_leaves_what_is_read_only_alone_as_every_other_write_of_numpys_does():
    x = leaf([1.0, 2.0])
    y = x * 2
    for values in (x.numpy(), y.data, np.broadcast_to(0.0, 2)):
        with pytest.raises(ValueError, match=r"^np\.add\.at: the array of shape \(2,\) is read-only; write into a copy"):
            np.add.at(values, tv.tensor([0, 0]), 5.0)
    assert (x.tolist(), y.tolist()) == ([1, 2], [2, 4])


REDUCED = {
    "differences": lambda x: np.subtract.reduce(x, axis=1),
    "quotients": lambda x: np.divide.reduce(x, axis=0, keepdims=True),
    "length": lambda x: np.hypot.reduce(x, axis=-1, initial=1.0),
    "all of one axis": lambda x: np.subtract.reduce(x[0], axis=None),
    "running differences": lambda x: np.subtract.accumulate(x, axis=1),
    "running sums of exponentials": lambda x: np.logaddexp.accumulate(x),
    "stretches": lambda x: np.add.reduceat(x, [0, 2, 1], axis=1),
    "stretches of rows": lambda x: np.multiply.reduceat(x, [1, 0]),
    "greatest of stretches": lambda x: np.maximum.reduceat(x[0], np.array([0, 3])),
}


@pytest.mark.parametrize("name", REDUCED)
def test_reductions_of_any_ufunc_are_numpys(name):
    x = np.random.default_rng(6).permutation(12).reshape(3, 4) / 6 + 0.5
    np.testing.assert_allclose(REDUCED[name](leaf(x)).numpy(), REDUCED[name](x), rtol=1e-12)
    assert tv.gradcheck(REDUCED[name], x)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda x: np.subtract.reduce(x, axis=3), AxisError, r"np\.subtract\.reduce: axis 3 is not there"),
        (lambda x: np.subtract.reduce(x[:0]), ShapeError, r"has no elements"),
        (lambda x: np.add.reduceat(x, [0, 3]), IndexingError, r"whole numbers from 0 to 1"),
        (lambda x: np.add.reduceat(x, [0.5]), IndexingError, r"whole numbers"),
    ],
)
def test_what_does_not_fit_is_refused(call, error, says):
    with pytest.raises(error, match=says):
        call(leaf([1.0, 2.0]))


def test_where_computes_nothing_of_what_is_masked_so_that_nothing_is_spoilt():
    x = leaf([0.0, 1.0, -2.0])
    with np.errstate(all="raise"):
        y = np.log(x, out=np.full_like(x, 7.0), where=x > 0)
    assert y.tolist() == [7, 0, 7]
    y.backward(np.ones(3))
    assert x.grad.tolist() == [0, 1, 0]


def test_where_writes_into_the_tensor_that_is_given_and_broadcasts():
    a, b = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([2.0, 0.0])
    out = a * 10
    assert np.divide(a, b, out=out, where=[[True, False]]) is out
    assert out.tolist() == [[0.5, 20], [1.5, 40]]
    out.sum().backward()
    assert a.grad.tolist() == [[0.5, 10], [0.5, 10]]
    assert b.grad.tolist() == [-1, 0]
    with pytest.raises(DTypeError, match="True or False"):
        np.divide(a, b, out=a * 1, where=[1, 0])


def test_a_function_may_write_into_its_own_operand():
    x = leaf([-2.0, 0.5, 3.0])
    y = x * 1
    assert np.clip(y, -1, 1, out=y) is y
    np.cumsum(y, out=y)
    assert y.tolist() == [-1, -0.5, 0.5]
    y.backward(np.ones(3))
    assert x.grad.tolist() == [0, 2, 0]


def test_a_function_that_returns_what_it_was_given_leaves_that_alone():
    x = leaf([1.0, 2.0])
    y, out = x * 2, np.zeros_like(x)
    np.max(y[None], axis=0, out=out)
    out += 1
    assert y.tolist() == [2, 4]
    assert out.tolist() == [3, 5]


def test_a_method_says_which_function_writes():
    x = leaf([[1.0, 2.0]])
    with pytest.raises(DTypeError, match=r"write np\.sum\(x, \.\.\., out=\.\.\.\)"):
        x.sum(axis=0, out=np.zeros_like(x[0]))
    with pytest.raises(DTypeError, match=r"outside the graph. Give a Tensor"):
        np.sum(x, axis=0, out=np.zeros(2))


@pytest.mark.parametrize(
    "write",
    [
        lambda x, out: np.multiply(x[None], 2, out=out),
        lambda x, out: np.multiply(np.tile(x, (3, 1)), 2, out=out),
        lambda x, out: np.add(x, np.ones((1, 2)), out=out),
        lambda x, out: np.less(x[None], 2, out=out),
        lambda x, out: np.exp(x[None], out=out, where=np.array([True, False])),
        lambda x, out: np.exp(x, out=out, where=np.array([[True, False]])),
        lambda x, out: np.clip(x[None], 0, 1, out=out),
        lambda x, out: np.divmod(x[None], 2, out=(out, None)),
        lambda x, out: np.add.reduce(x[None, None], 0, out=out),
        lambda x, out: np.multiply.accumulate(x[None], 0, out=out),
        lambda x, out: np.sum(x[None, None], axis=0, out=out),
        lambda x, out: np.sum(np.tile(x, (3, 1)), axis=0, out=np.tile(out, (3, 1))),
        lambda x, out: np.cumsum(x[None], 0, out=out),
        lambda x, out: np.concatenate([x[None]], out=out),
        lambda x, out: np.take(x[None], [0], 0, out=out),
    ],
)
def test_a_result_of_another_shape_than_its_out_is_refused_where_numpy_refuses_it(write):
    for x, out in ((np.array([1.0, 2.0]), np.zeros(2)), (leaf([1.0, 2.0]), tv.tensor([0.0, 0.0]))):
        with pytest.raises(ValueError) as told:  # noqa: PT011 - NumPy has a text for each
            write(x, out)
    assert isinstance(told.value, ShapeError)
    assert "np." in str(told.value)
    assert "which does not fit into the out= of shape" in str(told.value)


def test_a_ufunc_repeats_its_result_in_a_larger_out():
    x, out = leaf([1.0, 2.0]), np.zeros_like(tv.tensor(np.zeros((3, 2))))
    np.multiply(x, 2, out=out)
    np.clip(x, 0, 1, out=np.zeros_like(out))
    assert out.tolist() == [[2, 4]] * 3
    out.sum().backward()
    assert x.grad.tolist() == [6, 6]


def test_nan_to_num_changes_a_tensor_in_place():
    x = leaf([1.0, np.nan])
    y = x * 2
    assert np.nan_to_num(y, copy=False) is y
    assert y.tolist() == [2, 0]
    y.sum().backward()
    assert x.grad.tolist() == [2, 0]


def test_what_is_put_together_from_several_ops_takes_the_options_of_a_ufunc():
    x = leaf([-1.5, 2.0])
    y = np.zeros_like(x)
    assert np.fabs(x, out=y) is y
    assert y.tolist() == [1.5, 2]
    assert np.copysign(x, -1, out=y, where=x > 0).tolist() == [1.5, -2]
    y.sum().backward()
    assert x.grad.tolist() == [-1, -1]
    assert np.fabs(leaf(np.float32([-1.0])), dtype=float).dtype == np.float64
    with pytest.raises(NoRuleError, match="leaves all other elements to chance"):
        np.fabs(x, where=[True, False])
    with pytest.raises(DTypeError, match="casting='same_kind' does not turn"):
        np.heaviside(x, 0.5, dtype=int)


def test_several_results_are_written_into_several_tensors():
    a, b = leaf([5.5, -7.0]), leaf([2.0, 3.0])
    quotient, rest = np.zeros_like(a), np.zeros_like(a)
    found = np.divmod(a, b, out=(quotient, rest))
    assert found[0] is quotient
    assert [quotient.tolist(), rest.tolist()] == [r.tolist() for r in np.divmod(a.numpy(), b.numpy())]
    rest.sum().backward()
    assert (a.grad.tolist(), b.grad.tolist()) == ([1, 1], [-2, 3])
    whole, part = np.modf(a, out=(None, rest))
    assert part is rest
    assert whole.tolist() == np.modf(a.numpy())[0].tolist()
    with pytest.raises(NoRuleError, match="outside the graph"):
        np.divmod(a, b, out=(np.zeros(2), rest))
