"""House rule 6: in-place changes, the versions they make, and what ``.data`` hands out."""

from __future__ import annotations

import gc
import re
import weakref

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.engine import cycles
from tensorviz.errors import DTypeError, InPlaceError, NoRuleError, ShapeError


def leaf(data, **options) -> tv.Tensor:
    return tv.tensor(data, requires_grad=True, **options)


def test_changing_a_leaf_while_recording_is_refused_and_says_what_to_do():
    w = leaf([1.0, 2.0], name="w")
    with pytest.raises(InPlaceError, match=r"in-place add on the leaf tensor 'w'.*x = x \+.*no_grad"):
        w += 1.0
    for change in (lambda: w.mul_(2.0), lambda: w.zero_(), lambda: w.copy_([0.0, 0.0])):
        with pytest.raises(InPlaceError, match="leaf"):
            change()
    assert w.tolist() == [1, 2]


def test_an_update_under_no_grad_keeps_the_tensor_a_leaf():
    w = leaf([1.0, 2.0])
    (w * w).sum().backward()
    with tv.no_grad():
        w -= 0.1 * w.grad
    assert w.tolist() == [0.8, 1.6]
    assert w.is_leaf
    assert w.requires_grad
    w.zero_grad()
    (w * 3.0).sum().backward()
    assert w.grad.tolist() == [3, 3]


def test_a_change_that_no_rule_saved_is_harmless_and_recorded():
    x = leaf([1.0, 2.0])
    y = x + 1.0
    y *= 2.0
    trace = y.sum().backward()
    assert x.grad.tolist() == [2, 2]
    assert [n.op for n in trace.nodes if n.kind == "op"] == ["add", "mul", "sum"]


def test_a_changed_saved_value_is_an_error_that_names_both_ops_and_both_lines():
    x = leaf([0.0, 1.0])
    y = np.exp(x)
    y += 1.0
    with pytest.raises(InPlaceError) as caught:
        y.sum().backward()
    text = str(caught.value)
    assert re.search(r"exp saved out for its backward rule, and an in-place add modified it", text)
    assert re.search(r"saved by exp: .*test_inplace\.py:\d+.*y = np\.exp\(x\)", text)
    assert re.search(r"changed by add: .*test_inplace\.py:\d+.*y \+= 1\.0", text)
    assert "version 1, saved at version 0" in text
    assert x.grad is None


def test_a_saved_operand_that_changed_is_an_error_too():
    x = leaf([1.0, 2.0])
    h = x * 2.0
    y = (h * h).sum()
    h.zero_()
    with pytest.raises(InPlaceError, match=r"mul saved [ab] .*in-place setitem modified"):
        y.backward()


def test_the_record_still_shows_each_value_as_it_was():
    x = leaf([1.0, 2.0])
    h = x * 2.0
    before = h + 0.0
    h += 100.0
    trace = (before + h).sum().backward()
    values = [n.value.tolist() for n in trace.nodes if n.op in ("mul", "add")]
    assert values == [[2, 4], [2, 4], [102, 104], [104, 108]]


def test_a_second_name_for_a_tensor_sees_the_change():
    x = leaf([1.0, 2.0])
    h = x * 2.0
    y = h
    y += 1.0
    assert h is y
    loss = (h * h).sum() + y.sum()
    loss.backward()
    assert loss.item() == 42
    assert x.grad.tolist() == [14, 22]


def test_what_was_computed_from_a_slice_keeps_its_gradient_when_the_base_changes():
    x = leaf([1.0, 2.0, 3.0])
    h = x * 1.0
    v = h[1:]
    y = (v * v).sum()
    h *= 100.0
    y.backward()
    assert x.grad.tolist() == [0, 4, 6]


def test_shape_and_dtype_of_a_tensor_cannot_change_in_place():
    y = leaf([1.0, 2.0]) * 1.0
    with pytest.raises(ShapeError, match=r"in-place add.*shape \(2,\), the result has \(3, 2\)"):
        y += np.ones((3, 2))
    counts = tv.tensor([1, 2])
    with pytest.raises(DTypeError, match=r"int64.*float64"):
        counts += 0.5
    single = tv.tensor(np.float32([1.0]))
    single += np.float64(0.5)
    assert single.dtype == np.float32


def test_inplace_methods_return_the_tensor_itself():
    y = leaf([1.0, 2.0]) * 1.0
    assert y.add_(1.0) is y
    assert y.mul_(2.0) is y
    assert y.copy_(7.0) is y
    assert y.tolist() == [7, 7]


def test_an_array_cannot_take_a_tensor_in_place():
    a = np.ones(2)
    with pytest.raises(TypeError, match=r"a = a \+ x"):
        a += leaf([1.0, 2.0])


# ---- .data -------------------------------------------------------------------------------------------------------


def test_writing_to_data_changes_the_leaf_and_no_record():
    w = leaf([1.0, 2.0], name="w")
    first = (w * w).sum().backward()
    w.data -= 0.1 * w.grad
    assert w.tolist() == [0.8, 1.6]
    w.zero_grad()
    second = (w * w).sum().backward()
    assert w.grad.tolist() == [1.6, 3.2]
    assert first.node("w").value.tolist() == [1, 2]
    assert second.node("w").value.tolist() == [0.8, 1.6]


def test_reading_data_does_not_split_a_leaf_in_two():
    w = leaf([1.0, 2.0])
    a = w * 2.0
    assert w.data.tolist() == [1, 2]
    b = w * 3.0
    trace = (a + b).sum().backward()
    assert [n.kind for n in trace.nodes].count("leaf") == 1
    assert len(trace.node(w).shares) == 2
    assert w.grad.tolist() == [5, 5]


def test_a_leaf_written_to_between_two_uses_is_two_values():
    w = leaf([1.0, 2.0])
    a = w * w
    w.data[...] = 10.0
    b = w * w
    trace = (a + b).sum().backward()
    assert sorted(n.value.tolist() for n in trace.nodes if n.kind == "leaf") == [[1, 2], [10, 10]]
    assert w.grad.tolist() == [2 * 1 + 2 * 10, 2 * 2 + 2 * 10]


def test_data_can_be_replaced_by_an_array_of_its_shape():
    w = leaf(np.float32([1.0, 2.0]))
    new = np.array([3.0, 4.0])
    w.data = new
    new[:] = 0
    assert w.tolist() == [3, 4]
    assert w.dtype == np.float32
    with pytest.raises(ShapeError, match=r"shape \(2,\), got \(3,\)"):
        w.data = np.ones(3)


def test_data_of_a_result_is_read_only():
    y = leaf([1.0, 2.0]) * 2.0
    with pytest.raises(ValueError, match="read-only"):
        y.data[0] = 1.0
    with pytest.raises(InPlaceError, match=r"result of mul.*detach\(\)"):
        y.data = np.ones(2)


def test_numpy_and_asarray_are_read_only_views():
    w = leaf([1.0, 2.0])
    for array in (w.numpy(), np.asarray(w)):
        assert not array.flags.writeable
    assert np.array(w).flags.writeable


def test_a_buffer_that_the_caller_reuses_changes_nothing():
    buffer = np.array([1.0, 2.0])
    x = leaf(buffer)
    y = x * buffer
    buffer[:] = 0.0
    y.sum().backward()
    assert x.grad.tolist() == [1, 2]


@pytest.mark.parametrize(
    "change",
    [
        lambda h, x: (h.__imul__(x), h.__setitem__(0, h[0] ** 2)),
        lambda h, x: (h.__ipow__(2.0), h.__iadd__(x)),
        lambda h, x: (h[1:].__imul__(x[0]), h.__itruediv__(x[1])),
    ],
)
def test_what_an_in_place_op_saved_may_be_read_again_for_higher_derivatives(change):
    def f(x):
        h = x * 1.0
        change(h, x)
        return h.sum()

    at, step = np.array([2.0, 3.0]), 1e-5
    differences = [(tv.grad(f)(at + step * e) - tv.grad(f)(at - step * e)) / (2 * step) for e in np.eye(2)]
    np.testing.assert_allclose(tv.hessian(f)(at), differences, rtol=1e-8, atol=1e-8)


def test_an_in_place_op_whose_result_is_narrowed_may_read_what_it_replaced():
    x, wide = leaf(np.float32([2.0, 3.0])), leaf([5.0, 7.0])
    h = x * 1
    h *= wide
    h.sum().backward()
    assert h.dtype == np.float32
    assert (x.grad.tolist(), wide.grad.tolist()) == ([5, 7], [2, 3])


def test_a_result_that_was_used_before_it_is_changed_in_place_stays_one_node():
    x = leaf([1.0, 2.0])
    h = x * 3.0
    used = h * 2.0
    h += 1.0
    trace = (used + h).sum().backward()
    assert x.grad.tolist() == [9.0, 9.0]
    assert [n.op for n in trace.nodes].count("mul") == 2
    assert [n.name for n in trace.forks] == ["h"]
    assert trace.forks[0].value.tolist() == [3.0, 6.0]


def test_what_was_cut_off_and_what_was_differentiated_outlive_a_change_of_the_result():
    x = leaf([1.0, 2.0])
    h = x * 3.0
    d = h.detach()
    h += 1.0
    assert d.tolist() == [3.0, 6.0]
    trace = (h * d).sum().backward()
    assert [n.op for n in trace.nodes].count("detach") == 1

    def f(t):
        t += 1.0
        return (t * t).sum()

    assert tv.grad(f)(x * 1.0).tolist() == [4.0, 6.0]


@pytest.fixture
def small_cycles(monkeypatch):
    """Cycles may hold a megabyte, and the collector does nothing by itself."""
    monkeypatch.setattr(cycles, "LEAST", 1_000_000)
    monkeypatch.setattr(cycles.held, "limit", 1_000_000)
    monkeypatch.setattr(cycles.held, "bytes", 0)
    thresholds = gc.get_threshold()
    gc.set_threshold(0)
    yield
    gc.set_threshold(*thresholds)


def used_and_changed():
    h = tv.tensor(np.ones(12_500), requires_grad=True) * 1.0
    h += np.tanh(h + 1.0)  # 100 kB each: the sum, its tanh, and what takes the place of h
    return h


def test_cycles_of_in_place_ops_are_collected_before_they_hold_much(small_cycles):
    made = [weakref.ref(used_and_changed()) for _ in range(40)]
    assert sum(h() is not None for h in made) <= 4


def test_cycles_are_left_alone_where_the_user_has_turned_the_collector_off(small_cycles):
    gc.disable()
    try:
        made = [weakref.ref(used_and_changed()) for _ in range(40)]
        assert all(h() is not None for h in made)
    finally:
        gc.enable()
        gc.collect()


def test_while_all_that_was_changed_in_place_is_in_use_it_is_looked_for_ever_less_often(small_cycles):
    kept, looks = [], []
    gc.collect()
    gc.callbacks.append(lambda phase, _: looks.append(phase))
    try:
        kept = [used_and_changed() for _ in range(200)]  # 60 MB
    finally:
        gc.callbacks.pop()
    assert len(kept) == 200
    assert 1 <= looks.count("start") <= 8


def test_after_an_unrecorded_pass_a_result_can_be_changed_in_place_without_a_cycle():
    x = leaf([1.0, 2.0])
    gc.disable()
    try:
        loss = (x * x).sum()
        loss.backward(record=False)
        loss *= 2.0
        gone = weakref.ref(loss)
        del loss
        assert gone() is None
    finally:
        gc.enable()
    assert x.grad.tolist() == [2.0, 4.0]


def test_a_pass_that_stopped_at_a_breakpoint_keeps_its_root_when_that_is_changed_in_place():
    x = leaf([1.0, 2.0])
    loss = (x * x).sum()
    with pytest.raises(tv.Breakpoint) as stopped, tv.break_on("fork"):
        loss.backward(record=False)
    loss *= 2.0
    assert [float(n.value) for n in stopped.value.trace.nodes if n.op == "sum"] == [5.0]


def _tripled(y):
    y *= 3.0


def _begun_at_five(y):
    y[0] = 5.0


def _tail_tripled(y):
    v = y[1:]
    v *= 3.0


@pytest.mark.parametrize("used_before", [False, True])
@pytest.mark.parametrize(("change", "wanted"), [(_tripled, [12, 24]), (_begun_at_five, [10, 8]), (_tail_tripled, [4, 24])])
def test_a_retained_gradient_is_that_of_the_value_after_the_change(change, wanted, used_before):
    y = leaf([1.0, 2.0]) * 2.0
    y.retain_grad()
    before = y.sum()
    change(y)
    loss = (y * y).sum()
    trace = (loss + before if used_before else loss).backward()
    assert y.grad.tolist() == wanted
    assert [s.after.tolist() for s in trace.steps if s.kind == "leaf"][1:] == [wanted]


def test_a_view_retains_the_gradient_of_the_value_after_its_base_was_changed():
    h = leaf([1.0, 2.0, 3.0]) * 1.0
    v = h[1:]
    v.retain_grad()
    before = v.sum()
    h *= 100.0
    ((v * v).sum() + before).backward()
    assert v.grad.tolist() == [400, 600]


def test_every_operator_that_arrays_have_in_place_changes_what_shares_its_memory():
    x = tv.tensor([[1.0, -2.0], [3.0, 4.0]], requires_grad=True)
    mask = x > 0
    same, row = mask, mask[1]
    mask &= x < 4
    assert same.tolist() == [[True, False], [True, False]]
    row |= True
    assert same.tolist() == [[True, False], [True, True]]
    row ^= np.array([True, False])
    assert mask.tolist() == [[True, False], [False, True]]
    h = x * 1
    other = h
    h @= np.array([[0.0, 1.0], [2.0, 0.0]])
    assert other.tolist() == [[-4, 1], [8, 3]]
    other.sum().backward()
    assert x.grad.tolist() == [[1, 2], [1, 2]]
    with pytest.raises(ShapeError, match=r"the result has \(2, 3\); an in-place op cannot change the shape"):
        h @= np.ones((2, 3))
    with pytest.raises(InPlaceError, match=r"Write x = x @"):
        x @= np.eye(2)
    plain = np.array([True, False])
    with pytest.raises(NoRuleError, match=r"Write a = a & x"):
        plain &= x[0] > 0
