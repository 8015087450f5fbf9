"""What few Tensors have beside their node. Knows no op."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

    from tensorviz.engine.aliases import Alias
    from tensorviz.engine.node import Node
    from tensorviz.trace import Trace


class Own:
    """What a Tensor has beside its node: a gradient, an array in the user's hands, the record of a pass."""

    __slots__ = ("alias", "grad", "hand", "private", "retain", "trace")

    def __init__(self) -> None:
        self.grad: Any = None
        """The accumulated gradient, in the dtype and shape of the values."""
        self.private = False
        """``grad`` is an array of its own, which the user may have; otherwise it is shared with the pass that made it, and copied before it is handed out."""
        self.retain = False
        self.hand: tuple[npt.NDArray[Any], Node] | None = None
        """The array that was handed out by ``.data``, and the node that it belongs to as long as it is unchanged."""
        self.trace: Trace | None = None
        self.alias: Alias | None = None
        """What it shares its memory with in NumPy's world."""
