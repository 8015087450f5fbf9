"""Every exception that tensorviz raises by name, each also a built-in. Imports nothing of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


class TensorvizError(Exception):
    """Base of all; catch it to catch everything that tensorviz raises on purpose."""


class DTypeError(TensorvizError, TypeError):
    """A dtype that cannot be used here (an integer that should require a gradient, complex, object), or an argument of a type that is not taken."""


class OptionError(TensorvizError, ValueError):
    """A setting outside what there is: a mode that does not exist, a number out of its range, arguments that exclude each other."""


class OptionTypeError(OptionError, DTypeError):
    """A setting that is not even of the right type."""


class NumberError(TensorvizError, OverflowError):
    """A number that does not fit into the dtype that it meets."""


class NamingError(TensorvizError, AttributeError):
    """An attribute that is not there, or a name that cannot be one: it is no identifier, or it is taken."""


def no_attribute(owner: str, name: str, instead: Mapping[str, str], of: object) -> NamingError:
    """What is said of an attribute that does not exist: what there is in its place, or a name like it."""
    found = instead.get(name.lower())
    if found is None and not name.startswith("_"):
        import difflib

        known = [k for k in dir(of) if not k.startswith("_")]
        near = [k for k in known if k.lower() == name.lower()] or difflib.get_close_matches(name, known, 1, 0.7)
        found = f"did you mean {near[0]}?" if near else None
    return NamingError(f"{owner} has no attribute {name!r}{'' if found is None else f': {found}'}")  # without name=, for which Python guesses, too


class ShapeError(TensorvizError, ValueError):
    """Shapes that do not fit: operands, a seed, a share of a rule, an in-place result."""


class ConversionError(ShapeError, TypeError):
    """A Tensor of several elements where Python wants one number; NumPy says TypeError to it, PyTorch ValueError."""


class AxisError(ShapeError, np.exceptions.AxisError):
    """An axis that an operand does not have, or one that is named twice. NumPy's own kind, too."""


class LinearAlgebraError(TensorvizError, np.linalg.LinAlgError):
    """A matrix with which this cannot be done: singular, or not positive definite. NumPy's own kind, too."""


class IndexingError(TensorvizError, IndexError):
    """A position outside an operand, or an index that is none."""


class SeedError(TensorvizError, ValueError, RuntimeError):
    """``backward`` needs a seed (``gradient=``), or got one that does not fit."""


class GraphError(TensorvizError, RuntimeError):
    """``backward`` on a value that has no graph: a constant, a detached value, one made under ``no_grad``."""


class DepthError(TensorvizError, RecursionError):
    """Modules that stand in each other deeper than Python's calls can."""


class InPlaceError(TensorvizError, RuntimeError):
    """An in-place change that is refused, or that destroyed what a backward rule had saved."""


class RuleError(TensorvizError, RuntimeError):
    """An op's backward rule failed or returned something that is no gradient of its operand."""

    trace: Any = None
    """The record of the pass up to there, where a recorded pass was under way."""


class Breakpoint(TensorvizError, RuntimeError):  # noqa: N818 - nothing went wrong: the pass was asked to stop here
    """A live backward pass came to a point at which ``tv.break_on`` told it to stop."""

    kind: str = ""
    """What held: ``nan``, ``fork``, ..., ``op``, ``node``, ``norm`` or ``when``."""
    node: int | None = None
    """Id in ``trace`` of the node at fault or in question."""
    op: str = ""
    source: Any = None
    """Where in the user's code that node was made."""
    why: str = ""
    trace: Any = None
    """The record of the pass up to there (``trace.data.complete`` is False); no ``.grad`` was written."""
    step: int = -1
    """The step of ``trace.steps`` at which it held."""


class BreakpointError(TensorvizError, ValueError):
    """A breakpoint that is none."""


class NoRuleError(TensorvizError, TypeError):
    """A NumPy function that has no rule."""


class ReadOnlyError(RuleError, ValueError):
    """A function of a custom op that writes into an array which it was given."""


class OpDefinitionError(TensorvizError, TypeError):
    """An op class that is incomplete, refused when it is defined."""


class RecordError(TensorvizError, ValueError):
    """A record that does not hold together, or a file that is none."""

    @staticmethod
    def no_node(message: str) -> NodeLookupError:
        return NodeLookupError(message)


class NodeLookupError(TensorvizError, KeyError):
    """A name, id or Tensor that is not in the record."""

    def __str__(self) -> str:
        return str(self.args[0])


class ReplayError(TensorvizError, RuntimeError):
    """A recorded graph that cannot be run again."""


class LoweringError(TensorvizError, NotImplementedError):
    """An op that ``tv.lower`` cannot write in primitives: it has no lowering, or its lowering would be too large."""


class StateError(TensorvizError, ValueError, RuntimeError):
    """A state (of a module or an optimizer) that does not fit, or a file that holds none."""


class CheckError(TensorvizError, AssertionError):
    """``gradcheck`` found a gradient that finite differences contradict."""

    report: Any = None
    """The :class:`tensorviz.CheckReport`; None where nothing could be compared."""


class LayoutError(TensorvizError, RuntimeError):
    """A layout engine that is missing, crashed, or took too long."""


class MissingExtraError(TensorvizError, ImportError):
    """Something optional is not installed; the message gives the pip command."""


class SiteError(TensorvizError, ValueError):
    """A folder of notebooks that cannot become a site: what is missing, or the cell that raised."""
