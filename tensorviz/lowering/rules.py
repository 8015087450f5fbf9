"""The lowerings of ops, by the op's name. Imports errors only.

They stand here and not in the ops' own classes because they are written in primitives, which stand on the ops: an op that named them would import what
imports it. One file here for each family of ops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorviz.errors import OptionError

Rule = Callable[..., Any]
"""Operands (Tensors; Python numbers where they were weak) and the op's parameters by name, to a Tensor made by primitives."""

RULES: dict[str, Rule] = {}


def lowering(*names: str) -> Callable[[Rule], Rule]:
    """Make a function the lowering of the ops of those names."""

    def decorate(rule: Rule) -> Rule:
        for name in names:
            if name in RULES:
                raise OptionError(f"{name} has a lowering already, {RULES[name].__module__}.{RULES[name].__name__}")
            RULES[name] = rule
        return rule

    return decorate
