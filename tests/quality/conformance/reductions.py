"""Cases of the reductions and running sums, over every kind of axis."""

from __future__ import annotations

from .case import Case, apart, normal, of, positive

CASES: list[Case] = []

AXES = (("", ""), ("axis=0", "dim=0"), ("axis=-1", "dim=-1"), ("axis=1, keepdims=True", "dim=1, keepdim=True"), ("axis=(0, 2)", "dim=(0, 2)"))
AXES += (("axis=(-1, 0), keepdims=True", "dim=(-1, 0), keepdim=True"), ("axis=None, keepdims=True", "dim=(0, 1, 2), keepdim=True"))


def _over(function: str, ours: str, torch: str, make, *, several: bool = True, autograd: bool = True) -> None:
    for how, dims in AXES:
        words = f"{ours}(a, {how})" if how else f"{ours}(a)"
        theirs: str | None = f"{torch}(a, {dims})" if dims else f"{torch}(a)"
        if "(" in dims and not several:
            theirs = None
        CASES.extend(of(function, (words, theirs) if autograd else (words, theirs, None), a=make(2, 3, 2)))


_over("np.sum", "np.sum", "torch.sum", normal)
_over("np.mean", "np.mean", "torch.mean", normal)
_over("np.prod", "np.prod", "torch.prod", positive, several=False)
_over("np.max", "np.max", "torch.amax", apart)
_over("np.min", "np.min", "torch.amin", apart)
CASES += of("np.max", ("np.amax(a, axis=0)", "torch.max(a, 0).values"), ("a.max(axis=1)", "a.max(1).values"), a=apart(3, 4))
CASES += of("np.min", ("np.amin(a, axis=0)", "torch.min(a, 0).values"), ("a.min(axis=1)", "a.min(1).values"), a=apart(3, 4))
for how, dims in AXES:
    for ddof in (0, 1):
        words = ", ".join(filter(None, ["a", how, f"ddof={ddof}"]))
        theirs = ", ".join(filter(None, ["a", dims, f"correction={ddof}"]))
        CASES += of("np.var", (f"np.var({words})", f"torch.var({theirs})"), a=normal(2, 3, 2))
        CASES += of("np.std", (f"np.std({words})", f"torch.std({theirs})"), a=normal(2, 3, 2))
CASES += of(
    "np.sum",
    ("a.sum()", "a.sum()"),
    ("a.sum(axis=1)", "a.sum(1)"),
    ("np.add.reduce(a)", "a.sum(0)", None),
    ("np.add.reduce(a, axis=1)", "a.sum(1)", None),
    ("np.sum(a[:0], axis=0)", "a[:0].sum(0)"),
    a=normal(2, 3),
)
CASES += of("np.sum", ("np.sum(a)", "a.sum()"), ("np.sum(a, axis=())", None), a=normal())
CASES += of("np.mean", ("a.mean()", "a.mean()"), ("a.mean(axis=0, keepdims=True)", "a.mean(0, keepdim=True)"), a=normal(2, 3))
CASES += of("np.prod", ("np.multiply.reduce(a)", "torch.prod(a, 0)", None), ("a.prod()", "a.prod()"), a=positive(2, 3))
CASES += of(
    "tv.logsumexp",
    ("tv.logsumexp(a)", "torch.logsumexp(a, (0, 1))", "np.log(np.sum(np.exp(a)))"),
    ("tv.logsumexp(a, axis=0)", "torch.logsumexp(a, 0)", "np.log(np.sum(np.exp(a), axis=0))"),
    ("tv.logsumexp(a, axis=1, keepdims=True)", "torch.logsumexp(a, 1, keepdim=True)", "np.log(np.sum(np.exp(a), axis=1, keepdims=True))"),
    a=normal(2, 3),
)
CASES += of(
    "np.linalg.norm",
    ("np.linalg.norm(a)", "torch.linalg.norm(a)"),
    ("np.linalg.norm(a, axis=0)", "torch.linalg.norm(a, dim=0)"),
    ("np.linalg.norm(a, ord=3, axis=1)", "torch.linalg.norm(a, ord=3, dim=1)"),
    ("np.linalg.norm(a, ord=1, axis=1, keepdims=True)", "torch.linalg.norm(a, ord=1, dim=1, keepdim=True)"),
    ("np.linalg.norm(a, ord=np.inf, axis=1)", "torch.linalg.norm(a, ord=float('inf'), dim=1)"),
    ("np.linalg.norm(a, ord=-np.inf, axis=1)", "torch.linalg.norm(a, ord=-float('inf'), dim=1)"),
    ("np.linalg.norm(a, 'fro')", "torch.linalg.norm(a, 'fro')"),
    ("np.linalg.norm(a, axis=(0, 1))", "torch.linalg.norm(a, dim=(0, 1))"),
    a=apart(3, 4),
)
CASES += of(
    "np.cumsum",
    ("np.cumsum(a)", "torch.cumsum(a.reshape(-1), 0)"),
    ("np.cumsum(a, axis=0)", "torch.cumsum(a, 0)"),
    ("np.cumsum(a, axis=-1)", "torch.cumsum(a, -1)"),
    ("np.cumsum(a, axis=1)", "torch.cumsum(a, 1)"),
    ("np.add.accumulate(a, axis=1)", "torch.cumsum(a, 1)", None),
    a=normal(2, 3),
)
CASES += of(
    "np.cumprod",
    ("np.cumprod(a)", "torch.cumprod(a.reshape(-1), 0)", None),
    ("np.cumprod(a, axis=1)", "torch.cumprod(a, 1)", None),
    a=positive(2, 3),
)
