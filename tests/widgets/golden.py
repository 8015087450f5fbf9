"""Writes the containers that the TypeScript tests open: the hand-made records of ``tests/wire/examples.py`` with a small fixed picture.

Run it (``python tests/widgets/golden.py``) after a change of the schema; a test compares.
"""

from __future__ import annotations

import gzip
import json
import sys
from dataclasses import replace
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).parents[2]
TARGET = ROOT / "widgets" / "test" / "golden"
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from tensorviz.trace import Trace  # noqa: E402
from tensorviz.widgets import payload  # noqa: E402
from wire.examples import EXAMPLES  # noqa: E402


def picture(trace: Trace) -> str:
    """As the skeleton is built, with nothing but what a step can change."""
    nodes = "".join(
        f'<g data-node="{n.id}" class="tv-node" data-state="done" tabindex="-1" role="button" aria-label="{n.op} {n.name or ""} {n.shape}">'
        '<rect class="tv-halo"/><rect class="tv-shape"/></g>'
        f'<g data-total="{n.id}" data-form="cells" data-rows="1" data-cols="{n.value.size}" data-state="done">'
        + '<rect class="tv-cell"/><text class="tv-num">?</text>' * n.value.size
        + "</g>"
        for n in trace.nodes
    )
    shares = [s for n in trace.nodes for s in n.shares]
    edges = "".join(f'<g class="tv-edge" data-edge="{s.edge}" data-state="passed"><path class="tv-wire"/></g>' for s in shares)
    badges = "".join(f'<g class="tv-badge" data-badge="unbroadcast" data-on="{s.edge}"><text>Σ</text></g>' for s in shares if s.summed_axes)
    forks = "".join(
        f'<g class="tv-badge" data-badge="fork" data-fork="{n.id}" data-count="{len(n.shares)}"><text>Σ</text></g>'
        for n in trace.nodes
        if len(n.shares) > 1
    )
    return f'<svg xmlns="http://www.w3.org/2000/svg" class="tv-graph" viewBox="0 0 400 200"><g class="tv-viewport">{edges}{nodes}{badges}{forks}</g></svg>'


def untold(trace: Trace) -> Trace:
    """The same record without its sentences: they are made from it."""
    return Trace(replace(trace.data, steps=tuple(replace(step, caption="") for step in trace.data.steps)))


def contents() -> dict[str, bytes]:
    """The uncompressed containers by file name, and what the steps of those without sentences are told to be."""
    traces = {name: make() for name, make in EXAMPLES.items()}
    without = {f"{name}-untold": untold(trace) for name, trace in traces.items()}
    sentences = {name: [step.caption for step in trace.steps] for name, trace in without.items()}
    still = mock.patch.multiple(payload, skeleton=picture, _report=lambda trace: (None, "Not run here."), _findings=lambda trace: [])
    with still:
        containers = {f"{name}.tvz": gzip.decompress(payload.build(trace)) for name, trace in (traces | without).items()}
    return containers | {"told.json": (json.dumps(sentences, ensure_ascii=False, indent=2) + "\n").encode()}


if __name__ == "__main__":
    TARGET.mkdir(parents=True, exist_ok=True)
    for name, content in contents().items():
        (TARGET / name).write_bytes(content)
