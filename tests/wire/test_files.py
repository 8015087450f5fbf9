"""A trace goes into a file and comes back the same; what is no such file says so."""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from tensorviz import wire
from tensorviz.errors import RecordError
from tensorviz.trace import SCHEMA_VERSION, Trace, TraceData
from wire.examples import EXAMPLES, broadcast, fork, node, routed


def same(a: Any, b: Any) -> bool:
    """Equal in value and in kind, arrays bit by bit."""
    if isinstance(a, (np.ndarray, np.generic)):
        return type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if hasattr(a, "__dataclass_fields__"):
        return type(a) is type(b) and all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a) if f.name != "uid")
    if isinstance(a, dict) or hasattr(a, "keys"):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and (a == b or a != a)


def with_params(**params: Any) -> Trace:
    return Trace(TraceData((node(0, "leaf", np.zeros(2), kind="leaf", params=params),), (), ()))


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_saved_trace_loads_as_it_was(name, tmp_path):
    trace = EXAMPLES[name]()
    trace.save(tmp_path / "a.tvz")
    loaded = wire.load(tmp_path / "a.tvz")
    assert same(trace.nodes, loaded.nodes)
    assert same(trace.steps, loaded.steps)
    assert (trace.roots, trace.data.complete) == (loaded.roots, loaded.data.complete)
    assert [p.name for p in tmp_path.iterdir()] == ["a.tvz"]


def test_the_shares_of_the_steps_are_those_of_the_nodes():
    loaded = wire.loads(wire.dumps(fork()))
    assert loaded.steps[2].share is loaded.nodes[0].shares[0]
    assert loaded.steps[3].share is loaded.nodes[0].shares[1]


def test_saving_a_loaded_trace_gives_the_same_bytes():
    content = wire.dumps(broadcast())
    assert wire.dumps(wire.loads(content)) == content


def test_what_lies_behind_a_detach_what_was_changed_and_the_sources_come_back():
    cut = node(0, "detach", np.zeros(2), kind="detached", behind=("W", "b"), changed=True)
    trace = Trace(TraceData((cut,), (), (), True, {"cell [3]": "h = x.detach()\n"}))
    loaded = wire.loads(wire.dumps(trace))
    assert (loaded.nodes[0].behind, loaded.nodes[0].changed) == (("W", "b"), True)
    assert loaded.sources == {"cell [3]": "h = x.detach()\n"}


def test_a_file_from_before_these_fields_still_loads():
    def older(header: dict[str, Any]) -> None:
        del header["texts"]
        for form in header["nodes"]["forms"]:
            del form["behind"], form["changed"]

    loaded = wire.loads(rewritten(older))
    assert (loaded.nodes[0].behind, loaded.nodes[0].changed, dict(loaded.sources)) == ((), False, {})


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "longdouble", ">f8", "int8", "int64", "uint16", "bool", "complex128", "U5"])
def test_every_dtype_comes_back_exactly(dtype):
    value = np.array([[0, 1], [1, 0]]).astype(dtype)
    trace = Trace(TraceData((node(0, "constant", np.zeros(2), kind="constant", saved={"v": value}),), (), ()))
    assert same(wire.loads(wire.dumps(trace)).nodes[0].saved["v"], value)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1, 1, 2)])
def test_every_shape_comes_back_exactly(shape):
    value = np.arange(np.prod(shape, dtype=int), dtype=float).reshape(shape)
    trace = Trace(TraceData((node(0, "constant", np.zeros(2), kind="constant", saved={"v": value}),), (), ()))
    assert same(wire.loads(wire.dumps(trace)).nodes[0].saved["v"], value)


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 3, -(2**70), 0.1, -0.0, float("nan"), float("inf"), "text", "\ud800", ""),
        *((), (1, (2.0, None)), [1, [2]], {"a": (1,), 3: None}),
        *(slice(None), slice(1, None, -2), ..., (slice(None), None, ..., 2)),
        *(np.float32(0.1), np.int64(3), np.bool_(True), np.arange(3), np.array([[True]]), np.dtype("float32")),
    ],
    ids=repr,
)
def test_every_kind_of_parameter_comes_back(value):
    assert same(wire.loads(wire.dumps(with_params(p=value))).nodes[0].params["p"], value)


def test_a_function_among_the_parameters_comes_back_as_how_it_printed():
    def rule() -> None: ...

    got = wire.loads(wire.dumps(with_params(rule=rule))).nodes[0].params["rule"]
    assert isinstance(got, wire.Opaque)
    assert "rule" in repr(got)


def test_equal_arrays_are_written_once():
    big = np.arange(10_000.0)
    one = Trace(TraceData((node(0, "leaf", big, kind="leaf"),), (), ()))
    two = Trace(TraceData((node(0, "leaf", big, kind="leaf"), node(1, "leaf", big.copy(), kind="leaf")), (), ()))
    assert len(wire.dumps(two)) < len(wire.dumps(one)) + 1_000


def test_no_number_that_json_lacks_is_written_into_json():
    content = wire.dumps(routed())
    header, _ = wire.unpack(content)
    json.dumps(header, allow_nan=False)
    assert np.isnan(wire.loads(content).nodes[0].cotangent[1, 2])


def test_loaded_arrays_are_aligned_and_cannot_be_written_to():
    value = wire.loads(wire.dumps(broadcast())).nodes[0].value
    assert not value.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        value[0] = 1


def test_an_array_of_objects_is_refused_when_saving():
    trace = Trace(TraceData((node(0, "leaf", np.array([None]), kind="leaf"),), (), ()))
    with pytest.raises(RecordError, match="dtype object cannot be written"):
        wire.dumps(trace)


# ---- what is no trace ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [1, 7, 20, 31, 40, -1])
def test_a_truncated_file_says_how_much_is_there(keep, tmp_path):
    content = wire.dumps(broadcast())
    (tmp_path / "cut.tvz").write_bytes(content[:keep])
    with pytest.raises(RecordError, match=r"cut\.tvz is truncated"):
        wire.load(tmp_path / "cut.tvz")


@pytest.mark.parametrize(
    ("content", "words"), [(b"", "is empty"), (b"PK\x03\x04 a zip", "is not a tensorviz trace"), (b"\x80\x04\x95", "is not a tensorviz trace")]
)
def test_a_foreign_file_is_told_from_ours(content, words, tmp_path):
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(RecordError, match=words):
        wire.load(tmp_path / "other")


def test_a_newer_file_asks_for_an_update():
    content = bytearray(wire.dumps(broadcast()))
    struct.pack_into("<I", content, 8, SCHEMA_VERSION + 1)
    with pytest.raises(RecordError, match=rf"newer tensorviz \(format {SCHEMA_VERSION + 1}; this one reads up to {SCHEMA_VERSION}\): update"):
        wire.loads(bytes(content))


def test_an_older_file_asks_for_a_new_run():
    content = bytearray(wire.dumps(broadcast()))
    struct.pack_into("<I", content, 8, SCHEMA_VERSION - 1)
    with pytest.raises(
        RecordError, match=rf"earlier tensorviz \(format {SCHEMA_VERSION - 1}; this one reads {SCHEMA_VERSION}\): run the program again"
    ):
        wire.loads(bytes(content))


@pytest.mark.parametrize("where", [40, 400, -3])
def test_a_changed_byte_is_noticed(where):
    content = bytearray(wire.dumps(broadcast()))
    content[where] ^= 1
    with pytest.raises(RecordError, match="damaged"):
        wire.loads(bytes(content))


def test_a_missing_file_is_the_usual_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        wire.load(tmp_path / "none.tvz")


def rewritten(change: Any) -> bytes:
    """A container whose header was changed and sealed again, as by a hostile or a broken writer."""
    header, body = wire.unpack(wire.dumps(broadcast()))
    body = bytearray(body)
    for entry, values in (change(header) or {}).items():
        header["nodes"][entry] = {"type": "i4", "offset": len(body), "count": len(values)}
        body += np.array(values, "<i4").tobytes() + b"\0" * (-4 * len(values) % 8)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<8sIIQQ", wire.MAGIC, SCHEMA_VERSION, zlib.crc32(bytes(body), zlib.crc32(text)), len(text), len(body)) + text + bytes(body)


def _outside(h: dict[str, Any]) -> None:
    h["shares"]["consumer"]["offset"] = 10**9


def _backwards(h: dict[str, Any]) -> dict[str, list[int]]:
    return {"inputs": [0, 3, 2, 3]}


def _few(h: dict[str, Any]) -> dict[str, list[int]]:
    return {"inputs": [0, 1, 2]}


def _many(h: dict[str, Any]) -> dict[str, list[int]]:
    return {"saved": [2, 2]}


def _negative(h: dict[str, Any]) -> dict[str, list[int]]:
    return {"shares": [1, 1, -1, 1, 1]}


def _nobodys(h: dict[str, Any]) -> dict[str, list[int]]:
    return {"shares": [0, 0, 0, 0, 0]}


def _earlier(h: dict[str, Any]) -> None:
    h["steps"]["caption"]["count"] -= 1


def _objects(h: dict[str, Any]) -> None:
    h["arrays"]["dtypes"][0] = "|O"


def _field(h: dict[str, Any]) -> None:
    del h["nodes"]["forms"][0]["op"]


def _position(h: dict[str, Any]) -> dict[str, list[int]]:
    return {"value": [999, 1, 2, 3, 4]}


def _param(h: dict[str, Any]) -> None:
    h["nodes"]["forms"][0]["params"] = {"p": {"pickle": "gASV"}}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_outside, "outside the file"),
        (_backwards, "not older than itself"),
        (_few, "fewer inputs than the nodes have"),
        (_many, "more saved values than the nodes have"),
        (_negative, "fewer shares than the nodes have"),
        (_nobodys, "step 2 adds a share that is none of node 3's"),
        (_earlier, "does not hold a record of this format"),
        (_objects, "none that a trace holds"),
        (_field, "does not hold a record of this format"),
        (_position, "position 999"),
        (_param, "unknown kind 'pickle'"),
    ],
)
def test_a_record_that_does_not_hold_together_is_refused_with_the_place(change, words):
    with pytest.raises(RecordError, match=words):
        wire.loads(rewritten(change), "bad.tvz")


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.tvz"
    broadcast().save(path)
    before = path.read_bytes()
    bad = replace(broadcast().nodes[0], value=np.array([None]), shape=(1,))
    with pytest.raises(RecordError):
        Trace(TraceData((bad,), (), ())).save(path)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1
