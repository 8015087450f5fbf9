"""NumPy's statistics put together from recorded ops: averages, quantiles, covariances, and what passes over NaN. Must not import the trace or the views."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorviz.arguments import one_of, shown
from tensorviz.engine.graph import NUMPY_1
from tensorviz.engine.op import REDUCTIONS, expose
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import DTypeError, NoRuleError, OptionError, ShapeError
from tensorviz.ops import options
from tensorviz.ops.axes import count, each, plain
from tensorviz.ops.indexing import index_add
from tensorviz.ops.operands import as_array, asked, floating, of_dtype, plainly, values_of

__all__: list[str] = []


# ---- averages ----------------------------------------------------------------------------------------------------


@expose(numpy=[np.average])
def _average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    """The mean, weighted; ``weights`` has a's shape, or that of the axes averaged over, and gets its gradient too."""
    a, axis = as_array(a), plain(axis)
    if weights is None:
        found = np.mean(a, axis=axis, keepdims=keepdims)
        total: Any = np.full(found.shape, float(count(a.shape, axis)), found.dtype)
    else:
        weights = as_array(weights)
        if weights.shape != a.shape:
            axes = each(axis, a.ndim)
            if axis is None or weights.shape != tuple([a.shape[i] for i in axes]):
                raise ShapeError(f"np.average: weights of shape {weights.shape} fit neither a of shape {a.shape} nor its axes {axis}")
            weights = np.reshape(weights, [a.shape[i] if i in axes else 1 for i in range(a.ndim)])
            weights = np.broadcast_to(weights, a.shape)
        kind = np.result_type(a.dtype, weights.dtype, *[np.float64] * (a.dtype.kind != "f"))
        a, weights = of_dtype(a, kind), of_dtype(weights, kind)
        total = np.sum(weights, axis=axis, keepdims=keepdims)
        found = np.sum(a * weights, axis=axis, keepdims=keepdims) / total
    return (found, total) if returned else found


@expose(numpy=[np.ptp])
def _ptp(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    _, keepdims = options.settled(None, out, keepdims)
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


# ---- quantiles ---------------------------------------------------------------------------------------------------

_BETWEEN = {
    "linear": (1.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "interpolated_inverted_cdf": (0.0, 1.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
"""Methods that run straight from element to element: what NumPy calls alpha and beta, which say how far the ends lie from the first and last (Hyndman, Fan, 1996)."""
_STEPS = ("inverted_cdf", "averaged_inverted_cdf", "closest_observation")
"""Methods that take an element, or the mean of two where the quantile lies on the step between them (Hyndman, Fan, 1996, definitions 1 to 3)."""
_ELEMENTS = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")
"""Methods whose result is an element."""
_METHODS = (*_BETWEEN, *_STEPS, "lower", "higher", "midpoint", "nearest")


def _flattened(a: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """``a`` with the named axes joined into one at the end, and the shape with them at size 1."""
    count(a.shape, axis)  # raises for an axis that is not there
    axes = each(axis, a.ndim)
    kept = tuple([1 if i in axes else n for i, n in enumerate(a.shape)])
    rest = [i for i in range(a.ndim) if i not in axes]
    return np.reshape(np.transpose(a, (*rest, *axes)), (*[a.shape[i] for i in rest], count(a.shape, axes))), kept


def _places(q: Any, n: Any, method: str) -> tuple[Any, Any, Any]:
    """Between which two of ``n`` sorted elements a quantile lies, and how far towards the second: a Tensor if ``q`` is one and that changes with it."""
    if method in _STEPS:
        return _steps(values_of(q), n, method)
    alpha, beta = _BETWEEN.get(method, (1.0, 1.0))
    at = q * (n - 1) if alpha == beta == 1 else np.clip(n * q + (alpha + q * (1 - alpha - beta)) - 1, 0, n - 1)
    if method not in _BETWEEN:
        at = values_of(at)
    below = np.floor(values_of(at))
    part = at - below
    if method == "lower":
        part = np.zeros_like(part)
    elif method == "higher":
        part = np.where(part > 0, 1.0, 0.0)
    elif method == "midpoint":
        part = np.where(part > 0, 0.5, 0.0)
    elif method == "nearest":
        part = np.rint(at) - below
    return below.astype(np.intp), np.minimum(below + 1, np.maximum(n - 1, 0)).astype(np.intp), part


def _steps(q: Any, n: Any, method: str) -> tuple[Any, Any, Any]:
    """The same for the methods that take an element: where the quantile lies between two, the second, and on one of them what the method is named after."""
    at = n * q - (1.5 if method == "closest_observation" else 1)
    first = np.floor(at)
    on = at == first
    if method == "closest_observation":
        on &= first % 2 == (not NUMPY_1)  # the even one of two: NumPy 1 counts from 0, NumPy 2 from 1, as the definition does
    last = np.maximum(n - 1, 0)
    below, above = (np.clip(place, 0, last).astype(np.intp) for place in (first, first + 1))
    return below, above, np.where(on, 0.5 if method == "averaged_inverted_cdf" else 0.0, 1.0)


def _between(low: Any, high: Any, part: Any, kind: Any) -> Any:
    """The point ``part`` (a number of dtype ``kind``) of the way from ``low`` to ``high``; at the ends those themselves, so that an infinite neighbour does not turn them into NaN."""
    way = values_of(part)
    found = low + (high - low) * (part.astype(kind) if isinstance(part, Tensor) else np.asarray(part, kind))
    if isinstance(part, Tensor) and np.isfinite(values_of(found)).all():
        return found
    return np.where(way == 0, low, np.where(way == 1, high, found))


def _weighted_quantile(a: Any, q: Any, axis: Any, weights: Any, method: str, keepdims: bool, *, skip: bool) -> Any:
    """The elements up to which the weights, in the order of the elements, make up the parts ``q``. Which they are is read off the values and the weights: NumPy says it of their ranks."""
    if method != "inverted_cdf":
        raise OptionError(f"{asked()}: weights go with method='inverted_cdf', got {method!r}")
    a, weights = floating(as_array(a)), values_of(weights)
    rows, kept = _flattened(a, plain(axis))
    if weights.shape != a.shape:
        axes = each(plain(axis), a.ndim)
        if axis is None or weights.shape != tuple([a.shape[i] for i in axes]):
            raise ShapeError(f"{asked()}: weights of shape {weights.shape} fit neither a of shape {a.shape} nor its axes {axis}")
        weights = np.broadcast_to(weights.reshape([a.shape[i] if i in axes else 1 for i in range(a.ndim)]), a.shape)
    weights, values = _flattened(weights, plain(axis))[0], values_of(rows)
    order = np.argsort(values, axis=-1, kind="stable")
    ranks = np.empty(order.shape)
    np.put_along_axis(ranks, order, np.broadcast_to(np.arange(order.shape[-1], dtype=float), order.shape), -1)
    spoilt = np.isnan(values)
    missing = spoilt.all(axis=-1) if skip else spoilt.any(axis=-1)
    ranks[spoilt & ~missing[..., None]] = np.nan  # NumPy passes over those, and would warn of rows without another
    of: Any = np.nanquantile if skip else np.quantile
    chosen = of(ranks, values_of(q), axis=-1, method=method, weights=weights)
    places = np.where(missing, -1, chosen).astype(np.intp)  # NaN come last
    found = np.take_along_axis(np.take_along_axis(rows, order, -1), np.moveaxis(np.reshape(places, (-1, *rows.shape[:-1])), 0, -1), -1)
    found = np.moveaxis(found, -1, 0)
    return np.reshape(found, (*q.shape, *(kept if keepdims else rows.shape[:-1])))


def _quantile_of(a: Any, q: Any, axis: Any, out: Any, method: str, keepdims: bool, *, skip: bool, kind: Any = None) -> Any:
    """The quantiles of the elements along the axes; ``skip``: of those that are no NaN, otherwise NaN wherever there is one."""
    _, keepdims = options.settled(None, out, keepdims)
    one_of(asked(), "method", method, _METHODS)
    a = as_array(a)
    if a.dtype.kind != "f":
        a = a.astype(float)
    if q.size and not (values_of(q).min() >= 0 and values_of(q).max() <= 1):
        raise OptionError(f"{asked()}: quantiles lie between 0 and 1 (percentiles between 0 and 100)")
    rows, kept = _flattened(a, plain(axis))
    if not rows.shape[-1]:
        raise ShapeError(f"{asked()} over axis {axis} of shape {a.shape} has no elements; it needs at least one")
    rows = np.sort(rows, axis=-1)  # NaN come last
    missing = np.isnan(values_of(rows))
    n = np.sum(~missing, axis=-1) if skip else np.full(rows.shape[:-1], rows.shape[-1])
    found = []
    for one in np.ravel(q):
        below, above, part = _places(one, values_of(np.maximum(n, 1)), method)
        low, high = (np.take_along_axis(rows, np.expand_dims(i, -1), -1)[..., 0] for i in (below, above))
        between = _between(low, high, part, rows.dtype if kind is None else kind)
        spoilt = n == 0 if skip else missing[..., -1]
        found.append(np.where(spoilt, rows[..., -1], between) if spoilt.any() else between)
    shape = kept if keepdims else rows.shape[:-1]
    return np.reshape(np.stack(found), (*q.shape, *shape)) if q.ndim else np.reshape(found[0], shape)


def _quantile_functions(of: Callable[..., Any], scale: float, *, skip: bool) -> None:
    def _quantile(
        a: Any,
        q: Any,
        axis: Any = None,
        out: Any = None,
        overwrite_input: bool = False,  # noqa: ARG001 - NumPy's signature
        method: str = "linear",
        keepdims: bool = False,
        *,
        weights: Any = None,
    ) -> Any:
        at = _asked_for(q) / scale
        if weights is not None:
            if getattr(weights, "requires_grad", False):
                raise NoRuleError(f"{asked()}: a quantile changes in steps with its weights, which would get no gradient; give weights.numpy()")
            return _weighted_quantile(a, np.asarray(values_of(q)) / scale, axis, weights, method, keepdims, skip=skip)
        kind = None
        if method not in _ELEMENTS and not (isinstance(q, (bool, int, float)) and not isinstance(q, np.float64)):
            # an array or a list of quantiles is as wide as it is, and a number of Python's as narrow as the elements
            wide = q.dtype if getattr(q, "dtype", np.dtype(int)).kind == "f" else np.dtype(float)
            kind = np.promote_types(floating(as_array(a)).dtype, wide)
        return _quantile_of(a, at, axis, out, method, keepdims, skip=skip, kind=kind)

    expose(numpy=[of])(_quantile)


def _asked_for(q: Any) -> Any:
    """Which quantiles, as floating numbers; a Tensor if they are to get a gradient."""
    q = as_array(q)
    values = values_of(q)
    if values.dtype.kind not in "fiub":
        raise DTypeError(f"{asked()}: q holds real numbers, got {shown(q)}")
    return q if getattr(q, "requires_grad", False) else values.astype(float)


_quantile_functions(np.quantile, 1.0, skip=False)
_quantile_functions(np.percentile, 100.0, skip=False)
_quantile_functions(np.nanquantile, 1.0, skip=True)
_quantile_functions(np.nanpercentile, 100.0, skip=True)


@expose(numpy=[np.median])
def _median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:  # noqa: ARG001 - NumPy's signature
    return _quantile_of(a, np.array(0.5), axis, out, "midpoint", keepdims, skip=False)


@expose(numpy=[np.nanmedian])
def _nanmedian(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:  # noqa: ARG001 - NumPy's signature
    return _quantile_of(a, np.array(0.5), axis, out, "midpoint", keepdims, skip=True)


# ---- passing over NaN --------------------------------------------------------------------------------------------


def _without(a: Any, neutral: float) -> tuple[Any, Any]:
    """``a`` with a neutral number in place of NaN, which gets no gradient, and where it was none."""
    a = as_array(a)
    there = ~np.isnan(values_of(a))
    return np.where(there, a, neutral), there


def _both(there: Any, where: Any) -> Any:
    return there if where is True else there & options.mask(where)


@expose(numpy=[np.nansum])
def _nansum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Any:
    return np.sum(_without(a, 0)[0], axis=axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where)


@expose(numpy=[np.nanprod])
def _nanprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Any:
    return np.prod(_without(a, 1)[0], axis=axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where)


@expose(numpy=[np.nancumsum])
def _nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return np.cumsum(_without(a, 0)[0], axis=axis, dtype=dtype, out=out)


@expose(numpy=[np.nancumprod])
def _nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return np.cumprod(_without(a, 1)[0], axis=axis, dtype=dtype, out=out)


@expose(numpy=[np.nanmean])
def _nanmean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True) -> Any:
    kept, there = _without(a, 0)
    return np.mean(kept, axis=axis, dtype=dtype, out=out, keepdims=keepdims, where=_both(there, where))


@expose(numpy=[np.nanvar])
def _nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: bool = False, *, where: Any = True, **further: Any
) -> Any:
    kept, there = _without(a, 0)
    there = _both(there, where)
    found = np.var(kept, axis=axis, dtype=dtype, out=out, ddof=ddof, keepdims=keepdims, where=there, **further)
    return _enough(found, there, axis, ddof, keepdims, **further)


@expose(numpy=[np.nanstd])
def _nanstd(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: bool = False, *, where: Any = True, **further: Any
) -> Any:
    kept, there = _without(a, 0)
    there = _both(there, where)
    found = np.std(kept, axis=axis, dtype=dtype, out=out, ddof=ddof, keepdims=keepdims, where=there, **further)
    return _enough(found, there, axis, ddof, keepdims, **further)


def _enough(found: Any, there: Any, axis: Any, ddof: Any, keepdims: Any, correction: Any = None, **_further: Any) -> Any:
    """NaN in place of what was found in no more elements than ``ddof`` takes off their number."""
    n = np.sum(there, axis=plain(axis), keepdims=bool(keepdims))
    spoilt = n <= (ddof if correction is None else correction)
    return found * np.where(spoilt, np.nan, 1).astype(found.dtype) if np.any(spoilt) else found


def _nan_extreme(reduce: Callable[..., Any], worst: float) -> Callable[..., Any]:
    def extreme(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Any:
        a = as_array(a)
        if a.dtype.kind != "f":
            return reduce(a, axis=axis, out=out, keepdims=keepdims, initial=initial, where=where)
        kept, there = _without(a, worst)
        if initial is None and where is True:
            nothing = np.asarray(~there.any(axis=plain(axis), keepdims=bool(keepdims)))
            found = reduce(kept, axis=axis, out=out, keepdims=keepdims)
            return np.where(nothing, np.nan, found) if nothing.any() else found
        return reduce(kept, axis=axis, out=out, keepdims=keepdims, initial=initial, where=where)

    return extreme


_nanmax, _nanmin = _nan_extreme(np.max, -np.inf), _nan_extreme(np.min, np.inf)
expose(numpy=[np.nanmax])(_nanmax)
expose(numpy=[np.nanmin])(_nanmin)
REDUCTIONS[np.fmax] = lambda a, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=True: _nanmax(  # noqa: ARG005 - a ufunc's signature
    a, axis, out, keepdims, initial, where
)
REDUCTIONS[np.fmin] = lambda a, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=True: _nanmin(  # noqa: ARG005 - a ufunc's signature
    a, axis, out, keepdims, initial, where
)


# ---- counts ------------------------------------------------------------------------------------------------------


@expose(numpy=[np.bincount])
def _bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """How often each whole number occurs; with ``weights``, the sum of those that stand at its places."""
    places = values_of(x)
    if weights is None:
        return np.bincount(places, minlength=minlength)
    weights = as_array(weights)
    counts = np.bincount(places, values_of(weights), minlength)  # raises for what does not fit
    return index_add(weights if weights.dtype == float else weights.astype(float), (places,), counts.shape)


def _histogram(function: Any, place: int) -> None:
    """Counts of values in bins, which are constant; ``place``: where the weights stand among the arguments."""

    def counted(*args: Any, **kwargs: Any) -> Any:
        weights = args[place] if len(args) > place else kwargs.get("weights")
        if weights is not None and getattr(as_array(weights), "requires_grad", False):
            raise NoRuleError(
                f"np.{function.__name__} has no rule for weights that require a gradient, which would be lost; use np.bincount(np.digitize(x, edges), weights)"
            )
        return function(*map(plainly, args), **{key: plainly(x) for key, x in kwargs.items()})

    counted.__name__ = function.__name__
    expose(numpy=[function])(counted)


_histogram(np.histogram, 4)
_histogram(np.histogramdd, 4)
_histogram(np.histogram2d, 5)


# ---- of two series -----------------------------------------------------------------------------------------------


@expose(numpy=[np.cov])
def _cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """The covariances of the rows of ``m`` (and ``y``), float64 or wider unless ``dtype`` says otherwise; differentiable in weights, too."""
    m, y = as_array(m), None if y is None else as_array(y)
    kind = np.result_type(*[series.dtype for series in (m, y) if series is not None], np.float64) if dtype is None else dtype
    x = _variables(of_dtype(m, kind), not rowvar and m.ndim != 1 and (_TURNS_A_ROW or m.shape[0] != 1))
    if not x.shape[0]:
        return np.zeros((0, 0))
    if y is not None:
        x = np.concatenate([x, _variables(of_dtype(y, kind), not rowvar and y.ndim != 1 and y.shape[0] != 1)], axis=0)
    weights = [_observed(name, w, x.shape[1]) for name, w in (("fweights", fweights), ("aweights", aweights)) if w is not None]
    less = (0 if bias else 1) if ddof is None else ddof
    if not weights:
        centred, free = x - np.mean(x, axis=1, keepdims=True), x.shape[1] - less
        return np.squeeze(centred @ centred.T / free if free > 0 else centred @ centred.T * math.inf)
    w = np.prod(np.stack(weights), axis=0)
    total = np.sum(w)
    free = total - less * (1 if aweights is None else np.sum(w * weights[-1]) / total)
    centred = x - np.average(x, axis=1, weights=w)[:, None]
    return np.squeeze((centred * w) @ centred.T * (1 / free if free > 0 else math.inf))


_TURNS_A_ROW = np.lib.NumpyVersion(np.__version__) >= "2.2.0"
"""Before, ``np.cov`` took a matrix of one row for a variable whatever ``rowvar`` said."""


def _variables(series: Any, turned: bool) -> Any:
    """A matrix with a variable in each row."""
    if series.ndim > 2:
        raise ShapeError(f"{asked()} takes vectors and matrices, got shape {series.shape}")
    return series.T if turned else np.atleast_2d(series)


def _observed(name: str, given: Any, n: int) -> Any:
    """The weights of observations."""
    w = as_array(given)
    if w.shape != (n,) or np.any(values_of(w) < 0) or (name == "fweights" and np.any(values_of(w) % 1)):
        raise OptionError(f"{asked()}: {name} holds {n} {'whole ' if name == 'fweights' else ''}numbers, none of them negative, got {shown(given)}")
    return of_dtype(w, float)


@expose(numpy=[np.corrcoef])
def _corrcoef(x: Any, y: Any = None, rowvar: bool = True, *further: Any, dtype: Any = None) -> Any:  # noqa: ARG001 - NumPy's signature
    c = _cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    size = np.sqrt(np.diagonal(c))
    return c / size[:, None] / size[None, :]


def _trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral under straight lines between points; differentiable in the heights and in the places."""
    y = as_array(y)
    along: Any = plain(axis)  # of the places, which may have more axes than the heights
    axis = each(along, y.ndim)[0]
    lead = (slice(None),) * axis
    if x is not None:
        x = as_array(x)
        dx = np.diff(x, axis=0 if x.ndim == 1 else along)
        if x.ndim == 1:
            dx = np.reshape(dx, (-1,) + (1,) * (y.ndim - 1 - axis))
    return np.sum(dx * (y[(*lead, slice(1, None))] + y[(*lead, slice(None, -1))]) / 2, axis=along)


for _name in ("trapezoid", "trapz"):
    if hasattr(np, _name) and not (_name == "trapz" and hasattr(np, "trapezoid")):
        expose(numpy=[getattr(np, _name)])(_trapezoid)


@expose(numpy=[np.convolve])
def _convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """Every sum of products of ``a`` with the reversed ``v`` slid along it."""
    one_of("np.convolve", "mode", mode, ("full", "same", "valid"))
    a, v = np.atleast_1d(as_array(a)), np.atleast_1d(as_array(v))
    if a.ndim != 1 or v.ndim != 1 or not a.size or not v.size:
        raise ShapeError(f"np.convolve takes two vectors that are not empty, got shapes {a.shape} and {v.shape}")
    if v.size > a.size:
        a, v = v, a
    k = v.size
    border = {"full": (k - 1, k - 1), "same": (k // 2, (k - 1) // 2), "valid": (0, 0)}[mode]
    wide = np.pad(a, border)
    return wide[np.arange(wide.size - k + 1)[:, None] + np.arange(k)] @ v[::-1]


@expose(numpy=[np.correlate])
def _correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    a, v = as_array(a), as_array(v)
    if v.size > a.size:  # NumPy slides the shorter one, whichever it is
        return _correlate(v, a, mode)[::-1]
    return _convolve(a, v[::-1], mode)
