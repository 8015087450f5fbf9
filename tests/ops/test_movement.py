"""Ops that move elements: results and gradients by hand, and the corners of NumPy's signatures."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import AxisError, DTypeError, ShapeError


def leaf(*shape: int) -> tv.Tensor:
    return tv.tensor(np.arange(float(np.prod(shape))).reshape(shape), requires_grad=True)


def pull(y: tv.Tensor, x: tv.Tensor, seed: object = None) -> list[object]:
    """The gradient of x for a seed of 0, 1, 2, ... at y."""
    y.backward(np.arange(float(y.size)).reshape(y.shape) if seed is None else seed)
    assert x.grad is not None
    return x.grad.tolist()


@pytest.mark.parametrize(
    "call", [lambda x: x.reshape(3, 2), lambda x: x.reshape((3, -1)), lambda x: np.reshape(x, (3, 2)), lambda x: x.reshape([-1, 2])]
)
def test_a_reshape_gives_the_gradient_back_in_the_operands_shape(call):
    x = leaf(2, 3)
    y = call(x)
    assert y.shape == (3, 2)
    assert pull(y, x) == [[0, 1, 2], [3, 4, 5]]


def test_a_reshape_in_fortran_order_is_undone_in_fortran_order():
    x = leaf(2, 3)
    y = x.reshape(6, order="F")
    assert y.tolist() == [0, 3, 1, 4, 2, 5]
    assert pull(y, x) == [[0, 2, 4], [1, 3, 5]]


def test_a_reshape_that_does_not_fit_names_op_and_shapes():
    with pytest.raises(ShapeError, match=r"reshape: operands of shape \(2, 3\) do not fit with shape=\(4,\)"):
        leaf(2, 3).reshape(4)
    with pytest.raises(DTypeError, match="reshape: order is 'C', 'F' or 'A', got 'K'"):
        leaf(2, 3).reshape(6, order="K")
    with pytest.raises(DTypeError, match="needs a shape"):
        np.reshape(leaf(2), None)


def test_ravel_flatten_expand_dims_and_squeeze_are_reshapes():
    x = leaf(1, 3)
    for y in (x.ravel(), x.flatten(), tv.flatten(x), np.ravel(x), x.squeeze(), np.squeeze(x, 0)):
        assert y.shape == (3,)
        x.zero_grad()
        assert pull(y, x) == [[0, 1, 2]]
    z = leaf(2)
    assert pull(np.expand_dims(z, (0, -1)), z) == [0, 1]
    with pytest.raises(ShapeError, match="squeeze"):
        np.squeeze(x, axis=1)
    with pytest.raises(DTypeError, match="ravel: order is 'C', 'F', 'A' or 'K', got 'Q'"):
        x.ravel("Q")


LAYOUTS = {
    "rows": lambda a: a,
    "columns": np.asfortranarray,
    "middle axis first": lambda a: np.ascontiguousarray(a.transpose(1, 0, 2)).transpose(1, 0, 2),
    "turned": lambda a: np.ascontiguousarray(a.transpose(2, 0, 1)).transpose(1, 2, 0),
    "backwards": lambda a: a[::-1, :, ::-1],
    "every other": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("change", [lambda x: x, lambda x: x.T * 2, lambda x: x.transpose(1, 2, 0) + 1, lambda x: x[1:].T, lambda x: x.copy()])
def test_the_orders_a_and_k_follow_the_memory_as_numpys_do(layout, change):
    a = np.array(LAYOUTS[layout](np.arange(24.0).reshape(2, 3, 4)))  # a copy, as a leaf is
    x = tv.tensor(a, requires_grad=True)
    mine, theirs = change(x), change(a)
    for order in "CFAK":
        assert np.ravel(mine, order).tolist() == np.ravel(theirs, order).tolist()
        assert mine.flatten(order).tolist() == theirs.flatten(order).tolist()
        assert np.copy(mine, order).strides == np.copy(theirs, order).strides
    assert mine.reshape(2, -1, order="A").tolist() == theirs.reshape(2, -1, order="A").tolist()


@pytest.mark.parametrize(
    "spread",
    [
        lambda a: np.broadcast_to(a, (2, 3, 4)),
        lambda a: np.broadcast_to(a[:, None], (3, 2, 4)),
        lambda a: np.broadcast_to(a[..., None], (3, 4, 2)).transpose(1, 2, 0),
        lambda a: np.broadcast_to(a.T[:, None, None], (4, 2, 2, 3)).swapaxes(0, 2),
    ],
)
def test_an_axis_of_copies_stays_in_its_place_in_the_order_k(spread):
    a = np.arange(12.0).reshape(3, 4)
    assert np.ravel(spread(tv.tensor(a)), "K").tolist() == np.ravel(spread(a), "K").tolist()


def test_the_rows_of_a_transposed_array_in_the_order_k_are_its_columns():
    x = leaf(2, 3)
    y = x.T.ravel("K")
    assert y.tolist() == [0, 1, 2, 3, 4, 5]
    assert pull(y, x) == [[0, 1, 2], [3, 4, 5]]
    assert x.T.ravel("A").tolist() == [0, 1, 2, 3, 4, 5]
    assert x.T.ravel().tolist() == [0, 3, 1, 4, 2, 5]


def test_transposing_takes_axes_in_every_form_and_permutes_the_gradient_back():
    for call in (
        lambda x: x.transpose(2, 0, 1),
        lambda x: x.transpose((2, 0, 1)),
        lambda x: np.transpose(x, [2, 0, 1]),
        lambda x: x.transpose(-1, 0, -2),
    ):
        x = leaf(2, 3, 4)
        y = call(x)
        g = np.arange(24.0).reshape(4, 2, 3)
        assert y.shape == (4, 2, 3)
        assert pull(y, x, g) == g.transpose(1, 2, 0).tolist()
    assert leaf(2, 3, 4).T.shape == leaf(2, 3, 4).transpose().shape == (4, 3, 2)


def test_swapaxes_and_moveaxis_are_undone():
    x = leaf(2, 3, 4)
    g = np.arange(24.0)
    assert pull(np.swapaxes(x, 0, -1), x, g.reshape(4, 3, 2)) == g.reshape(4, 3, 2).swapaxes(0, 2).tolist()
    x.zero_grad()
    assert pull(np.moveaxis(x, [0, 1], [-1, 0]), x, g.reshape(3, 4, 2)) == np.moveaxis(g.reshape(3, 4, 2), [-1, 0], [0, 1]).tolist()
    with pytest.raises(AxisError, match="swapaxes"):
        x.swapaxes(0, 3)


def test_an_unknown_axis_can_be_caught_as_a_value_error_and_as_an_index_error():
    for kind in (ValueError, IndexError, tv.tensor(0.0).__class__ and AxisError):
        with pytest.raises(kind, match="out of bounds"):
            np.moveaxis(leaf(2, 3), 5, 0)


def test_broadcast_to_records_the_axes_that_are_summed():
    x = leaf(3, 1)
    y = np.broadcast_to(x, (2, 3, 4))
    trace = y.backward(np.ones((2, 3, 4)))
    share = trace.node(x).shares[0]
    assert share.summed_axes == (0, 2)
    assert share.local.shape == (2, 3, 4)
    assert x.grad.tolist() == [[8], [8], [8]]
    with pytest.raises(ShapeError, match="broadcast_to"):
        np.broadcast_to(leaf(3), (3, 2))


def test_broadcast_arrays_brings_tensors_and_arrays_to_one_shape():
    x = leaf(2, 1)
    a, b = np.broadcast_arrays(x, np.ones(3))
    assert a.shape == b.shape == (2, 3)
    assert pull(a, x) == [[3], [12]]


@pytest.mark.parametrize(
    ("mode", "value", "gradient"),
    [
        ("constant", [0, 0, 0, 1, 2, 0], [2, 3, 4]),
        ("edge", [0, 0, 0, 1, 2, 2], [0 + 1 + 2, 3, 4 + 5]),
        ("reflect", [2, 1, 0, 1, 2, 1], [2, 1 + 3 + 5, 0 + 4]),
        ("symmetric", [1, 0, 0, 1, 2, 2], [1 + 2, 0 + 3, 4 + 5]),
        ("wrap", [1, 2, 0, 1, 2, 0], [2 + 5, 0 + 3, 1 + 4]),
    ],
)
def test_a_border_gives_back_what_was_copied_into_it(mode, value, gradient):
    x = leaf(3)
    y = np.pad(x, (2, 1), mode)
    assert y.tolist() == value
    assert pull(y, x) == gradient


def test_pad_takes_widths_in_every_form():
    x = leaf(2, 2)
    assert np.pad(x, 1).shape == (4, 4)
    assert np.pad(x, (1, 0)).shape == (3, 3)
    assert np.pad(x, ((1, 0), (0, 2))).shape == (3, 4)
    assert tv.pad(x, {-1: (0, 3)}).shape == (2, 5)
    assert np.pad(x, 1, constant_values=7.0).tolist()[0] == [7, 7, 7, 7]
    with pytest.raises(ShapeError, match="one pair per axis"):
        np.pad(x, ((1, 0), (0, 2), (1, 1)))
    with pytest.raises(ShapeError, match="negative"):
        np.pad(x, -1)
    with pytest.raises(DTypeError, match="whole numbers"):
        np.pad(x, 1.5)
    with pytest.raises(DTypeError, match="constant_values"):
        np.pad(x, 1, "edge", constant_values=1)


def test_joined_operands_get_their_own_part_of_the_gradient():
    a, b = leaf(2, 1), leaf(2, 2)
    np.concatenate([a, b], axis=-1).backward(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    assert a.grad.tolist() == [[1], [4]]
    assert b.grad.tolist() == [[2, 3], [5, 6]]
    c, d = leaf(2), leaf(2)
    np.stack([c, d, c], axis=1).backward(np.array([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]]))
    assert c.grad.tolist() == [5, 40]
    assert d.grad.tolist() == [2, 16]


def test_joining_flattens_for_axis_none_and_mixes_with_arrays():
    a = leaf(2, 2)
    y = np.concatenate([a, np.array([9.0])], axis=None)
    assert y.tolist() == [0, 1, 2, 3, 9]
    assert pull(y, a) == [[0, 1], [2, 3]]
    assert np.append(leaf(2), 5.0).tolist() == [0, 1, 5]


def test_nested_lists_with_tensors_inside_keep_the_graph():
    x = tv.tensor([2.0, 5.0], requires_grad=True)
    y = tv.concatenate([[x[0] * 3.0, 1.0], [x[1]]])
    assert y.tolist() == [6, 1, 5]
    y.sum().backward()
    assert x.grad.tolist() == [3, 1]
    z = tv.stack([[x[0], [x[1]][0]], [0.0, x[0]]])
    assert z.tolist() == [[2, 5], [0, 2]]


def test_a_share_keeps_the_dtype_of_its_operand():
    a, b = tv.tensor(np.ones(2, np.float32), requires_grad=True), leaf(2)
    np.concatenate([a, b]).sum().backward()
    assert (a.grad.dtype, b.grad.dtype) == (np.float32, np.float64)
    assert np.stack([a, a], dtype=np.float64).dtype == np.float64
    with pytest.raises(DTypeError, match="casting"):
        np.concatenate([b, b], dtype=np.int64)


def test_joins_that_cannot_be_are_refused_with_the_shapes():
    with pytest.raises(ShapeError, match=r"concatenate: operands of shape \(2,\) and \(2, 2\)"):
        np.concatenate([leaf(2), leaf(2, 2)])
    with pytest.raises(ShapeError, match="use stack"):
        tv.concatenate([leaf(), leaf()])
    with pytest.raises(ShapeError, match="at least one"):
        tv.stack([])
    with pytest.raises(DTypeError, match="takes a list"):
        tv.stack(1.0)
    with pytest.raises(DTypeError, match="out="):
        np.stack([leaf(2)], out=np.ones((1, 2)))


def test_numpys_shorthands_are_joins():
    a, b = leaf(2), leaf(2)
    assert np.vstack([a, b]).shape == (2, 2)
    assert np.hstack([a, b]).shape == (4,)
    assert np.hstack([leaf(2, 1), leaf(2, 3)]).shape == (2, 4)
    assert np.column_stack([a, leaf(2, 3)]).shape == (2, 4)
    assert np.dstack([a, b]).shape == (1, 2, 2)
    assert np.atleast_1d(leaf()).shape == (1,)
    assert np.atleast_2d(a).shape == (1, 2)
    assert [t.shape for t in np.atleast_3d(leaf(), a, leaf(2, 3))] == [(1, 1, 1), (1, 2, 1), (2, 3, 1)]
    np.vstack([a, b]).backward(np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert (a.grad.tolist(), b.grad.tolist()) == ([1, 2], [3, 4])


def test_a_split_gives_parts_that_each_send_their_gradient_back():
    x = leaf(5)
    first, second, third = np.split(x, [2, 3])
    assert [first.tolist(), second.tolist(), third.tolist()] == [[0, 1], [2], [3, 4]]
    (first.sum() + 10.0 * third.sum()).backward()
    assert x.grad.tolist() == [1, 1, 0, 10, 10]
    assert [p.shape for p in np.array_split(leaf(2, 5), 2, axis=1)] == [(2, 3), (2, 2)]
    assert [p.shape for p in np.hsplit(leaf(2, 4), 2)] == [(2, 2), (2, 2)]
    assert [p.shape for p in np.vsplit(leaf(2, 4), 2)] == [(1, 4), (1, 4)]
    assert [p.shape for p in np.dsplit(leaf(2, 1, 4), 2)] == [(2, 1, 2), (2, 1, 2)]
    with pytest.raises(ShapeError, match="array_split allows"):
        np.split(x, 2)
    with pytest.raises(ShapeError, match="positive"):
        np.array_split(x, 0)


def test_repeat_and_tile_sum_over_the_copies():
    x = leaf(2)
    assert pull(np.repeat(x, 3), x) == [0 + 1 + 2, 3 + 4 + 5]
    x.zero_grad()
    assert pull(np.repeat(x, [1, 3]), x) == [0, 1 + 2 + 3]
    x.zero_grad()
    assert pull(np.tile(x, 2), x) == [0 + 2, 1 + 3]
    x.zero_grad()
    assert pull(np.tile(x, (2, 1)), x) == [0 + 2, 1 + 3]
    assert np.repeat(leaf(), 3).shape == (3,)
    with pytest.raises(DTypeError, match="whole numbers"):
        np.repeat(x, 1.5)


def test_plain_arrays_come_back_as_plain_arrays():
    for y in (
        tv.reshape([1.0, 2.0], (2, 1)),
        tv.concatenate([[1.0], [2.0]]),
        tv.pad([1.0], 1),
        tv.transpose([[1.0, 2.0]]),
        tv.stack([1.0, 2.0]),
        tv.tile([1.0], 2),
    ):
        assert type(y) is np.ndarray


def test_a_copy_can_be_changed_without_touching_the_original():
    x = leaf(2)
    y = np.copy(x)
    y[0] = 7.0
    assert x.tolist() == [0, 1]
    y.sum().backward()
    assert x.grad.tolist() == [0, 1]
