"""How NumPy hands its functions to Tensors: ufuncs and array functions, looked up in the registry. Knows no op."""

from __future__ import annotations

import difflib
from typing import Any

from tensorviz.engine.op import ACCUMULATIONS, FUNCTIONS, REDUCTIONS, UFUNCS, apply
from tensorviz.errors import NoRuleError


def array_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``np.tanh(x)``, ``ndarray + x``, ``np.add.reduce(x)``: the op of the same meaning, recorded."""
    if kwargs.get("out") is not None:
        raise NoRuleError(
            f"np.{ufunc.__name__} with out= (or an array changed in place by a Tensor, as in `a += x`) cannot be recorded: the array is outside the graph. Write a = a {_sign(ufunc)} x"
        )
    kwargs.pop("out", None)
    table: dict[Any, Any] = {"reduce": REDUCTIONS, "accumulate": ACCUMULATIONS}.get(method, {})
    if method in ("reduce", "accumulate") and ufunc in table:
        return table[ufunc](*inputs, **kwargs)
    if method != "__call__" or ufunc not in UFUNCS:
        what = f"np.{ufunc.__name__}" if method == "__call__" else f"np.{ufunc.__name__}.{method}"
        raise NoRuleError(_no_rule(what, ufunc.__name__))
    if kwargs:
        raise NoRuleError(
            f"np.{ufunc.__name__} on a Tensor takes no {', '.join(sorted(kwargs))}=; select with np.where, or change the dtype of the operands with astype"
        )
    return apply(UFUNCS[ufunc], inputs, {})


def array_function(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``np.sum(x, axis=0)``: our function of the same signature."""
    ours = FUNCTIONS.get(func)
    if ours is None:
        path = {"numpy.linalg": "np.linalg.", "numpy.fft": "np.fft."}.get(getattr(func, "__module__", ""), "np.")
        raise NoRuleError(_no_rule(f"{path}{func.__name__}", func.__name__))
    return ours(*args, **kwargs)


def _sign(ufunc: Any) -> str:
    return {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "true_divide": "/", "power": "**", "matmul": "@"}.get(ufunc.__name__, "(op)")


def _no_rule(what: str, name: str) -> str:
    known = sorted({u.__name__ for u in UFUNCS} | {f.__name__ for f in FUNCTIONS})
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
    return (
        f"{what} has no differentiation rule here, so its result would drop out of the graph. The nearest function that has one is {near[0] if near else 'none'}; "
        f"define your own with tv.custom_op, or take x.numpy() where no gradient is needed"
    )
