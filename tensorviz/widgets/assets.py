"""The built browser files that the wheel carries, read once. Imports nothing of ours."""

from __future__ import annotations

from functools import cache
from pathlib import Path

STATIC = Path(__file__).parent / "static"


@cache
def text(name: str) -> str:
    """One file of ``static/``: ``stepper.js``, ``stepper.css``, ``host.js`` or ``drawing.js``."""
    return (STATIC / name).read_text("utf-8")
