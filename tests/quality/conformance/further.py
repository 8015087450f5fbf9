"""Cases of what is written less often: computed borders, methods of ufuncs, masks of ufuncs, polynomials, sets, windows, orders in memory."""

from __future__ import annotations

from .case import Case, Make, apart, normal, of, positive, regular, whole

CASES: list[Case] = []


def _of(function: str, *lines: tuple[str, str | None] | str, **makers: Make) -> None:
    """Without autograd, which has none of them."""
    CASES.extend(of(function, *[(line, None, None) if isinstance(line, str) else (*line, None) for line in lines], **makers))


# ---- borders that are computed -----------------------------------------------------------------------------------

_of(
    "np.pad",
    *(f"np.pad(a, ((1, 2), (2, 1)), '{mode}')" for mode in ("maximum", "mean", "median", "minimum", "linear_ramp")),
    "np.pad(a, 1, 'mean', stat_length=2)",
    "np.pad(a, ((1, 1), (0, 2)), 'maximum', stat_length=((1, 2), (2, 3)))",
    "np.pad(a, (2, 1), 'linear_ramp', end_values=((1, 2), (3, 4)))",
    "np.pad(a, (2, 1), 'linear_ramp', end_values=b)",
    *(f"np.pad(a, (5, 9), '{mode}', reflect_type='odd')" for mode in ("reflect", "symmetric")),
    *(f"np.pad(a, (7, 9), '{mode}')" for mode in ("reflect", "symmetric", "wrap")),
    a=apart(3, 4),
    b=normal(2),
)

for method in ("inverted_cdf", "averaged_inverted_cdf", "closest_observation"):
    _of("np.quantile", f"np.quantile(a, [0.3, 0.6], axis=1, method='{method}')", a=apart(3, 4))
_of("np.emath.sqrt", "np.emath.sqrt(a)", "np.emath.power(a, b)", "np.emath.logn(2, a)", a=positive(3), b=positive(3))

# ---- methods of ufuncs -------------------------------------------------------------------------------------------

PLACES = whole(0, 2, 0, 1, 0)
_of(
    "np.add.at",
    ("called(np.add.at, a, i, b)", "a.index_add(0, i, b)"),
    ("called(np.subtract.at, a, i, b)", "a.index_add(0, i, b, alpha=-1)"),
    a=normal(4, 2),
    b=normal(5, 2),
    i=PLACES,
)
_of("np.add.at", "called(np.add.at, a, (slice(None), i), b)", a=normal(2, 4), b=normal(5), i=PLACES)
_of(
    "np.multiply.at",
    ("called(np.multiply.at, a, i, b)", "a.scatter_reduce(0, i, b, 'prod')"),
    ("called(np.maximum.at, a, i, b)", "a.scatter_reduce(0, i, b, 'amax')"),
    "called(np.divide.at, a, i, b)",
    "called(np.negative.at, a, i)",
    a=positive(4),
    b=apart(5),
    i=PLACES,
)
_of(
    "np.add.reduceat",
    "np.add.reduceat(a, [0, 2, 1])",
    "np.add.reduceat(a, [0, 3], axis=1)",
    "np.multiply.reduceat(a, [1, 0], axis=1)",
    a=positive(3, 4),
)
_of(
    "np.subtract.reduce",
    ("np.subtract.reduce(a)", "2 * a[0] - a.sum(0)"),
    "np.divide.reduce(a, axis=1, keepdims=True)",
    ("np.hypot.reduce(a, axis=1)", "torch.linalg.vector_norm(a, dim=1)"),
    "np.subtract.accumulate(a, axis=1)",
    ("np.logaddexp.accumulate(a)", "torch.logcumsumexp(a, 0)"),
    a=positive(3, 4),
)
SOME = whole([[True, False, True], [False, True, True]], dtype=bool)
_of(
    "np.log, where=",
    ("np.log(a, out=np.zeros_like(a), where=m)", "torch.where(m, torch.log(a), 0.0)"),
    ("np.divide(a, b, out=np.ones_like(a), where=m)", "torch.where(m, a / b, 1.0)"),
    ("np.multiply(2.0, a, out=a * 1.0, where=m[:, :1])", "torch.where(m[:, :1], 2 * a, a)"),
    a=positive(2, 3),
    b=positive(3),
    m=SOME,
)

# ---- polynomials and sets ----------------------------------------------------------------------------------------

_of(
    "np.polyfit",
    "np.polyfit(a, b, 2)",
    "np.polyfit(a, b, 1, w=w)",
    "np.polyfit(a, b, 1, cov=True)",
    "np.polyfit(a, c, 1, cov='unscaled')",
    a=apart(6),
    b=normal(6),
    c=normal(6, 2),
    w=positive(6),
)
_of(
    "np.polymul",
    "np.polymul(a, b)",
    "np.polyadd(a, b)",
    "np.polysub(b, a)",
    "np.polydiv(a, b)",
    "np.polyder(a)",
    "np.polyder(a, 2)",
    "np.polyint(a)",
    "np.polyint(a, 2, k=b)",
    "np.poly(a)",
    a=positive(4),
    b=positive(2),
)
_of(
    "np.unique",
    ("np.unique(a)", "torch.sort(a.ravel()).values"),
    "np.union1d(a, b)",
    "np.setdiff1d(a, B)",
    "np.setxor1d(a, b)",
    a=apart(2, 3),
    b=positive(2),
    B=positive(2),
)

# ---- windows, elements in a row, orders in memory ----------------------------------------------------------------

_of(
    "np.lib.stride_tricks.sliding_window_view",
    ("np.lib.stride_tricks.sliding_window_view(a, 3, axis=0)", "a.unfold(0, 3, 1)"),
    ("np.lib.stride_tricks.sliding_window_view(a, (2, 3), axis=(0, 1))", "a.unfold(0, 2, 1).unfold(1, 3, 1)"),
    "np.lib.stride_tricks.sliding_window_view(a, (2, 2), axis=(1, 1))",
    a=normal(4, 5),
)
_of("a.flat", ("a.flat[4]", "a.ravel()[4]"), ("a.flat[1:5:2]", "a.ravel()[1:5:2]"), ("np.stack(list(a.flat))", "a.ravel()"), a=normal(2, 3))
_of(
    "np.ravel",
    "np.ravel(a.T, order='K')",
    "np.ravel(a.transpose(1, 0, 2), order='K')",
    "np.ravel(a.T, order='A')",
    "a.T.flatten(order='K')",
    "np.reshape(a.T, (4, 6), order='A')",
    a=normal(2, 3, 4),
)
_of("np.linalg.qr", ("np.linalg.qr(a)", "tuple(torch.linalg.qr(a))"), ("np.linalg.qr(a, mode='r')", "torch.linalg.qr(a).R"), a=regular(4, 3))
_of("np.linalg.qr", ("np.linalg.qr(a)", "tuple(torch.linalg.qr(a))"), a=regular(2, 3, 3))
_of("np.linalg.qr", ("np.linalg.qr(a)", "tuple(torch.linalg.qr(a))"), a=regular(2, 4))
for how in ("", ", reduction='sum'", ", reduction='none'", ", label_smoothing=0.1"):
    _of("tv.cross_entropy", (f"tv.cross_entropy(a, b{how})", f"F.cross_entropy(a, b{how})"), a=normal(4, 3), b=positive(4, 3))
_of("tv.cross_entropy", ("tv.cross_entropy(a, b)", "F.cross_entropy(a, b)"), a=normal(2, 3, 2), b=positive(2, 3, 2))
