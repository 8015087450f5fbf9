"""Two passes that step together: which steps belong together, what is refused, what travels."""

from __future__ import annotations

import itertools
import json
import re

import pytest

import tensorviz as tv
from tensorviz.errors import RecordError
from tensorviz.trace import Trace
from tensorviz.widgets.pair import aligned, counterpart, pair


def squares(extra: bool = False) -> Trace:
    x = tv.tensor(3.0, requires_grad=True, name="x")
    y = x * x
    if extra:
        y = y + 1.0
    return y.backward()


def test_the_same_pass_belongs_to_itself_step_by_step():
    a = squares()
    assert aligned(a, a, [(n.id, n.id) for n in a.nodes]) == [(k, k) for k in range(len(a.steps))]


def test_steps_are_paired_by_what_they_do_to_which_node():
    a, b = squares(), squares(extra=True)
    product = next(n.id for n in b.nodes if n.op == "mul")
    found = aligned(a, b, [(0, 0), (1, product)])
    assert [(a.steps[i].kind, b.steps[j].kind) for i, j in found] == [("pull", "pull"), ("accumulate",) * 2, ("accumulate",) * 2, ("leaf", "leaf")]
    assert counterpart(found, 0) == 0
    assert counterpart(found, len(a.steps) - 1) == len(b.steps) - 1


def test_steps_rise_on_both_sides():
    a = squares()
    found = aligned(a, a, [(0, 0), (1, 1)])
    assert all(i < k and j < m for (i, j), (k, m) in itertools.pairwise(found))
    with pytest.raises(ValueError, match="ascending"):
        pair(a, a, steps=[(2, 2), (1, 3)])
    with pytest.raises(ValueError, match=r"below 5 in b; got \(0, 9\)"):
        pair(a, a, steps=[(0, 9)])


def test_what_is_no_trace_is_refused():
    with pytest.raises(RecordError, match="b is a list"):
        pair(squares(), [])


def test_the_page_holds_both_passes_and_the_list_of_pairs(tmp_path):
    shown = pair(squares(), squares(extra=True), nodes=[(0, 0)], names=("yours", "<b>"), step=2)
    page = shown.to_html(tmp_path / "pair.html")
    assert (tmp_path / "pair.html").read_text("utf-8") == page
    frame = json.loads(re.search(r"__tensorvizFrame = (\{.*?\});\n", page).group(1))
    assert frame["beside"]["names"] == ["yours", "<b>"]
    assert frame["beside"]["steps"] == [list(p) for p in shown.steps]
    assert frame["state"]["step"] == 2
    assert "<b>" not in page.replace("<b>Backward", "")
    bundle = shown._repr_mimebundle_()
    assert bundle["text/plain"] == repr(shown)
    assert "iframe" in bundle["text/html"]
