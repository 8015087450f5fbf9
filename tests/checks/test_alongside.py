"""A check in a thread of its own: the same rows, told as they come, stoppable, and in what is exported."""

from __future__ import annotations

import gc
import json
import threading
import weakref

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.checks import alongside
from tensorviz.checks.alongside import Alongside
from tensorviz.widgets import checking
from tensorviz.widgets.payload import payload


@pytest.fixture(autouse=True)
def told_after_every_node(monkeypatch):
    monkeypatch.setattr(alongside, "TELL", 0.0)


def network(depth=8):
    rng = np.random.default_rng(0)
    h = x = tv.tensor(rng.normal(size=(4, 5)), requires_grad=True)
    for _ in range(depth):
        W = tv.tensor(rng.normal(0, 0.4, size=(5, 5)), requires_grad=True)
        h = np.tanh(h @ W) + h
    return (h * h).mean().backward(), x


def judged(report):
    """What was compared and how it came out; the last digits of a difference depend on how many were computed at once."""
    return sorted((r.node, r.scope, -1 if r.slot is None else r.slot, r.index or (), r.analytic, r.verdict) for r in report.rows)


def test_the_rows_are_those_of_a_check_and_the_trace_has_them_from_the_first_update_on():
    trace, _ = network()
    plain = trace.check()
    trace.report = None
    told = []
    checking_ = trace.check_alongside(lambda update: told.append((update, trace.report)))
    assert checking_.wait(60) and checking_.state == "done"
    assert judged(trace.report) == judged(plain) and trace.report.notes == ()
    assert all(update.report is report for update, report in told)
    assert [u.state for u, _ in told][-1] == "done" and told[-1][0].done == told[-1][0].total
    new = [b for u, _ in told for b in u.new]
    assert len(new) == len(trace.report.blocks)


def test_it_begins_at_the_root_and_can_be_cancelled_with_what_it_has():
    trace, _ = network()
    ended = threading.Event()

    class Impatient(Alongside):
        def _say(self):
            self.cancel()
            ended.set()
            return super()._say()

    stopped = Impatient(trace, lambda update: None).start()
    assert stopped.wait(60) and ended.is_set() and stopped.state == "cancelled"
    assert 0 < stopped.done < stopped.total
    assert trace.report.notes == (f"{stopped.done} of {stopped.total} nodes checked so far: the check was cancelled.",)
    assert max(r.node for r in trace.report.rows) == trace.roots[0]
    assert trace.report.ok


def test_it_blames_as_the_check_does():
    wrong = tv.custom_op("alongside_wrong", lambda a: a * a, lambda g, a: (g * a,))
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    trace = np.sin(wrong(np.exp(x))).sum().backward()
    assert trace.check_alongside().wait(60)
    assert trace.nodes[trace.report.blame].op == "alongside_wrong" and "alongside_wrong" in trace.report.blame_text


def test_what_it_cannot_go_on_with_is_said_instead_of_raised():
    trace, _ = network(1)
    told = []

    class Broken(Alongside):
        def _work(self, subject):
            raise RuntimeError("no luck")

    assert Broken(trace, told.append).start().wait(60)
    assert told[-1].state == "failed" and "RuntimeError: no luck" in told[-1].note
    assert "no luck" in trace.report.notes[0]


def test_another_report_made_meanwhile_is_left_alone():
    trace, _ = network()

    class Overtaken(Alongside):
        def _say(self):
            trace.check(nodes=[trace.roots[0]])
            return super()._say()

    overtaken = Overtaken(trace, lambda update: None).start()
    assert overtaken.wait(60)
    assert {r.node for r in trace.report.rows} <= {trace.roots[0]}


def test_to_start_it_twice_is_to_start_it_once():
    trace, _ = network(3)
    running = trace.check_alongside()
    assert running.start() is running
    assert running.wait(60) and running.start().state == "done"
    assert judged(trace.report) == judged(trace.check())


def test_whoever_raises_when_told_is_told_no_more_and_the_check_goes_on():
    trace, _ = network(3)
    heard = []

    def tell(update):
        heard.append(update)
        raise ValueError("no room on this screen")

    running = trace.check_alongside(tell)
    assert running.wait(60) and running.state == "done" and len(heard) == 1
    assert running.note == "whom it told raised ValueError: no room on this screen"
    assert judged(trace.report) == judged(trace.check())


def test_a_trace_that_is_dropped_is_let_go():
    trace, _ = network()
    gone = weakref.ref(trace)
    running = trace.check_alongside()
    del trace
    gc.collect()
    assert running.wait(60) and gone() is None


# ---- what displays hear ------------------------------------------------------------------------------------------


def follow(trace, known=None):
    heard = []

    def send(message):
        heard.append(message)
        return True

    feed = checking.feed(trace)
    feed.follow("here", send, known)
    return feed, heard


def ended(feed):
    assert feed._running.wait(60)


def test_a_display_hears_rows_in_json_until_all_are_there():
    trace, _ = network(3)
    feed, heard = follow(trace)
    ended(feed)
    assert [heard[0]["state"], heard[1]["state"], heard[-1]["state"]] == ["none", "running", "done"]
    json.dumps(heard, allow_nan=False)
    nodes = {n for m in heard for n in m.get("rows", {"node": []})["node"]}
    assert nodes == {r.node for r in trace.report.rows}
    assert heard[-1]["kind"] == "ok" and heard[-1]["blame"] == -1


def test_a_display_that_came_with_the_report_is_told_nothing_twice():
    trace, _ = network(1)
    trace.check()
    _, heard = follow(trace, trace.report)
    assert [m["state"] for m in heard] == ["done"] and "rows" not in heard[0]


def test_a_display_that_came_before_the_report_gets_all_of_it():
    trace, _ = network(1)
    checking.feed(trace)
    trace.check()
    _, heard = follow(trace)
    assert heard[0]["whole"] and set(heard[0]["rows"]["node"]) == {r.node for r in trace.report.rows}


def test_a_large_trace_waits_to_be_asked_and_a_display_that_is_gone_hears_no_more():
    x = tv.tensor(np.ones(checking.BY_ITSELF_ELEMENTS + 1), requires_grad=True)
    trace = (x * 2.0).sum().backward()
    feed, heard = follow(trace)
    assert [m["state"] for m in heard] == ["none"] and trace.report is None
    calls = []

    def closed(message):
        calls.append(message)
        raise RuntimeError("the comm is closed")

    feed._followers["gone"] = closed
    feed.ask("start")
    ended(feed)
    assert len(calls) == 1 and heard[-1]["state"] == "done"
    feed.ask("cancel")
    feed.ask("what?")
    assert heard[-1]["state"] == "done"


def test_numbers_that_json_has_no_word_for_travel_as_words():
    x = tv.tensor([0.0], requires_grad=True)
    with np.errstate(divide="ignore"):
        trace = np.sqrt(x).sum().backward()
    trace.check()
    _, heard = follow(trace)
    assert {type(v) for v in heard[0]["rows"]["analytic"]} <= {float, str}
    assert "Infinity" in heard[0]["rows"]["analytic"]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_export_carries_what_is_known_and_says_what_is_not():
    trace, _ = network(20)
    assert b"cancelled" not in payload(trace)

    class Impatient(Alongside):
        def _say(self):
            self.cancel()
            return super()._say()

    before = payload(trace)
    assert Impatient(trace, lambda update: None).start().wait(60)
    assert payload(trace) != before
