"""What few Tensors have beside their node. Knows no op."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

    from tensorviz.engine.aliases import View
    from tensorviz.engine.node import Node
    from tensorviz.engine.tensor import Tensor
    from tensorviz.trace import Trace


FIRST_LOOK = 64
"""Views of one Tensor, dead ones included, from which on the dead are looked for; afterwards whenever their number has doubled, so that a view costs the same however many there were."""


class Own:
    """What a Tensor has beside its node: a gradient, an array in the user's hands, the record of a pass, views."""

    now: Any
    """None if the Tensor is its own node; else the node that it stands for, or :data:`UNSETTLED <tensorviz.engine.node.UNSETTLED>` where that has to be found out."""
    grad: Any = None
    """The accumulated gradient, in the dtype and shape of the values."""
    private = False
    """``grad`` is an array of its own, which the user may have; otherwise it is shared with the pass that made it, and copied before it is handed out."""
    retain = False
    hand: tuple[npt.NDArray[Any], Node] | None = None
    """The array that was handed out by ``.data``, and the node that it belongs to as long as it is unchanged."""
    trace: Trace | None = None
    view: View | None = None
    """What it is a view of, in NumPy's world."""
    views: list[weakref.ref[Tensor]] | None = None
    """What was taken of it, dead ones included."""
    limit = FIRST_LOOK
    """How many of them there are when the dead are next looked for."""

    def __init__(self, now: Node | None = None) -> None:
        self.now = now
