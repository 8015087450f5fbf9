"""A user's script or notebook, run as it is while its backward passes are recorded. For the command line only."""

from __future__ import annotations

import json
import linecache
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

from tensorviz.trace import Trace


class ProgramError(Exception):
    """Why a program cannot be run, in one line."""


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
        """While this is open, every pass is recorded and seen, also one with ``record=False``, which still returns None: the program itself is not changed."""
        import tensorviz
        from tensorviz import looking
        from tensorviz.engine import backward as module
        from tensorviz.engine import tensor as tensors

        run = module.backward

        def backward(*args: Any, record: bool = True, **options: Any) -> Trace | None:
            trace = run(*args, record=True, **options)
            self.see(trace)
            return trace if record else None

        places: list[tuple[ModuleType, str]] = [(module, "backward"), (tensorviz, "backward"), (looking, "backward"), (tensors, "run_backward")]
        for place, name in places:
            vars(place)[name] = backward
        try:
            yield
        finally:
            for place, name in places:
                vars(place)[name] = run


def run(path: Path, arguments: Sequence[str], recorder: Recorder) -> None:
    """Run a program as ``python SCRIPT`` or as "run all cells" would, until it ends or raises.

    What it raises (``SystemExit`` too) comes out; the passes up to there have been seen.
    """
    main = ModuleType("__main__")
    main.__file__ = str(path)
    before = sys.argv, sys.path[:], sys.modules["__main__"]
    sys.argv, sys.modules["__main__"] = [str(path), *arguments], main
    sys.path.insert(0, str(path.resolve().parent))
    try:
        with recorder.listening():
            (_run_notebook if path.suffix == ".ipynb" else _run_script)(path, main)
    finally:
        sys.argv, sys.path[:], sys.modules["__main__"] = before


def _run_script(path: Path, main: ModuleType) -> None:
    name = str(path)
    # Bytes, so that Python itself minds a byte-order mark and a coding line.
    code = compile(path.read_bytes(), name, "exec")
    linecache.getlines(name)  # read now: the script may change the working directory
    exec(code, vars(main))  # noqa: S102 - running the user's program is what was asked for


def _run_notebook(path: Path, main: ModuleType) -> None:
    """Every code cell in IPython, so that magics, shell commands, ``await`` and ``_`` mean what they mean in a notebook."""
    try:
        cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
        sources = [cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"]) for cell in cells]
    except (ValueError, KeyError, TypeError) as problem:
        what = f"it has no {problem}" if isinstance(problem, KeyError) else problem
        raise ProgramError(f"{path} is no notebook: {what}") from None
    with _notebook_shell(main) as run_cell:
        for source in sources:
            run_cell(source)


@contextmanager
def _notebook_shell(main: ModuleType) -> Iterator[Callable[[str], None]]:
    """An IPython of its own, which writes nothing outside a temporary folder and displays nothing."""
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    class Silent(DisplayHook):
        def write_output_prompt(self) -> None: ...
        def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None: ...

    class Nowhere(DisplayPublisher):
        def publish(self, *args: Any, **options: Any) -> None: ...

    class Shell(InteractiveShell):
        displayhook_class = Silent
        display_pub_class = Nowhere

        def enable_gui(self, gui: str | None = None) -> None: ...
        def showtraceback(self, *args: Any, **options: Any) -> None: ...
        def showsyntaxerror(self, *args: Any, **options: Any) -> None: ...

    def run_cell(source: str) -> None:
        shell.run_cell(source, store_history=True).raise_error()

    with TemporaryDirectory(prefix="tensorviz-", ignore_cleanup_errors=True) as folder:
        options = Config({"HistoryManager": {"enabled": False}, "HistoryAccessor": {"enabled": False}})
        shell: Any = Shell.instance(user_module=main, user_ns=vars(main), ipython_dir=folder, config=options)
        try:
            yield run_cell
        finally:
            shell.restore_sys_module_state()
            Shell.clear_instance()
