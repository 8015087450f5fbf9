"""Mistakes in unbroadcasting: no-unbroadcast, wrong-axes. Imports the sweep."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tensorviz.axes import in_words
from tensorviz.teaching.sweep import Mistake, Place, Stop, Sweep, title
from tensorviz.trace import Array


def _unbroadcast(sweep: Sweep) -> Iterable[Place]:
    return [Place(s.share.consumer, s.share.slot) for s in sweep.trace.data.steps if s.kind == "unbroadcast" and s.share is not None]


class NoUnbroadcast(Mistake):
    """The axes that forward copied along are not summed."""

    name = "no-unbroadcast"
    wrong = "The gradient of an operand that was broadcast is not summed over the axes that it grew, and does not fit it."
    nowhere = "no operand of this graph was broadcast"

    def places(self, sweep: Sweep) -> Iterable[Place]:
        return _unbroadcast(sweep)

    def fitted(self, sweep: Sweep, i: int, slot: int, local: Array) -> tuple[tuple[int, ...], Any]:
        if Place(i, slot) not in sweep.acting:
            return super().fitted(sweep, i, slot, local)
        target = sweep.nodes[sweep.nodes[i].inputs[slot]]
        axes = sweep.sent[i, slot].summed_axes
        raise Stop(
            f"the share for {title(target)} has shape {local.shape}, {title(target)} has shape {target.shape}, and nothing sums {in_words(axes)}"
        )


class WrongAxes(Mistake):
    """An axis at which the operand has its full size is summed, too."""

    name = "wrong-axes"
    wrong = "An axis at which the operand has its full size is summed, too, and the in-place add spreads what is left over the operand again."
    nowhere = "no operand of this graph was broadcast that has an axis of full size besides"

    def places(self, sweep: Sweep) -> Iterable[Place]:
        for place in _unbroadcast(sweep):
            share = sweep.sent[place.node, place.slot]
            if _full(share.local.shape, sweep.nodes[share.target].shape):
                yield place

    def fitted(self, sweep: Sweep, i: int, slot: int, local: Array) -> tuple[tuple[int, ...], Any]:
        right, value = super().fitted(sweep, i, slot, local)
        if Place(i, slot) not in sweep.acting:
            return right, value
        target = sweep.nodes[sweep.nodes[i].inputs[slot]]
        full = _full(local.shape, target.shape)[-1]
        axes = tuple(sorted((*right, full)))
        left = np.add.reduce(local, axis=axes, keepdims=True).reshape([1 if k == full else s for k, s in _numbered(local.shape, target.shape)])
        sweep.act(
            i,
            f"The wrong engine sums {local.shape} over {in_words(axes)}, though {title(target)} of shape {target.shape} has its full size at axis {full}: "
            f"what is left, {left.shape}, is spread over {title(target)} again. It should sum {in_words(right)} alone.",
        )
        return axes, np.array(np.broadcast_to(left, target.shape))


def _numbered(local: tuple[int, ...], shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """The operand's sizes, each with its axis in the share."""
    return [(len(local) - len(shape) + k, s) for k, s in enumerate(shape)]


def _full(local: tuple[int, ...], shape: tuple[int, ...]) -> list[int]:
    """The axes of the share at which the operand has its full size, and that is more than one element."""
    return [k for k, s in _numbered(local, shape) if s > 1]
