"""Where ``detach`` and ``no_grad`` cut the graph, and which leaves lie behind: told of a value without keeping what it was computed from. Knows no op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
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

    __slots__ = ("name", "owner", "shape", "uid")

    def __init__(self, uid: int, name: str | None, shape: tuple[int, ...], owner: Callable[[], Any] | None) -> None:
        self.uid, self.name, self.shape = uid, name, shape
        self.owner = owner
        """Its Tensor, while that lives."""

    @property
    def named(self) -> bool:
        return bool(self.name)

    @property
    def title(self) -> str:
        """Its name, or its shape."""
        return self.name or f"a leaf of shape {self.shape}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Behind) and (self.uid, self.name, self.shape) == (other.uid, other.name, other.shape)

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
    leaves: dict[int, Behind] = {}
    _walk((node,), leaves)
    if node.rare is not None and node.rare.cut is not None and not node.tracked:
        for leaf in node.rare.cut.leaves:
            leaves.setdefault(leaf.uid, leaf)
    fresh.more().cut = Cut("detach", tuple(leaves.values())[:MOST], fresh.code, fresh.lasti, weak(node))


def carry(made: Node, by: str, nodes: Sequence[Node]) -> None:
    """Note on a result that is not recorded where its operands' graph was cut: here, under ``no_grad``, or before."""
    leaves: dict[int, Behind] = {}
    cuts: list[Cut] = []
    tracked = recorded = False
    for n in nodes:
        if n.plan is not None:
            tracked = recorded = True
        elif n.needs_grad:
            tracked = True
            leaves[n.uid] = _leaf(n)
        elif (rare := n.rare) is not None:
            if rare.tracked:
                tracked = True
            elif (before := rare.cut) is not None and before not in cuts:
                cuts.append(before)
    if len(cuts) == 1 and not tracked:
        cut = cuts[0]
    else:
        if recorded:
            _walk(nodes, leaves)
        for before in cuts:
            for leaf in before.leaves:
                leaves.setdefault(leaf.uid, leaf)
        behind = tuple(leaves.values())[:MOST]
        if not cuts:
            cut = Cut("no_grad", behind, made.place.code, made.lasti)
        else:
            first = cuts[0]
            cut = first if behind == first.leaves else Cut(first.how, behind, first.code, first.lasti)
    made.params = _params(by, cut.how)
    made.more().cut = cut


@lru_cache(maxsize=1024)
def _params(by: str, how: str) -> dict[str, Any]:
    """What marks a result that is not recorded."""
    return {"made_by": by, "no_grad": True} if how == "no_grad" else {"made_by": by, "cut": True}


def _walk(nodes: Sequence[Node], leaves: dict[int, Behind]) -> None:
    """Add the leaves that require a gradient, and that these nodes were computed from, as far as they are near."""
    todo = list(dict.fromkeys(nodes))
    seen = set(todo)
    for n in todo:  # grows
        if n.plan is None and n.needs_grad:
            leaves[n.uid] = _leaf(n)
        for m in n.inputs:
            if m.tracked and m not in seen and len(seen) < FAR:
                seen.add(m)
                todo.append(m)


def _leaf(n: Node) -> Behind:
    rare = n.rare
    return Behind(n.uid, None, n.value.shape, None) if rare is None else Behind(n.uid, rare.name or rare.path, n.value.shape, rare.owner)
