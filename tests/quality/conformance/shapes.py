"""Cases of the functions that move, copy, join, cut and pick elements."""

from __future__ import annotations

from .case import Case, apart, normal, of, positive, whole

CASES: list[Case] = []

CASES += of(
    "np.reshape",
    ("np.reshape(a, (3, 4))", "a.reshape(3, 4)"),
    ("np.reshape(a, -1)", "a.reshape(-1)"),
    ("np.reshape(a, (2, -1), order='F')", None),
    ("a.reshape(6, 2)", "a.reshape(6, 2)"),
    ("a.reshape((6, 2))", "a.reshape((6, 2))"),
    a=normal(2, 3, 2),
)
CASES += of("np.ravel", ("np.ravel(a)", "torch.ravel(a)"), ("np.ravel(a, order='F')", None), ("a.flatten()", "a.flatten()"), a=normal(2, 3))
CASES += of(
    "np.transpose",
    ("np.transpose(a)", "a.permute(2, 1, 0)"),
    ("np.transpose(a, (1, 0, 2))", "a.permute(1, 0, 2)"),
    ("np.transpose(a, (-1, 0, 1))", "a.permute(-1, 0, 1)"),
    ("a.T", "a.permute(2, 1, 0)"),
    ("a.transpose(1, 2, 0)", "a.permute(1, 2, 0)", None),
    ("np.permute_dims(a, (1, 0, 2))", "a.permute(1, 0, 2)"),
    a=normal(2, 3, 4),
)
CASES += of("np.swapaxes", ("np.swapaxes(a, 0, 2)", "a.swapaxes(0, 2)"), ("np.swapaxes(a, -1, 1)", "a.swapaxes(-1, 1)"), a=normal(2, 3, 4))
CASES += of(
    "np.moveaxis", ("np.moveaxis(a, 0, -1)", "a.moveaxis(0, -1)"), ("np.moveaxis(a, (0, 1), (2, 0))", "a.moveaxis((0, 1), (2, 0))"), a=normal(2, 3, 4)
)
CASES += of("np.rollaxis", "np.rollaxis(a, 2)", "np.rollaxis(a, 1, 3)", "np.rollaxis(a, -1)", "np.rollaxis(a, 0, -1)", a=normal(2, 3, 4))
CASES += of("np.expand_dims", ("np.expand_dims(a, 1)", "a.unsqueeze(1)"), ("np.expand_dims(a, (0, -1))", "a[None, ..., None]"), a=normal(2, 3))
CASES += of(
    "np.squeeze",
    ("np.squeeze(a)", "a.squeeze()"),
    ("np.squeeze(a, axis=1)", "a.squeeze(1)"),
    ("np.squeeze(a, (1, -1))", "a.squeeze((1, -1))"),
    a=normal(2, 1, 3, 1),
)
CASES += of("np.atleast_1d", ("np.atleast_1d(a)", "torch.atleast_1d(a)"), a=normal())
CASES += of("np.atleast_2d", ("np.atleast_2d(a)", "torch.atleast_2d(a)"), a=normal(3))
CASES += of("np.atleast_3d", ("np.atleast_3d(a)", "torch.atleast_3d(a)"), a=normal(3))
CASES += of("np.atleast_3d", ("np.atleast_3d(a)", "torch.atleast_3d(a)"), ("np.atleast_2d(a)", "torch.atleast_2d(a)"), a=normal(2, 3))
CASES += of("np.copy", ("np.copy(a) * a", "a.clone() * a", None), ("a.copy() * a", "a.clone() * a", None), a=normal(3))
CASES += of("np.astype", ("a.astype('float32')", "a.float()", None), ("np.astype(a, 'float64') * a", "a.double() * a"), a=normal(2, 3))
CASES += of(
    "np.broadcast_to",
    ("np.broadcast_to(a, (2, 3, 4))", "a.broadcast_to(2, 3, 4)"),
    ("np.broadcast_to(b, (2, 3))", "b.broadcast_to(2, 3)"),
    ("np.broadcast_to(b, (4, 2, 3))", "b.broadcast_to(4, 2, 3)"),
    ("np.broadcast_to(c, (2, 2))", "c.broadcast_to(2, 2)"),
    a=normal(2, 3, 1),
    b=normal(1, 3),
    c=normal(),
)
CASES += of("np.broadcast_arrays", ("np.broadcast_arrays(a, b)[0] * b", None, None), a=normal(2, 1), b=normal(3))
CASES += of("np.full", ("np.full((2, 3), a, like=a)", "a.expand(2, 3)", "np.full((2, 3), a)"), a=normal())
CASES += of(
    "np.linspace",
    ("np.linspace(a, b, 5)", "a + torch.arange(5).double() / 4 * (b - a)"),
    ("np.linspace(a, 2.0, 4)", None, None),
    ("np.linspace(a, b, 4, endpoint=False)", None, None),
    a=normal(),
    b=normal(),
)
CASES += of(
    "np.pad",
    ("np.pad(a, 1, 'constant')", "F.pad(a, (1, 1, 1, 1))"),
    ("np.pad(a, ((1, 0), (2, 3)), 'constant', constant_values=2.5)", "F.pad(a, (2, 3, 1, 0), value=2.5)"),
    ("np.pad(a, ((1, 0), (2, 1)), 'reflect')", "F.pad(a[None], (2, 1, 1, 0), mode='reflect')[0]"),
    ("np.pad(a, ((1, 0), (2, 3)), 'edge')", "F.pad(a[None], (2, 3, 1, 0), mode='replicate')[0]"),
    ("np.pad(a, ((1, 0), (2, 1)), 'wrap')", "F.pad(a[None], (2, 1, 1, 0), mode='circular')[0]"),
    ("np.pad(a, ((1, 0), (2, 1)), 'symmetric')", None),
    a=normal(3, 4),
)
CASES += of(
    "np.repeat",
    ("np.repeat(a, 2)", "torch.repeat_interleave(a, 2)"),
    ("np.repeat(a, 2, axis=0)", "torch.repeat_interleave(a, 2, 0)"),
    ("np.repeat(a, 3, axis=-1)", "torch.repeat_interleave(a, 3, -1)"),
    ("np.repeat(a, np.array([2, 0, 1]), axis=1)", "torch.repeat_interleave(a, torch.tensor([2, 0, 1]), 1)"),
    a=normal(2, 3),
)
CASES += of("np.repeat", ("np.repeat(a, 2, axis=0)", "torch.repeat_interleave(a, 2, 0)"), a=normal(1, 3))
CASES += of(
    "np.tile",
    ("np.tile(a, 2)", "torch.tile(a, (2,))"),
    ("np.tile(a, (2, 1))", "torch.tile(a, (2, 1))"),
    ("np.tile(a, (2, 1, 3))", "torch.tile(a, (2, 1, 3))"),
    a=normal(2, 3),
)
CASES += of(
    "np.roll",
    ("np.roll(a, 2)", "torch.roll(a, 2)"),
    ("np.roll(a, -1, axis=1)", "torch.roll(a, -1, 1)"),
    ("np.roll(a, (1, 2), axis=(0, 1))", "torch.roll(a, (1, 2), (0, 1))"),
    a=normal(2, 3),
)
CASES += of(
    "np.flip",
    ("np.flip(a)", "torch.flip(a, (0, 1))", None),
    ("np.flip(a, 1)", "torch.flip(a, (1,))", None),
    ("a[::-1]", "torch.flip(a, (0,))"),
    a=normal(2, 3),
)
CASES += of("np.fliplr", ("np.fliplr(a)", "torch.fliplr(a)"), a=normal(2, 3))
CASES += of("np.flipud", ("np.flipud(a)", "torch.flipud(a)"), a=normal(2, 3))
CASES += of(
    "np.rot90", ("np.rot90(a)", "torch.rot90(a)"), ("np.rot90(a, 2)", "torch.rot90(a, 2)"), ("np.rot90(a, k=3)", "torch.rot90(a, 3)"), a=normal(2, 3)
)
CASES += of(
    "np.fft.fftshift", ("np.fft.fftshift(a)", "torch.fft.fftshift(a)"), ("np.fft.fftshift(a, axes=1)", "torch.fft.fftshift(a, 1)"), a=normal(2, 3)
)
CASES += of("np.fft.ifftshift", ("np.fft.ifftshift(a)", "torch.fft.ifftshift(a)"), a=normal(2, 3))
CASES += of(
    "np.concatenate",
    ("np.concatenate([a, b])", "torch.cat([a, b])"),
    ("np.concatenate((a, b, a), axis=0)", "torch.cat((a, b, a), 0)"),
    ("np.concatenate([a, c], axis=-1)", "torch.cat([a, c], -1)"),
    ("np.concatenate([a, b], axis=None)", "torch.cat([a.reshape(-1), b.reshape(-1)])", None),
    a=normal(2, 3),
    b=normal(1, 3),
    c=normal(2, 2),
)
CASES += of(
    "np.stack", ("np.stack([a, b])", "torch.stack([a, b])"), ("np.stack([a, b], axis=-1)", "torch.stack([a, b], -1)"), a=normal(2, 3), b=normal(2, 3)
)
CASES += of("np.vstack", ("np.vstack([a, b])", "torch.vstack([a, b])"), a=normal(3), b=normal(2, 3))
CASES += of("np.hstack", ("np.hstack([a, b])", "torch.hstack([a, b])"), a=normal(3), b=normal(2))
CASES += of("np.dstack", ("np.dstack([a, b])", "torch.dstack([a, b])", None), a=normal(2, 3), b=normal(2, 3))
CASES += of("np.column_stack", ("np.column_stack([a, b])", "torch.column_stack([a, b])"), a=normal(3), b=normal(3, 2))
CASES += of("np.append", ("np.append(a, b)", None), ("np.append(a, a, axis=0)", "torch.cat([a, a])"), a=normal(2, 3), b=normal(2))
CASES += of(
    "np.split", ("np.split(a, 2)", "torch.tensor_split(a, 2)"), ("np.split(a, [1, 3], axis=0)", "torch.tensor_split(a, [1, 3])"), a=normal(4, 2)
)
CASES += of(
    "np.array_split",
    ("np.array_split(a, 3)", "torch.tensor_split(a, 3)"),
    ("np.array_split(a, 2, axis=1)", "torch.tensor_split(a, 2, 1)"),
    a=normal(4, 3),
)
CASES += of("np.vsplit", ("np.vsplit(a, 2)", "torch.vsplit(a, 2)"), a=normal(4, 4, 2))
CASES += of("np.hsplit", ("np.hsplit(a, 2)", "torch.hsplit(a, 2)"), a=normal(4, 4, 2))
CASES += of("np.dsplit", ("np.dsplit(a, 2)", "torch.dsplit(a, 2)"), a=normal(4, 4, 2))
CASES += of("np.sort", ("np.sort(a)", "torch.sort(a).values"), a=apart(5))
CASES += of("np.sort", ("np.sort(a)", "torch.sort(a).values"), ("np.sort(a, axis=0)", "torch.sort(a, 0).values"), a=apart(3, 4))
CASES += of("np.partition", ("np.partition(a, 2)[2]", "torch.sort(a).values[2]"), a=apart(5))
CASES += of("np.partition", ("np.partition(a, 1, axis=0)[1]", "torch.sort(a, 0).values[1]"), a=apart(3, 4))
CASES += of(
    "np.take_along_axis",
    ("np.take_along_axis(a, i, 1)", "torch.take_along_dim(a, i, 1)", None),
    ("np.take_along_axis(a, np.argsort(a, axis=1), 1)", "torch.sort(a, 1).values", None),
    a=apart(2, 3),
    i=whole([[2, 0, 0, 1], [1, 1, 2, 0]]),
)
CASES += of(
    "np.diag",
    ("np.diag(a)", "torch.diag(a)"),
    ("np.diag(a, 1)", "torch.diag(a, 1)"),
    a=normal(3),
)
CASES += of("np.diag", ("np.diag(a)", "torch.diag(a)"), ("np.diag(a, -1)", "torch.diag(a, -1)"), a=normal(3, 3))
CASES += of(
    "np.diagonal",
    ("np.diagonal(a)", "torch.diagonal(a)"),
    ("np.diagonal(a, 1)", "torch.diagonal(a, 1)"),
    ("np.diagonal(a, offset=-1, axis1=1, axis2=2)", "torch.diagonal(a, -1, 1, 2)"),
    a=normal(3, 3, 3),
)
CASES += of("np.trace", ("np.trace(a)", "torch.diagonal(a).sum(-1)"), ("np.trace(a, offset=1)", "torch.diagonal(a, 1).sum(-1)"), a=normal(3, 4))
CASES += of("np.trace", ("np.trace(a, axis1=1, axis2=2)", "torch.diagonal(a, 0, 1, 2).sum(-1)"), a=normal(2, 3, 4))
for name in ("tril", "triu"):
    CASES += of(f"np.{name}", (f"np.{name}(a)", f"torch.{name}(a)"), (f"np.{name}(a, k=1)", f"torch.{name}(a, 1)"), a=normal(3, 4))
    CASES += of(f"np.{name}", (f"np.{name}(a, k=-1)", f"torch.{name}(a, -1)"), a=normal(2, 3, 3))
CASES += of(
    "np.diff",
    ("np.diff(a)", "torch.diff(a)"),
    ("np.diff(a, n=2)", "torch.diff(a, n=2)"),
    ("np.diff(a, axis=0)", "torch.diff(a, dim=0)"),
    ("np.diff(a, prepend=0.0)", None, None),
    a=normal(3, 4),
)
CASES += of(
    "np.gradient",
    ("np.gradient(a)", "torch.gradient(a)"),
    ("np.gradient(a, axis=0)", "torch.gradient(a, dim=0)[0]"),
    ("np.gradient(a, 0.5, axis=1)", "torch.gradient(a, spacing=0.5, dim=1)[0]"),
    a=normal(5, 6),
)
CASES += of(
    "a[...]",
    ("a[1]", "a[1]"),
    ("a[-1, 2]", "a[-1, 2]"),
    ("a[:, 1:3]", "a[:, 1:3]"),
    ("a[::2, None, ..., -1]", "a[::2, None, ..., -1]"),
    ("a[[0, 2, 0]]", "a[[0, 2, 0]]"),
    ("a[i, j]", "a[i, j]"),
    ("a[:, j]", "a[:, j]"),
    ("a[a > 0]", "a[a > 0]"),
    ("a[i[:, None], j]", "a[i[:, None], j]"),
    ("a[..., None]", "a[..., None]"),
    ("a[1:1]", "a[1:1]"),
    a=apart(3, 4),
    i=whole(0, 2, 0),
    j=whole(1, -1, 1),
)
CASES += of("tv.embedding", ("tv.embedding(i, a)", "F.embedding(i, a)", "a[i]"), a=normal(4, 3), i=whole([[0, 2], [2, 3]]))
CASES += of("np.sqrt", ("np.sqrt(np.sum(a * a, axis=1)) / np.mean(a)", "torch.sqrt((a * a).sum(1)) / a.mean()"), a=positive(2, 3))
CASES += of(
    "a[...] = b",
    ("assigned(a, 1, b)", "assigned(a, 1, b)", None),
    ("assigned(a, (slice(None), slice(0, 2)), b[:2])", "assigned(a, (slice(None), slice(0, 2)), b[:2])", None),
    ("assigned(a, a > 0.5, 0.0)", "assigned(a, a > 0.5, 0.0)", None),
    a=apart(3, 3),
    b=normal(3),
)
