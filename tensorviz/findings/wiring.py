"""What is connected wrongly: gradients left over, paths that are cut, operands that broadcast both, arrays changed outside. Imports the record only."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorviz.checks.outside import writers
from tensorviz.findings import Finding, finding
from tensorviz.trace import Array, TraceData, TraceNode


def wiring(data: TraceData) -> list[Finding]:
    """In the order in which one would repair them."""
    return [*double_broadcast(data), *no_gradient(data), *read_out(data), *changed_outside(data), *stale_grad(data)]


def double_broadcast(data: TraceData) -> Iterator[Finding]:
    """(N, 1) with (N,): the same numbers in two shapes, which broadcast to (N, N) instead of meeting one by one.

    Operands that both grow on purpose, as (N, 1) with (1, M), have the same number of axes.
    """
    for n in data.nodes:
        if n.kind != "op" or len(n.inputs) < 2:
            continue
        shapes = [data.nodes[i].shape for i in n.inputs]
        if shapes.count(shapes[0]) == len(shapes):
            continue
        for i, a in enumerate(shapes):
            for j in range(i + 1, len(shapes)):
                b = shapes[j]
                if len(a) == len(b) or _squeezed(a) != _squeezed(b) or not _squeezed(a):
                    continue
                if _origin(data, n.inputs[i]) == _origin(data, n.inputs[j]):
                    continue  # x[:, None] - x: every pair of one array's numbers is what somebody wants who writes that
                if any(_spread(data.nodes[k], n) for k in (n.inputs[i], n.inputs[j])):
                    continue  # x[:, None] * y: the axis was put in for this very op
                try:
                    grown = np.broadcast_shapes(a, b)
                except ValueError:
                    continue
                if grown in (a, b) or n.shape != grown:
                    continue
                x, y = data.nodes[n.inputs[i]], data.nodes[n.inputs[j]]
                why = f"{x.title} has shape {a} and {y.title} has shape {b}: both are broadcast, to {grown}, so every number of one meets every number of the other ({np.prod(grown):,} pairs instead of {np.prod(a):,})."
                wide = x if len(a) > len(b) else y
                shaped = f"{wide.title}.reshape({_squeezed(a)!r})" if wide.name else f".reshape({_squeezed(a)!r}) on the result of {wide.op}"
                yield finding(
                    "double-broadcast",
                    "forward",
                    n,
                    why,
                    f"Bring them to one shape first, e.g. {shaped}, or index with [:, None] and [None, :] if all pairs are meant.",
                )


_SHAPED = frozenset({"reshape", "ravel", "getitem", "expand_dims", "squeeze", "transpose", "swapaxes", "copy"})


def _origin(data: TraceData, i: int) -> int:
    """The node whose numbers these are, in another shape."""
    while data.nodes[i].op in _SHAPED:
        i = data.nodes[i].inputs[0]
    return i


def _spread(operand: TraceNode, user: TraceNode) -> bool:
    """The operand got a new axis in the expression that uses it."""
    key = operand.params.get("key")
    new = operand.op == "expand_dims" or (operand.op == "getitem" and any(part is None for part in (key if isinstance(key, tuple) else (key,))))
    here, there = operand.source, user.source
    return new and operand.name is None and here is not None and there is not None and (here.file, here.line) == (there.file, there.line)


def _squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for n in shape if n != 1)


def no_gradient(data: TraceData) -> Iterator[Finding]:
    """Leaves that require a gradient, lie in the graph, and got none."""
    users: dict[int, list[TraceNode]] = {}
    for n in data.nodes:
        for i in set(n.inputs):
            users.setdefault(i, []).append(n)
    told: set[str] = set()
    if not data.complete:
        return  # backward has not run, or stopped before it came to all
    for n in data.nodes:
        if n.kind in ("leaf", "parameter") and n.requires_grad and n.cotangent is None:
            stop = _stop(n, users)
            where = (
                f"Its path ends at {stop.op}, whose result carries no gradient"
                if stop is not None
                else "No path with a gradient leads from the root to it"
            )
            source = stop.source if stop is not None else None
            why = f"{n.title} requires a gradient and got none. {where}."
            yield finding("no-gradient", "backward", n, why, "Use a differentiable op on this path, or do not ask for the gradient.", source)
        elif n.kind == "detached" and (lost := [name for name in n.behind if name not in told]):
            told.update(lost)
            where = f", in line {n.source.line}" if n.source else ""
            why = f"{', '.join(lost)} require{'s' if len(lost) == 1 else ''} a gradient and got none: the path is cut at {n.op}{where}."
            cure = "Compute this outside of no_grad" if n.op == "no_grad" else "Leave out detach() on this path"
            quiet = f"{lost[0]}.requires_grad = False{'' if len(lost) == 1 else ', and so for each,'}"
            meant = f"If the cut is meant, as for a target network, or while another part trains, nothing is wrong; {quiet} says so."
            yield finding("no-gradient", "backward", n, why, f"{cure}. {meant}")


def read_out(data: TraceData) -> Iterator[Finding]:
    """Constants that hold numbers which were results of this graph before: what came before them gets no gradient through them."""
    for n in data.nodes:
        if n.kind == "constant" and n.behind:
            user = _user(data, n)
            why = (
                f"{n.title} holds what was computed from Tensors that require a gradient, by {' and by '.join(n.behind)}. It was read out as plain numbers, "
                "through float() or into an array, so no gradient flows back through it."
            )
            remedy = (
                "Collect results in a Tensor (np.zeros_like(x), or tv.stack([...])) and leave float() out; if the cut is meant, say so with detach()."
            )
            yield finding("no-gradient", "backward", n, why, remedy, user.source)


def _stop(n: TraceNode, users: dict[int, list[TraceNode]]) -> TraceNode | None:
    """The first result on the way to the root that carries no gradient."""
    stack, seen = [n.id], set()
    while stack:
        for user in users.get(stack.pop(), []):
            if not user.requires_grad:
                return user
            if user.id not in seen:
                seen.add(user.id)
                stack.append(user.id)
    return None


def _user(data: TraceData, n: TraceNode) -> TraceNode:
    """The first result that a node went into; itself where there is none."""
    return next((data.nodes[i] for i in range(n.id + 1, len(data.nodes)) if n.id in data.nodes[i].inputs), n)


def changed_outside(data: TraceData) -> Iterator[Finding]:
    """Arrays that the user wrote to after they went into the graph and before the pass ran. What is written later, as to a buffer of batches, is no concern of it."""
    for n in data.nodes:
        if n.changed:
            user = _user(data, n)
            why = f"The array {n.title} was written to after {user.op} had used it. The record, and so the gradient, have the numbers from before; the array has others now. {_writer(data, n, user)}"
            yield finding("changed-outside", "forward", n, why, "Give the op a copy, or write the new numbers into a new array.", user.source)


def _writer(data: TraceData, n: TraceNode, user: TraceNode) -> str:
    """Who wrote, as far as the program's text shows: the engine sees no write to a plain array."""
    source = user.source
    found = writers(data.sources.get(source.file, ""), n.name, source.line) if n.name and source is not None else []
    if not found:
        return "Who wrote is not in the text of the program that made this graph."
    told = ", ".join(f"line {line} ({code})" for line, code in found[:3])
    return f"In the program's text {told} write{'s' if len(found) == 1 else ''} to it."


def stale_grad(data: TraceData) -> Iterator[Finding]:
    """Leaves whose ``.grad`` still held an earlier pass's gradient, to which this one was added.

    A leaf that was given other numbers while the graph was built is there twice, once with each; what the first left is of this pass.
    """
    left: dict[str, list[Array]] = {}
    for step in data.steps:
        if step.kind != "leaf" or step.after is None:
            continue
        n = data.nodes[step.node]
        own = any(np.array_equal(step.before, a) for a in left.get(n.title, ())) if step.before is not None else False
        left.setdefault(n.title, []).append(step.after)
        if step.before is not None and np.any(step.before) and not own:
            old = float(np.linalg.norm(step.before.astype(float).ravel()))
            new = float(np.linalg.norm(n.cotangent.astype(float).ravel())) if n.cotangent is not None else 0.0
            why = f"{n.title}.grad was not empty before this pass: it held an earlier gradient (norm {old:.4g}), and this pass's (norm {new:.4g}) was added to it."
            call = "optimizer.zero_grad() (or model.zero_grad())" if n.kind == "parameter" else f"{n.name or 'x'}.zero_grad()"
            yield finding(
                "stale-grad", "backward", n, why, f"Call {call} before backward, unless the gradients of several passes are meant to add up."
            )
