"""What a module consists of: the parameters, buffers and modules among its attributes, and the names they have there. Imports the engine only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tensorviz.errors import DTypeError
from tensorviz.nn.parameter import Parameter

if TYPE_CHECKING:
    from tensorviz.nn.module import Module


def unfold(name: str, value: Any, kinds: tuple[type, ...]) -> Iterator[tuple[str, Any]]:
    """The values of those kinds in an attribute: itself, or inside lists, tuples and dicts, under names such as ``layers.0``.

    >>> list(unfold("sizes", [1, (2.0, 3)], (int,)))
    [('sizes.0', 1), ('sizes.1.1', 3)]
    """
    if isinstance(value, kinds):
        yield name, value
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from unfold(f"{name}.{i}", item, kinds)
    elif isinstance(value, dict):
        for key, item in value.items():
            for path, found in unfold(f"{name}.{key}", item, kinds):
                if not isinstance(key, (str, int)) or any(c in str(key) for c in "./") or str(key) == "":
                    raise DTypeError(f"the key {key!r} of {name} is part of a name, so it must be a string without '.' and '/', or an int")
                yield path, found


def walk(module: Module, path: str = "") -> Iterator[tuple[str, Module]]:
    """A module and all modules below it, each once, under its first name; parents before children."""
    stack, seen = [(path, module)], set()
    while stack:
        name, found = stack.pop()
        if id(found) in seen:
            continue
        seen.add(id(found))
        yield name, found
        stack.extend([(f"{name}.{k}" if name else k, child) for k, child in found.named_children()][::-1])


def own_parameters(module: Module) -> Iterator[tuple[str, Parameter]]:
    """The parameters among a module's own attributes."""
    for name, value in list(vars(module).items()):
        yield from unfold(name, value, (Parameter,))
