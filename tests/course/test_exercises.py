"""Every exercise of every lesson accepts a right answer and refuses what stands there and three wrong ones; every number of a self-test is computed."""

from __future__ import annotations

import ast
import re

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from course.answers import ANSWERS
from course.lessons import FOLDER, attempts, code_cells, exercises

every_lesson = pytest.mark.parametrize("name", ANSWERS)


@pytest.fixture
def in_the_folder_of_the_lessons(monkeypatch):
    monkeypatch.chdir(FOLDER)
    backend = mpl.get_backend()
    plt.switch_backend("agg")
    monkeypatch.setattr(plt, "show", lambda: plt.close("all"))
    yield
    plt.switch_backend(backend)


@every_lesson
def test_each_exercise_has_a_right_answer_and_three_wrong_ones(name):
    assert exercises(name) == list(ANSWERS[name])
    assert all(len(wrong) >= 3 for _, wrong in ANSWERS[name].values())


@every_lesson
def test_an_exercise_accepts_the_right_answer_and_no_other(name, in_the_folder_of_the_lessons):
    tried = list(attempts(name, ANSWERS[name]))
    assert [t for t in tried if t.accepted != (t.answer == "right")] == []


def literals(node):
    """The text that is written out in a string, without what is computed in it."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    assert isinstance(node, ast.JoinedStr)
    return "".join(part.value if isinstance(part, ast.Constant) else " " for part in node.values)


NUMBER = re.compile(r"(?<![A-Za-z])\d|\b(two|three|four|five|six|seven|eight|nine|ten|hundred|thousand|half|third)\b", re.IGNORECASE)


@every_lesson
def test_every_number_of_a_self_test_is_computed(name):
    (cell,) = (c for c in code_cells(name) if c.id == "self-test")
    call = ast.parse(cell.source).body[-1].value
    assert ast.unparse(call.func) == "tv.self_test"
    assert len(call.args) >= 4
    for pair in call.args:
        question, answer = pair.elts
        assert not NUMBER.search(literals(question)), literals(question)
        assert not NUMBER.search(literals(answer)), literals(answer)
        assert any(isinstance(part, ast.FormattedValue) for part in answer.values), f"nothing is computed in: {literals(answer)}"
