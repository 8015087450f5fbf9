"""Questions about a record, asked before a step is shown: axes, shapes, routes, counts of shares. Imports the record and the sweep's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tensorviz.errors import OptionError
from tensorviz.teaching.feedback import Feedback
from tensorviz.teaching.hints import HINTS
from tensorviz.teaching.reading import several, whole
from tensorviz.teaching.sweep import title
from tensorviz.trace import Share, Trace, TraceNode

MOST = 6
"""Elements that a student works out at most; of a larger array one element is asked."""
READABLE = 24
"""Elements of an array that a question spells out at most."""


class Question:
    """One question about the step at ``step`` of a trace."""

    kind: ClassVar[str] = ""
    form: ClassVar[str] = ""
    """What an answer looks like."""

    def __init__(self, trace: Trace, step: int, tolerance: float | str) -> None:
        self.trace, self.step = trace, step
        self.sign = tolerance == "sign"
        """Of numbers only the sign is asked."""
        self.tolerance = 1e-3 if isinstance(tolerance, str) else float(tolerance)
        self.attempts: list[tuple[Any, Feedback]] = []
        """Every answer that was given, and what was said to it."""
        self.revealed = False

    @property
    def text(self) -> str:
        """The question in words."""
        raise NotImplementedError

    @property
    def solution(self) -> Any:
        """The right answer."""
        raise NotImplementedError

    def read(self, answer: Any) -> Any:
        """The answer in the form that :meth:`judge` takes; raises OptionError (a ValueError) for what is none."""
        raise NotImplementedError

    def judge(self, answer: Any) -> tuple[bool, str]:
        """Whether an answer is right, and the kind of mistake."""
        raise NotImplementedError

    @property
    def correct(self) -> bool:
        """The latest answer is right, and was given before the solution was revealed."""
        return bool(self.attempts) and self.attempts[-1][1].ok

    def answer(self, answer: Any) -> Feedback:
        """Say whether an answer is right, and what kind of mistake it is if not. What is no answer at all (the wrong type) does not count as one.

        After :meth:`reveal` the outcome is said, and the score stays as it was.
        """
        try:
            given = self.read(answer)
        except (ValueError, TypeError):
            return Feedback(False, f"That is no answer to this question: give {self.form}.", got=answer)
        ok, mistake = self.judge(given)
        said = Feedback(
            ok,
            "Right." if ok else "Not yet.",
            "" if ok else HINTS.get(mistake, ""),
            "" if ok else mistake,
            got=answer,
        )
        if not self.revealed:
            self.attempts.append((answer, said))
        return said

    def reveal(self) -> str:
        """The right answer in words, with the sentence of the step; from now on answers do not count."""
        self.revealed = True
        return self.told()

    def told(self) -> str:
        """The same words; the question stays open."""
        return f"The answer is {self._shown(self.solution)}. {self.trace.steps[self.step].caption}"

    def _shown(self, solution: Any) -> str:
        return str(solution)

    def __repr__(self) -> str:
        state = "right" if self.correct else "revealed" if self.revealed else "open" if not self.attempts else "not yet right"
        return f"<{self.kind} question at step {self.step}, {state}: {self.text}>"


class AxesQuestion(Question):
    """Over which axes a share is summed."""

    kind, form = "axes", "the axes as a tuple such as (0, 2), or () for none"

    def __init__(self, trace: Trace, step: int, tolerance: float | str, share: Share) -> None:
        super().__init__(trace, step, tolerance)
        self.share, self.target, self.consumer = share, trace.nodes[share.target], trace.nodes[share.consumer]

    @property
    def text(self) -> str:
        return (
            f"{title(self.target)} has shape {self.target.shape}. The share that {title(self.consumer)} sends to it has shape {self.share.local.shape} "
            f"before unbroadcast. Over which axes is it summed?"
        )

    @property
    def solution(self) -> tuple[int, ...]:
        return self.share.summed_axes

    def read(self, answer: Any) -> tuple[int, ...]:
        return tuple(sorted({whole(a) for a in several(answer)}))

    def judge(self, answer: Any) -> tuple[bool, str]:
        n, right = self.share.local.ndim, set(self.solution)
        given = {a % n if -n <= a < n else a for a in answer}
        if given == right:
            return True, ""
        front = n - len(self.target.shape)
        full = {front + k for k, s in enumerate(self.target.shape) if s > 1}
        if given and given <= full:
            return False, "kept-axes"
        if front and given == {a - front for a in right if a >= front} | (set(range(front)) & right):
            return False, "axis-numbers"
        if any(not 0 <= a < n for a in given):
            return False, "axis-numbers"
        return False, "missing-axis" if given < right else "extra-axis" if given > right else "kept-axes" if given & full else "axis-numbers"


class ShapeQuestion(Question):
    """Which shape a share has when it arrives."""

    kind, form = "shape", "a shape such as (2, 3), or () for a single number"

    def __init__(self, trace: Trace, step: int, tolerance: float | str, share: Share) -> None:
        super().__init__(trace, step, tolerance)
        self.share, self.target, self.consumer = share, trace.nodes[share.target], trace.nodes[share.consumer]

    @property
    def text(self) -> str:
        operands = [f"{title(self.trace.nodes[i])} of shape {self.trace.nodes[i].shape}" for i in dict.fromkeys(self.consumer.inputs)]
        return (
            f"{title(self.consumer)} of shape {self.consumer.shape} was made of {listed(operands)}, and its gradient has come. "
            f"Which shape has the share that arrives at {title(self.target)}?"
        )

    @property
    def solution(self) -> tuple[int, ...]:
        return self.target.shape

    def read(self, answer: Any) -> tuple[int, ...]:
        if isinstance(answer, (set, frozenset)):
            raise OptionError("a shape has an order")
        return tuple(whole(a) for a in several(answer))

    def judge(self, answer: Any) -> tuple[bool, str]:
        right, given = self.solution, tuple(answer)
        if given == right:
            return True, ""
        if given == self.share.local.shape and self.share.summed_axes:
            return False, "not-summed"
        kept = tuple(1 if k in self.share.summed_axes else s for k, s in enumerate(self.share.local.shape))
        if given == kept:
            return False, "kept-dims"
        if given == right[::-1] or (len(given) > 1 and (*given[:-2], given[-1], given[-2]) == right):
            return False, "transposed"
        return False, "result-shape" if given == self.consumer.shape else ""


class RouteQuestion(Question):
    """Which elements of an operand are chosen."""

    kind, form = "route", "a position such as 2 or (0, 2), or a list of them"

    def __init__(self, trace: Trace, step: int, tolerance: float | str, share: Share, rng: np.random.Generator) -> None:
        super().__init__(trace, step, tolerance)
        self.share, self.target, self.consumer = share, trace.nodes[share.target], trace.nodes[share.consumer]
        assert share.route is not None
        self.asked = np.ones(share.route.shape, dtype=bool)
        self.at: tuple[int, ...] = ()
        """Of a maximum along an axis: the position in the result that is asked for."""
        result = self.consumer.shape
        if self.consumer.op in ("max", "min") and self.consumer.value.size > 1:
            self.at = tuple(int(rng.integers(s)) for s in result)
            self.asked = np.asarray(self._group())

    def _group(self) -> Any:
        """The elements among which the asked element of the result was chosen."""
        given = self.consumer.params.get("axis")
        n = self.target.value.ndim
        axes = {k % n for k in (given if isinstance(given, tuple) else (given,))}
        keep = bool(self.consumer.params.get("keepdims"))
        position = list(self.at)
        index = [slice(None) if k in axes else position[k if keep else sum(j not in axes for j in range(k))] for k in range(n)]
        group = np.zeros(self.target.shape, dtype=bool)
        group[tuple(index)] = True
        return group

    @property
    def text(self) -> str:
        of = f" for its element at {list(self.at)}" if self.at else ""
        others = [
            f"{title(n)} = {spelled(n.value)}"
            for i in dict.fromkeys(self.consumer.inputs)
            if (n := self.trace.nodes[i]).id != self.target.id and n.name
        ]
        beside = f", {listed(others)}" if others else ""
        return (
            f"{title(self.target)} = {spelled(self.target.value)}{beside}. To which element of {title(self.target)} does {title(self.consumer)} "
            f"({self.consumer.op}) pass the gradient{of}? If there are several, list all; [] if there is none."
        )

    @property
    def solution(self) -> Any:
        route = self.share.route
        assert route is not None
        found = [tuple(int(i) for i in at) for at in np.argwhere((route > 0) & self.asked)]
        plain: list[Any] = [at[0] for at in found] if route.ndim == 1 else list(found)
        return plain[0] if len(plain) == 1 else plain

    def read(self, answer: Any) -> frozenset[tuple[int, ...]]:
        n = self.target.value.ndim
        if isinstance(answer, np.ndarray):
            answer = answer.tolist()
        if not isinstance(answer, (list, tuple, set, frozenset)):
            many: Any = [answer]
        elif n > 1 and isinstance(answer, tuple) and all(not isinstance(a, (list, tuple)) for a in answer):
            many = [answer] if answer else []
        elif n == 0:
            many = [()] if not answer or answer == [()] else answer
        else:
            many = answer
        found = [tuple(whole(i) for i in (at if isinstance(at, (list, tuple)) else (at,))) for at in many]
        if any(len(at) != n for at in found):
            raise OptionError(f"positions in {n} axes have {n} numbers")
        return frozenset(tuple(i % s if -s <= i < s else i for i, s in zip(at, self.target.shape, strict=True)) for at in found)

    def judge(self, answer: Any) -> tuple[bool, str]:
        solution = self.solution
        right = self.read(solution if isinstance(solution, list) else [solution] if self.target.value.ndim else solution)
        if answer == right:
            return True, ""
        if len(right) > 1 and answer and answer < right:
            return False, "first-of-tie" if self.consumer.op in ("max", "min") else "not-chosen"
        if len(answer) == 1:
            (at,) = answer
            if len(at) == 1 and any(self.target.value[r] == at[0] for r in right):
                return False, "gave-value"
            if any(all(i == j + 1 for i, j in zip(at, r, strict=True)) for r in right):
                return False, "off-by-one"
            inside = all(0 <= i < s for i, s in zip(at, self.target.shape, strict=True))
            if inside and self.consumer.op == "max" and self.target.value[at] == np.min(self.target.value[self.asked]):
                return False, "smallest"
        return False, "not-chosen"


class SharesQuestion(Question):
    """How many shares arrive at a node."""

    kind, form = "shares", "a whole number"

    def __init__(self, trace: Trace, step: int, tolerance: float | str, node: TraceNode) -> None:
        super().__init__(trace, step, tolerance)
        self.node = node

    @property
    def text(self) -> str:
        return f"How many shares of gradient arrive at {title(self.node)}, all in all?"

    @property
    def solution(self) -> int:
        return len(self.node.shares)

    def read(self, answer: Any) -> int:
        return whole(answer)

    def judge(self, answer: Any) -> tuple[bool, str]:
        right = self.solution
        if answer == right:
            return True, ""
        uses = sum(n.inputs.count(self.node.id) for n in self.trace.nodes)
        if answer == len({s.consumer for s in self.node.shares}):
            return False, "uses"
        return False, "constants" if answer == uses else "one-gradient" if answer == 1 else "off-by-one" if abs(answer - right) == 1 else "uses"


# ---- words -----------------------------------------------------------------------------------------------------


def spelled(array: Any) -> str:
    """An array as nested lists of printed numbers, or its shape where it is large."""
    from tensorviz.views.summary import spelled as written

    array = np.asarray(array)
    return written(array) if array.size <= READABLE else f"an array of shape {array.shape}"


def listed(words: Sequence[str]) -> str:
    """``a, b and c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else "nothing else"
