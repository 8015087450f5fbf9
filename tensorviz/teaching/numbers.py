"""Questions whose answer is numbers: what a share is, what ``.grad`` will hold. Imports the record and the sweep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorviz.engine.unbroadcast import can_grow
from tensorviz.teaching.hints import apart, diagnose
from tensorviz.teaching.questions import MOST, READABLE, Question, listed, spelled
from tensorviz.teaching.reading import numbers
from tensorviz.teaching.sweep import Right, Sweep, symbol, title
from tensorviz.trace import Share, Trace


class NumbersQuestion(Question):
    """A question whose answer is an array of numbers, or one element of it."""

    def __init__(self, trace: Trace, step: int, tolerance: float | str, right: Any, rng: np.random.Generator) -> None:
        super().__init__(trace, step, tolerance)
        self.right = np.asarray(right)
        self.index: tuple[int, ...] | None = None
        if self.right.size > MOST:
            flat = np.flatnonzero(self.right) if np.any(self.right) else np.arange(self.right.size)
            self.index = tuple(int(i) for i in np.unravel_index(int(rng.choice(flat)), self.right.shape))

    @property
    def form(self) -> str:  # type: ignore[override]
        if self.index is not None or self.right.ndim == 0:
            return "a number"
        return (
            f"{self.right.size} numbers as a list (nested, of shape {self.right.shape})"
            if self.right.ndim > 1
            else f"a list of {self.right.size} numbers"
        )

    @property
    def solution(self) -> Any:
        return self.right.tolist() if self.index is None else self.right[self.index].item()

    def _of(self) -> str:
        """What is asked of the array."""
        signs = " Give the sign of it: -1, 0 or 1." if self.sign else ""
        return (f" Give its element at {list(self.index)}." if self.index is not None else "") + signs

    def read(self, answer: Any) -> Any:
        given = numbers(answer)
        if self.index is not None and given.shape == self.right.shape:
            given = given[self.index]
        if self.index is None and given.ndim == 1 and given.size == self.right.size == 1:
            given = given.reshape(self.right.shape)
        return given

    def judge(self, answer: Any) -> tuple[bool, str]:
        right = np.asarray(self.right if self.index is None else self.right[self.index], dtype=float)
        if self.sign:
            ok = answer.shape == right.shape and bool(np.all(np.sign(answer) == np.sign(right)))
            return ok, "" if ok or not np.all(np.sign(answer) == -np.sign(right)) else "sign"
        if answer.shape == right.shape and not np.any(apart(answer, right, self.tolerance)):
            return True, ""
        wrong = [
            (kind, value if self.index is None else value[self.index])
            for kind, value in self.wrong()
            if self.index is None or value.shape == self.right.shape
        ]
        return False, diagnose(answer, right, wrong, self.tolerance) or ("" if answer.shape == right.shape else "other-shape")

    def wrong(self) -> Iterator[tuple[str, Any]]:
        """Kinds of mistakes, and what they would give."""
        raise NotImplementedError

    def _shown(self, solution: Any) -> str:
        return spelled(np.asarray(solution))


class ValueQuestion(NumbersQuestion):
    """What a share is when it arrives."""

    kind = "value"

    def __init__(self, trace: Trace, step: int, tolerance: float | str, share: Share, rng: np.random.Generator) -> None:
        super().__init__(trace, step, tolerance, share.value, rng)
        self.share, self.target, self.consumer = share, trace.nodes[share.target], trace.nodes[share.consumer]

    @property
    def text(self) -> str:
        g = self.consumer.cotangent
        assert g is not None
        parts = [self._named(slot, i) for slot, i in enumerate(self.consumer.inputs) if i not in self.consumer.inputs[:slot]]
        if self.consumer.value.size <= READABLE:
            parts.append(f"{title(self.consumer)} = {spelled(self.consumer.value)}")
        given = f"Forward had {', '.join(filter(None, parts))}. "
        twice = self.consumer.inputs.count(self.target.id) > 1
        slot = f" for its operand {self.consumer.slots[self.share.slot]}" if twice else ""
        name = title(self.consumer)
        op = "" if name == self.consumer.op else f" ({self.consumer.op})"
        return (
            f"{given}{symbol(self.consumer)} = {spelled(g)} has come to the rule of {name}{op}. "
            f"What is the share that it sends to {title(self.target)}{slot}?{self._of()}"
        )

    def wrong(self) -> Iterator[tuple[str, Any]]:
        share, g = self.share, self.consumer.cotangent
        assert g is not None
        if share.summed_axes:
            yield "not-summed", share.local
            yield "averaged", share.value / np.prod([share.local.shape[a] for a in share.summed_axes])
        yield "passed-on", g
        for other in self._sent():
            if other.slot != share.slot:
                yield "swapped", other.value
        if len(self.consumer.inputs) > 1 and can_grow(self.target.shape, np.shape(g)):
            yield "own-operand", g * self.target.value
        if share.route is not None:
            whole = np.where(share.route > 0, np.broadcast_to(g, self.target.shape) if g.ndim == 0 else 0, 0)
            if g.ndim == 0 and np.count_nonzero(whole) > 1:
                yield "all-of-tie", whole
                yield "first-of-tie", np.where(np.arange(whole.size).reshape(whole.shape) == np.argmax(whole != 0), whole, 0)
            yield "position", np.where(share.route > 0, self.target.value, 0)
        alone = self._alone()
        if alone is not None:
            yield "without-g", alone

    def _named(self, slot: int, i: int) -> str:
        """An operand with its value; a lone number stands in the expression already."""
        n = self.trace.nodes[i]
        if n.name is None and n.kind == "constant":
            return "" if n.value.size == 1 else f"the operand {self.consumer.slots[slot]} = {spelled(n.value)}"
        return f"{title(n)} = {spelled(n.value)}"

    def _sent(self) -> Iterator[Share]:
        for i in dict.fromkeys(self.consumer.inputs):
            yield from (s for s in self.trace.nodes[i].shares if s.consumer == self.consumer.id)

    def _alone(self) -> Any:
        """The share that the rule would send for a gradient of ones."""
        try:
            sweep = Sweep(self.trace, Right())
            engine = sweep.engine[self.consumer.id]
            local = sweep.pull(engine, np.ones(self.consumer.shape, self.consumer.value.dtype)[()])[self.share.slot]
            return sweep.fitted(self.consumer.id, self.share.slot, np.asarray(local))[1]
        except Exception:  # noqa: BLE001 - only a hint is lost (an op that this process does not know)
            return None


class GradQuestion(NumbersQuestion):
    """What ``.grad`` of a leaf holds after the pass."""

    kind = "grad"

    def __init__(self, trace: Trace, step: int, tolerance: float | str, rng: np.random.Generator) -> None:
        made = trace.steps[step]
        super().__init__(trace, step, tolerance, made.after, rng)
        self.node, self.before = trace.nodes[made.node], made.before

    @property
    def text(self) -> str:
        held = "is None" if self.before is None else f"holds {spelled(self.before)}"
        seeds = [f"{symbol(self.trace.nodes[s.node])} = {spelled(s.after)}" for s in self.trace.steps if s.kind == "seed" and s.after is not None]
        values = f", and {title(self.node)} = {spelled(self.node.value)}" if self.node.value.size <= READABLE else ""
        return f"Before the pass, {title(self.node)}.grad {held}{values}. The pass starts with {listed(seeds)}. What will {title(self.node)}.grad hold after it?{self._of()}"

    def wrong(self) -> Iterator[tuple[str, Any]]:
        shares, total = self.node.shares, self.node.cotangent
        assert total is not None
        if self.before is not None:
            yield "forgot-held", total
            yield "held-alone", self.before
        if len(shares) > 1:
            yield "last-share", shares[-1].value
            yield "first-share", shares[0].value
            yield "averaged", total / len(shares)
        for name, kind in (("overwrite", "overwrote"), ("wrong-order", "wrong-order"), ("average", "averaged"), ("detached", "")):
            if kind:
                yield from ((kind, v) for v in self._buggy(name))
        for share in shares:
            if share.summed_axes:
                yield "not-summed", share.local
                yield "averaged", share.value / np.prod([share.local.shape[a] for a in share.summed_axes])
        yield "without-g", np.ones(total.shape)

    def _buggy(self, name: str) -> Iterator[Any]:
        """What ``.grad`` would be with that bug everywhere."""
        try:
            found = self.trace.with_bug(name, node="all").nodes[self.node.id].cotangent
        except Exception:  # noqa: BLE001 - only a hint is lost (an op that this process does not know)
            return
        if found is not None:
            yield found
