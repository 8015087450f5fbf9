"""Stochastic gradient descent. Imports the engine only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from tensorviz.arguments import number
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import OptionError
from tensorviz.optim.optimizer import Array, Optimizer


class SGD(Optimizer):
    """``w -= lr * g``, with momentum: ``v = momentum * v + g`` and ``w -= lr * v``, or with ``nesterov``: ``w -= lr * (g + momentum * v)``.

    ``weight_decay`` adds that multiple of w to g. ``v`` starts as the first g. As in PyTorch, without dampening (Sutskever and others, 2013).
    Raises ValueError for negative settings and for nesterov without momentum; for the parameters as :class:`Optimizer`.

    >>> import tensorviz as tv
    >>> w = tv.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = SGD([w], lr=0.5)
    >>> trace = (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.tolist()  # w - 0.5 * 2 w
    [0.0, 0.0]
    """

    settings: ClassVar[tuple[str, ...]] = ("lr", "momentum", "weight_decay", "nesterov")

    def __init__(
        self,
        parameters: Iterable[Tensor] | Iterable[tuple[str, Tensor]],
        lr: float = 1e-3,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        super().__init__(parameters, lr)
        self.momentum = number("SGD", "momentum", momentum, least=0)
        self.weight_decay = number("SGD", "weight_decay", weight_decay, least=0)
        self.nesterov = bool(nesterov)
        if nesterov and not momentum:
            raise OptionError("SGD: nesterov=True looks ahead along the momentum, so momentum must be greater than 0")

    def update(self, value: Array, gradient: Array, memory: dict[str, Array]) -> Array:
        g = gradient + self.weight_decay * value if self.weight_decay else gradient
        if self.momentum:
            v = memory["momentum"] = self.momentum * memory["momentum"] + g if "momentum" in memory else g.copy()
            g = g + self.momentum * v if self.nesterov else v
        return value - self.lr * g
