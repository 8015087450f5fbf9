"""What is known of arrays outside the graph: which ones a user's op reads, which lines write to one. Imports the registry of ops only."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from types import CodeType

import numpy as np

from tensorviz.engine.op import REGISTRY


def outside(name: str) -> list[str]:
    """Names of the arrays that a user's op reads besides its operands: closed over, or global."""
    op = REGISTRY.get(name)
    found: dict[str, None] = {}
    run = getattr(op, "run", None)
    given = [cell.cell_contents for cell in getattr(run, "__closure__", None) or ()]
    for function in (getattr(op, "user_vjp", None), *given):
        code = getattr(function, "__code__", None)
        if not isinstance(code, CodeType):
            continue
        scope = getattr(function, "__globals__", {})
        cells = {}
        for free, cell in zip(code.co_freevars, getattr(function, "__closure__", None) or (), strict=False):
            try:
                cells[free] = cell.cell_contents
            except ValueError:
                continue  # not assigned yet
        for known, names in ((cells, code.co_freevars), (scope, code.co_names)):
            found.update({n: None for n in names if isinstance(known.get(n), (np.ndarray, dict, list))})
    return list(found)


_WRITERS = frozenset({"fill", "sort", "partition", "put", "itemset", "resize", "setfield", "byteswap", "copyto", "place", "putmask", "shuffle"})


def writers(text: str, name: str, after: int) -> list[tuple[int, str]]:
    """The lines of a program that write into the array of this name, as far as its text shows: those after a line first, else all."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    lines = text.split("\n")
    found = sorted({line for node in ast.walk(tree) for line in _writes(node, name)})
    later = [line for line in found if line >= after]
    return [(line, _short(lines[line - 1].strip())) for line in (later or found) if line <= len(lines)]


def _short(code: str) -> str:
    return code if len(code) <= 80 else code[:79] + "…"


def _writes(node: ast.AST, name: str) -> Iterator[int]:
    def based(target: ast.AST, subscripted: bool) -> bool:
        while isinstance(target, (ast.Subscript, ast.Attribute, ast.Starred)):
            subscripted = True
            target = target.value
        return subscripted and isinstance(target, ast.Name) and target.id == name

    if (isinstance(node, ast.Assign) and any(based(t, False) for target in node.targets for t in _flat(target))) or (
        isinstance(node, ast.AugAssign) and based(node.target, True)
    ):
        yield node.lineno
    elif isinstance(node, ast.Call):
        f = node.func
        called = f.attr if isinstance(f, ast.Attribute) else f.id if isinstance(f, ast.Name) else ""
        own = isinstance(f, ast.Attribute) and based(f.value, True)
        first = bool(node.args) and based(node.args[0], True)
        if (called in _WRITERS and (own or first)) or any(k.arg == "out" and based(k.value, True) for k in node.keywords):
            yield node.lineno


def _flat(target: ast.expr) -> Iterable[ast.expr]:
    return [t for part in target.elts for t in _flat(part)] if isinstance(target, (ast.Tuple, ast.List)) else [target]
