"""Mistakes in how shares are added, passed on and lost: overwrite, average, no-zero-grad, wrong-order, detached. Imports the sweep."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tensorviz.teaching.sweep import Mistake, Place, Sweep, said, symbol, title
from tensorviz.trace import Array, Step

_TRIED = 64
"""Places that are tried for one that leaves something of the pass, so that a long chain takes no longer."""


def _forks(sweep: Sweep) -> list[Place]:
    """The nodes at which something is added, in the order in which their second share arrives."""
    steps = sweep.trace.data.steps
    return [Place(i) for i in dict.fromkeys(s.node for s in steps if s.kind == "accumulate" and s.before is not None)]


class Overwrite(Mistake):
    """The last share wins."""

    name = "overwrite"
    wrong = "Where a value is used several times, each share overwrites the one before (=) instead of being added to it (+=)."
    nowhere = "no value of this graph receives a second share"

    def places(self, sweep: Sweep) -> Iterable[Place]:
        return _forks(sweep)

    def added(self, sweep: Sweep, i: int, slot: int, before: Any, value: Any) -> Any:
        target = sweep.nodes[i].inputs[slot]
        if before is None or Place(target) not in sweep.acting:
            return super().added(sweep, i, slot, before, value)
        node, sender = sweep.nodes[target], title(sweep.nodes[i])
        if said(value):
            sweep.act(
                target,
                f"The wrong engine overwrites: {symbol(node)} held {said(before)}, and the share {said(value)} from {sender} takes its place. "
                f"The right one adds: {said(before + value)}.",
            )
        else:
            sweep.act(
                target,
                f"The wrong engine overwrites: the share from {sender} takes the place of what {symbol(node)} held, instead of being added to it.",
            )
        return value


class Average(Mistake):
    """A fork takes the mean of its shares."""

    name = "average"
    wrong = "Where a value is used several times, its gradient becomes the mean of the shares instead of their sum."
    nowhere = "no value of this graph receives a second share"

    def places(self, sweep: Sweep) -> Iterable[Place]:
        return _forks(sweep)

    def added(self, sweep: Sweep, i: int, slot: int, before: Any, value: Any) -> Any:
        target = sweep.nodes[i].inputs[slot]
        if before is None or Place(target) not in sweep.acting:
            return super().added(sweep, i, slot, before, value)
        seeded = [s.after for s in sweep.steps if s.kind == "seed" and s.node == target and s.after is not None][-1:]
        everything = [*seeded, *(s.value for s in sweep.received.get(target, ())), value]
        total: Any = everything[0]
        for one in everything[1:]:
            total = total + one
        mean = (total / len(everything)).astype(np.asarray(value).dtype)
        node = sweep.nodes[target]
        numbers = f" {said(mean)}, where the sum {said(total)} belongs" if said(mean) else ""
        sweep.act(
            target,
            f"The wrong engine averages: {symbol(node)} is now the mean of {len(everything)} shares{',' if numbers else ''}{numbers}. A value that is used {len(everything)} times acts {len(everything)} times.",
        )
        return mean[()]


class NoZeroGrad(Mistake):
    """``.grad`` is the accumulator, and nobody emptied it."""

    name = "no-zero-grad"
    wrong = "The pass runs a second time without zero_grad(): the accumulators of the leaves are their .grad, which still hold the first pass."
    nowhere = "no leaf of this graph holds a gradient other than zero"
    everywhere = True

    def places(self, sweep: Sweep) -> Iterable[Place]:
        for step in sweep.trace.data.steps:
            node = sweep.nodes[step.node]
            if step.kind == "leaf" and node.is_leaf and step.after is not None and np.any(step.after != 0) and step.node not in sweep.trace.roots:
                yield Place(step.node)

    def _held(self, sweep: Sweep) -> dict[int, Any]:
        steps = sweep.trace.data.steps
        return {s.node: s.after[()] for s in steps if s.kind == "leaf" and s.after is not None and Place(s.node) in sweep.acting}

    def start(self, sweep: Sweep) -> None:
        sweep.totals.update(self._held(sweep))

    def added(self, sweep: Sweep, i: int, slot: int, before: Any, value: Any) -> Any:
        target = sweep.nodes[i].inputs[slot]
        total = super().added(sweep, i, slot, before, value)
        if Place(target) in sweep.acting and target not in sweep.received:
            name = title(sweep.nodes[target])
            numbers = (
                f" {said(before)}, and with the share {said(value)} it is {said(total)}"
                if said(total)
                else " the gradient of the pass before, and the share is added to that"
            )
            sweep.act(target, f"Nobody called zero_grad(): {name}.grad still held{numbers}.")
        return total

    def written(self, sweep: Sweep, step: Step, total: Any) -> tuple[Array | None, Any]:
        if Place(step.node) not in sweep.acting:
            return super().written(sweep, step, total)
        name = title(sweep.nodes[step.node])
        numbers = (
            f" {said(step.after)} of the pass before, and now holds {said(total)}"
            if said(total)
            else " the gradient of the pass before, and now holds both"
        )
        sweep.act(step.node, f"{name}.grad, which served as the accumulator, held{numbers}. zero_grad() before the pass would have emptied it.")
        return step.after, total


class WrongOrder(Mistake):
    """A node is visited when its first share has come."""

    name = "wrong-order"
    wrong = "A value that is used several times passes its gradient on when its first share has come, without waiting for the others (no topological order)."
    nowhere = "no result of this graph receives shares from several uses, so that there is nothing to wait for"

    def places(self, sweep: Sweep) -> Iterable[Place]:
        passed = set(sweep.order)
        return [p for p in _forks(sweep) if p.node in passed and len(sweep.nodes[p.node].shares) > 1]

    def arrived(self, sweep: Sweep, i: int, slot: int) -> None:
        target = sweep.nodes[i].inputs[slot]
        # both shares of x * x come from one rule: the visit comes between them
        if {s.consumer for s in sweep.nodes[target].shares} == {i}:
            self._early(sweep, target)

    def pulled(self, sweep: Sweep, i: int) -> None:
        for target in dict.fromkeys(sweep.nodes[i].inputs):
            self._early(sweep, target)

    def _early(self, sweep: Sweep, target: int) -> None:
        if Place(target) not in sweep.acting or target in sweep.visited:
            return
        come, count = len(sweep.received.get(target, ())), len(sweep.nodes[target].shares)
        if 0 < come < count:
            sweep.act(
                target,
                f"Too early: only {come} of its {count} shares {'has' if come == 1 else 'have'} come, and what comes later is passed on to nobody.",
                add=True,
            )
            sweep.visit(target)


class Detached(Mistake):
    """A value was taken out of the graph by accident."""

    name = "detached"
    wrong = "A value was cut out of the graph by accident (detach(), .data, an array made of it): it computes the same, and no gradient passes it."
    nowhere = "no value of this graph receives a share"

    def places(self, sweep: Sweep) -> Iterable[Place]:
        targets = dict.fromkeys(s.node for s in sweep.trace.data.steps if s.kind == "accumulate")
        results = [i for i in targets if sweep.nodes[i].kind == "op"]
        return [Place(i) for i in (results or targets)]

    def preferred(self, sweep: Sweep, places: Sequence[Place]) -> Place:
        """The first place where something is left of the pass: a cut just below the root would leave nothing to see."""
        leaves = [n.id for n in sweep.nodes if n.is_leaf and n.shares]
        for place in places[:_TRIED]:
            if any(_reached(sweep, leaf, place.node) for leaf in leaves):
                return place
        return places[0]

    def rule(self, sweep: Sweep, i: int, g: Any) -> list[Any]:
        shares = super().rule(sweep, i, g)
        lost = [slot for slot, j in enumerate(sweep.nodes[i].inputs) if shares[slot] is not None and Place(j) in sweep.acting]
        for slot in lost:
            shares[slot] = None
        for j in dict.fromkeys(sweep.nodes[i].inputs[slot] for slot in lost):
            why = f"{title(sweep.nodes[j])} was detached by accident, so that no share goes to it, nor to what it was made of."
            if all(share is None for share in shares):
                sweep.act(i, f"The rule of {title(sweep.nodes[i])} runs for nothing: {why}")
            else:
                sweep.act(i, why, add=True)
        return shares


def _reached(sweep: Sweep, leaf: int, cut: int) -> bool:
    """Whether a gradient comes to ``leaf`` by a way around ``cut``."""
    seen, stack = {leaf}, [leaf]
    while stack:
        i = stack.pop()
        if i in sweep.trace.roots:
            return True
        for share in sweep.nodes[i].shares:
            if i != cut and share.consumer not in seen:
                seen.add(share.consumer)
                stack.append(share.consumer)
    return False
