"""A check in a thread of its own: the same rows, told as they come, stoppable, and in what is exported."""

from __future__ import annotations

import gc
import json
import threading
import weakref

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.checks import alongside, pieces, run
from tensorviz.checks.alongside import Alongside
from tensorviz.checks.run import Job, plan_of, subject_of
from tensorviz.checks.turns import Turns
from tensorviz.widgets import checking, output
from tensorviz.widgets import payload as payload_of
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
        def _work(self):
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


def test_neighbours_are_checked_together_once_it_is_known_that_they_are_quick(monkeypatch):
    one, sizes = Job.run, []

    def counted(job, subject):
        sizes.append(len(job.nodes))
        return one(job, subject)

    monkeypatch.setattr(Job, "run", counted)
    monkeypatch.setattr(pieces, "LONG", 60.0)  # on the slowest machine
    trace, _ = network(60)
    assert trace.check_alongside().wait(60)
    received = sum(n.cotangent is not None for n in trace.nodes)
    assert sizes[0] == 1 and max(sizes) == 32 and len(sizes) < received / 3


def test_what_is_slow_goes_alone(monkeypatch):
    trace, _ = network(8)
    subject = subject_of(trace)
    plan = plan_of(subject, list(range(len(trace.nodes))), np.inf)
    work = pieces.Pieces(subject, plan)
    sizes = {"matmul": 0, "gradients": 0}
    done = {"rules": [], "gradients": []}
    for job in work:
        done[job.kind] += job.nodes
        ops = {trace.nodes[i].op for i in job.nodes}
        if job.kind == "gradients":
            assert min(job.nodes) > min(set(plan.rules) - set(done["rules"]), default=-1)  # every rule that it rests on is done
        named = "gradients" if job.kind == "gradients" else "matmul" if "matmul" in ops else ""
        if named:
            sizes[named] = max(sizes[named], len(job.nodes))
        work.took(job, 1.0 if named else 1e-4 * len(job.nodes))
    assert sizes == {"matmul": 1, "gradients": 1}
    assert done == {"rules": plan.rules, "gradients": plan.gradients}


def test_it_stops_between_two_ops_of_one_piece_of_work():
    running, calls = [], []

    def square(a):
        calls.append(a)
        if running:
            running[0].cancel()
        return a * a

    slow = tv.custom_op("alongside_slow", square, lambda g, a: (2 * g * a,))
    h = tv.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(5):
        h = np.sin(slow(h))
    trace = h.sum().backward()
    running.append(Alongside(trace, lambda update: None))
    calls.clear()
    running[0].start()
    assert running[0].wait(60) and running[0].state == "cancelled" and len(calls) == 1
    assert trace.report.notes == (running[0].note,)


@pytest.mark.parametrize(
    ("worked", "busy", "rest"),
    [
        (0.02, [], 1),  # nobody else: one glance
        (0.02, [1, 1, 1], 4),  # three glances long somebody worked
        (0.02, [1] * 99, 20),  # no longer than it has itself
        (9.0, [1] * 99, 50),
        (0.02, [0.1], 1),
    ],
)
def test_it_rests_while_others_work_and_no_longer_than_it_has_itself(monkeypatch, worked, busy, rest):
    running = Alongside(network(1)[0], lambda update: None)
    now, used, glances = [10.0], [5.0], []

    def wait(seconds):
        now[0] += seconds
        used[0] += seconds * (busy[len(glances)] if len(glances) < len(busy) else 0.0)
        glances.append(seconds)

    monkeypatch.setattr(running._stop, "wait", wait)
    monkeypatch.setattr(alongside, "perf_counter", lambda: now[0])
    monkeypatch.setattr(alongside, "process_time", lambda: used[0])
    alongside._turns.take(running)
    running._since = 10.0 - worked
    running._breathe()
    alongside._turns.give(running)
    assert sum(glances) == pytest.approx(rest * alongside.GLANCE, abs=1.5 * alongside.GLANCE)
    assert running._rested == pytest.approx(sum(glances))


def test_turns_go_to_whoever_has_waited_longest():
    turns, order = Turns(), []
    turns.take("first")

    def wait():
        turns.take("other")
        order.append("the one who waited")
        turns.give("other")

    other = threading.Thread(target=wait)
    other.start()
    while not turns._waiting:
        assert other.is_alive()
    turns.give("first")
    turns.take("first")  # of an ordinary lock it would be gone again before the other one wakes
    order.append("the one who had it")
    turns.give("first")
    other.join(60)
    assert order == ["the one who waited", "the one who had it"]


def test_gradients_that_are_skipped_are_told_when_their_neighbours_are_and_count_as_done():
    x = tv.tensor(0.5, requires_grad=True)
    h = x
    for _ in range(600):
        h = h * x
    trace = h.backward()
    told = []
    assert trace.check_alongside(told.append, budget=2.0).wait(60)
    skipped = [[b.node for b in u.new if "skipped" in b.counts] for u in told]
    assert len(skipped[0]) < 100 and sum(map(len, skipped)) > 500
    assert told[-1].done == told[-1].total == sum(n.cotangent is not None for n in trace.nodes)
    assert {u.total for u in told} == {told[-1].total}
    assert [n for nodes in skipped for n in nodes] == sorted((n for nodes in skipped for n in nodes), reverse=True)
    assert [row[:4] + row[5:] for row in judged(trace.check(budget=2.0))] == [row[:4] + row[5:] for row in judged(told[-1].report)]


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
    assert [m["state"] for m in heard] == ["done"]


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

    feed.follow("gone", closed, None)
    feed.ask("start")
    ended(feed)
    assert len(calls) == 1 and heard[-1]["state"] == "done"
    feed.ask("cancel")
    feed.ask("what?")
    assert heard[-1]["state"] == "done"


def test_a_message_holds_what_is_new_in_as_many_parts_as_it_needs(monkeypatch):
    monkeypatch.setattr(checking, "PART", 5)
    trace, _ = network(8)
    trace.check()
    blocks = len(trace.report.blocks)
    feed, heard = follow(trace)
    assert [m.get("whole", False) for m in heard] == [True] + [False] * (len(heard) - 1) and len(heard) == -(-blocks // 5)
    nodes = [n for m in heard for n in m["rows"]["node"]]
    assert set(nodes) == {r.node for r in trace.report.rows}
    heard.clear()
    feed.ask("start")
    ended(feed)
    told = [m for m in heard if "rows" in m]
    assert [m.get("whole", False) for m in heard] == [True] + [False] * (len(heard) - 1)
    assert sorted(n for m in told for n in m["rows"]["node"]) == sorted(nodes)  # each once
    assert {m["total"] for m in heard} == {feed._running.total}


def test_words_travel_once_a_message():
    trace, _ = network(2)
    trace.check()
    _, heard = follow(trace)
    rows = heard[0]["rows"]
    words = rows["words"]
    assert len(words) == len(set(words))
    report = [r for b in trace.report.blocks for r in payload_of.worst_of(b, 10_000)]
    for name in ("scope", "verdict", "reason"):
        assert {words[i] for i in rows[name]} <= {getattr(r, name) for r in report}


def test_a_display_that_comes_in_the_middle_gets_what_is_there_and_then_what_is_new():
    trace, _ = network(8)
    feed, early = follow(trace)
    late = []
    come = threading.Event()

    def send(message):
        late.append(message)
        return True

    def first(message):
        early.append(message)
        if "rows" in message and not come.is_set():
            come.set()
            feed.follow("late", send, None)
        return True

    assert feed._running.wait(60)
    trace.report = None
    feed.follow("here", first, None)
    feed.ask("start")
    ended(feed)
    assert come.is_set() and late[0]["whole"] and not any(m.get("whole") for m in late[1:])
    told = [m["rows"] for m in late if "rows" in m]
    rows = [(n, s, r["words"][w], r["words"][i]) for r in told for n, s, w, i in zip(r["node"], r["slot"], r["scope"], r["index"], strict=True)]
    assert len(rows) == len(set(rows)) and {n for n, *_ in rows} == {r.node for r in trace.report.rows}


def test_to_stop_is_heard_at_once_whatever_op_runs_and_to_start_again_begins_anew():
    inside, go_on = threading.Event(), threading.Event()

    def stuck(a):
        if threading.current_thread() is not threading.main_thread():
            inside.set()
            assert go_on.wait(60)
        return a * a

    slow = tv.custom_op("alongside_stuck", stuck, lambda g, a: (2 * g * a,))
    x = tv.tensor(np.full(checking.BY_ITSELF_ELEMENTS + 1, 0.5), requires_grad=True)
    trace = slow(x).sum().backward()
    feed, heard = follow(trace)
    feed.ask("start")
    assert inside.wait(60)
    feed.ask("cancel")
    assert heard[-1]["state"] == "cancelled"
    first = feed._running
    other, _ = network(1)
    assert other.check_alongside().wait(60)  # is not kept waiting
    feed.ask("start")
    assert feed._running is not first and heard[-1]["state"] == "running"
    heard.clear()
    go_on.set()
    assert first.wait(60)
    ended(feed)
    assert heard[-1]["state"] == "done" and not any(m["state"] == "cancelled" for m in heard)
    assert trace.report.ok and trace.report.notes == ()


def test_a_small_pass_whose_own_ops_are_slow_is_shown_at_once_and_checked_alongside(monkeypatch):
    square = tv.custom_op("alongside_patience", lambda a: a * a, lambda g, a: (2 * g * a,))
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    trace, plain = square(x).sum().backward(), (x * x).sum().backward()
    monkeypatch.setattr(run, "SOON", -1.0)
    assert payload_of.shipment(plain)[0] is plain.report is not None  # ops of the house are not waited for in vain
    assert payload_of.shipment(trace)[0] is trace.report is None
    feed, heard = follow(trace)
    ended(feed)
    assert heard[-1]["state"] == "done" and trace.report.ok


def test_a_report_that_is_made_meanwhile_takes_the_place_of_what_a_display_heard():
    trace, _ = network()
    heard = []

    def send(message):
        heard.append(message)
        if "rows" in message and trace.report is not None and trace.report.notes:
            trace.check(nodes=[trace.roots[0]])
        return True

    feed = checking.feed(trace)
    feed.follow("here", send, None)
    ended(feed)
    assert heard[-1]["state"] == "done" and trace.report.notes == ()
    last = max(k for k, m in enumerate(heard) if m.get("whole"))
    rows = {n for m in heard[last:] for n in m.get("rows", {"node": []})["node"]}
    assert rows == {r.node for r in trace.report.rows}


def test_a_display_whose_output_is_older_than_the_latest_report_is_brought_up_to_date_when_another_is_made():
    trace, _ = network()
    feed, heard = follow(trace)
    ended(feed)
    trace.check(nodes=[trace.roots[0]])
    output.frame_html(trace, output.Channel(trace, {}))
    assert heard[-1]["whole"] and set(heard[-1]["rows"]["node"]) == {r.node for r in trace.report.rows}


def test_a_check_that_no_display_follows_any_more_ends():
    trace, _ = network(30)
    feed = checking.feed(trace)
    feed.follow("here", lambda message: "rows" not in message, None)
    ended(feed)
    assert feed._running.state == "cancelled"


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
