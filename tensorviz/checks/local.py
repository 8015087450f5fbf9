"""The local check: each share of one op against differences of that op's forward alone, at the recorded operands. Imports no view or widget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tensorviz.checks.differences import CODE, Floats, Judged
from tensorviz.checks.problems import Everywhere, Moved, is_elementwise
from tensorviz.checks.report import Block, block, single
from tensorviz.checks.search import along
from tensorviz.checks.subject import Subject, title
from tensorviz.engine.graph import Node
from tensorviz.engine.op import REGISTRY, Op, forward_of
from tensorviz.engine.unbroadcast import can_grow, unbroadcast
from tensorviz.trace import TraceNode, sum_axes


def check_rule(subject: Subject, i: int) -> list[Block]:
    """One block per operand of node ``i`` that gets a share, or should."""
    node = subject.nodes[i]
    if node.kind != "op" or node.cotangent is None:
        return []
    op = REGISTRY.get(node.op)
    blocks = []
    for slot, target in enumerate(node.inputs):
        receiver = subject.nodes[target]
        share = subject.sent.get(i, {}).get(slot)
        if share is None and (not receiver.requires_grad or op is None or (op.joint is None and op.vjps[0 if op.variadic else slot] is None)):
            continue
        named = f"{title(node)}, operand {node.slots[slot] if slot < len(node.slots) else slot}"
        if receiver.value.size == 0:
            continue
        trouble = subject.rerun(i)
        if trouble is not None:
            verdict: Any = trouble[0]
            blocks.append(single(i, "local", slot, named, verdict, trouble[1]))
            continue
        sent = np.zeros(receiver.shape) if share is None else share.value
        found = _compare(subject, node, slot, named, sent.astype(np.float64))
        if share is None and found.code == CODE["mismatch"]:
            found = _reasoned(found, "no share was sent to this operand")
        blocks.append(found)
    return blocks


def _compare(subject: Subject, node: TraceNode, slot: int, named: str, share: Floats) -> Block:
    ruler = subject.ruler
    assert node.cotangent is not None
    op = REGISTRY[node.op]
    # the recorded operands themselves, in float64; what a float64 run of the whole graph would make of them is another point
    operands = [subject.nodes[j].value.item() if subject.nodes[j].weak else _double(subject.nodes[j].value) for j in node.inputs]
    x = np.array(operands[slot], dtype=np.float64)
    weights = node.cotangent.astype(np.float64)

    def run(value: Any) -> Any:
        with np.errstate(all="ignore"):
            return subject.exact.apply(node.id, [*operands[:slot], value[()], *operands[slot + 1 :]])

    def shaped(value: Any) -> Floats:
        return np.asarray(run(value), dtype=np.float64)

    def flat(value: Any) -> Floats:
        return np.asarray(run(value), dtype=np.float64).reshape(-1)

    base = shaped(x)
    room = _room(op, slot, x)
    axes = _elementwise_axes(op, shaped, x, base)
    if axes is not None:
        judged, where, analytic, note = along(Everywhere(shaped, x, weights, axes, base), share, x, room, ruler)
    else:

        def problem(moves: Any) -> Moved:
            return Moved(flat, x, moves, weights.reshape(-1), base.reshape(-1))

        judged, where, analytic, note = along(
            problem, share, x, room, ruler, cost=2 * subject.cost(node.id), budget=subject.budget, rng=subject.rng(1, node.id, slot)
        )
    if node.value.dtype != np.float64 or subject.nodes[node.inputs[slot]].value.dtype != np.float64:
        _forgive(node, slot, operands, judged, where, ruler)
    return block(node.id, "local", slot, named, x.shape, where, analytic, judged, ruler, note)


def _double(value: Any) -> Any:
    return value.astype(np.float64)[()] if value.dtype.kind == "f" else value[()]


def _room(op: Op, slot: int, x: Floats) -> Floats:
    """How far each element is from the end of the op's domain; infinite where the op has none, or x lies outside of what it says."""
    room = np.full(x.size, np.inf)
    if slot < len(op.domain) and not op.variadic:
        low, high = op.domain[slot]
        flat = x.reshape(-1)
        inside = (flat > low) & (flat < high)
        with np.errstate(invalid="ignore"):
            room[inside] = np.minimum(flat - low, high - flat)[inside]
    return room


def _elementwise_axes(op: Op, f: Callable[[Any], Floats], x: Floats, base: Floats) -> tuple[int, ...] | None:
    """The axes that the operand grows where the op works element by element; None where it does not."""
    if not can_grow(x.shape, base.shape):
        return None
    forward = forward_of(op)
    if isinstance(forward, np.ufunc) and forward.signature is None and op.broadcasts:
        return sum_axes(base.shape, x.shape)
    if x.shape == base.shape and x.size > 16 and is_elementwise(f, x, base):
        return ()
    return None


def _forgive(node: TraceNode, slot: int, operands: list[Any], judged: Judged, where: Any, ruler: Any) -> None:
    """Turn mismatches of a narrow dtype into noise where the same rule, run in float64, agrees."""
    wrong = judged.verdict == CODE["mismatch"]
    if not wrong.any() or any(w < 0 for w in np.asarray(where)[wrong]):
        return
    exact = rule_in_double(node, slot, operands)
    if exact is None:
        return
    analytic = exact.reshape(-1)[np.asarray(where)]
    for k in np.flatnonzero(wrong):
        if abs(analytic[k] - judged.numeric[k]) <= ruler.atol + ruler.rtol * max(abs(analytic[k]), abs(judged.numeric[k])):
            judged.verdict[k], judged.reason[k] = CODE["noise"], f"{node.dtype} round-off: the same rule run in float64 gives {analytic[k]:.7g}"


def rule_in_double(node: TraceNode, slot: int, operands: list[Any]) -> Floats | None:
    """The share that the op's rule gives in float64 at the recorded operands; None where it cannot be run alone."""
    op = REGISTRY[node.op]
    assert node.cotangent is not None
    try:
        inputs = tuple(
            Node(None, (), {}, value, j == slot, j == slot, True, -1, None, -1, "")
            for j, value in enumerate(v if isinstance(v, (np.generic, np.ndarray)) else np.float64(v) for v in operands)
        )
        with np.errstate(all="ignore"):
            result = forward_of(op)(*operands, **node.params)
            value, extras = result if op.extras else (result, ())
            made = Node(op, inputs, dict(node.params), value, True, True, False, -1, None, -1, "")
            if extras:
                made.more().extras = extras
            share = np.asarray(op.pull(made, node.cotangent.astype(np.float64)[()])[slot])
        shape = np.shape(operands[slot])
        return np.asarray(share if share.shape == shape else unbroadcast(share, shape), dtype=np.float64)
    except Exception:  # noqa: BLE001 - a rule that does not run alone is no help, and no finding either
        return None


def _reasoned(found: Block, reason: str) -> Block:
    return replace(found, reasons=tuple(reason if code == CODE["mismatch"] else r for code, r in zip(found.codes, found.reasons, strict=True)))
