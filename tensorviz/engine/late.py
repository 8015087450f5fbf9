"""What is loaded when it is first needed, so that an import does not wait for it: the module that makes records, and the ops that most programs do without. Imports nothing before."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tensorviz.engine.threads import relock

STARTED = time.time()
"""When the import was. A file that was not written to since was compiled as it is."""

_record: Any = None


def record_module() -> Any:
    """The module ``record``."""
    global _record
    if _record is None:
        from tensorviz.engine import record

        _record = record
    return _record


load_rest: Callable[[], None] | None = None
"""Loads the ops and functions that an import leaves out; set by the ops, None as soon as they are there."""
_loading = relock()
_under_way = False


def load_all() -> bool:
    """Make every op and function known; True where some may have been missing. Another thread waits until they are there."""
    global load_rest, _under_way
    rest = load_rest
    if rest is None:
        return False
    with _loading:
        if _under_way:
            return False  # asked by a module that is being loaded
        _under_way = True
        try:
            rest()  # once more in a second thread, which costs nothing
            load_rest = None
        finally:
            _under_way = False
    return True
