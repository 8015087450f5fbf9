"""What stands above and below a wire: a small table, one number, or statistics, and how much room it needs. Imports format and text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tensorviz.trace import Array
from tensorviz.views import format as fmt
from tensorviz.views import text

Form = Literal["cells", "number", "stats"]

MOST_CELLS, MOST_ROWS, MOST_COLS = 24, 4, 8
CELL_HEIGHT, CELL_LEAST = 25.0, 45.0
SIZE = 14.0
"""Of numbers on wires."""
SMALL = 12.0
"""Of shapes; nothing is smaller."""
LINE = 16.0
MARK = 16.0
"""Room for the ∂ at the left of a table."""


@dataclass(frozen=True, slots=True)
class Label:
    """The room that an array (or several that replace each other at one place) needs, and in which form it is shown."""

    form: Form
    gradient: bool
    rows: int
    cols: int
    cell: float
    """Width of one cell."""
    width: float
    height: float
    shape: str
    """Printed where the table does not show it; otherwise empty."""


def form_of(array: Array) -> Form:
    """One number for size 1, a table for up to 24 entries in 4 rows of 8, statistics for the rest.

    >>> import numpy as np
    >>> form_of(np.zeros(())), form_of(np.zeros((2, 3))), form_of(np.zeros(25))
    ('number', 'cells', 'stats')
    """
    if array.size == 1:
        return "number"
    rows, cols = grid(array.shape)
    return "cells" if 0 < array.size <= MOST_CELLS and rows <= MOST_ROWS and cols <= MOST_COLS else "stats"


def grid(shape: Sequence[int]) -> tuple[int, int]:
    """Rows and columns of the table of an array: the last axis runs to the right, all others down."""
    if not shape:
        return 1, 1
    return math.prod(shape[:-1]), shape[-1]


MANY = 1000
"""Numbers that are measured for one place; where there are more, it is as wide as any."""
WIDEST = fmt.number(-1.234e-300)


def label(arrays: Sequence[Array], gradient: bool) -> Label:
    """The label of a place where each of ``arrays`` (of one shape) is shown at some step."""
    first = arrays[0]
    form = form_of(first)
    dims = fmt.shape(first.shape)
    if form == "cells":
        rows, cols = grid(first.shape)
        longest = max(text.units(word) for array in arrays for word in fmt.cells(array))
        # A table shows its shape by itself up to two axes; else it stands above, and would reach over the wire beside a narrow table.
        above = dims if first.ndim > 2 and not gradient else ""
        cell = max(CELL_LEAST, math.ceil(text.ADVANCE * SIZE * longest) + 11.0, math.ceil(text.width(above, SMALL) / cols))
        return Label(form, gradient, rows, cols, cell, cols * cell, rows * CELL_HEIGHT + (LINE if above else 0), above)
    if form == "number":
        # A value that is used all over has as many sums as uses: then room for any number is found sooner than the longest of them.
        words = [WIDEST] if len(arrays) > MANY else [fmt.number(array.reshape(-1)[0]) for array in arrays]
        lead = "∂ " if gradient else ""
        return Label(form, gradient, 1, 1, 0.0, max(text.width(lead + word, SIZE) for word in words), 18.0, "")
    words = [norm_mark(gradient, array) + fmt.stats(array) for array in arrays]
    wide = max(text.width(word, SIZE) for word in words)
    if gradient:
        return Label(form, gradient, 0, 0, 0.0, wide, 18.0, "")
    return Label(form, gradient, 0, 0, 0.0, max(wide, text.width(dims, SMALL)), 18.0 + LINE, dims)


def norm_mark(gradient: bool, array: Array) -> str:
    """What stands before the statistics of an array: truth values have no norm."""
    return "" if array.dtype.kind == "b" else "‖∂‖ " if gradient else "‖·‖ "


def shown(array: Array) -> list[str]:
    """The texts of a label in row-major order: one per cell, or the one number, or the statistics."""
    form = form_of(array)
    if form == "cells":
        return fmt.cells(array)
    return [fmt.number(array.reshape(-1)[0]) if form == "number" else fmt.stats(array)]
