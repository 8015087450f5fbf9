"""How NumPy hands its functions to Tensors: ufuncs and array functions, looked up in the registry. Knows no op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorviz.engine.late import load_all
from tensorviz.engine.node import UNSETTLED, is_tensor, new_uid
from tensorviz.engine.op import ACCUMULATIONS, FUNCTIONS, REDUCTIONS, REGISTRY, UFUNC_METHODS, UFUNCS, apply, frame
from tensorviz.engine.refusals import TOLD, told
from tensorviz.engine.unbroadcast import can_grow
from tensorviz.errors import DTypeError, NoRuleError, ShapeError


def of_ufunc(_: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """``Tensor.__array_ufunc__``."""
    if method == "__call__" and not kwargs:
        op = UFUNCS.get(ufunc)
        if op is not None:
            return op.call.run(frame(1), *inputs)
    try:
        return array_ufunc(ufunc, method, inputs, kwargs)
    except TOLD as error:
        better = told(f"np.{ufunc.__name__}{'' if method == '__call__' else f'.{method}'}", inputs, kwargs, error)
        if better is None:
            raise
        raise better from error


def of_function(_: Any, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG001 - NumPy's protocol
    """``Tensor.__array_function__``: our function of the same signature."""
    ours = FUNCTIONS.get(func)
    try:
        return array_function(func, args, kwargs) if ours is None or "out" in kwargs else ours(*args, **kwargs)
    except TOLD as error:
        better = told(path_of(func), args, kwargs, error)
        if better is None:
            raise
        raise better from error


def array_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``np.tanh(x)``, ``ndarray + x``, ``np.add.reduce(x)``: the op of the same meaning, recorded."""
    out = kwargs.get("out")
    if out is not None and len(out) == 1 and is_tensor(out[0]):
        return _written(out[0], ufunc, method, inputs, {k: v for k, v in kwargs.items() if k != "out"})
    if out is not None and all(o is None or is_tensor(o) for o in out):  # of several results
        results = array_ufunc(ufunc, method, inputs, {k: v for k, v in kwargs.items() if k != "out"})
        return tuple([r if o is None else _received(f"np.{ufunc.__name__}", o, r, None) for o, r in zip(out, results, strict=True)])
    if out is not None:
        raise NoRuleError(
            f"np.{ufunc.__name__} with out= (or an array changed in place by a Tensor, as in `a += x`) cannot be recorded: the array is outside the graph. Write a = a {_sign(ufunc)} x"
        )
    kwargs.pop("out", None)
    if method == "outer" and len(inputs) == 2:
        a, b = (x if hasattr(x, "ndim") else np.asarray(x) for x in inputs)
        return array_ufunc(ufunc, "__call__", (np.reshape(a, (*a.shape, *[1] * b.ndim)), b), kwargs)
    # those that are no op are put together from several, or have several results
    ours = found(ufunc) if method == "__call__" and ufunc not in UFUNCS else None
    if ours is not None and not kwargs:
        return ours(*inputs)
    table: dict[Any, Any] = {"reduce": REDUCTIONS, "accumulate": ACCUMULATIONS}.get(method, {})
    if method in ("reduce", "accumulate") and (ufunc in table or (load_all() and ufunc in table)):
        return table[ufunc](*inputs, **kwargs)
    if method != "__call__" and ufunc in UFUNCS:
        load_all()
        if method in UFUNC_METHODS:
            return UFUNC_METHODS[method](ufunc, *inputs, **kwargs)
    if ours is None and (method != "__call__" or ufunc not in UFUNCS):
        if ufunc.__name__.endswith("(vectorized)"):
            raise NoRuleError(
                f"np.{ufunc.__name__}, made by np.frompyfunc, runs Python code for each element and makes objects, which would drop out of the graph. "
                f"Write the function in NumPy calls, which work on whole arrays, or give it x.numpy() where no gradient is needed"
            )
        raise NoRuleError(_no_rule(f"np.{ufunc.__name__}{'' if method == '__call__' else f'.{method}'}", ufunc.__name__))
    dtype, casting = kwargs.pop("dtype", None), kwargs.pop("casting", "same_kind")
    if kwargs.pop("where", True) is not True:
        raise NoRuleError(
            f"np.{ufunc.__name__} with where= and without out= leaves all other elements to chance. Give out=, a Tensor such as np.zeros_like(x), or select with np.where"
        )
    if kwargs.keys() - _WITHOUT_EFFECT:
        raise NoRuleError(
            f"np.{ufunc.__name__} on a Tensor takes no {', '.join(sorted(kwargs.keys() - _WITHOUT_EFFECT))}=; change the dtype of the operands with astype"
        )
    op = UFUNCS.get(ufunc)
    if dtype is not None and (op is None or op.differentiable):  # of a comparison dtype= is that of the result, which is clear
        inputs = tuple([_cast(ufunc, x, np.dtype(dtype), casting) for x in inputs])
    return apply(op, inputs, {}) if op is not None else FUNCTIONS[ufunc](*inputs)


def _written(out: Any, ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A result put in the place of a Tensor, as ``x *= y`` does."""
    if method == "__call__" and kwargs.get("where", True) is not True:
        return _written_where(out, ufunc, inputs, kwargs)
    op = UFUNCS.get(ufunc) if method == "__call__" else None
    if op is not None:
        out._step_aside(op)
    what = f"np.{ufunc.__name__}{'' if method == '__call__' else f'.{method}'}"
    return _received(what, out, array_ufunc(ufunc, method, inputs, kwargs), op, exact=method not in ("__call__", "outer"))


def _received(what: str, out: Any, found: Any, op: Any, *, exact: bool = False) -> Any:
    """``out`` with a result in its place, as that of ``op`` if it is one; otherwise assigned to all of its elements. ``exact``: it has the result's shape."""
    _fits(what, out, np.shape(found), exact)
    if (
        op is None
        or not is_tensor(found)
        or (found.own is not None and found.own.now is UNSETTLED)
        or found.shape != out.shape
        or (found.requires_grad and out.dtype.kind != "f")
    ):
        out[...] = found
        return out
    return out._receive(found, op.name)


def _fits(what: str, out: Any, shape: tuple[int, ...], exact: bool) -> None:
    """Refuse a Tensor into which NumPy would not write a result of this shape; an assignment would, which does without leading axes of one element."""
    if out.shape != shape and (exact or not can_grow(shape, out.shape)):
        raise ShapeError(
            f"{what}: the result has shape {shape}, which does not fit into the out= of shape {out.shape}; give one of the result's shape, e.g. np.zeros_like(x, shape={shape})"
        )


def _written_where(out: Any, ufunc: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The same where a mask holds. The others are not computed, so that a logarithm of 0 there neither warns nor spoils a gradient."""
    where = kwargs.pop("where")
    chosen = np.asarray(where.numpy() if is_tensor(where) else where)
    if chosen.dtype != bool:
        raise DTypeError(f"np.{ufunc.__name__}: where holds True or False for each element, got dtype {chosen.dtype}")
    _fits(f"np.{ufunc.__name__}", out, np.broadcast_shapes(chosen.shape, *map(np.shape, inputs)), False)
    chosen = np.broadcast_to(chosen, out.shape)
    out[chosen] = ufunc(*[np.broadcast_to(x, out.shape)[chosen] if np.ndim(x) else x for x in inputs], **kwargs)
    return out


_WITHOUT_EFFECT = {"order", "subok"}
"""What a ufunc may be told about the memory and the class of its result, which is a Tensor."""


def _cast(ufunc: Any, x: Any, dtype: np.dtype[Any], casting: Any) -> Any:
    """An operand in the dtype that a ufunc was asked to compute in."""
    if not hasattr(x, "dtype"):
        x = np.asarray(x)
    if x.dtype == dtype:
        return x
    if not np.can_cast(x.dtype, dtype, casting):
        raise DTypeError(f"np.{ufunc.__name__} with dtype={dtype}: casting={casting!r} does not turn an operand of dtype {x.dtype} into it")
    return x.astype(dtype)


def array_function(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``np.sum(x, axis=0)``: our function of the same signature."""
    ours = found(func)
    if ours is None:
        raise NoRuleError(_no_rule(path_of(func), func.__name__))
    if "out" not in kwargs:
        return ours(*args, **kwargs)
    out = kwargs["out"]
    if out is not None and not is_tensor(out):
        return ours(*args, **kwargs)  # which says what it does not write into
    rest = {key: value for key, value in kwargs.items() if key != "out"}
    if out is None:
        return ours(*args, **rest)
    op = REGISTRY.get(func.__name__)
    if op is not None:
        out._step_aside(op)
    before = new_uid()
    result = ours(*args, **rest)
    made = is_tensor(result) and result.own is None and result.uid > before  # and no Tensor that somebody has already
    return _received(path_of(func), out, result, op if made else None, exact=func not in _WRITES_AS_UFUNCS)


_WRITES_AS_UFUNCS = {np.around, np.clip, np.fix, np.isneginf, np.isposinf, np.outer, np.round}
"""Functions that repeat their result in an ``out=`` which is larger."""


def path_of(function: Any) -> str:
    """The name of a function of NumPy as a user writes it."""
    return f"{ {'numpy.linalg': 'np.linalg.', 'numpy.fft': 'np.fft.'}.get(getattr(function, '__module__', ''), 'np.') }{function.__name__}"


def found(function: Any) -> Callable[..., Any] | None:
    """What stands for NumPy's function here, None if nothing does."""
    ours = FUNCTIONS.get(function)
    return FUNCTIONS.get(function) if ours is None and load_all() else ours


def _sign(ufunc: Any) -> str:
    return _SIGNS.get(ufunc.__name__, "(op)")


_SIGNS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "true_divide": "/", "power": "**", "matmul": "@", "floor_divide": "//", "remainder": "%",
    "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
}  # fmt: skip


KIN = {
    "i0": "exp", "spacing": "absolute", "nextafter": "absolute", "left_shift": "multiply", "right_shift": "floor_divide", "gcd": "remainder", "lcm": "multiply",
    "sort_complex": "sort",
}  # fmt: skip
"""Functions without a rule, and one of like meaning that has one; of the others the nearest by name is told."""


_FOURIER = (
    "with a = 2 * np.pi / n * np.outer(np.arange(n), np.arange(n)), the transform of x along its last axis, of length n, has the real part x @ np.cos(a) "
    "and the imaginary part -x @ np.sin(a), and both have gradients"
)
COMPLEX = {
    **dict.fromkeys(
        ("fft", "fft2", "fftn", "hfft", "ifft", "ifft2", "ifftn", "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftn"), _FOURIER
    ),
    "eig": "np.linalg.eigh has a rule for symmetric matrices, and np.linalg.svd for all",
    "eigvals": "np.linalg.eigvalsh has a rule for symmetric matrices, and np.linalg.svd for all",
    "roots": "follow a real root by Newton's method, with np.polyval and np.polyder",
}
"""Functions of complex numbers, and what to do in real ones."""


def _no_rule(what: str, name: str) -> str:
    import difflib

    if name in COMPLEX:
        return (
            f"{what} has no differentiation rule here, since it computes with complex numbers and a Tensor holds real ones, so its result would drop out of the graph: "
            f"{COMPLEX[name]}. Or take x.numpy() where no gradient is needed"
        )

    load_all()
    known = sorted({u.__name__ for u in UFUNCS} | {f.__name__ for f in FUNCTIONS})
    near = [KIN[name]] if KIN.get(name) in known else difflib.get_close_matches(name, known, n=1, cutoff=0.0)
    return (
        f"{what} has no differentiation rule here, so its result would drop out of the graph. The nearest function that has one is {near[0] if near else 'none'}; "
        f"define your own with tv.custom_op, or take x.numpy() where no gradient is needed"
    )
