"""Every lesson, run from top to bottom by a person in JupyterLab: the stepper steps, the exercises answer, nothing complains."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from playwright.sync_api import expect

FOLDER = Path(__file__).parents[2] / "notebooks"
PARTS = tomllib.loads((FOLDER / "course.toml").read_text(encoding="utf-8"))["part"]
FIRST, *OTHERS = (name for part in PARTS if not part["title"].startswith("Beside the course") for name in part["lessons"])

OUTPUTS = """() => window.jupyterapp.shell.currentWidget.content.widgets.map(
  c => c.model.outputs ? c.model.outputs.toJSON().map(o => [(o.data?.['text/html'] ?? '')].flat().join('')).join('') : '')"""


@pytest.fixture(scope="module")
def first_lesson(shared_notebook):
    book = shared_notebook(FOLDER / f"{FIRST}.ipynb")
    book.run_all()
    return book


def test_the_first_lesson_runs_and_steps_and_answers(first_lesson):
    steps_and_answers(first_lesson)


LATER = [("notebook", FIRST), ("notebook", "matmul_from_primitives"), *(("lab", name) for name in OTHERS)]


@pytest.mark.slow
@pytest.mark.parametrize(("app", "name"), LATER)
def test_a_lesson_runs_and_steps_and_answers(open_notebook, app, name):
    book = open_notebook(FOLDER / f"{name}.ipynb", app=app)
    book.run_all()
    steps_and_answers(book)


def steps_and_answers(book):
    outputs = book.page.evaluate(OUTPUTS)
    steppers = [i for i, html in enumerate(outputs) if "tensorviz-frame" in html]
    assert steppers
    for cell in (steppers[0], steppers[-1]):
        book.cell(cell)
        stepper = book.debugger(cell=cell)
        status = stepper.get_by_role("status").first  # of two runs side by side, the right one
        stepper.get_by_role("slider", name="Step").first.fill("1")
        expect(status).to_contain_text(re.compile(r"Step 1 of \d+"))
        stepper.get_by_role("button", name="Next step", exact=True).first.click()
        expect(status).to_contain_text(re.compile(r"Step [2-9] of \d+"))

    folded = book.find_cell("tv.self_test(")
    answer = book.output(folded).locator("details").first
    expect(answer.get_by_text("Answer")).to_be_visible()
    answer.get_by_text("Answer").click()
    expect(answer).to_have_attribute("open", "")


WRITE = "([i, source]) => window.jupyterapp.shell.currentWidget.content.widgets[i].model.sharedModel.setSource(source)"


def test_an_exercise_of_the_first_lesson_is_refused_with_a_hint_and_then_accepted(first_lesson):
    book = first_lesson
    cell = book.find_cell('tv.exercise("sigmoid")')
    for lines, said in (
        ("return g", "Hint: that is the gradient of the result as it is"),
        ("s = 1 / (1 + np.exp(-x)); return g * s * (1 - s)", "Right"),
    ):
        book.page.evaluate(WRITE, [cell, f'def rule(g, x):\n    {lines}\n\ntv.exercise("sigmoid").check(rule)'])
        book.cell(cell)
        book.run(cell)
        expect(book.output(cell)).to_contain_text(said)
