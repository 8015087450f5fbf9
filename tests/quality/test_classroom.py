"""The load test of a class, with a class of two: it talks to a real server and measures real kernels."""

from __future__ import annotations

import os
import sys

import nbformat
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of a process from /proc")]

CELLS = [
    "import tensorviz as tv\nx = tv.tensor([1.0, 2.0], requires_grad=True)",
    "(x * x).sum().backward()",
    "print(x.grad)",
]


@pytest.fixture
def lesson(tmp_path):
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Squares"), *map(nbformat.v4.new_code_cell, CELLS)])
    nbformat.write(book, tmp_path / "squares.ipynb")
    return tmp_path / "squares.ipynb"


def gone(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


def test_two_students_run_a_lesson_and_their_kernels_end_with_the_server(lesson):
    from benchmarks.classroom import hold_class

    report = hold_class(lesson, 2, limit=90.0)
    for student in report.students:
        assert len(student.cells) == 3 and student.steppers == 1
        assert 0 < student.ready < student.finished and sum(student.cells) < student.finished
        assert 20 < student.pss <= student.rss
        assert gone(student.process)
    told = str(report)
    assert "2 students, 3 cells each" in told and "MiB" in told


def test_a_cell_that_raises_ends_the_class_with_what_it_raised(lesson):
    from benchmarks.classroom import hold_class

    lesson.write_text(lesson.read_text().replace("print(x.grad)", "print(1 / 0)"))
    with pytest.raises(RuntimeError, match=r"ZeroDivisionError: division by zero in\nprint\(1 / 0\)"):
        hold_class(lesson, 1, limit=90.0)
