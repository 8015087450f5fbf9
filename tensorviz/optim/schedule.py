"""Schedules of the learning rate. Imports nothing of ours but optimizers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tensorviz.arguments import mapping, number, shown, whole
from tensorviz.errors import DTypeError, OptionError, StateError
from tensorviz.optim.optimizer import Optimizer


class Schedule:
    """Sets ``optimizer.lr`` at the start and at every :meth:`step`, which is called after the optimizer's own.

    A subclass says in :meth:`factor` by what the optimizer's first learning rate is multiplied after k steps.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        if not isinstance(optimizer, Optimizer):
            raise DTypeError(f"{type(self).__name__} takes an optimizer, got {type(optimizer).__name__}")
        self.optimizer = optimizer
        self.first = optimizer.lr
        """The learning rate that the factors multiply."""
        self.count = 0
        optimizer.lr = self.lr_at(0)

    def factor(self, k: int) -> float:
        """By what the first learning rate is multiplied after k steps."""
        raise NotImplementedError(f"{type(self).__name__} has no factor(k)")

    def lr_at(self, k: int) -> float:
        """The learning rate after k steps."""
        return self.first * self.factor(k)

    def step(self) -> None:
        """Count one step and set the learning rate."""
        self.count += 1
        self.optimizer.lr = self.lr_at(self.count)

    def state_dict(self) -> dict[str, float]:
        """The steps so far and the first learning rate."""
        return {"count": self.count, "first": self.first}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from a state; sets the learning rate. Raises StateError (a ValueError) for names that are missing."""
        mapping("load_state_dict", "its argument", state_dict, "state_dict() gives it")
        missing = [name for name in ("count", "first") if name not in state_dict]
        if missing:
            raise StateError(f"the state does not fit this {type(self).__name__}: missing: {', '.join(missing)}")
        try:
            count, first = whole("count", "it", state_dict["count"], least=0), number("first", "it", state_dict["first"], least=0)
        except OptionError as error:
            raise StateError(f"the state does not fit this {type(self).__name__}: {error}") from None
        self.count, self.first = count, first
        self.optimizer.lr = self.lr_at(self.count)


class StepLR(Schedule):
    """Multiplies the learning rate by ``gamma`` every ``step_size`` steps. As in PyTorch. Raises ValueError for a step_size below 1.

    >>> import tensorviz as tv
    >>> optimizer = tv.optim.SGD([tv.tensor(1.0, requires_grad=True)], lr=1.0)
    >>> schedule = StepLR(optimizer, 2, gamma=0.5)
    >>> [schedule.lr_at(k) for k in range(5)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1) -> None:
        self.step_size, self.gamma = whole("StepLR", "step_size", step_size, least=1), number("StepLR", "gamma", gamma)
        super().__init__(optimizer)

    def factor(self, k: int) -> float:
        return self.gamma ** (k // self.step_size)


class CosineLR(Schedule):
    """Half a cosine from the learning rate down to ``lowest`` in ``steps`` steps, where it stays (Loshchilov, Hutter, 2017).

    PyTorch's CosineAnnealingLR, which goes up again afterwards. Raises ValueError for steps below 1.

    >>> import tensorviz as tv
    >>> optimizer = tv.optim.SGD([tv.tensor(1.0, requires_grad=True)], lr=1.0)
    >>> schedule = CosineLR(optimizer, 2, lowest=0.5)
    >>> [round(schedule.lr_at(k), 6) for k in range(4)]
    [1.0, 0.75, 0.5, 0.5]
    """

    def __init__(self, optimizer: Optimizer, steps: int, lowest: float = 0.0) -> None:
        self.steps, self.lowest = whole("CosineLR", "steps", steps, least=1), number("CosineLR", "lowest", lowest)
        super().__init__(optimizer)

    def factor(self, k: int) -> float:
        return (1 + math.cos(math.pi * min(k, self.steps) / self.steps)) / 2

    def lr_at(self, k: int) -> float:
        return self.lowest + (self.first - self.lowest) * self.factor(k)


class LinearWarmup(Schedule):
    """From ``start`` times the learning rate up to all of it in ``steps`` steps, in equal parts; then ``after``, a schedule that counts from there.

    PyTorch's LinearLR, with ``after`` in place of SequentialLR. Raises ValueError for steps below 1 and for an ``after`` of another optimizer.

    >>> import tensorviz as tv
    >>> optimizer = tv.optim.SGD([tv.tensor(1.0, requires_grad=True)], lr=1.0)
    >>> schedule = LinearWarmup(optimizer, 4, start=0.0, after=StepLR(optimizer, 1, gamma=0.5))
    >>> [schedule.lr_at(k) for k in range(7)]
    [0.0, 0.25, 0.5, 0.75, 1.0, 0.5, 0.25]
    """

    def __init__(self, optimizer: Optimizer, steps: int, start: float = 1 / 3, after: Schedule | None = None) -> None:
        if after is not None and not isinstance(after, Schedule):
            raise DTypeError(f"LinearWarmup: after is a schedule or None, got {shown(after)}")
        if after is not None and after.optimizer is not optimizer:
            raise OptionError("LinearWarmup: `after` belongs to another optimizer")
        if after is not None:
            optimizer.lr = after.first  # what `after` has made of it is for later
        self.steps, self.start, self.after = whole("LinearWarmup", "steps", steps, least=1), number("LinearWarmup", "start", start), after
        super().__init__(optimizer)

    def factor(self, k: int) -> float:
        return self.start + (1 - self.start) * min(k, self.steps) / self.steps

    def lr_at(self, k: int) -> float:
        if self.after is not None and k >= self.steps:
            return self.after.lr_at(k - self.steps)
        return super().lr_at(k)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        if self.after is not None and "first" in state_dict:
            self.after.load_state_dict({"count": 0, "first": state_dict["first"]})
        super().load_state_dict(state_dict)
