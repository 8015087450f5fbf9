"""From an instruction of the user's code to its line and expression; looked up when somebody asks, not during the pass. Knows no op."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from types import CodeType

from tensorviz.engine.node import Node
from tensorviz.engine.texts import Identity, Positions, dedent, text_of
from tensorviz.engine.timed import Cell, cell_of, session
from tensorviz.trace import Source, TraceNode


def position_of(code: CodeType, lasti: int) -> tuple[int, int, int, int] | None:
    """Line, end line, column and end column (in bytes) of the instruction at ``lasti``."""
    table = _table(Identity(code))
    if not 0 <= lasti // 2 < len(table):
        return None
    line, end, column, end_column = table[lasti // 2]
    if line is None:
        return None
    return line, end or line, -1 if column is None else column, -1 if end_column is None else end_column


@lru_cache(maxsize=512)
def _cell(key: Identity) -> Cell | None:
    return cell_of(key.code)


def lines_of(code: CodeType) -> Sequence[str]:
    """The lines of the text that a code object was compiled from; none where it is not known."""
    cell = _cell(Identity(code))
    return text_of(Identity(code)).lines if cell is None else cell.lines


@lru_cache(maxsize=512)
def _table(key: Identity) -> Positions:
    cell = _cell(key)
    if cell is not None:
        down, left = cell.before, cell.left
        return [
            (line and line + down, end and end + down, None if first is None else first + left, None if last is None else last + left)
            for line, end, first, last in key.code.co_positions()
        ]
    text = text_of(key)
    table = list(text.code.co_positions())
    by = dedent(table, text.lines)
    if not by:
        return table
    return [
        (line, end, None if column is None else column + by, None if end_column is None else end_column + by)
        for line, end, column, end_column in table
    ]


def source_of(node: Node) -> Source | None:
    """Where a node was made."""
    return locate(node.code, node.lasti)


def locate(code: CodeType | None, lasti: int) -> Source | None:
    """The source line and expression of an instruction."""
    if code is None:
        return None
    key = Identity(code)
    return _locate(key, lasti, text_of(key).older)


@lru_cache(maxsize=65536)
def _locate(key: Identity, lasti: int, older: bool) -> Source | None:
    code = key.code
    place = position_of(code, lasti)
    if place is None:
        return None
    line, end, column, end_column = place
    lines, cell = lines_of(code), _cell(key)
    picked = [text.rstrip("\n") for text in lines[line - 1 : end]]
    if picked and column >= 0:
        column, end_column = _characters(picked[0], column), _characters(picked[-1], end_column)
    return Source(
        file=file_title(code.co_filename) + OLDER * older if cell is None else cell.title,
        line=line,
        function=text_of(key).code.co_qualname,
        code="\n".join(picked),
        end_line=end,
        column=column,
        end_column=end_column,
    )


def _characters(text: str, offset: int) -> int:
    """A column counted in UTF-8 bytes as one counted in characters."""
    return offset if text.isascii() else len(text.encode()[:offset].decode(errors="ignore"))


OLDER = " (older version)"
"""Behind a file's name, where the line is that of a text that was replaced since: parameters of a model may have been made by code that was edited later."""


def file_title(filename: str) -> str:
    """The file as the user knows it: a notebook's cell by its number."""
    shell = session()
    if shell is not None:
        known = getattr(shell.compile, "format_code_name", lambda _: None)(filename)
        if known:
            return f"cell [{known[1].removeprefix('In[').removesuffix(']')}]"
    return filename


_LONGEST = 100_000
"""Characters of one source text that a record keeps; a longer file is left out (its nodes still carry their own lines)."""


def texts_of(nodes: Sequence[Node], built: Sequence[TraceNode]) -> dict[str, str]:
    """The whole text of every file or cell that made a node, by the file's title."""
    texts: dict[str, str] = {}
    for node, made in zip(nodes, built, strict=True):
        if node.code is not None and made.source is not None and made.source.file not in texts:
            text = "".join(lines_of(node.code))
            if 0 < len(text) <= _LONGEST:
                texts[made.source.file] = text
    return texts
