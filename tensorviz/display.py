"""What a Trace shows as the last value of a cell. Imports views; the stepper is loaded only where it can be shown."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any, Literal

from tensorviz.arguments import one_of
from tensorviz.errors import MissingExtraError
from tensorviz.trace import Trace

Mode = Literal["stepper", "svg", "text", "none"]
MODES: tuple[Mode, ...] = ("stepper", "svg", "text", "none")
_mode: Mode = "stepper"


def set_display(mode: Mode) -> None:
    """Choose what a Trace shows: the stepper (default), the still picture, its steps as text, or its one-line ``repr`` alone.

    Where there is no notebook kernel, or the widget packages are missing, the stepper gives way to the still picture.
    """
    global _mode
    one_of("set_display", "mode", mode, MODES)
    _mode = mode


def display_mode() -> Mode:
    """The mode that is set."""
    return _mode


def bundle(trace: Trace) -> dict[str, Any]:
    """The MIME bundle of ``trace``; ``text/plain`` is always in it."""
    if _mode == "none":
        return {"text/plain": repr(trace)}
    if _mode == "text" or not trace.nodes:
        return {"text/plain": trace.summary()}
    if _mode == "stepper" and trace.steps and in_kernel():
        try:
            from tensorviz.widgets import output
        except ImportError:
            return _still(trace)
        shown: dict[str, Any] = output.bundle(trace)
        return {"text/plain": repr(trace), **shown}
    return _still(trace)


def displayed(trace: Trace) -> Any:
    """What stands for ``trace`` where a front end asks for an object instead of a MIME bundle, as marimo does."""
    if _mode == "none":
        return repr(trace)
    if _mode == "text" or not trace.nodes:
        return trace.summary()
    if _mode == "stepper" and trace.steps:
        with suppress(MissingExtraError):
            return trace.show()
    from tensorviz.widgets.drawing import Drawing

    return Drawing(trace)


def _still(trace: Trace) -> dict[str, Any]:
    from tensorviz.widgets.drawing import Drawing

    return Drawing(trace).bundle(repr(trace))


def in_kernel() -> bool:
    """Whether this process is a notebook's kernel: IPython is loaded and its shell belongs to one."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None
