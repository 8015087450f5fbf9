"""What travels to the browser: small arrays whole, large ones as figures and a picture, and never a NaN in JSON."""

from __future__ import annotations

import gzip
import json
from typing import Any

import numpy as np
import pytest

import tensorviz as tv
from tensorviz import wire
from tensorviz.checks.alongside import Alongside
from tensorviz.trace import Source, Step, Trace, TraceData
from tensorviz.views.captions import fill
from tensorviz.widgets import payload
from widgets import golden
from wire.examples import EXAMPLES, broadcast, node, routed, share


def opened(trace: Trace) -> tuple[dict[str, Any], memoryview]:
    return wire.unpack(gzip.decompress(payload.build(trace)))


def values(header: dict[str, Any], body: memoryview) -> list[int]:
    """Where in the table of arrays the nodes' values stand."""
    return wire.Unpacker(header, body).column(header["nodes"]["value"])


def chain(count: int, value: np.ndarray) -> Trace:
    """x, then count nodes one after the other, each sending one share back."""
    nodes, steps = [node(0, "leaf", value, kind="leaf", name="x")], []
    for i in range(1, count + 1):
        nodes.append(node(i, "tanh", value * (1 + i / count), (i - 1,)))
    for i in range(count, 0, -1):
        sent = share(i, 0, i - 1, value * i)
        nodes[i - 1] = node(i - 1, nodes[i - 1].op, nodes[i - 1].value, nodes[i - 1].inputs, nodes[i - 1].kind, shares=(sent,), cotangent=sent.total)
        steps.append(
            Step("accumulate", i - 1, sent, None, sent.total, f"node {i - 1} receives its only share from node {i}, so its gradient is complete.")
        )
    return Trace(TraceData(tuple(nodes), tuple(steps), (count,)))


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_header_is_json_without_nan_and_carries_the_picture(name):
    trace = EXAMPLES[name]()
    header, body = opened(trace)
    json.dumps(header, allow_nan=False)
    assert header["view"]["skeleton"].startswith("<svg")
    templates = header["steps"]["captions"]
    told = [templates[k] for k in wire.Unpacker(header, body).column(header["steps"]["caption"])]
    assert [fill(text, trace.data, s) for text, s in zip(told, trace.steps, strict=True)] == [s.caption for s in trace.steps]
    assert header["view"]["title"] == f"Backward pass of {trace.nodes[trace.roots[0]].name}"


def test_small_arrays_travel_whole_and_exactly():
    header, body = opened(broadcast())
    read = wire.Unpacker(header, body)
    got = read.need(values(header, body)[2])
    assert got.dtype == np.float64
    assert got.tolist() == (np.array([[1.0, 2, 3], [4, 5, 6]]) + [0.1, 0.2, 0.3]).tolist()


def test_a_large_array_travels_as_figures_and_a_picture():
    value = np.linspace(-1, 3, 250_000).reshape(500, 500)
    value[17, 3] = np.nan
    header, body = opened(chain(1, value))
    read = wire.Unpacker(header, body)
    summary = header["arrays"]["summaries"][str(values(header, body)[0])]
    figures = read.column(summary["stats"])
    finite = value[np.isfinite(value)]
    assert figures[:2] == [-1.0, 3.0]
    assert figures[2:4] == pytest.approx([finite.mean(), np.linalg.norm(finite)])
    assert figures[4:] == [1, 0, 0, 0]
    assert (summary["rows"], summary["columns"]) == (32, 32)
    picture = np.array(read.column(summary["picture"])).reshape(32, 32)
    assert np.isnan(picture).sum() == 1  # the one NaN among 250,000 entries is seen
    assert len(payload.build(chain(1, value))) < 60_000


def test_float16_and_longdouble_arrive_as_what_a_browser_can_view():
    for dtype in ("float16", "longdouble", ">f8"):
        trace = Trace(TraceData((node(0, "leaf", np.array([0.5, 1.5], dtype), kind="leaf"),), (), ()))
        header, body = opened(trace)
        got = wire.Unpacker(header, body).need(values(header, body)[0])
        assert got.dtype.str in ("<f4", "<f8")
        assert got.tolist() == [0.5, 1.5]


def test_the_whole_state_of_two_thousand_nodes_stays_under_a_megabyte_with_the_bundle_and_as_an_output():
    draw = np.random.default_rng(0)
    h = tv.tensor(draw.normal(size=(8, 16)), requires_grad=True)
    for i in range(500):
        with tv.scope(f"block{i // 20}"):
            h = np.tanh(h @ tv.tensor(draw.normal(size=(16, 16)) / 4, requires_grad=True) + h)
    trace = (h**2).mean().backward()
    assert len(trace.nodes) >= 2_000 and len(trace.steps) > 2_000
    stepper = trace.show()
    assert sum(len(part) for part in stepper.get_state().values() if isinstance(part, (str, bytes))) < 1_000_000
    assert len(stepper._repr_mimebundle_()[0]["text/html"]) < 1_000_000


def test_the_entry_furthest_from_zero_stands_for_its_block():
    assert payload.downsample(np.array([[1.0, -3.0, 0.0, 2.0], [0.0, 0.0, 0.0, -1.0]]), 2).tolist() == [[-3.0, 2.0], [0.0, -1.0]]
    assert payload.downsample(np.arange(2_000.0), 32).shape == (32, 32)


def test_a_nan_row_does_not_hide_in_the_summary_of_finite_entries():
    assert payload.statistics(routed().nodes[0].cotangent)[4] == 1


def test_the_verdicts_of_the_latest_check_travel_also_with_a_large_trace():
    x = tv.tensor(np.linspace(0.5, 1.5, 3_000), requires_grad=True, name="x")
    trace = (x * x).sum().backward()
    before, _ = wire.unpack(gzip.decompress(payload.payload(trace)))
    assert before["view"]["check_kind"] == ""
    assert before["view"]["check_note"].startswith("Not run by itself: 3 nodes, 6,000 gradient entries. trace.check() runs it")
    report = trace.check()
    assert trace.report is report
    after, body = wire.unpack(gzip.decompress(payload.payload(trace)))
    assert after["view"]["check_kind"] == "ok"
    assert set(wire.Unpacker(after, body).column(after["view"]["verdicts"]["node"])) == {row.node for row in report.rows}
    assert payload.payload(trace) is payload.payload(trace)


def outcome(trace):
    view = opened(trace)[0]["view"]
    return view["check_kind"], view["check_note"]


def test_a_check_that_has_not_come_to_every_gradient_is_not_ok_as_a_whole():
    x = tv.tensor([0.5, 1.5], requires_grad=True, name="x")
    trace = (np.exp(x) * x).sum().backward()
    trace.check(nodes=["x"])
    assert trace.report.kind == "ok"
    assert outcome(trace) == ("skipped", "2 of 3 gradients were not among those that were checked.")
    checking = trace.check_alongside()
    assert checking.wait() and outcome(trace) == ("ok", "")

    class Stopped(Alongside):
        def _between(self):
            super()._between()
            self._stop.set()

    assert Stopped(trace, lambda update: None).start().wait()
    kind, said = outcome(trace)
    assert trace.report.kind == "ok" and kind == "skipped" and said.endswith("nodes checked so far: the check was cancelled.")


def test_why_a_check_leaves_something_open_is_said():
    x = tv.tensor([0.0, 1.5], requires_grad=True, name="x")
    trace = tv.relu(x).sum().backward()
    kind, said = outcome(trace)
    assert kind == "nonsmooth"
    assert said.startswith("2 of 8 derivatives are nonsmooth: ")
    trace = np.exp(x).sum().backward()
    trace.check(budget=0.01)
    assert outcome(trace)[1].endswith(
        " too much to replay: all global checks together would pass 2**11 budgets; name it in nodes=, or raise budget=."
    )


def test_of_very_many_verdicts_the_worst_of_each_array_travel(monkeypatch):
    monkeypatch.setattr(payload, "MOST_ROWS", 8)
    x = tv.tensor(np.linspace(0.5, 1.5, 20), requires_grad=True, name="x")
    trace = (x * x).sum().backward()
    trace.check()
    header, _ = opened(trace)
    assert len(header["view"]["verdicts"]["verdict"]) == 2 * len(trace.report.blocks) - sum(len(b.where) == 1 for b in trace.report.blocks)


def test_a_small_trace_is_checked_once_however_often_it_is_shown(monkeypatch):
    trace = (tv.tensor(3.0, requires_grad=True) ** 2).backward()
    payload.payload(trace)
    assert trace.report.ok
    monkeypatch.setattr(payload, "build", lambda trace: pytest.fail("built again"))
    payload.payload(trace)


def test_source_lines_travel_only_near_those_that_made_nodes():
    text = "\n".join(f"line {k}" for k in range(1, 101))
    made = node(0, "leaf", np.zeros(2), kind="leaf", source=Source("a.py", 50, "f", "line 50", 50, 0, 7))
    header, _ = opened(Trace(TraceData((made,), (), (0,), True, {"a.py": text, "other.py": "x = 1"})))
    assert list(header["texts"]) == ["a.py"]
    lines = header["texts"]["a.py"].split("\n")
    assert [k for k, line in enumerate(lines, 1) if line] == list(range(38, 63))
    assert lines[49] == "line 50"


def test_a_formula_travels_as_pieces_that_say_what_they_are():
    header, body = opened(EXAMPLES["fork"]())
    table = header["view"]["formulas"]
    line = {name: [table["lines"][i] for i in wire.Unpacker(header, body).column(table[name])] for name in ("left", "rule", "worked", "result")}
    assert line["rule"] == [["g∂y", "t · ", "vx"]] * 2
    assert line["worked"] == [["g1", "t · ", "v3"]] * 2
    assert (line["left"][0], line["result"][0]) == (["g∂x"], ["t3"])


def test_the_containers_that_the_typescript_tests_open_are_what_python_writes():
    for name, content in golden.contents().items():
        assert (golden.TARGET / name).read_bytes() == content, "run `python tests/widgets/golden.py`"


def test_of_very_many_shares_no_formulas_travel(monkeypatch):
    monkeypatch.setattr(payload, "MOST_SPELLED", 1)
    x = tv.tensor(3.0, requires_grad=True)
    header, _ = opened((x * x).backward())
    table = header["view"]["formulas"]
    assert (table["lines"], table["rule"]["count"]) == ([], 0)
