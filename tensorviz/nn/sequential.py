"""Modules one after the other. Imports the engine only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, overload

from tensorviz.arguments import shown
from tensorviz.errors import DTypeError, IndexingError
from tensorviz.nn.module import Module


class Sequential(Module):
    """Each module takes what the one before it gives. They are named 0, 1, 2 and so on; the scope of the first is ``Sequential/0.Linear``.

    As in PyTorch, without names of one's own. Raises TypeError for something that is no module.

    >>> from tensorviz import nn
    >>> Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    Sequential(
      (0): Linear(in_features=2, out_features=3, bias=True)
      (1): Tanh()
      (2): Linear(in_features=3, out_features=1, bias=True)
    )
    """

    def __init__(self, *modules: Module) -> None:
        for m in modules:
            self.append(m)

    def append(self, module: Any) -> Sequential:
        """Put one more module at the end; gives the Sequential back."""
        if not isinstance(module, Module):
            what = f"the class {module.__name__}; write {module.__name__}(...)" if isinstance(module, type) else f"{type(module).__name__}"
            raise DTypeError(f"Sequential takes modules, got {what} at position {len(self)}")
        setattr(self, str(len(self)), module)
        return self

    def forward(self, x: Any) -> Any:
        for m in self:
            x = m(x)
        return x

    def __len__(self) -> int:
        return sum(name.isdigit() for name in vars(self))

    def __iter__(self) -> Iterator[Module]:
        return iter([vars(self)[str(i)] for i in range(len(self))])

    @overload
    def __getitem__(self, index: int) -> Module: ...
    @overload
    def __getitem__(self, index: slice) -> Sequential: ...
    def __getitem__(self, index: int | slice) -> Module | Sequential:
        try:
            found = list(self)[index]
        except (IndexError, TypeError):
            raise IndexingError(f"Sequential has {len(self)} modules, numbered from 0; there is no {shown(index)}") from None
        return Sequential(*found) if isinstance(found, list) else found
