"""Every op, one class each, by family: importing a family registers its ops. Imports nothing of the record or the views."""

# ruff: noqa: F403, F405 - each family lists its public names in __all__, and this one is put together from those

from tensorviz.engine import protocols
from tensorviz.engine.run import attach_later
from tensorviz.ops import (
    activation,
    arithmetic,
    attention,
    comparison,
    contraction,
    conversion,
    convolution,
    cumulative,
    custom,
    decompositions,
    diagonals,
    differences,
    expansion,
    exponential,
    extremum,
    indexing,
    joining,
    layer,
    linalg,
    loss,
    movement,
    noise,
    normalization,
    norms,
    ordering,
    pooling,
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
from tensorviz.ops.attention import *
from tensorviz.ops.comparison import *
from tensorviz.ops.contraction import *
from tensorviz.ops.conversion import *
from tensorviz.ops.convolution import *
from tensorviz.ops.cumulative import *
from tensorviz.ops.custom import *
from tensorviz.ops.decompositions import *
from tensorviz.ops.diagonals import *
from tensorviz.ops.differences import *
from tensorviz.ops.einsum import *
from tensorviz.ops.expansion import *
from tensorviz.ops.exponential import *
from tensorviz.ops.extremum import *
from tensorviz.ops.indexing import *
from tensorviz.ops.joining import *
from tensorviz.ops.layer import *
from tensorviz.ops.linalg import *
from tensorviz.ops.loss import *
from tensorviz.ops.movement import *
from tensorviz.ops.noise import *
from tensorviz.ops.normalization import *
from tensorviz.ops.norms import *
from tensorviz.ops.ordering import *
from tensorviz.ops.pooling import *
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
__all__ += attention.__all__
__all__ += comparison.__all__
__all__ += contraction.__all__
__all__ += conversion.__all__
__all__ += convolution.__all__
__all__ += cumulative.__all__
__all__ += custom.__all__
__all__ += decompositions.__all__
__all__ += diagonals.__all__
__all__ += differences.__all__
__all__ += expansion.__all__
__all__ += exponential.__all__
__all__ += extremum.__all__
__all__ += indexing.__all__
__all__ += joining.__all__
__all__ += layer.__all__
__all__ += linalg.__all__
__all__ += loss.__all__
__all__ += movement.__all__
__all__ += noise.__all__
__all__ += normalization.__all__
__all__ += norms.__all__
__all__ += ordering.__all__
__all__ += pooling.__all__
__all__ += probability.__all__
__all__ += reals.__all__
__all__ += reduction.__all__
__all__ += replacement.__all__
__all__ += selection.__all__
__all__ += trigonometric.__all__
__all__ += units.__all__


def _rest() -> None:
    """Functions that are put together from the ops above. They are many, few programs call them, and an import has no time to spare."""
    from tensorviz.ops import assembly, choices, methods, products, statistics, writing  # noqa: F401 - importing them makes their functions known


protocols.load_rest = _rest
for _name in ("argpartition", "choose", "compress", "conj", "conjugate", "fill", "nonzero", "partition", "put", "searchsorted", "sort"):
    attach_later(_name, protocols.load_all)
