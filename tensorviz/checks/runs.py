"""Two recorded runs side by side: the first place where they part, forward and backward. Imports the record only."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tensorviz.arguments import number, shown
from tensorviz.checks.subject import title
from tensorviz.errors import RecordError
from tensorviz.trace import Array, Source, Step, Trace, TraceNode

if TYPE_CHECKING:
    from tensorviz.widgets.pair import Pair

PartingKind = Literal["structure", "value", "order", "seed", "share", "sum", "gradient"]

_LONGEST = 2_000
"""Nodes that are aligned by searching; what lies between the equal beginnings and ends of longer runs stays unpaired."""


@dataclass(frozen=True, slots=True)
class Parting:
    """One way in which two runs differ, at the first place where they do."""

    kind: PartingKind
    """``structure``: one has a node that the other has not. ``value``: forward. ``seed``, ``share``: backward. ``order``: shares arrive in another
    order. ``sum``: the same share arrives, and another running sum comes of it. ``gradient``: what ``.grad`` holds at the end, where that is not the
    shares' doing."""
    nodes: tuple[int | None, int | None]
    """Ids in the two traces; None where one has no such node."""
    steps: tuple[int | None, int | None]
    """Backward: step numbers in the two traces."""
    why: str
    source: Source | None

    def __str__(self) -> str:
        return self.why + (f"\n  at {self.source}" if self.source else "")


class RunComparison:
    """What :func:`compare` found: the partings in the order in which they happened. True where there is none."""

    def __init__(
        self, traces: tuple[Trace, Trace], partings: tuple[Parting, ...], pairs: tuple[tuple[int, int], ...], origins: tuple[int, ...], size: str
    ) -> None:
        self.traces = traces
        self.partings = partings
        self.pairs = pairs
        """Ids of the nodes that were paired."""
        self.origins = origins
        """Ids in the first trace of the nodes whose values differ though their operands' do not: where differences come in."""
        self._size = size

    @property
    def ok(self) -> bool:
        """The runs are the same."""
        return not self.partings

    @property
    def first(self) -> Parting | None:
        """Where the runs part first; None if they are the same."""
        return self.partings[0] if self.partings else None

    def show(self, **options: Any) -> Pair:
        """Two linked steppers that open where the runs part first; options as of :meth:`Trace.beside`."""
        a, b = self.traces
        return a.beside(b, **{"nodes": self.pairs, "step": self._opening(), **options})

    def to_html(self, path: str | PathLike[str] | None = None, **options: Any) -> str:
        """The same as one page that needs no kernel and no network; also written to ``path`` if given."""
        return self.show(**options).to_html(path)

    def _opening(self) -> int:
        """The step of the first run at which the runs part; of a parting forward, where the rule of that node runs."""
        for parting in self.partings:
            node, step = parting.nodes[0], parting.steps[0]
            if step is not None:
                return step
            for k, s in enumerate(self.traces[0].data.steps):
                if node is not None and s.node == node and s.kind == "pull":
                    return k
        return 0

    def __bool__(self) -> bool:
        return self.ok

    def __iter__(self) -> Iterator[Parting]:
        return iter(self.partings)

    def __len__(self) -> int:
        return len(self.partings)

    @property
    def headline(self) -> str:
        """The outcome in one sentence."""
        if self.first is None:
            return f"The runs are the same: {self._size}."
        where = [
            f"node {n} of {run}" if (k := self.first.steps[i]) is None else f"step {k} of {run}"
            for i, run in enumerate("ab")
            if (n := self.first.nodes[i]) is not None
        ]
        phase = "forward" if self.first.kind in ("structure", "value") else "backward"
        return f"The runs part {phase}, at {' and '.join(where)} ({self.first.kind})."

    def __str__(self) -> str:
        return "\n".join([self.headline, *(f"{p.kind}: {p}" for p in self.partings)])

    def __repr__(self) -> str:
        return f"<RunComparison {self.headline}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><td style="text-align:left;vertical-align:top;padding:2px 10px 2px 0;font-weight:600">{p.kind}</td>'
            f'<td style="text-align:left;padding:2px 0">{html.escape(p.why)}{f"<br><code>{html.escape(str(p.source))}</code>" if p.source else ""}</td></tr>'
            for p in self.partings
        )
        return f'<div><strong>{html.escape(self.headline)}</strong><table style="border-collapse:collapse"><tbody>{rows}</tbody></table></div>'

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text("RunComparison(...)" if cycle else str(self))


def compare(a: Trace, b: Trace, *, rtol: float = 0.0, atol: float = 0.0) -> RunComparison:
    """Line two runs up, and say where they part: forward by value, backward by the order, or the numbers, of their shares.

    Nodes are paired in forward order, by op and name; what only one run has stays unpaired. Numbers are the same where
    ``|x - y| <= atol + rtol max(|x|, |y|)`` (by default to the bit), and NaN is the same as NaN.

    >>> import numpy as np, tensorviz as tv
    >>> def run(scale):
    ...     x = tv.tensor([1.0, 2.0], requires_grad=True)
    ...     h = np.tanh(x * scale)
    ...     return h.sum().backward()
    >>> print(compare(run(1.0), run(1.0)))
    The runs are the same: 5 nodes, 8 steps.
    >>> compare(run(1.0), run(1.5)).first.why
    'constant at node 1: 1 against 1.5'
    """
    for trace in (a, b):
        if not isinstance(trace, Trace):
            raise RecordError(f"compare takes two Traces, got {shown(trace)}; for gradients of your own there is trace.compare({{name: array}})")
    return _Runs(a, b, number("compare", "rtol", rtol, least=0), number("compare", "atol", atol, least=0)).compared()


class _Runs:
    """Two traces, paired."""

    def __init__(self, a: Trace, b: Trace, rtol: float, atol: float) -> None:
        self.a, self.b, self.rtol, self.atol = a, b, rtol, atol
        self.to_b = dict(_paired(a.nodes, b.nodes))
        self.to_a = {j: i for i, j in self.to_b.items()}

    def compared(self) -> RunComparison:
        origins = self._origins()
        found = [*self._structure(), *self._value(origins), *self._backward()]
        size = f"{len(self.a.nodes)} nodes, {len(self.a.data.steps)} steps"
        return RunComparison((self.a, self.b), tuple(found), tuple(self.to_b.items()), tuple(origins), size)

    def gap(self, x: Array | None, y: Array | None) -> str:
        """How two arrays differ, in words; empty where they are the same."""
        if x is None or y is None:
            return "" if x is y else f"{'nothing' if x is None else 'an array'} against {'nothing' if y is None else 'an array'}"
        if x.shape != y.shape:
            return f"shape {x.shape} against {y.shape}"
        if x.dtype != y.dtype:
            return f"{x.dtype} against {y.dtype}"
        if x is y or not x.size:
            return ""
        if x.dtype.kind != "f":
            off = x != y
        else:
            with np.errstate(invalid="ignore"):
                far = np.abs(x - y) > self.atol + self.rtol * np.maximum(np.abs(x), np.abs(y))
                off = ((far | ~np.isfinite(x - y)) & (x != y)) & ~(np.isnan(x) & np.isnan(y))
        count = int(np.count_nonzero(off))
        if not count:
            return ""
        with np.errstate(invalid="ignore"):
            distance = np.where(off, np.nan_to_num(np.abs(x.astype(float) - y.astype(float)), nan=np.inf), -1.0)
        at = tuple(int(i) for i in np.unravel_index(int(np.argmax(distance)), x.shape))
        numbers = f"{_number(x[at])} against {_number(y[at])}"
        return numbers if x.size == 1 else f"{count:,} of {x.size:,} numbers, the most at {list(at)}: {numbers}"

    def _structure(self) -> Iterator[Parting]:
        only_a = [n for n in self.a.nodes if n.id not in self.to_b]
        only_b = [n for n in self.b.nodes if n.id not in self.to_a]
        if not (only_a or only_b):
            return
        first_a, first_b = (next((n for n in only if n.kind == "op"), only[0]) if only else None for only in (only_a, only_b))
        parts = [
            f"only {run} has {_called(first)}" + (f" and {len(only) - 1} more" if len(only) > 1 else "")
            for run, first, only in (("a", first_a, only_a), ("b", first_b, only_b))
            if first is not None
        ]
        source = (first_a or first_b).source  # type: ignore[union-attr]
        nodes = None if first_a is None else first_a.id, None if first_b is None else first_b.id
        yield Parting("structure", nodes, (None, None), "; ".join(parts), source)

    def _origins(self) -> list[int]:
        """The nodes whose values differ though their operands' do not."""
        off: set[int] = set()
        origins = []
        for n in self.a.nodes:
            j = self.to_b.get(n.id)
            if j is not None and self.gap(n.value, self.b.nodes[j].value):
                off.add(n.id)
                if off.isdisjoint(n.inputs):
                    origins.append(n.id)
        return origins

    def _value(self, origins: list[int]) -> Iterator[Parting]:
        if not origins:
            return
        n = self.a.nodes[origins[0]]
        m = self.b.nodes[self.to_b[n.id]]
        what = f"constant at node {n.id}" if _bare(n) else f"value of {_called(n)}"
        why = f"{what}: {self.gap(n.value, m.value)}"
        if n.inputs:
            why += ", though its operands are the same" if all(i in self.to_b for i in n.inputs) else ""
            params = sorted({*n.params, *m.params})
            other = [f"{p}={n.params.get(p)!r} against {m.params.get(p)!r}" for p in params if str(n.params.get(p)) != str(m.params.get(p))]
            why += f" ({', '.join(other)})" if other else ""
        if len(origins) > 1:
            why += f"; {len(origins) - 1} more come{'s' if len(origins) == 2 else ''} in later: {', '.join(_called(self.a.nodes[i]) for i in origins[1:5])}"
        yield Parting("value", (n.id, m.id), (None, None), why, n.source)

    def _backward(self) -> Iterator[Parting]:
        mine, theirs = self.a.data.steps, self.b.data.steps
        keys_a = [self._key(s, None) for s in mine]
        keys_b = [self._key(s, self.to_a) for s in theirs]
        known = set(keys_b)
        place = {key: k for k, key in enumerate(keys_b)}
        shared_a = [(k, key) for k, key in enumerate(keys_a) if key in known]
        both = {key for _, key in shared_a}
        shared_b = [(k, key) for k, key in enumerate(keys_b) if key in both]
        found: list[tuple[int, Parting]] = []
        for (k, key), (j, other) in zip(shared_a, shared_b, strict=False):
            if key != other:
                why = f"a goes on with {self._said(self.a, mine[k])}, b with {self._said(self.b, theirs[j])}"
                found.append((k, Parting("order", (mine[k].node, theirs[j].node), (k, j), why, self.a.nodes[mine[k].node].source)))
                break
        alone = [k for k, key in enumerate(keys_a) if key not in known and self._pairable(mine[k], self.to_b)]
        extra = [k for k, key in enumerate(keys_b) if key not in both and self._pairable(theirs[k], self.to_a)]
        for run, trace, steps, lone, i in (("a", self.a, mine, alone, 0), ("b", self.b, theirs, extra, 1)):
            if lone:
                step = steps[lone[0]]
                at = (lone[0], None) if i == 0 else (None, lone[0])
                nodes = (step.node, None) if i == 0 else (None, step.node)
                found.append((lone[0], Parting("order", nodes, at, f"only {run} has {self._said(trace, step)}", trace.nodes[step.node].source)))
        for k, key in shared_a:
            parting = self._numbers(k, place[key])
            if parting is not None:
                found.append((k, parting))
                break
        yield from (p for _, p in sorted(found, key=lambda f: f[0]))

    def _numbers(self, k: int, j: int) -> Parting | None:
        x, y = self.a.data.steps[k], self.b.data.steps[j]
        n, m = self.a.nodes[x.node], self.b.nodes[y.node]
        if x.kind == "seed":
            gap = self.gap(x.after, y.after)
            return Parting("seed", (n.id, m.id), (k, j), f"seed of {_called(n)}: {gap}", n.source) if gap else None
        if x.share is not None and y.share is not None:
            gap = self.gap(x.share.local, y.share.local) or self.gap(x.share.value, y.share.value)
            if not gap:
                return self._sum(k, j)
            c, d = self.a.nodes[x.share.consumer], self.b.nodes[y.share.consumer]
            saved = [self._saved(c, name) for name in c.saved if name in d.saved and self.gap(c.saved[name], d.saved[name])]
            given = self.gap(c.cotangent, d.cotangent)
            because = (
                f": it saved another {' and '.join(saved)}"
                if saved
                else ": the gradient that it received differs"
                if given
                else ", from the same gradient and the same saved values: the rule differs"
            )
            return Parting("share", (n.id, m.id), (k, j), f"share that {_called(c)} sends to {_called(n)}: {gap}{because}", c.source)
        if x.kind == "leaf":
            gap = self.gap(x.after, y.after)
            if gap:
                held = self.gap(x.before, y.before)
                because = f", because .grad held something else before the pass: {held}" if held else ""
                return Parting("gradient", (n.id, m.id), (k, j), f".grad of {_called(n)}: {gap}{because}", n.source)
        return None

    def _sum(self, k: int, j: int) -> Parting | None:
        """The running sums after one and the same share."""
        x, y = self.a.data.steps[k], self.b.data.steps[j]
        gap = self.gap(x.after, y.after)
        if not gap:
            return None
        n = self.a.nodes[x.node]
        held = self.gap(x.before, y.before)
        because = f", because it held something else before: {held}" if held else ": it is added in another way"
        return Parting("sum", (n.id, y.node), (k, j), f"running sum of {_called(n)} after the same share: {gap}{because}", n.source)

    def _saved(self, node: TraceNode, name: str) -> str:
        """A saved value by the rule's name for it, and by the user's where it is an operand that has one."""
        slot = node.saved_from.get(name, -1)
        if slot < 0 and name == "out":
            return "result (out)"
        theirs = self.a.nodes[node.inputs[slot]].name if slot >= 0 else None
        return f"{name} ({theirs})" if theirs and theirs != name else name

    def _key(self, step: Step, to_a: dict[int, int] | None) -> tuple[Any, ...]:
        """What a step is about, in ids of the first run; unpaired nodes of the second are told apart by a minus sign."""

        def own(i: int) -> int:
            return i if to_a is None else to_a.get(i, -1 - i)

        share = step.share
        return step.kind, own(step.node), -1 if share is None else own(share.consumer), -1 if share is None else share.slot

    def _pairable(self, step: Step, to_other: dict[int, int]) -> bool:
        return step.node in to_other and (step.share is None or step.share.consumer in to_other)

    def _said(self, trace: Trace, step: Step) -> str:
        node = trace.nodes[step.node]
        if step.share is not None:
            return f"the share from {_called(trace.nodes[step.share.consumer])} to {_called(node)}"
        return {"pull": "the rule of ", "seed": "the seed of ", "leaf": "writing .grad of "}[step.kind] + _called(node)


def _bare(node: TraceNode) -> bool:
    """Whether a node is a number of the program, which is called by what it is worth."""
    return node.kind == "constant" and not node.name and node.value.size == 1


def _called(node: TraceNode) -> str:
    return f"{'the constant ' if _bare(node) else ''}{title(node)}, node {node.id}"


def _number(value: Any) -> str:
    if value.dtype.kind != "f":
        return str(value)
    return format(float(value), ".6g")


def _paired(a: tuple[TraceNode, ...], b: tuple[TraceNode, ...]) -> Iterator[tuple[int, int]]:
    """Pairs of ids, rising in both: nodes of one op (and name, where both have one)."""
    x, y = [_label(n) for n in a], [_label(n) for n in b]
    if x == y:
        yield from ((i, i) for i in range(len(a)))
        return
    start = 0
    while start < min(len(x), len(y)) and x[start] == y[start]:
        start += 1
    end = 0
    while end < min(len(x), len(y)) - start and x[-1 - end] == y[-1 - end]:
        end += 1
    yield from ((i, i) for i in range(start))
    inner_x, inner_y = x[start : len(x) - end], y[start : len(y) - end]
    if max(len(inner_x), len(inner_y)) <= _LONGEST:
        for match in SequenceMatcher(None, inner_x, inner_y, autojunk=False).get_matching_blocks():
            yield from ((start + match.a + k, start + match.b + k) for k in range(match.size))
    yield from ((len(a) - k, len(b) - k) for k in range(end, 0, -1))


def _label(n: TraceNode) -> tuple[str, str]:
    return n.op, (n.name or "") if n.kind != "op" else ""
