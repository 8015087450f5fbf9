"""Cases of functions that are put together from recorded ops: statistics, choices, assembly, products of matrices, and the further arguments of reductions."""

from __future__ import annotations

from .case import NUMPY_2, Case, Make, apart, normal, of, off_zero, positive, regular, whole

CASES: list[Case] = []


def _of(function: str, *lines: tuple[str, str | None] | str, **makers: Make) -> None:
    """Without autograd, which has none of them."""
    CASES.extend(of(function, *[(line, None, None) if isinstance(line, str) else (*line, None) for line in lines], **makers))


# ---- further arguments of reductions ----------------------------------------------------------------------------

SOME = whole([[True, False, True, True], [True, True, False, False], [False, True, True, True]], dtype=bool)
_of("np.sum", "np.sum(a, axis=0, where=m)", "np.sum(a, initial=2.0, where=m, keepdims=True)", a=normal(3, 4), m=SOME)
_of("np.sum", ("np.sum(a, 0, None, None, True)", "a.sum(0, keepdim=True)"), a=normal(3, 4))
_of("np.add.reduce", "np.add.reduce(a, 1, None, None, True)", "np.add.reduce(a, axis=0, initial=1.0, where=m)", a=normal(3, 4), m=SOME)
_of("np.mean", "np.mean(a, axis=0, where=m)", "np.mean(a, where=m, keepdims=True)", a=normal(3, 4), m=SOME)
_of("np.prod", "np.prod(a, axis=1, where=m, initial=2.0)", a=positive(3, 4), m=SOME)
_of("np.max", "np.max(a, axis=0, where=m, initial=-9.0)", "np.max(a, initial=0.5)", ("np.max(a[:0], initial=1.0)", None), a=apart(3, 4), m=SOME)
_of("np.min", "np.min(a, axis=1, where=m, initial=9.0)", "np.min(a, axis=1, initial=0.0, keepdims=True)", a=apart(3, 4), m=SOME)
_of("np.var", "np.var(a, axis=0, where=m)", "np.var(a, axis=1, where=m, ddof=1, keepdims=True)", a=normal(3, 4), m=SOME)
_of("np.std", "np.std(a, axis=1, where=m)", a=normal(3, 4), m=SOME)
if NUMPY_2:
    _of("np.var", ("np.var(a, axis=0, correction=1)", "a.var(0)"), "np.var(a, axis=0, mean=np.mean(a, axis=0, keepdims=True))", a=normal(3, 4))
_of(
    "np.logaddexp.reduce",
    ("np.logaddexp.reduce(a)", "torch.logsumexp(a, 0)"),
    ("np.logaddexp.reduce(a, axis=1)", "torch.logsumexp(a, 1)"),
    a=normal(3, 4),
)
_of("np.fmax.reduce", ("np.fmax.reduce(a, axis=1)", "torch.amax(a, 1)"), ("np.fmin.reduce(a)", "torch.amin(a, 0)"), a=apart(3, 4))
_of("np.maximum.accumulate", ("np.maximum.accumulate(a)", "torch.cummax(a, 0).values"), a=apart(3, 4))
_of("np.minimum.accumulate", ("np.minimum.accumulate(a, axis=1)", "torch.cummin(a, 1).values"), a=apart(3, 4))
_of("np.add.accumulate", ("np.add.accumulate(a, 1)", "torch.cumsum(a, 1)"), a=normal(3, 4))
_of(
    "np.add.outer",
    ("np.add.outer(a, b)", "a[:, :, None] + b"),
    ("np.multiply.outer(a, b)", "a[:, :, None] * b"),
    "np.subtract.outer(2.0, a)",
    a=normal(2, 3),
    b=normal(2),
)

# ---- statistics --------------------------------------------------------------------------------------------------

_of("np.average", ("np.average(a)", "a.mean()"), "np.average(a, axis=1)", a=normal(3, 4))
_of("np.average", ("np.average(a, axis=1, weights=b)", "(a * b).sum(1) / b.sum()"), a=normal(3, 4), b=positive(4))
_of(
    "np.average",
    "np.average(a, axis=0, weights=b, keepdims=True)",
    "np.average(a, weights=b, returned=True)[1] + 0.0 * np.sum(a)",
    a=normal(3, 4),
    b=positive(3, 4),
)
_of("np.ptp", ("np.ptp(a, axis=1)", "torch.amax(a, 1) - torch.amin(a, 1)"), "np.ptp(a, keepdims=True)", a=apart(3, 4))
_of("np.median", ("np.median(a)", "torch.quantile(a, 0.5)"), "np.median(a, axis=0)", "np.median(a, axis=(0, 1), keepdims=True)", a=apart(3, 4))
_of("np.percentile", ("np.percentile(a, 30)", "torch.quantile(a, 0.3)"), "np.percentile(a, [10, 50, 100], axis=1)", a=apart(3, 4))
for _method in ("linear", "lower", "higher", "midpoint", "nearest"):
    _theirs = f"torch.quantile(a, 0.3, dim=0, keepdim=True, interpolation='{_method}')"
    _of("np.quantile", (f"np.quantile(a, 0.3, axis=0, keepdims=True, method='{_method}')", _theirs), a=apart(3, 4))
_of("np.nansum", ("np.nansum(a, axis=0)", "torch.nansum(a, 0)"), a=normal(3, 4))
_of("np.nanmean", ("np.nanmean(a)", "torch.nanmean(a)"), "np.nanmean(a, axis=0, where=m)", a=normal(3, 4), m=SOME)
_of("np.nanmedian", "np.nanmedian(a, axis=0)", "np.nanquantile(a, 0.3, axis=1)", "np.nanpercentile(a, [30, 60])", a=apart(3, 4))
_of("np.nanstd", "np.nanstd(a, axis=1)", "np.nanvar(a, ddof=1)", "np.nanprod(a)", "np.nancumsum(a, axis=0)", "np.nancumprod(a)", a=positive(3, 4))
_of("np.nanmax", "np.nanmax(a, axis=0)", "np.nanmin(a, axis=1, keepdims=True)", a=apart(3, 4))
_of("np.cov", ("np.cov(a)", "torch.cov(a)"), "np.cov(a, rowvar=False)", "np.cov(a[0])", "np.cov(a, a[:1] * 2.0, bias=True)", a=normal(3, 4))
_of("np.corrcoef", ("np.corrcoef(a)", "torch.corrcoef(a)"), "np.corrcoef(a[0], a[1])", a=normal(3, 4))
if NUMPY_2:
    _of("np.trapezoid", ("np.trapezoid(a)", "torch.trapezoid(a)"), "np.trapezoid(a, dx=0.3, axis=0)", "np.trapezoid(a[0], a[1])", a=normal(3, 4))
    _of("np.trapezoid", ("np.trapezoid(a, b)", "torch.trapezoid(a, b)"), a=normal(3, 4), b=normal(4))
for _mode in ("full", "same", "valid"):
    _of("np.convolve", f"np.convolve(a, b, '{_mode}')", f"np.convolve(b, a, '{_mode}')", a=normal(5), b=normal(2))
    _of("np.correlate", f"np.correlate(a, b, '{_mode}')", f"np.correlate(b, a, '{_mode}')", a=normal(5), b=normal(2))

# ---- choices -----------------------------------------------------------------------------------------------------

_of("np.select", ("np.select([a > 0.5, a > 0], [a * 2.0, a * a], a)", "torch.where(a > 0.5, a * 2, torch.where(a > 0, a * a, a))"), a=off_zero(3, 4))
_of("np.choose", "np.choose(i, [a, b])", "np.choose(i, [a, 2.0], mode='wrap')", a=normal(3), b=normal(2, 3), i=whole(0, 1, 0))
_of("np.piecewise", "np.piecewise(a, [a < 0, a > 1], [np.negative, np.square, np.exp])", "np.piecewise(a, [a > 0], [np.sqrt])", a=off_zero(3, 4))
_of("np.interp", "np.interp(a, b, c)", "np.interp(a, b, c, left=-3.0, right=7.0)", a=apart(4), b=lambda rng: apart(3)(rng).cumsum() ** 2, c=normal(3))
_of("np.heaviside", "np.heaviside(a, 0.5)", "np.heaviside(a * 0.0, b)", a=off_zero(3), b=normal(3))
_of("np.copysign", ("np.copysign(a, b) + 0.0 * b", "torch.copysign(a, b) + 0.0 * b"), "np.copysign(2.0, a) * a", a=off_zero(3), b=off_zero(2, 3))
_of("np.fmod", ("np.fmod(a, 0.3)", "torch.fmod(a, 0.3)"), "np.fmod(2.7, a)", a=positive(3))
_of("np.divmod", ("np.divmod(a, 0.3)[1]", "torch.remainder(a, 0.3)"), "divmod(a, 0.3)[0]", "divmod(0.7, a)[1]", a=positive(3))
_of("np.modf", "np.modf(a)[0]", "np.modf(a)[1]", "np.frexp(a)[0]", "np.ldexp(a, i)", "np.float_power(a, 1.5)", a=positive(3), i=whole(1, -2, 3))

# ---- assembly ----------------------------------------------------------------------------------------------------

_of("np.delete", "np.delete(a, 1)", "np.delete(a, [0, 2], axis=1)", "np.delete(a, slice(0, 2), 0)", a=normal(3, 4))
_of("np.insert", "np.insert(a, 1, 9.0)", "np.insert(a, [1, 3], [7.0, 8.0], axis=1)", "np.insert(a, 1, a[:, 0], axis=1)", a=normal(3, 4))
_of(
    "np.insert",
    "np.insert(a, [1], [[1.0], [2.0], [3.0]], axis=1)",
    "np.insert(a[0], [1, 1, 3], a[1][:3])",
    "np.insert(a, 2, a[0], axis=0)",
    a=normal(3, 4),
)
_of("np.resize", "np.resize(a, (2, 9))", "np.resize(a, 5)", a=normal(3, 4))
_of("np.compress", "np.compress([True, False, True], a, axis=0)", "np.compress([1, 0, 1], a)", "np.extract(a > 0, a)", a=off_zero(3, 4))
_of("np.trim_zeros", "np.trim_zeros(np.concatenate([[0.0, 0.0], a, [0.0]]))", "np.trim_zeros(np.concatenate([a, [0.0]]), 'b')", a=off_zero(3))
_of("np.block", "np.block([[a, a * 2.0], [a * 3.0, a * 4.0]])", "np.block([a[0], a[1]])", "np.block([[a], [a[0]]])", a=normal(3, 4))
_of(
    "np.meshgrid",
    ("np.meshgrid(a, b)[0] * b[:, None]", "torch.meshgrid(a, b, indexing='xy')[0] * b[:, None]"),
    "np.multiply(*np.meshgrid(a, b, indexing='ij', sparse=True))",
    a=normal(3),
    b=normal(2),
)
_of("np.diagflat", ("np.diagflat(a, 1)", "torch.diagflat(a, 1)"), a=normal(2, 2))
_of("np.ediff1d", ("np.ediff1d(a)", "torch.diff(a.reshape(-1))"), "np.ediff1d(a, to_begin=[1.0, 2.0], to_end=9.0)", a=normal(2, 3))
_of("np.vander", "np.vander(a)", "np.vander(a, 4, increasing=True)", a=positive(3))
_of("np.polyval", "np.polyval(b, a)", "np.polyval([1.0, 2.0, 3.0], a)", a=normal(2, 2), b=normal(3))
_of(
    "np.logspace",
    "np.logspace(a, 2.0, 5)",
    "np.geomspace(np.exp(a), 3.0, 4)",
    "np.geomspace(-np.exp(a), -np.exp(a * 0.5 + 2.0), 4, axis=1)",
    a=normal(3),
)
_of("np.unwrap", "np.unwrap(a * 5.0)", "np.unwrap(a * 5.0, axis=0)", a=apart(3, 4))
_of(
    "np.apply_along_axis",
    "np.apply_along_axis(np.sum, 1, a)",
    "np.apply_along_axis(np.diff, 0, a)",
    "np.apply_along_axis(np.diagflat, 0, a)",
    a=normal(3, 4),
)
_of("np.apply_over_axes", "np.apply_over_axes(np.sum, a, [0, 1])", a=normal(3, 4))
if NUMPY_2:
    _of("np.cumulative_sum", "np.cumulative_sum(a, axis=1, include_initial=True)", "np.cumulative_prod(a, axis=0)", a=positive(3, 4))
    _of("np.unstack", ("np.unstack(a, axis=1)[2]", "torch.unbind(a, 1)[2]"), a=normal(3, 4))

# ---- products of matrices ----------------------------------------------------------------------------------------

_of(
    "np.linalg.matrix_power",
    ("np.linalg.matrix_power(a, 3)", "torch.linalg.matrix_power(a, 3)"),
    ("np.linalg.matrix_power(a, -2)", "torch.linalg.matrix_power(a, -2)"),
    ("np.linalg.matrix_power(a, 0)", None),
    a=regular(3, 3),
)
_of("np.linalg.multi_dot", ("np.linalg.multi_dot([a, b, c])", "torch.linalg.multi_dot([a, b, c])"), a=normal(2, 3), b=normal(3, 4), c=normal(4))
for _order in ("'fro'", "'nuc'", "1", "-1", "2", "-2", "np.inf", "-np.inf"):
    _torch = _order.replace("np.inf", "float('inf')")
    _of(
        "np.linalg.norm",
        (f"np.linalg.norm(a, {_order})", f"torch.linalg.norm(a, {_torch})"),
        (f"np.linalg.norm(a, {_order}, axis=(1, 0), keepdims=True)", f"torch.linalg.norm(a, {_torch}, dim=(1, 0), keepdim=True)"),
        a=regular(3, 4),
    )
    _of("np.linalg.norm", (f"np.linalg.norm(a, {_order}, axis=(2, 0))", f"torch.linalg.norm(a, {_torch}, dim=(2, 0))"), a=apart(2, 2, 3))
_of("np.linalg.cond", ("np.linalg.cond(a)", "torch.linalg.cond(a)"), ("np.linalg.cond(a, -2)", "torch.linalg.cond(a, -2)"), a=regular(3, 4))
_of(
    "np.linalg.cond",
    "np.linalg.cond(a, 1)",
    "np.linalg.cond(a, 'fro')",
    a=regular(3, 3),
)
_of(
    "np.linalg.lstsq",
    ("np.linalg.lstsq(a, b, None)[0]", "torch.linalg.lstsq(a, b[:, None]).solution[:, 0]"),
    "np.linalg.lstsq(a, b, None)[1]",
    "np.linalg.lstsq(a, b, None)[3] * b[:3]",
    a=regular(4, 3),
    b=normal(4),
)
_of(
    "np.linalg.tensorinv",
    "np.linalg.tensorinv(a, 1)",
    ("np.linalg.tensorsolve(a, b)", "torch.linalg.tensorsolve(a, b)"),
    a=regular(3, 3),
    b=normal(3),
)
if NUMPY_2:
    _of("np.linalg.vector_norm", "np.linalg.vector_norm(a, axis=(0, 2), keepdims=True, ord=1)", "np.linalg.vector_norm(a)", a=off_zero(2, 2, 3))
    _of("np.linalg.matrix_norm", "np.linalg.matrix_norm(a)", "np.linalg.matrix_norm(a, ord='nuc', keepdims=True)", a=regular(2, 3, 4))
    _of("np.linalg.vecdot", ("np.linalg.vecdot(a, b, axis=0)", "torch.linalg.vecdot(a, b, dim=0)"), a=normal(3, 4), b=normal(3, 4))
