"""Where ``detach`` and ``no_grad`` cut the graph, and which leaves lie behind: told of a value without keeping what it was computed from. Knows no op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from tensorviz.engine.graph import weak
from tensorviz.engine.node import Node

FAR = 64
"""Nodes that are looked at behind a cut: what lies further off is found while the graph there is still alive. Cuts in a loop cost the same whatever its length."""
MOST = 32
"""Leaves that one cut remembers."""


class Behind:
    """A leaf behind a cut, in words and numbers: a reference would keep the segments of a truncated loop alive, one through the other."""

    __slots__ = ("named", "owner", "title", "uid")

    def __init__(self, uid: int, title: str, named: bool, owner: Callable[[], Any] | None) -> None:
        self.uid = uid
        self.title = title
        """Its name, or its shape."""
        self.named = named
        self.owner = owner
        """Its Tensor, while that lives."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Behind) and (self.uid, self.title, self.named) == (other.uid, other.title, other.named)

    __hash__ = None  # type: ignore[assignment]


class Cut:
    """What is known of a value that was cut from its graph; shared by what is computed from it."""

    __slots__ = ("code", "how", "lasti", "leaves", "origin")

    def __init__(
        self, how: str, leaves: tuple[Behind, ...], code: CodeType | None, lasti: int, origin: Callable[[], Node | None] | None = None
    ) -> None:
        self.how = how
        """``detach`` or ``no_grad``."""
        self.leaves = leaves
        self.code, self.lasti = code, lasti
        self.origin = origin
        """The node before a detach, while something else keeps it."""


def detached(node: Node, fresh: Node) -> None:
    """Note on ``fresh`` that it was cut from ``node``."""
    node.used = True  # and so stays what it is
    fresh.params = {"cut": True}
    fresh.more().cut = Cut("detach", _behind([node]), fresh.code, fresh.lasti, weak(node))


def carry(made: Node, by: str, nodes: Sequence[Node]) -> None:
    """Note on a result that is not recorded where its operands' graph was cut: here, under ``no_grad``, or before."""
    cuts = list(dict.fromkeys([n.rare.cut for n in nodes if not n.tracked and n.rare is not None and n.rare.cut is not None]))
    first = cuts[0] if cuts else None
    if len(cuts) == 1 and not any(n.tracked for n in nodes):
        cut = cuts[0]
    else:
        how, code, lasti = ("no_grad", made.code, made.lasti) if first is None else (first.how, first.code, first.lasti)
        cut = Cut(how, _behind(nodes), code, lasti)
        if first is not None and cut.leaves == first.leaves:
            cut = first
    made.params = {"made_by": by, "no_grad": True} if cut.how == "no_grad" else {"made_by": by, "cut": True}
    made.more().cut = cut


def _behind(nodes: Sequence[Node]) -> tuple[Behind, ...]:
    """The leaves that require a gradient, and that these nodes were computed from: those that are near, and those behind earlier cuts of these nodes."""
    found: dict[int, Behind] = {}
    todo = list(dict.fromkeys(nodes))
    seen = set(todo)
    for n in todo:  # grows
        if n.op is None and n.needs_grad:
            rare = n.rare
            name = None if rare is None else rare.name or rare.path
            found[n.uid] = Behind(n.uid, name or f"a leaf of shape {n.value.shape}", bool(name), None if rare is None else rare.owner)
        for m in n.inputs:
            if m.tracked and m not in seen and len(seen) < FAR:
                seen.add(m)
                todo.append(m)
    for n in nodes:
        if not n.tracked and n.rare is not None and n.rare.cut is not None:
            for leaf in n.rare.cut.leaves:
                found.setdefault(leaf.uid, leaf)
    return tuple(list(found.values())[:MOST])
