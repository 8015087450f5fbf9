"""The command line: run a script or notebook as it is, and show the backward pass that it made. Nobody imports this."""

from __future__ import annotations

import argparse
import sys
import traceback
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import NoReturn

from tensorviz import program
from tensorviz.errors import RecordError
from tensorviz.program import ProgramError, Recorder, run
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


def record_of(options: argparse.Namespace) -> Trace:
    """The wanted record of a program. A program that fails or leaves early is reported, and its passes up to there count."""
    path = Path(options.script)
    if not path.is_file():
        raise UsageError(f"{path} is a folder, no file" if path.is_dir() else f"there is no file {path}")
    recorder = Recorder(options.number)
    how = "ran"
    try:
        run(path, options.arguments, recorder)
    except SystemExit as leaving:
        if leaving.code not in (None, 0):
            how = f"left with exit status {leaving.code}"
    except ProgramError as problem:
        raise UsageError(str(problem)) from None
    except Exception as problem:
        if recorder.kept is None:
            raise
        print_problem()
        how = f"raised {type(problem).__name__}"
    if recorder.kept is None:
        made = f"made {recorder.count} record(s)" if recorder.count else "never called backward()"
        raise UsageError(f"{path} {how}, but {made}" + (f", so there is no number {options.number}" if recorder.count else ""))
    if how != "ran":
        wanted = "the last pass before that" if options.number is None else f"pass {options.number}"
        print(f"tensorviz: {path} {how}; this is {wanted}", file=sys.stderr)
    return recorder.kept


def print_problem() -> None:
    """The traceback of what the user's program raised. Its frames are of interest, ours and IPython's are not."""
    kind, error, trail = sys.exc_info()
    while trail is not None and trail.tb_next is not None and _is_ours(trail.tb_frame.f_code.co_filename):
        trail = trail.tb_next
    traceback.print_exception(kind, error, trail)


def _is_ours(file: str) -> bool:
    return file in (__file__, program.__file__) or "/IPython/" in file.replace("\\", "/")


def say(text: object) -> None:
    """Print, with an escape in place of what standard output cannot hold: on Windows a file or a pipe has an old code page, without ∂ or Σ."""
    encoding = sys.stdout.encoding or "utf-8"
    print(str(text).encode(encoding, "backslashreplace").decode(encoding))


def write(options: argparse.Namespace, suffix: str, text: str) -> None:
    if options.output == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode() + b"\n")  # pages and pictures are UTF-8, whatever the terminal is
        sys.stdout.buffer.flush()
        return
    path = Path(options.output or Path(options.script).with_suffix(suffix).name)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise UsageError(f"{path} cannot be written: {problem.strerror}") from None
    say(path)


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
    trace = record_of(options)
    report = trace.check()
    say(report)
    for found in trace.findings():
        if found.kind == "no-gradient":  # nothing to compare there, so the verdicts are silent about it
            say(f"\n{found}")
    return 0 if report.ok else 1


def look(trace: Trace, options: argparse.Namespace, title: str) -> int:
    """A page in the browser; its path where there is no browser; the steps as text if asked."""
    if options.text:
        say(trace.summary())
        return 0
    path = Path(options.output) if options.output else Path(mkdtemp(prefix="tensorviz-")) / f"{title}.html"
    trace.to_html(path)
    say(path)
    if not options.output:
        webbrowser.open(path.resolve().as_uri())
    return 0


def show(options: argparse.Namespace) -> int:
    from tensorviz.wire import load

    path = Path(options.trace)
    if not path.is_file():
        raise UsageError(f"{path} is a folder, no file" if path.is_dir() else f"there is no file {path}")
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


class Parser(argparse.ArgumentParser):
    """Says where a script's own options go."""

    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments"):
            message += " (options for the script itself go after --, as in: tensorviz svg train.py -- --lr 0.1)"
        super().error(message)


def site(options: argparse.Namespace) -> int:
    from tensorviz.errors import MissingExtraError, SiteError
    from tensorviz.site.build import build_site

    try:
        index = build_site(options.folder, options.output, lite=options.lite, pyodide=options.pyodide, progress=lambda line: print(line, flush=True))[
            0
        ]
    except (SiteError, MissingExtraError) as problem:
        raise UsageError(str(problem)) from None
    say(index)
    return 0


def parser() -> argparse.ArgumentParser:
    import tensorviz

    top = Parser(prog="tensorviz", description="Look at the backward pass that a script or notebook makes, without changing it.")
    top.add_argument("--version", action="version", version=f"tensorviz {tensorviz.__version__}")
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
    made = command("site", site, "run a folder of notebooks and write pages in which every stepper works without a kernel or a network")
    made.add_argument("folder", metavar="FOLDER", help="the notebooks; course.toml in it says their order")
    made.add_argument("-o", "--output", metavar="DIR", default="site", help="where to (default: site)")
    made.add_argument("--lite", action="store_true", help="with a JupyterLite in DIR/lite, where the lessons can be edited and run in the browser")
    made.add_argument(
        "--pyodide", metavar="PLACE", help="with --lite: a folder, archive or address of Pyodide's distribution, to serve it from DIR too"
    )
    return top


def check_output(output: str | None) -> None:
    """Refuse a place that cannot be written to before anything runs."""
    if output is None or output == "-":
        return
    path = Path(output)
    if path.is_dir():
        raise UsageError(f"--output {output}: that is a folder; name a file in it")
    if not path.resolve().parent.is_dir():
        raise UsageError(f"--output {output}: there is no folder {path.parent}")


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        if options.does is not site:
            check_output(getattr(options, "output", None))
        return int(options.does(options))
    except UsageError as problem:
        print(f"tensorviz: {problem}", file=sys.stderr)
        return 2
    except Exception:  # noqa: BLE001 - whatever the user's program raised
        print_problem()
        return 1
