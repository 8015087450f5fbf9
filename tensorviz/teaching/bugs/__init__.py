"""The classic mistakes, one class each, by name. Imports the sweep that they are made in."""

from __future__ import annotations

from tensorviz.teaching.bugs.adding import Average, Detached, NoZeroGrad, Overwrite, WrongOrder
from tensorviz.teaching.bugs.rules import FirstWins, StaleSaved, Transposed
from tensorviz.teaching.bugs.shapes import NoUnbroadcast, WrongAxes
from tensorviz.teaching.sweep import Mistake

BUGS: dict[str, Mistake] = {
    bug.name: bug
    for bug in (
        Overwrite(),
        Average(),
        NoUnbroadcast(),
        WrongAxes(),
        NoZeroGrad(),
        WrongOrder(),
        FirstWins(),
        Transposed(),
        StaleSaved(),
        Detached(),
    )
}
"""Every mistake that :meth:`Trace.with_bug` knows."""
