"""Cases of the functions of networks, against PyTorch's of the same names."""

from __future__ import annotations

from .case import Case, apart, inside, normal, of, positive, whole

CASES: list[Case] = []


def _same(function: str, *calls: str, **makers) -> None:
    """The same call under both names."""
    CASES.extend(of(function, *((f"tv.{call}", f"F.{call}") for call in calls), **makers))


_same("tv.linear", "linear(a, w, b)", "linear(a, w)", a=normal(2, 4, 3), w=normal(5, 3), b=normal(5))
_same("tv.linear", "linear(a, w, b)", a=normal(3), w=normal(5, 3), b=normal(5))
CASES += of("tv.softmax", ("tv.softmax(a)", "F.softmax(a, -1)"), ("tv.softmax(a, axis=0)", "F.softmax(a, 0)"), a=normal(2, 3))
CASES += of("tv.log_softmax", ("tv.log_softmax(a)", "F.log_softmax(a, -1)"), ("tv.log_softmax(a, axis=0)", "F.log_softmax(a, 0)"), a=normal(2, 3))
_same(
    "tv.cross_entropy",
    *(f"cross_entropy(a, t{how})" for how in ("", ", reduction='sum'", ", reduction='none'", ", label_smoothing=0.1", ", ignore_index=2")),
    "cross_entropy(a, t, ignore_index=2, label_smoothing=0.3)",
    a=normal(4, 3),
    t=whole(0, 2, 1, 2),
)
_same("tv.cross_entropy", "cross_entropy(a, t)", "cross_entropy(a, t, reduction='none')", a=normal(2, 3, 2), t=whole([[0, 2], [1, 1]]))
_same("tv.nll_loss", "nll_loss(a, t)", "nll_loss(a, t, reduction='sum')", "nll_loss(a, t, ignore_index=1)", a=normal(3, 3), t=whole(0, 2, 1))
_same("tv.mse_loss", "mse_loss(a, b)", "mse_loss(a, b, reduction='sum')", "mse_loss(a, b, reduction='none')", a=normal(2, 3), b=normal(2, 3))
for how in ("", ", reduction='sum'", ", reduction='none'"):
    words = f"(a, t{how})"
    CASES += of("tv.bce_with_logits", (f"tv.bce_with_logits{words}", f"F.binary_cross_entropy_with_logits{words}"), a=normal(2, 3), t=inside(2, 3))
_same("tv.layer_norm", "layer_norm(a, (3,), w, b)", "layer_norm(a, (3,))", "layer_norm(a, (2, 3))", a=normal(4, 2, 3), w=normal(3), b=normal(3))
_same("tv.batch_norm", "batch_norm(a, None, None, w, b, training=True)", a=normal(5, 3), w=normal(3), b=normal(3))
_same("tv.batch_norm", "batch_norm(a, None, None, w, b, training=True, eps=0.1)", a=normal(4, 3, 2, 2), w=normal(3), b=normal(3))
_same(
    "tv.batch_norm",
    "batch_norm(a, M, V, w, b)",
    a=normal(5, 3),
    M=whole(0, 1, -1, dtype=float),
    V=whole(1, 2, 4, dtype=float),
    w=normal(3),
    b=normal(3),
)
_same(
    "tv.conv1d",
    "conv1d(a, w, b)",
    "conv1d(a, w, b, stride=2, padding=1)",
    "conv1d(a, w, dilation=2)",
    a=normal(2, 3, 7),
    w=normal(4, 3, 3),
    b=normal(4),
)
_same(
    "tv.conv2d",
    "conv2d(a, w, b)",
    "conv2d(a, w, b, stride=(2, 1), padding=1)",
    "conv2d(a, w, dilation=2)",
    a=normal(2, 2, 5, 5),
    w=normal(3, 2, 2, 2),
    b=normal(3),
)
_same("tv.conv2d", "conv2d(a, w, groups=2)", a=normal(1, 4, 4, 4), w=normal(2, 2, 2, 2))
_same("tv.max_pool2d", "max_pool2d(a, 2)", "max_pool2d(a, 3, stride=1, padding=1)", "max_pool2d(a, 2, stride=1, dilation=2)", a=apart(1, 2, 5, 4))
_same(
    "tv.avg_pool2d",
    "avg_pool2d(a, 2)",
    "avg_pool2d(a, 3, stride=2, padding=1)",
    "avg_pool2d(a, 3, padding=1, count_include_pad=False)",
    a=normal(1, 2, 5, 4),
)
_same(
    "tv.scaled_dot_product_attention",
    "scaled_dot_product_attention(q, k, v)",
    "scaled_dot_product_attention(q, k, v, is_causal=True)",
    "scaled_dot_product_attention(q, k, v, attn_mask=m)",
    "scaled_dot_product_attention(q, k, v, scale=0.3)",
    q=normal(2, 3, 4),
    k=normal(2, 3, 4),
    v=normal(2, 3, 5),
    m=normal(3, 3),
)
CASES += of("tv.softmax", ("np.log(tv.softmax(a @ w)[:, 0])", "torch.log(F.softmax(a @ w, -1)[:, 0])"), a=positive(2, 3), w=normal(3, 2))
