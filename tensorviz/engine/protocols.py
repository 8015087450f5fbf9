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


KIN = {
    "average": "mean", "copysign": "sign", "corrcoef": "matmul", "cov": "matmul", "float_power": "power", "fmod": "remainder", "heaviside": "where",
    "interp": "where", "ldexp": "exp2", "i0": "exp", "spacing": "absolute", "divmod": "remainder", "modf": "trunc", "nextafter": "absolute",
    "median": "sort", "nanmedian": "sort", "percentile": "sort", "nanpercentile": "sort", "quantile": "sort", "nanquantile": "sort", "unique": "sort",
    "lexsort": "argsort", "ptp": "max", "nanmax": "max", "nanmin": "min", "nanargmax": "argmax", "nanargmin": "argmin", "nanmean": "mean",
    "nansum": "sum", "nanprod": "prod", "nanstd": "std", "nanvar": "var", "nancumsum": "cumsum", "nancumprod": "cumprod",
    "cumulative_sum": "cumsum", "cumulative_prod": "cumprod", "trapezoid": "sum", "ediff1d": "diff", "convolve": "einsum", "correlate": "einsum", "meshgrid": "broadcast_arrays",
    "choose": "where", "select": "where", "piecewise": "where", "compress": "take", "extract": "take", "delete": "take", "insert": "concatenate",
    "block": "concatenate", "unstack": "split", "resize": "reshape", "diagflat": "diag", "matvec": "matmul", "vecmat": "matmul", "matrix_power": "matmul",
    "multi_dot": "matmul", "polyval": "matmul", "vander": "power", "lstsq": "solve", "tensorsolve": "solve", "tensorinv": "inv", "qr": "svd", "eig": "eigh",
    "eigvals": "eigvalsh", "cond": "svd", "matrix_rank": "svd", "logspace": "linspace", "geomspace": "linspace", "unwrap": "diff",
    "put": "where", "putmask": "where", "place": "where", "copyto": "where", "digitize": "searchsorted", "trim_zeros": "take", "apply_along_axis": "stack",
    "apply_over_axes": "sum", "left_shift": "multiply", "right_shift": "floor_divide", "fft": "einsum", "ifft": "einsum", "rfft": "einsum", "irfft": "einsum",
}  # fmt: skip
"""Functions without a rule, and one of like meaning that has one; of the others the nearest by name is told."""


def _no_rule(what: str, name: str) -> str:
    known = sorted({u.__name__ for u in UFUNCS} | {f.__name__ for f in FUNCTIONS})
    near = [KIN[name]] if KIN.get(name) in known else difflib.get_close_matches(name, known, n=1, cutoff=0.0)
    return (
        f"{what} has no differentiation rule here, so its result would drop out of the graph. The nearest function that has one is {near[0] if near else 'none'}; "
        f"define your own with tv.custom_op, or take x.numpy() where no gradient is needed"
    )
