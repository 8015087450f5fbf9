"""What the user calls the values of a graph: the variables of the frame that starts a pass, and the targets of assignments. Knows no op."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from types import FrameType
from typing import Any

import numpy as np

from tensorviz.engine.holders import IPYTHON, look, look_for, place_of
from tensorviz.engine.node import UNSETTLED, Node
from tensorviz.engine.places import lines_of, position_of
from tensorviz.engine.stores import stored
from tensorviz.engine.tensor import Tensor
from tensorviz.engine.texts import Identity, name_of

_OTHER: set[type] = set()
"""Types of variables that are neither Tensors nor arrays, as far as they were met: a pass looks at every variable of its caller, and has no time for more than a look into a set."""
_SNAPSHOTS = sys.version_info < (3, 13)
"""Before Python 3.13, ``f_locals`` of a function is a copy that the frame keeps."""
_FUNCTION = inspect.CO_OPTIMIZED


def names_in(frame: FrameType | None, leaves: Sequence[Node] | None = None) -> dict[int, str]:
    """The names that the user's frame has for Tensors and arrays: first the locals, then the globals. Keys are uids of Tensors and, negative, ids of arrays.

    Of ``leaves`` without a name the places in lists and dicts are noted; of all Tensors if it is not known which there are.
    """
    found: dict[int, str] = {}
    if frame is None:
        return found
    inner, outer = frame.f_locals, frame.f_globals
    try:
        _collect(found, inner)
        # most modules hold no Tensor at all
        if outer is not inner and not _OTHER.issuperset(map(type, outer.values())):
            _collect(found, outer)
        if leaves is None:
            look(inner, outer)
        else:
            look_for(leaves, found, inner, outer)
    except RuntimeError:  # another thread made a variable meanwhile
        found.clear()
        _collect(found, inner.copy())
        _collect(found, outer.copy())
    # The copy of a function's locals that reading them left in its frame would keep a graph alive whose names are gone. There are one reference each
    # from the frame, from here and from the call that counts; more: the user asked for locals() and holds it.
    if _SNAPSHOTS and frame.f_code.co_flags & _FUNCTION and sys.gettrace() is None and sys.getrefcount(inner) <= 3:
        inner.clear()
    return found


def _collect(found: dict[int, str], space: Mapping[str, Any]) -> None:
    other = _OTHER
    for name, value in space.items():
        kind = type(value)
        if kind in other:
            continue
        if kind is not Tensor and kind is not np.ndarray and not issubclass(kind, Tensor):
            if len(other) < 10_000:
                other.add(kind)
        elif name[:1] in "_@":  # private, or put there by a tool that rewrites code, as pytest does with what is asserted
            continue
        elif kind is np.ndarray:
            found.setdefault(-id(value), name)
        elif name not in IPYTHON:
            own = value.own  # as uid_of does, written out: every pass is here
            now = None if own is None else own.now
            found.setdefault(value.uid if now is None else now.uid if now is not UNSETTLED else value._uid, name)


def names_of(nodes: Sequence[Node], called: dict[int, str], number: int) -> dict[int, str]:
    """A name per position: ``name=``, else the caller's variable, else a parameter's place in its module, else the target of the assignment in the node's
    own line, else its place in a list or dict of the caller.
    """
    names: dict[int, str] = {}
    for i, node in enumerate(nodes):
        given = node.name_at(number)
        if given is not None:
            names[i] = given
        elif node.uid in called:
            names[i] = called[node.uid]
        elif node.rare is not None and node.rare.original is not None and -id(node.rare.original) in called:
            names[i] = called[-id(node.rare.original)]
        elif node.rare is not None and node.rare.path:
            names[i] = node.rare.path
        elif node.code is not None and (node.op is not None or node.needs_grad or node.tracked or node.params):
            target = _assigned(Identity(node.code), node.lasti)
            # several nodes made by one expression (a function of ours): the last of them is what the name means
            after = nodes[i + 1] if i + 1 < len(nodes) else None
            inner = (
                after is not None
                and after.code is node.code
                and after.lasti == node.lasti
                and (after.op is not node.op or _goes_on(node.scope, after.scope))
            )
            if target is not None and not inner:
                names[i] = target
    taken = set(names.values())
    for i, node in enumerate(nodes):
        if i not in names and node.op is None and (place := place_of(node.uid, taken)) is not None:
            names[i] = place
    return names


_PART = re.compile(r"(\d+)\.\w+")
"""A module that stands in a row of them, as ``nn.Sequential`` names its scope: ``0.Linear``."""


def _goes_on(scope: str, later: str) -> bool:
    """Whether ``later`` is a module further on in the same row: one call runs them all, so the name is that of the last.

    >>> _goes_on("net/0.Linear", "net/1.Linear"), _goes_on("net/1.Linear", "net/0.Linear"), _goes_on("layer0", "layer1")
    (True, False, False)
    """
    for a, b in zip(scope.split("/"), later.split("/"), strict=False):
        if a != b:
            first, second = _PART.fullmatch(a), _PART.fullmatch(b)
            return first is not None and second is not None and int(first[1]) < int(second[1])
    return False


@lru_cache(maxsize=64)
def _assignments(text: str) -> dict[tuple[int, int, int, int], str]:
    """For every assignment to a plain name in a source text: the position of its right side, and the name."""
    found: dict[tuple[int, int, int, int], str] = {}
    try:
        tree = ast.parse(_without_magics(text))
    except (SyntaxError, ValueError, RecursionError):
        return found
    for statement in ast.walk(tree):
        for target, value in _bindings(statement):
            name = _spelled(target)
            if name is not None:
                start = value.lineno, value.col_offset
                if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.end_lineno != value.func.lineno:
                    start = name_of(value.func)
                found.setdefault((start[0], value.end_lineno, start[1], value.end_col_offset), name)
    return found


_PARTS_OF_A_TENSOR = frozenset(["data", "grad"])


def _spelled(target: Any) -> str | None:
    """What an assignment's target calls its value: ``h``, of ``self.W1`` and ``params["W1"]`` what stands last, ``layer.W`` as it is; None for an element.

    >>> [_spelled(ast.parse(text).body[0].value) for text in ("h", "self.W1", "params['W1']", "layer.W", "x[0]", "w.data")]
    ['h', 'W1', 'W1', 'layer.W', None, None]
    """
    match target:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self"), attr=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if name not in _PARTS_OF_A_TENSOR:
            return f"{owner}.{name}"
    return None


def _bindings(statement: Any) -> Iterator[tuple[Any, Any]]:
    """Each target of an assignment with what is bound to it; ``p, q = x, y`` binds twice."""
    if isinstance(statement, ast.Assign):
        value = statement.value
        for target in statement.targets:
            if isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List) and len(target.elts) == len(value.elts):
                yield from zip(target.elts, value.elts, strict=True)
            elif isinstance(value, ast.Dict):
                yield from ((ast.Subscript(target, key), part) for key, part in zip(value.keys, value.values, strict=True) if key is not None)
            else:
                yield target, value
    elif isinstance(statement, ast.AnnAssign | ast.NamedExpr) and statement.value is not None:
        yield statement.target, statement.value
    elif isinstance(statement, ast.AugAssign):
        yield statement.target, statement


def _without_magics(text: str) -> str:
    """IPython's magic lines as comments of the same length, so that positions stay right."""
    return "\n".join("#" + line[1:] if line.lstrip()[:1] in ("%", "!") else line for line in text.split("\n"))


@lru_cache(maxsize=65536)
def _assigned(key: Identity, lasti: int) -> str | None:
    place = position_of(key.code, lasti)
    if place is None or place[2] < 0:
        return None
    text = "".join(lines_of(key.code))
    name = _assignments(text).get(place) if text else stored(key, lasti, _PARTS_OF_A_TENSOR)
    return None if name is None or name.startswith("_") else name
