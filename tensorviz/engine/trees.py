"""Nested lists, tuples and dicts of arrays: taken apart and put together again. Imports nothing of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def leaves(tree: Any) -> Iterator[Any]:
    """What is neither list, tuple, dict nor None, from left to right.

    >>> list(leaves({"w": [1.0, 2.0], "b": (3.0, None)}))
    [1.0, 2.0, 3.0]
    """
    if isinstance(tree, (list, tuple)):
        for part in tree:
            yield from leaves(part)
    elif isinstance(tree, dict):
        for part in tree.values():
            yield from leaves(part)
    elif tree is not None:
        yield tree


def changed(change: Callable[[Any], Any], tree: Any) -> Any:
    """The same nesting with every leaf changed.

    >>> changed(lambda x: -x, {"w": [1.0, 2.0], "b": (3.0, None)})
    {'w': [-1.0, -2.0], 'b': (-3.0, None)}
    """
    if isinstance(tree, tuple):
        parts = [changed(change, part) for part in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
    if isinstance(tree, list):
        return [changed(change, part) for part in tree]
    if isinstance(tree, dict):
        return {key: changed(change, part) for key, part in tree.items()}
    return None if tree is None else change(tree)


def refilled(tree: Any, values: Any) -> Any:
    """The same nesting with other leaves, from left to right.

    >>> refilled({"w": [1.0, 2.0]}, ["a", "b"])
    {'w': ['a', 'b']}
    """
    rest = iter(values)
    return changed(lambda _: next(rest), tree)


def shape(tree: Any) -> Any:
    """The nesting alone, to compare two: leaves become ``*``.

    >>> shape([1.0, (2.0,)])
    ['*', ('*',)]
    """
    return changed(lambda _: "*", tree)
