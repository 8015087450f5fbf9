"""Mistakes inside one op's rule: first-wins, transposed, stale-saved. Imports the sweep."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tensorviz.engine.op import REGISTRY
from tensorviz.teaching.sweep import Mistake, Place, Stop, Sweep, changed_node, said, title

_PAIRS = ("maximum", "minimum", "fmax", "fmin")
_REDUCTIONS = ("max", "min")
_GREATER = ("max", "maximum", "fmax")


class FirstWins(Mistake):
    """At a tie, the first winner takes all."""

    name = "first-wins"
    wrong = "Where several elements are the maximum, the first of them gets the whole gradient (as argmax would have it) instead of an even part."
    nowhere = "no maximum or minimum of this graph is tied"

    def places(self, sweep: Sweep) -> Iterable[Place]:
        return [Place(i) for i in sweep.order if _tied(sweep, i)]

    def rule(self, sweep: Sweep, i: int, g: Any) -> list[Any]:
        shares = super().rule(sweep, i, g)
        if Place(i) not in sweep.acting:
            return shares
        node = sweep.nodes[i]
        if node.op in _REDUCTIONS:
            shares[0] = _first(sweep, i, np.asarray(g))
        else:
            a, b = (sweep.engine[j].value for j in node.inputs)
            tie = np.equal(a, b)
            for slot, share in enumerate(shares):
                if share is not None:
                    shares[slot] = np.where(tie, g if slot == 0 else 0, share)
        word, function = ("largest", "argmax") if node.op in _GREATER else ("smallest", "argmin")
        sweep.act(i, f"The wrong engine gives the whole of a tie to the first that is {word}, as {function} would; the others get 0.", add=True)
        return shares

    def added(self, sweep: Sweep, i: int, slot: int, before: Any, value: Any) -> Any:
        if Place(i) in sweep.acting:
            target = title(sweep.nodes[sweep.nodes[i].inputs[slot]])
            sweep.act(i, f"{target} receives its share from {title(sweep.nodes[i])}, in which a tie was not split: the first winner has all of it.")
        return super().added(sweep, i, slot, before, value)


def _tied(sweep: Sweep, i: int) -> bool:
    node = sweep.nodes[i]
    if node.op in _PAIRS:
        a, b = (sweep.engine[j].value for j in node.inputs)
        return bool(np.any(np.equal(a, b)))
    share = sweep.sent.get((i, 0))
    return node.op in _REDUCTIONS and share is not None and share.route is not None and bool(np.any((share.route > 0) & (share.route < 1)))


def _first(sweep: Sweep, i: int, g: Any) -> Any:
    """The gradient at the first winner of each group, zero elsewhere."""
    node = sweep.nodes[i]
    route = sweep.sent[i, 0].route
    assert route is not None
    given = node.params.get("axis")
    axes = tuple(range(route.ndim)) if given is None else tuple(k % route.ndim for k in (given if isinstance(given, tuple) else (given,)))
    kept = tuple(1 if k in axes else s for k, s in enumerate(route.shape))
    won = np.moveaxis(route > 0, axes, range(-len(axes), 0))
    flat = won.reshape(*won.shape[: route.ndim - len(axes)], -1)
    first = (np.arange(flat.shape[-1]) == np.argmax(flat, axis=-1)[..., None]) & flat
    first = np.moveaxis(first.reshape(won.shape), range(-len(axes), 0), axes)
    return np.where(first, g.reshape(kept), 0).astype(g.dtype)


class Transposed(Mistake):
    """The other operand of a matrix product is taken as it is, where its transpose belongs."""

    name = "transposed"
    wrong = "The rule of a matrix product takes the other operand as it is, where its transpose belongs: g @ B instead of g @ B.T."
    nowhere = "no matrix of this graph is multiplied with another one, or with a vector, that needs a gradient"

    def places(self, sweep: Sweep) -> Iterable[Place]:
        return [Place(i, slot) for i in sweep.order for slot in _factors(sweep, i)]

    def rule(self, sweep: Sweep, i: int, g: Any) -> list[Any]:
        shares = super().rule(sweep, i, g)
        for slot in range(len(shares)):
            if Place(i, slot) not in sweep.acting:
                continue
            other = 1 - slot
            value = sweep.engine[i].inputs[other].value
            name, target = title(sweep.nodes[sweep.nodes[i].inputs[other]]), sweep.nodes[sweep.nodes[i].inputs[slot]]
            sweep.act(i, f"The wrong engine forgets to transpose {name} in the share for {title(target)}.", add=True)
            try:
                share = np.asarray(sweep.pull(changed_node(sweep.engine[i], {other: np.swapaxes(value, -1, -2)}), g)[slot])
            except ValueError:
                raise Stop(
                    f"without the transpose, the gradient of shape {np.shape(g)} and {name} of shape {np.shape(value)} cannot be multiplied"
                ) from None
            right = np.shape(shares[slot])
            if share.shape != right:
                raise Stop(f"without the transpose, the share for {title(target)} has shape {share.shape}, expected {right}")
            shares[slot] = share
        return shares


def _factors(sweep: Sweep, i: int) -> list[int]:
    """The slots of a matrix product whose rule transposes the other operand."""
    node = sweep.nodes[i]
    slots = {"matmul": (0, 1), "dot": (0, 1), "linear": (0,)}.get(node.op, ())
    return [s for s in slots if (i, s) in sweep.sent and np.ndim(sweep.engine[i].inputs[1 - s].value) > 1]


class StaleSaved(Mistake):
    """The rule reads a saved value that was changed in place after it had been saved."""

    name = "stale-saved"
    wrong = "An array that a rule had saved was changed in place before backward (multiplied by 2), and the engine counts no versions: the rule reads the new numbers."
    nowhere = "no rule of this graph reads a saved value"

    def places(self, sweep: Sweep) -> Iterable[Place]:
        return [Place(i) for i in sweep.order if _saved(sweep, i) is not None]

    def rule(self, sweep: Sweep, i: int, g: Any) -> list[Any]:
        if Place(i) not in sweep.acting:
            return super().rule(sweep, i, g)
        node, engine = sweep.nodes[i], sweep.engine[i]
        name = _saved(sweep, i)
        assert name is not None and engine.op is not None
        slot = node.saved_from.get(name, -2)
        if slot == -2:
            position = engine.op.extras.index(name)
            old = engine.extras[position]
            wrong = changed_node(engine, {}, {position: old * 2})
            called = name
        else:
            owner = i if slot == -1 else node.inputs[slot]
            old = sweep.engine[owner].value
            slots = [-1] if slot == -1 else [s for s, j in enumerate(node.inputs) if j == owner]
            wrong = changed_node(engine, dict.fromkeys(slots, old * 2))
            called = title(sweep.nodes[owner])
        numbers = f": it reads {said(old * 2)} for {said(old)}" if said(old) else ""
        sweep.act(i, f"{called} was changed in place after it had been saved (multiplied by 2){numbers}.", add=True)
        return sweep.pull(wrong, g)


def _saved(sweep: Sweep, i: int) -> str | None:
    """The first saved value of a rule that can be changed: floats, and some of them."""
    node, op = sweep.nodes[i], REGISTRY.get(sweep.nodes[i].op)
    for name, value in node.saved.items():
        known = name in node.saved_from or (op is not None and name in op.extras)
        if known and value.dtype.kind == "f" and value.size:
            return name
    return None
