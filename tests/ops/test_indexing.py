"""Indexing, assignment and lookups: every kind of key, repeated positions, routes, index Tensors as operands."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tensorviz as tv
from tensorviz.errors import AxisError, DTypeError, InPlaceError, OptionError, ShapeError


def leaf(*shape: int) -> tv.Tensor:
    return tv.tensor(np.arange(float(np.prod(shape))).reshape(shape), requires_grad=True)


@settings(deadline=None, max_examples=80)
@given(st.data())
def test_any_basic_key_picks_what_numpy_picks_and_scatters_back(data):
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
    key = data.draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    check_key(np.arange(float(np.prod(shape))).reshape(shape), key)


@settings(deadline=None, max_examples=80)
@given(st.data())
def test_any_advanced_key_picks_what_numpy_picks_and_adds_repeats(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
    key = data.draw(hnp.integer_array_indices(shape, result_shape=hnp.array_shapes(min_dims=0, max_dims=2, min_side=1, max_side=3)))
    check_key(np.arange(float(np.prod(shape))).reshape(shape), key)


@pytest.mark.parametrize(
    "key",
    [
        (0, slice(None), [0, 1, 1]),
        (slice(None), None, [[1], [0]], ..., 1),
        (np.array([True, False, True]),),
        (..., np.array([True, False])),
        (np.array([True, False, True]), [1, 0]),
        ([],),
        True,
        (None, False),
        np.int8(1),
        (slice(3, 0, -2), ..., None),
    ],
)
def test_mixed_keys_agree_with_numpy(key):
    check_key(np.arange(24.0).reshape(3, 4, 2), key)


def check_key(a, key):
    x = tv.tensor(a, requires_grad=True)
    y = x[key]
    assert y.shape == a[key].shape
    assert np.array_equal(y.numpy(), a[key])
    seed = np.arange(1.0, y.size + 1).reshape(y.shape)
    trace = y.backward(seed)
    expected = np.zeros_like(a)
    np.add.at(expected, key, seed)
    assert np.array_equal(x.grad, expected)
    chosen = np.zeros_like(a)
    chosen[key] = 1.0
    assert np.array_equal(trace.node(0).shares[0].route, chosen)


def test_index_tensors_are_operands_that_the_record_holds():
    x = tv.tensor([-1.0, 2.0, 3.0], requires_grad=True)
    keep = x > 0
    y = x[keep]
    trace = y.backward(np.array([5.0, 7.0]))
    assert x.grad.tolist() == [0, 5, 7]
    assert trace.node(y).inputs == (trace.node(x).id, trace.node(keep).id)
    assert trace.node(y).params["key"] == ("i",)
    assert trace.node(keep).op == "greater"
    i, j = tv.tensor([0, 0]), tv.tensor(1)
    z = leaf(2, 2)
    z[i, j].backward(np.array([1.0, 10.0]))
    assert z.grad.tolist() == [[0, 11], [0, 0]]


def test_more_index_tensors_than_slots_are_recorded_as_arrays():
    x = leaf(1, 1, 1, 1, 1, 2)
    i = tv.tensor([0])
    x[i, i, i, i, i, i].backward(np.array([3.0]))
    assert x.grad.ravel().tolist() == [3, 0]


def test_a_user_who_changes_an_index_array_afterwards_changes_nothing():
    x = leaf(3)
    rows = np.array([0, 0])
    y = x[rows].sum()
    rows[:] = 2
    y.backward()
    assert x.grad.tolist() == [2, 0, 0]


def test_positions_outside_and_things_that_are_no_index_are_refused():
    x = leaf(3)
    with pytest.raises(IndexError, match=r"getitem: operands of shape \(3,\).*key=\(5,\).*out of bounds"):
        x[5]
    with pytest.raises(IndexError, match="too many indices"):
        x[0, 0]
    for key in (tv.tensor([0.0]), np.array([0.5])):
        with pytest.raises(IndexError, match="astype"):
            x[key]
    for key in ("a", 1.5, {}):
        with pytest.raises(IndexError, match="only integers, slices"):
            x[key]


def test_the_elements_of_a_tensor_can_be_looped_over():
    x = leaf(3, 2)
    total = tv.tensor(0.0)
    for k, row in enumerate(x):
        total = total + row.sum() * float(k)
    total.backward()
    assert x.grad.tolist() == [[0, 0], [1, 1], [2, 2]]


def test_take_is_indexing():
    x = leaf(2, 3)
    np.take(x, [5, 0]).backward(np.array([1.0, 10.0]))
    assert x.grad.tolist() == [[10, 0, 0], [0, 0, 1]]
    assert np.take(x, 1, axis=-1).tolist() == [1, 4]
    with pytest.raises(OptionError, match=r"take: mode must be one of 'raise', 'wrap', 'clip'"):
        np.take(x, [0], mode="near")
    with pytest.raises(AxisError, match=r"take: axis 2 is not there in shape \(2, 3\)"):
        np.take(x, [0], axis=2)
    with pytest.raises(DTypeError, match="out="):
        np.take(x, [0], out=np.zeros(1))


@pytest.mark.parametrize(("mode", "places"), [("wrap", [5, 0, 5]), ("clip", [5, 0, 0])])
def test_take_brings_positions_from_outside_in(mode, places):
    x = leaf(2, 3)
    y = np.take(x, [5 if mode == "wrap" else 9, -6, -7], mode=mode)
    assert y.tolist() == np.ravel(x.numpy())[places].tolist()
    y.backward(np.array([1.0, 10.0, 100.0]))
    np.testing.assert_array_equal(x.grad, np.bincount(places, [1.0, 10.0, 100.0], 6).reshape(2, 3))
    assert np.take(x, [4], mode=mode, axis=1).tolist() == np.take(x.numpy(), [4], mode=mode, axis=1).tolist()


# ---- assignment --------------------------------------------------------------------------------------------------


def test_assignment_takes_the_gradient_of_what_it_overwrites_and_gives_it_to_the_value():
    x = tv.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    v = tv.tensor([10.0, 20.0], requires_grad=True)
    y = x * 2.0
    y[1:3] = v * 3.0
    assert y.tolist() == [2, 30, 60, 8]
    trace = (y * np.array([1.0, 10.0, 100.0, 1000.0])).sum().backward()
    assert x.grad.tolist() == [2, 0, 0, 2000]
    assert v.grad.tolist() == [30, 300]
    setitem = next(n for n in trace.nodes if n.op == "setitem")
    routes = [trace.nodes[i].shares[0].route.tolist() for i in setitem.inputs]
    assert routes == [[1, 0, 0, 1], [1, 1]]


def test_a_broadcast_value_gets_the_sum_of_its_copies():
    v = tv.tensor(5.0, requires_grad=True)
    y = tv.tensor(np.zeros((2, 3)))
    y[:, 1:] = v
    y.sum().backward()
    assert v.grad == 4.0
    w = tv.tensor([[[1.0]]], requires_grad=True)
    z = tv.tensor(np.zeros(3))
    z[:2] = w
    z.sum().backward()
    assert w.grad.tolist() == [[[2.0]]]


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (None, [1, 10, 100]),
        ((..., None, slice(None)), [1, 10, 100]),
        (True, [1, 10, 100]),
        (False, [0, 0, 0]),
        ([[0, 1, 2]], [1, 10, 100]),
        ([[2, 1, 0], [1, 1, 2]], [0, 10, 101]),
    ],
)
def test_a_value_of_the_shape_of_the_whole_gets_a_gradient_of_its_own_shape(key, expected):
    v = tv.tensor([5.0, 6.0, 7.0], requires_grad=True)
    y = tv.tensor(np.zeros(3))
    y[key] = v
    g = np.array([1.0, 10.0, 100.0])
    trace = y.backward(g)
    assert v.grad.tolist() == expected
    (share,) = trace.node(v).shares
    assert share.value.tolist() == expected
    assert share.local.shape == np.zeros(3)[key].shape


def test_of_several_values_for_one_position_only_the_last_gets_a_gradient():
    v = tv.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = tv.tensor(np.zeros(2))
    y[[0, 1, 0]] = v
    assert y.tolist() == [3, 2]
    trace = y.backward(np.array([10.0, 20.0]))
    assert v.grad.tolist() == [0, 20, 10]
    assert trace.node(v).shares[0].route.tolist() == [0, 1, 1]


def test_a_nan_in_the_gradient_reaches_only_what_was_chosen():
    x, v = leaf(3), leaf(1)
    y = x * 1.0
    y[1:2] = v
    y.backward(np.array([1.0, np.nan, 2.0]))
    assert x.grad.tolist() == [1, 0, 2]
    z = leaf(3)
    z[:1].backward(np.array([np.inf]))
    assert z.grad.tolist() == [np.inf, 0, 0]


def test_assignment_keeps_the_records_of_earlier_values():
    x = leaf(2)
    h = x * 2.0
    before = (h + 0.0).sum()
    h[0] = 100.0
    trace = (before + h.sum()).backward()
    assert x.grad.tolist() == [2, 4]
    assert [n.value.tolist() for n in trace.nodes if n.op == "mul"] == [[0, 2]]


def test_assignment_into_a_saved_value_is_refused_at_backward():
    x = leaf(2)
    h = x * 2.0
    y = (h * h).sum()
    h[0] = 1.0
    with pytest.raises(InPlaceError, match="setitem modified"):
        y.backward()


def test_assignment_into_a_leaf_needs_no_grad_and_keeps_it_a_leaf():
    x = leaf(2)
    with pytest.raises(InPlaceError, match=r"in-place setitem on the leaf.*x\.copy\(\)"):
        x[0] = 1.0
    with tv.no_grad():
        x[0] = 9.0
        x.zero_()
        x.copy_([3.0, 4.0])
    assert x.tolist() == [3, 4]
    assert x.is_leaf
    assert x.requires_grad
    (x * x).sum().backward()
    assert x.grad.tolist() == [6, 8]


@pytest.mark.parametrize(
    ("key", "shape"),
    [([], (2, 0, 2)), (np.zeros(3, bool), (0, 0, 2)), (False, (2, 1, 0, 3, 2)), ((slice(0), [0]), (4, 0, 1)), ((slice(0), []), (4, 0, 0))],
)
def test_a_value_assigned_to_nothing_has_a_gradient_of_its_own_shape(key, shape):
    x, v = leaf(3, 2), tv.tensor(np.zeros(shape), requires_grad=True)
    np.zeros((3, 2))[key] = v.numpy()  # NumPy takes it, whatever the first axes are
    y = x * 1.0
    y[key] = v
    y.sum().backward()
    assert v.grad.shape == shape
    assert x.grad.tolist() == np.ones((3, 2)).tolist()


def test_assignments_that_do_not_fit_are_refused():
    y = leaf(2) * 1.0
    with pytest.raises(ShapeError, match="setitem"):
        y[:] = np.ones(3)
    with pytest.raises(IndexError):
        y[2] = 1.0
    counts = tv.tensor([1, 2])
    with pytest.raises(DTypeError, match="gradient of v would be lost"):
        counts[0] = tv.tensor(1.0, requires_grad=True)
    counts[0] = 7
    assert counts.tolist() == [7, 2]


def test_augmented_assignment_to_a_part_adds_to_the_part():
    x = leaf(3)
    y = x * 1.0
    y[1:] += 10.0
    y[0] *= 5.0
    assert y.tolist() == [0, 11, 12]
    y.sum().backward()
    assert x.grad.tolist() == [5, 1, 1]


# ---- embedding ---------------------------------------------------------------------------------------------------


def test_an_embedding_adds_every_row_of_the_gradient_to_the_row_looked_up():
    W = leaf(3, 2)
    ids = np.array([[0, 2], [0, 0]])
    y = tv.embedding(ids, W)
    assert y.shape == (2, 2, 2)
    trace = y.backward(np.ones((2, 2, 2)))
    assert W.grad.tolist() == [[3, 3], [0, 0], [1, 1]]
    assert trace.node(W).shares[0].route.tolist() == [[1, 1], [0, 0], [1, 1]]
    assert tv.embedding(1, W).tolist() == [2, 3]


def test_an_embedding_refuses_ids_that_name_no_row():
    W = leaf(3, 2)
    with pytest.raises(IndexError, match=r"ids run from -1 to 3.*\(3, 2\).*rows 0 to 2"):
        tv.embedding([-1, 3], W)
    with pytest.raises(TypeError, match="whole numbers"):
        tv.embedding([0.5], W)
    with pytest.raises(ShapeError, match="rows"):
        tv.embedding([0], tv.tensor(1.0, requires_grad=True))


@pytest.mark.parametrize("of", [lambda a: np.take(a, [0, -1], axis=-1), lambda a: np.insert(a, [0, 2], 1.0, axis=1)])
def test_what_is_taken_lies_in_memory_as_numpys_does_so_that_its_reshape_is_a_view(of):
    array, x = np.arange(6.0).reshape(2, 3), leaf(2, 3)
    want, got = of(array), of(x)
    want.reshape(-1)[0] = got.reshape(-1)[0] = 9.0
    assert got.tolist() == want.tolist()
    assert got[0, 0] == 9


def test_a_number_is_taken_from_as_a_vector_of_one():
    x = leaf()
    for axis in (None, 0, -1):
        assert np.take(x, [0, -1], axis=axis).tolist() == np.take(x.numpy(), [0, -1], axis=axis).tolist() == [0, 0]
    with pytest.raises(IndexError, match="axis 1 is not there"):
        np.take(x, [0], axis=1)
