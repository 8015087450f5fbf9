"""Timing: contenders take turns in random order, and ratios are taken within a round. Knows no engine."""

from __future__ import annotations

import gc
import random
import statistics
from collections.abc import Callable, Mapping
from time import process_time
from typing import Any

LEAST = 0.004
"""Seconds of CPU time that one measurement lasts at least: the clock's grain and a stray interrupt are then under one per cent."""

Times = Mapping[str, list[float]]
"""Seconds of one run, per contender and round."""


def race(contenders: Mapping[str, Callable[[], Any]], rounds: int, *, seed: int = 0, least: float = LEAST) -> Times:
    """CPU seconds of one run of each contender in each round.

    Before each measurement the cyclic collector runs, so that nobody pays for what the one before left.
    """
    rng = random.Random(seed)
    repeats = {name: _repeats(run, least) for name, run in contenders.items()}
    times: dict[str, list[float]] = {name: [] for name in contenders}
    order = list(contenders)
    for _ in range(rounds):
        rng.shuffle(order)
        for name in order:
            gc.collect()
            times[name].append(_seconds(contenders[name], repeats[name]))
    return times


def _repeats(run: Callable[[], Any], least: float) -> int:
    """How many runs make one measurement, after a warm-up."""
    run()
    once = min(_seconds(run, 1) for _ in range(3))
    return max(1, round(least / max(once, 1e-7)))


def _seconds(run: Callable[[], Any], repeats: int) -> float:
    turns = range(repeats)
    start = process_time()
    for _ in turns:
        run()
    return (process_time() - start) / repeats


def ratio(times: Times, one: str, other: str) -> float:
    """The median over the rounds of one's time to the other's."""
    return statistics.median(ratios(times, one, other))


def ratios(times: Times, one: str, other: str) -> list[float]:
    """One's time to the other's, round by round."""
    return [a / b for a, b in zip(times[one], times[other], strict=True)]


def spread(values: list[float]) -> tuple[float, float]:
    """The quartiles."""
    low, _, high = statistics.quantiles(values, n=4) if len(values) > 1 else (values[0],) * 3
    return low, high
