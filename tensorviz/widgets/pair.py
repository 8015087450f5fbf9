"""Two passes side by side, stepped together. Must not import engine or ops."""

from __future__ import annotations

import base64
import os
import secrets
from collections.abc import Iterable, Sequence
from operator import index
from typing import Any

from tensorviz.arguments import shown
from tensorviz.errors import OptionError, OptionTypeError, RecordError
from tensorviz.trace import Step, Trace
from tensorviz.views.exported import Page, exported
from tensorviz.views.text import xml
from tensorviz.widgets import state
from tensorviz.widgets.output import document, framed, static_list
from tensorviz.widgets.payload import payload, title


class Pair:
    """Two linked steppers: a step in one takes the other to its counterpart.

    The last value of a cell shows itself; ``to_html`` makes a page of its own. Neither needs a kernel.
    """

    def __init__(self, a: Trace, b: Trace, steps: Sequence[tuple[int, int]], names: tuple[str, str], step: int, theme: str) -> None:
        self.a, self.b = a, b
        self.steps = tuple(steps)
        """Positions in ``a.steps`` and ``b.steps`` that belong together, ascending."""
        self.names = names
        self._start = state.settings("pair", a, {"step": step, "theme": theme})
        self._beside = state.settings("pair", b, {"step": counterpart(self.steps, step), "theme": theme})

    def _page(self, frame: str, fallback: str = "") -> str:
        beside = {
            "state": self._beside,
            "data": base64.b64encode(payload(self.b)).decode("ascii"),
            "names": list(self.names),
            "steps": [list(pair) for pair in self.steps],
        }
        heading = f"{self.names[0]}: {title(self.a)} — {self.names[1]}: {title(self.b)}"
        return document(payload(self.a), {"id": frame, "state": self._start, "beside": beside}, heading=heading, fallback=fallback)

    def _list(self) -> str:
        return "".join(f"<h3>{xml(name)}</h3>{static_list(trace)}" for name, trace in zip(self.names, (self.a, self.b), strict=True))

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """One HTML file in which both step together, with no kernel and no network; also written to ``path`` if given."""
        page = self._page("page", f"<noscript>{self._list()}</noscript>")
        return exported("to_html", path, Page(page))

    def show(self) -> Pair:
        """Itself, for a last line of a cell that reads well."""
        return self

    def __repr__(self) -> str:
        return (
            f"<Pair of passes: {self.names[0]}, {len(self.a.steps)} steps; {self.names[1]}, {len(self.b.steps)} steps; {len(self.steps)} in common>"
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        frame = secrets.token_hex(8)
        return {
            "text/plain": repr(self),
            "text/html": framed(self._page(frame), frame, heading="Two passes, step by step", fallback=self._list(), rows="pair"),
        }


def pair(
    a: Trace,
    b: Trace,
    *,
    nodes: Iterable[tuple[int, int]] | None = None,
    steps: Sequence[tuple[int, int]] | None = None,
    names: tuple[str, str] = ("a", "b"),
    step: int = 0,
    theme: str = "auto",
) -> Pair:
    """Show two passes (or two views of one) so that they step together.

    Parameters
    ----------
    a, b
        The traces; the same one twice gives two linked views.
    nodes
        Which node of ``a`` is which of ``b``, as ``RunComparison.pairs`` has it. None: those of the same id.
    steps
        Which step of ``a`` belongs to which of ``b``, ascending in both; None: :func:`aligned` of ``nodes``. Between two of them, the other side stays
        at the last one.
    names
        What stands above each.
    step
        Where ``a`` opens, a position in ``a.steps``; ``b`` opens at its counterpart.
    theme
        ``"auto"``, ``"light"``, ``"dark"`` or ``"cs231n"``, for both.

    Raises
    ------
    RecordError
        If ``a`` or ``b`` is no Trace.
    OptionTypeError
        If ``names`` are not two strings, or ``nodes`` or ``steps`` no pairs of whole numbers.
    OptionError
        If ``steps`` are not ascending positions of both, or ``step`` or ``theme`` does not exist.

    Examples
    --------
    >>> import tensorviz as tv
    >>> x = tv.tensor(2.0, requires_grad=True)
    >>> one, two = (x * x).backward(), (x * x + x).backward()
    >>> pair(one, two, names=("right", "wrong"))
    <Pair of passes: right, 5 steps; wrong, 8 steps; 4 in common>

    """
    for which, trace in (("a", a), ("b", b)):
        if not isinstance(trace, Trace):
            raise RecordError(f"pair takes two Traces (what backward() returns); {which} is a {type(trace).__name__}")
    above: Any = names
    if not (isinstance(above, (tuple, list)) and len(above) == 2 and all(isinstance(name, str) for name in above)):
        raise OptionTypeError(f"pair: names must be two strings, such as ('right', 'wrong'), got {shown(names)}")
    same = zip(range(len(a.nodes)), range(len(b.nodes)), strict=False)
    found = aligned(a, b, same if nodes is None else _pairs("nodes", nodes)) if steps is None else _pairs("steps", steps)
    before = (-1, -1)
    for i, j in found:
        if not (before[0] <= i < len(a.steps) and before[1] <= j < len(b.steps)):
            raise OptionError(
                f"pair: steps must be ascending pairs of positions, below {len(a.steps)} in a and below {len(b.steps)} in b; got ({i}, {j}) after {before}"
            )
        before = (i, j)
    return Pair(a, b, found, names, step, theme)


def _pairs(name: str, value: Any) -> list[tuple[int, int]]:
    try:
        return [(index(i), index(j)) for i, j in value]
    except (TypeError, ValueError):
        raise OptionTypeError(f"pair: {name} must be a list of pairs of positions, such as [(0, 0), (1, 2)], got {shown(value)}") from None


def aligned(a: Trace, b: Trace, nodes: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Pairs of steps that do the same to nodes that belong together: kind, node, and for a share who sends it from which slot.

    Both rise: a step of ``b`` that comes earlier than its predecessor's counterpart is passed over.
    """
    to_b = dict(nodes)

    def name(step: Step, to: dict[int, int] | None) -> tuple[Any, ...]:
        def node(i: int) -> int:
            return i if to is None else to.get(i, -1)

        sender = (node(step.share.consumer), step.share.slot) if step.share is not None else ()
        return step.kind, node(step.node), *sender

    where: dict[tuple[Any, ...], int] = {}
    for k, s in enumerate(b.data.steps):
        where.setdefault(name(s, None), k)
    found, last = [], -1
    for k, s in enumerate(a.data.steps):
        other = where.get(name(s, to_b), -1)
        if other > last:
            found.append((k, other))
            last = other
    return found


def counterpart(steps: Sequence[tuple[int, int]], k: int) -> int:
    """Where the other pass stands when this one is at step ``k``: at the pair before.

    >>> counterpart([(0, 0), (2, 5), (4, 6)], 3)
    5
    """
    return next((j for i, j in reversed(steps) if i <= k), 0)
