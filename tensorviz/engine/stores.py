"""What code without a text, as that given to ``exec``, calls the value of an expression: the variable that the next instruction stores it in. Knows no op."""

from __future__ import annotations

import dis
from functools import lru_cache
from itertools import pairwise

from tensorviz.engine.texts import Identity


def stored(key: Identity, lasti: int, parts: frozenset[str]) -> str | None:
    """``h`` of ``h = f(x)``, ``W`` of ``self.W = f(x)`` and ``params["W"] = f(x)``, ``layer.W`` of ``layer.W = f(x)``; None where the value goes on into something else.

    ``parts``: attributes that are no names, but parts of a Tensor.
    """
    found = _stores(key).get(lasti)
    return None if found is None or found.rpartition(".")[2] in parts else found


@lru_cache(maxsize=512)
def _stores(key: Identity) -> dict[int, str]:
    """By every place at which a frame may stand while the value is made: in Python 3.11 before a call of what is in C, and behind one of a function in Python."""
    every = list(dis.get_instructions(key.code))
    begins = {call.offset: before.offset for before, call in pairwise(every) if before.opname == "PRECALL"}
    read = [i for i in every if i.opname not in _SILENT]
    found = {}
    for k, (made, after) in enumerate(pairwise(read)):
        if made.opname in _TAKEN_APART:
            continue
        several = after.opname == "COPY"  # targets, of which the first is the name
        name = _target(read[k + 1 + several : k + 4 + several])
        if name is not None:
            found.update(dict.fromkeys(range(begins.get(made.offset, made.offset), after.offset, 2), name))
    return found


def _target(follow: list[dis.Instruction]) -> str | None:
    if not follow:
        return None
    first, *rest = follow
    if first.opname.startswith(_VARIABLES):
        return first.argval[0] if isinstance(first.argval, tuple) else str(first.argval)
    if not rest or not first.opname.startswith(_LOADS) or not isinstance(first.argval, str):
        return None
    if rest[0].opname == "STORE_ATTR":
        return str(rest[0].argval) if first.argval == "self" else f"{first.argval}.{rest[0].argval}"
    if len(rest) > 1 and rest[0].opname == "LOAD_CONST" and isinstance(rest[0].argval, str) and rest[1].opname == "STORE_SUBSCR":
        return rest[0].argval
    return None


_VARIABLES = ("STORE_NAME", "STORE_GLOBAL", "STORE_FAST", "STORE_DEREF")
_LOADS = ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FAST", "LOAD_DEREF")
_TAKEN_APART = ("FOR_ITER", "UNPACK_SEQUENCE", "UNPACK_EX")
"""What hands out several values, of which no one is what the variable behind it means."""
_SILENT = ("CACHE", "EXTENDED_ARG", "NOP", "PRECALL")
