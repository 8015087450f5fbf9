"""What can be set on a stepper, and what is allowed: one place for widget, frame and page. Imports nothing but the record and argument checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tensorviz.arguments import flag, is_list, one_of, shown
from tensorviz.errors import OptionError
from tensorviz.trace import Trace

GRANULARITIES = ("node", "share", "micro")
THEMES = ("auto", "light", "dark", "cs231n")
ALSO_THEMES = {"colorblind": "light"}
"""Palettes of pictures that are themes under another name: light and dark are made for colour-blind readers."""
BREAKPOINTS = ("fork", "unbroadcast", "route", "nan", "inf", "check")
SPEEDS = (0.1, 20.0)

DEFAULTS: dict[str, Any] = {
    "step": 0,
    "playing": False,
    "speed": 1.0,
    "granularity": "micro",
    "selected": None,
    "breakpoints": [],
    "theme": "auto",
    "presentation": False,
}


def valid(where: str, name: str, value: Any, trace: Trace) -> Any:
    """The value in its plain form, or a ValueError that says what would be allowed."""
    match name:
        case "step":
            last = max(0, len(trace.steps) - 1)
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not 0 <= value <= last:
                raise OptionError(f"{where}: step must be an integer from 0 to {last} (a position in trace.steps), got {shown(value)}")
            return int(value)
        case "playing" | "presentation":
            return flag(where, name, value)
        case "speed":
            if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)) or not SPEEDS[0] <= value <= SPEEDS[1]:
                raise OptionError(f"{where}: speed must be a number from {SPEEDS[0]} to {SPEEDS[1]} (1 is a step in 0.9 s), got {shown(value)}")
            return float(value)
        case "granularity":
            one_of(where, name, value, GRANULARITIES)
            return value
        case "theme":
            one_of(where, name, value, (*THEMES, *ALSO_THEMES))
            return ALSO_THEMES.get(value, value)
        case "selected":
            try:
                return None if value is None else trace.node(value).id
            except KeyError as error:
                raise OptionError(f"{where}: selected must be a node or None: {error}") from None
        case "breakpoints":
            return breakpoints(where, value, trace)
    raise OptionError(f"{where}: a stepper has no {name!r}; it has {', '.join(DEFAULTS)}")


def breakpoints(where: str, value: Any, trace: Trace) -> list[str | int]:
    """Kinds as they are, nodes (by Tensor, name or id) as ids; an op is all nodes of it, a function of a node those of which it says True."""
    if not is_list(value):
        raise OptionError(f"{where}: breakpoints must be a list of {', '.join(BREAKPOINTS)}, nodes, ops and functions of a node, got {shown(value)}")
    found: list[str | int] = []
    for item in value:
        if isinstance(item, str) and item in BREAKPOINTS:
            found.append(item)
            continue
        chosen = _chosen(item, trace)
        if chosen is not None:
            found.extend(i for i in chosen if i not in found)
            continue
        try:
            found.append(trace.node(item).id)
        except KeyError as error:
            raise OptionError(f"{where}: breakpoint {shown(item)} is neither one of {', '.join(BREAKPOINTS)} nor a node: {error}") from None
    return found


def _chosen(item: Any, trace: Trace) -> list[int] | None:
    """The nodes with a gradient that an op's name or a function chooses; None for what is neither. A node's own name goes before that of an op."""
    if isinstance(item, str) and not trace.named(item):
        return [n.id for n in trace.nodes if n.op == item and n.cotangent is not None] or None
    if callable(item):
        return [n.id for n in trace.nodes if n.cotangent is not None and item(n)]
    return None


def settings(where: str, trace: Trace, options: Mapping[str, Any]) -> dict[str, Any]:
    """A full state from some options of ``where``."""
    return DEFAULTS | {name: valid(where, name, value, trace) for name, value in options.items()}


def opening(trace: Trace, options: Mapping[str, Any]) -> dict[str, Any]:
    """Where a stepper opens that was not told where: at the rule that the latest check blames, if it blames one."""
    blame = None if trace.report is None else trace.report.blame
    if blame is None or "step" in options or "selected" in options:
        return {}
    at = [k for k, step in enumerate(trace.data.steps) if step.node == blame and step.kind == "pull"]
    at = at or [k for k, step in enumerate(trace.data.steps) if step.node == blame]
    return {"step": at[-1]} if at else {}
