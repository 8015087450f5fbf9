"""What a report says, as text and as HTML."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.checks.report import relative


def report_of(wrong=False, name="x"):
    f = tv.custom_op("report_product", lambda a, b: a * b, lambda g, a, b: (g * b, g * a * (2.0 if wrong else 1.0)))
    x = tv.tensor([2.0, 3.0], requires_grad=True, name=name)
    return f(x, x).sum().backward().check()


def test_the_text_is_a_table_that_names_both_numbers():
    lines = str(report_of()).splitlines()
    assert lines[0].endswith(": ok (10 ok)")
    assert lines[1].split() == ["verdict", "check", "node", "of", "worst", "at", "analytic", "numeric", "error", "compared", "reason"]
    assert any(line.startswith("ok") and "global" in line for line in lines)


def test_the_worst_comes_first_and_the_blame_is_a_sentence():
    report = report_of(wrong=True)
    lines = str(report).splitlines()
    assert ": mismatch (" in lines[0] and lines[1].startswith("The backward rule of report_product for operand b is wrong")
    assert lines[3].startswith("mismatch")
    assert report.worst.verdict == "mismatch" and math.isclose(report.worst.error, 0.5, rel_tol=1e-6)


def test_html_is_escaped_and_pretty_printing_is_the_text():
    report = report_of(name="<script>x</script>")
    assert "<script>" not in report._repr_html_() and "&lt;script&gt;" in report._repr_html_()
    said = []
    report._repr_pretty_(type("P", (), {"text": staticmethod(said.append)}), False)
    assert said == [str(report)]
    assert repr(report).startswith("<CheckReport ")


def test_a_long_report_is_cut_and_says_so():
    x = tv.tensor([1.0], requires_grad=True)
    y = x
    for _ in range(50):
        y = y + 1.0
    text = str(y.sum().backward().check())
    assert len(text.splitlines()) < 45 and "more arrays, none worse" in text


def test_rows_of_a_large_array_are_its_worst_and_the_rest_is_counted():
    x = tv.tensor(np.linspace(0.5, 1.5, 1000), requires_grad=True)
    report = np.sin(x).sum().backward().check()
    local = next(b for b in report.blocks if b.scope == "local" and b.counts.get("ok") == 1000)
    assert len(local.where) == 256 and report.counts["ok"] >= 1000


def test_relative_error_of_zeros_is_zero_and_of_a_zero_against_something_is_one():
    assert relative(0.0, 0.0) == 0.0 and relative(0.0, 1e-12) == 1.0 and relative(2.0, -2.0) == 2.0
    assert math.isnan(relative(math.inf, 1.0))


@pytest.mark.parametrize(("a", "n"), [(0.0, np.nan), (np.nan, 0.0), (np.nan, 1.0), (0.0, np.inf), (np.inf, np.inf)])
def test_the_error_of_what_is_not_finite_is_no_number(a, n):
    assert np.isnan(relative(a, n))
