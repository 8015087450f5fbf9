"""The dropout layer. Imports the engine and the ops only."""

from __future__ import annotations

from typing import Any

from tensorviz.nn.initial import Rng, generator
from tensorviz.nn.module import Module
from tensorviz.ops.noise import check_probability, dropout


class Dropout(Module):
    """While training, each element becomes 0 with probability ``p`` and the others are divided by ``1 - p``; in evaluation, nothing (Srivastava and others, 2014).

    The layer has a random generator of its own, made from ``rng``: the same seed drops the same elements in the same order of calls, and
    NumPy's global generator is left alone. Otherwise as in PyTorch. Raises ValueError unless 0 <= p <= 1.

    >>> import numpy as np
    >>> layer = Dropout(0.5, rng=0)
    >>> layer.eval()(np.ones(3)).tolist()
    [1.0, 1.0, 1.0]
    """

    def __init__(self, p: float = 0.5, *, rng: Rng = None) -> None:
        self.p = check_probability("Dropout", p)
        self.rng = generator("Dropout", rng)

    def forward(self, x: Any) -> Any:
        return dropout(x, self.p, self.training, self.rng)

    def extra_repr(self) -> str:
        return f"p={self.p}"
