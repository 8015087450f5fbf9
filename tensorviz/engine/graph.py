"""Leaves and constants of the recorded graph, and which code is the user's. Knows no op."""

from __future__ import annotations

import sys
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import numpy as np

from tensorviz.arguments import shown
from tensorviz.engine.mode import Place, current
from tensorviz.engine.node import NO_PARAMS, Node, Rare, fixed, is_tensor, new_uid, node
from tensorviz.engine.threads import Local
from tensorviz.errors import DTypeError


class Thread:
    """What is kept for each thread. A pass asks for all of it at once, since a look at what is kept apart per thread costs as much as ten at a slot."""

    __slots__ = ("arrays", "aside", "exits", "histories", "rule", "watchers")

    def __init__(self) -> None:
        self.aside: dict[Any, Any] | None = None
        """Who has the gradients of which Tensors while a check calls functions of the user's; see :mod:`tensorviz.engine.aside`."""
        self.watchers: tuple[Any, ...] = ()
        """Who looks at every rule of a live backward pass of this thread; see :func:`tensorviz.engine.sweep.sweep`."""
        self.histories: tuple[Any, ...] = ()
        """Who takes note of every backward pass of this thread that comes to its end."""
        self.rule: tuple[Node, Callable[[Any], bool]] | None = None
        """Whose rule, a user's own, runs on Tensors now, for a higher derivative; and whether that depends on a Tensor."""
        self.arrays: deque[tuple[int, Callable[[], Node | None]]] = deque(maxlen=4096)
        """The latest constants made from arrays of the user's, oldest first: by uid, without keeping them."""
        self.exits: deque[Any] = deque(maxlen=512)
        """The latest numbers that left the graph, oldest first: only those, no nodes, so that nothing keeps a graph alive. See :mod:`tensorviz.engine.exits`."""


class _Local(Local):
    def __init__(self) -> None:
        self.thread = Thread()


local = _Local()


class Again:
    """Stands for a large share that was not kept: its rule, a function of values that never change, gives it again when the record is looked at."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value
        """Its sum over the axes that the operand grew, if it grew any."""


HUGE = 4096
"""Elements beyond which a record does not keep a share but makes it again when it is looked at: 32 kB in float64. A few dozen that are kept
push what a pass works on out of the processor's own cache (1 MB), and writing to new memory then takes longer than the arithmetic."""


class _Ours(dict[Any, bool]):
    """Whether a module of that name is ours or NumPy's, not the user's; asked once a name."""

    def __missing__(self, name: Any) -> bool:
        found = type(name) is str and name.partition(".")[0] in ("tensorviz", "numpy")
        if len(self) < 10_000:
            self[name] = found
        return found


OURS = _Ours()


def is_internal(frame: FrameType) -> bool:
    """Whether a frame is ours or NumPy's, not the user's."""
    return OURS[frame.f_globals.get("__name__")]


def user_frame(depth: int) -> FrameType | None:
    """The nearest frame of the user's code, ``depth`` frames up or further."""
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None and OURS[frame.f_globals.get("__name__")]:
        frame = frame.f_back
    return frame


def leaf(value: Any, *, requires_grad: bool = False, uid: int | None = None, depth: int = 2) -> Node:
    """A node without inputs, made at the user's current line."""
    frame = user_frame(depth)
    code, lasti = (frame.f_code, frame.f_lasti) if frame is not None else (None, -1)
    return node(None, (), NO_PARAMS, value, requires_grad, uid=new_uid() if uid is None else uid, place=Place(code, current().scope), lasti=lasti)


def frozen(array: np.ndarray[Any, Any]) -> Any:
    """The array as a record may hold it: read-only; a 0-d array becomes its scalar (arithmetic on those is much faster)."""
    if array.ndim == 0:
        return array[()]
    array.flags.writeable = False
    return array


_WEAK = (bool, int, float)
NUMPY_1 = np.__version__.startswith("1.")


def _weak_in_numpy_1(value: Any, dtype: np.dtype[Any]) -> Any:
    """A Python number beside an array of a floating dtype, which NumPy 1 would widen for one beyond its end, and for a long whole number; otherwise a number is weak there, too."""
    if type(value) is int and abs(value) > 255 and dtype.itemsize < 8:
        value = float(value)
    return dtype.type(value) if type(value) is float and np.isfinite(value) and abs(value) > np.finfo(dtype).max else value


def constant(value: Any, like: Any = None) -> Node:
    """A node for an operand that is no Tensor. What the user can still write to is copied; Python scalars stay weak."""
    kind = type(value)
    if kind in _WEAK:
        return fixed(_weak_in_numpy_1(value, like.dtype) if NUMPY_1 and like is not None and like.dtype.kind == "f" else value)
    if isinstance(value, np.generic):
        check_dtype(value.dtype)
        return fixed(value)
    array = numbers(value)
    if array.dtype.kind not in "fiub":
        check_dtype(array.dtype, like=value)
    made = fixed(frozen(array))
    if isinstance(value, np.ndarray):
        made.rare = rare = Rare()
        rare.original = value
        local.thread.arrays.append((made.uid, weakref.ref(made)))
    return made


_APART = 16
"""How much older than the op that uses it a constant may be, in uids: they are made just before."""


def written_to(ops: Sequence[Node]) -> frozenset[int]:
    """The uids of the constants of a graph (``ops``: newest first) whose arrays the user has written to since. Looks at those made by this thread."""
    found = []
    arrays = local.thread.arrays
    if ops and arrays:
        oldest = ops[-1].uid - len(ops[-1].inputs) - _APART
        for uid, ref in reversed(arrays):
            if uid < oldest:
                break
            node = ref()
            if node is not None and not same_bits(node.rare.original, node.value):  # type: ignore[union-attr]
                found.append(uid)
    return frozenset(found)


def same_bits(live: np.ndarray[Any, Any], value: Any) -> bool:
    """Whether an array still holds these numbers, NaN and signed zeros included."""
    if live.shape != value.shape or (live.dtype is not value.dtype and live.dtype != value.dtype):
        return False
    if live.size <= 16384 or live.dtype.itemsize not in (1, 2, 4, 8):
        return bool(live.tobytes() == value.tobytes())
    bits = f"u{live.dtype.itemsize}"
    return bool(np.array_equal(live.view(bits), np.ascontiguousarray(value).view(bits)))


def numbers(value: Any, where: str = "an operand") -> np.ndarray[Any, Any]:
    """A copy of what the user gave, as an array; refused is what NumPy cannot make one of (ragged lists), and what would lose its meaning or its graph on the way."""
    if type(value) is np.ndarray:
        return value.copy("K")
    if isinstance(value, (np.ma.MaskedArray, np.matrix)):
        if isinstance(value, np.matrix):
            raise DTypeError(f"{where} is a np.matrix, in which * means the matrix product; give np.asarray(...) of it, and write @ for that product")
        raise DTypeError(f"{where} is a masked array, whose mask has no place in a graph; use np.where(mask, other, x), or value.filled(0)")
    if isinstance(value, (list, tuple)) and holds_tensor(value):
        raise DTypeError(f"{where} is a list with Tensors inside, which NumPy would take out of the graph; put them together with tv.stack")
    try:
        return np.array(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise DTypeError(f"{where} is no rectangular array of numbers, got {shown(value)} ({error})") from error


def holds_tensor(value: Any) -> bool:
    """Whether a nested list has a Tensor inside, which NumPy would turn into numbers without asking it."""
    return any(holds_tensor(part) if isinstance(part, (list, tuple)) else is_tensor(part) for part in value)


_NOTHING = object()


def check_dtype(dtype: np.dtype[Any], where: str = "", like: Any = _NOTHING) -> None:
    """Tensors hold floats, integers and booleans; anything else is refused by name. ``like``: what the user gave."""
    if dtype.kind == "c":
        raise DTypeError(
            f"{where}{': ' if where else ''}complex numbers have no gradient here (dtype {dtype}); take the real and imaginary parts as two Tensors"
        )
    if dtype.kind not in "fiub":
        got = f"dtype {dtype}" if like is _NOTHING or isinstance(like, np.ndarray) else f"{shown(like)} (dtype {dtype})"
        raise DTypeError(
            f"{where or 'a Tensor'} holds floats, integers or booleans, got {got}; check that the nested lists are rectangular and hold numbers only"
        )


def weak(obj: Any) -> Callable[[], Any]:
    return weakref.ref(obj)
