"""Adam and AdamW. Imports the engine only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from tensorviz.arguments import number, shown
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import OptionError
from tensorviz.optim.optimizer import Array, Optimizer


class Adam(Optimizer):
    """``w -= lr * m / (sqrt(v) + eps)``, with m and v the running means of g and g², each divided by ``1 - beta ** t`` (Kingma, Ba, 2015).

    ``weight_decay`` adds that multiple of w to g. As in PyTorch, without amsgrad.
    Raises ValueError for negative settings and betas outside [0, 1); for the parameters as :class:`Optimizer`.

    >>> import tensorviz as tv
    >>> w = tv.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = Adam([w], lr=0.1, eps=0.0)
    >>> trace = (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.tolist()  # the first step is lr in the direction of the sign
    [0.9, -1.9]
    """

    settings: ClassVar[tuple[str, ...]] = ("lr", "betas", "eps", "weight_decay")

    def __init__(
        self,
        parameters: Iterable[Tensor] | Iterable[tuple[str, Tensor]],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(parameters, lr)
        name = type(self).__name__
        given: Any = betas
        if not isinstance(given, (tuple, list)) or len(given) != 2:
            raise OptionError(f"{name}: betas are two numbers, such as (0.9, 0.999), got {shown(betas)}")
        self.betas = (number(name, "betas[0]", betas[0], least=0, below=1), number(name, "betas[1]", betas[1], least=0, below=1))
        self.eps = number(name, "eps", eps, least=0)
        self.weight_decay = number(name, "weight_decay", weight_decay, least=0)

    def update(self, value: Array, gradient: Array, memory: dict[str, Array]) -> Array:
        if self.weight_decay:
            gradient = gradient + self.weight_decay * value
        return self.moved(value, gradient, memory)

    def moved(self, value: Array, gradient: Array, memory: dict[str, Array]) -> Array:
        """The parameter after a step without weight decay."""
        b1, b2 = self.betas
        if not memory:
            memory |= {"step": np.array(0), "mean": np.zeros_like(gradient), "square": np.zeros_like(gradient)}
        t = int(memory["step"]) + 1
        m = b1 * memory["mean"] + (1 - b1) * gradient
        v = b2 * memory["square"] + (1 - b2) * (gradient * gradient)
        memory |= {"step": np.array(t), "mean": m, "square": v}
        # both means start at 0; dividing takes that out again
        return value - (self.lr / (1 - b1**t)) * m / (np.sqrt(v / (1 - b2**t)) + self.eps)


class AdamW(Adam):
    """:class:`Adam`, but the weight decay shrinks w itself, ``w *= 1 - lr * weight_decay``, and does not enter m and v (Loshchilov, Hutter, 2019).

    As in PyTorch, without amsgrad. Raises as :class:`Adam`.

    >>> import numpy as np
    >>> import tensorviz as tv
    >>> w = tv.tensor([1.0], requires_grad=True)
    >>> optimizer = AdamW([w], lr=0.1, weight_decay=0.5)
    >>> w.grad = np.array([0.0])
    >>> optimizer.step()
    >>> w.tolist()  # 1 - 0.1 * 0.5
    [0.95]
    """

    def __init__(
        self,
        parameters: Iterable[Tensor] | Iterable[tuple[str, Tensor]],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        super().__init__(parameters, lr, betas, eps, weight_decay)

    def update(self, value: Array, gradient: Array, memory: dict[str, Array]) -> Array:
        return self.moved(value * (1 - self.lr * self.weight_decay), gradient, memory)
