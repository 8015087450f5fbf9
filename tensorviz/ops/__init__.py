"""Every op, one class each, by family: importing a family registers its ops. Some families come :data:`later <LATER>`. Imports nothing of the record or the views."""

# ruff: noqa: F403, F405 - each family lists its public names in __all__, and this one is put together from those

from tensorviz.engine import late
from tensorviz.engine.run import attach_later
from tensorviz.ops import (
    activation,
    arithmetic,
    comparison,
    contraction,
    conversion,
    cumulative,
    diagonals,
    expansion,
    exponential,
    extremum,
    indexing,
    joining,
    movement,
    norms,
    ordering,
    probability,
    reals,
    reduction,
    replacement,
    selection,
    trigonometric,
    units,
)
from tensorviz.ops.activation import *
from tensorviz.ops.arithmetic import *
from tensorviz.ops.comparison import *
from tensorviz.ops.contraction import *
from tensorviz.ops.conversion import *
from tensorviz.ops.cumulative import *
from tensorviz.ops.diagonals import *
from tensorviz.ops.einsum import *
from tensorviz.ops.expansion import *
from tensorviz.ops.exponential import *
from tensorviz.ops.extremum import *
from tensorviz.ops.indexing import *
from tensorviz.ops.joining import *
from tensorviz.ops.movement import *
from tensorviz.ops.norms import *
from tensorviz.ops.ordering import *
from tensorviz.ops.probability import *
from tensorviz.ops.reals import *
from tensorviz.ops.reduction import *
from tensorviz.ops.replacement import *
from tensorviz.ops.selection import *
from tensorviz.ops.trigonometric import *
from tensorviz.ops.units import *

__all__: list[str] = ["einsum"]  # families of one op, whose module and function share a name
__all__ += activation.__all__
__all__ += arithmetic.__all__
__all__ += comparison.__all__
__all__ += contraction.__all__
__all__ += conversion.__all__
__all__ += cumulative.__all__
__all__ += diagonals.__all__
__all__ += expansion.__all__
__all__ += exponential.__all__
__all__ += extremum.__all__
__all__ += indexing.__all__
__all__ += joining.__all__
__all__ += movement.__all__
__all__ += norms.__all__
__all__ += ordering.__all__
__all__ += probability.__all__
__all__ += reals.__all__
__all__ += reduction.__all__
__all__ += replacement.__all__
__all__ += selection.__all__
__all__ += trigonometric.__all__
__all__ += units.__all__


LATER = {
    "attention": ("scaled_dot_product_attention",),
    "convolution": ("conv1d", "conv2d"),
    "custom": ("custom_op",),
    "decompositions": ("eigh", "eigvalsh", "pinv", "svd"),
    "differences": ("diff",),
    "layer": ("linear",),
    "linalg": ("cholesky", "det", "inv", "slogdet", "solve"),
    "loss": ("bce_with_logits", "cross_entropy", "mse_loss", "nll_loss"),
    "noise": ("dropout",),
    "normalization": ("batch_norm", "layer_norm"),
    "orthogonal": ("qr",),
    "pooling": ("avg_pool2d", "max_pool2d"),
}
"""Families that are loaded when one of their functions is asked for, or one of NumPy's that they answer for; of none are operators or ufuncs. An import has no time to spare."""


def _rest() -> None:
    """Load what an import leaves out: those families, what marks the variables of a derivative, and functions put together from several ops."""
    from importlib import import_module

    from tensorviz.engine import functional  # noqa: F401 - importing them makes their ops and functions known
    from tensorviz.ops import assembly, choices, methods, polynomials, products, real_domain, sets, statistics, ufuncs, windows, writing  # noqa: F401

    for family in LATER:
        import_module(f"tensorviz.ops.{family}")


late.load_rest = _rest
for _name in (
    "argpartition",
    "choose",
    "compress",
    "conj",
    "conjugate",
    "fill",
    "nonzero",
    "partition",
    "put",
    "searchsorted",
    "sort",
    "tobytes",
    "view",
):
    attach_later(_name, late.load_all)
