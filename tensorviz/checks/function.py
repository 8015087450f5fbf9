"""gradcheck: the gradients of a function against differences of the function itself. Imports the engine; no view or widget."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from types import FunctionType
from typing import Any

import numpy as np

from tensorviz.arguments import function, number, shown
from tensorviz.checks.blame import KINKED, blame_text, born, excused, is_wrong
from tensorviz.checks.chance import undrawn
from tensorviz.checks.differences import CODE, Floats, Judged, Ruler, scale_of
from tensorviz.checks.graph import Graph
from tensorviz.checks.local import AGAIN, NOT_LINEAR, UNSTEADY, check_rule
from tensorviz.checks.problems import Moved
from tensorviz.checks.quick import Plan, every, look, plan
from tensorviz.checks.replayed import within
from tensorviz.checks.report import Block, CheckReport, block, single
from tensorviz.checks.run import BUDGET
from tensorviz.checks.search import Outcome, along
from tensorviz.checks.stale import overwritten
from tensorviz.checks.subject import Subject, agrees, read, title
from tensorviz.engine import tensor as tensors
from tensorviz.engine.aside import Aside
from tensorviz.engine.mode import enable_grad
from tensorviz.engine.record import Pass
from tensorviz.engine.stale import refuse_stale
from tensorviz.engine.sweep import reachable, sweep
from tensorviz.engine.tensor import Tensor, tensor
from tensorviz.errors import CheckError, GraphError, RuleError
from tensorviz.trace import Trace

ELEMENTS = 4096
"""An input of more elements is checked along random directions and at a few elements."""
_SEED = 20_240_229


def gradcheck(
    f: Callable[..., Any], *inputs: Any, eps: float | None = None, atol: float = 1e-5, rtol: float = 1e-3, raise_exception: bool = True
) -> CheckReport:
    """Compare the gradients of ``f`` with central differences of ``f``.

    ``inputs``: arrays, Tensors or floats; every float input is checked, in float64 (narrower ones are promoted). Integers
    among floats are passed on as they are; alone they cannot be checked. ``f`` may return a Tensor or a tuple, list or dict
    of them. Its outputs are weighted with a random cotangent (1 if f returns one number): rows hold the derivatives of
    ``sum(cotangent * f)``. A derivative is ok when |a - n| <= atol + rtol max(|a|, |n|). ``eps``: the first step relative to
    max(1, |x|); chosen from the scale of x if None.

    Leaves ``.grad``, the grad mode, the global random state and the caller's arrays as they were. Returns the report, or
    raises :class:`CheckError` with its text (and the report as ``.report``); with ``raise_exception=False`` it always returns.

    >>> import numpy as np, tensorviz as tv
    >>> gradcheck(lambda x: (np.tanh(x) * x).sum(), np.array([0.5, -1.0])).ok
    True
    """
    function("gradcheck", "its first argument", f)
    ruler = Ruler(
        atol=number("gradcheck", "atol", atol, least=0),
        rtol=number("gradcheck", "rtol", rtol, least=0),
        eps=None if eps is None else number("gradcheck", "eps", eps, above=0, finite=True),
    )
    with undrawn(), enable_grad(), np.errstate(all="ignore"), Aside() as aside:
        report = _Call(f, inputs, ruler, aside).report()
    if raise_exception and not report.ok:
        error = CheckError(str(report))
        error.report = report
        raise error
    return report


class _Unsteady(Exception):  # noqa: N818 - a signal inside this module
    """f returned outputs of other shapes than at the point itself."""


class _Call:
    """One function with its inputs."""

    def __init__(self, f: Callable[..., Any], inputs: Sequence[Any], ruler: Ruler, aside: dict[Any, Any]) -> None:
        self.f, self.given, self.ruler, self.aside = f, inputs, ruler, aside
        self.names = _names(f, inputs)
        self.refused: list[Block] = []
        self.points: dict[int, Floats] = {}
        integers = []
        for k, value in enumerate(inputs):
            array = _numbers(value)
            if array is None:
                continue
            if array.dtype.kind == "f":
                self.points[k] = np.array(array, dtype=np.float64)
            elif array.dtype.kind in "iub":
                integers.append((k, array.dtype))
            else:
                self.refused.append(
                    single(None, "function", k, self.names[k], "input", f"dtype {array.dtype} has no gradient here: pass real floats")
                )
        if not self.points and not self.refused:
            for k, dtype in integers:
                self.refused.append(
                    single(
                        None,
                        "function",
                        k,
                        self.names[k],
                        "input",
                        f"integers have no derivative (dtype {dtype}): pass floats, e.g. 1.0 instead of 1",
                    )
                )
            if not integers:
                self.refused.append(single(None, "function", None, "f", "input", "no input is an array of floats: there is nothing to move"))
        self.simple = not any(isinstance(v, Tensor) for k, v in enumerate(inputs) if k not in self.points)
        """No Tensor among the inputs that are passed on, which f might write to."""
        self.plain = False
        """Evaluate f on arrays rather than Tensors: the same numbers, faster."""
        self.excuses = True
        """Look beside the point before a mismatch at a kink is called one."""
        self.recorded = False
        """Evaluate f on Tensors that require a gradient, because it runs a backward pass of its own."""
        self.stopped: Exception | None = None
        """What f raised, or :class:`_Unsteady`, somewhere beside the point; a shorter step, or one to the other side, may do all the same."""

    def arguments(self, points: Mapping[int, Floats], make: Callable[[int, Floats], Any]) -> list[Any]:
        found = []
        for k, value in enumerate(self.given):
            if k in points:
                found.append(make(k, points[k]))
            elif isinstance(value, Tensor):
                found.append(tensor(value.numpy()))
            else:
                found.append(value.copy() if isinstance(value, np.ndarray) else value)
        return found

    def called(self, *args: Any) -> Any:
        """What f returns; it finds the same gradients at every call, whatever it added to them at the last."""
        self.aside.clear()
        return self.f(*args)

    def value(self, points: Mapping[int, Floats]) -> list[Any]:
        """The float outputs at other points, as arrays."""

        def made() -> list[Any]:
            return self.arguments(points, lambda _, x: (x.copy() if x.ndim else x[()]) if self.plain else tensor(x, requires_grad=self.recorded))

        try:
            result = self.called(*made())
        except GraphError:
            if self.plain or self.recorded:
                raise
            self.recorded = True
            result = self.called(*made())
        return [np.array(v.numpy() if isinstance(v, Tensor) else v) for v in _floats(result)]

    def beside(self, points: Mapping[int, Floats], base: Floats) -> Floats:
        """The outputs in a row; NaN where f has none, as beyond the end of its domain."""
        try:
            return self.flat(points)
        except (_Unsteady, ValueError, ArithmeticError, AssertionError) as error:
            self.stopped = error
            return np.full(len(base), np.nan)

    def flat(self, points: Mapping[int, Floats]) -> Floats:
        if self.plain and self.simple and len(self.shapes) == 1:  # the common case, without the detours
            given = list(self.given)
            for k, x in points.items():
                given[k] = x.copy() if x.ndim else x[()]
            result = self.called(*(v.copy() if isinstance(v, np.ndarray) and k not in points else v for k, v in enumerate(given)))
            if isinstance(result, Tensor):  # of Tensors that f holds itself
                result = result.numpy()
            if isinstance(result, (np.ndarray, np.floating)):
                if result.shape != self.shapes[0]:
                    raise _Unsteady
                return np.array(result, dtype=np.float64).reshape(-1)
            outputs = [np.asarray(v.numpy() if isinstance(v, Tensor) else v) for v in _floats(result)]
        else:
            outputs = self.value(points)
        if [o.shape for o in outputs] != self.shapes:
            raise _Unsteady
        if len(outputs) == 1:
            return np.asarray(outputs[0], dtype=np.float64).reshape(-1)
        return np.concatenate([np.asarray(o, dtype=np.float64).reshape(-1) for o in outputs])

    def report(self) -> CheckReport:
        subject = f"gradcheck of {getattr(self.f, '__name__', type(self.f).__name__)}"
        if self.refused:
            return CheckReport(self.refused, subject=subject)
        leaves = {k: tensor(x, requires_grad=True, name=self.names[k]) for k, x in self.points.items()}
        result = self.called(*self.arguments(self.points, lambda k, _: leaves[k]))
        outputs = _floats(result)
        arrays = [np.array(o.numpy() if isinstance(o, Tensor) else o) for o in outputs]
        if not arrays:
            return CheckReport([single(None, "function", None, "f", "input", _no_floats(result))], subject=subject)
        self.shapes = [a.shape for a in arrays]
        unsteady = self._unsteady(arrays)
        if unsteady is not None:
            return CheckReport([unsteady], subject=subject)
        weights = _cotangent(arrays)
        # f may cast to a narrow dtype inside; what comes out is then no more exact than that
        self.ruler = replace(self.ruler, unit=max(float(np.finfo(a.dtype).eps) for a in arrays))
        try:
            gradients, passed = self._pull(outputs, leaves, weights)
            again, _ = self._pull(outputs, leaves, [w * AGAIN for w in weights])
        except RuleError as error:
            return CheckReport([single(None, "function", None, "f", "mismatch", str(error))], subject=subject)
        base = np.concatenate([a.astype(np.float64).reshape(-1) for a in arrays])
        flat_weights = np.concatenate([w.reshape(-1) for w in weights])
        trace = Trace(passed.build)
        blocks = []
        try:
            graph = Graph.of(passed) if all(isinstance(o, Tensor) and o.requires_grad for o in outputs) else None
            quick = {} if graph is None else self._at_once(graph, leaves, gradients, again, outputs, flat_weights)
            for k, x in self.points.items():
                if k in quick:
                    blocks.append(self._block(k, graph.ids[leaves[k]._current()], quick[k]))  # type: ignore[union-attr]
                elif x.size:
                    blocks.append(self._operand(k, x, leaves[k], gradients[k], again[k] / AGAIN, base, flat_weights, trace))
        except _Unsteady as error:
            self.stopped = error
        # where shorter steps, which select the same, told all of it, the longer ones do not matter
        told = len(blocks) == len(self.points) and all(b.code == CODE["ok"] and not any(b.reasons) for b in blocks)
        if isinstance(self.stopped, _Unsteady) and not told and not any(b.code == CODE["mismatch"] for b in blocks):
            return CheckReport([single(None, "function", None, "f", "input", "the shape of the result changes as an input moves")], subject=subject)
        if self.stopped is not None and any(b.code == CODE["undefined"] for b in blocks):
            raise self.stopped
        # where the graph stood in for f throughout, f has just given what the graph gives, to both sides of the point
        unsteady = None if len(quick) == len(blocks) else self._unsteady(arrays)
        if unsteady is not None:
            return CheckReport([unsteady], subject=subject)
        if any(NOT_LINEAR in b.reasons for b in blocks):
            third, _ = self._pull(outputs, leaves, [w * AGAIN for w in weights])
            if not all(agrees(third[k], again[k]) for k in third):
                said = "the gradient is another one each time the backward pass runs: a rule draws random numbers, or keeps count of its calls"
                blocks = [single(None, "function", None, "f", "nondeterministic", said)]
        blame, said, notes = self._blame(trace, blocks)
        report = CheckReport(blocks, blame=blame, blame_text=said, subject=subject, notes=notes, trace=trace)
        if "undefined" in report.counts:
            report.notes += born(Subject(trace.data, self.ruler, BUDGET, _SEED), report.counts)
        return report

    def _unsteady(self, arrays: list[Any]) -> Block | None:
        """A row that says so if f does not give the same outputs every time; also finds out whether f may run on arrays."""
        if self._on_arrays(arrays):  # the very same numbers: that f is steady is shown as well
            self.plain = True
            return None
        self.plain = False
        return None if self._same(self.value(self.points), arrays) else _random()

    def _on_arrays(self, arrays: list[Any]) -> bool:
        """f gives to arrays what it gave to Tensors, to the bit."""
        self.plain = True
        try:
            outputs = self.value(self.points)
        except Exception:  # noqa: BLE001 - f needs Tensors, for whatever reason; then it gets them
            return False
        return len(outputs) == len(arrays) and all(
            a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b, equal_nan=True) for a, b in zip(outputs, arrays, strict=True)
        )

    def _same(self, outputs: list[Any], arrays: list[Any]) -> bool:
        return [o.shape for o in outputs] == self.shapes and all(agrees(a, b) for a, b in zip(outputs, arrays, strict=True))

    def _pull(self, outputs: Sequence[Any], leaves: Mapping[int, Tensor], weights: Sequence[Floats]) -> tuple[dict[int, Floats], Pass]:
        """The gradients of the leaves, by input, and what the pass leaves behind; ``.grad`` of nothing is touched."""
        roots = [(o._current(), w) for o, w in zip(outputs, weights, strict=True) if isinstance(o, Tensor) and o.requires_grad]
        nodes = [n for n, _ in roots]
        seeds = [np.array(w, dtype=n.value.dtype)[()] for n, w in roots]
        ops, ends = reachable(nodes)
        if tensors.changes.any:
            refuse_stale(ops)
        pulled: list[tuple[Any, ...]] = []
        totals = dict(zip(ends, sweep(ops, list(zip(nodes, seeds, strict=True)), ends, pulled), strict=True))
        gradients = {}
        for k, leaf in leaves.items():
            total = totals.get(leaf._current())
            gradients[k] = np.zeros(leaf.shape) if total is None else np.array(total, dtype=np.float64)
        return gradients, Pass(nodes, seeds, ops, pulled, {}, {})

    def _operand(self, k: int, x: Floats, leaf: Tensor, gradient: Floats, again: Floats, base: Floats, weights: Floats, trace: Trace) -> Block:
        points = dict(self.points)

        def f(stack: Floats) -> Floats:
            rows = []
            for value in stack[:-1]:
                points[k] = value
                rows.append(self.beside(points, base))
            return np.array([*rows, base])

        def problem(moves: Any) -> Moved:
            return Moved(f, x, moves, weights, base, within=lambda stack: carried()(stack))

        @cache
        def carried() -> Callable[[Floats], Floats]:
            try:
                node = trace.node(leaf).id
            except KeyError:
                return lambda stack: np.zeros(len(stack))
            subject = Subject(trace.data, self.ruler, BUDGET, _SEED)
            return within(subject, node, subject.downstream(node))

        room = np.full(x.size, np.inf)
        rng = partial(np.random.default_rng, [_SEED, k])
        given: Any = True
        node: int | None = None
        if np.isinf(x).any():
            with suppress(KeyError):
                given = read(trace.node(leaf))
        judged, where, analytic, note = along(problem, gradient, x, room, self.ruler, cost=1.0, budget=ELEMENTS, rng=rng, given=given)
        at = np.asarray(where)
        analytic = _linear(judged, at, analytic, again.reshape(-1), self.ruler)
        try:
            node = trace.node(leaf).id
        except KeyError:
            lost = "no gradient reaches this input, though the result depends on it: the graph is cut between them"
            judged.reason = [lost if v == CODE["mismatch"] else r for v, r in zip(judged.verdict, judged.reason, strict=True)]
        return self._block(k, node, (judged, where, analytic, note))

    def _block(self, k: int, node: int | None, outcome: Outcome) -> Block:
        judged, where, analytic, note = outcome
        name = f"input {k}" if self.names[k].startswith("input") else f"input {k}, {self.names[k]}"
        return block(node, "function", k, name, self.points[k].shape, where, analytic, judged, self.ruler, note)

    def _at_once(
        self,
        graph: Graph,
        leaves: Mapping[int, Tensor],
        gradients: Mapping[int, Floats],
        again: Mapping[int, Floats],
        outputs: Sequence[Tensor],
        weights: Floats,
    ) -> dict[int, Outcome]:
        """The outcomes of the inputs that are right at first sight, found by running the recorded graph on stacks instead of f row by row.

        What f computes beside the graph would be missed so. Therefore f itself is called where all inputs have moved at once,
        to both sides, by the steps that are used: there it must give what the graph gives.
        """
        plans = self._plans({k: x for k, x in self.points.items() if x.size and leaves[k]._current() in graph.ids}, gradients, again)
        ids = {k: graph.ids[leaves[k]._current()] for k in plans}
        roots = [graph.ids[o._current()] for o in outputs]
        if not graph.reaches(ids.values(), roots):
            return {}
        if not self._is(graph, plans, ids, roots):
            if not self.plain:
                return {}
            # NumPy may read half of an array only, where a rule of ours reads all: of a matrix that must be symmetric, say
            self.plain = False
            if not self._is(graph, plans, ids, roots):
                return {}
        found: dict[int, Outcome] = {}
        for group in graph.groups({k: 2 * len(p.h) for k, p in plans.items()}):
            pair = graph.pair([(ids[k], plans[k]) for k in group], roots, weights)
            if pair is not None:
                looked = look([plans[k] for k in group], pair, self.ruler)
                found.update({k: outcome for k, outcome in zip(group, looked, strict=True) if outcome is not None})
        return found

    def _plans(self, points: Mapping[int, Floats], gradients: Mapping[int, Floats], again: Mapping[int, Floats]) -> dict[int, Plan]:
        """What is looked at of those inputs that a closer look is not needed for: all is finite, and a second cotangent says the same."""
        if not points:
            return {}
        first = np.concatenate([gradients[k].reshape(-1) for k in points])
        second = np.concatenate([again[k].reshape(-1) for k in points]) / AGAIN
        linear = np.abs(second - first) <= self.ruler.allowed(first, second)
        ends = np.cumsum([x.size for x in points.values()]).tolist()
        sound = [k for k, x, end in zip(points, points.values(), ends, strict=True) if linear[end - x.size : end].all()]
        small = [k for k in sound if points[k].size <= ELEMENTS]
        found = dict(zip(small, every([gradients[k] for k in small], [points[k] for k in small], self.ruler), strict=True))
        for k in sound:
            if k not in found:
                x, rng = points[k], partial(np.random.default_rng, [_SEED, k])
                found[k] = plan(gradients[k], x, np.full(x.size, np.inf), self.ruler, cost=1.0, budget=ELEMENTS, rng=rng)
        return {k: p for k in sound if (p := found[k]) is not None}

    def _is(self, graph: Graph, plans: Mapping[int, Plan], ids: Mapping[int, int], roots: Sequence[int]) -> bool:
        """Whether f gives what the graph gives, with all inputs moved: along one direction, to both sides of the point, since whatever f computes beside its graph moves along any."""
        x = np.concatenate([p.x.reshape(-1) for p in plans.values()])
        way = np.random.default_rng(_SEED).uniform(-0.5, 0.5, x.size)
        steps = (way + np.copysign(0.5, way)) * np.concatenate([p.h if p.picked is None else np.full(p.x.size, p.h[-1]) for p in plans.values()])
        both = np.stack([x + steps, x - steps])
        stacks: dict[int, Floats] = {}
        points: list[dict[int, Floats]] = [dict(self.points), dict(self.points)]
        start = 0
        for k, p in plans.items():
            stack = stacks[ids[k]] = both[:, start : (start := start + p.x.size)].reshape(2, *p.x.shape)
            for point, moved in zip(points, stack, strict=True):
                point[k] = np.asarray(moved)
        graph.stacked.trusting = True  # what comes out is compared with f itself
        outputs = graph.run(stacks, roots)
        graph.stacked.trusting = False
        return all(agrees(self.beside(point, row), row) for point, row in zip(points, outputs, strict=True))

    def _blame(self, trace: Trace, blocks: list[Block]) -> tuple[int | None, str, tuple[str, ...]]:
        """Where a mismatch comes from: the node whose rule is wrong by itself, or what cuts the graph. A wrong rule behind what differences of f cannot judge is added to the blocks."""
        worst = min([b.code for b in blocks], default=CODE["ok"])
        if worst not in (CODE["mismatch"], CODE["nondeterministic"], CODE["nonsmooth"], CODE["noise"]):
            return None, "", ()
        data = trace.data
        subject = Subject(data, self.ruler, BUDGET, _SEED)
        rules = [b for n in reversed(data.nodes) for b in check_rule(subject, n.id)]
        found = [b for b in rules if is_wrong(b)]
        if found:
            if worst > CODE["nondeterministic"]:
                blocks += found
            blame = found[0].node
            said = blame_text(data, found, blame)
            return blame, " ".join(part for part in (said, "" if blame is None or UNSTEADY in said else overwritten(subject, blame)) if part), ()
        if worst != CODE["mismatch"]:
            return None, "", ()
        if any(b.code == CODE["noise"] for b in rules) and not any(NOT_LINEAR in b.reasons for b in blocks):
            for k, b in enumerate(blocks):
                blocks[k] = excused(b, "noise", "round-off inside f hides the derivative: every rule is right by itself")
            return None, "", ()
        if (
            self.excuses
            and any(b.code == CODE["nonsmooth"] for b in rules)
            and not any(NOT_LINEAR in b.reasons for b in blocks)
            and self._right_beside()
        ):
            for k, b in enumerate(blocks):
                blocks[k] = excused(b, "nonsmooth", KINKED)
            return None, "", ()
        cuts = [n for n in data.nodes if n.kind == "detached"]
        if cuts:
            where = f" ({cuts[0].source})" if cuts[0].source else ""
            return (
                None,
                "",
                (
                    f"Every rule is right by itself. The graph is cut at {title(cuts[0])}, node {cuts[0].id}{where}: differences see what flows there, the gradient does not.",
                ),
            )
        return (
            None,
            "",
            ("Every rule is right by itself, so part of what f computes is not in the graph: plain arrays, .data, .numpy() or no_grad inside f.",),
        )

    def _right_beside(self) -> bool:
        """Whether the gradient is right a little away from the point, where no rule stands at a kink; what f computes beside its graph is wrong there as well."""
        rng = np.random.default_rng(_SEED)
        beside = list(self.given)
        for k, x in self.points.items():
            beside[k] = np.asarray(
                x + rng.uniform(0.5, 1.5, x.shape) * rng.choice([-1.0, 1.0], x.shape) * 2.0**-10 * np.maximum(np.abs(x), scale_of(x))
            )
        call = _Call(self.f, beside, self.ruler, self.aside)
        call.excuses = False
        return bool(call.report().ok)


def _no_floats(result: Any) -> str:
    if isinstance(result, (Tensor, np.ndarray, np.generic, int)):
        return f"f returns no floats but {shown(result)}: integers and booleans have no derivative"
    return f"f returned {shown(result)}, expected a Tensor or array of floats, or a tuple, list or dict of them; is there a return in f?"


def _random() -> Block:
    said = "f gives another result each time it is called with the same inputs: fix its seed, or pass the random numbers in"
    return single(None, "function", None, "f", "nondeterministic", said)


def _linear(judged: Judged, where: Any, analytic: Floats, again: Floats, ruler: Ruler) -> Floats:
    """The analytic values, with those of a second cotangent in their place where the two contradict each other."""
    elements = where >= 0
    other = np.where(elements, again[where], analytic)
    with np.errstate(invalid="ignore"):
        off = np.abs(other - analytic) > ruler.allowed(analytic, other)
    for i in np.flatnonzero(off & (judged.verdict != CODE["undefined"])):
        judged.verdict[i] = CODE["mismatch"]
        judged.reason[i] = NOT_LINEAR
        if abs(analytic[i] - judged.numeric[i]) <= abs(other[i] - judged.numeric[i]):
            analytic = np.where(np.arange(len(analytic)) == i, other, analytic)
    return analytic


def _numbers(value: Any) -> Any:
    """An input as an array; None for what is no array of numbers (a string, an object, None)."""
    if isinstance(value, Tensor):
        return value.numpy()
    if isinstance(value, (np.ndarray, np.generic, bool, int, float, complex)):
        array = np.asarray(value)
        return array if array.dtype.kind in "fiubc" else None
    if isinstance(value, (list, tuple)) and value:
        try:
            array = np.asarray(value)
        except ValueError:
            return None
        return array if array.dtype.kind == "f" else None
    return None


def _names(f: Callable[..., Any], inputs: Sequence[Any]) -> list[str]:
    if type(f) is FunctionType and not f.__dict__:  # what a signature would say, at a tenth of its price
        parameters = list(f.__code__.co_varnames[: f.__code__.co_argcount])
    else:
        try:
            parameters = [p.name for p in inspect.signature(f).parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        except (TypeError, ValueError):
            parameters = []
    return [
        (value.name if isinstance(value, Tensor) and value.name else parameters[k] if k < len(parameters) else f"input {k}")
        for k, value in enumerate(inputs)
    ]


def _floats(result: Any) -> list[Any]:
    """The float outputs in whatever f returned, in order."""
    if isinstance(result, Mapping):
        return [v for part in result.values() for v in _floats(part)]
    if isinstance(result, (tuple, list)):
        return [v for part in result for v in _floats(part)]
    if isinstance(result, Tensor):
        return [result] if result.dtype.kind == "f" else []
    if isinstance(result, (np.ndarray, np.generic, float)):
        return [result] if np.asarray(result).dtype.kind == "f" else []
    return []


def _cotangent(arrays: Sequence[Any]) -> list[Floats]:
    """1 for a single number; otherwise random weights of both signs, none near zero."""
    if sum(a.size for a in arrays) == 1:
        return [np.ones(a.shape) for a in arrays]
    rng = np.random.default_rng(_SEED)
    return [rng.uniform(0.5, 1.5, a.shape) * rng.choice([-1.0, 1.0], a.shape) for a in arrays]
