"""Checks a whole trace: lays out the jobs, spreads them over an executor if there is one, and puts the blame. Imports no view or widget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, as_completed
from time import perf_counter
from typing import Any, Literal, NamedTuple

import numpy as np

from tensorviz.arguments import number, shown, whole
from tensorviz.checks.chance import undrawn
from tensorviz.checks.differences import Ruler
from tensorviz.checks.local import check_rules
from tensorviz.checks.replayed import CALL, check_gradients, check_total, price
from tensorviz.checks.report import Block, CheckReport, single
from tensorviz.checks.search import ALWAYS, DIRECTIONS, SAMPLES
from tensorviz.checks.subject import SMALL, Stopped, Subject, title, unwatched
from tensorviz.checks.tally import Tally
from tensorviz.engine.op import REGISTRY
from tensorviz.errors import DTypeError, TensorvizError
from tensorviz.progress import Progress, Told, teller
from tensorviz.trace import Trace, TraceData

BUDGET = 2.0**18
"""Array elements that may be computed for one array before it is sampled instead: about a millisecond's work."""
WHOLE = 2.0**11
"""How many budgets all global checks together may take: about three seconds. Beyond it leaves go first, the rest is skipped, and said to be."""

SOON = 1.0
"""Seconds; what is checked so that a cell can show it takes about a tenth of one."""
TOGETHER = 32
"""Nodes that are checked in one piece of work at most."""
_ROWS = 2.0**18
"""Array elements of the largest results that one piece of work holds, of all of its rows together: 2 MB."""

Found = dict[int, list[Block]]
Kind = Literal["rules", "gradients"]


class Job(NamedTuple):
    """One piece of work: the rules of some nodes, or their gradients."""

    kind: Kind
    nodes: tuple[int, ...]

    def run(self, subject: Subject) -> Found:
        """Blocks by node."""
        # Numbers at the end of their range are a verdict here and no error, whatever the user has asked of NumPy elsewhere.
        with np.errstate(all="ignore"):
            if self.kind == "gradients":
                return check_gradients(subject, self.nodes)
            found = check_rules(subject, self.nodes)
            return {i: [*blocks, *check_total(subject, i)] for i, blocks in found.items()}


def check(
    trace: Trace,
    *,
    nodes: Any = "all",
    eps: float | None = None,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    budget: float | None = BUDGET,
    executor: Executor | None = None,
    progress: Progress | None = None,
    seed: int = 0,
) -> CheckReport:
    """Compare every gradient in a trace with finite differences, op by op (*local*) and from the root (*global*).

    A local row compares one share of one op with central differences of that op's forward alone, at the recorded operands,
    weighted with the recorded gradient of its result. A global row compares the gradient of a node with central differences
    of the root, found by replaying what lies downstream. A derivative is ok when |a - n| <= atol + rtol max(|a|, |n|).
    float32 is replayed in float64. The global random state stays as it was, whatever ops of your own draw from it.

    ``nodes``: ``"all"``, or keys as :meth:`Trace.node` takes them. ``eps``: the first step relative to max(1, |x|), chosen
    from the scale of x if None. ``budget``: array elements that may be computed to check one array element by element;
    beyond it a random direction, in which all elements move, and a few elements are checked (None: always every element). ``executor``: any
    :class:`concurrent.futures.Executor`, a Dask client's ``client.get_executor()`` among them; the rows do not depend on it,
    and what it loses is done in this process, and said in ``report.notes``. ``progress``: called with (done, total), counted
    in rules and gradients; a bar such as ``tqdm.tqdm()``; or True for one of text on stderr. ``seed``: of the random directions.

    >>> import tensorviz as tv
    >>> x = tv.tensor([1.0, 2.0, 3.0], requires_grad=True, name="x")
    >>> report = check((x * x).sum().backward())
    >>> report.ok, report.kind, report.blame
    (True, 'ok', None)
    """
    if executor is not None and (isinstance(executor, type) or not callable(getattr(executor, "submit", None))):
        raise DTypeError(f"check: executor must be a concurrent.futures.Executor or None, got {shown(executor)}")
    tell = teller("check", progress, "checked")
    subject = subject_of(trace, eps=eps, atol=atol, rtol=rtol, budget=budget, seed=seed)
    return _checked(subject, _chosen(trace, nodes), executor, tell)


def check_soon(trace: Trace) -> CheckReport | None:
    """The same for whoever waits for it; None where ops of the user's own make it take longer than SOON."""
    end = perf_counter() + SOON

    def watch() -> None:
        if perf_counter() > end:
            raise Stopped

    own = any(n.kind == "op" and not _importable(n.op) for n in trace.nodes)
    try:
        return _checked(subject_of(trace, watch=watch if own else unwatched), _chosen(trace, "all"), None, None)
    except Stopped:
        return None


def _checked(subject: Subject, chosen: list[int], executor: Executor | None, tell: Told | None) -> CheckReport:
    plan = plan_of(subject, chosen, WHOLE * subject.budget)
    jobs = jobs_of(subject, plan)
    notes: list[str] = []
    with undrawn():
        found = _spread(subject, jobs, executor, tell, notes) if executor is not None else _here(subject, jobs, tell)
    order = sorted({i for part in found for i in part}, reverse=True)
    by_node: Found = {i: [] for i in order}
    for part in found:  # rules come before gradients
        for i, blocks in part.items():
            by_node[i] += blocks
    tally = Tally(subject)
    tally.add([*(b for i in order for b in by_node[i]), *plan.skipped])
    tally.explain()
    return tally.report(tuple(notes))


def subject_of(
    trace: Trace,
    *,
    eps: float | None = None,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    budget: float | None = BUDGET,
    seed: int = 0,
    watch: Callable[[], None] = unwatched,
) -> Subject:
    """What a check with these options works on; they are those of :func:`check`, and ``watch``, which is called before each op that runs."""
    ruler = Ruler(
        atol=number("check", "atol", atol, least=0),
        rtol=number("check", "rtol", rtol, least=0),
        eps=None if eps is None else number("check", "eps", eps, above=0, finite=True),
    )
    most = np.inf if budget is None else number("check", "budget", budget, above=0)
    return Subject(trace.data, ruler, most, whole("check", "seed", seed), watch)


def _chosen(trace: Trace, nodes: Any) -> list[int]:
    if isinstance(nodes, str) and nodes == "all":
        return list(range(len(trace.nodes)))
    keys = nodes if isinstance(nodes, (list, tuple, set, frozenset, range)) else [nodes]
    return sorted({trace.node(key).id for key in keys})


class Plan(NamedTuple):
    """What is to be checked, newest node first."""

    rules: list[int]
    gradients: list[int]
    skipped: list[Block]
    """For the gradients that would take too long; of the newest node last."""


def plan_of(subject: Subject, chosen: list[int], allowance: float) -> Plan:
    """What is to be checked of the chosen nodes, and what does not fit into the allowance."""
    nodes = subject.nodes
    picked = set(chosen)
    rules = picked | {c for i in chosen for c in subject.exact.consumers[i]}
    reached = [i for i in chosen if nodes[i].shares and subject.finished(i)]
    cheap = _bound(subject, reached) <= allowance
    prices = (
        dict.fromkeys(reached, 0.0)
        if cheap
        else {i: price(subject, i, subject.downstream(i)) for i in reached}
        if len(nodes) <= SMALL
        else _bounds(subject, reached)
    )
    spent, affordable = 0.0, set()
    for i in sorted(reached, key=lambda i: (nodes[i].kind == "op", prices[i])):
        spent += prices[i]
        if spent <= allowance:
            affordable.add(i)
    reason = "too much to replay: all global checks together would pass 2**11 budgets; name it in nodes=, or raise budget="
    skipped = [single(i, "global", None, title(nodes[i]), "skipped", reason) for i in reached if i not in affordable]
    return Plan(sorted(rules, reverse=True), sorted(affordable, reverse=True), skipped)


def jobs_of(subject: Subject, plan: Plan) -> list[Job]:
    """The work, in pieces that are not too large."""
    work: list[tuple[Kind, list[int], Callable[[int], float]]] = [
        ("rules", plan.rules, lambda _: 0.0),
        ("gradients", plan.gradients, rows_of(subject)),
    ]
    found: list[Job] = []
    for kind, ids, size in work:
        start = 0
        while start < len(ids):
            found.append(group(kind, ids, start, size))
            start += len(found[-1].nodes)
    return found


def group(kind: Kind, ids: Sequence[int], start: int, size: Callable[[int], float], most: int = TOGETHER) -> Job:
    """From one place on as many neighbours as are not too large together."""
    end, held = start + 1, size(ids[start])
    while end < len(ids) and end - start < most and (held := held + size(ids[end])) <= _ROWS:
        end += 1
    return Job(kind, tuple(ids[start:end]))


def rows_of(subject: Subject) -> Callable[[int], float]:
    """How many array elements the rows of a node's global check are where the graph is widest; an upper bound."""
    nodes = subject.nodes
    widest = max([n.value.size for n in nodes if n.cotangent is not None], default=1)

    def size(i: int) -> float:
        n = nodes[i].value.size
        cost = subject.cost_of(subject.downstream(i)) if len(nodes) <= SMALL else 2 * subject.costs[i]
        return 2.0 * widest * (n if n <= ALWAYS or n * cost <= subject.budget else DIRECTIONS + SAMPLES)

    return size


def _bound(subject: Subject, ids: list[int]) -> float:
    """The price of all from above: as if everything lay downstream of each."""
    sizes = [n.value.size for n in subject.nodes]
    rows = [
        2 * (n if n <= ALWAYS or 2 * n * sum(subject.costs) <= subject.budget else max(n, DIRECTIONS + SAMPLES)) + 1 for n in (sizes[i] for i in ids)
    ]
    return len(ids) * CALL * len(sizes) + float(sum(rows)) * sum(sizes)


def _bounds(subject: Subject, ids: list[int]) -> dict[int, float]:
    """Prices of a large graph, from above: as if everything younger lay downstream."""
    sizes = np.array([n.value.size for n in subject.nodes], dtype=float)
    younger = np.cumsum(sizes[::-1])[::-1]
    return {i: CALL * (len(sizes) - i) + 2 * younger[i] * min(sizes[i], DIRECTIONS + SAMPLES) for i in ids}


def _here(subject: Subject, jobs: Sequence[Job], tell: Told | None) -> list[Found]:
    found = []
    done, total = 0, sum(len(job.nodes) for job in jobs)
    for job in jobs:
        found.append(job.run(subject))
        done += len(job.nodes)
        if tell is not None:
            tell(done, total)
    return found


def work(data: TraceData, ruler: Ruler, budget: float, seed: int, jobs: Sequence[Job]) -> list[Found]:
    """Some jobs, in whatever process this runs: the blocks of each."""
    subject = Subject(data, ruler, budget, seed)
    return [job.run(subject) for job in jobs]


def _spread(subject: Subject, jobs: list[Job], executor: Executor, tell: Told | None, notes: list[str]) -> list[Found]:
    """The jobs in chunks over an executor; what only this process knows, and what a worker loses, is done here."""
    results: dict[int, Found] = {}
    own = {n.id for n in subject.nodes if n.kind == "op" and not _importable(n.op)}
    tainted = own | ({i for i in range(len(subject.nodes)) if not own.isdisjoint(subject.exact.downstream([i]))} if own else set())
    away = [k for k, job in enumerate(jobs) if (own if job.kind == "rules" else tainted).isdisjoint(job.nodes)]
    count = max(1, 4 * int(getattr(executor, "_max_workers", 0) or 8))
    size = max(1, -(-len(away) // count))
    # neighbours in the graph cost about the same: dealing them out evens the chunks
    chunks = [away[start :: -(-len(away) // size)] for start in range(-(-len(away) // size))] if away else []
    futures: dict[Future[list[Found]], list[int]] = {}
    failed: list[tuple[list[int], BaseException]] = []
    for chunk in chunks:
        try:
            futures[executor.submit(work, subject.data, subject.ruler, subject.budget, subject.seed, [jobs[k] for k in chunk])] = chunk
        except Exception as error:  # noqa: BLE001 - a broken pool raises its own kinds; the work is done here instead, and said
            failed.append((chunk, error))
    done, total = 0, sum(len(job.nodes) for job in jobs)

    def finished(ks: Sequence[int], found: Sequence[Found]) -> None:
        nonlocal done
        results.update(zip(ks, found, strict=True))
        done += sum(len(jobs[k].nodes) for k in ks)
        if tell is not None:
            tell(done, total)

    sent = set(away)
    for k, job in enumerate(jobs):
        if k not in sent:
            finished([k], [job.run(subject)])
    try:
        for future in as_completed(futures):
            chunk = futures[future]
            try:
                finished(chunk, future.result())
            except TensorvizError:
                raise
            except Exception as error:  # noqa: BLE001 - same: a lost worker, or a trace that does not pickle
                failed.append((chunk, error))
    finally:  # an interrupt leaves no work behind
        for future in futures:
            future.cancel()
    lost: dict[str, int] = {}
    for chunk, why in failed:
        reason = f"{type(why).__name__}: {why}"
        lost[reason] = lost.get(reason, 0) + len(chunk)
        for k in chunk:
            finished([k], [jobs[k].run(subject)])
    notes.extend(
        f"{count} piece{' of work that the executor lost was' if count == 1 else 's of work that the executor lost were'} done in this process ({reason})"
        for reason, count in lost.items()
    )
    return [results[k] for k in range(len(jobs))]


def _importable(name: str) -> bool:
    op = REGISTRY.get(name)
    return op is not None and type(op).__module__.startswith("tensorviz.ops.") and not type(op).__module__.endswith("custom")
