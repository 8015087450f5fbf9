"""One race per workload: every engine's results are compared first, then they take turns."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks import engines
from benchmarks.bars import BARS
from benchmarks.costs import between
from benchmarks.results import Result
from benchmarks.timing import Times, race
from benchmarks.workloads import Workload


def run(name: str, workload: Workload, rounds: int, peers: Sequence[str]) -> tuple[list[Result], Times]:
    """The ratios that the bars are about, and all times."""
    programs = {p.engine: p for p in engines.programs(workload, peers)}
    expected = workload.by_hand(workload.parameters, workload.constants)
    for program in programs.values():
        engines.agree(program, expected)
    times = race({p.engine: p.run for p in programs.values()}, rounds)
    compared = [b for b in BARS[name] if b.one in times and b.other in times]
    return [between(times, b.one, b.other, name, f"{b.one} / {b.other}", b.at_most) for b in compared], times
