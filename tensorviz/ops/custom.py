"""Ops that users define from two functions. Imports the engine only."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tensorviz.arguments import shown
from tensorviz.engine import trees
from tensorviz.engine.graph import user_frame
from tensorviz.engine.node import Node, new_uid
from tensorviz.engine.op import REGISTRY, Op, register
from tensorviz.engine.tensor import Tensor, tensor
from tensorviz.engine.unbroadcast import can_grow
from tensorviz.errors import OpDefinitionError, ReadOnlyError, RuleError

__all__ = ["custom_op"]


class CustomOp(Op, abstract=True):
    """An op made by :func:`custom_op`; its rule gets the gradient and all operands."""

    word = "applies its own rule"
    user_vjp: Callable[..., Any]
    foreign = True
    since: int
    """Drawn from the numbers of nodes when the op was defined: nodes with greater ones were made by this definition, not by an earlier one."""


def custom_op(name: str, forward: Callable[..., Any], vjp: Callable[..., Any], *, broadcasts: bool = False) -> Callable[..., Any]:
    """An op of your own, recorded, drawn, stepped through and checked like any other.

    ``forward(*arrays, **params)`` returns an array. ``vjp(g, *arrays, **params)`` gets the gradient of the result and returns a tuple with
    one gradient per operand, in that operand's shape, or None where there is none. With ``broadcasts=True`` it may return the result's
    shape instead, and the engine sums the axes that the operand grew. A gradient of another shape raises RuntimeError when it is pulled,
    naming op, slot, shape got and shape expected. Write ``vjp`` in NumPy calls on what it is given: then gradients of gradients work as well.
    What ``forward`` keeps for it elsewhere, as in a list, is a constant there, and ``tv.gradcheck(tv.grad(f), x)`` tells where that makes a difference.
    Both functions get arrays that cannot be written to; what they return is copied.

    Operands are given by position, parameters by keyword. A name that is a built-in op's, or no identifier, raises TypeError;
    defining a custom op of the same name again replaces it, so that a notebook's cell can be run twice.

    >>> cube = custom_op("cube", lambda a: a**3, lambda g, a: (3 * a**2 * g,))
    >>> cube(np.array([1.0, 2.0]))
    array([1., 8.])
    """
    if not isinstance(name, str):
        raise OpDefinitionError(f"custom_op: name is a string, got {shown(name)}")
    if not name.isidentifier():
        raise OpDefinitionError(f"op {shown(name)}: needs a name that is a Python identifier")
    known = REGISTRY.get(name)
    if known is not None and not isinstance(known, CustomOp):
        raise OpDefinitionError(f"custom_op: {name!r} is the name of a built-in op; choose another")
    for what, function in (("forward", forward), ("vjp", vjp)):
        if not callable(function):
            raise OpDefinitionError(f"custom_op {name!r}: {what} must be a function, got {type(function).__name__}")
    slots = _slots(forward)
    text = f"vjp(g{''.join(', ' + s.lstrip('*') for s in slots)})"
    body = {
        "__doc__": inspect.getdoc(forward) or f"The custom op {name}.",
        "name": name,
        "slots": slots,
        "forward": staticmethod(_as_result(name, forward)),
        "joint": staticmethod(_placeholder),  # replaced below: the user's rule takes parameters that are not known here
        "formulas": (text,) if slots[0][0] == "*" else tuple(text for _ in slots),
        "broadcasts": broadcasts,
        "user_vjp": staticmethod(vjp),
        "saves": slots,
    }
    made = type(f"Custom_{name}", (CustomOp,), body, abstract=True)()
    if known is not None:
        del REGISTRY[name]
    try:
        register(made)
    except OpDefinitionError:
        if known is not None:
            REGISTRY[name] = known
        raise
    made._reads = (("inputs",),)
    made.since = new_uid()
    made.pull = _pull(made, vjp)
    made.pull_recorded = _pull_recorded(made, vjp)

    def run(*operands: Any, **params: Any) -> Any:
        return made(*operands, **{key: _kept(name, key, value) for key, value in params.items()} if params else {})

    run.__name__ = run.__qualname__ = name
    run.__doc__ = made.__doc__
    return run


def _placeholder(g: Any, need: Any) -> Any:
    raise NotImplementedError


def _slots(forward: Callable[..., Any]) -> tuple[str, ...]:
    """The operands' names: forward's parameters without a default, or one name for all where it takes any number."""
    try:
        parameters = inspect.signature(forward).parameters.values()
    except (TypeError, ValueError):
        return ("*operands",)
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty]
    many = any(p.kind is p.VAR_POSITIONAL or (p.kind is not p.KEYWORD_ONLY and p.default is not p.empty) for p in parameters)
    return tuple(names) if names and not many else ("*operands",)


def _kept(name: str, key: str, value: Any) -> Any:
    """A parameter as the record keeps it: arrays copied, since the user may still write to them, also inside lists, tuples and dicts."""
    if getattr(value, "requires_grad", False):
        raise RuleError(f"custom op {name!r}: the parameter {key} is a Tensor that requires a gradient, which would be lost; pass it as an operand")
    if isinstance(value, Tensor):
        return value.numpy()
    if isinstance(value, np.ndarray):
        kept = np.array(value, subok=True)
        kept.flags.writeable = False
        return kept
    if isinstance(value, (list, tuple, dict)):
        return trees.changed(lambda part: _kept(name, key, part), value)
    return value


def _as_result(name: str, forward: Callable[..., Any]) -> Callable[..., Any]:
    """The user's function, with its result as an array of the record's own: the user may still write to what was returned."""

    def run(*operands: Any, **params: Any) -> Any:
        try:
            result = _called(f"the forward function of the custom op {name!r}", forward, [*map(_read_only, operands)], params)
        except Exception as error:
            shapes = ", ".join(str(np.shape(x)) for x in operands)
            frame = user_frame(1)
            where = f" at {frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""
            error.add_note(f"raised by the forward function of the custom op {name!r}, called{where} with operands of shape {shapes or 'none'}")
            raise
        if getattr(result, "requires_grad", False):
            raise RuleError(
                f"custom op {name!r}: forward returned a Tensor that requires a gradient, which would be lost; compute on the arrays that it is given"
            )
        if isinstance(result, tuple):
            raise RuleError(f"custom op {name!r}: forward returned a tuple of {len(result)}, expected one array; an op has one result")
        if isinstance(result, np.generic):
            value: Any = result
        else:
            try:
                value = np.array(result)
            except (ValueError, TypeError) as error:
                raise RuleError(f"custom op {name!r}: forward returned {shown(result)}, expected an array of real numbers ({error})") from error
        if value.dtype.kind not in "fiub":
            raise RuleError(f"custom op {name!r}: forward returned {shown(result)}, expected an array of real numbers (its dtype is {value.dtype})")
        return value

    return run


def _called(what: str, f: Callable[..., Any], given: Sequence[Any], params: Mapping[str, Any]) -> Any:
    """What the user's function returns; what it must not do with its arguments is said in words, and not in NumPy's."""
    try:
        return f(*given, **params)
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        raise ReadOnlyError(
            f"{what} writes into an array that it was given, which is read-only, since other nodes and the record hold it, too; write into a copy of it"
        ) from error
    except TypeError as error:
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:  # raised inside, and no matter of the call
            raise
        named = "".join(f", {key}=" for key in params)
        raise OpDefinitionError(
            f"{what} was called with {len(given)} array{'' if len(given) == 1 else 's'}{named}, and that fails: {error}"
        ) from error


def _read_only(x: Any) -> Any:
    """An array as the user's functions get it: other nodes and the record hold the same one, so whoever writes into it must fail."""
    if isinstance(x, np.ndarray):
        x = x.view()
        x.flags.writeable = False
    return x


def _pull(op: Op, vjp: Callable[..., Any]) -> Callable[[Node, Any], tuple[Any, ...]]:
    def pull(node: Node, g: Any) -> tuple[Any, ...]:
        given = [_read_only(g), *(_read_only(n.value) for n in node.inputs)]
        return _shares(op, node, _called(f"the backward rule of {op.name}", vjp, given, node.params))

    return pull


def _pull_recorded(op: Op, vjp: Callable[..., Any]) -> Callable[[Node, Any, Callable[[Node], Any], tuple[Any, ...]], tuple[Any, ...]]:
    def pull_recorded(node: Node, g: Any, wrap: Callable[[Node], Any], _extras: tuple[Any, ...]) -> tuple[Any, ...]:
        g = g if isinstance(g, Tensor) else tensor(g)  # so that a rule may write into a copy of it
        return _shares(op, node, vjp(g, *(wrap(n) for n in node.inputs), **node.params))

    return pull_recorded


def _shares(op: Op, node: Node, returned: Any) -> tuple[Any, ...]:
    """What the user's rule returned, one share per slot, or the error that says what is wrong with it."""
    count = len(node.inputs)
    if returned is None:
        raise RuleError(
            f"the backward rule of {op.name} returned None, expected a tuple with one gradient (or None) per operand; does it lack a return?"
        )
    if not isinstance(returned, (tuple, list)):
        if count > 1:
            raise RuleError(
                f"the backward rule of {op.name} returned one {type(returned).__name__}, expected a tuple of {count}, one gradient (or None) per operand"
            )
        returned = (returned,)
    if len(returned) != count:
        raise RuleError(f"the backward rule of {op.name} returned {len(returned)} gradient(s), expected {count}, one (or None) per operand")
    shares: list[Any] = []
    for slot, (share, inp) in enumerate(zip(returned, node.inputs, strict=True)):
        if share is None or not inp.needs_grad:
            shares.append(None)
            continue
        share = share if hasattr(share, "shape") else _as_share(op, slot, share)
        if isinstance(share, np.ndarray):
            share = np.array(share)  # the user may write to it again: a rule may hand out one buffer at every call
        expected = inp.value.shape
        if share.shape != expected and not (op.broadcasts and can_grow(expected, share.shape)):
            hint = "" if op.broadcasts else "; sum the axes that it was broadcast along, or pass broadcasts=True and let the engine do it"
            raise RuleError(
                f"the backward rule of {op.name} returned for slot {slot} ({op.slot_name(slot)}) a gradient of shape {share.shape}, expected {expected}, the operand's shape{hint}"
            )
        shares.append(share)
    return tuple(shares)


def _as_share(op: Op, slot: int, share: Any) -> Any:
    try:
        array = np.asarray(share)
    except (ValueError, TypeError):
        array = np.asarray(None)
    if array.dtype.kind not in "fiub":
        raise RuleError(
            f"the backward rule of {op.name} returned for slot {slot} ({op.slot_name(slot)}) {shown(share)}, expected an array of real numbers, or None"
        )
    return array
