"""A quiz as a notebook widget: plain controls that a keyboard and a screen reader reach. Imports ipywidgets and the quiz."""

from __future__ import annotations

import html
from typing import Any

from tensorviz.errors import MissingExtraError, OptionError
from tensorviz.teaching.feedback import Feedback
from tensorviz.teaching.quiz import Quiz
from tensorviz.teaching.reading import typed

try:
    import ipywidgets
except ImportError as error:  # pragma: no cover - a plain install brings it
    raise MissingExtraError("the quiz as a widget needs ipywidgets, which comes with: pip install tensorviz-backward") from error


class QuizView(ipywidgets.VBox):  # type: ignore[misc]
    """Asks one question at a time; Enter answers. When the answer is right or revealed, the stepper opens at the step in question."""

    def __init__(self, quiz: Quiz) -> None:
        self.quiz = quiz
        self.at = 0
        """The position of the question that is asked."""
        self._stepper: Any = None
        self.question = ipywidgets.HTML()
        self.field = ipywidgets.Text(
            description="Your answer", placeholder="", style={"description_width": "initial"}, layout={"width": "min(36em, 95%)"}
        )
        self.said = ipywidgets.HTML()
        self.buttons = {name: ipywidgets.Button(description=name) for name in ("Answer", "Reveal", "Previous question", "Next question")}
        self.place = ipywidgets.VBox()  # a stepper in a row would have no width
        self.buttons["Answer"].on_click(lambda _: self.submit())
        self.buttons["Reveal"].on_click(lambda _: self.reveal())
        self.buttons["Previous question"].on_click(lambda _: self.go(self.at - 1))
        self.buttons["Next question"].on_click(lambda _: self.go(self.at + 1))
        self.field.on_msg(self._key)
        super().__init__([self.question, self.field, ipywidgets.HBox(list(self.buttons.values())), self.said, self.place])
        self.add_class("tv-quiz")
        self.go(0)

    def _key(self, _: Any, content: Any, __: Any) -> None:
        if content.get("event") == "submit":
            self.submit()

    def go(self, k: int) -> None:
        """Ask question ``k``."""
        self.at = min(max(k, 0), len(self.quiz) - 1)
        asked = self.quiz[self.at]
        self.question.value = (
            f'<p role="heading" aria-level="4"><strong>Question {self.at + 1} of {len(self.quiz)}</strong></p><p>{html.escape(asked.text)}</p>'
        )
        self.field.value = ""
        self.field.placeholder = asked.form
        self.buttons["Previous question"].disabled = self.at == 0
        self.buttons["Next question"].disabled = self.at == len(self.quiz) - 1
        self.place.children = ()
        self._say("")

    def submit(self) -> None:
        """Take what stands in the field as the answer."""
        text = self.field.value.strip()
        if not text:
            self._say(f"Type {self.quiz[self.at].form}.")
            return
        try:
            answer = typed(text)
        except OptionError:
            self._say(f"“{text}” is no answer to this question: give {self.quiz[self.at].form}.")
            return
        outcome = self.quiz[self.at].answer(answer)
        self._say(outcome)
        if outcome.ok:
            self._open()

    def reveal(self) -> None:
        """Tell the answer and open the stepper."""
        self._say(self.quiz[self.at].reveal())
        self._open()

    def _open(self) -> None:
        step = self.quiz[self.at].step
        if self._stepper is None:
            self._stepper = self.quiz.trace.show(step=step)
        self._stepper.step = step
        self.place.children = (self._stepper,)

    def _say(self, what: str | Feedback) -> None:
        told = what._repr_html_() if isinstance(what, Feedback) else html.escape(what)
        score = f"{self.quiz.score} of {len(self.quiz)} right" + (", all done." if self.quiz.done else ".")
        self.said.value = f'<div role="status" aria-live="polite">{told}<div>{score}</div></div>'
