"""Tensors in lists and dicts of the user's frame, which is where networks keep their parameters, and what each is called there. Knows no op."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tensorviz.engine.node import UNSETTLED, Node
from tensorviz.engine.tensor import Tensor

HOLDERS = frozenset([list, tuple, dict])
IPYTHON = frozenset(["In", "Out", "exit", "quit", "get_ipython", "open"])
"""Its own variables, among them the lists of what was typed and shown."""
MOST = 128
"""Entries of a list or dict that is looked into: a list of all losses grows without end."""
KNOWN = 100_000
"""Tensors whose places are remembered."""

places: dict[int, tuple[str, str] | None] = {}
"""By uid, which no two Tensors share, where each was found: what it is called if nothing else is called so, and what otherwise; None for a leaf that was
looked for in vain. A network's parameters stay where they are, so only its first pass has to look.
"""


def uid_of(tensor: Tensor) -> int:
    """Of the node that it stands for now."""
    own = tensor.own
    now = None if own is None else own.now
    return tensor.uid if now is None else now.uid if now is not UNSETTLED else tensor._uid


def look_for(leaves: Sequence[Node], called: Mapping[int, str], inner: Mapping[str, Any], outer: Mapping[str, Any]) -> None:
    """Find the places of leaves that nothing is known of: in lists, tuples and dicts among the variables, and in the attributes of ``self``."""
    for leaf in leaves:  # every pass is here
        if leaf.uid not in places and leaf.uid not in called:
            break
    else:
        return
    look(inner, outer)
    for leaf in leaves:
        places.setdefault(leaf.uid, None)


def look(inner: Mapping[str, Any], outer: Mapping[str, Any]) -> None:
    """Note the place of every Tensor that is in a list, tuple or dict among the variables, or an attribute of ``self``."""
    if len(places) > KNOWN:
        places.clear()
    own = getattr(inner.get("self"), "__dict__", None) or {}
    for space in (inner, own) if inner is outer else (inner, own, outer):
        for name, value in list(space.items()):
            if name[:1] in "_@" or name in IPYTHON:
                continue
            if space is own and isinstance(value, Tensor):
                places.setdefault(uid_of(value), (name, name))
            elif type(value) in HOLDERS:
                for uid, short, long in _within(name, value):
                    if places.get(uid) is None:
                        places[uid] = short, long


def place_of(uid: int, taken: set[str]) -> str | None:
    """What a Tensor without another name is called; ``taken`` are the names that there are, of which this becomes one."""
    found = places.get(uid)
    if found is None:
        return None
    name = found[1] if found[0] in taken else found[0]
    taken.add(name)
    return name


def _within(name: str, holder: Any, deep: bool = True) -> Iterator[tuple[int, str, str]]:
    """``P[0]``, ``P[0][1]``; Tensors in a dict are called by their key alone, as long as nothing else is."""
    if len(holder) > MOST:
        return
    for key, part in holder.items() if type(holder) is dict else enumerate(holder):
        if isinstance(part, Tensor):
            long = f"{name}[{key!r}]"
            yield uid_of(part), key if deep and type(key) is str else long, long
        elif deep and type(part) in HOLDERS:
            yield from _within(f"{name}[{key!r}]", part, False)
