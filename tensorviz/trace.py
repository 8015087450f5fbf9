"""The record of one backward pass: frozen, self-explaining data. Imports nothing of the engine, the ops or the views at load."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from tensorviz.errors import IndexingError, NodeLookupError, OptionTypeError, RecordError, no_attribute

if TYPE_CHECKING:
    from tensorviz.checks.alongside import Alongside, Update
    from tensorviz.checks.report import CheckReport
    from tensorviz.checks.table import ComparisonTable
    from tensorviz.findings import Finding
    from tensorviz.teaching.quiz import Quiz
    from tensorviz.teaching.zoo import BuggyTrace
    from tensorviz.views.captions import Captions
    from tensorviz.views.nodes import NodeTable
    from tensorviz.widgets.pair import Pair
    from tensorviz.widgets.stepper import Stepper

Array = npt.NDArray[Any]
T = TypeVar("T")
StepKind = Literal["seed", "pull", "unbroadcast", "accumulate", "leaf"]
NodeKind = Literal["leaf", "parameter", "constant", "detached", "op"]

SCHEMA_VERSION = 2


_building = threading.RLock()
"""Held while a trace is built at its first look; two threads may look at once."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where in the user's code a node was made: the file, the function, and the exact expression."""

    file: str
    line: int
    function: str
    code: str
    """The text of the line(s), without the newline at the end."""
    end_line: int = 0
    column: int = -1
    """Offset of the expression's first character in its first line; -1 where it is not known. Where the text is not, it still tells two places apart."""
    end_column: int = -1

    @property
    def expression(self) -> str:
        """The part of ``code`` that made the node; the whole line where the columns are not known."""
        if self.column < 0:
            return self.code.strip()
        lines = self.code.split("\n")
        if len(lines) == 1:
            return lines[0][self.column : self.end_column]
        return "\n".join([lines[0][self.column :], *lines[1:-1], lines[-1][: self.end_column]])

    def __str__(self) -> str:
        code = self.code.strip()
        return f"{one_line(self.file, _LINE)}:{self.line}, in {one_line(self.function)}" + (f": {one_line(code, _LINE)}" if code else "")


@dataclass(frozen=True, slots=True)
class Share:
    """One contribution to one node's gradient, sent by one use of that node."""

    consumer: int
    """Id of the node that sends it."""
    slot: int
    """Argument position in the consumer."""
    target: int
    """Id of the node that receives it."""
    local: Array
    """The pullback before unbroadcast, in the shape of the consumer's result grown from the operand."""
    summed_axes: tuple[int, ...]
    """The axes of ``local`` that were summed, because the operand was broadcast along them."""
    value: Array
    """The share as it arrives: ``local`` summed over ``summed_axes`` and reshaped to the target's shape."""
    total: Array
    """The target's running sum after this share."""
    route: Array | None = None
    """For ops that select: a weight in [0, 1] per element of the operand (a tie of k has 1/k each)."""
    by_hand: bool = False
    """Set in a rerun: ``value`` is what was given in place of what the rule sent, which ``local`` and ``summed_axes`` still tell."""

    @property
    def edge(self) -> str:
        """``"consumer:slot"``, the name of the edge in pictures."""
        return f"{self.consumer}:{self.slot}"

    @property
    def tied(self) -> Array:
        """Which elements of the target share a place with others: True where the route has less than 1. Of an operand that was broadcast that is no tie
        but the part of an element's copies that was chosen.
        """
        if self.route is None or self.summed_axes:
            return np.zeros(self.value.shape, dtype=bool)
        return (self.route > 0) & (self.route < 1)


@dataclass(frozen=True, slots=True)
class TraceNode:
    """One value of the forward pass: a leaf, a constant, or the result of one op."""

    id: int
    op: str
    """The registered name of the op, or ``"leaf"`` / ``"constant"`` / ``"detach"``."""
    label: str
    """What stands in the node's picture: ``+``, ``tanh``, ``sum``."""
    name: str | None
    inputs: tuple[int, ...]
    """Ids in slot order, one per use: ``x * x`` lists x twice."""
    params: Mapping[str, Any]
    shape: tuple[int, ...]
    dtype: str
    value: Array
    saved: Mapping[str, Array]
    kind: NodeKind
    requires_grad: bool
    scope: str
    source: Source | None
    slots: tuple[str, ...] = ()
    """The operands' names in the rule, in slot order."""
    formulas: tuple[str, ...] = ()
    """One formula per slot for the local share, in the slots' and saved values' names and ``g``: ``g * b``."""
    word: str = ""
    """What the gate does with a gradient: add *distributes*, max *routes*, mul *swaps*."""
    weak: bool = False
    """A Python scalar: on replay it does not decide the dtype."""
    saved_from: Mapping[str, int] = field(default_factory=dict)
    """Which slot each saved value is (-1: the result itself); values the rule made for itself are not listed."""
    uid: int = -1
    """Identifies the Tensor inside the process that recorded it; -1 after loading."""
    shares: tuple[Share, ...] = ()
    """Those it received, in order of arrival."""
    cotangent: Array | None = None
    """The sum of the shares: the gradient of the root with respect to this value."""
    cut: int | None = None
    """For ``detach``: the id of the node it was cut from, where that node is in the record."""
    behind: tuple[str, ...] = ()
    """For ``detach``: the leaves that it was computed from and that got no gradient, by name. For a constant: the results that it holds,
    read out of the graph as plain numbers, and where."""
    changed: bool = False
    """The user's array that this constant was copied from held other numbers when the record was first looked at."""

    @property
    def is_leaf(self) -> bool:
        return self.kind != "op"

    @property
    def grad(self) -> Array | None:
        """``cotangent``, under the name that it has on a Tensor."""
        return self.cotangent

    @property
    def title(self) -> str:
        """The name where there is one, otherwise the op, as a sentence can hold it: not longer than a line, and with no character that it would obey."""
        if self.name:
            return one_line(self.name)
        if self.kind == "constant" and self.value.size == 1:
            return format(self.value.reshape(()).item(), ".4g") if self.value.dtype.kind in "fiu" else str(self.value.reshape(()).item())
        return one_line(self.op)

    def __repr__(self) -> str:
        made = f" at {_tail(self.source.file)}:{self.source.line}" if self.source else ""
        name = f" {one_line(self.name)}" if self.name else ""
        return f"TraceNode({self.id}: {one_line(self.op)}{name}, shape {self.shape}, {self.dtype}, {len(self.shares)} share(s){made})"


_LONGEST = 80
"""Characters of a name or a path in a ``repr``, which is one line of a terminal or a log."""

_LINE = 400
"""Characters of a line of code where one is told in a sentence."""


def _shown(text: str) -> str:
    """``text`` with a symbol for what a terminal would obey and for what reorders its neighbours."""
    if text.isprintable():
        return text
    from tensorviz.views.text import visible

    return visible(text)


def one_line(text: str, longest: int = _LONGEST) -> str:
    """Of a name the beginning says more."""
    return _shown(text if len(text) <= longest else text[: longest - 1] + "…")


def _tail(path: str) -> str:
    """Of a path the end says more."""
    return _shown(path if len(path) <= _LONGEST else "…" + path[1 - _LONGEST :])


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened in the backward pass."""

    kind: StepKind
    node: int
    """On ``pull`` the node whose rule runs; on every other step the node that receives."""
    share: Share | None
    before: Array | None
    """The accumulator before an ``accumulate``, ``.grad`` before a ``leaf``."""
    after: Array | None
    caption: str
    """One plain sentence."""


@dataclass(frozen=True)
class TraceData:
    """What a Trace is made of; built once, the first time that it is looked at."""

    nodes: tuple[TraceNode, ...]
    steps: tuple[Step, ...]
    roots: tuple[int, ...]
    complete: bool = True
    """False where the pass stopped before its end, or has not run."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """The whole text of each file or cell that made nodes, by the ``file`` of their :class:`Source`."""


class Trace:
    """One recorded backward pass. Plain data: it holds no engine state, and everything that is shown reads it.

    ``build`` is called once, at the first look, so that recording costs the user's program next to nothing.
    """

    report: CheckReport | None = None
    """What the latest :meth:`check` found; saved with the trace."""

    def __init__(self, build: Callable[[], TraceData] | TraceData) -> None:
        self._build: Callable[[], TraceData] | None = build if not isinstance(build, TraceData) else None
        if self._build is None:
            self.__dict__["data"] = build

    @cached_property
    def data(self) -> TraceData:
        with _building:
            found: TraceData | None = self.__dict__.get("data")
            if found is None:
                build, self._build = self._build, None
                if build is None:
                    raise RecordError("this trace failed to build earlier and holds nothing; run backward again")
                # under the lock: from Python 3.12 on cached_property has none, and a second thread would find neither data nor build
                self.__dict__["data"] = found = build()
            return found

    def __getstate__(self) -> dict[str, Any]:
        """To copy or pickle: what was recorded, not how to build it."""
        return {"data": self.data, "_build": None}

    # ---- what is in it ---------------------------------------------------------------------------------------

    @property
    def nodes(self) -> tuple[TraceNode, ...]:
        """Every node, in forward order; a node's id is its position."""
        return self.data.nodes

    @cached_property
    def captions(self) -> Captions:
        """The sentences of the steps, as templates and filled in."""
        from tensorviz.views.captions import Captions

        return Captions(self.data)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Every step of the pass, in the order performed, each with its caption."""
        from tensorviz.views.captions import Steps

        return self.data.steps if self.captions.given else Steps(self.data.steps, self.captions)

    @property
    def roots(self) -> tuple[int, ...]:
        """Ids of the nodes that were seeded."""
        return self.data.roots

    @property
    def sources(self) -> Mapping[str, str]:
        """The text of each file or cell that made nodes."""
        return self.data.sources

    @cached_property
    def forks(self) -> tuple[TraceNode, ...]:
        """The nodes that receive two or more shares."""
        return tuple(n for n in self.nodes if len(n.shares) > 1)

    @cached_property
    def _index(self) -> tuple[dict[str, list[int]], dict[int, int]]:
        names: dict[str, list[int]] = {}
        uids: dict[int, int] = {}
        for n in self.nodes:
            if n.name is not None:
                names.setdefault(n.name, []).append(n.id)
            if n.uid >= 0:
                uids[n.uid] = n.id
        return names, uids

    def node(self, key: Any) -> TraceNode:
        """The node of a Tensor, a name or an id. ``KeyError`` lists the names that there are.

        A name that was given again, as in ``o = x + b; o = o * o``, is that of the latest node so named; :meth:`named` gives all of them.
        """
        names, uids = self._index
        if isinstance(key, TraceNode):
            mine = self.nodes[key.id] if key.id < len(self.nodes) else None
            if mine is not None and (mine.op, mine.name, mine.shape) == (key.op, key.name, key.shape):  # its own, or that of the same pass loaded
                return mine
            raise RecordError.no_node(f"{key!r} is a node of another trace; take the name of the node, or its id in this one")
        if isinstance(key, str) and key in names:
            return self.nodes[names[key][-1]]
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            if 0 <= int(key) < len(self.nodes):
                return self.nodes[int(key)]
            raise RecordError.no_node(f"{key} is no node id: the trace has {len(self.nodes)} nodes, 0 to {len(self.nodes) - 1}")
        uid = getattr(key, "_uid", None)
        if isinstance(uid, int) and uid in uids:
            return self.nodes[uids[uid]]
        known = ", ".join(self._listed(name) for name in sorted(names)[:40]) or "none is named"
        more = f" and {len(names) - 40} more" if len(names) > 40 else ""
        what = repr(_brief(key)) if isinstance(key, str) else f"this {type(key).__name__}"
        raise RecordError.no_node(f"{what} is not in the trace. Names: {known}{more}")

    def __getitem__(self, key: Any) -> Any:
        """A step by its position, several by a slice, as ``len`` counts them; a node by its Tensor or name.

        >>> import tensorviz as tv
        >>> x = tv.tensor(3.0, requires_grad=True, name="x")
        >>> trace = (x * x).backward()
        >>> trace["x"].grad, trace[-1].kind, [step.kind for step in trace][:2]
        (array(6.), 'leaf', ['seed', 'pull'])
        """
        if isinstance(key, (int, np.integer, slice)) and not isinstance(key, bool):
            try:
                return self.steps[key]
            except IndexError:
                raise IndexingError(
                    f"there is no step {key}: the pass has {len(self.steps):,}, numbered from 0. A node by its number is trace.node({key})"
                ) from None
        return self.node(key)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __contains__(self, key: Any) -> bool:
        """Whether a Tensor or a name is a node of it, or a step one of its steps."""
        if isinstance(key, Step):
            return any(step is key for step in self.steps)
        try:
            self.node(key)
        except NodeLookupError:
            return False
        return True

    if not TYPE_CHECKING:  # for it any name would be an attribute

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or hasattr(type(self), name):  # asked for by a protocol, or a part that raises itself
                return object.__getattribute__(self, name)
            if name in self._index[0]:
                raise no_attribute("a Trace", name, {name.lower(): f"its node of that name is trace[{name!r}]"}, self)
            raise no_attribute("a Trace", name, _INSTEAD, self)

    def named(self, name: str) -> tuple[TraceNode, ...]:
        """All nodes of a name, in forward order; none if there is no such name.

        >>> import tensorviz as tv
        >>> x = tv.tensor(3.0, requires_grad=True)
        >>> def f(x):
        ...     o = x + 1.0
        ...     o = o * o
        ...     return o
        >>> trace = f(x).backward()
        >>> [n.op for n in trace.named("o")], trace.node("o").op
        (['add', 'mul'], 'mul')
        """
        if not isinstance(name, str):
            raise OptionTypeError(f"named: takes a name, got {type(name).__name__}; node() also takes a Tensor or an id")
        return tuple(self.nodes[i] for i in self._index[0].get(name, ()))

    def _listed(self, name: str) -> str:
        """A name as a list of names shows it: with the ids where it stands for several nodes."""
        ids = self._index[0][name]
        name = _brief(name) if name.isprintable() else repr(_brief(name))
        return name if len(ids) == 1 else f"{name} (nodes {', '.join(map(str, ids[:5]))}{', …' if len(ids) > 5 else ''}; the name means {ids[-1]})"

    def __len__(self) -> int:
        return len(self.data.steps)

    def __repr__(self) -> str:
        root = ", ".join(self.nodes[r].title for r in self.roots[:3])
        forks = len(self.forks)
        return f"Trace of {root}: {len(self.nodes)} nodes, {len(self.data.steps)} steps, {forks} fork{'' if forks == 1 else 's'}"

    # ---- what can be done with it: thin doors to the parts that read a record ---------------------------------

    def replay(self, values: Mapping[Any, npt.ArrayLike] | None = None, *, dtype: npt.DTypeLike | None = None) -> Array:
        """The root's value after running the recorded forward graph again with some nodes replaced."""
        from tensorviz.replay import replay

        return replay(self, {} if values is None else values, dtype=dtype)

    def rerun(self, values: Mapping[Any, npt.ArrayLike] | None = None, *, shares: Mapping[str, npt.ArrayLike] | None = None) -> Trace:
        """A new record of the same graph, forward and backward, with some leaves or shares changed; see :func:`tensorviz.rerun.rerun`."""
        from tensorviz.rerun import rerun

        return rerun(self, values, shares=shares)

    def check(self, **options: Any) -> CheckReport:
        """Compare every gradient with finite differences; see :func:`tensorviz.checks.check`. The stepper shows the verdicts from then on."""
        from tensorviz.checks import check

        self.report = check(self, **options)
        return self.report

    def check_alongside(self, tell: Callable[[Update], object] | None = None, **options: Any) -> Alongside:
        """The same in a thread of its own, node by node, while the program goes on; see :class:`tensorviz.checks.alongside.Alongside`."""
        from tensorviz.checks.alongside import Alongside

        return Alongside(self, tell or (lambda _: None), **options).start()

    def findings(self) -> list[Finding]:
        """What a teacher or an engineer would point at, root cause first."""
        from tensorviz.findings import find

        return find(self)

    def beside(self, other: Trace, **options: Any) -> Pair:
        """Two linked steppers, this trace's and another's: a step in one takes the other to its counterpart; see :func:`tensorviz.widgets.pair.pair`."""
        from tensorviz.widgets.pair import pair

        return pair(self, other, **options)

    def compare(self, gradients: Mapping[Any, npt.ArrayLike]) -> ComparisonTable:
        """A table of hand-made gradients against the recorded ones."""
        from tensorviz.checks.table import compare

        return compare(self, gradients)

    def with_bug(self, name: str, *, node: Any = None) -> BuggyTrace:
        """The same graph with one classic mistake in the backward sweep, as a Trace of its own; no user function is needed.

        ``name``: ``"overwrite"`` (instead of add), ``"average"`` (at a fork), ``"no-unbroadcast"``, ``"wrong-axes"`` (a full-size
        axis summed), ``"no-zero-grad"``, ``"wrong-order"`` (a node visited before all its shares came), ``"first-wins"`` (at a
        tie), ``"transposed"`` (a factor of a matrix product), ``"stale-saved"``, ``"detached"`` (by accident). ``node``: where (a key as
        :meth:`node` takes it, or ``"all"``); by default the first place, in backward order, where the mistake can be made.

        The result says where it acted (``at``), whether it changes a gradient (``changes``), where the runs part (``parts_at``),
        and its ``check()`` turns red there. A pass that cannot finish is a record up to there, with ``error``.
        """
        from tensorviz.teaching.zoo import with_bug

        return with_bug(self, name, node=node)

    def quiz(self, n: int = 5, *, kinds: str | Sequence[str] | None = None, seed: int = 0, tolerance: float | str = 1e-3) -> Quiz:
        """Up to ``n`` questions about this pass, to be answered before its steps are shown.

        ``kinds``: some of ``"axes"`` (over which a share is summed), ``"shape"``, ``"value"`` (of a share), ``"route"`` (which
        element a maximum passes its gradient to), ``"shares"`` (how many arrive), ``"grad"`` (what ``.grad`` will hold). ``seed``
        chooses; the same gives the same. ``tolerance``: of numbers, relative to max(1, |x|); ``"sign"`` asks for signs only.

        ``quiz[0].answer(...)`` says whether it is right, with a hint by kind of mistake; ``quiz.score`` counts. As the last value of a cell it is a widget.
        """
        from tensorviz.teaching.quiz import quiz

        return quiz(self, n, kinds=kinds, seed=seed, tolerance=tolerance)

    def summary(self, **options: Any) -> str:
        """The same steps as text, for terminals, screen readers and diffs; see :func:`tensorviz.views.summary.summary`."""
        from tensorviz.views.summary import summary

        return summary(self, **options)

    def table(self) -> NodeTable:
        """One row a node: norms of value and gradient, the largest entry, NaN, infinities and zeros, shares, bytes saved, line.

        A list of dicts, which ``pandas.DataFrame(...)`` takes; ``.by("gradient")`` puts the largest first.

        >>> import tensorviz as tv
        >>> w = tv.tensor([3.0, 4.0], requires_grad=True, name="w")
        >>> row = (w * w).sum().backward().table()[0]
        >>> row["name"], row["value"], row["gradient"], row["shares"]
        ('w', 5.0, 10.0, 2)
        """
        from tensorviz.views.nodes import table

        return table(self)

    def explain(self, key: Any) -> str:
        """Why one gradient is what it is, as text: each share that arrived at the node, its rule in your names and with numbers, what was summed.

        ``key``: a Tensor, a name or an id, as :meth:`node` takes it. As the last value of a cell it shows its lines.

        >>> import numpy as np, tensorviz as tv
        >>> X = tv.tensor(np.ones((2, 3)), requires_grad=True, name="X")
        >>> b = tv.tensor([1.0, 2.0, 3.0], requires_grad=True, name="b")
        >>> told = ((X + b) ** 2).sum().backward().explain(b)
        >>> [line.strip() for line in told.splitlines() if "b[0] =" in line]
        ['∂b[0] = 4 + 4 = 8']
        """
        from tensorviz.views.explained import explain

        return explain(self, key)

    def to_svg(self, path: str | PathLike[str] | None = None, *, step: int | None = None, **options: Any) -> str:
        """The picture as SVG text; also written to ``path`` if given.

        ``step``: the state after that step; ``steps=[0, 4, 9]`` draws a filmstrip (with ``columns``). Options: ``palette`` (``"light"``, ``"dark"``,
        ``"cs231n"``), ``direction`` (``"LR"``, ``"TB"``), ``title``, ``scale``, ``legend``, ``max_nodes``, ``engine``, ``timeout``; see :func:`tensorviz.views.svg.to_svg`.
        """
        from tensorviz.views.svg import to_svg

        return to_svg(self, path, step=step, **options)

    def to_animated_svg(self, path: str | PathLike[str] | None = None, *, step: int | None = None, **options: Any) -> str:
        """The pass as one SVG that plays by itself, in browsers and READMEs; also written to ``path`` if given.

        Options: ``steps`` (``"micro"``, ``"share"``, ``"node"`` or step numbers), ``seconds_per_step``, and those of :meth:`to_svg`.
        """
        from tensorviz.views.animation import to_animated_svg

        return to_animated_svg(self, path, step=step, **options)

    def to_dot(self, path: str | PathLike[str] | None = None, *, step: int | None = None, **options: Any) -> str:
        """The picture as DOT text for Graphviz; also written to ``path`` if given."""
        from tensorviz.views.dot import to_dot

        return to_dot(self, path, step=step, **options)

    def to_html(self, path: str | PathLike[str] | None = None, *, step: int | None = None, **options: Any) -> str:
        """One self-contained page with the stepper: no kernel, no network. Options: ``theme``, ``presentation``, ``title``."""
        from tensorviz.widgets.page import to_html

        return to_html(self, path, step=step, **options)

    def to_png(self, path: str | PathLike[str] | None = None, *, step: int | None = None, **options: Any) -> bytes:
        """The picture as PNG bytes (needs the extra ``image``); ``width`` in pixels, or ``scale``, and the options of :meth:`to_svg`."""
        from tensorviz.views.image import to_png

        return to_png(self, path, step=step, **options)

    def to_gif(self, path: str | PathLike[str] | None = None, *, step: int | None = None, **options: Any) -> bytes:
        """The pass as the bytes of a GIF that plays by itself, in slide programs too (needs the extra ``image``); options are those of :meth:`to_animated_svg`."""
        from tensorviz.views.gif import to_gif

        return to_gif(self, path, step=step, **options)

    def to_pdf(self, path: str | PathLike[str] | None = None, *, step: int | None = None, **options: Any) -> bytes:
        """The picture as PDF bytes (needs the extra ``image``); options are those of :meth:`to_svg`."""
        from tensorviz.views.image import to_pdf

        return to_pdf(self, path, step=step, **options)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the trace to one versioned file (no pickle)."""
        from tensorviz.wire import save

        save(self, path)

    def show(self, **options: Any) -> Stepper:
        """The stepper widget (needs ipywidgets and anywidget, which a plain install brings).

        Options are its traits: ``step``, ``playing``, ``speed``, ``granularity``, ``selected``, ``breakpoints``, ``theme``, and ``presentation`` for a
        lecture hall. ``breakpoints`` is a list of kinds (``"fork"``, ``"unbroadcast"``, ``"route"``, ``"nan"``, ``"inf"``, ``"check"``), nodes, names of
        ops, and functions of a node: ``breakpoints=["matmul", lambda n: np.abs(n.grad).max() > 10]``.
        """
        from tensorviz.widgets.stepper import Stepper

        return Stepper(self, **options)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from tensorviz.display import bundle

        return bundle(self)

    def _display_(self) -> Any:
        from tensorviz.display import displayed

        return displayed(self)


def validate(data: TraceData) -> TraceData:
    """Check that a record holds together; run on every load. Raises :class:`RecordError` that names the place."""
    from tensorviz.validation import validate

    return validate(data)


def _brief(name: str) -> str:
    """A name as a sentence that lists several can hold it."""
    return name if len(name) <= 60 else f"{name[:59]}…"


_SHOWN = "trace.show() steps through it, and so does a cell that ends with the trace"
_DRAWN = "tv.draw(trace) shows the picture, trace.to_svg() gives it"
_OF_ONE = 'a gradient belongs to a node: trace["b"].grad, and trace.explain("b") tells where it came from'
_INSTEAD = {
    **dict.fromkeys(("display", "debug", "step", "play", "open", "view"), _SHOWN),
    **dict.fromkeys(("draw", "plot", "graph", "picture", "svg"), _DRAWN),
    **dict.fromkeys(("grad", "grads", "gradient", "gradients", "cotangent"), _OF_ONE),
    **dict.fromkeys(("shares", "share", "ledger"), 'shares belong to the node that receives them: trace["b"].shares'),
    **dict.fromkeys(("value", "loss", "output", "root"), "its results are [trace.nodes[i].value for i in trace.roots]"),
    **dict.fromkeys(("tensors", "values", "ops", "edges", "leaves"), "the nodes of its graph are trace.nodes, each with op, inputs, value, shares"),
    **dict.fromkeys(
        ("to_pandas", "to_dataframe", "dataframe", "df", "rows", "norms"), "trace.table() has a row for each node; pandas.DataFrame takes it"
    ),
    **dict.fromkeys(
        ("to_networkx", "networkx"), "networkx.MultiDiGraph((i, n.id) for n in trace.nodes for i in n.inputs), with trace.table() for the rest"
    ),
    **dict.fromkeys(("text", "to_text", "print"), "its steps as text are trace.summary()"),
    **dict.fromkeys(
        ("html", "page", "export", "to_mp4", "to_video"),
        "trace.to_html(path) writes a page that steps; to_svg, to_png, to_pdf, to_animated_svg, to_gif draw",
    ),
    **dict.fromkeys(("to_json", "to_dict", "dump"), "trace.save(path) writes it, and tv.load(path) reads it again"),
    **dict.fromkeys(("gradcheck", "verify"), "trace.check() compares with finite differences"),
    **dict.fromkeys(("bug", "bugs"), 'trace.with_bug("overwrite") and nine others replay it with a mistake'),
    **dict.fromkeys(("why", "origin"), 'trace.explain("b") says why the gradient of a node is what it is'),
    **dict.fromkeys(("diff",), "tv.compare(before, after) says where two runs part"),
}
"""What there is in the place of attributes that one could expect of a trace."""


class _Called(ModuleType):
    """The module itself, of which an op has the name: ``tv.trace(x)`` is ``np.trace(x)``, which asks a Tensor for its rule."""

    def __call__(self, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        return np.trace(a, offset, axis1, axis2)


sys.modules[__name__].__class__ = _Called
