"""Recorded graphs written in primitives: ``lower``, what it returns, and the lowering of every op that has one. Imports primitives, ops, the engine and the record."""

from tensorviz.lowering import contraction, elementwise, indexing, movement, network, reduction, windows  # noqa: F401 - each makes its lowerings known
from tensorviz.lowering.lowered import Lowered
from tensorviz.lowering.rewriting import has_lowering, lower
from tensorviz.lowering.rules import RULES, lowering

__all__ = ["RULES", "Lowered", "has_lowering", "lower", "lowering"]
