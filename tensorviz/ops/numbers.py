"""Numbers as arrays without axes: NumPy takes half as long with one as with a Python number, which it must convert at every call. Imports nothing of ours."""

from __future__ import annotations

from typing import Any

import numpy as np


class _Constant(dict[Any, Any]):
    """One number in every dtype: ``ZERO[a.dtype]``. Given the operand's own dtype, so that it changes none."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number

    def __missing__(self, dtype: Any) -> Any:
        made = self[dtype] = np.array(self._number, dtype)
        made.flags.writeable = False
        return made


ZERO = _Constant(0)
