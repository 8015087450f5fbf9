"""What travels to the browser: small arrays whole, large ones as figures and a picture, and never a NaN in JSON."""

from __future__ import annotations

import gzip
import json
from typing import Any

import numpy as np
import pytest

from tensorviz import wire
from tensorviz.trace import Step, Trace, TraceData
from tensorviz.widgets import payload
from widgets import golden
from wire.examples import EXAMPLES, broadcast, node, routed, share


def opened(trace: Trace) -> tuple[dict[str, Any], memoryview]:
    return wire.unpack(gzip.decompress(payload.build(trace)))


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
    header, _ = opened(trace)
    json.dumps(header, allow_nan=False)
    assert header["view"]["skeleton"].startswith("<svg")
    assert header["steps"]["captions"] == [s.caption for s in trace.steps]
    assert header["view"]["title"] == f"Backward pass of {trace.nodes[trace.roots[0]].name}"


def test_small_arrays_travel_whole_and_exactly():
    header, body = opened(broadcast())
    read = wire.Unpacker(header, body)
    got = read.need(header["nodes"][2]["value"])
    assert got.dtype == np.float64
    assert got.tolist() == (np.array([[1.0, 2, 3], [4, 5, 6]]) + [0.1, 0.2, 0.3]).tolist()


def test_a_large_array_travels_as_figures_and_a_picture():
    value = np.linspace(-1, 3, 250_000).reshape(500, 500)
    value[17, 3] = np.nan
    header, body = opened(chain(1, value))
    read = wire.Unpacker(header, body)
    summary = header["arrays"]["summaries"][str(header["nodes"][0]["value"])]
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
        got = wire.Unpacker(header, body).need(header["nodes"][0]["value"])
        assert got.dtype.str in ("<f4", "<f8")
        assert got.tolist() == [0.5, 1.5]


def test_the_whole_state_of_two_thousand_nodes_stays_under_a_megabyte():
    rng = np.random.default_rng(0)
    assert len(payload.build(chain(2_000, rng.normal(size=(16, 16))))) < 900_000


def test_the_entry_furthest_from_zero_stands_for_its_block():
    assert payload.downsample(np.array([[1.0, -3.0, 0.0, 2.0], [0.0, 0.0, 0.0, -1.0]]), 2).tolist() == [[-3.0, 2.0], [0.0, -1.0]]
    assert payload.downsample(np.arange(2_000.0), 32).shape == (32, 32)


def test_a_nan_row_does_not_hide_in_the_summary_of_finite_entries():
    assert payload.statistics(routed().nodes[0].cotangent)[4] == 1


def test_the_containers_that_the_typescript_tests_open_are_what_python_writes():
    for name, content in golden.contents().items():
        assert (golden.TARGET / name).read_bytes() == content, "run `python tests/widgets/golden.py`"
