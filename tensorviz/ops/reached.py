"""What functions of the user's can reach by the names in them, put back after they were called only to see what they do. Imports the engine only."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from tensorviz.engine.graph import OURS

_MOST = 256
"""Functions, containers and objects that are looked at: what an op keeps for its rule is near."""


@contextmanager
def unchanged(*functions: Callable[..., Any]) -> Iterator[None]:
    """Variables, lists, dicts and attributes as they were, whatever the functions keep in them inside."""
    held = list(_holders(functions))
    before = [read() for read, _ in held]
    try:
        yield
    finally:
        for (read, write), old in zip(held, before, strict=True):
            now = read()
            if len(now) != len(old) or any(a is not b for a, b in zip(now, old, strict=True)):
                write(old)


Holder = tuple[Callable[[], list[Any]], Callable[[list[Any]], None]]
"""What tells the values that something holds, and what puts them back."""


def _holders(functions: Sequence[Any]) -> Iterator[Holder]:
    todo: list[Any] = list(functions)
    seen: set[int] = set()
    for x in todo:  # grows
        if isinstance(x, (ModuleType, type)) or id(x) in seen:
            continue
        if len(seen) == _MOST:
            return
        if isinstance(x, MethodType):
            todo += [x.__self__, x.__func__]
            continue
        if isinstance(x, FunctionType):
            if OURS[x.__module__]:
                continue
            found = [_cell(c) for c in x.__closure__ or ()] + [_variable(x.__globals__, n) for n in _names(x.__code__) if n in x.__globals__]
        elif isinstance(x, (list, deque)):
            found = [_sequence(x)]
        elif isinstance(x, dict):
            found = [_mapping(x)]
        else:
            found = []
        if isinstance(attributes := getattr(x, "__dict__", None), dict):
            todo.append(attributes)
        elif not found:
            continue  # a number or an array
        seen.add(id(x))
        for holder in found:
            todo += holder[0]()[-_MOST:]
            yield holder


def _names(code: CodeType) -> set[str]:
    return set(code.co_names).union(*[_names(c) for c in code.co_consts if isinstance(c, CodeType)])


def _cell(cell: Any) -> Holder:
    def read() -> list[Any]:
        try:
            return [cell.cell_contents]
        except ValueError:  # nothing is assigned yet
            return []

    def write(values: list[Any]) -> None:
        if values:
            cell.cell_contents = values[0]

    return read, write


def _variable(names: dict[str, Any], name: str) -> Holder:
    return lambda: [names[name]] if name in names else [], lambda values: names.update({name: values[0]})


def _sequence(x: Any) -> Holder:
    def write(values: list[Any]) -> None:
        x.clear()
        x.extend(values)

    return lambda: list(x), write


def _mapping(x: dict[Any, Any]) -> Holder:
    def write(values: list[Any]) -> None:
        x.clear()
        x.update(zip(values[::2], values[1::2], strict=True))

    return lambda: [part for pair in list(x.items()) for part in pair], write
