"""``tv.history``: many passes in a table, and the record of the first that goes wrong."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.checks.history import ROWS
from tensorviz.errors import DTypeError, NodeLookupError, OptionError
from tensorviz.views import plots


def train(steps: int, rate: float = 0.1, record: bool = True) -> None:
    params = {"w": tv.tensor([1.0, 2.0], requires_grad=True), "b": tv.tensor([0.5], requires_grad=True)}
    with np.errstate(all="ignore"):
        for _ in range(steps):
            loss = ((params["w"] + params["b"]) ** 4).sum()
            loss.backward(record=record)
            for p in params.values():
                p.data -= rate * p.grad
                p.grad = None


def test_every_pass_has_a_row_with_its_value_and_the_norm_of_what_each_leaf_received():
    w = tv.tensor([3.0, 4.0], requires_grad=True)
    with tv.history() as passes:
        for k in (1.0, 2.0):
            (w * w * k).sum().backward()  # .grad is never zeroed: a row tells what this pass gave
    assert [(row.number, row.value, dict(row.norms), row.finite) for row in passes.rows] == [
        (1, 25.0, {"w": 10.0}, True),
        (2, 50.0, {"w": 20.0}, True),
    ]
    assert passes["w"].tolist() == [10, 20] and passes.values.tolist() == [25, 50] and passes.bad is None
    (w * w).sum().backward()
    assert len(passes) == 2, "after the block nothing is noted"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_first_pass_that_is_not_finite_is_kept_with_the_one_before_it():
    with tv.history(keep=1) as passes:
        train(12)
    bad = passes.bad
    assert bad is not None and 2 < bad < 10
    assert not passes.rows[bad - 1].finite and passes.rows[bad - 2].finite
    assert sorted(passes.traces) == [bad - 1, bad, 12]
    found = passes.findings()[0]
    assert (found.kind, found.phase, found.op) == ("inf", "forward", "pow")
    assert f"pass {bad} is the first with a NaN or an infinity: inf, forward, at pow, line " in passes.headline


def test_parameters_keep_the_name_that_they_had_first():
    with tv.history() as passes:
        train(3, rate=1e-6)
    assert passes.names == ("w", "b") and not np.isnan(passes["b"]).any()


def test_only_the_latest_records_are_kept():
    with tv.history(keep=2) as passes:
        train(5, rate=1e-6)
    assert sorted(passes.traces) == [4, 5]
    first = weakref.ref(passes.traces[4])
    with passes:  # it goes on where it was
        train(3, rate=1e-6)
    gc.collect()
    assert len(passes) == 8 and first() is None


def test_passes_without_a_record_count_too():
    with tv.history() as passes:
        train(4, rate=1e-6, record=False)
    assert len(passes) == 4 and passes.names == ("w", "b") and passes.traces == {} and passes.findings() == []


def test_a_long_history_is_told_by_its_ends_and_by_what_comes_before_the_bad_pass():
    with tv.history() as passes:
        train(40)
    told = str(passes).splitlines()
    assert len(told) <= 2 + ROWS + 2 and told[0] == passes.headline
    assert [line.split()[0] for line in told[2:]].count("…") in (1, 2)
    assert any(line.startswith(f"{passes.bad} ") and line.endswith("NOT FINITE") for line in told)
    assert passes.headline.replace("<", "&lt;").replace(">", "&gt;")[:20] in passes._repr_html_()
    assert repr(passes) == f"<History {passes.headline}>"


def test_what_is_not_there_is_said():
    with tv.history() as passes:
        pass
    assert str(passes) == "No pass was made yet"
    with pytest.raises(NodeLookupError, match="no leaf is called 'w'"):
        passes["w"]
    with pytest.raises(OptionError, match="history: keep must be a whole number of at least 0, got -1"):
        tv.history(keep=-1)
    pytest.importorskip("matplotlib")
    with pytest.raises(OptionError, match="no pass was made"):
        plots.training(passes)
    with pytest.raises(DTypeError, match=r"history must be what tv\.history"):
        plots.training([1, 2])


def test_a_history_is_drawn_with_a_line_for_each_leaf_and_the_bad_pass_marked():
    pytest.importorskip("matplotlib").use("Agg")
    with tv.history() as passes:
        train(12)
    ax = plots.training(passes, palette="dark")
    words = [text.get_text() for text in ax.texts]
    assert words == [f"pass {passes.bad}: NaN or infinity"] and ax.get_yscale() == "log"
    assert {line.get_label() for line in ax.lines} >= {"‖∂w‖", "‖∂b‖"}
    many = [tv.tensor([float(k + 1)], requires_grad=True) for k in range(9)]
    with tv.history() as passes:
        for _ in range(3):
            sum(p * p for p in many).sum().backward()
    assert len(plots.training(passes).lines) == 2, "the largest and the smallest"
