"""What the latest check found is in the file, and comes back as it was; a report that does not fit its trace is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz import wire
from tensorviz.errors import RecordError
from tensorviz.widgets.payload import payload
from tensorviz.wire import writing


def trace(wrong=False):
    rng = np.random.default_rng(0)
    square = tv.custom_op("kept_square", lambda a: a * a, lambda g, a: (g * a * (1 if wrong else 2),))
    W = tv.tensor(rng.normal(size=(3, 200)), requires_grad=True)
    return (square(tv.tensor([[1.0, -2.0, 0.5]], requires_grad=True) @ W) * np.maximum(0.0, 1.0)).sum().backward()


def same(a, b):
    told = [repr(r) for r in a.rows] == [repr(r) for r in b.rows] and a.counts == b.counts and str(a) == str(b)
    return told and (a.blame, a.kind, a.notes, a.headline) == (b.blame, b.kind, b.notes, b.headline)


@pytest.mark.parametrize("wrong", [False, True])
def test_a_report_is_saved_with_its_trace_and_comes_back_the_same(wrong, tmp_path):
    first = trace(wrong)
    first.check()
    first.save(tmp_path / "a.tvz")
    again = tv.load(tmp_path / "a.tvz")
    assert same(again.report, first.report) and (again.report.blame is not None) is wrong
    assert again.report.worst.verdict == first.report.worst.verdict


def test_a_trace_without_a_report_comes_back_without():
    assert wire.loads(wire.dumps(trace())).report is None


def test_what_a_cancelled_check_has_found_is_kept_with_its_note():
    first = trace()
    checking = first.check_alongside()
    checking.cancel()
    assert checking.wait(60)
    again = wire.loads(wire.dumps(first))
    assert again.report.notes == first.report.notes and same(again.report, first.report)


def test_numbers_that_are_none_survive():
    x = tv.tensor([0.0, 4.0], requires_grad=True)
    with np.errstate(divide="ignore"):
        first = np.sqrt(x).sum().backward()
    first.check()
    assert same(wire.loads(wire.dumps(first)).report, first.report)


def test_a_loaded_trace_shows_its_verdicts_where_a_custom_op_could_not_be_checked_again(tmp_path):
    first = trace(wrong=True)
    first.check()
    first.save(tmp_path / "a.tvz")
    again = tv.load(tmp_path / "a.tvz")
    assert len(payload(again)) > 0 and again.report.blame == first.report.blame


@pytest.mark.parametrize(
    "spoil",
    [
        lambda r: r.update(blame=999),
        lambda r: r["blocks"][0].update(scope="elsewhere"),
        lambda r: r["blocks"][0].update(shape=[0]),
        lambda r: r["blocks"][0].update(counts={"fine": 1}),
        lambda r: r["blocks"][0].update(reasons=["one too many"] * 1000),
        lambda r: r.pop("blocks"),
    ],
)
def test_a_report_that_does_not_fit_is_refused(spoil, monkeypatch):
    first = trace()
    first.check()
    real = writing._report

    def spoilt(given, packer):
        entry = real(given, packer)
        spoil(entry)
        return entry

    monkeypatch.setattr(writing, "_report", spoilt)
    content = wire.dumps(first)
    with pytest.raises(RecordError, match=r"its report (has|names)|does not hold a record of this format"):
        wire.loads(content)
