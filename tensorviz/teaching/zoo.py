"""The bug zoo: a recorded pass made again with one classic mistake in it. Imports the sweep and the checks; no widget."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tensorviz.arguments import one_of
from tensorviz.checks.report import CheckReport, single
from tensorviz.checks.runs import RunComparison, compare
from tensorviz.checks.subject import agrees
from tensorviz.errors import OptionError, OptionTypeError, RecordError
from tensorviz.teaching.bugs import BUGS
from tensorviz.teaching.sweep import Mistake, Place, Sweep, title
from tensorviz.trace import Trace, TraceData, TraceNode

if TYPE_CHECKING:
    from tensorviz.widgets.pair import Pair


def with_bug(trace: Trace, name: str, *, node: Any = None) -> BuggyTrace:
    """The recorded pass once more, with one classic mistake in its backward sweep; see :meth:`Trace.with_bug`.

    >>> import tensorviz as tv
    >>> x = tv.tensor(3.0, requires_grad=True, name="x")
    >>> wrong = (x * x).backward().with_bug("overwrite")
    >>> wrong.node("x").cotangent.item(), wrong.right.node("x").cotangent.item()
    (3.0, 6.0)
    >>> wrong.headline
    'overwrite at x changes the gradient of x. The runs part at step 3.'
    >>> wrong.check().kind
    'mismatch'
    """
    if not isinstance(trace, Trace):
        raise RecordError(f"with_bug takes a Trace, got {type(trace).__name__}")
    one_of("with_bug", "name", name, BUGS)
    if not trace.data.complete or not any(step.kind == "seed" for step in trace.data.steps):
        raise RecordError("with_bug needs the record of a whole backward pass; this one stopped before its end, or has not begun")
    if any(step.kind == "seed" and not trace.nodes[step.node].requires_grad for step in trace.data.steps):
        raise RecordError(
            "with_bug needs the record of a backward pass; in this one the pass is a graph itself, and nothing goes backward through it"
        )
    if isinstance(trace, BuggyTrace):
        trace = trace.right  # one mistake at a time: a second one would hide behind the first
    mistake = BUGS[name]
    sweep = Sweep(trace, mistake)
    return _made(sweep, mistake, _chosen(sweep, mistake, node))


def _made(sweep: Sweep, mistake: Mistake, places: Sequence[Place]) -> BuggyTrace:
    data = sweep.run(places)
    made = BuggyTrace(data, sweep.trace, mistake, dict(sweep.acted), sweep.error, tuple(_nodes(sweep, sweep.places)))
    made._chosen = tuple(places)
    return made


def _chosen(sweep: Sweep, mistake: Mistake, node: Any) -> Sequence[Place]:
    places = sweep.places
    if node is None:
        return places if mistake.everywhere or not places else [mistake.preferred(sweep, places)]
    if isinstance(node, str) and node == "all":
        return places
    chosen = sweep.trace.node(node)
    found = [p for p in places if chosen.id in _ids(sweep, p)]
    if not found:
        where = ", ".join(f"{title(sweep.nodes[i])} (node {i})" for i in _nodes(sweep, places)[:12])
        can = f"it can at {where}" if where else f"{mistake.nowhere}"
        raise OptionError(f"with_bug({mistake.name!r}): it cannot act at {title(chosen)} (node {chosen.id}); {can}")
    return found


def _ids(sweep: Sweep, place: Place) -> tuple[int, ...]:
    """The nodes that a place can be called by: its own, and the one that its share goes to."""
    return (place.node,) if place.slot < 0 else (place.node, sweep.nodes[place.node].inputs[place.slot])


def _nodes(sweep: Sweep, places: Sequence[Place]) -> list[int]:
    return list(dict.fromkeys(_ids(sweep, p)[-1] for p in places))


_CHECKED = 500
"""Nodes of a graph that is checked before it is shown: a fraction of a second for the graphs of lessons."""


class BuggyTrace(Trace):
    """A pass with one classic mistake in it: a :class:`Trace` like any other, and what the mistake did.

    Everything that a Trace can do works: ``steps`` (whose captions say what the wrong engine does), ``summary``, pictures,
    the stepper, ``save``. :meth:`check` turns red at the nodes in ``at`` where the mistake changes a share or a sum, and says so where it changes nothing.
    """

    def __init__(self, data: TraceData, right: Trace, mistake: Mistake, at: dict[int, int], error: str | None, places: tuple[int, ...]) -> None:
        super().__init__(data)
        self.right = right
        """The right run of the same graph."""
        self.bug = mistake.name
        self.wrong = mistake.wrong
        """What the wrong engine does, in one sentence."""
        self.at = tuple(at)
        """Ids of the nodes at which the mistake was made, in the order in which it was: where the check turns red."""
        self.acts_at = min(at.values(), default=None)
        """The first step of this run at which the mistake was made, whose caption tells it; None where it could not be made."""
        self.places = places
        """Ids of the nodes at which it can be made: what ``node=`` takes."""
        self.error = error
        """Why the wrong engine could not finish, or None."""
        self._nowhere = mistake.nowhere
        self._chosen: tuple[Place, ...] = ()

    def rerun(self, values: Mapping[Any, npt.ArrayLike] | None = None, *, shares: Mapping[str, npt.ArrayLike] | None = None) -> BuggyTrace:
        """The same mistake at the same places in a run with some leaves changed; see :meth:`Trace.rerun`.

        Raises OptionError where shares are to be changed: the mistake is made with those.
        """
        if shares:
            raise OptionError("rerun: shares of a pass with a mistake in it cannot be changed by hand; those of its .right run can")
        sweep, mistake = Sweep(self.right.rerun(values), BUGS[self.bug]), BUGS[self.bug]
        return _made(sweep, mistake, [place for place in sweep.places if place in self._chosen])

    @cached_property
    def comparison(self) -> RunComparison:
        """The right run (a) and this one (b) side by side; see :func:`tensorviz.compare`. Differences of rounding do not count."""
        return compare(self.right, self, rtol=1e-12, atol=1e-300)

    @cached_property
    def parts_at(self) -> int | None:
        """The first step at which this run parts from the right one; None where they are the same."""
        first = self.comparison.first
        if first is None:
            return None
        mine = first.steps[1]
        return min(first.steps[0] or 0, len(self.data.steps) - 1) if mine is None else mine

    @cached_property
    def changed(self) -> tuple[TraceNode, ...]:
        """The nodes whose gradient, or ``.grad``, is not that of the right run.

        No changes are shares of zeros that were not sent, unless the pass stopped, and what is left of a sum that cancels but for rounding,
        with all that is made of it.
        """
        mine = {step.node: step.after for step in self.data.steps if step.kind == "leaf"}
        theirs = {step.node: step.after for step in self.right.data.steps if step.kind == "leaf"}
        reached = set(self.at)
        found = []
        for n, r in zip(reversed(self.nodes), reversed(self.right.nodes), strict=True):
            near = n.id in reached or any(s.consumer in reached for s in (*n.shares, *r.shares))
            if near and not (self._same(n.cotangent, r.cotangent, r) and self._same(mine.get(n.id), theirs.get(n.id), r)):
                reached.add(n.id)
                found.append(n)
        return tuple(reversed(found))

    def _same(self, mine: Any, right: Any, node: TraceNode) -> bool:
        if mine is None or right is None:
            return mine is right or (mine is None and self.error is None and not any(np.any(s.value) for s in node.shares))
        if agrees(mine, right):
            return True
        with np.errstate(invalid="ignore"):
            return bool(np.all(np.abs(mine - right) <= _rounding(node)))

    @property
    def changes(self) -> bool:
        """Whether the mistake changes any gradient of this graph."""
        return bool(self.changed)

    @property
    def headline(self) -> str:
        """What the mistake does here, in one sentence."""
        if not self.at:
            return f"{self.bug} changes nothing here: {self._nowhere}."
        where = _listed([title(self.nodes[i]) for i in self.at])
        if not self.changes:
            first = self.comparison.first
            order = "the steps come in another order, and " if first is not None and first.kind == "order" else ""
            rounded = "" if first is None or order else ", but for rounding"
            return f"{self.bug} at {where} changes nothing here: {order}every gradient is that of the right run{rounded}."
        gone = [n for n in self.changed if n.cotangent is None]
        there = [n for n in self.changed if n.cotangent is not None]
        # A pass that stops writes no .grad: of a leaf whose gradient was complete by then, nothing else is missing.
        kept = {n.id for n in there if self.error is not None and self._same(n.cotangent, self.right.nodes[n.id].cotangent, n)}
        other = [n for n in there if n.id not in kept]
        parts = [
            *([f"changes the gradient of {_listed([title(n) for n in other])}"] if other else []),
            *([f"leaves {_listed([title(n) for n in gone])} without {'one' if other else 'a gradient'}"] if gone else []),
            *([f"does not come to write .grad of {_listed([title(self.nodes[i]) for i in sorted(kept)])}"] if kept else []),
        ]
        stopped = f" The pass cannot finish: {self.error}." if self.error else ""
        first = self.comparison.first
        # The step that only the right run has comes after the last of this one.
        when = "after" if first is not None and first.steps[1] is None and self.parts_at == len(self.data.steps) - 1 else "at"
        step = "" if self.parts_at is None else f" The runs part {when} step {self.parts_at}."
        return f"{self.bug} at {where} {_joined(parts)}.{step}{stopped}"

    def check(self, **options: Any) -> CheckReport:
        """As :meth:`Trace.check`; a note of the report says what the mistake does here, or that it changes nothing.

        A pass that could not finish is a mismatch in any case, also where what it did not send is zero. Where gradients are so small that their
        change is below the usual ``atol``, the check looks again with a smaller one, unless ``atol`` or ``rtol`` is given.
        """
        report = super().check(**options)
        if self.error is None and self.changes and report.ok and not {"atol", "rtol"} & set(options):
            report = self._closer(report, options)
        notes = (*report.notes, self.headline)
        if self.error is not None:
            at = self.at[0]
            stopped = single(at, "local", None, title(self.nodes[at]), "mismatch", f"the pass stopped here: {self.error}")
            text = report.blame_text or f"The pass stopped at the rule of {title(self.nodes[at])}, node {at}: {self.error}."
            blame = at if report.blame is None else report.blame
            self.report = report = CheckReport([*report.blocks, stopped], blame=blame, blame_text=text, subject=report.subject)
        elif self.changes and report.ok:
            notes = (*notes, "The check does not see it, for the change is smaller than its tolerance.")
        elif self.changes and report.blame not in self.at:
            notes = (*notes, "The check does not blame the mistake, for something else is wrong here or cannot be judged: see right.check().")
        report.notes = notes
        return report

    def _closer(self, report: CheckReport, options: dict[str, Any]) -> CheckReport:
        """The report with an ``atol`` below the change, where that blames the mistake; otherwise the one that there is."""
        gaps = [
            float(np.max(np.abs(n.cotangent - r.cotangent), initial=0.0))
            for n in self.changed
            if (r := self.right.nodes[n.id]).cotangent is not None and n.cotangent is not None
        ]
        small = min((gap for gap in gaps if gap > 0), default=0.0) * 1e-3
        again = super().check(**options, atol=small)
        if again.kind == "mismatch" and again.blame in self.at:
            again.notes = (*again.notes, f"The change is below the usual tolerance; it was looked for with atol={small:.1g}.")
            return again
        self.report = report
        return report

    # ---- beside the right run ----------------------------------------------------------------------------------

    def show(self, *, step: int | None = None, theme: str = "auto", alone: bool = False, **options: Any) -> Any:
        """The right run and this one in two linked steppers, open where they part, with what the checks say of each.

        ``step`` is a position in this run. ``alone``: this run in a stepper of its own, with the options of :meth:`Trace.show`.
        """
        if alone:
            return super().show(theme=theme, **options, **({} if step is None else {"step": step}))
        if options:
            raise OptionTypeError(f"show: two linked steppers take step= and theme=, got {', '.join(options)}; alone=True takes them all")
        return self._beside(step, theme)

    def to_html(
        self, path: str | PathLike[str] | None = None, *, step: int | None = None, theme: str = "auto", alone: bool = False, **options: Any
    ) -> str:
        """One page with the right run and this one side by side, stepped together; with ``alone=True`` the page of :meth:`Trace.to_html`."""
        if alone:
            return super().to_html(path, step=step, theme=theme, **options)
        if options:
            raise OptionTypeError(f"to_html: a page of two runs takes step= and theme=, got {', '.join(options)}; alone=True takes them all")
        return self._beside(step, theme).to_html(path)

    def _beside(self, step: int | None, theme: str) -> Pair:
        from tensorviz.widgets.pair import aligned, pair

        if len(self.nodes) <= _CHECKED:
            for run in (self.right, self):
                if run.report is None:
                    run.check()
        steps = aligned(self.right, self, ((i, i) for i in range(len(self.nodes))))
        first = self.comparison.first
        if step is None and first is not None and first.steps[0] is not None:
            start = first.steps[0]
        else:
            wanted = (self.parts_at or 0) if step is None else step
            start = max((i for i, j in steps if j <= wanted), default=0)
        return pair(self.right, self, steps=steps, names=("the right engine", f"with {self.bug}"), step=start, theme=theme)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from tensorviz.display import display_mode, in_kernel

        if display_mode() != "stepper" or not in_kernel():
            return super()._repr_mimebundle_(include, exclude)
        shown: dict[str, Any] = self._beside(None, "auto")._repr_mimebundle_()
        told = "".join(f"<p>{html.escape(line)}</p>" for line in (self.headline, self.wrong))
        return {**shown, "text/plain": str(self), "text/html": told + shown["text/html"]}

    def __str__(self) -> str:
        lines = [self.headline, f"What the wrong engine does: {self.wrong}"]
        seen = dict.fromkeys(k for k in (self.acts_at, self.parts_at) if k is not None)
        lines += [f"Step {k}: {self.steps[k].caption}" for k in seen]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<{super().__repr__()}, with {self.bug}>"


def _rounding(node: TraceNode) -> float:
    """What may be left of the sum of a node's shares where it should cancel."""
    shares = [np.abs(s.local[np.isfinite(s.local)]) for s in node.shares if s.local.dtype.kind == "f"]
    return 4 * sum(float(np.sum(a, dtype=float)) * float(np.finfo(a.dtype).eps) for a in shares)


def _listed(words: list[str]) -> str:
    words = list(dict.fromkeys(words))
    if len(words) > 5:
        words = [*words[:4], f"{len(words) - 4} more"]
    return _joined(words)


def _joined(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
