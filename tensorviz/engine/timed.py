"""The text of a notebook's cell that ``%%time`` runs, or of a line that ``%time`` does: IPython compiles it under a name that all such cells share, and keeps it nowhere. Knows no op."""

from __future__ import annotations

import ast
import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

_NAMES = ("<timed exec>", "<timed eval>")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell as the user sees it, the line of the magic included."""

    title: str
    lines: tuple[str, ...]
    """Each with its newline, as ``linecache`` gives them."""
    before: int
    """Lines before the first that is compiled: the magic's, and empty ones after it, which IPython takes away."""
    left: int = 0
    """Bytes before what is compiled of a line: the magic's name."""


def session() -> Any:
    """The running IPython shell; None outside of one. IPython is not loaded to find out."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()


def cell_of(code: CodeType) -> Cell | None:
    """The cell under ``%%time``, or with a line under ``%time``, that a code object was compiled from; None where it was not, or where none of the session gives
    the same code.
    """
    if code.co_filename not in _NAMES:
        return None
    shell = session()
    if shell is None:
        return None
    entered = getattr(shell.history_manager, "input_hist_parsed", ())
    for number in range(len(entered) - 1, -1, -1):
        for at, statement in _timed_lines(entered[number]):
            lines = entered[number].splitlines(keepends=True)  # with the magic as a call, as in the text of the rest of the cell
            before, found, _ = lines[at].partition(statement)
            if found and any(_same(code, made) for made in _compiled(shell.transform_cell(statement), shell)):
                return Cell(f"cell [{number}]", tuple(lines), at, len(before.encode()))
        for line, body in _timed(entered[number]):
            try:
                text = shell.transform_cell(body)
            except SyntaxError:  # a cell that did not run
                continue
            if any(_same(code, made) for made in _compiled(text, shell)):
                head = [f"%%time {line}".rstrip() + "\n", *itertools.takewhile(str.isspace, body.splitlines(keepends=True))]
                return Cell(f"cell [{number}]", (*head, *text.splitlines(keepends=True)), len(head))
    return None


def _timed(cell: str) -> Iterator[tuple[str, str]]:
    """The line and the body of the ``%%time`` in a cell that IPython has made Python of."""
    for _, given in _magics(cell, "run_cell_magic"):
        if len(given) == 2:
            yield given[0], given[1]


def _timed_lines(cell: str) -> Iterator[tuple[int, str]]:
    """What stands behind each ``%time`` in it, and on which of its lines."""
    for line, given in _magics(cell, "run_line_magic"):
        if len(given) == 1:
            yield line - 1, given[0]


def _magics(cell: str, kind: str) -> Iterator[tuple[int, list[str]]]:
    """The line of each call of the magic ``time``, and what it is given."""
    if f"{kind}('time'" not in cell:
        return
    try:
        tree = ast.parse(cell)
    except (SyntaxError, ValueError, RecursionError):
        return
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == kind:
            given = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            if given[:1] == ["time"]:
                yield call.lineno, given[1:]


def _compiled(text: str, shell: Any) -> Iterator[CodeType]:
    """What ``%%time`` makes of a text, with every function in it: the statements, and by itself an expression that comes last."""
    try:
        body = ast.parse(text).body
        last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
        parts: list[CodeType] = []
        if body:
            parts.append(shell.compile(ast.Module(body, []), _NAMES[0], "exec"))
        if isinstance(last, ast.Expr):
            parts.append(shell.compile(ast.Expression(last.value), _NAMES[1], "eval"))
    except (SyntaxError, ValueError, RecursionError):
        return
    while parts:
        made = parts.pop()
        yield made
        parts.extend(c for c in made.co_consts if isinstance(c, CodeType))


def _same(a: CodeType, b: CodeType) -> bool:
    """Whether two code objects are one text's: until Python 3.12, their own comparison leaves the columns out."""
    return a == b and list(a.co_positions()) == list(b.co_positions())
