"""House rule 6 for results that are views in NumPy: a write to one of them is a write to what it was taken from."""

from __future__ import annotations

import gc
import re

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import InPlaceError


def leaf(data, **options) -> tv.Tensor:
    return tv.tensor(data, requires_grad=True, **options)


def chained(h):
    h[0][1] = 5


def sliced(h):
    r = h[1:]
    r += 10


def row_by_row(h):
    for i, row in enumerate(h):
        row += i


def reshaped(h):
    h.reshape(2, 6)[0] = 0
    h.ravel()[3] = 77
    h.T.ravel()[0] = 55
    np.ravel(h, "F")[0] = 56
    h.reshape(12, order="F")[1] = 57


def flattened(h):
    f = h.flatten()
    f[2] = -1


def permuted(h):
    h.T[1] = 7
    v = np.swapaxes(h, 0, 1)
    v[0] = 1
    m = np.moveaxis(h, 0, 1)
    m *= 2
    np.transpose(h[None], (2, 0, 1))[1, 0, 2] = 100


def widened(h):
    h[None][0, 1] = 3
    np.expand_dims(h, 1)[:, 0, 2] = 4
    h[:1].squeeze(0)[1] = 9
    np.atleast_3d(h)[1] = 1


def reversed_(h):
    np.flip(h, 0)[0] = 5
    h[::-1][0] = 2
    np.rot90(h)[0] = 4


def split(h):
    a, b = np.split(h, 2, axis=1)
    a += 1
    b *= 2
    b[0] = 7


def seen_by_others(h):
    v, w = h[1:], h[:, 1:]
    corner = w[0, 2:]
    v *= 2
    w += 1
    v[0, 0] = 100
    h *= 3
    corner += 1000
    h += v.sum() + w.sum() + corner.sum()


def single(h):
    h[0, 0, ...] += 3
    e = h[1, 1, ...]
    e[None][0] = 30
    n = h[2, 2]
    n += 100
    m = h[2, 2].reshape(1)
    m += 100
    h[2:, 3:].reshape(())[...] = 50
    h[2:, :1].squeeze()[()] = 40


def laid_out_as_before(h):
    t = h.T
    t += np.ones((4, 3))  # in rows, while t lies in columns
    h.reshape(-1)[0] = 100
    t.reshape(-1)[1] = 200
    f = h.T * 1
    f += np.ones((4, 3))
    f.reshape(-1)[0] = 300
    f.reshape(-1, order="F")[1] = 400
    f[0] *= 2
    f.ravel(order="F")[2] = 500
    h += f.T
    r = h[0, ::-1] * 1
    r[1:] += 1
    r.reshape(2, 2)[0] = 600
    h[2] = r


def squeezed_of_nothing(h):
    s = h.squeeze()
    s[0] = 9
    h[1].squeeze()[2] = 10
    s.squeeze()[2] += h[0]
    h *= 2
    h += s


def copied(h):
    g = h[[0, 1]]
    g += 1
    t = np.take(h, 1, axis=0)
    t += 3
    b = h[h > 3]
    b *= 0
    s = h[0, 1]
    s += 1
    c = h[1:].copy()
    c[0] = 0


PROGRAMS = (
    chained,
    sliced,
    row_by_row,
    reshaped,
    flattened,
    permuted,
    widened,
    reversed_,
    split,
    single,
    seen_by_others,
    laid_out_as_before,
    squeezed_of_nothing,
    copied,
)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_a_program_that_writes_to_views_does_to_tensors_what_it_does_to_arrays(program):
    start = np.arange(12.0).reshape(3, 4)
    wanted = start.copy()
    program(wanted)

    x = leaf(start)
    h = x * 1
    program(h)
    assert h.tolist() == wanted.tolist()
    assert h.requires_grad

    plain = tv.tensor(start)
    program(plain)
    assert plain.tolist() == wanted.tolist()

    w = leaf(start)
    with tv.no_grad():
        program(w)
    assert w.tolist() == wanted.tolist()
    assert w.is_leaf
    assert w.requires_grad


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_the_gradient_of_such_a_program_is_that_of_finite_differences(program):
    def f(x):
        h = x * 1
        program(h)
        return (h * np.cos(h)).sum()

    assert tv.gradcheck(f, np.arange(12.0).reshape(3, 4) / 10, raise_exception=False).ok


def test_what_was_written_over_gets_no_gradient():
    x, v = leaf(np.ones((2, 3))), leaf([4.0, 5.0])
    h = x * 2
    h[1][1:] = v
    (h * 10).sum().backward()
    assert h.tolist() == [[2, 2, 2], [2, 4, 5]]
    assert x.grad.tolist() == [[20, 20, 20], [20, 0, 0]]
    assert v.grad.tolist() == [10, 10]


def test_a_view_taken_before_sees_what_is_written_to_its_base():
    h = leaf([1.0, 2.0, 3.0]) * 1
    v = h[1:]
    h *= 100
    assert v.tolist() == [200, 300]
    assert v.data.tolist() == [200, 300]
    assert np.asarray(v).tolist() == [200, 300]
    assert v.shape == (2,)


def test_a_leaf_without_axes_is_an_array_to_its_views_and_a_result_a_number():
    c = tv.tensor(3.0)
    c[None][0] = 5
    c.reshape(1, 1)[...] += 1
    assert c.item() == 6
    h = leaf(3.0) * 1
    h[None][0] = 5
    assert h.item() == 3


def test_a_view_under_a_name_keeps_it_and_its_retained_gradient():
    h = leaf([1.0, 2.0, 3.0]) * 1
    v = h[1:]
    v.name = "tail"
    v.retain_grad()
    h *= 100
    (v * v).sum().backward()
    assert v.name == "tail"
    assert v.grad.tolist() == [400, 600]


def test_a_view_of_a_leaf_that_requires_a_gradient_cannot_be_written_to_while_recording():
    w = leaf(np.ones((2, 2)), name="w")
    row = w[0]
    with pytest.raises(InPlaceError, match=r"a view of the leaf tensor 'w' \(taken by getitem\).*no_grad"):
        row += 1
    with pytest.raises(InPlaceError, match=r"view of the leaf tensor 'w' \(taken by getitem\)"):
        w[0][1] = 5
    with pytest.raises(InPlaceError, match=r"view of the leaf tensor 'w'"):
        w.T.reshape(2, 2)[0] = 0
    assert w.tolist() == [[1, 1], [1, 1]]
    assert row.tolist() == [1, 1]


def test_what_numpy_makes_read_only_is_refused():
    h = leaf(np.ones((2, 2))) * 1
    with pytest.raises(InPlaceError, match=r"result of diagonal: NumPy makes that a read-only view; change a copy"):
        np.diagonal(h)[0] = 5
    wide = np.broadcast_to(h, (3, 2, 2))
    with pytest.raises(InPlaceError, match=r"result of broadcast_to"):
        wide += 1


def test_a_rule_that_saved_the_base_before_a_write_through_a_view_says_so():
    x = leaf(np.ones((2, 2)))
    h = x * 3
    y = (h * h).sum()
    h[0][1] = 5
    with pytest.raises(InPlaceError) as caught:
        y.backward()
    assert re.search(r"changed by setitem: .*test_aliases\.py:\d+.*h\[0\]\[1\] = 5", str(caught.value))


def test_a_view_made_under_no_grad_stays_without_a_graph():
    h = leaf([1.0, 2.0]) * 1
    with tv.no_grad():
        v = h[:1]
    h *= 2
    assert v.tolist() == [2]
    assert not v.requires_grad
    w = h[:1]
    h *= 2
    with tv.no_grad():
        assert w.tolist() == [4]
    assert w.requires_grad


def test_dead_views_are_forgotten():
    h = tv.tensor(np.arange(10.0))
    for _ in range(1000):
        h[1:]
    assert len(h.own.views) <= 128


def test_views_keep_no_cycle_alive():
    gc.collect()
    gc.disable()
    try:
        before = len([o for o in gc.get_objects() if type(o) is tv.Tensor])
        h = tv.tensor(np.arange(10.0))
        v = h[1:][1:]
        v += 1
        del h, v
        assert len([o for o in gc.get_objects() if type(o) is tv.Tensor]) == before
    finally:
        gc.enable()


def test_a_long_chain_of_views_is_freed_without_recursion():
    x = leaf(np.arange(3.0))
    y = x
    for _ in range(50_000):
        y = y[:]
    y.sum().backward()
    assert x.grad.tolist() == [1, 1, 1]
    del y
