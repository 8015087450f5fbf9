"""What is said where a Tensor is asked for something of a record that it does not have yet. Knows no op."""

from __future__ import annotations

import sys
from opcode import opname
from typing import Any

from tensorviz.engine.graph import OURS
from tensorviz.errors import GraphError

_METHODS_ARE_MARKED = sys.version_info >= (3, 12)
"""In a bit of the instruction that loads an attribute; before, another instruction loads a method."""


def refuse_use(t: Any, frame: Any) -> None:
    """Raise where the user's code goes on with the trace of ``t``, which is None: with None it would fail in words that tell nothing."""
    if OURS[frame.f_globals.get("__name__")] or frame.f_lasti < 0:
        return
    code = frame.f_code.co_code
    now, *then = [i for i in range(frame.f_lasti, min(frame.f_lasti + 64, len(code)), 2) if opname[code[i]] != "CACHE"][:3]
    called = opname[code[now]] == "LOAD_METHOD" or (_METHODS_ARE_MARKED and opname[code[now]] == "LOAD_ATTR" and bool(code[now + 1] & 1))
    following = [opname[code[i]] for i in then]
    looked = opname[code[now]] == "LOAD_ATTR" and (following[0] in ("LOAD_ATTR", "LOAD_METHOD") or following == ["LOAD_CONST", "BINARY_SUBSCR"])
    if called or looked:
        from tensorviz.trace import one_line

        known = [*frame.f_locals.items(), *frame.f_globals.items()]
        name = t.name or next((key for key, value in known if value is t and not key.startswith("_")), "")
        called_so = one_line(name) if name else t._what()
        raise GraphError(
            f"{called_so} has no trace yet: that is the record of a backward pass which starts there. Call {f'{called_so}.' if name else ''}backward() first, without record=False"
            f"{'; the sum of the diagonal is np.trace(x)' if called else ''}"
        )
