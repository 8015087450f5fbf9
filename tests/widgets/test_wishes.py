"""What a page may ask of the kernel, and what it hears when it asks for something else."""

from __future__ import annotations

import gzip
import json
import re
import struct

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import IndexingError
from tensorviz.trace import Trace
from tensorviz.widgets.wishes import answer, array_named, run_of, sliced
from wire.examples import broadcast


def square() -> Trace:
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    return (x * x).sum().backward()


def header(content: bytes) -> dict:
    plain = gzip.decompress(content)
    (length,) = struct.unpack_from("<Q", plain, 16)
    return json.loads(plain[32 : 32 + length])


def test_a_run_with_a_changed_entry_comes_as_a_whole_record() -> None:
    trace = square()
    reply, [content] = answer(trace, {"kind": "run", "serial": 7, "changes": {"values": [[0, 1, "5"]], "shares": []}})
    assert reply == {"kind": "run", "serial": 7}
    view = header(content)
    assert [view["nodes"]["value"]["count"], view["steps"]["caption"]["count"]] == [len(trace.nodes), len(trace.steps)]
    assert view["view"]["check_kind"] == "ok"
    assert run_of(trace, {"values": [[0, 1, "5"]]}).node("x").cotangent.tolist() == [2.0, 10.0]
    assert trace.node("x").cotangent.tolist() == [2.0, 4.0]


def test_a_run_with_a_changed_share_is_not_judged_and_says_why() -> None:
    trace = square()
    edge = trace.node("x").shares[0].edge
    _, [content] = answer(trace, {"kind": "run", "serial": 1, "changes": {"shares": [[edge, None, "0"]]}})
    view = header(content)["view"]
    assert (view["check_kind"], view["check_note"]) == ("", "Not checked: a share was changed, so the gradients are no derivatives any more.")
    assert run_of(trace, {"shares": [[edge, 1, "9"]]}).node("x").shares[0].value.tolist() == [1.0, 9.0]


def test_numbers_that_json_has_no_word_for_are_words() -> None:
    run = run_of(square(), {"values": [[0, 0, "NaN"], [0, 1, "-Infinity"]]})
    np.testing.assert_array_equal(run.node("x").value, [np.nan, -np.inf])


def test_the_latest_run_is_kept_and_nothing_else() -> None:
    trace = square()
    first = run_of(trace, {"values": [[0, 0, "3"]]})
    assert run_of(trace, {"values": [[0, 0, "3"]]}) is first
    assert run_of(trace, {"values": [[0, 0, "4"]]}) is not run_of(trace, {"values": [[0, 0, "3"]]})
    assert run_of(trace, {}) is trace


def test_a_slice_comes_with_its_shape_and_can_be_of_a_changed_run() -> None:
    trace = square()
    reply, [content] = answer(trace, {"kind": "slice", "serial": 2, "name": "cotangent:0", "index": "[1:]", "changes": {"values": [[0, 1, "5"]]}})
    assert reply == {"kind": "slice", "serial": 2, "shape": [1], "dtype": "float64"}
    assert np.frombuffer(content).tolist() == [10.0]


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"kind": "run", "changes": {"values": [[1, 0, "5"]]}}, "is the result of mul; change the leaves"),
        ({"kind": "run", "changes": {"values": [[0, 9, "5"]]}}, "x has 2 entries, none at position 9"),
        ({"kind": "run", "changes": {"values": [[0, 0, "five"]]}}, "could not convert string to float"),
        ({"kind": "run", "changes": {"shares": [["9:9", None, "0"]]}}, "no share was sent over '9:9'"),
        ({"kind": "slice", "name": "value:0", "index": "[5]"}, r"is no index of shape \(2,\)"),
        ({"kind": "slice", "name": "value:0", "index": "__import__('os').getcwd()"}, r"is no index of shape \(2,\)"),
        ({"kind": "slice", "name": "file:/etc/passwd", "index": "[0]"}, "no array 'file:/etc/passwd'"),
        ({"kind": "everything"}, "no wish is called 'everything'"),
        ({"kind": "run", "changes": 3}, "object has no attribute"),
        ("run", "a wish is a mapping"),
    ],
)
def test_what_cannot_be_done_is_said_and_not_raised(wish, words) -> None:
    reply, buffers = answer(square(), wish)
    assert buffers == []
    assert re.search(words, reply["error"])


def test_a_whole_number_stays_one() -> None:
    index = np.array([0, 1])
    x = tv.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    trace = tv.cross_entropy(x, index).backward()
    node = next(n.id for n in trace.nodes if n.dtype.startswith("int"))
    assert run_of(trace, {"values": [[node, 0, "1"]]}).nodes[node].value.tolist() == [1, 1]
    assert "holds int64, and 0.5 is none" in answer(trace, {"kind": "run", "changes": {"values": [[node, 0, "0.5"]]}})[0]["error"]


def test_arrays_are_known_by_name_alone() -> None:
    trace = broadcast()
    assert array_named(trace, "value:0").tolist() == [[1, 2, 3], [4, 5, 6]]
    assert array_named(trace, "share:1:0").tolist() == pytest.approx([10.4, 14.8, 19.2])
    assert array_named(trace, "local:1:0").shape == (2, 3)
    assert array_named(trace, f"after:{len(trace.steps) - 1}").shape == (3,)
    for name in ("value:99", "saved:0:nothing", "file:/etc/passwd", "", "value:", "before:0"):
        with pytest.raises(IndexingError, match="the record has no array"):
            array_named(trace, name)


def test_a_slice_is_of_a_size_that_can_be_read() -> None:
    a = np.arange(10_000).reshape(100, 100)
    assert sliced(a, "0, :").shape == (100,)
    assert sliced(a, "[..., -1]").tolist()[:2] == [99, 199]
    assert sliced(np.float64(3.0)[()] * np.ones(()), "[]").shape == ()
    with pytest.raises(IndexingError, match=r"has 10,000 entries; a slice shows at most 2,000"):
        sliced(a, "[:]")
