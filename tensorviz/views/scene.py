"""What of a trace is drawn: every node while there are few; beyond that scopes, chains and the neighbourhood. Imports trace, nothing else of ours."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tensorviz.making import uncollected
from tensorviz.trace import Trace, TraceNode
from tensorviz.views.format import counted

Labels = dict[str, tuple[Literal["scope", "fold"], str]]
"""Per collapsed item its kind and its name."""

MOST_NODES = 100
"""Visible nodes above which scopes collapse and chains fold: about what fits on one screen at a readable size."""
KEPT = 2
"""Nodes that stay open on each side of the focus inside a folded chain."""
SHORTEST_FOLD = 3
NEIGHBOURS = 40
"""Items of a neighbourhood: what is one place in a large graph should be readable without scrolling for minutes."""
MOST_FOLLOWED = 4
MOST_STUBS = 6
"""Wires of one item that come from what is not drawn: thousands, as of a long ``stack``, would be a wall."""


@dataclass(slots=True)
class Item:
    """One thing in the picture: a node, a collapsed scope, or a folded chain."""

    key: str
    kind: Literal["node", "scope", "fold"]
    node: TraceNode | None
    members: tuple[int, ...]
    label: str


@dataclass(slots=True)
class Wire:
    """One edge in the picture: one use of an operand; where an end is collapsed, all uses between the two."""

    tail: str
    head: str
    uses: tuple[str, ...]
    """``"consumer:slot"``, oldest first."""
    cut: bool = False
    """From the node that a detached one was cut from."""


@dataclass(slots=True)
class Scene:
    """Items in forward order, wires in order of consumer and slot."""

    items: list[Item]
    wires: list[Wire]
    stubs: dict[str, list[tuple[str, ...]]]
    """Per item: uses whose operand is not drawn, each by itself while they are few; the rest share the last place."""
    left_out: int
    owner: dict[int, str] = field(default_factory=dict)
    """Per node id the key of the item that shows it."""

    @property
    def note(self) -> str | None:
        return f"… {counted(self.left_out, 'more node')} not drawn" if self.left_out else None


@uncollected()  # a large trace gives many short words, and none is garbage before the end
def scene(
    trace: Trace, *, focus: int | None = None, sender: int | None = None, also: Collection[int] = (), most: int = MOST_NODES, hard: int | None = None
) -> Scene:
    """What to draw of ``trace`` when about ``most`` items may be seen.

    ``focus`` is the node that the picture is about (the last root if not given), ``sender`` the one whose share it is about to get, ``also`` are further ones to be seen. Scopes collapse as far as needed, from the innermost outwards; then
    chains of operands with a single use fold; if more than ``hard`` items are left, the neighbourhood of the focus is kept.
    """
    nodes = trace.nodes
    given = focus
    if focus is None:
        focus = trace.roots[-1] if trace.roots else len(nodes) - 1
    owner = {n.id: f"n{n.id}" for n in nodes}
    labels: Labels = {}
    if len(nodes) > most:
        _collapse(nodes, owner, labels, given, sender, most)
    if len(set(owner.values())) > most:
        _fold(nodes, owner, labels, {focus, *also, *trace.roots}, focus)
    built = _build(trace, owner, labels)
    limit = hard if hard is not None else most
    if len(built.items) > limit:
        # What is used all over is no way to its consumers, so the one that sends to it now is a start of its own.
        starts = [owner[i] for i in (focus, sender, *also) if i in owner] or [built.items[-1].key]
        built = _nearest(built, starts, min(most, NEIGHBOURS))
    return built


def _collapse(nodes: tuple[TraceNode, ...], owner: dict[int, str], labels: Labels, focus: int | None, sender: int | None, most: int) -> None:
    """Give every node of a scope to that scope, at the greatest depth that leaves at most ``most`` items.

    The scope of ``focus`` stays open if there is room for it; otherwise the node itself does, with its operands and those of its consumers that are
    few or that send to it now.
    """
    parts = {n.id: tuple(n.scope.split("/")) for n in nodes if n.scope}
    if not parts:
        return
    parts |= _used(nodes)
    for depth in range(max(map(len, parts.values())), 0, -1):
        home = {i: "/".join(path[:depth]) for i, path in parts.items()}
        if len(set(home.values())) + len(nodes) - len(home) <= most:
            break
    sizes: dict[str, int] = {}
    for name in home.values():
        sizes[name] = sizes.get(name, 0) + 1
    seen = len(sizes) + len(nodes) - len(home)
    around = home.get(focus, "") if focus is not None else ""
    near: set[int] = set()
    if focus is not None:
        users = [n.id for n in nodes if focus in n.inputs]
        near = {focus, *nodes[focus].inputs, *(users if len(users) <= MOST_FOLLOWED else [u for u in users if u == sender])}
    for i, name in home.items():
        if sizes[name] == 1 or (name == around and seen + sizes[name] <= most) or i in near:
            continue
        owner[i] = f"scope:{name}"
        labels[f"scope:{name}"] = ("scope", name)


def _used(nodes: tuple[TraceNode, ...]) -> dict[int, tuple[str, ...]]:
    """The scopes of numbers that stand in a formula (``0.5 * h``), where all of their uses are in one.

    They are recorded outside of all scopes, and would crowd around each closed one.
    """
    found: dict[int, str] = {}
    for n in nodes:
        for i in n.inputs:
            if nodes[i].kind == "constant" and not nodes[i].scope and not nodes[i].shape:
                found[i] = n.scope if found.get(i, n.scope) == n.scope else ""
    return {i: tuple(scope.split("/")) for i, scope in found.items() if scope}


def _build(trace: Trace, owner: dict[int, str], labels: Labels) -> Scene:
    members: dict[str, list[int]] = {}
    last: dict[str, int] = {}
    for n in trace.nodes:
        members.setdefault(owner[n.id], []).append(n.id)
        last[owner[n.id]] = n.id
    items = []
    for key in sorted(members, key=last.__getitem__):
        if key in labels:
            kind, name = labels[key]
            items.append(Item(key, kind, None, tuple(members[key]), name if kind == "scope" else f"« {len(members[key]):,} more »"))
        else:
            node = trace.nodes[members[key][0]]
            items.append(Item(key, "node", node, (node.id,), node.label))
    wires: list[Wire] = []
    joint: dict[tuple[str, str], list[str]] = {}
    for n in trace.nodes:
        head = owner[n.id]
        if n.kind == "detached" and n.cut is not None and owner[n.cut] != head:
            wires.append(Wire(owner[n.cut], head, (), cut=True))
        for slot, source in enumerate(n.inputs):
            tail, use = owner[source], f"{n.id}:{slot}"
            if tail == head:
                continue
            if tail in labels or head in labels:
                if (tail, head) in joint:
                    joint[tail, head].append(use)
                    continue
                joint[tail, head] = [use]
            wires.append(Wire(tail, head, (use,)))
    for wire in wires:
        if not wire.cut and (wire.tail, wire.head) in joint:
            wire.uses = tuple(joint[wire.tail, wire.head])
    return Scene(items, wires, {}, 0, dict(owner))


def _fold(nodes: tuple[TraceNode, ...], owner: dict[int, str], labels: Labels, ends: Iterable[int], focus: int) -> None:
    """Fold the middle of every chain in which each op has one operand of its own making (constants aside) and one use."""
    into, out = _neighbours(nodes, owner, labels)
    lone = {owner[n.id] for n in nodes if n.kind == "constant" and owner[n.id] not in labels and len(out.get(owner[n.id], ())) == 1}
    stays = {owner[e] for e in ends}
    chains: list[list[str]] = []
    chain_of: dict[str, list[str]] = {}
    for n in nodes:  # forward order: the operand's chain exists already
        key = owner[n.id]
        if n.kind != "op" or key in labels or key in stays or len(out.get(key, ())) != 1:
            continue
        sources = [tail for tail in into.get(key, ()) if tail not in lone]
        if len(sources) != 1:
            continue
        chain = chain_of.get(sources[0])
        if chain is None:
            chain = []
            chains.append(chain)
        chain.append(key)
        chain_of[key] = chain
    near = _around(owner[focus], into, out, KEPT)
    for chain in chains:
        run: list[str] = []
        for key in [*chain[1:-1], ""]:
            if key and key not in near:
                run.append(key)
                continue
            if len(run) >= SHORTEST_FOLD:
                fold = f"fold:{run[0][1:]}"
                labels[fold] = ("fold", "")
                for folded in run:
                    for inner in (folded, *(tail for tail in into[folded] if tail in lone)):
                        owner[int(inner[1:])] = fold
            run = []


def _neighbours(nodes: tuple[TraceNode, ...], owner: dict[int, str], labels: Labels) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Per item the items that it takes from and that it goes to, once per use; between collapsed ones once in all."""
    into: dict[str, list[str]] = {}
    out: dict[str, list[str]] = {}
    joint: set[tuple[str, str]] = set()
    for n in nodes:
        head = owner[n.id]
        for source in n.inputs:
            tail = owner[source]
            if tail == head:
                continue
            if labels and (tail in labels or head in labels):
                if (tail, head) in joint:
                    continue
                joint.add((tail, head))
            into.setdefault(head, []).append(tail)
            out.setdefault(tail, []).append(head)
    return into, out


def _around(start: str, into: dict[str, list[str]], out: dict[str, list[str]], far: int) -> set[str]:
    found, edge = {start}, [start]
    for _ in range(far):
        edge = [y for x in edge for y in (*into.get(x, ()), *out.get(x, ())) if y not in found]
        found.update(edge)
    return found


def near(nodes: Sequence[TraceNode], starts: Sequence[int], most: int) -> list[int]:
    """The ``most`` nodes nearest to some, in forward order; operands before consumers at equal distance, and no way through what is used all over."""
    users: list[list[int]] = [[] for _ in nodes]
    for n in nodes:
        for i in n.inputs:
            users[i].append(n.id)
    kept, queue = set(starts), deque(dict.fromkeys(starts))
    while queue and len(kept) < most:
        i = queue.popleft()
        for other in (*nodes[i].inputs, *(users[i] if len(users[i]) <= MOST_FOLLOWED else ())):
            if other not in kept and len(kept) < most:
                kept.add(other)
                queue.append(other)
    return sorted(kept)


def _nearest(scene: Scene, starts: Sequence[str], most: int) -> Scene:
    """The ``most`` items nearest to ``starts``, operands before consumers at equal distance.

    A constant or a parameter that is used all over is no way from one place to another, so its consumers are not followed. Where no way is left, as
    from such a one alone, the items nearest to the end come next: a picture of a single glyph says nothing.
    """
    beside: dict[str, list[str]] = {}
    ahead: dict[str, list[str]] = {}
    for wire in scene.wires:
        beside.setdefault(wire.head, []).append(wire.tail)
        ahead.setdefault(wire.tail, []).append(wire.head)
    for key, heads in ahead.items():
        if len(heads) <= MOST_FOLLOWED:
            beside.setdefault(key, []).extend(heads)
    kept, queue = set(starts), deque(dict.fromkeys(starts))
    end = scene.items[-1].key
    while len(kept) < most and (queue or end not in kept):
        if not queue:
            queue.append(end)
            kept.add(end)
        for other in beside.get(queue.popleft(), ()):
            if other not in kept and len(kept) < most:
                kept.add(other)
                queue.append(other)
    items = [i for i in scene.items if i.key in kept]
    loose: dict[str, list[str]] = {}
    for wire in scene.wires:
        if wire.head in kept and wire.tail not in kept and wire.uses:
            loose.setdefault(wire.head, []).append(wire.uses[0])
    stubs = {key: _stubs(uses) for key, uses in loose.items()}
    left_out = sum(len(i.members) for i in scene.items if i.key not in kept)
    return Scene(items, [w for w in scene.wires if w.head in kept and w.tail in kept], stubs, left_out, scene.owner)


def _stubs(uses: list[str]) -> list[tuple[str, ...]]:
    if len(uses) <= MOST_STUBS:
        return [(use,) for use in uses]
    return [*((use,) for use in uses[: MOST_STUBS - 1]), tuple(uses[MOST_STUBS - 1 :])]
