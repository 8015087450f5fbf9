"""Runs a recorded graph on many values of one node at once, along a leading axis. Imports replay and the registry; no view or widget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tensorviz.engine.op import REGISTRY, Op, defaults_of
from tensorviz.errors import ReplayError
from tensorviz.replay import Program
from tensorviz.trace import Array

_ROUND_OFF = 2.0**-40
"""Two ways of computing the same thing may differ by a few bits in the last dozen: a matrix product by its order of summation."""


class Stacked:
    """A program whose ops run on stacks of operands.

    An op is lifted by shifting its axes, index and shape by one, and by lining operands up behind the leading axis. Nobody
    says which ops that suits: the first time, two rows of the result are compared with the op run on them alone, and where
    they differ, or the lifted call fails, the op runs row by row.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.trusting = False
        """Take a lifted result without a look, because the caller looks at what comes out in the end."""
        self.lost = False
        """Some result had no value in a row, see :meth:`_single`; the caller takes it back."""
        self._params: dict[tuple[int, int], dict[str, Any]] = {}
        self._lifted: dict[tuple[int, tuple[bool, ...]], bool] = {}

    def run(self, moved: Mapping[int, Array], order: Sequence[int]) -> dict[int, Any]:
        """The stacked values of the moved nodes and of the results in ``order``; all stacks are of one length."""
        values: dict[int, Any] = dict(moved)
        count = len(next(iter(values.values())))
        base, nodes = self.program.values, self.program.nodes
        with np.errstate(all="ignore"):
            for j in order:
                inputs = nodes[j].inputs
                stacked = tuple([k in values for k in inputs])
                values[j] = self.apply(j, [values[k] if s else base[k] for k, s in zip(inputs, stacked, strict=True)], stacked, count)
        return values

    def apply(self, i: int, operands: Sequence[Any], stacked: tuple[bool, ...], count: int) -> Any:
        """The result of node ``i``'s op for ``count`` rows; ``stacked`` says which operands have the leading axis."""
        lifted = self._lifted.get((i, stacked))
        if lifted is None:
            lifted = False
            result = self._attempt(i, operands, stacked, count)
            if result is not None:
                lifted = self.trusting or all(self._agrees(i, operands, stacked, result, row) for row in (count // 2, count - 1))
            self._lifted[i, stacked] = lifted
            if lifted:
                return result
        if lifted:
            result = self._attempt(i, operands, stacked, count)
            if result is not None:
                return result
        return np.stack([self._single(i, operands, stacked, row) for row in range(count)])

    def _single(self, i: int, operands: Sequence[Any], stacked: tuple[bool, ...], row: int) -> Any:
        """The result for one row. A mask that lets other elements through there gives a result of another shape, or one that later ops do not take: it has no value then."""
        node = self.program.nodes[i]
        try:
            found = np.asarray(self.program.apply(i, [v[row] if s else v for v, s in zip(operands, stacked, strict=True)]))
        except ReplayError:
            found = None
        if found is not None and found.shape == node.shape:
            return found
        self.lost = True
        held = np.asarray(self.program.values[i])
        return np.full_like(held, np.nan) if held.dtype.kind == "f" else held

    def _agrees(self, i: int, operands: Sequence[Any], stacked: tuple[bool, ...], result: Any, row: int) -> bool:
        alone = self._single(i, operands, stacked, row)
        there = result[row]
        if there.dtype != alone.dtype or there.shape != alone.shape:
            return False
        if np.array_equal(there, alone):
            return True
        if alone.dtype.kind != "f":
            return False
        top = float(np.max(np.abs(alone), initial=0.0, where=np.isfinite(alone)))
        return bool(np.all((np.abs(there - alone) <= _ROUND_OFF * top) | (there == alone) | (np.isnan(there) & np.isnan(alone))))

    def _attempt(self, i: int, operands: Sequence[Any], stacked: tuple[bool, ...], count: int) -> Any:
        """The op called on the stacks themselves; None where that fails or gives another shape than a stack of results has."""
        node = self.program.nodes[i]
        op = REGISTRY[node.op]
        ranks = [v.ndim - 1 if s else np.ndim(v) for v, s in zip(operands, stacked, strict=True)]
        if op.variadic:
            lined = [v if s else np.broadcast_to(v, (count, *np.shape(v))) for v, s in zip(operands, stacked, strict=True)]
        else:
            top = max(ranks)
            lined = [
                v.reshape(count, *(1,) * (top - rank), *v.shape[1:]) if s and rank < top else v
                for v, s, rank in zip(operands, stacked, ranks, strict=True)
            ]
        try:
            params = self._params.get((i, ranks[0]))
            if params is None or "shape" in params:
                params = self._params[i, ranks[0]] = _shifted(op, self.program.params(i), ranks[0], node.shape, count)
            result = self.program.forward(i)(*lined, **params)
        except Exception:  # noqa: BLE001 - an op that cannot take a stack may raise anything
            return None
        return result if isinstance(result, np.ndarray) and result.shape == (count, *node.shape) else None


@lru_cache(maxsize=1024)
def _defaults(op: Op) -> dict[str, Any]:
    return {} if isinstance(op.run, np.ufunc) else defaults_of(op)


def _shifted(op: Op, params: Mapping[str, Any], rank: int, shape: tuple[int, ...], count: int) -> dict[str, Any]:
    """An op's parameters for operands with one more axis in front."""
    found = dict(params)
    given = {**_defaults(op), **params}
    if "axis" in given:
        axis = given["axis"]
        if axis is None:
            found["axis"] = tuple(range(1, rank + 1))
        elif isinstance(axis, tuple):
            found["axis"] = tuple(a + 1 if a >= 0 else a for a in axis)
        else:
            found["axis"] = axis + 1 if axis >= 0 else axis
    if "axes" in given:
        axes = given["axes"]
        found["axes"] = (0, *range(rank, 0, -1)) if axes is None else (0, *(a % rank + 1 for a in axes)) if isinstance(axes, tuple) else axes
    if "key" in given:
        index = given["key"]
        found["key"] = (slice(None), *index) if isinstance(index, tuple) else (slice(None), index)
    if "shape" in params:
        found["shape"] = (count, *shape)
    return found
