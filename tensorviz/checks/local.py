"""The local check: each share of one op against differences of that op's forward alone, at the recorded operands. Imports no view or widget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tensorviz.axes import sum_axes
from tensorviz.checks.differences import CODE, Floats, Judged, Pair
from tensorviz.checks.problems import Everywhere, Moved, is_elementwise
from tensorviz.checks.quick import Plan, joined, look, plan
from tensorviz.checks.report import Block, block, single
from tensorviz.checks.search import Outcome, along
from tensorviz.checks.subject import Subject, agrees, title
from tensorviz.engine.aside import Aside
from tensorviz.engine.node import NO_PARAMS
from tensorviz.engine.node import node as engine_node
from tensorviz.engine.op import REGISTRY, Op
from tensorviz.engine.unbroadcast import can_grow, unbroadcast
from tensorviz.trace import Share, TraceNode

AGAIN = 1.75
"""The factor of a second gradient: a rule that is not linear in what it receives gives itself away."""
NOT_LINEAR = "the rule is not linear in the gradient that it receives: 1.75 times as large a one does not give 1.75 times the share"
UNSTEADY = "the rule gives another share each time it runs on the same gradient: it draws random numbers, or keeps count of its calls"
NOT_THE_RULE = "the share that was sent is not what the op's rule gives for the gradient that it received"
MISSING = "no share was sent to this operand"

_FEW = 2**14
"""Array elements of a stack that is made in the time of a dozen calls."""

STEPS = frozenset({"floor", "ceil", "sign", "rint", "round", "trunc", "fix", "floor_divide", "heaviside"})
"""Ops that go up in steps: their slope is zero wherever they have one."""
TIES = ("max", "min", "maximum", "minimum", "fmax", "fmin")
"""Ops that pick one operand element per output, and split a tie evenly."""


def check_rule(subject: Subject, i: int) -> list[Block]:
    """One block per operand of node ``i`` that gets a share, or should."""
    return check_rules(subject, [i])[i]


def check_rules(subject: Subject, ids: Sequence[int]) -> dict[int, list[Block]]:
    """The same for several nodes, with one first pass over all of their operands."""
    found: dict[int, list[Block | None]] = {i: [] for i in ids}
    asked: list[_Asked] = []
    for i in ids:
        for slot in _slots(subject, i):
            trouble = subject.rerun(i)
            if trouble is not None:
                verdict: Any = trouble[0]
                found[i].append(single(i, "local", slot, _named(subject.nodes[i], slot), verdict, trouble[1]))
                continue
            asked.append(_Asked(subject, i, slot, len(found[i])))
            found[i].append(None)
    quick = [(a, p, pair) for a in asked if (p := a.plan()) is not None and (pair := a.first(p)) is not None]
    outcomes: dict[int, Outcome] = {}
    if quick:
        looked = look([p for _, p, _ in quick], joined([pair for _, _, pair in quick]), subject.ruler)
        outcomes = {id(a): outcome for (a, _, _), outcome in zip(quick, looked, strict=True) if outcome is not None}
    crooked: dict[int, dict[int, Block]] = {}
    for a in asked:
        i = a.node.id
        if i not in crooked:
            crooked[i] = _crooked(subject, a.node)
        made = a.block(outcomes.get(id(a)))
        other = crooked[i].get(a.slot)
        found[i][a.place] = other if other is not None and (made.code > CODE["mismatch"] or UNSTEADY in other.reasons) else made
    return {i: [b for b in blocks if b is not None] for i, blocks in found.items()}


def _slots(subject: Subject, i: int) -> list[int]:
    """The operands of node ``i`` whose shares are compared."""
    node = subject.nodes[i]
    if node.kind != "op" or node.cotangent is None or not subject.finished(i):
        return []
    op, sent = REGISTRY.get(node.op), subject.sent.get(i, {})
    found = []
    for slot, target in enumerate(node.inputs):
        receiver = subject.nodes[target]
        ruled = op is not None and (op.joint is not None or op.vjps[0 if op.variadic else slot] is not None)
        if receiver.value.size and (slot in sent or (receiver.requires_grad and ruled)):
            found.append(slot)
    return found


class _Asked:
    """One operand of one op, whose share is to be compared."""

    def __init__(self, subject: Subject, i: int, slot: int, place: int) -> None:
        self.subject, self.node, self.slot, self.place = subject, subject.nodes[i], slot, place
        self.op = REGISTRY[self.node.op]
        share = subject.sent.get(i, {}).get(slot)
        self.missing = share is None
        self.alone = Alone(subject, self.node, slot)
        x = self.alone.x
        self.share: Floats = np.zeros(x.shape) if share is None else share.value.astype(np.float64)
        self.room = _room(self.op, slot, x)
        self.axes = _elementwise_axes(self.op, self.alone.shaped, x, self.alone.base)
        self.cost = 2 * subject.costs[i]

    def rng(self) -> np.random.Generator:
        return self.subject.rng(1, self.node.id, self.slot)

    def plan(self) -> Plan | None:
        if self.axes is not None:
            return plan(self.share, self.alone.x, self.room, self.subject.ruler)
        return plan(self.share, self.alone.x, self.room, self.subject.ruler, cost=self.cost, budget=self.subject.budget, rng=self.rng)

    def first(self, p: Plan) -> Pair | None:
        """The first differences; None where the point itself is not finite."""
        problem = self._everywhere() if self.axes is not None else self.alone.problem(p.moves)
        if not np.isfinite(self.alone.base).all():
            return None
        return problem.pairs(np.arange(len(p.h)), p.h)

    def _everywhere(self) -> Everywhere:
        assert self.axes is not None
        return Everywhere(self.alone.shaped, self.alone.x, self.alone.weights, self.axes, self.alone.base)

    def block(self, outcome: Outcome | None) -> Block:
        """The rows; without an outcome of the first pass, after a closer look."""
        subject, node, slot = self.subject, self.node, self.slot
        ruler, x = subject.ruler, self.alone.x
        if outcome is not None:
            judged, where, analytic, note = outcome
        elif self.axes is not None:
            judged, where, analytic, note = along(self._everywhere(), self.share, x, self.room, ruler)
        else:
            judged, where, analytic, note = along(
                self.alone.problem, self.share, x, self.room, ruler, cost=self.cost, budget=subject.budget, rng=self.rng
            )
        if outcome is None and (node.value.dtype != np.float64 or subject.nodes[node.inputs[slot]].value.dtype != np.float64):
            if self.missing or _is_the_rules(subject, node, slot):
                _forgive(node, slot, self.alone.operands, judged, where, ruler)
        if outcome is None and not self.missing and _splits_ties(node):
            _uneven(subject.sent[node.id][slot], judged, where, analytic, ruler)
        if outcome is None and node.op in STEPS:
            _level(judged, analytic)
        found = block(node.id, "local", slot, _named(node, slot), x.shape, where, analytic, judged, ruler, note)
        return _reasoned(found, MISSING) if self.missing and found.code == CODE["mismatch"] else found


def _operands(subject: Subject, node: TraceNode) -> list[Any]:
    """The recorded operands, in float64; what a float64 run of the whole graph would make of them is another point."""
    return [subject.nodes[j].value.item() if subject.nodes[j].weak else _double(subject.nodes[j].value) for j in node.inputs]


def _crooked(subject: Subject, node: TraceNode) -> dict[int, Block]:
    """The operands whose rule is not linear in the gradient that it receives, which one recorded gradient cannot show if it is all ones."""
    subject.watch()
    operands, need = _operands(subject, node), [subject.nodes[j].requires_grad for j in node.inputs]
    again = rule_in_double(node, operands, need, AGAIN, subject.again.get(node.id))
    sent = subject.sent.get(node.id, {})
    once: list[Floats | None] | None
    if node.id in subject.again:  # recorded in float64: what was sent is what the rule gives
        once = [None if (share := sent.get(slot)) is None else share.value for slot in range(len(node.inputs))]
    else:
        once = rule_in_double(node, operands, need, 1.0)
    found: dict[int, Block] = {}
    if once is None or again is None:
        return found
    for slot, (a, b) in enumerate(zip(once, again, strict=True)):
        if b is None:
            continue
        if slot not in sent:
            # where the operand has no derivative (a tie), differences cannot tell that nothing was sent; the rule can
            if np.any(np.abs(b) > subject.ruler.allowed(b, np.zeros(b.shape))):
                found[slot] = _unlike(subject, node, slot, np.zeros(b.shape), b / AGAIN, MISSING)
            continue
        if a is None or a.shape != b.shape:
            continue
        with np.errstate(invalid="ignore"):
            off = np.abs(b / AGAIN - a)
            if off.size and np.maximum.reduce(off, axis=None) <= subject.ruler.atol:
                continue
            off = off > subject.ruler.allowed(a, b / AGAIN)
        if off.any():
            one, two, more = (rule_in_double(node, operands, need, factor) for factor in (1.0, 1.0, AGAIN))
            odd = _oddity(subject, node, slot, a, b / AGAIN, one, two, more)
            if odd is not None:
                found[slot] = odd
    return found


def _oddity(subject: Subject, node: TraceNode, slot: int, sent: Floats, again: Floats, one: Any, two: Any, more: Any) -> Block | None:
    """What is odd about a share that a second gradient contradicts. ``one``, ``two``, ``more``: the rule's shares after another forward, by which it may go."""
    rule, twin, scaled = (None if shares is None else shares[slot] for shares in (one, two, more))
    if rule is None or twin is None or scaled is None or not rule.shape == twin.shape == scaled.shape == sent.shape:
        return _unlike(subject, node, slot, again, sent, NOT_LINEAR)
    with np.errstate(invalid="ignore"):
        if np.any(np.abs(twin - rule) > subject.ruler.allowed(rule, twin)):
            return _unlike(subject, node, slot, twin, rule, UNSTEADY, "nondeterministic")
        if np.any(np.abs(scaled / AGAIN - rule) > subject.ruler.allowed(rule, scaled / AGAIN)):
            return _unlike(subject, node, slot, scaled / AGAIN, rule, NOT_LINEAR)
        if np.any(np.abs(rule - sent) > subject.ruler.allowed(rule, sent)):
            return _unlike(subject, node, slot, sent, rule, NOT_THE_RULE)
    return None


def _unlike(subject: Subject, node: TraceNode, slot: int, analytic: Floats, numeric: Floats, reason: str, verdict: str = "mismatch") -> Block:
    """A block of the elements in which a share is not what it should be, though differences cannot tell."""
    with np.errstate(invalid="ignore"):
        where = np.flatnonzero(np.abs(analytic - numeric).reshape(-1) > subject.ruler.allowed(analytic, numeric).reshape(-1))
    judged = Judged(numeric.reshape(-1)[where], np.full(len(where), CODE[verdict], dtype=np.int8), [reason] * len(where))
    return block(node.id, "local", slot, _named(node, slot), analytic.shape, where, analytic.reshape(-1)[where], judged, subject.ruler)


def _named(node: TraceNode, slot: int) -> str:
    return f"{title(node)}, operand {node.slots[slot] if slot < len(node.slots) else slot}"


class Alone:
    """One op by itself, as a function of the operand at ``slot``, weighted with the recorded gradient of its result."""

    def __init__(self, subject: Subject, node: TraceNode, slot: int) -> None:
        assert node.cotangent is not None
        self.subject, self.node, self.slot = subject, node, slot
        self.operands = _operands(subject, node)
        self.x: Floats = np.array(self.operands[slot], dtype=np.float64)
        self.weights: Floats = node.cotangent.astype(np.float64)
        self.stacked = tuple([j == slot for j in range(len(self.operands))])
        again = subject.again.get(node.id)
        self.base: Floats = self.shaped(self.x) if again is None else again

    def shaped(self, value: Any) -> Floats:
        """The result for another operand."""
        with np.errstate(all="ignore"):
            result = self.subject.exact.apply(self.node.id, [*self.operands[: self.slot], value[()], *self.operands[self.slot + 1 :]])
        return np.asarray(result, dtype=np.float64)

    def many(self, stack: Floats) -> Floats:
        """The flat results for a stack of operands."""
        with np.errstate(all="ignore"):
            given = [*self.operands[: self.slot], stack, *self.operands[self.slot + 1 :]]
            result = self.subject.stacked.apply(self.node.id, given, self.stacked, len(stack))
        return np.asarray(result, dtype=np.float64).reshape(len(stack), -1)

    def problem(self, moves: Any) -> Moved:
        return Moved(self.many, self.x, moves, self.weights.reshape(-1), self.base.reshape(-1), self.subject.costs[self.node.id])


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
    if op.ufuncs and all(u.signature is None for u in op.ufuncs):
        return sum_axes(base.shape, x.shape) if op.broadcasts or x.shape != base.shape else ()
    # to find that out takes a run per bit of the index, so it is for arrays whose elements are not soon moved one by one
    if x.shape == base.shape and x.size * base.size > _FEW and is_elementwise(f, x, base):
        return ()
    return None


def _splits_ties(node: TraceNode) -> bool:
    """Each operand element meets the others in one place, and equal ones share it evenly."""
    if node.op == "max_pool2d":
        kernel, stride, dilation = (node.params[name] for name in ("kernel", "stride", "dilation"))
        return all(s >= (k - 1) * d + 1 for k, s, d in zip(kernel, stride, dilation, strict=True))
    return node.op in TIES


def _uneven(share: Share, judged: Judged, where: Any, analytic: Floats, ruler: Any) -> None:
    """Turn a kink into a mismatch where a tie is known, and not split evenly: one side of the kink has the whole slope, and each of k winners gets 1/k of it."""
    if share.route is None or share.summed_axes:
        return
    weights = share.route.reshape(-1)
    for k in np.flatnonzero(judged.verdict == CODE["nonsmooth"]):
        weight = float(weights[where[k]]) if where[k] >= 0 else 0.0
        if 0.0 < weight < 1.0 and judged.reason[k] == "kink":
            fair = 2 * judged.numeric[k] * weight
            if abs(analytic[k] - fair) > ruler.allowed(analytic[k], fair):
                judged.verdict[k], judged.numeric[k] = CODE["mismatch"], fair
                judged.reason[k] = f"a tie splits evenly: this element's part is {weight:.3g}, which is {fair:.6g}"


def _level(judged: Judged, analytic: Floats) -> None:
    """Turn mismatches of a rule that gives 0, as that of a staircase must, into noise: of a large x no step is short enough to stay on one stair."""
    for k in np.flatnonzero((judged.verdict == CODE["mismatch"]) & (analytic == 0)):
        judged.verdict[k], judged.reason[k] = CODE["noise"], "stair"


def _forgive(node: TraceNode, slot: int, operands: list[Any], judged: Judged, where: Any, ruler: Any) -> None:
    """Turn mismatches of a narrow dtype into noise where the same rule, run in float64, agrees."""
    wrong = judged.verdict == CODE["mismatch"]
    if not wrong.any() or any(w < 0 for w in np.asarray(where)[wrong]):
        return
    shares = rule_in_double(node, operands, [j == slot for j in range(len(operands))], 1.0)
    exact = None if shares is None else shares[slot]
    if exact is None or exact.size <= int(np.max(np.asarray(where))):
        return
    analytic = exact.reshape(-1)[np.asarray(where)]
    for k in np.flatnonzero(wrong):
        if abs(analytic[k] - judged.numeric[k]) <= ruler.atol + ruler.rtol * max(abs(analytic[k]), abs(judged.numeric[k])):
            judged.verdict[k], judged.reason[k] = CODE["noise"], f"{node.dtype} round-off: the same rule run in float64 gives {analytic[k]:.7g}"


def _is_the_rules(subject: Subject, node: TraceNode, slot: int) -> bool:
    """Whether a recorded share is what the op's rule gives in the recorded dtypes, so that round-off may excuse it; true where the rule does not run alone."""
    need = [subject.nodes[j].requires_grad for j in node.inputs]
    shares = rule_of(node, [subject.plain.values[j] for j in node.inputs], need, lambda g: g)
    share = None if shares is None else shares[slot]
    return share is None or agrees(subject.sent[node.id][slot].value.astype(np.float32), share.astype(np.float32))


def rule_in_double(node: TraceNode, operands: Sequence[Any], need: Sequence[bool], factor: float, result: Any = None) -> list[Floats | None] | None:
    """The shares that the op's rule gives in float64 at the recorded operands, for ``factor`` times the recorded gradient; None where it cannot be run alone."""
    return rule_of(node, operands, need, lambda g: g.astype(np.float64) * factor, result)


def rule_of(
    node: TraceNode, operands: Sequence[Any], need: Sequence[bool], given: Callable[[Any], Any], result: Any = None
) -> list[Floats | None] | None:
    """The shares of the op's rule at these operands for what ``given`` makes of the recorded gradient."""
    op = REGISTRY[node.op]
    assert node.cotangent is not None
    try:
        inputs = tuple(
            engine_node(None, (), NO_PARAMS, value, wanted)
            for wanted, value in zip(need, (v if isinstance(v, (np.generic, np.ndarray)) else np.float64(v) for v in operands), strict=True)
        )
        with np.errstate(all="ignore"), Aside():
            if result is None or op.extras:
                result = op.run(*operands, **node.params)
            value, extras = result if op.extras else (result[()], ())
            made = engine_node(op, inputs, dict(node.params), value, True)
            if extras:
                made.more().extras = extras
            shares = op.pull(made, given(node.cotangent)[()])
            return [None if s is None else _fitted(np.asarray(s), np.shape(v)) for s, v in zip(shares, operands, strict=True)]
    except Exception:  # noqa: BLE001 - a rule that does not run alone is no help, and no finding either
        return None


def _fitted(share: Any, shape: tuple[int, ...]) -> Floats:
    """Unbroadcast in the share's own dtype, as the engine does, then in float64."""
    return np.asarray(share if share.shape == shape else unbroadcast(share, shape), dtype=np.float64)


def _reasoned(found: Block, reason: str) -> Block:
    return replace(found, reasons=tuple(reason if code == CODE["mismatch"] else r for code, r in zip(found.codes, found.reasons, strict=True)))
