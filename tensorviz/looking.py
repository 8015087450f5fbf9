"""The public ways to look at a graph: ``debug``, ``draw``. Loads what it shows with only when it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Never

from tensorviz.engine.backward import backward
from tensorviz.engine.graph import user_frame
from tensorviz.engine.record import forward_only
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import GraphError, OptionTypeError
from tensorviz.trace import Trace

if TYPE_CHECKING:
    from tensorviz.widgets.drawing import Drawing
    from tensorviz.widgets.stepper import Stepper


def debug(y: Tensor, gradient: Any = None, **options: Any) -> Stepper:
    """``y.backward(gradient)`` and the stepper on it, in one call. Options are those of ``trace.show``."""
    if not isinstance(y, Tensor):
        raise GraphError(f"debug() takes the Tensor to start backward from, got {type(y).__name__}; for a recorded Trace use trace.show()")
    trace = backward([y], None if gradient is None else [gradient], frame=user_frame(2))
    return trace.show(**options)


def draw(y: Tensor | Trace, **words: Never) -> Drawing:
    """The still picture of a graph; with the gradients where backward has run from ``y``, marked as not yet computed otherwise.

    It shows itself as SVG, light or dark as the notebook is, and has ``to_svg``, ``to_dot``, ``to_png``, ``to_pdf``, ``to_html``.

    >>> import tensorviz as tv
    >>> x = tv.tensor(3.0, requires_grad=True, name="x")
    >>> tv.draw(x * x).to_svg()[:4]
    '<svg'
    """
    from tensorviz.widgets.drawing import draw as drawing

    if words:
        word = next(iter(words))
        raise OptionTypeError(f"draw takes no {word}=: give it to what writes the picture, as in draw(y).to_svg({word}=...)")
    if isinstance(y, Trace):
        return drawing(y)
    if not isinstance(y, Tensor):
        raise GraphError(f"draw() takes a Tensor or a Trace, got {type(y).__name__}")
    return drawing(y.trace if y.trace is not None else Trace(forward_only([y], user_frame(2))))
