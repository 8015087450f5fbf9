"""Exercises and quizzes in nbgrader and in Otter, by the formats that both document: graded cells in a notebook, and test files of doctests.

Neither is installed for the tests. What they do with a submission is done here: nbgrader runs the notebook, and a graded cell with an error has no
points, one that ends in a number has that many, another one all; Otter runs the cases of a test file as doctests in the notebook's namespace.
"""

from __future__ import annotations

import doctest
import subprocess
import sys
from textwrap import dedent

import nbformat
import numpy as np
import pytest
from nbformat import v4

import tensorviz as tv
from tensorviz import teaching

RIGHT = "def rule(g, x):\n    return np.where(x > 0, g, 0.0)"
WRONG = "def rule(g, x):\n    return np.where(x >= 0, g, 0.0)"
SETUP = """\
import numpy as np
import tensorviz as tv

X = tv.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
b = tv.tensor([0.5, -0.5, 1.0], requires_grad=True)
trace = ((X + b) * 2.0).sum().backward()"""


def blocks():
    """The examples of the guide, in order: nbgrader's two cells, Otter's file, and a case of it."""
    found, current = [], None
    for line in teaching.__doc__.split("\n"):
        if line.startswith("    ") or (current and not line.strip()):
            current = [*(current or []), line]
        elif current:
            found.append(dedent("\n".join(current)).strip("\n"))
            current = None
    return [*found, dedent("\n".join(current)).strip("\n")] if current else found


GRADED, PARTIAL, OTTER, CASE = blocks()


def graded(source, name, points):
    """A cell as nbgrader's form makes it: tests that are graded automatically."""
    cell = v4.new_code_cell(source)
    cell.metadata["nbgrader"] = {
        "schema_version": 3,
        "grade": True,
        "solution": False,
        "locked": True,
        "task": False,
        "grade_id": name,
        "points": points,
    }
    return cell


def solution(source, name):
    """A cell that the student fills in."""
    cell = v4.new_code_cell(source)
    cell.metadata["nbgrader"] = {"schema_version": 3, "grade": False, "solution": True, "locked": False, "task": False, "grade_id": name}
    return cell


def assignment(rules, answers):
    """A submission in which the exercise is tried with each of some rules, and the quiz with some answers."""
    cells = [v4.new_code_cell(SETUP)]
    for k, rule in enumerate(rules):
        cells += [solution(rule, f"relu-{k}"), graded(GRADED, f"test-relu-{k}", 2)]
    cells += [v4.new_code_cell("quiz = trace.quiz(3, seed=5)\nquiz"), solution(f"answers = {answers}", "quiz"), graded(PARTIAL, "test-quiz", 3)]
    return v4.new_notebook(cells=cells)


def points(cell):
    """The points of a graded cell after it ran, as nbgrader counts them."""
    for output in cell.outputs:
        if output.output_type == "error" or output.get("name") == "stderr":
            return 0.0
        if output.output_type == "execute_result":
            return float(output.data["text/plain"])
    return float(cell.metadata["nbgrader"]["points"])


def asked():
    """The quiz of the notebook."""
    space = {}
    exec(SETUP, space)
    return space["trace"].quiz(3, seed=5)


@pytest.fixture(scope="module")
def graded_notebook(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nbgrader")
    first, second, _ = asked()
    answers = [_plain(first.solution), _plain(second.solution), None]
    nbformat.write(assignment([RIGHT, WRONG, "rule = None", "def rule(g, x):\n    return g / zero"], answers), folder / "lesson.ipynb")
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--allow-errors", "--stdout", "lesson.ipynb"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {c.metadata["nbgrader"]["grade_id"]: c for c in nbformat.reads(done.stdout, as_version=4).cells if "nbgrader" in c.metadata}


def _plain(value):
    return value.tolist() if isinstance(value, np.ndarray) else value


def message(cell):
    return "\n".join(o.evalue for o in cell.outputs if o.output_type == "error")


def test_in_nbgrader_a_right_answer_has_all_points(graded_notebook):
    assert points(graded_notebook["test-relu-0"]) == 2.0


def test_in_nbgrader_a_wrong_answer_has_none_and_the_hint_is_the_message(graded_notebook):
    cell = graded_notebook["test-relu-1"]
    assert points(cell) == 0.0
    assert message(cell).startswith("Not yet. In the case “zeros: x of shape (4,)”") and message(cell).endswith(
        "Hint: at exactly 0 the gradient is 0 here."
    )


def test_in_nbgrader_what_is_no_function_or_raises_has_no_points_either(graded_notebook):
    assert points(graded_notebook["test-relu-2"]) == points(graded_notebook["test-relu-3"]) == 0.0
    assert "name 'zero' is not defined, in line 2 of rule: return g / zero" in message(graded_notebook["test-relu-3"])


def test_in_nbgrader_a_quiz_gives_a_point_a_question(graded_notebook):
    assert points(graded_notebook["test-quiz"]) == 2.0


def test_the_hidden_tests_stand_between_nbgraders_marks():
    assert "### BEGIN HIDDEN TESTS\n" in GRADED and GRADED.endswith("### END HIDDEN TESTS")


def otter_test():
    """The test file of the guide, read as Otter reads it."""
    read = {}
    exec(OTTER, read)
    assert read["OK_FORMAT"] is True
    return read["test"]


def otter(test, space):
    """The messages of a test file's cases, empty where they pass."""
    (suite,) = test["suites"]
    assert len(test["points"]) == len(suite["cases"]) and suite["type"] == "doctest"
    told = []
    for case in suite["cases"]:
        examples = [e for e in doctest.DocTestParser().parse(dedent(case["code"])) if isinstance(e, doctest.Example)]
        assert examples
        text = []
        result = doctest.DocTestRunner(verbose=False).run(
            doctest.DocTest(examples, space, test["name"], None, None, case["code"]), out=text.append, clear_globs=False
        )
        told.append("".join(text) if result.failed else "")
    return told


def test_in_otter_a_right_answer_passes_the_shown_and_the_hidden_case():
    space = {}
    exec(f"{SETUP}\n{RIGHT}", space)
    assert otter(otter_test(), space) == ["", ""]


def test_in_otter_a_wrong_answer_fails_with_the_hint():
    space = {}
    exec(f"{SETUP}\n{WRONG}", space)
    shown, hidden = otter(otter_test(), space)
    assert "Hint: at exactly 0 the gradient is 0 here." in shown and hidden


def test_in_otter_a_quiz_has_one_case_a_question():
    space = {}
    exec(SETUP, space)
    test = otter_test()
    test["points"] = [1]
    test["suites"][0]["cases"] = [{"code": CASE, "hidden": False, "locked": False}]
    assert otter(test, {**space, "answers": [asked()[0].solution]}) == [""]
    (said,) = otter(test, {**space, "answers": ["?"]})
    assert "AssertionError: That is no answer to this question" in said


def test_the_same_questions_come_in_the_students_kernel_and_in_the_graders():
    assert [q.text for q in asked()] == [q.text for q in asked()]
    assert isinstance(tv.exercise("relu").check(lambda g, x: g), teaching.feedback.Feedback)
