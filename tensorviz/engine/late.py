"""The module that makes records: loaded by the first pass, so that an import does not wait for it. Imports nothing before."""

from __future__ import annotations

from typing import Any

_record: Any = None


def record_module() -> Any:
    """The module ``record``."""
    global _record
    if _record is None:
        from tensorviz.engine import record

        _record = record
    return _record
