"""A class on one machine: a Jupyter server, a kernel for each student, one lesson run cell by cell by all of them.

    python benchmarks/classroom.py [--students 40] [--pause 0] [--lesson notebooks/broadcasting_and_forks.ipynb]

Starts a server on loopback with a token of its own and talks to it as a page does: a kernel is asked for, then every code cell goes over the kernel's
websocket, and the next one when it is idle again, after ``--pause`` seconds on average for reading (seeded; 0 is a class that presses Run all at once).
Told are the memory of a kernel that has run the lesson (its own share of what is shared, PSS, and all that it holds, RSS), how long a cell takes from
sending to its last output, and when the first and the last student had everything. Then the server is stopped, with every kernel, and the last stepper
of the lesson is stepped in Chromium with the network off. Linux; needs the extras ``lab`` and ``test``. Bounded: it ends after ``--limit`` seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import secrets
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import websocket

LESSON = Path(__file__).parent.parent / "notebooks" / "broadcasting_and_forks.ipynb"
STEPPER = 'class="tensorviz-frame"'


@dataclass
class Student:
    """What one student has seen."""

    cells: list[float] = field(default_factory=list)
    """Seconds from sending a cell to the kernel being idle again."""
    ready: float = 0.0
    """Seconds from the start of the class to a kernel that answers."""
    finished: float = 0.0
    """Seconds from the start of the class to the last output of the lesson."""
    steppers: int = 0
    last: str = ""
    """The last stepper, as the page got it."""
    process: int = 0
    pss: float = 0.0
    rss: float = 0.0
    """MiB at the end, with all kernels alive."""


@dataclass
class Report:
    """A class of students, and the server that they shared."""

    students: list[Student]
    server: float
    """PSS of the server in MiB."""
    load: tuple[float, float]
    """Processes that wanted a core, a minute's mean: before and after."""

    def __str__(self) -> str:
        cells = sorted(seconds for one in self.students for seconds in one.cells)
        pss, rss = ([getattr(one, kind) for one in self.students] for kind in ("pss", "rss"))
        ready, done = (sorted(getattr(one, kind) for one in self.students) for kind in ("ready", "finished"))
        return "\n".join(
            [
                f"{len(self.students)} students, {len(self.students[0].cells)} cells each, {os.cpu_count()} cores; load before {self.load[0]:.1f}, after {self.load[1]:.1f}",
                f"memory of a student's kernel: PSS median {statistics.median(pss):.0f} MiB, most {max(pss):.0f}; RSS median {statistics.median(rss):.0f} MiB",
                f"memory of the server: {self.server:.0f} MiB; all together {sum(pss) + self.server:.0f} MiB",
                f"a kernel that answers: median {statistics.median(ready):.1f} s, all {ready[-1]:.1f} s",
                f"a cell until its output is there: median {statistics.median(cells):.2f} s, p95 {cells[int(0.95 * (len(cells) - 1))]:.2f} s, most {cells[-1]:.2f} s",
                f"the whole lesson: first {done[0]:.1f} s, median {statistics.median(done):.1f} s, all {done[-1]:.1f} s",
                f"steppers in each lesson: {self.students[0].steppers}",
            ]
        )


def code_cells(lesson: Path) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(lesson.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


@contextmanager
def server(folder: Path, data: Path, limit: float) -> Iterator[tuple[str, str, int]]:
    """A Jupyter server of its own: address, token, process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token = secrets.token_hex(16)
    places = {f"JUPYTER_{kind}_DIR": str(folder / kind.lower()) for kind in ("CONFIG", "DATA", "RUNTIME")} | {"IPYTHONDIR": str(folder / "ipython")}
    if data.is_dir():
        shutil.copytree(data, folder / "data")  # a kernel starts in the served folder and reads what lies there
    # one thread a kernel, as a class on few cores should be set up
    threads = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL", "OMP")}
    command = [
        *(sys.executable, "-m", "jupyter_server", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}"),
        *("--ServerApp.port_retries=0", f"--ServerApp.root_dir={folder}", f"--IdentityProvider.token={token}"),
        # forty at once on two cores take longer than one
        f"--MappingKernelManager.kernel_info_timeout={limit}",
    ]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=os.environ | places | threads, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    base = f"http://127.0.0.1:{port}"
    try:
        end = time.monotonic() + 60
        while not answers(base, token):
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError((folder / "server.log").read_text()[-2000:])
            time.sleep(0.1)
        yield base, token, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def answers(base: str, token: str) -> bool:
    with suppress(OSError), urllib.request.urlopen(f"{base}/api/status?token={token}", timeout=5):
        return True
    return False


def attend(base: str, token: str, cells: Sequence[str], *, start: threading.Barrier, pause: float, seed: int, limit: float) -> Student:
    """One student's lesson."""
    seen, chance = Student(), random.Random(seed)
    start.wait()
    began = time.perf_counter()
    asked = urllib.request.Request(
        f"{base}/api/kernels", b'{"name": "python3"}', {"Authorization": f"token {token}", "Content-Type": "application/json"}, method="POST"
    )
    with urllib.request.urlopen(asked, timeout=limit) as answer:
        kernel = json.load(answer)["id"]
    session = uuid.uuid4().hex
    address = f"{base.replace('http', 'ws', 1)}/api/kernels/{kernel}/channels?session_id={session}"
    line = websocket.create_connection(address, timeout=limit, header=[f"Authorization: token {token}"])
    try:
        seen.process = int(run(line, session, "import os; print(os.getpid())")[0][0])
        seen.ready = time.perf_counter() - began
        for code in cells:
            if pause:
                time.sleep(chance.uniform(0, 2 * pause))
            sent = time.perf_counter()
            _, pages = run(line, session, code)
            seen.cells.append(time.perf_counter() - sent)
            for page in pages:
                if STEPPER in page:
                    seen.steppers, seen.last = seen.steppers + 1, page
        seen.finished = time.perf_counter() - began
    finally:
        line.close()
    return seen


def run(line: Any, session: str, code: str) -> tuple[list[str], list[str]]:
    """Send a cell and read until the kernel is idle: what it printed, and its HTML outputs. Raises what the cell raised."""
    name = uuid.uuid4().hex
    header = {"msg_id": name, "session": session, "username": "student", "date": "", "msg_type": "execute_request", "version": "5.3"}
    content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False, "stop_on_error": True}
    line.send(json.dumps({"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell", "buffers": []}))
    printed, pages = [], []
    while True:
        got = line.recv()
        if isinstance(got, bytes):
            continue  # buffers of the widget that joins steppers to the kernel
        message = json.loads(got)
        if message["parent_header"].get("msg_id") != name:
            continue
        kind, content = message["header"]["msg_type"], message["content"]
        if kind == "error":
            raise RuntimeError(f"{content['ename']}: {content['evalue']} in\n{code}")
        if kind == "stream":
            printed.append(content["text"])
        elif kind in ("execute_result", "display_data") and "text/html" in content["data"]:
            pages.append(content["data"]["text/html"])
        elif kind == "status" and content["execution_state"] == "idle":
            return printed, pages


def memory(process: int) -> tuple[float, float]:
    """PSS and RSS in MiB. Linux tells the first as it shares out pages that several processes hold."""
    rows = dict(row.split(":") for row in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:])
    pss, rss = (int(rows[name].split()[0]) / 1024 for name in ("Pss", "Rss"))
    return pss, rss


def hold_class(lesson: Path, students: int, *, pause: float = 0.0, limit: float = 900.0) -> Report:
    """Run a lesson for so many students at once. Raises what a cell raises, and a time-out of the websocket after ``limit`` seconds."""
    cells, before = code_cells(lesson), os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="classroom-") as place, server(Path(place), lesson.parent / "data", limit) as (base, token, process):
        start = threading.Barrier(students)
        with ThreadPoolExecutor(students) as room:
            futures = [room.submit(attend, base, token, cells, start=start, pause=pause, seed=seed, limit=limit) for seed in range(students)]
            seen = [future.result() for future in futures]
        for one in seen:
            one.pss, one.rss = memory(one.process)
        return Report(seen, memory(process)[0], (before, os.getloadavg()[0]))


def step_offline(page: str) -> str:
    """The state of a stepper after one step in a browser that reaches nothing."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        file = Path(place) / "output.html"
        file.write_text(f"<!doctype html><meta charset=utf-8>{page}", encoding="utf-8")
        path = os.environ.get("TENSORVIZ_CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        tab = browser.new_context(offline=True).new_page()
        tab.goto(file.as_uri())
        inner = tab.locator("iframe.tensorviz-frame").content_frame
        inner.get_by_role("button", name="Next step").click()
        said = inner.get_by_role("region", name="Backward pass debugger").get_by_role("status").inner_text()
        browser.close()
    return said


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python benchmarks/classroom.py", description="A class on one machine: memory a student, and the wait.")
    parser.add_argument("--students", type=int, default=40)
    parser.add_argument(
        "--pause", type=float, default=0.0, metavar="SECONDS", help="mean time to read before a cell is run (default 0: everybody at once)"
    )
    parser.add_argument("--lesson", type=Path, default=LESSON)
    parser.add_argument("--limit", type=float, default=900.0, metavar="SECONDS", help="how long a student waits for an answer before the run fails")
    options = parser.parse_args(arguments)
    report = hold_class(options.lesson, options.students, pause=options.pause, limit=options.limit)
    print(report)
    print(f"with the server stopped, a step of the last stepper says: {' '.join(step_offline(report.students[-1].last).split())}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
