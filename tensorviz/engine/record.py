"""From the engine's nodes to a frozen Trace; done at the first look, not during the pass. Knows no op."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from operator import attrgetter
from types import FrameType
from typing import Any

import numpy as np

from tensorviz.engine import exits
from tensorviz.engine.cuts import Cut
from tensorviz.engine.graph import Again, Thread, same_bits, written_to
from tensorviz.engine.graph import local as threads
from tensorviz.engine.names import names_in as names_in
from tensorviz.engine.names import names_of
from tensorviz.engine.node import Node, new_uid
from tensorviz.engine.op import Op
from tensorviz.engine.places import locate, source_of, texts_of
from tensorviz.engine.routes import route
from tensorviz.engine.tensor import Tensor
from tensorviz.engine.texts import look_at
from tensorviz.engine.unbroadcast import grown_axes, unbroadcast
from tensorviz.making import seal, uncollected, unsealed
from tensorviz.trace import Array, NodeKind, Share, Source, Step, TraceData, TraceNode
from tensorviz.trace import Trace as Trace

Writes = dict[Node, Array | None]
"""The leaves whose gradient was written at the end of a pass, and what ``.grad`` held before."""


_NONE: frozenset[int] = frozenset()


Moment = tuple[tuple[exits.Exit, ...], frozenset[int], int]
"""What is so when a pass ends, and may be otherwise when its record is looked at: what left the graph in this thread, the latest last; the constants whose arrays
had been written to, as what is written later changes nothing; a number that tells what came before and what after."""


def moment(ops: Sequence[Node], thread: Thread) -> Moment:
    """What is so now, after a pass over ``ops``."""
    return (tuple(thread.exits) if thread.exits else (), written_to(ops) if thread.arrays else _NONE, new_uid())


def built(
    roots: Sequence[Node],
    seeds: Sequence[Any],
    ops: Sequence[Node],
    pulled: Sequence[tuple[Any, ...]],
    writes: Writes,
    names: dict[int, str],
    *then: Any,
) -> TraceData:
    """The record of a pass that came to its end, from what it left behind and its :data:`Moment`: references only, so that recording costs next to nothing."""
    return Pass(roots, seeds, ops, pulled, writes, names, then=then).build()


class Pass:
    """What a sweep leaves behind."""

    def __init__(
        self,
        roots: Sequence[Node],
        seeds: Sequence[Any] | None,
        ops: Sequence[Node],
        pulled: Sequence[tuple[Any, ...]],
        writes: Writes,
        names: dict[int, str],
        complete: bool = True,
        then: Moment | None = None,
    ) -> None:
        left, written, number = then or moment(ops, threads.thread)
        self.roots = roots
        self.seeds = seeds
        self.ops = ops
        self.pulled = pulled
        self.writes = writes
        self.names = names
        self.exits = left
        self.written = None if seeds is None else written
        """None: there was no pass yet."""
        self.number = number
        self.complete = complete and seeds is not None
        """False: only the first rules have run, as many as there are entries in ``pulled``."""

    def build(self) -> TraceData:
        """The record: every node, share and step of the pass. No garbage is made, so the cycle collector need not search the growing record.

        What rules that run again have to say about their numbers was said, or was not to be said, when they ran first.
        """
        with uncollected(), np.errstate(all="ignore"):
            return self._build()

    def order(self) -> tuple[list[Node], dict[Node, int]]:
        """The nodes of the record, oldest first, and the id of every node of the graph in it."""
        nodes = everything(self.roots)
        ids = _merge(nodes)
        if len(set(ids.values())) == len(nodes):
            return nodes, ids
        nodes = [n for i, n in enumerate(nodes) if ids[n] == i]
        position = {n: i for i, n in enumerate(nodes)}
        by_old = {i: position[n] for n, i in ids.items() if n in position}
        return nodes, {n: by_old[i] for n, i in ids.items()}

    def _build(self) -> TraceData:
        nodes, ids = self.order()
        look_at([n.code for n in nodes if n.code is not None])
        names = names_of(nodes, self.names, self.number)
        values = [read_only(n.value) for n in nodes]
        received: list[list[Share]] = [[] for _ in nodes]
        totals: dict[int, Any] = {}
        shown: dict[int, Array] = {}
        """The totals as the record holds them."""
        steps: list[Step] = []
        step_of, share_of = unsealed(Step), unsealed(Share)
        for root, seed in zip(self.roots, self.seeds or [], strict=self.seeds is not None):
            i = ids[root]
            before = totals.get(i)
            totals[i] = seed if before is None else before + seed
            earlier, shown[i] = shown.get(i), read_only(totals[i])
            steps.append(step_of("seed", i, None, earlier, shown[i], ""))
        for node, shares in zip(self.ops, self.pulled, strict=self.complete):
            if not shares:
                continue
            consumer = ids[node]
            steps.append(step_of("pull", consumer, None, None, None, ""))
            routed = node.op is not None and bool(node.op.routes)
            again: tuple[Any, ...] | None = None
            for slot, local in enumerate(shares):
                if local is None:
                    continue
                kept: Any = None
                if type(local) is Again:
                    kept = local.value
                    if again is None:
                        again = node.op.pull(node, totals[consumer])  # type: ignore[union-attr]
                    local = again[slot]
                inp = node.inputs[slot]
                target = ids[inp]
                axes: tuple[int, ...] = ()
                sent = value = local
                if type(local) is not np.float64 or type(inp.value) is not np.float64:  # a number for a number is as it should be
                    shape = inp.value.shape
                    sent = value = read_only(local)
                    if sent.shape != shape:
                        axes = grown_axes(sent.shape, shape)
                        value = unbroadcast(sent, shape) if kept is None else kept
                    if value.dtype != inp.value.dtype:
                        value = value.astype(inp.value.dtype)
                arrived = read_only(value)
                before = totals.get(target)
                if before is None:
                    earlier, totals[target], total = None, value, arrived
                else:
                    earlier = shown[target]
                    totals[target] = value = before + value
                    total = read_only(value)
                shown[target] = total
                share = share_of(
                    *(consumer, slot, target, arrived if sent is local and not axes else read_only(sent), axes, arrived, total),
                    route(node, slot) if routed else None,
                )
                received[target].append(share)
                if axes:
                    steps.append(step_of("unbroadcast", target, share, None, None, ""))
                steps.append(step_of("accumulate", target, share, earlier, total, ""))
        written: set[int] = set()
        for node, held in sorted(self.writes.items(), key=_leaves_by_age):
            i = ids[node]
            if i in written:
                continue  # an unchanged version of a leaf that had its step: the total is that of both
            written.add(i)
            steps.append(step_of("leaf", i, None, held, shown[i] if held is None else read_only(held + totals[i]), ""))
        make = _Maker(self, ids, names, values)
        seal(Step, steps)
        for some in received:
            seal(Share, some)
        built = tuple([make(n, i, tuple(received[i]), shown.get(i)) for i, n in enumerate(nodes)])
        seal(TraceNode, built)
        return TraceData(
            nodes=built,
            steps=tuple(steps),
            roots=tuple(ids[r] for r in self.roots),
            complete=self.complete,
            sources=texts_of(nodes, built),
        )

    def _read_out(self, node: Node) -> tuple[str, ...]:
        """Where the numbers of a constant left the graph, if they did before this pass."""
        found: dict[Any, str] = {}
        for e in exits.among(node.value, self.exits):
            found.setdefault((e.code, e.lasti), f"{e.op} ({locate(e.code, e.lasti)})")
        return tuple(list(found.values())[-3:])

    def _behind(self, cut: Cut) -> tuple[str, ...]:
        """The leaves on the far side of a ``detach`` or ``no_grad`` that this pass did not reach."""
        if not self.complete:
            return ()
        lost: dict[int, str] = {}
        origin = cut.origin() if cut.origin is not None else None
        for n in () if origin is None else self._far.of(origin):
            lost[n.uid] = n.name_at(self.number) or self.names.get(n.uid) or f"a leaf of shape {n.value.shape}"
        for leaf in cut.leaves:
            # the batch before this one is behind a running mean, too, but nobody has it any more
            known = leaf.named or leaf.uid in self.names or (leaf.owner is not None and leaf.owner() is not None)
            if known and leaf.uid not in self._reached:
                lost.setdefault(leaf.uid, leaf.title if leaf.named else self.names.get(leaf.uid, leaf.title))
        return tuple(lost.values())

    @cached_property
    def _far(self) -> _Far:
        return _Far(self._reached)

    @cached_property
    def _reached(self) -> frozenset[int]:
        """The uids of what a rule could send a share to."""
        return frozenset([n.uid for node in self.ops for n in node.inputs])


def _leaves_by_age(write: tuple[Node, Array | None]) -> tuple[bool, int]:
    """Leaves first, oldest first; then results that retain their gradient, as they are."""
    node = write[0]
    return (False, node.uid) if node.plan is None else (True, 0)


class _Far:
    """Which leaves that a pass did not reach lie behind a node. Every node is walked once, however many cuts ask: it has a bit for each such leaf."""

    def __init__(self, reached: frozenset[int]) -> None:
        self._reached = reached
        self._leaves: list[Node] = []
        self._bits: dict[Node, int] = {}

    def of(self, origin: Node) -> list[Node]:
        """Oldest first."""
        known = self._bits
        fresh: set[Node] = set()
        stack = [origin]
        while stack:
            node = stack.pop()
            if node not in known and node not in fresh:
                fresh.add(node)
                stack.extend(node.inputs)
        for node in sorted(fresh, key=attrgetter("uid")):
            bits = 0
            if node.op is None and node.needs_grad and node.uid not in self._reached:
                bits = 1 << len(self._leaves)
                self._leaves.append(node)
            for inp in node.inputs:
                bits |= known[inp]
            known[node] = bits
        behind = [leaf for leaf, bit in zip(self._leaves, reversed(f"{known[origin]:b}"), strict=False) if bit == "1"]
        return sorted(behind, key=attrgetter("uid"))


class _Maker:
    """Makes the nodes of one record, to be sealed; what those of one op or one line have in common is found once."""

    def __init__(self, record: Pass, ids: dict[Node, int], names: dict[int, str], values: list[Array]) -> None:
        self.record, self.ids, self.names, self.values = record, ids, names, values
        self._make: type[TraceNode] = unsealed(TraceNode)
        self._ops: dict[tuple[Op, int], tuple[str, tuple[str, ...], tuple[str, ...]]] = {}
        self._places: dict[tuple[int, int], Source | None] = {}

    def __call__(self, node: Node, i: int, shares: tuple[Share, ...], cotangent: Array | None) -> TraceNode:
        op, ids, values = node.op, self.ids, self.values
        if op is None:
            return self._given(node, i, shares, cotangent)
        label, slots, formulas = self._of(op, len(node.inputs))
        saved, saved_from = {}, {}
        if node.needs_grad:
            for name, (value, slot) in op.saved(node).items():
                if slot >= -1:
                    saved[name], saved_from[name] = values[i if slot < 0 else ids[node.inputs[slot]]], slot
                else:
                    saved[name] = read_only(value)
        value = values[i]
        return self._make(
            id=i,
            op=op.name,
            label=label,
            name=self.names.get(i),
            inputs=tuple([ids[n] for n in node.inputs]),
            params=dict(node.params) if node.params else {},
            shape=value.shape,
            dtype=_dtype_name(value.dtype),
            value=value,
            saved=saved,
            kind="op",
            requires_grad=node.needs_grad,
            scope=node.scope,
            source=self._source(node),
            slots=slots,
            formulas=formulas,
            word=op.word,
            weak=type(node.value) in (int, float, bool),
            saved_from=saved_from,
            uid=node.uid,
            shares=shares,
            cotangent=cotangent,
            changed=self._changed(node),
        )

    @cached_property
    def _twins(self) -> dict[int, int]:
        """Results by uid: for one that is a root the record has a twin."""
        return {n.uid: i for n, i in self.ids.items() if n.plan is not None}

    def _of(self, op: Op, arity: int) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """Label, slots and formulas."""
        found = self._ops.get((op, arity))
        if found is None:
            slots = tuple(map(op.slot_name, range(arity)))
            found = self._ops[op, arity] = (op.label or op.name, slots, tuple(map(op.formula, range(arity))) if op.differentiable else ())
        return found

    def _source(self, node: Node) -> Source | None:
        key = (id(node.code), node.lasti)
        if key not in self._places:
            self._places[key] = source_of(node)
        return self._places[key]

    def _changed(self, node: Node) -> bool:
        rare = node.rare
        if rare is None or rare.original is None:
            return False
        return not same_bits(rare.original, node.value) if self.record.written is None else node.uid in self.record.written

    def _given(self, node: Node, i: int, shares: tuple[Share, ...], cotangent: Array | None) -> TraceNode:
        """A node that is no result: a leaf, a parameter, a constant, or what a graph was cut at."""
        rare, value = node.rare, self.values[i]
        kind: NodeKind = "constant" if not node.needs_grad else "leaf" if rare is None or rare.path is None else "parameter"
        cut = severed = None
        if node.params:
            kind = "detached"
            severed = rare.cut if rare is not None else None
            origin = severed.origin() if severed is not None and severed.origin is not None else None
            cut = None if origin is None else self.ids.get(origin, self._twins.get(origin.uid) if origin.plan is not None else None)
        name = {"leaf": "leaf", "parameter": "leaf", "constant": "constant", "detached": "detach"}[kind]
        if node.params.get("no_grad"):
            name = "no_grad"
        behind: tuple[str, ...] = ()
        if severed is not None and not node.needs_grad:
            behind = self.record._behind(severed)
        elif kind == "constant" and self.record.exits:
            behind = self.record._read_out(node)
        return self._make(
            id=i,
            op=name,
            label=str(node.params.get("made_by", name)),
            name=self.names.get(i),
            inputs=tuple([self.ids[n] for n in node.inputs]),
            params={},
            shape=value.shape,
            dtype=_dtype_name(value.dtype),
            value=value,
            saved={},
            kind=kind,
            requires_grad=node.needs_grad,
            scope=node.scope,
            source=self._source(node) if severed is None or node.needs_grad else locate(severed.code, severed.lasti),
            weak=type(node.value) in (int, float, bool),
            uid=node.uid,
            shares=shares,
            cotangent=cotangent,
            cut=cut,
            behind=behind,
            changed=self._changed(node),
        )


def forward_only(roots: Sequence[Tensor], frame: FrameType | None) -> TraceData:
    """A record of a graph whose backward has not run: nodes, no steps."""
    return Pass([r._current() for r in roots], None, [], [], {}, names_in(frame)).build()


def everything(roots: Sequence[Node]) -> list[Node]:
    """Every node that the roots depend on, constants and comparisons included, oldest first."""
    stack = list(dict.fromkeys(roots))  # in order: versions of a leaf have one uid, and stand in the record as they are found
    seen = set(stack)
    found = []
    while stack:
        node = stack.pop()
        found.append(node)
        for n in node.inputs:
            if n not in seen:
                seen.add(n)
                stack.append(n)
    found.sort(key=attrgetter("uid"))
    return found


def _merge(nodes: Sequence[Node]) -> dict[Node, int]:
    """Positions, with the copies of one user array (and unchanged versions of one leaf) brought together."""
    first: dict[Any, int] = {}
    ids: dict[Node, int] = {}
    for i, node in enumerate(nodes):
        key: Any = None
        if node.op is None and not node.params:
            if node.rare is not None and node.rare.original is not None:
                key = ("array", id(node.rare.original))
            elif node.rare is not None and node.rare.owner is not None:
                key = ("leaf", node.uid)
        if key is not None and key in first and _equal(nodes[first[key]].value, node.value) and nodes[first[key]].needs_grad == node.needs_grad:
            ids[node] = first[key]
            continue
        if key is not None:
            first[key] = i
        ids[node] = i
    return ids


def _equal(a: Any, b: Any) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    return a is b or (a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes())


_dtype_name = lru_cache(str)
"""NumPy takes 5 µs to print a dtype."""


def read_only(value: Any) -> Array:
    """Any value of the engine as a read-only array."""
    array = np.asarray(value)
    if type(value) is np.float64:  # nobody else has the array that was just made
        array.setflags(write=False)
        return array
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


def optional_array(value: Any) -> Array | None:
    return None if value is None else read_only(value)
