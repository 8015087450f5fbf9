"""The Parameter: a leaf that a module learns. Imports the engine only."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tensorviz.engine.graph import weak
from tensorviz.engine.own import Own
from tensorviz.engine.run import TENSORS
from tensorviz.engine.tensor import Tensor, tensor


class Parameter(Tensor):
    """A leaf Tensor that requires a gradient and that modules find among their attributes.

    ``data`` is copied and must be floats (TypeError otherwise). In pictures and records its kind is ``parameter``, and its name is ``name`` if
    given, else the user's variable for it, else its place in the module that was called, such as ``0.weight``.

    >>> w = Parameter([1.0, 2.0])
    >>> w.requires_grad, w.is_leaf
    (True, True)
    """

    __slots__ = ()

    def __init__(self, data: Any, *, dtype: npt.DTypeLike | None = None, requires_grad: bool = True, name: str | None = None) -> None:
        node = tensor(data, dtype=dtype, requires_grad=True, name=name)._current()
        node.needs_grad = bool(requires_grad)
        self.own, self.used = Own(node), False
        rare = node.more()
        rare.owner, rare.path = weak(self), ""

    @property
    def path(self) -> str:
        """Its place in the module that was called last, such as ``0.weight``; empty while it stands in none."""
        rare = self._current().rare
        return (rare.path or "") if rare is not None else ""

    def _twin(self) -> Parameter:
        return _unpickled(self.numpy(), self.requires_grad, self.name)

    def __reduce__(self) -> Any:
        return _unpickled, (np.asarray(self), self.requires_grad, self.name)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"

    def _what(self) -> str:
        name = self.name or self.path
        return f"parameter {name!r}" if name else "this parameter"


TENSORS.add(Parameter)


def place(value: Tensor, path: str, scope: str) -> None:
    """Note on a parameter or buffer where it stands, for the record: its name there, and the scope that it is drawn in."""
    node = value._current()
    node.more().path, node.scope = path, scope


def _unpickled(data: Any, requires_grad: bool, name: str | None) -> Parameter:
    return Parameter(data, requires_grad=requires_grad, name=name)
