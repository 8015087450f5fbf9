"""The Tensor itself: making one, what it says about itself, conversions, copies, and every refusal."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import DTypeError, InPlaceError, ShapeError


def test_a_tensor_copies_its_data_and_keeps_float_dtypes():
    data = np.array([1.0, 2.0], np.float32)
    t = tv.tensor(data)
    data[:] = 0
    assert t.tolist() == [1, 2]
    assert t.dtype == np.float32
    assert tv.tensor([1.0, 2]).dtype == np.float64
    assert tv.tensor(1).dtype.kind == "i"
    assert tv.tensor([True]).dtype == bool
    assert tv.tensor([1, 2], dtype=np.float32, requires_grad=True).dtype == np.float32
    assert tv.tensor(t).tolist() == [1, 2]


@pytest.mark.parametrize("given", [(), (1.0,), ([1.0, 2.0],)])
def test_calling_the_class_is_refused_and_says_what_makes_a_tensor(given):
    with pytest.raises(DTypeError, match=r"make one with tv\.tensor\(data"):
        tv.Tensor(*given)


def test_a_tensor_describes_itself_as_an_array_does():
    t = tv.tensor(np.zeros((2, 3)), requires_grad=True, name="W")
    assert (t.shape, t.ndim, t.size, t.name, t.is_leaf, t.requires_grad, len(t)) == ((2, 3), 2, 6, "W", True, True, 2)
    assert t.T.shape == (3, 2)
    y = t * 2.0
    assert (y.is_leaf, y.requires_grad) == (False, True)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: tv.tensor([1, 2], requires_grad=True), "only floats can require a gradient, got dtype int"),
        (lambda: tv.tensor([True], requires_grad=True), "only floats can require a gradient, got dtype bool"),
        (lambda: tv.tensor([1j]), "complex"),
        (lambda: tv.tensor(["a"]), "dtype <U1"),
        (lambda: tv.tensor([object()]), "dtype object"),
        (lambda: tv.tensor([[1.0], [1.0, 2.0]]), "no rectangular array"),
        (lambda: tv.tensor(None), "dtype object"),
        (lambda: tv.tensor(1.0, name=3), "a name is a string or None, got int"),
        (lambda: tv.tensor(1.0) * 1j, "complex"),
        (lambda: tv.tensor(1.0) + np.array(["a"]), "dtype <U1"),
    ],
)
def test_data_that_has_no_gradient_is_refused_by_its_dtype(make, says):
    with pytest.raises(DTypeError, match=says):
        make()


def test_requires_grad_can_be_switched_on_a_leaf_only():
    t = tv.tensor([1.0])
    t.requires_grad = True
    (t * 2.0).backward()
    assert t.grad.tolist() == [2]
    t.requires_grad = False
    assert not (t * 2.0).requires_grad
    with pytest.raises(DTypeError, match="int"):
        tv.tensor(1).requires_grad = True
    t.requires_grad = True
    y = t * 2.0
    with pytest.raises(InPlaceError, match=r"result of mul.*detach"):
        y.requires_grad = False


def test_conversions_to_python_numbers():
    t = tv.tensor([[2.5]])
    assert t.item() == 2.5
    assert float(t) == 2.5
    assert int(t) == 2
    assert t.tolist() == [[2.5]]
    assert bool(t)
    assert [10, 20, 30][tv.tensor(1)] == 20
    assert f"{tv.tensor(1.0).item():.1f}" == "1.0"
    with pytest.raises(ShapeError, match=r"exactly one element.*\(2,\)"):
        tv.tensor([1.0, 2.0]).item()
    with pytest.raises(ShapeError, match="ambiguous"):
        bool(tv.tensor([1.0, 2.0]))
    with pytest.raises(DTypeError, match="index"):
        [1, 2][tv.tensor(1.0)]
    with pytest.raises(TypeError, match="0-d"):
        len(tv.tensor(1.0))


def test_asarray_copies_only_on_request():
    t = tv.tensor([1.0, 2.0])
    assert not np.asarray(t).flags.writeable
    assert np.asarray(t, dtype=np.float32).dtype == np.float32
    copied = np.array(t)
    copied[0] = 9
    assert t.tolist() == [1, 2]


def test_leaves_can_be_copied_and_pickled_and_results_cannot():
    w = tv.tensor(np.float32([1.0]), requires_grad=True, name="w")
    for twin in (copy.deepcopy(w), pickle.loads(pickle.dumps(w))):
        assert (twin.tolist(), twin.dtype, twin.requires_grad, twin.name) == ([1.0], np.float32, True, "w")
        assert twin is not w
    y = w * 2.0
    with pytest.raises(InPlaceError, match=r"result of mul: only leaves can be copied"):
        copy.deepcopy(y)
    with pytest.raises(InPlaceError, match=r"result of mul: only leaves can be pickled"):
        pickle.dumps(y)


def test_a_copied_leaf_gets_gradients_of_its_own():
    x = tv.tensor([1.0, 2.0], requires_grad=True, name="x")
    (x * 2).sum().backward()
    shallow, deep = copy.copy(x), copy.deepcopy(x)
    assert shallow.grad is None
    assert deep.grad.tolist() == [2, 2]
    for twin in (shallow, deep):
        (twin * twin).sum().backward()
        twin.data[0] = 7
    assert (shallow.grad.tolist(), deep.grad.tolist()) == ([2, 4], [4, 6])
    assert (x.grad.tolist(), x.tolist()) == ([2, 2], [1, 2])
    x.grad[0] = 9
    assert deep.grad.tolist() == [4, 6]


def test_a_copied_result_is_another_name_for_it():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    (copy.copy(x * 3) + 1).sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_printing_shows_values_and_what_is_not_usual():
    assert repr(tv.tensor([1.0, 2.0])) == "tensor([1., 2.])"
    assert repr(tv.tensor(np.float32([1.0]), requires_grad=True, name="w")) == "tensor([1.], dtype=float32, requires_grad=True, name='w')"
    assert repr(tv.tensor([1.0], requires_grad=True) * 2.0) == "tensor([2.], op=mul)"
    assert len(repr(tv.tensor(np.zeros((1000, 1000))))) < 1000


def test_tensors_are_hashable_by_identity():
    a, b = tv.tensor([1.0]), tv.tensor([1.0])
    assert len({a, b, a}) == 2


def test_a_detached_tensor_shares_no_gradient():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    (x * x.detach()).sum().backward()
    assert x.grad.tolist() == [1, 2]


def test_a_mask_is_not_lost_on_the_way_into_a_tensor():
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    with pytest.raises(DTypeError, match=r"mask would be lost; give data\.filled"):
        tv.tensor(masked)
    assert tv.tensor(np.ma.array([1.0, 2.0])).tolist() == [1.0, 2.0]
