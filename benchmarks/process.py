"""The process that measures: its environment is set before it starts, and what it ran on is said. Knows no engine."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from pathlib import Path

ENVIRONMENT = {
    # one thread: CPU time is then the time that one waits
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # freed arrays stay with the process; otherwise page faults, not engines, decide the large elementwise workloads
    "MALLOC_MMAP_THRESHOLD_": "1073741824",
    "MALLOC_TRIM_THRESHOLD_": "4294967296",
    "MALLOC_TOP_PAD_": "268435456",
}
"""Read by libc and BLAS when a process starts, so this one starts itself again with them."""

ROOT = Path(__file__).parent.parent


def restart_prepared(arguments: list[str]) -> None:
    """Return in a process that started with the environment above; in another one, become such a process."""
    if all(os.environ.get(name) == value for name, value in ENVIRONMENT.items()):
        return
    os.chdir(ROOT)
    os.execve(sys.executable, [sys.executable, "-m", "benchmarks", *arguments], {**os.environ, **ENVIRONMENT})


def versions() -> dict[str, str]:
    """What took part, and on what."""
    found = {"python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}", "cpus": str(os.cpu_count())}
    for name in ("numpy", "autograd", "micrograd", "torch"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "missing"
    return found


def load() -> float | None:
    """How many other processes wanted a processor in the last minute; None where the system does not say."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return None
