"""What options may be: refused with a sentence that lists what there is. Imports nothing of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def check_values(scale: Any, max_nodes: Any, title: Any) -> None:
    """``ValueError`` or ``TypeError`` for what is no scale, no count or no title."""
    if isinstance(scale, bool) or not isinstance(scale, (int, float)) or not 0 < scale < 100:
        raise ValueError(f"scale must be a number above 0 and below 100, not {scale!r}")
    if isinstance(max_nodes, bool) or not isinstance(max_nodes, int) or max_nodes < 1:
        raise ValueError(f"max_nodes must be a positive int, not {max_nodes!r}")
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title must be a str or None, not {type(title).__name__}")


def one_of(option: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{option} must be one of {', '.join(map(repr, choices))}, not {value!r}")


def refuse_unknown(function: str, unknown: Mapping[str, Any], options: tuple[str, ...]) -> None:
    """``TypeError`` that names the option that does not exist and lists those that do."""
    if unknown:
        raise TypeError(f"{function} has no option {', '.join(map(repr, unknown))}; it has {', '.join(options)}")
