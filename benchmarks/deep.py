"""A very deep chain, forward, backward, looked at, saved and freed in a thread with a small stack; run as a program, prints seconds as JSON."""

from __future__ import annotations

import json
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

STACK = 8 << 20


def stages(nodes: int) -> dict[str, float]:
    """Seconds of each stage."""
    import tensorviz as tv

    took: dict[str, float] = {}

    def timed(stage: str, run: Callable[[], Any]) -> Any:
        start = process_time()
        result = run()
        took[stage] = process_time() - start
        return result

    def chain() -> Any:
        a, b = tv.tensor(0.5, requires_grad=True), tv.tensor(2 / nodes, requires_grad=True)
        for _ in range(nodes // 2):
            a = a * b + a
        return a

    held = {"y": timed("forward", chain)}
    held["trace"] = timed("backward", held["y"].backward)
    timed("first look at the record", lambda: len(held["trace"].nodes))
    with tempfile.TemporaryDirectory() as folder:
        timed("save", lambda: held["trace"].save(Path(folder) / "deep.tvz"))
    timed("free", held.clear)
    return took


def main() -> None:
    assert sys.getrecursionlimit() == 1000
    told: list[dict[str, float]] = []
    threading.stack_size(STACK)
    thread = threading.Thread(target=lambda: told.append(stages(int(sys.argv[1]))))
    thread.start()
    thread.join()
    if not told:
        sys.exit(1)
    print(json.dumps(told[0]))


if __name__ == "__main__":
    main()
