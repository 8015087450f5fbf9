"""Cases of contractions and linear algebra."""

from __future__ import annotations

from .case import NUMPY_2, Case, normal, of, regular

CASES: list[Case] = []

MATMUL = (
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3, 4)),
    ((4, 2, 3), (3,)),
    ((3,), (4, 3, 2)),
    ((2, 3), (4, 3, 2)),
    ((4, 2, 3), (3, 2)),
)
MATMUL += (((5, 1, 2, 3), (4, 3, 2)), ((1, 2, 3), (4, 3, 1)))
"""Every combination of ranks that NumPy's matmul takes."""
for a, b in MATMUL:
    CASES += of("np.matmul", ("np.matmul(a, b)", "a @ b"), ("a @ b", "a @ b"), a=normal(*a), b=normal(*b))
DOT = (((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((), (2, 3)), ((2, 3), ()), ((), ()))
for a, b in DOT:
    CASES += of("np.dot", ("np.dot(a, b)", "a * b" if () in (a, b) else "a @ b"), a=normal(*a), b=normal(*b))
CASES += of("np.dot", ("np.dot(a, b)", "torch.einsum('ijk,lkm->ijlm', a, b)"), ("a.dot(b)", None), a=normal(2, 2, 3), b=normal(2, 3, 2))
CASES += of("np.dot", ("np.dot(a, b)", "a @ b"), a=normal(2, 2, 3), b=normal(3))
for a, b in (((3,), (3,)), ((2, 3), (3,)), ((2, 3), (4, 3)), ((), (2, 3)), ((2, 3), ())):
    CASES += of("np.inner", ("np.inner(a, b)", "torch.inner(a, b)"), a=normal(*a), b=normal(*b))
CASES += of("np.outer", ("np.outer(a, b)", "torch.outer(a, b)"), a=normal(3), b=normal(2))
CASES += of("np.outer", ("np.outer(a, b)", "torch.outer(a.reshape(-1), b)"), a=normal(2, 2), b=normal(2))
CASES += of("np.vdot", ("np.vdot(a, b)", "torch.vdot(a, b)", None), a=normal(3), b=normal(3))
CASES += of(
    "np.tensordot",
    ("np.tensordot(a, b)", "torch.tensordot(a, b, 2)"),
    ("np.tensordot(a, b, 1)", None),
    ("np.tensordot(a, b, axes=([1], [0]))", "torch.tensordot(a, b, ([1], [0]))"),
    ("np.tensordot(a, b, axes=([1, 2], [0, 1]))", "torch.tensordot(a, b, ([1, 2], [0, 1]))"),
    ("np.tensordot(a, b, axes=([2, 1], [1, 0]))", "torch.tensordot(a, b, ([2, 1], [1, 0]))"),
    ("np.tensordot(a, b, axes=([-1], [-3]))", "torch.tensordot(a, b, ([-1], [-3]))"),
    ("np.tensordot(a, b, 0)", "torch.tensordot(a, b, 0)"),
    a=normal(2, 3, 3),
    b=normal(3, 3, 2),
)
CASES += of("np.cross", ("np.cross(a, b)", "torch.linalg.cross(a, b)"), a=normal(2, 3), b=normal(2, 3))
CASES += of("np.cross", ("np.cross(a, b)", "torch.linalg.cross(a[None], b)"), a=normal(3), b=normal(2, 3))
CASES += of("np.cross", ("np.cross(a, b, axis=0)", "torch.linalg.cross(a, b, dim=0)"), a=normal(3, 2), b=normal(3, 2))
for a, b in (((2,), (3,)), ((2, 3), (2, 2)), ((2,), (2, 2)), ((2, 2, 1), (2, 2)), ((), (2, 2))):
    CASES += of("np.kron", ("np.kron(a, b)", "torch.kron(a, b)"), a=normal(*a), b=normal(*b))
for text, shapes in {
    "ij,jk->ik": ((2, 3), (3, 4)),
    "ij,jk": ((2, 3), (3, 4)),
    "ij,kj->ikj": ((2, 3), (4, 3)),
    "ij,ij->": ((2, 3), (2, 3)),
    "...ij,...jk->...ik": ((4, 2, 3), (4, 3, 2)),
    "ik,...k->...i": ((2, 3), (4, 3)),
    "i,j->ji": ((2,), (3,)),
    "ij,jk,kl->il": ((2, 3), (3, 2), (2, 2)),
    "bij,b->ij": ((2, 3, 3), (2,)),
}.items():
    makers = {letter: normal(*shape) for letter, shape in zip("abc", shapes, strict=False)}
    names = ", ".join(makers)
    CASES += of("np.einsum", (f"np.einsum('{text}', {names})", f"torch.einsum('{text}', {names})"), **makers)
CASES += of(
    "np.einsum",
    ("np.einsum('ii', a)", "torch.einsum('ii', a)"),
    ("np.einsum('ii->i', a)", "torch.einsum('ii->i', a)"),
    ("np.einsum('ij->', a)", "torch.einsum('ij->', a)"),
    ("np.einsum('ji', a)", "torch.einsum('ji', a)"),
    a=normal(3, 3),
)
CASES += of(
    "np.einsum",
    ("np.einsum(a, [0, 1], b, [1, 2], [0, 2])", None),
    ("np.einsum('i...,i...->...', a, a)", "torch.einsum('i...,i...->...', a, a)"),
    a=normal(2, 3),
    b=normal(3, 2),
)

for name in ("inv", "det"):
    for shape in ((3, 3), (2, 3, 3), (1, 1)):
        CASES += of(f"np.linalg.{name}", (f"np.linalg.{name}(a)", f"torch.linalg.{name}(a)"), a=regular(*shape))
SYMMETRIZED, THEIRS = "(a + np.swapaxes(a, -1, -2)) / 2", "(a + a.mT) / 2"
"""Every direction of a then keeps the matrix symmetric; who reads which triangle of one that is not is told among the conventions."""
for shape in ((3, 3), (2, 3, 3)):
    CASES += of("np.linalg.slogdet", ("np.linalg.slogdet(a)[1]", "torch.linalg.slogdet(a)[1]"), a=regular(*shape))
    CASES += of("np.linalg.cholesky", (f"np.linalg.cholesky({SYMMETRIZED})", f"torch.linalg.cholesky({THEIRS})"), a=regular(*shape))
    CASES += of(
        "np.linalg.eigh",
        (f"np.linalg.eigh({SYMMETRIZED})[0]", f"torch.linalg.eigh({THEIRS})[0]"),
        (f"np.linalg.eigh({SYMMETRIZED})[1] ** 2", f"torch.linalg.eigh({THEIRS})[1] ** 2"),
        (f"np.linalg.eigvalsh({SYMMETRIZED})", f"torch.linalg.eigvalsh({THEIRS})", None),
        a=regular(*shape),
    )
for shape in ((3, 3), (3, 2), (2, 3), (2, 3, 3)):
    CASES += of(
        "np.linalg.svd",
        ("np.linalg.svd(a, full_matrices=False)[1]", "torch.linalg.svd(a, full_matrices=False)[1]"),
        ("np.linalg.svd(a, full_matrices=False)[0] ** 2", "torch.linalg.svd(a, full_matrices=False)[0] ** 2"),
        ("np.linalg.svd(a, full_matrices=False)[2] ** 2", "torch.linalg.svd(a, full_matrices=False)[2] ** 2"),
        ("np.linalg.svd(a, compute_uv=False)", "torch.linalg.svdvals(a)"),
        a=regular(*shape),
    )
    CASES += of(
        "np.linalg.svd",
        (
            "np.linalg.svd(a, compute_uv=False).sum(axis=-1)",
            "torch.linalg.matrix_norm(a, 'nuc')",
            "np.linalg.norm(a, 'nuc')" if len(shape) == 2 else None,
        ),
        a=regular(*shape),
    )
    CASES += of("np.linalg.pinv", ("np.linalg.pinv(a)", "torch.linalg.pinv(a)"), a=regular(*shape))
# a stack of systems with one matrix on the right: NumPy 1 reads that as a stack of vectors, and we read it as NumPy 2 does
_SOLVED = [((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (2, 3, 1))] + ([((2, 3, 3), (3, 2))] if NUMPY_2 else [])
for a, b in _SOLVED:
    CASES += of("np.linalg.solve", ("np.linalg.solve(a, b)", "torch.linalg.solve(a, b)"), a=regular(*a), b=normal(*b))
