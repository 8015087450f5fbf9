"""The nodes of a pass as a table."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import OptionError
from tensorviz.trace import Trace
from tensorviz.views.nodes import COLUMNS, MOST


def network() -> Trace:
    x = tv.tensor([0.0, 1.0, 4.0], requires_grad=True)
    w = tv.tensor([0.0, 2.0, 2.0], requires_grad=True)
    with np.errstate(all="ignore"):
        return (np.sqrt(x) * w).sum().backward()


def test_a_row_tells_the_sizes_of_value_and_gradient_and_what_is_odd_in_it():
    rows = network().table()
    assert [tuple(row) for row in rows] == [COLUMNS] * 5
    x, w = rows[0], rows[1]
    assert (x["name"], x["op"], x["shape"], x["value"], x["shares"]) == ("x", "leaf", (3,), pytest.approx(17**0.5), 1)
    assert (x["nan"], x["inf"], x["largest"]) == (1, 0, 1.0) and np.isnan(x["gradient"])
    assert (w["gradient"], w["zeros"]) == (pytest.approx(5**0.5), 1)
    assert rows[2]["op"] == "sqrt" and rows[2]["saved_bytes"] == 24 and rows[2]["line"] is not None


def test_nan_comes_first_then_the_largest():
    rows = network().table()
    assert rows.by("gradient")[0]["id"] == 0
    assert rows.by("zeros")[0]["zeros"] == 1
    with pytest.raises(OptionError, match="by: column must be one of 'id', 'name'"):
        rows.by("norm")


def test_it_shows_itself_and_of_many_rows_the_ends():
    told = str(network().table()).splitlines()
    assert len(told) == 6 and told[0].split()[:4] == ["id", "name", "op", "shape"] and "1/0/0" in told[1]
    a = x = tv.tensor(1.0, requires_grad=True)
    for _ in range(100):
        a = a * 1.01
    long = a.backward().table()
    assert len(str(long).splitlines()) == MOST + 2 and f"{len(long) - MOST} more nodes" in str(long)
    assert long._repr_html_().count("<tr>") == MOST + 2 and x.grad is not None


def test_a_graph_without_a_backward_pass_has_no_gradients():
    x = tv.tensor(3.0, requires_grad=True)
    assert [row["gradient"] for row in tv.draw(x * x).trace.table()] == [None, None]
