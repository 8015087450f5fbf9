"""The text that a code object was compiled from, also where its file was changed and read again since, as by ``%autoreload`` or a second ``%run``. Knows no op."""

from __future__ import annotations

import ast
import linecache
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Any

from tensorviz.engine.late import STARTED


class Identity:
    """A code object compared by identity: comparing two by value walks all of their constants."""

    __slots__ = ("code",)

    def __init__(self, code: CodeType) -> None:
        self.code = code

    def __hash__(self) -> int:
        return id(self.code)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and other.code is self.code


@dataclass(frozen=True, slots=True)
class Text:
    """A text with the positions in it."""

    lines: Sequence[str]
    """Each with its newline; none where the text is not known."""
    code: CodeType
    """What the text compiles to: the same instructions, whose places are those in ``lines``."""

    @property
    def older(self) -> bool:
        """Whether the file holds another text by now, of which code has run."""
        return bool(self.lines) and _newest.get(self.code.co_filename, self.lines) is not self.lines


_newest: dict[str, Sequence[str]] = {}
"""By file: the text that was read last."""


def look_at(codes: Iterable[CodeType]) -> None:
    """Read the texts of all of these, before the first of them is asked whether it is the newest."""
    for code in {id(code): code for code in codes}.values():
        text_of(Identity(code))


@lru_cache(maxsize=512)
def text_of(key: Identity) -> Text:
    """The text of a code object."""
    code = key.code
    texts = list(_texts(code.co_filename))
    if len(texts) == 1 and not _doubtful(code.co_filename):
        return Text(texts[0], code)
    for lines in reversed(texts):
        twin = _twin(code, lines)
        if twin is not None:
            return Text(lines, twin)
    return next((Text(lines, code) for lines in reversed(texts) if _fits(code, lines)), Text((), code))


def _texts(name: str) -> Iterator[Sequence[str]]:
    """What a file held when it was read last, and what it holds now if that is another text."""
    lines: Sequence[str] = linecache.getlines(name)
    if not lines and not name.startswith("<"):  # in an archive, whose loader knows it
        spaces = [getattr(module, "__dict__", {}) for module in list(sys.modules.values())]
        lines = next((linecache.getlines(name, space) for space in spaces if space.get("__file__") == name), [])
    known = _newest.get(name)
    if known is not None and known != lines:  # somebody else has read it again
        yield known
    lines = _newest[name] = known if known == lines and known is not None else lines
    yield lines
    linecache.checkcache(name)
    now: Sequence[str] = linecache.getlines(name)
    if now and now != lines:
        _newest[name] = now
        yield now


def _doubtful(name: str) -> bool:
    """Whether a file may have held another text when code was compiled from it: it was written to since."""
    found = linecache.cache.get(name)
    if found is None or len(found) < 4 or found[1] is None:  # a cell of a notebook
        return False
    try:
        return Path(found[3]).stat().st_mtime >= STARTED
    except OSError:
        return False


def _twin(code: CodeType, lines: Sequence[str]) -> CodeType | None:
    """The code object of a text that does the same, wherever in the text it stands: the one in the same place if there are several."""
    text, place = "".join(lines), list(code.co_positions())

    def distance(other: CodeType) -> tuple[bool, bool, int]:
        return list(other.co_positions()) != place, other.co_qualname != code.co_qualname, abs(other.co_firstlineno - code.co_firstlineno)

    for known in (_compiled(code.co_filename, text), _all_of(_alone(code, text))):
        alike = [other for other in known.get((code.co_name, code.co_code), ()) if _same(code, other)]
        if alike:
            return min(alike, key=distance)
    return None


_Codes = dict[tuple[str, bytes], list[CodeType]]


@lru_cache(maxsize=16)
def _compiled(name: str, text: str) -> _Codes:
    """Every code object of a text."""
    return _all_of(_compile(name, text))


def _compile(name: str, text: str | ast.Module) -> list[CodeType]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [compile(text, name, "exec", dont_inherit=True)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _all_of(parts: list[CodeType]) -> _Codes:
    """Code objects with all that are in them, by what is quickly compared."""
    found: _Codes = {}
    for made in parts:  # grows
        found.setdefault((made.co_name, made.co_code), []).append(made)
        parts.extend(c for c in made.co_consts if isinstance(c, CodeType))
    return found


_CLASS = "__autoreload_class__"


def _alone(code: CodeType, text: str) -> list[CodeType]:
    """Code of the functions that may be meant, each compiled by itself as ``%autoreload`` does where one was edited: apart from the imports of their file they
    have other instructions.
    """
    try:
        rest: list[tuple[str, ast.AST, bool]] = [("", ast.parse(text), False)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    wanted, found = code.co_qualname.split("."), list[CodeType]()
    for before, node, in_class in rest:  # grows
        inside = before
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            inside = f"{before}{node.name}." if isinstance(node, ast.ClassDef) else f"{before}{node.name}.<locals>."
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in wanted:
            alone: ast.Module = ast.parse(f"class {_CLASS}: pass" if in_class else "")
            node.decorator_list = []
            around: Any = alone.body[0] if in_class else alone
            around.body = [node]
            for made in _all_of(_compile(code.co_filename, alone)).values():
                found += [c.replace(co_qualname=before + c.co_qualname.removeprefix(f"{_CLASS}.")) for c in made]
        rest.extend((inside, child, isinstance(node, ast.ClassDef)) for child in ast.iter_child_nodes(node))
    return found


_SAME = ("co_code", "co_name", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_flags", "co_argcount", "co_kwonlyargcount")


def _same(a: CodeType, b: CodeType) -> bool:
    """Whether two code objects do the same, wherever they stand."""
    return (
        all(getattr(a, name) == getattr(b, name) for name in _SAME)
        and len(a.co_consts) == len(b.co_consts)
        and all(
            _same(x, y) if isinstance(x, CodeType) and isinstance(y, CodeType) else type(x) is type(y) and (x == y or repr(x) == repr(y))
            for x, y in zip(a.co_consts, b.co_consts, strict=True)
        )
    )


def _fits(code: CodeType, lines: Sequence[str]) -> bool:
    """Whether code that a tool has rewritten, as pytest does with what is asserted, or that was compiled by itself can be that of a text: something
    begins in each of its places, and the lines hold its names.
    """
    table = list(code.co_positions())
    by = dedent(table, lines)
    placed = [(line, end, column + by) for line, end, column, end_column in table if line and end and column is not None and column != end_column]
    if not {(line, column) for line, _, column in placed} <= _beginnings("".join(lines)):
        return False
    first, last = min((line for line, _, _ in placed), default=1), max((end for _, end, _ in placed), default=0)
    words = set(re.findall(r"\w+", "".join(lines[first - 1 : last])))
    return all(name in words for name in code.co_names if name.isidentifier() and not name.startswith("_"))


@lru_cache(maxsize=16)
def _beginnings(text: str) -> frozenset[tuple[int, int]]:
    """Where in a text anything begins, as the compiler counts: of an attribute over several lines also its name."""
    found = {(1, 0)}
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.stmt | ast.excepthandler | ast.pattern | ast.keyword | ast.alias | ast.arg):
            found.add((node.lineno, node.col_offset))
        if isinstance(node, ast.Attribute):
            found.add(name_of(node))
    return frozenset(found)


def name_of(node: ast.Attribute) -> tuple[int, int]:
    """Where the name of an attribute begins: there the compiler places the call of a method whose name stands on a later line than what it is called on."""
    return node.end_lineno or node.lineno, (node.end_col_offset or 0) - len(node.attr)


Positions = list[tuple[int | None, int | None, int | None, int | None]]


def dedent(table: Positions, lines: Sequence[str]) -> int:
    """By how many columns a text stood further left when it was compiled than it does in its file, as marimo's cells do.

    The first statement tells: nothing of it can begin within its line's indentation.
    """
    placed = [(line, column) for line, _, column, end_column in table if line and column is not None and column != end_column]
    first = min((line for line, _ in placed), default=0)
    if not 0 < first <= len(lines):
        return 0
    text = lines[first - 1]
    return max(0, len(text) - len(text.lstrip()) - min(column for line, column in placed if line == first))
