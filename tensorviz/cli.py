"""The command line: run a script or notebook as it is, and show the backward pass that it made. Nobody imports this."""

from __future__ import annotations

import argparse
import json
import linecache
import sys
import traceback
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from types import ModuleType
from typing import Any

from tensorviz.errors import RecordError
from tensorviz.trace import Trace

DEMO = """\
import numpy as np
import tensorviz as tv

X = tv.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
b = tv.tensor([0.1, 0.2, 0.3], requires_grad=True)
L = np.sum((X + b) ** 2)
L.backward()
"""


class UsageError(Exception):
    """Something to tell the user in one line; the exit status is 2."""


class Recorder:
    """Keeps one record of all that a program makes: the last, or the one with the wanted number."""

    def __init__(self, wanted: int | None = None) -> None:
        self.wanted = wanted
        self.count = 0
        self.kept: Trace | None = None

    def see(self, trace: Trace | None) -> None:
        if trace is None:
            return
        self.count += 1
        if self.wanted is None or self.count == self.wanted:
            # Built now: a script may change its arrays before anybody looks.
            trace.nodes  # noqa: B018
            self.kept = trace

    @contextmanager
    def listening(self) -> Iterator[None]:
        """While this is open, every recorded pass is seen: the program itself is not changed."""
        import tensorviz
        from tensorviz import show
        from tensorviz.engine import backward as module
        from tensorviz.engine import tensor as tensors

        run = module.backward

        def backward(*args: Any, **options: Any) -> Trace | None:
            trace = run(*args, **options)
            self.see(trace)
            return trace

        places: list[tuple[ModuleType, str]] = [(module, "backward"), (tensorviz, "backward"), (show, "backward"), (tensors, "run_backward")]
        for place, name in places:
            vars(place)[name] = backward
        try:
            yield
        finally:
            for place, name in places:
                vars(place)[name] = run


def code_of(path: Path) -> Iterator[tuple[str, str]]:
    """The pieces of a program as (file name, source): a script has one, a notebook one for each code cell."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        yield str(path), text
        return
    try:
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError) as problem:
        raise UsageError(f"{path} is no notebook: {problem}") from None
    for number, cell in enumerate(cells, 1):
        source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
        # Lines for the notebook itself (magics and shell commands) mean nothing to plain Python.
        yield f"{path.name} cell {number}", "\n".join("" if line.lstrip().startswith(("%", "!")) else line for line in source.split("\n"))


def run(path: Path, arguments: Sequence[str], recorder: Recorder) -> None:
    """Run a program as ``python SCRIPT`` would."""
    main = ModuleType("__main__")
    main.__file__ = str(path)
    before = sys.argv, sys.path[:], sys.modules["__main__"]
    sys.argv, sys.modules["__main__"] = [str(path), *arguments], main
    sys.path.insert(0, str(path.resolve().parent))
    try:
        with recorder.listening():
            for name, source in code_of(path):
                linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
                exec(compile(source, name, "exec"), vars(main))  # noqa: S102 - running the user's program is what was asked for
    except SystemExit as leaving:
        if leaving.code not in (None, 0):
            raise
    finally:
        sys.argv, sys.path[:], sys.modules["__main__"] = before


def record_of(options: argparse.Namespace) -> Trace:
    path = Path(options.script)
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    recorder = Recorder(options.number)
    run(path, options.arguments, recorder)
    if recorder.kept is None:
        made = f"made {recorder.count} record(s)" if recorder.count else "never called backward()"
        raise UsageError(f"{path} ran, but {made}" + (f", so there is no number {options.number}" if recorder.count else ""))
    return recorder.kept


def write(options: argparse.Namespace, suffix: str, text: str) -> None:
    if options.output == "-":
        print(text)
        return
    path = Path(options.output or Path(options.script).with_suffix(suffix).name)
    path.write_text(text, encoding="utf-8")
    print(path)


def record_at(options: argparse.Namespace) -> Trace:
    """The record, once ``--step`` is known to be one of its steps."""
    trace = record_of(options)
    if options.step is not None and not 0 <= options.step < len(trace):
        raise UsageError(f"--step {options.step}: the record has {len(trace)} steps, 0 to {len(trace) - 1}")
    return trace


def svg(options: argparse.Namespace) -> int:
    write(options, ".svg", record_at(options).to_svg(step=options.step))
    return 0


def html(options: argparse.Namespace) -> int:
    write(options, ".html", record_at(options).to_html(step=options.step))
    return 0


def check(options: argparse.Namespace) -> int:
    report = record_of(options).check()
    print(report)
    return 0 if report.ok else 1


def look(trace: Trace, options: argparse.Namespace, title: str) -> int:
    """A page in the browser; its path where there is no browser; the steps as text if asked."""
    if options.text:
        print(trace.summary())
        return 0
    path = Path(options.output) if options.output else Path(mkdtemp(prefix="tensorviz-")) / f"{title}.html"
    trace.to_html(path)
    print(path)
    if not options.output:
        webbrowser.open(path.resolve().as_uri())
    return 0


def show(options: argparse.Namespace) -> int:
    from tensorviz.wire import load

    path = Path(options.trace)
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    try:
        trace = load(path)
    except RecordError as problem:
        raise UsageError(str(problem)) from None
    return look(trace, options, path.stem)


def demo(options: argparse.Namespace) -> int:
    folder = Path(mkdtemp(prefix="tensorviz-"))
    script = folder / "demo.py"
    script.write_text(DEMO, encoding="utf-8")
    recorder = Recorder()
    run(script, [], recorder)
    assert recorder.kept is not None
    return look(recorder.kept, options, "demo")


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="tensorviz", description="Look at the backward pass that a script or notebook makes, without changing it.")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, does: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text)
        made.set_defaults(does=does)
        return made

    for name, does, text in (
        ("svg", svg, "draw the pass"),
        ("html", html, "write one page that steps through the pass, with no kernel and no network"),
        ("check", check, "compare every gradient with finite differences; the exit status is 1 if one is wrong"),
    ):
        made = command(name, does, text)
        made.add_argument("script", metavar="SCRIPT", help="a .py file or an .ipynb notebook")
        made.add_argument("arguments", nargs="*", metavar="ARG", help="arguments for the script, after --")
        made.add_argument("--number", type=int, metavar="N", help="the N-th call of backward, from 1 (default: the last)")
        if does is not check:
            made.add_argument("-o", "--output", metavar="FILE", help="where to (- for standard output; default: the script's name)")
            made.add_argument("--step", type=int, metavar="K", help="the state after step K (default: the last)")
    shown = command("show", show, "open a saved trace")
    shown.add_argument("trace", metavar="TRACE", help="a file that trace.save() wrote")
    for made in (shown, command("demo", demo, "open an example")):
        made.add_argument("-o", "--output", metavar="FILE", help="write the page here and open nothing")
        made.add_argument("--text", action="store_true", help="print the steps instead")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        return int(options.does(options))
    except UsageError as problem:
        print(f"tensorviz: {problem}", file=sys.stderr)
        return 2
    except Exception:  # noqa: BLE001 - whatever the user's program raised
        # Its frames are of interest, ours are not.
        kind, error, trail = sys.exc_info()
        while trail is not None and trail.tb_frame.f_code.co_filename == __file__:
            trail = trail.tb_next
        traceback.print_exception(kind, error, trail)
        return 1
