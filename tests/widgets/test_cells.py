"""A cell that runs again ends the checks of what only its run before has shown."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.widgets import checking
from tensorviz.widgets.cells import Cells


@pytest.fixture
def asked(monkeypatch):
    found = []
    monkeypatch.setattr(checking.Feed, "ask", lambda feed, action: found.append((feed._trace(), action)))
    return found


def passed():
    return np.sin(tv.tensor(1.0, requires_grad=True)).backward()


class Notebook:
    """Runs cells as a kernel does: a message each, and word of the end."""

    def __init__(self):
        self.cells, self.runs = Cells(), 0

    def run(self, cell, *traces):
        self.runs += 1
        for trace in traces:
            self.cells.shows(trace, {"header": {"msg_id": f"run {self.runs}"}, "metadata": {"cellId": cell}})
        self.cells.ended(cell)


def test_what_a_cell_showed_before_is_stopped_and_what_it_shows_again_is_not(asked):
    book, one, two, three = Notebook(), passed(), passed(), passed()
    book.run("a", one, two)
    assert asked == []
    book.run("a", two, three)
    assert asked == [(one, "cancel")]
    book.run("a")
    assert {trace for trace, _ in asked[1:]} == {two, three}


def test_what_another_cell_shows_as_well_goes_on(asked):
    book, one = Notebook(), passed()
    book.run("a", one)
    book.run("b", one)
    book.run("a", passed())
    assert asked == []
    book.run("b")
    assert asked == [(one, "cancel")]


def test_a_cell_that_shows_nothing_leaves_the_others_alone_and_code_without_a_cell_concerns_nobody(asked):
    book, one = Notebook(), passed()
    book.run("a", one)
    book.run("b")
    book.run(None, passed())
    book.cells.shows(passed(), {})
    book.cells.ended(None)
    assert asked == []


def test_a_pass_that_nobody_holds_is_let_go():
    book = Notebook()
    book.run("a", passed())
    assert not any(book.cells._shown["a"])
