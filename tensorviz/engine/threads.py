"""What is kept apart per thread, and locks. The module ``threading`` is made of these, and loading it is one part in sixty of ``import numpy``."""

from __future__ import annotations

from _thread import RLock as relock  # noqa: N813 - used as the function that it was
from _thread import _local as Local  # noqa: N812 - a class, whatever its name
from _thread import allocate_lock as lock

__all__ = ["Local", "lock", "relock"]
