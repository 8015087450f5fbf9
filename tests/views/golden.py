"""The golden files that Python and the browser are both held to. Run this file to write them anew: ``python tests/views/golden.py``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from tensorviz.axes import in_words
from tensorviz.trace import Trace
from tensorviz.views import format as fmt
from tensorviz.views.palette import PALETTES, Scale, tint, tokens_json
from tensorviz.views.state import is_zero, state_at
from views import circuits

FOLDER = Path(__file__).parent.parent / "golden"

NUMBERS = [
    0.0, -0.0, 1.0, -1.0, 2.5, 100.5, 0.1 + 0.2, 1 / 3, -2 / 3, 19.2, 1e-4, 9.9994e-5, 9.99996e-5, 0.00012345, 1e5, 99999.4, 99999.5, 12345.6, 123456.0,
    -123456.0, 1.5e300, 5e-324, 2.0625, 0.5, 1.00005, 1.00015, 1.0005, 2.2250738585072014e-308, 1.7976931348623157e308, 9999.5, 9999.49, 0.99995, 0.999949,
    6.554e-5, 1e16, 4.35, 8.345, 0.12345, 0.000123455, float("nan"), float("inf"), float("-inf"), float(np.float32(0.1)), 1.005, 10.235, 1234.5, 1235.5,
]  # fmt: skip
ARRAYS: list[list[float]] = [
    [1.0, 2.0, 3.0],
    [1.21, 4.84, 10.89, 16.81, 27.04, 39.69],
    [0.1, 0.2, 0.3],
    [0.0, 0.5, 0.5, 0.0, -2.0],
    [0.2, 1.5, -0.3, float("-inf"), 0.7],
    [float("nan"), 1.25, float("inf")],
    [1234.5, 0.001234],
    [100.5, 0.0333],
    [100.5, 0.01],
    [1000.0, 0.5, -1.0],
    [1e-7, 1.0],
    [123456.0, 1.5],
    [0.0, 0.0],
    [2.0625, -0.5],
    [1 / 3, 2 / 3, 1.0],
    [0.99996, 12.5],
    [-0.00012345, 0.5],
    [0.25, 1 / 3],
    [0.05, 1 / 30],
    [-2.32503, 0.03204, 0.00445, 1.0],
    [9.99996, 0.123456],
    [-0.0, 5.0, 99999.4],
]
STATS: list[list[float]] = [
    [],
    [3.0, 4.0],
    [0.0, 0.0],
    [3.0, float("nan"), 4.0],
    [float("inf"), float("-inf"), float("nan"), float("nan")],
    [1e200, 1e200],
    [1e-200],
]
SHAPES = [(), (3,), (2, 3), (0, 3), (1000000,), (5, 1, 4, 1)]
AXES = [(0,), (1,), (0, 2), (0, 1, 2)]
COUNTS = [0, 1, 999, 1000, 19960, 1234567]


def spelled(x: float) -> str:
    """A number as text that both Python's ``float`` and JavaScript's ``Number`` read: JSON has no NaN and no infinity."""
    if np.isnan(x):
        return "NaN"
    return repr(float(x)) if np.isfinite(x) else "Infinity" if x > 0 else "-Infinity"


def format_json() -> dict[str, Any]:
    return {
        "number": [{"x": spelled(x), "text": fmt.number(x)} for x in NUMBERS],
        "error": [{"x": spelled(x), "text": fmt.number(x, 2)} for x in NUMBERS if np.isfinite(x)],
        "cells": [{"values": [spelled(x) for x in row], "texts": fmt.cells(row)} for row in ARRAYS],
        "stats": [{"values": [spelled(x) for x in row], "text": fmt.stats(row)} for row in STATS],
        "count": [{"n": n, "text": fmt.count(n)} for n in COUNTS],
        "shape": [{"dims": list(dims), "text": fmt.shape(dims)} for dims in SHAPES],
        "axes": [{"axes": list(axes), "text": in_words(axes)} for axes in AXES],
    }


def color_json() -> dict[str, Any]:
    xs = [0.0, 1e-6, 0.01, 0.2, -0.2, 1.0, -1.0, 2.0, 5.0, 10.0, -10.0, 12.0, float("nan"), float("inf"), float("-inf")]
    scale = Scale(10.0, 4.0)
    return {
        "palettes": tokens_json(),
        "tint": [{"x": spelled(x), "most": most, "tint": tint(x, most)} for most in (10.0, 1.0, 0.0, 1e-3) for x in xs],
        "fill": [
            {"palette": name, "kind": kind, "x": spelled(x), "most": scale.most(kind), "fill": scale.fill(tokens, kind, x)}
            for name, tokens in PALETTES.items()
            for kind in ("value", "gradient")
            for x in xs
        ],
    }


def zeroed() -> Trace:
    """``x * 0``, and a chain behind it: what arrives is zero everywhere."""
    t = circuits.Tape()
    x = t.leaf([1.0, 2.0], "x")
    t.sum(t.mul(t.square(x, "h"), t.constant([0.0, 0.0])), "L")
    return t.record()


def states_json() -> list[dict[str, Any]]:
    out = []
    for name, make in (
        ("broadcast", circuits.broadcast),
        ("staged", circuits.staged),
        ("routed", circuits.routed),
        ("squared", circuits.squared),
        ("zeroed", zeroed),
    ):
        trace = make()
        out.append(
            {
                "name": name,
                "roots": list(trace.roots),
                "nodes": [{"leaf": n.is_leaf, "shares": len(n.shares)} for n in trace.nodes],
                "steps": [
                    {
                        "kind": s.kind,
                        "node": s.node,
                        "edge": s.share.edge if s.share is not None else None,
                        "shareZero": is_zero(s.share.value) if s.share is not None else None,
                        "totalZero": is_zero(s.after) if s.kind in ("seed", "accumulate") and s.after is not None else None,
                    }
                    for s in trace.steps
                ],
                "states": [_state(trace, k) for k in (*range(-1, len(trace.steps)), None)],
            }
        )
    return out


def _state(trace: Trace, k: int | None) -> dict[str, Any]:
    found = state_at(trace, k)
    arrived = [found.arrived.get(i, 0) for i in range(len(trace.nodes))]
    return {"step": k, "nodes": list(found.nodes), "edges": found.edges, "active": found.active, "activeEdge": found.active_edge, "arrived": arrived}


GOLDEN: dict[str, Callable[[], Any]] = {"format": format_json, "color": color_json, "states": states_json}


def printed(name: str) -> str:
    return json.dumps(GOLDEN[name](), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


if __name__ == "__main__":
    for each in GOLDEN:
        (FOLDER / f"{each}.json").write_text(printed(each), encoding="utf-8")
