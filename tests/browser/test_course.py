"""Every lesson, run from top to bottom by a person in JupyterLab: the stepper steps, the exercises answer, nothing complains."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from playwright.sync_api import expect

FOLDER = Path(__file__).parents[2] / "notebooks"
PARTS = tomllib.loads((FOLDER / "course.toml").read_text(encoding="utf-8"))["part"]
FIRST, *OTHERS = (name for part in PARTS if part["title"] != "Start here" for name in part["lessons"])

OUTPUTS = """() => window.jupyterapp.shell.currentWidget.content.widgets.map(
  c => c.model.outputs ? c.model.outputs.toJSON().map(o => [(o.data?.['text/html'] ?? '')].flat().join('')).join('') : '')"""


@pytest.mark.parametrize("name", [FIRST, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)])
def test_a_lesson_runs_and_steps_and_answers(open_notebook, name):
    book = open_notebook(FOLDER / f"{name}.ipynb")
    book.run_all()
    outputs = book.page.evaluate(OUTPUTS)
    steppers = [i for i, html in enumerate(outputs) if "tensorviz-frame" in html]
    assert steppers
    for cell in (steppers[0], steppers[-1]):
        book.cell(cell)
        stepper = book.debugger(cell=cell)
        stepper.get_by_role("slider", name="Step").fill("1")
        expect(stepper.get_by_role("status")).to_contain_text(re.compile(r"Step 1 of \d+"))
        stepper.get_by_role("button", name="Next step", exact=True).click()
        expect(stepper.get_by_role("status")).to_contain_text(re.compile(r"Step [2-9] of \d+"))

    folded = book.find_cell("tv.self_test(")
    answer = book.output(folded).locator("details").first
    expect(answer.get_by_text("Answer")).to_be_visible()
    answer.get_by_text("Answer").click()
    expect(answer).to_have_attribute("open", "")
