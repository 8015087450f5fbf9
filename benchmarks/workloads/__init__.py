"""The workloads by letter, each a forward pass in everybody's words and a backward pass by hand. Holds no engine."""

from __future__ import annotations

from benchmarks.workloads import broadcast, chain, mlp, transformer
from benchmarks.workloads.workload import Workload

__all__ = ["CHAINS", "LARGE", "TINY", "Workload"]

LARGE: dict[str, Workload] = {
    "a": mlp.classifier(784, 256, 128, 10, batch=128),
    "b": mlp.regressor(3, 4, 4, 1, batch=8),
    "d": broadcast.workload(64, 32, 128),
    "e": transformer.workload(batch=4, length=32, width=64, heads=4),
}
"""The sizes that are timed."""

CHAINS: dict[str, Workload] = {"c 1k": chain.workload(1_000), "c 10k": chain.workload(10_000)}
"""Workload (c), by its number of nodes."""

TINY: dict[str, Workload] = {
    "a": mlp.classifier(5, 4, 3, 3, batch=4),
    "b": mlp.regressor(3, 4, 4, 1, batch=2),
    "c": chain.workload(20),
    "d": broadcast.workload(3, 2, 4),
    "e": transformer.workload(batch=2, length=3, width=4, heads=2),
}
"""The same at sizes where a test takes no time."""
