"""break_on: stops a live backward pass where something happens, with the record of the pass up to there. Imports the engine; no view or widget."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tensorviz.arguments import number, shown
from tensorviz.axes import in_words, sum_axes
from tensorviz.checks.blame import blame_text, is_wrong
from tensorviz.checks.differences import Ruler
from tensorviz.checks.local import check_rule
from tensorviz.checks.run import BUDGET
from tensorviz.checks.subject import Subject, title
from tensorviz.engine.graph import local
from tensorviz.engine.node import Node
from tensorviz.engine.op import REGISTRY
from tensorviz.engine.record import Pass
from tensorviz.engine.routes import route
from tensorviz.engine.sweep import fit
from tensorviz.errors import Breakpoint, BreakpointError, NodeLookupError, OptionError
from tensorviz.trace import Share, Step, Trace, TraceNode

KINDS = ("nan", "inf", "fork", "unbroadcast", "route", "check", "zero")


@contextmanager
def break_on(
    *kinds: str,
    op: str | Sequence[str] | None = None,
    node: Any = None,
    norm_above: float | None = None,
    norm_below: float | None = None,
    when: Callable[..., Any] | None = None,
) -> Generator[None, None, None]:
    """Stop a live ``backward`` inside the block at the first point where one of the conditions holds.

    ``kinds``: ``"nan"`` and ``"inf"``, in a gradient, and in the value of a root before the pass begins (at the first value that has it);
    ``"fork"``, a node gets its second share; ``"unbroadcast"``, a share is
    summed over axes; ``"route"``, an op selects who gets the gradient; ``"check"``, a rule that finite differences of its op
    contradict; ``"zero"``, a rule got a gradient and sends one of zeros. ``op``: names of ops, whose rule has run. ``node``: Tensors, names or ids (one or a list), as :meth:`Trace.node`
    takes them: a result whose rule has run, a leaf that received a share. ``norm_above``, ``norm_below``: a gradient whose
    Euclidean norm is above or below it. ``when``: a predicate called with each :class:`Step` but the last ones, which write ``.grad``, and with its :class:`TraceNode` if it takes two arguments.

    The pass stops by raising :class:`tensorviz.errors.Breakpoint`, which names node, op, the user's line and why; its
    ``.trace`` is the pass up to there, and no ``.grad`` has been written. Blocks nest; each holds for its own thread. The
    passes inside ``tv.grad`` and its kin, and inside ``gradcheck``, run through. Raises :class:`BreakpointError` for a
    condition that is none, and ``KeyError`` at the end of a block none of whose passes had a node of that name.

    >>> import numpy as np, tensorviz as tv
    >>> x = tv.tensor([0.0, 4.0], requires_grad=True, name="x")
    >>> with tv.break_on("nan", "inf"), np.errstate(divide="ignore"):
    ...     try:
    ...         np.sqrt(x).sum().backward()
    ...     except tv.Breakpoint as stop:
    ...         print(stop.kind, stop.op, stop.why, x.grad)
    inf sqrt 1 of 2 numbers in the share that sqrt sends to x is infinite None
    """
    watch = _Watch(kinds, op, node, norm_above, norm_below, when)
    thread = local.thread
    before = thread.watchers
    thread.watchers = (watch, *before)
    try:
        yield
    finally:
        thread.watchers = before
    watch.missed()


class _Watch:
    """The conditions of one block."""

    def __init__(
        self, kinds: Sequence[str], op: Any, node: Any, norm_above: float | None, norm_below: float | None, when: Callable[..., Any] | None
    ) -> None:
        for kind in kinds:
            if kind not in KINDS:
                raise BreakpointError(f"break_on: {shown(kind)} is none of {', '.join(KINDS)}{_like(str(kind), KINDS)}")
        self.kinds = frozenset(kinds)
        names = [] if op is None else list(op) if isinstance(op, (list, tuple, set, frozenset)) else [op]
        for name in names:
            if not isinstance(name, str) or name not in REGISTRY:
                raise BreakpointError(f"break_on: op={shown(name)} is no op{_like(str(name), REGISTRY)}")
        self.ops = frozenset(names)
        self.keys: list[Any] = [] if node is None else list(node) if isinstance(node, (list, tuple, set, frozenset)) else [node]
        self.unknown: list[Any] = list(self.keys)
        """Nodes that no pass has had yet."""
        self.lost: NodeLookupError | None = None
        try:
            self.limit = np.inf if norm_above is None else number("break_on", "norm_above", norm_above, least=0)
            self.least = 0.0 if norm_below is None else number("break_on", "norm_below", norm_below, above=0)
        except OptionError as error:
            raise BreakpointError(str(error)) from None
        if when is not None and not callable(when):
            raise BreakpointError(f"break_on: when is a function of a Step, got {type(when).__name__}")
        if when is not None and not _takes(when, 1) and not _takes(when, 2):
            raise BreakpointError("break_on: when is called with a Step, or with a Step and its TraceNode; this function takes neither")
        self.when = when
        self.wants_node = when is not None and _takes_two(when)
        if not (self.kinds or self.ops or self.keys or norm_above is not None or norm_below is not None or when):
            raise BreakpointError(f"break_on: say where to stop: {', '.join(KINDS)}, op=, node=, norm_above=, norm_below= or when=")

    def __call__(self, started: Pass) -> _Look:
        return _Look(self, started)

    def missed(self) -> None:
        if self.unknown and self.lost is not None:
            raise NodeLookupError(f"break_on: no pass in this block had that node: {self.lost}")


class _Sent(NamedTuple):
    """One share on its way, as the sweep sees it."""

    slot: int
    target: Node
    local: Any
    axes: tuple[int, ...]
    value: Any
    held: Any
    """What the target had before; None if nothing."""
    total: Any


class _Look:
    """One pass, looked at by one block's conditions after every rule."""

    def __init__(self, watch: _Watch, started: Pass) -> None:
        self.watch, self.started = watch, started
        self.received: set[Node] = set()
        self.wanted = self._wanted()
        for root in started.roots:
            self._value(np.asarray(root.value))
        for root, seed in zip(started.roots, started.seeds or [], strict=True):
            self._numbers(root, None, seed, "the seed")
            self._ask(root, "seed", None, None, seed)

    def __call__(self, node: Node, before: Mapping[Node, Any]) -> None:
        shares = self.started.pulled[-1]
        if not shares:
            return
        watch, name = self.watch, node.op.name  # type: ignore[union-attr]
        self._ask(node, "pull", None, None, None)
        sent = list(_sent(node, shares, before))
        for s in sent:
            self._share_sent(node, s)
        if "zero" in watch.kinds and np.any(before[node]):
            for s in sent:
                if not np.any(s.value):
                    self._stop("zero", f"the share that {name} sends to {{target}} is zero throughout, and the gradient that it got is not", node, s)
        if "check" in watch.kinds:
            self._check(node, before[node], sent)
        if name in watch.ops:
            self._stop("op", f"the rule of {name} has run", node)
        if node.uid in self.wanted:
            self._stop("node", "its gradient is complete and its rule has run", node)

    def _share_sent(self, node: Node, s: _Sent) -> None:
        kinds, target, name = self.watch.kinds, s.target, node.op.name  # type: ignore[union-attr]
        to = f"the share that {name} sends to {{target}}"
        if s.axes:
            if "unbroadcast" in kinds:
                self._stop(
                    "unbroadcast", f"{to} is summed over {in_words(s.axes)}: {np.shape(s.local)} becomes {np.shape(s.value)}", node, s, "unbroadcast"
                )
            self._ask(target, "unbroadcast", (node, s), None, None)
        self._numbers(node, s, s.value, to)
        if s.held is not None:
            self._numbers(target, s, s.total, "the sum of the shares of {target}")
        weights = route(node, s.slot) if "route" in kinds else None
        if weights is not None:
            self._stop("route", f"{name} selects: {np.count_nonzero(weights):,} of {weights.size:,} elements of {{target}} get a gradient", node, s)
        if "fork" in kinds and target in self.received:
            self._stop("fork", "{target} gets its second share: it is used more than once, and the shares add up", target, s)
        self.received.add(target)
        if target.op is None and target.uid in self.wanted:
            self._stop("node", f"{to} has arrived", target, s)
        self._ask(target, "accumulate", (node, s), s.held, s.total)

    def _value(self, value: Any) -> None:
        """Stop if a root's value is as ``nan`` or ``inf`` say, where it first came to be so."""
        if np.isfinite(value).all():
            return
        from tensorviz.findings.nonfinite import nonfinite

        found = [f for f in nonfinite(self.forward.data) if f.phase == "forward" and f.node is not None]
        if "inf" in self.watch.kinds and np.isnan(value).any():
            cause = next(iter(found), None)
            if cause is not None and cause.kind == "inf" and cause.node is not None:
                self._stop("inf", f"{cause.why.rstrip('.')}; so the root is NaN", self.forward.nodes[cause.node])
        for kind, word, test in (("nan", "NaN", np.isnan), ("inf", "infinite", np.isinf)):
            if kind in self.watch.kinds and test(value).any():
                told = [self.forward.nodes[f.node] for f in found if f.kind == kind and f.node is not None]  # not a mask, nor what was not chosen
                born = next(iter(told), None) or next(n for n in self.forward.nodes if n.value.dtype.kind == "f" and test(n.value).any())
                count = int(np.count_nonzero(test(born.value)))
                of = f"{count:,} of its {born.value.size:,} numbers {'is' if count == 1 else 'are'}" if born.value.size > 1 else "its value is"
                self._stop(kind, f"{of} {word} in forward already, and so is the root's", born)

    def _numbers(self, node: Node, s: _Sent | None, value: Any, what: str) -> None:
        """Stop if a gradient is as ``nan``, ``inf`` or ``norm_above`` say."""
        kinds, limit = self.watch.kinds, self.watch.limit
        array = np.asarray(value)
        if ("nan" in kinds or "inf" in kinds) and not np.isfinite(array).all():
            for kind, bad, word in (("nan", np.isnan(array), "NaN"), ("inf", np.isinf(array), "infinite")):
                count = int(np.count_nonzero(bad))
                if count and kind in kinds:
                    of = f"{count:,} of {array.size:,} numbers in {what}" if array.size > 1 else what
                    self._stop(kind, f"{of} {'is' if count == 1 else 'are'} {word}", node, s)
        least = self.watch.least
        if limit < np.inf or least:
            norm = float(np.linalg.norm(array.astype(float).ravel()))
            if norm > limit or norm < least:
                bound = f"above {limit:.4g}" if norm > limit else f"below {least:.4g}"
                self._stop("norm", f"{what} has norm {norm:.4g}, {bound}", node, s)

    def _check(self, node: Node, gradient: Any, sent: Sequence[_Sent]) -> None:
        subject, i = self.subject, self.ids[node.uid]
        nodes: list[TraceNode] = subject.nodes  # type: ignore[assignment]
        nodes[i] = replace(nodes[i], cotangent=np.asarray(gradient))
        subject.sent[i] = {s.slot: self._share(node, s) for s in sent}
        wrong = [b for b in check_rule(subject, i) if is_wrong(b)]
        if wrong:
            self._stop("check", blame_text(subject.data, wrong, i), node)

    def _ask(self, node: Node, kind: Any, sent: tuple[Node, _Sent] | None, before: Any, after: Any) -> None:
        """Stop if ``when`` says so about a step."""
        if self.watch.when is None:
            return
        made = self.forward.nodes[self.ids[node.uid]]
        share = None if sent is None else self._share(*sent)
        step = Step(kind, made.id, share, None if before is None else np.asarray(before), None if after is None else np.asarray(after), "")
        if self.watch.when(step, made) if self.watch.wants_node else self.watch.when(step):
            what = "a pull step" if kind == "pull" else f"{'an' if kind[0] in 'au' else 'a'} {kind} step"
            self._stop("when", f"when= holds at {what}", node, None if sent is None else sent[1], kind)

    def _stop(self, kind: str, why: str, node: Node | TraceNode, s: _Sent | None = None, step: str = "accumulate") -> None:
        """Raise, with the record of the pass up to this rule."""
        started = self.started
        trace = Trace(
            Pass(started.roots, started.seeds, started.ops[: len(started.pulled)], started.pulled, {}, started.names, complete=False).build()
        )
        at = trace.nodes[self._id(trace, node)]
        target = "" if s is None else title(trace.nodes[self._id(trace, s.target)])
        stop = Breakpoint()
        stop.kind, stop.node, stop.op, stop.source, stop.why, stop.trace = kind, at.id, at.op, at.source, why.replace("{target}", target), trace
        stop.step = _step(trace, at.id, s, step)
        where = f"\n  {at.source}" if at.source else ""
        cause = " .trace.findings() says what it comes of." if kind in ("nan", "inf") else ""
        said = (
            f"stopped at node {at.id} ({title(at)}): {stop.why}{where}\n"
            f"  This is step {stop.step} of the record so far, in .trace of this exception; its .show(step={stop.step}) opens it.{cause} No .grad was written."
        )
        stop.args = (said,)
        raise stop

    def _id(self, trace: Trace, node: Node | TraceNode) -> int:
        return next(n.id for n in trace.nodes if n.uid == node.uid)

    def _share(self, node: Node, s: _Sent) -> Share:
        ids = self.ids
        arrays = np.asarray(s.local), s.axes, np.asarray(s.value), np.asarray(s.total)
        return Share(ids[node.uid], s.slot, ids[s.target.uid], *arrays, route(node, s.slot))

    def _wanted(self) -> set[int]:
        """The uids of the nodes to stop at."""
        found = set()
        for key in self.watch.keys:
            try:
                found.add(self.forward.node(key).uid)
            except NodeLookupError as error:
                self.watch.lost = error
            else:
                self.watch.unknown = [k for k in self.watch.unknown if k is not key]
        return found

    @cached_property
    def forward(self) -> Trace:
        """The record of the graph alone, for ids and names; the ids are those of the record of the pass."""
        return Trace(Pass(self.started.roots, None, [], [], {}, self.started.names).build())

    @cached_property
    def ids(self) -> dict[int, int]:
        return {n.uid: n.id for n in self.forward.nodes}

    @cached_property
    def subject(self) -> Subject:
        """The graph as the local check wants it; a node's gradient is put in when its rule has run."""
        subject = Subject(self.forward.data, Ruler(), BUDGET, 0)
        subject.nodes = list(subject.nodes)
        subject.pulled = None
        return subject


def _sent(node: Node, shares: Sequence[Any], before: Mapping[Node, Any]) -> Iterator[_Sent]:
    """The shares that a rule sent, with what each found and left."""
    held = dict(before)
    for slot, share in enumerate(shares):
        if share is None:
            continue
        target = node.inputs[slot]
        value = fit(node, slot, share)
        axes = sum_axes(np.shape(share), np.shape(value)) if np.shape(share) != np.shape(value) else ()
        old = held[target]
        held[target] = value if old is None else old + value
        yield _Sent(slot, target, share, axes, value, old, held[target])


def _step(trace: Trace, node: int, s: _Sent | None, step: str) -> int:
    """The step of the last rule at which a condition held; the last one where it is about the rule as a whole."""
    steps = trace.data.steps
    if s is None and step != "accumulate":
        return max(k for k, found in enumerate(steps) if found.kind == step and found.node == node)
    if s is None:
        return len(steps) - 1
    return next(
        k for k in range(len(steps) - 1, -1, -1) if (found := steps[k]).kind == step and found.share is not None and found.share.slot == s.slot
    )


def _takes_two(when: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(when).parameters.values()
    except (TypeError, ValueError):
        return False
    required = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty]
    return len(required) >= 2


def _takes(when: Callable[..., Any], count: int) -> bool:
    """Whether a function can be called with so many arguments; yes where Python cannot tell."""
    try:
        inspect.signature(when).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def _like(name: str, names: Any) -> str:
    close = difflib.get_close_matches(name.lower(), list(names), 1)
    return f"; did you mean {close[0]!r}?" if close else ""
