"""``x.flat``: the elements of a Tensor one after the other, in the order of their indices, as NumPy has it. Knows no op."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorviz.engine.graph import holds_tensor

if TYPE_CHECKING:
    import numpy.typing as npt

    from tensorviz.engine.tensor import Tensor


class Flat:
    """What is read is recorded, and what is written to changes the Tensor, wherever its elements stand in memory."""

    __slots__ = ("base",)

    def __init__(self, base: Tensor) -> None:
        self.base = base

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.base.reshape(-1))

    def __getitem__(self, key: Any) -> Tensor:
        """Elements of their own, which may be written to without changing the Tensor, as with arrays."""
        found = self.base.reshape(-1)[key]
        return found.copy() if isinstance(key, slice) else found  # type: ignore[no-any-return]

    def __setitem__(self, key: Any, value: Any) -> None:
        """As with arrays, values that are too few are repeated, and those that are too many left out."""
        chosen = np.arange(self.base.size)[key]
        if np.ndim(chosen) and not (isinstance(value, (list, tuple)) and holds_tensor(value)) and np.ndim(value):
            value = np.resize(value, chosen.shape)
        self.base[np.unravel_index(chosen, self.base.shape)] = value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.asarray(self.base.reshape(-1), dtype=dtype)

    def copy(self) -> Tensor:
        return self.base.flatten()  # type: ignore[no-any-return]
