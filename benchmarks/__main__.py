"""``python -m benchmarks``: measure, compare with the bars, print a table."""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.process import load, restart_prepared, versions

RACES = ("a", "b", "c", "d", "e")
COSTS = ("memory", "import", "position", "length", "deep", "check")


def arguments(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="tensorviz against hand-written NumPy and its peers, as ratios of CPU time."
    )
    parser.add_argument("--only", default=",".join((*RACES, *COSTS)), help=f"comma-separated parts, of {', '.join((*RACES, *COSTS))}; default: all")
    parser.add_argument(
        "--rounds", type=int, default=31, help="rounds per race; the figures are medians over them (default 31, fewer than 25 are a glance)"
    )
    parser.add_argument("--peers", default="autograd,torch,micrograd", help="comma-separated peers, or `none`; default: all that are installed")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write everything measured there")
    options = parser.parse_args(given)
    options.only = options.only.split(",")
    options.peers = [] if options.peers == "none" else options.peers.split(",")
    if unknown := set(options.only) - {*RACES, *COSTS}:
        parser.error(f"--only: no part {', '.join(sorted(unknown))}")
    if unknown := set(options.peers) - {"autograd", "torch", "micrograd"}:
        parser.error(f"--peers: no peer {', '.join(sorted(unknown))}")
    return options


def main(given: Sequence[str]) -> int:
    restart_prepared(list(given))
    options = arguments(given)

    # after the restart: NumPy reads the environment when it is loaded
    from benchmarks import checking, costs, engines
    from benchmarks.races import run
    from benchmarks.results import Result, table
    from benchmarks.timing import Times
    from benchmarks.workloads import CHAINS, LARGE

    for peer in engines.missing():
        if peer in options.peers:
            print(f"{peer} is not installed: left out")
            options.peers.remove(peer)
    for peer in options.peers:
        engines.optional(peer)
    gc.collect()
    gc.freeze()
    before = load()
    results: list[Result] = []
    seconds: dict[str, Times] = {}
    for name, workload in {**LARGE, **CHAINS}.items():
        if name.split()[0] in options.only:
            found, seconds[name] = run(name, workload, options.rounds, options.peers)
            results += found
            medians = ", ".join(f"{engine} {1e3 * statistics.median(took):.3g}" for engine, took in seconds[name].items())
            print(f"({name}) {workload.title}\n    ms: {medians}", flush=True)
    parts: dict[str, Callable[[], list[Result]]] = {
        "length": lambda: costs.length(options.rounds),
        "memory": costs.memory,
        "import": lambda: costs.imports(options.rounds),
        "position": lambda: costs.position(options.rounds),
        "deep": costs.deep,
        "check": lambda: [*costs.gradcheck(options.rounds), *checking.measure(options.rounds)],
    }
    for part, measure in parts.items():
        if part in options.only:
            results += measure()
    used = versions()
    loads = [before, load()]
    print("\n" + table(results))
    print("\n" + ", ".join(f"{k} {v}" for k, v in used.items()) + f"; {options.rounds} rounds; load before and after: {loads}")
    if options.json:
        told = {
            "versions": used,
            "rounds": options.rounds,
            "load": loads,
            "results": [{**asdict(r), "verdict": r.verdict} for r in results],
            "seconds": {name: dict(times) for name, times in seconds.items()},
        }
        options.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
