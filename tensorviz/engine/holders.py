"""Tensors in lists and dicts of the user's frame, which is where networks keep their parameters, and what each is called there. Knows no op."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tensorviz.engine.node import UNSETTLED
from tensorviz.engine.tensor import Tensor

if TYPE_CHECKING:
    from tensorviz.engine.names import Names

HOLDERS = frozenset([list, tuple, dict])
_IPYTHON = frozenset(["In", "Out"])
"""Its own lists of what was typed and shown."""
MOST = 128
"""Entries of a list or dict that is looked into. A pass has little time for names, and a list of all losses grows without end."""

MODULES = 1000
"""Namespaces that are remembered; a program that runs pieces of code makes ever new ones."""

_known: dict[int, tuple[int, tuple[str, ...]]] = {}
"""By a module's variables: how many there were, and which were lists or dicts."""


def uid_of(tensor: Tensor) -> int:
    """Of the node that it stands for now."""
    own = tensor.own
    now = None if own is None else own.now
    return tensor.uid if now is None else now.uid if now is not UNSETTLED else tensor._uid


def look_within(found: Names, inner: Mapping[str, Any], outer: Mapping[str, Any]) -> None:
    """Put into ``found.within`` the places of Tensors in lists, tuples and dicts among the variables, and in the attributes of ``self``.

    Every pass asks, so one look at the first entry of each decides.
    """
    places: list[tuple[str, Any]] = []
    if inner is not outer:
        for name, value in inner.items():
            if type(value) in HOLDERS and value and name[:1] not in "_@" and _holds(value):
                places.append((name, value))
        if "self" in inner and (own := getattr(inner["self"], "__dict__", None)):
            places += [(name, value) for name, value in own.items() if type(value) is Tensor or (type(value) in HOLDERS and value and _holds(value))]
    count, names = _known.get(id(outer), (-1, ()))
    if count != len(outer):
        names = tuple(name for name, value in outer.items() if type(value) in HOLDERS and name[:1] not in "_@" and name not in _IPYTHON)
        if len(_known) > MODULES:
            _known.clear()
        _known[id(outer)] = len(outer), names
    for name in names:
        value = outer.get(name)
        if value and type(value) in HOLDERS and _holds(value):
            places.append((name, value))
    if not places:
        return
    taken = set(found.values())
    found.within = {}
    for name, value in places:
        for place, tensor in [(name, value)] if type(value) is Tensor else _tensors(name, value, taken):
            found.within.setdefault(uid_of(tensor), place)


def _holds(holder: Any) -> bool:
    """Whether a holder that is not empty begins with a Tensor, or with what may hold some."""
    first = type(next(iter(holder.values())) if type(holder) is dict else holder[0])
    return (first is Tensor or first in HOLDERS or issubclass(first, Tensor)) and len(holder) <= MOST


def _tensors(name: str, holder: Any, taken: set[str] | None) -> Iterator[tuple[str, Tensor]]:
    """The Tensors in a holder, with ``P[0]``, ``P[0][1]``; those of a dict by their key alone, as long as nothing else is called so."""
    for key, part in holder.items() if type(holder) is dict else enumerate(holder):
        place = f"{name}[{key!r}]"
        if isinstance(part, Tensor):
            if taken is not None and type(key) is str and key not in taken:
                place = key
                taken.add(key)
            yield place, part
        elif taken is not None and type(part) in HOLDERS and part and _holds(part):
            yield from _tensors(place, part, None)
