"""What the rule of an op of the user's reads of what forward kept for it: a higher derivative does not see it, and would be wrong. Imports the engine only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorviz.engine.aside import Aside
from tensorviz.engine.graph import local
from tensorviz.engine.node import Node
from tensorviz.engine.sweep import describe
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import RuleError
from tensorviz.ops.reached import unchanged

_STEP = 2.0**-12
"""Of the size of an operand: far above round-off in the shares, and so small that what is smooth is as good as straight."""
_STRAIGHT = 0.1
"""How far, relatively, twice as long a step may be from changing the shares twice as much. What jumps (a mask at a kink) or is drawn anew is farther."""


def refuse_hidden(
    node: Node, operands: Sequence[Any], shares_after: Callable[[Sequence[Any]], Sequence[Any]], functions: Sequence[Callable[..., Any]]
) -> None:
    """Raise where the shares change with operands of which the rule is told nothing, and somebody goes on to differentiate by those.

    ``shares_after`` runs forward on other operands, and then the rule on those of the node; what the two ``functions`` keep is afterwards what it was,
    as far as they reach it by their names, since forward may draw it, and at the end forward has run on the operands of the node again.
    """
    rule = local.thread.rule
    if rule is None:
        return
    with unchanged(*functions):
        moves = _moves([n.value for n in node.inputs], shares_after)
    if moves and any(rule[1](x) for x in operands if isinstance(x, Tensor)):
        raise RuleError(
            f"the backward rule of {describe(node)} reads what forward kept for it, in a list, a dict or an attribute. That serves for a gradient, but a derivative of the "
            f"gradient does not see how it follows from the operands, and would be wrong. Have the rule compute it anew from the operands that it is given"
        )


def _moves(values: Sequence[Any], shares_after: Callable[[Sequence[Any]], Sequence[Any]]) -> bool:
    """Whether shares move smoothly with operands of which forward alone is told."""
    rng = np.random.default_rng(0)
    ways = [rng.uniform(0.5, 1.0, np.shape(x)) * _size(x) for x in values]

    def at(t: float) -> Any:
        moved = [np.asarray(x + t * way, dtype=x.dtype)[()] if np.any(way) else x for x, way in zip(values, ways, strict=True)]
        return np.concatenate([np.zeros(0), *[np.ravel(s).astype(np.float64) for s in shares_after(moved) if s is not None]])

    with Aside(), np.errstate(all="ignore"):
        try:
            far = at(1.0) - at(-1.0)
            near = at(0.5) - at(-0.5) if far.any() else far
            at(0.0)  # so that what forward keeps is of the node's own operands again
        except Exception:  # noqa: BLE001 - functions that cannot be run at another point tell nothing
            return False
    length = np.linalg.norm(far)
    return bool(np.isfinite(length) and length > 0 and np.linalg.norm(far - 2 * near) <= _STRAIGHT * length)


def _size(x: Any) -> Any:
    """How far an operand's elements are moved: whole numbers not at all."""
    if not isinstance(x, (np.ndarray, np.floating)) or x.dtype.kind != "f":
        return 0.0
    size = np.abs(np.where(np.isfinite(x), x, 0.0))
    return _STEP * (size + 0.01 * (np.max(size, initial=0.0) or 1.0))
