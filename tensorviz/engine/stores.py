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
        name = _target(read[k + 1 + several : k + 4 + several]) or _together(read[k + 1 : k + _FAR], begins)
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


def _together(follow: list[dis.Instruction], begins: dict[int, int]) -> str | None:
    """``p`` of ``p, q = f(x), g(x)``: the value waits on the stack until all are made, and none of them uses it."""
    above, built = 0, 0  # values above it on the stack; in the list or tuple that is taken apart at once
    for i in follow:
        number = i.arg or 0
        if i.opname.startswith(_VARIABLES):
            *names, last = i.argval if isinstance(i.argval, tuple) else (i.argval,)
            loads = i.opname == "STORE_FAST_LOAD_FAST"
            names += [] if loads else [last]
            if above < len(names):
                return str(names[above])
            above += loads - len(names)
        elif i.opname == "SWAP":
            above = {0: number - 1, number - 1: 0}.get(above, above)
        elif i.opname in ("BUILD_TUPLE", "BUILD_LIST") and above < number:
            built = number
            continue
        elif built:
            if i.opname != "UNPACK_SEQUENCE":
                return None
            above = built - 1 - above
        elif i.opcode in _JUMPS or (above == 0 and not i.opname.startswith((*_LOADS, "LOAD_CONST", "PUSH_NULL"))):
            return None
        else:
            above += dis.stack_effect(i.opcode, i.arg, jump=False) - (number if i.offset in begins else 0)  # what PRECALL takes
            if above < 1:
                return None
        built = 0
    return None


_FAR = 100
"""Instructions that are looked at for one value: long lists of data must not take quadratic time."""
_JUMPS = frozenset([*dis.hasjrel, *dis.hasjabs])
_VARIABLES = ("STORE_NAME", "STORE_GLOBAL", "STORE_FAST", "STORE_DEREF")
_LOADS = ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FAST", "LOAD_DEREF")
_TAKEN_APART = ("FOR_ITER", "UNPACK_SEQUENCE", "UNPACK_EX")
"""What hands out several values, of which no one is what the variable behind it means."""
_SILENT = ("CACHE", "EXTENDED_ARG", "NOP", "PRECALL")
