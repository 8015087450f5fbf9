"""Clipping of gradients. Imports the engine only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tensorviz.arguments import number, shown
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import DTypeError


def clip_grad_norm(parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0) -> float:
    """Scale all gradients together so that their common norm is at most ``max_norm``; gives the norm from before.

    Parameters without a gradient do not count. Gradients whose norm is NaN or infinite are left as they are, to be looked at; check the norm.
    PyTorch's ``clip_grad_norm_``, which divides by the norm plus 1e-6 and scales those too. Raises ValueError for a negative max_norm.

    >>> import tensorviz as tv
    >>> w = tv.tensor([0.0, 0.0], requires_grad=True)
    >>> w.grad = np.array([3.0, 4.0])
    >>> clip_grad_norm([w], 2.5)
    5.0
    >>> w.grad.tolist()
    [1.5, 2.0]
    """
    number("clip_grad_norm", "max_norm", max_norm, least=0)
    number("clip_grad_norm", "norm_type", norm_type)
    several: Any = parameters
    if not isinstance(several, Iterable):
        raise DTypeError(f"clip_grad_norm takes a Tensor or an iterable of them, such as model.parameters(), got {shown(several)}")
    given = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    for i, p in enumerate(given):
        if not isinstance(p, Tensor):
            raise DTypeError(f"clip_grad_norm takes a Tensor or an iterable of them, such as model.parameters(), got {shown(p)} at position {i}")
    gradients = [p.grad for p in given if p.grad is not None]
    # a norm of norms is the norm of all; in float64, so that float32 gradients do not overflow
    norms = [np.linalg.norm(g.ravel().astype(np.float64), norm_type) for g in gradients]
    total = float(np.linalg.norm(norms, norm_type)) if norms else 0.0
    if max_norm < total < np.inf:
        for g in gradients:
            g *= max_norm / total
    return total
