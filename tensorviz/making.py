"""How the many frozen objects of a record are made in one go: without a search for garbage, and without a check at each field. Imports nothing of ours."""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import MISSING, field, fields, make_dataclass
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")

_VERY_MANY = 200_000
"""New objects, of which a record makes ten a node: a search of fewer is over in some hundredths of a second."""


@contextmanager
def uncollected() -> Generator[None, None, None]:
    """While many objects are made and none becomes garbage: without the cycle collector, which would search them again and again as they grow in number.

    Where there are very many, they are put straight among the old ones, so that they are not searched as young ones afterwards, either.
    """
    paused = gc.isenabled()
    if paused:
        gc.disable()
    try:
        yield
    finally:
        if paused:
            if gc.get_count()[0] > _VERY_MANY and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()  # into the oldest generation
            gc.enable()


@cache
def unsealed(cls: type[T]) -> type[T]:
    """A class like a frozen dataclass of a record, to make many instances of: :func:`seal` makes them the frozen ones.

    A frozen dataclass checks itself at each field that it sets, and so takes five times as long to be made as one that is not.

    >>> from tensorviz.trace import Step
    >>> step = unsealed(Step)("pull", 3, None, None, None, "")
    >>> seal(Step, [step])
    >>> step
    Step(kind='pull', node=3, share=None, before=None, after=None, caption='')
    """
    made: list[tuple[str, Any, Any]] = []
    for f in fields(cls):  # type: ignore[arg-type]
        if f.default is not MISSING:
            default = field(default=f.default)
        elif f.default_factory is not MISSING:
            default = field(default_factory=f.default_factory)
        else:
            default = field()
        made.append((f.name, f.type, default))
    return make_dataclass(cls.__name__, made, slots=True)


def seal(cls: type, made: Iterable[Any]) -> None:
    """Make instances of ``unsealed(cls)`` those of ``cls`` itself: both have the same slots."""
    for each in made:
        each.__class__ = cls
