"""Lessons run in this process, cell by cell, with answers put into their exercises. Knows nothing of pytest."""

from __future__ import annotations

import ast
import json
import linecache
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "notebooks"
LINES = "    pass  # your lines"
"""What stands in an exercise where a function or a class is to be written."""

Answer = str | Sequence[tuple[str, str]]
"""Lines in the place of ``LINES``, or what to replace by what."""


@dataclass(frozen=True)
class Cell:
    id: str
    source: str


def code_cells(name: str) -> list[Cell]:
    book = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    return [Cell(c["id"], "".join(c["source"])) for c in book["cells"] if c["cell_type"] == "code"]


def exercises(name: str) -> list[str]:
    return [c.id for c in code_cells(name) if c.id.startswith("exercise")]


def answered(source: str, answer: Answer) -> str:
    """The cell as a student leaves it."""
    if isinstance(answer, str):
        start = next(line for line in source.splitlines() if line.startswith(LINES))
        body = "\n".join(f"    {line}".rstrip() for line in answer.strip("\n").splitlines())
        return source.replace(start, body)
    for old, new in answer:
        assert old in source, f"{old!r} is not in the exercise"
        source = source.replace(old, new)
    return source


def run(source: str, names: dict[str, Any], where: str) -> Any:
    """The value of the last expression of a cell, as a notebook would show it."""
    file = f"<{where}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    tree = ast.parse(source, file)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, file, "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), file, "eval"), names)


@dataclass(frozen=True)
class Attempt:
    exercise: str
    answer: str
    """``as it stands``, ``right`` or the wrong answer's number."""
    accepted: bool


def attempts(name: str, answers: dict[str, tuple[Answer, list[Answer]]]) -> Iterator[Attempt]:
    """Run a lesson; at each exercise try what stands there, every wrong answer, then a right one, and go on with that."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in code_cells(name):
        if cell.id not in answers:
            run(cell.source, names, f"{name}:{cell.id}")
            continue
        right, wrong = answers[cell.id]
        yield Attempt(cell.id, "as it stands", bool(run(cell.source, dict(names), f"{name}:{cell.id}")))
        for k, answer in enumerate(wrong):
            where = f"{name}:{cell.id}:wrong {k}"
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a wrong answer may overflow
                yield Attempt(cell.id, f"wrong {k}", bool(run(answered(cell.source, answer), dict(names), where)))
        yield Attempt(cell.id, "right", bool(run(answered(cell.source, right), names, f"{name}:{cell.id}:right")))
