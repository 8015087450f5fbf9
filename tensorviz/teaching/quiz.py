"""A quiz on a trace: predict, then reveal. Imports the questions; the widget is loaded when it is shown."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tensorviz.arguments import listed, number, one_of, whole
from tensorviz.errors import OptionError, RecordError
from tensorviz.teaching.feedback import Feedback
from tensorviz.teaching.offers import KINDS, offered
from tensorviz.teaching.questions import Question
from tensorviz.trace import Trace

if TYPE_CHECKING:
    from tensorviz.teaching.view import QuizView


def quiz(trace: Trace, n: int = 5, *, kinds: str | Sequence[str] | None = None, seed: int = 0, tolerance: float | str = 1e-3) -> Quiz:
    """Questions about a pass, asked before its steps are shown; see :meth:`Trace.quiz`.

    >>> import numpy as np, tensorviz as tv
    >>> X = tv.tensor(np.ones((2, 3)), requires_grad=True, name="X")
    >>> b = tv.tensor([0.1, 0.2, 0.3], requires_grad=True, name="b")
    >>> asked = (X + b).sum().backward().quiz(kinds="axes")
    >>> print(asked[0].text)
    b has shape (3,). The share that add sends to it has shape (2, 3) before unbroadcast. Over which axes is it summed?
    >>> print(asked[0].answer((1,)))
    Not yet. Hint: those are axes at which the operand has its full size. Summed are the others: those that it grew.
    >>> print(asked[0].answer((0,)))
    Right.
    >>> asked.score, len(asked)
    (1, 1)
    """
    return Quiz(trace, n, kinds=kinds, seed=seed, tolerance=tolerance)


class Quiz(Sequence[Question]):
    """Some questions about one trace, in the order of its steps. The same trace, arguments and seed give the same questions."""

    def __init__(self, trace: Trace, n: int = 5, *, kinds: str | Sequence[str] | None = None, seed: int = 0, tolerance: float | str = 1e-3) -> None:
        if not trace.steps:
            raise RecordError("quiz: this trace has no steps; call backward() first")
        n, seed = whole("quiz", "n", n, least=1), whole("quiz", "seed", seed, least=0)
        wanted = KINDS if kinds is None else (kinds,) if isinstance(kinds, str) else listed("quiz", "kinds", kinds, "['axes', 'shape']") or KINDS
        for kind in wanted:
            one_of("quiz", "kinds", kind, KINDS)
        if tolerance != "sign":
            if isinstance(tolerance, str):
                raise OptionError(f'quiz: tolerance must be a number of at least 0, or "sign", got {tolerance!r}')
            tolerance = number("quiz", "tolerance", tolerance, least=0)
        self.trace, self.seed = trace, seed
        rng = np.random.default_rng(seed)
        possible = offered(trace, tolerance)
        pools = {kind: [possible[kind][i] for i in rng.permutation(len(possible[kind]))] for kind in wanted if possible[kind]}
        if not pools:
            offers = ", ".join(kind for kind in KINDS if possible[kind]) or "nothing"
            raise OptionError(f"quiz: there is nothing to ask of kind {', '.join(wanted)} about this trace; it offers {offers}")
        chosen: list[Question] = []
        order = [list(pools)[i] for i in rng.permutation(len(pools))]
        while len(chosen) < n and any(pools.values()):  # each kind in turn, as long as there are some
            for kind in order:
                if pools[kind] and len(chosen) < n:
                    chosen.append(pools[kind].pop()(rng))
        self.questions = tuple(sorted(chosen, key=lambda q: q.step))

    @overload
    def __getitem__(self, i: int) -> Question: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[Question, ...]: ...
    def __getitem__(self, i: int | slice) -> Question | tuple[Question, ...]:
        return self.questions[i]

    def __len__(self) -> int:
        return len(self.questions)

    def __iter__(self) -> Iterator[Question]:
        return iter(self.questions)

    @property
    def score(self) -> int:
        """How many questions are answered rightly, at the latest attempt, before their solution was revealed."""
        return sum(q.correct for q in self.questions)

    @property
    def done(self) -> bool:
        """Every question is right or revealed."""
        return all(q.correct or q.revealed for q in self.questions)

    def grade(self, answers: Sequence[Any]) -> int:
        """Answer all questions at once, and give the score; None leaves a question open. For cells that are graded.

        Raises OptionError where there are not as many answers as questions.
        """
        answers = listed("quiz.grade", "answers", answers, "[(0, 2), None, 3]")
        if len(answers) != len(self):
            raise OptionError(f"quiz: {len(self)} questions take as many answers, got {len(answers)}; None leaves one open")
        for question, answer in zip(self.questions, answers, strict=True):
            if answer is not None:
                question.answer(answer)
        return self.score

    def feedback(self) -> list[Feedback | None]:
        """What was said to the latest answer of each question; None where there was none."""
        return [q.attempts[-1][1] if q.attempts else None for q in self.questions]

    def show(self) -> QuizView:
        """The quiz as a widget: it asks, says, reveals, and then opens the stepper at that step."""
        from tensorviz.teaching.view import QuizView

        return QuizView(self)

    def __str__(self) -> str:
        lines = [f"{k + 1}. {q.text}" + (" ✓" if q.correct else "") for k, q in enumerate(self.questions)]
        return "\n".join([*lines, f"{self.score} of {len(self)} right."])

    def __repr__(self) -> str:
        return f"<Quiz of {len(self)} questions, {self.score} right>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        from tensorviz.display import in_kernel

        if in_kernel():
            try:
                bundle: Any = self.show()._repr_mimebundle_()
                return bundle | {"text/html": self._folded()} if isinstance(bundle, dict) else bundle
            except ImportError:
                pass
        return {"text/plain": str(self)}

    def _folded(self) -> str:
        """For pages without a kernel: the questions, each with its answer folded."""
        items = [f"<li>{html.escape(q.text)}<details><summary>Answer</summary>{html.escape(q.told())}</details></li>" for q in self.questions]
        return f"<ol>{''.join(items)}</ol>"
