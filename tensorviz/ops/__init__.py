"""Every op, one class each, by family: importing a family registers its ops. Imports nothing of the record or the views."""

# ruff: noqa: F403, F405 - each family lists its public names in __all__, and this one is put together from those

from tensorviz.ops import (
    activation,
    arithmetic,
    comparison,
    contraction,
    conversion,
    cumulative,
    custom,
    expansion,
    exponential,
    extremum,
    indexing,
    joining,
    layer,
    loss,
    movement,
    norms,
    probability,
    reduction,
    selection,
    trigonometric,
)
from tensorviz.ops.activation import *
from tensorviz.ops.arithmetic import *
from tensorviz.ops.comparison import *
from tensorviz.ops.contraction import *
from tensorviz.ops.conversion import *
from tensorviz.ops.cumulative import *
from tensorviz.ops.custom import *
from tensorviz.ops.einsum import *
from tensorviz.ops.expansion import *
from tensorviz.ops.exponential import *
from tensorviz.ops.extremum import *
from tensorviz.ops.indexing import *
from tensorviz.ops.joining import *
from tensorviz.ops.layer import *
from tensorviz.ops.loss import *
from tensorviz.ops.movement import *
from tensorviz.ops.norms import *
from tensorviz.ops.probability import *
from tensorviz.ops.reduction import *
from tensorviz.ops.selection import *
from tensorviz.ops.trigonometric import *

__all__: list[str] = ["einsum"]
__all__ += activation.__all__
__all__ += arithmetic.__all__
__all__ += comparison.__all__
__all__ += contraction.__all__
__all__ += conversion.__all__
__all__ += cumulative.__all__
__all__ += custom.__all__
__all__ += expansion.__all__
__all__ += exponential.__all__
__all__ += extremum.__all__
__all__ += indexing.__all__
__all__ += joining.__all__
__all__ += layer.__all__
__all__ += loss.__all__
__all__ += movement.__all__
__all__ += norms.__all__
__all__ += probability.__all__
__all__ += reduction.__all__
__all__ += selection.__all__
__all__ += trigonometric.__all__
