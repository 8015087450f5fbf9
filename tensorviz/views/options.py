"""What options of pictures may be: refused with a sentence that lists what there is. Imports argument checks only."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from tensorviz.arguments import number, shown, whole
from tensorviz.errors import DTypeError, OptionTypeError


def check_values(where: str, scale: Any = 1.0, max_nodes: Any = 1, title: Any = None, timeout: Any = 1.0) -> None:
    """``ValueError`` or ``TypeError`` for what is no scale, no count, no title or no time."""
    number(where, "scale", scale, above=0, below=100)
    whole(where, "max_nodes", max_nodes, least=1)
    number(where, "timeout", timeout, above=0)
    if title is not None and not isinstance(title, str):
        raise DTypeError(f"{where}: title must be a str or None, not {shown(title)}")


_LIKE = {"theme": "palette", "palette": "theme"}
"""A page has a theme and a picture a palette, with the same words for both."""

_NEAR = 0.75
"""From which likeness on a name may be a slip of the pen: ``titel`` is 0.8 like ``title``, ``colour`` 0.6 like ``columns``."""


def refuse_unknown(function: str, unknown: Mapping[str, Any], options: tuple[str, ...]) -> None:
    """``TypeError`` that names the option that does not exist, the one that was probably meant, and lists those that do."""
    if not unknown:
        return
    name, value = next(iter(unknown.items()))
    near = [_LIKE[name]] if _LIKE.get(name) in options else difflib.get_close_matches(name, options, 1, _NEAR)
    meant = f" (did you mean {near[0]}={shown(value)}?)" if near else ""
    raise OptionTypeError(f"{function} has no option {', '.join(map(repr, unknown))}{meant}; it has {', '.join(options)}")
