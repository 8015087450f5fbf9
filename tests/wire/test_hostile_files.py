"""Files with a right checksum and wrong contents: refused on loading with the place, or nothing but errors of ours afterwards."""

from __future__ import annotations

import copy
import json
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensorviz as tv
from tensorviz import wire
from tensorviz.errors import RecordError, TensorvizError
from tensorviz.trace import SCHEMA_VERSION, Trace

WRONG = (None, "x", 1.5, -1, 3, True, [], {}, 10**12, [0], ["a"], {"a": 1})
"""What is put in the place of every entry of a header, one at a time."""


def recorded() -> bytes:
    """A small pass with a broadcast operand, a fork, a route, a scope and source lines."""
    x = tv.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True, name="x")
    b = tv.tensor([0.1, 0.2, 0.3], requires_grad=True, name="b")
    with tv.scope("net"):
        h = np.maximum(x + b, 2.0)
    return wire.dumps((h * h).sum().backward())


def sealed(header: Any, body: bytes) -> bytes:
    """A container with the right checksum around whatever the header says."""
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<8sIIQQ", wire.MAGIC, SCHEMA_VERSION, zlib.crc32(body, zlib.crc32(text)), len(text), len(body)) + text + body


def places(tree: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if at:
        yield at
    for key in tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ():
        yield from places(tree[key], (*at, key))


def spoiled(every: int) -> Iterator[tuple[str, bytes]]:
    """Containers in which one entry of the header is another; each ``every``-th of them all."""
    header, body = wire.unpack(recorded())
    number = 0
    for at in places(header):
        for value in WRONG:
            number += 1
            if number % every:
                continue
            changed = copy.deepcopy(header)
            owner = changed
            for key in at[:-1]:
                owner = owner[key]
            owner[at[-1]] = value
            yield f"{'.'.join(map(str, at))} = {value!r}", sealed(changed, bytes(body))


LOOKS: dict[str, Callable[[Trace], Any]] = {
    "summary": lambda t: t.summary(),
    "svg": lambda t: t.to_svg(engine="layered"),
    "svg at a step": lambda t: t.to_svg(step=min(2, max(len(t) - 1, 0)), engine="layered"),
    "dot": lambda t: t.to_dot(),
    "html": lambda t: t.to_html(),
    "findings": lambda t: t.findings(),
    "replay": lambda t: t.replay({"x": np.ones((2, 3))}),
    "check": lambda t: t.check(),
    "compare": lambda t: t.compare({"x": np.ones((2, 3))}),
    "save": wire.dumps,
}


def raw_errors(every: int) -> list[str]:
    found = []
    for what, content in spoiled(every):
        try:
            trace = wire.loads(content)
        except RecordError:
            continue
        for name, look in LOOKS.items():
            try:
                look(trace)
            except TensorvizError:
                pass
            except Exception as error:  # noqa: BLE001 - every other kind is what is looked for
                found.append(f"{what}, {name}: {type(error).__name__}: {error}")
    return found


def test_whatever_stands_in_a_header_only_errors_of_ours_come_of_it() -> None:
    assert raw_errors(every=37) == []


@pytest.mark.slow
def test_whatever_stands_in_any_place_of_a_header_only_errors_of_ours_come_of_it() -> None:
    assert raw_errors(every=1) == []


def _at(*place: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(header: dict[str, Any]) -> None:
        owner: Any = header
        for key in place[:-1]:
            owner = owner[key]
        owner[place[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (_at("nodes", "forms", 0, "op", value=3), r"node 0 has op 3, expected a string"),
        (_at("nodes", "names", 0, value=["x"]), r"node 0 \(leaf\) has name \['x'\], expected a string"),
        (_at("nodes", "forms", 0, "kind", value="root"), r"node 0 \(leaf\) has kind 'root', expected one of leaf, parameter, constant, detached, op"),
        (_at("nodes", "forms", 0, "requires_grad", value="yes"), r"node 0 \(leaf\) has requires_grad 'yes', expected True or False"),
        (_at("nodes", "forms", 0, "dtype", value="float32"), r"node 0 \(leaf\) says dtype float32, its value has float64"),
        (_at("nodes", "forms", 0, "shape", value=[2, 3.0]), r"node 0 \(leaf\) has shape holding 3\.0, expected a size"),
        (_at("nodes", "forms", 0, "shape", value=[3, 2]), r"node 0 \(leaf\) has value of shape \(2, 3\), expected \(3, 2\)"),
        (_at("nodes", "forms", 0, "weak", value=True), r"node 0 \(leaf\) is said to be a Python number, and has shape \(2, 3\)"),
        (_at("nodes", "forms", 0, "cut", value=99), r"node 0 \(leaf\) has cut 99, expected one of 0 to 6"),
        (_at("nodes", "forms", 2, "slots", value=["a"]), r"node 2 \(add\) has 1 slots for 2 inputs"),
        (_at("nodes", "forms", 2, "kind", value="leaf"), r"node 2 \(add\) is a leaf and has inputs: \(0, 1\)"),
        (_at("nodes", "forms", 4, "saved_from", value={"a": 7}), r"the slot of the saved value 'a' 7, expected one of -1 to 1"),
        (_at("sources", 0, "line", value="1"), r"has its source's line '1', expected a whole number"),
        (_at("sources", 0, "end_line", value=10**12), r"has an expression from line \d+ to line 1000000000000"),
        (_at("shares", "axes", 1, value=[]), r"a share of node 1 \(leaf\) is summed over no axis, but \(2, 3\) becomes \(3,\) over axis 0"),
        (_at("roots", value=[]), r"the record has roots \(\), but seeds \(6,\)"),
        (_at("roots", value=["6"]), r"has a root '6', expected a whole number"),
    ],
)
def test_a_spoiled_record_is_refused_with_the_place_what_was_expected_and_what_stands_there(change: Callable[[Any], None], text: str) -> None:
    header, body = wire.unpack(recorded())
    change(header)
    with pytest.raises(RecordError, match=text):
        wire.loads(sealed(header, bytes(body)), "bad.tvz")


def test_parameters_that_the_op_does_not_take_are_told_when_the_record_is_run_again() -> None:
    header, body = wire.unpack(recorded())
    header["nodes"]["forms"][-1]["params"]["axis"] = "a"
    trace = wire.loads(sealed(header, bytes(body)))
    with pytest.raises(tv.errors.ReplayError, match=r"node 6 \(sum\) cannot be run again: sum: operands of shape \(2, 3\).*axis='a'"):
        trace.replay({"x": np.ones((2, 3))})
    row = next(r for r in trace.check().rows if r.node == 6 or r.verdict == "input")
    assert row.verdict == "input"
    assert "running sum again on the recorded operands raised ReplayError" in row.reason


@pytest.mark.parametrize("header", ["[1]", "3", "[" * 100_000])
def test_a_header_that_is_no_table_is_refused(header: str) -> None:
    text = header.encode()
    content = struct.pack("<8sIIQQ", wire.MAGIC, SCHEMA_VERSION, zlib.crc32(text), len(text), 0) + text
    with pytest.raises(RecordError, match=r"bad\.tvz has a header that (is no table|cannot be read)"):
        wire.loads(content, "bad.tvz")


@pytest.mark.parametrize("path", [3, None, ["a"]])
def test_a_path_that_is_none_is_refused_by_name(path: Any) -> None:
    with pytest.raises(tv.errors.DTypeError, match="load: path must be the name of a file, got"):
        tv.load(path)
    with pytest.raises(tv.errors.DTypeError, match="save: path must be the name of a file, got"):
        wire.loads(recorded()).save(path)
