"""Results that NumPy makes as views, not copies: what is written to one of them is written to what it was taken from as well. Knows no op."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorviz.engine.graph import frozen
from tensorviz.engine.mode import enable_grad, is_grad_enabled, no_grad
from tensorviz.engine.node import UNSETTLED, Node, is_tensor
from tensorviz.engine.own import FIRST_LOOK, Own
from tensorviz.engine.run import apply
from tensorviz.errors import InPlaceError

if TYPE_CHECKING:
    from tensorviz.engine.calls import Call
    from tensorviz.engine.op import Op
    from tensorviz.engine.tensor import Tensor

Put = Callable[..., Any]
"""From what a view was taken of, the view after a change, and the parameters of the op that took it: what the former is then."""


class View:
    """Whose memory a Tensor lies in, in NumPy's world. Here values never change: a write makes new values for all that share the memory."""

    __slots__ = ("base", "before", "op", "params", "put", "stale")

    base: Tensor
    """What it is a view of."""
    op: Op
    params: dict[str, Any]
    put: Put | None
    """None: NumPy makes this view read-only."""
    stale: bool
    """Its base was changed; the view is taken again when it is next used."""
    before: Node | None
    """What its node was before that; None: the Tensor itself, which must not be told of here, lest it keep itself alive."""


def view_of(t: Tensor) -> View | None:
    """What a Tensor is a view of, None for most."""
    return None if t.own is None else t.own.view


def view(op: Op, a: Any, params: dict[str, Any], put: Put | None, *, zero_d: bool = True) -> Any:
    """Run an op whose result is a view of its operand in NumPy wherever that needs no copy, and remember of what. ``put`` writes back into the operand.

    ``zero_d``: where the result has no axes it is an array in NumPy, and not a number (which is a copy).
    """
    made = apply(op, (a,), params)
    return _remembered(made, a, op, params, put, zero_d) if is_tensor(a) else made


def quick_view(call: Call, user: Any, a: Any, given: tuple[Any, ...], put: Put | None) -> Any:
    """The same with a call that has been written out, asked for by the frame ``user``."""
    made = call.run(user, a, *given)
    if not is_tensor(a):
        return made
    return _remembered(made, a, call.op, dict(zip(call.names, given, strict=True)) if made.plan is None else made.params, put, True)


def _remembered(made: Tensor, a: Tensor, op: Op, params: dict[str, Any], put: Put | None, zero_d: bool) -> Tensor:
    value, own = made.value, a.own
    kept = a.value if own is None or own.now is None else a._current().value
    if type(value) is np.ndarray and type(kept) is np.ndarray:
        base = value.base
        if base is None or (base is not kept and base is not kept.base):
            # some return their operand where there is nothing to do, and NumPy's windows lie in its memory without naming it as their base
            if value is not kept and (base is None or not np.may_share_memory(value, kept)):
                return made
    elif not (zero_d or type(value) is np.ndarray) or not (
        type(kept) is np.ndarray or _is_array(a)
    ):  # of a single element nothing needs to be copied
        return made
    found = View()
    found.base = a
    found.op = op
    found.params = params
    found.put = put
    found.stale = False
    found.before = None
    made.own = its = Own()
    its.view = found
    if own is None:
        a.own = own = Own()
    ref = weakref.ref(made)
    if own.views is None:
        own.views = [ref]
    else:
        if len(own.views) >= own.limit:
            own.views = [v for v in own.views if v() is not None]
            own.limit = max(FIRST_LOOK, 2 * len(own.views))
        own.views.append(ref)
    return made


def _is_array(a: Tensor) -> bool:
    """Whether a Tensor without axes is an array in NumPy, as a leaf or a view is; the result of an op is a number there."""
    node = a._current()
    return (node.op is None and not node.params.get("no_grad")) or view_of(a) is not None


def refuse_write(t: Tensor, op: Op) -> None:
    """Raise where a write to a view would have to change what cannot be changed."""
    alias = view_of(t)
    while alias is not None:
        if alias.put is None:
            raise InPlaceError(
                f"in-place {op.name} on {t._what()}, the result of {alias.op.name}: NumPy makes that a read-only view; change a copy, made with x.copy()"
            )
        base = alias.base
        node = base._current()
        if node.op is None and node.needs_grad and is_grad_enabled():
            raise InPlaceError(
                f"in-place {op.name} on {t._what()}, which is a view of the leaf{base._called()} (taken by {alias.op.name}), and that requires a gradient: "
                f"its recorded value would be lost. Write x = x {op.label if op.operators else op.name} ... for a new value, change a copy, made with x.copy(), or update it inside `with tv.no_grad():`"
            )
        t, alias = base, view_of(base)


def write_through(t: Tensor) -> None:
    """After ``t`` was changed in place: change what it is a view of, and have all other views of that taken again when they are used."""
    alias = view_of(t)
    changed = [t]
    while alias is not None:
        assert alias.put is not None
        base = alias.base
        base._take_over(alias.put(base, t, **alias.params), "setitem")
        changed.append(base)
        t, alias = base, view_of(base)
    _outdate(t, changed)
    # In NumPy a view lies in the memory of its base, also after a write. Whether a view of the view would be one, too, depends on
    # that: the same numbers, as they lie there.
    for part in reversed(changed[:-1]):
        alias = view_of(part)
        assert alias is not None
        lying = alias.op.run(alias.base._current().value, **alias.params)
        if type(lying) is np.ndarray and lying.ndim:
            part._current().value = lying


def lying_as(old: Any, value: Any) -> Any:
    """The value with its axes in memory in the order of ``old``'s, in whose place it comes: whether a view can be taken of it depends on that."""
    if type(value) is not np.ndarray or type(old) is not np.ndarray or value.strides == old.strides:
        return value
    made = np.empty_like(old, dtype=value.dtype)
    if made.strides == value.strides:
        return value
    made[...] = value
    return frozen(made)


def _outdate(t: Tensor, changed: list[Tensor]) -> None:
    todo = [t]
    while todo:
        own = todo.pop().own
        for ref in () if own is None or own.views is None else own.views:
            v = ref()
            if v is None:
                continue
            found = v._more()
            if found.now is not UNSETTLED and not any(v is c for c in changed):
                assert found.view is not None
                found.view.stale, found.view.before, found.now = True, found.now, UNSETTLED
            todo.append(v)


def taken_again(t: Tensor, alias: View) -> Node:
    """The node of a view whose base was changed since it was taken. A base that is such a view itself comes first: there may be thousands of them, one of the other."""
    waiting = [(t, alias)]
    while (below := view_of(waiting[-1][1].base)) is not None and below.stale:
        waiting.append((waiting[-1][1].base, below))
    for part, its in reversed(waiting):
        node = _again(part, its)
    return node


def _again(t: Tensor, alias: View) -> Node:
    old: Node = t if alias.before is None else alias.before
    with no_grad() if old.params.get("no_grad") else enable_grad():
        node: Node = apply(alias.op, (alias.base,), alias.params)._current()
    if old.rare is not None:
        if old.rare.name is not None:
            node.more().name = old.rare.name
        if old.rare.owner is not None:
            node.more().owner, old.rare.owner = old.rare.owner, None
    alias.stale, alias.before, t._more().now = False, None, node
    return node
