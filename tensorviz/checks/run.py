"""Checks a whole trace: lays out the jobs, spreads them over an executor if there is one, and puts the blame. Imports no view or widget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future, as_completed
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from tensorviz.arguments import function, number, shown, whole
from tensorviz.checks.differences import CODE, Ruler
from tensorviz.checks.local import UNSTEADY, check_rules
from tensorviz.checks.progress import Bar, Progress, Told, teller
from tensorviz.checks.replayed import CALL, check_gradients, check_total, price
from tensorviz.checks.report import Block, CheckReport, single
from tensorviz.checks.search import ALWAYS, DIRECTIONS, SAMPLES
from tensorviz.checks.stale import overwritten
from tensorviz.checks.subject import SMALL, Subject, title
from tensorviz.engine.op import REGISTRY
from tensorviz.errors import DTypeError, TensorvizError
from tensorviz.trace import Trace, TraceData

BUDGET = 2.0**18
"""Array elements that may be computed for one array before it is sampled instead: about a millisecond's work."""
WHOLE = 2.0**11
"""How many budgets all global checks together may take: about three seconds. Beyond it leaves go first, the rest is skipped, and said to be."""

_TOGETHER = 32
"""Nodes that are checked in one piece of work at most."""
_ROWS = 2.0**18
"""Array elements of the largest results that one piece of work holds, of all of its rows together: 2 MB."""

Found = dict[int, list[Block]]


class Job(NamedTuple):
    """One piece of work: the rules of some nodes, or their gradients."""

    kind: Literal["rules", "gradients"]
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
    float32 is replayed in float64.

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
    if not isinstance(progress, (bool, type(None), Bar)):
        function("check", "progress", progress)
    subject = subject_of(trace, eps=eps, atol=atol, rtol=rtol, budget=budget, seed=seed)
    jobs, skipped = jobs_of(subject, _chosen(trace, nodes), WHOLE * subject.budget)
    tell = teller(progress)
    notes: list[str] = []
    found = _spread(subject, jobs, executor, tell, notes) if executor is not None else _here(subject, jobs, tell)
    order = sorted({i for part in found for i in part}, reverse=True)
    by_node: Found = {i: [] for i in order}
    for part in found:  # rules come before gradients
        for i, blocks in part.items():
            by_node[i] += blocks
    return report_of(subject, [*(b for i in order for b in by_node[i]), *skipped], notes=tuple(notes))


def subject_of(
    trace: Trace, *, eps: float | None = None, atol: float = 1e-5, rtol: float = 1e-3, budget: float | None = BUDGET, seed: int = 0
) -> Subject:
    """What a check with these options works on; they are those of :func:`check`."""
    ruler = Ruler(
        atol=number("check", "atol", atol, least=0),
        rtol=number("check", "rtol", rtol, least=0),
        eps=None if eps is None else number("check", "eps", eps, above=0, finite=True),
    )
    return Subject(trace.data, ruler, np.inf if budget is None else number("check", "budget", budget, above=0), whole("check", "seed", seed))


def report_of(subject: Subject, blocks: list[Block], notes: tuple[str, ...] = ()) -> CheckReport:
    """The report of a trace's blocks, with the blame."""
    data = subject.data
    wrong = sorted({b.node for b in blocks if b.scope in ("local", "sum") and b.node is not None and is_wrong(b)})
    blame = wrong[-1] if wrong else None
    noisy, kinked = ([b.node for b in blocks if b.scope == "local" and b.node is not None and b.code == CODE[v]] for v in ("noise", "nonsmooth"))
    blocks = [_excused(subject, b, wrong, noisy, kinked) for b in blocks]
    root = ", ".join(data.nodes[r].title for r in data.roots[:3])
    said = blame_text(data, blocks, blame)
    if blame is not None and any(b.node == blame and b.scope == "local" and b.code == CODE["mismatch"] for b in blocks):
        said = " ".join(part for part in (said, overwritten(subject, blame)) if part)
    return CheckReport(blocks, blame=blame, blame_text=said, subject=f"check of {root}", notes=(*notes, *_by_hand(subject), *born(subject, blocks)))


def _by_hand(subject: Subject) -> tuple[str, ...]:
    """A note on shares that were set in a rerun, after which gradients are no derivatives any more."""
    if not subject.set_by_hand:
        return ()
    nodes, most = subject.nodes, 3
    named = [f"that of {title(nodes[s.target])} from {title(nodes[s.consumer])}" for s in subject.set_by_hand[:most]]
    more = f" and {len(subject.set_by_hand) - most} more" if len(subject.set_by_hand) > most else ""
    return (
        (
            f"Shares set by hand: {', '.join(named)}{more}. Gradients that follow from them are no derivatives, so they differ. "
            "Rules are compared by what they gave."
        ),
    )


def is_wrong(b: Block) -> bool:
    """Whether a block of a rule, or of a sum of shares, puts the blame on its node."""
    return b.code == CODE["mismatch"] or UNSTEADY in b.reasons


def born(subject: Subject, blocks: Iterable[Block]) -> tuple[str, ...]:
    """A note on where the first number that is not finite came from, where that is why something could not be judged."""
    undefined = any(b.counts.get("undefined") for b in blocks)
    return (subject.born,) if undefined and subject.born else ()


def blame_text(data: TraceData, blocks: Iterable[Block], blame: int | None) -> str:
    """One sentence: which rule is wrong, where it was used, and by what factor."""
    if blame is None:
        return ""
    node = data.nodes[blame]
    found = [b for b in blocks if b.node == blame and b.scope in ("local", "sum") and is_wrong(b)]
    worst = found[0].worst
    where = f" ({node.source})" if node.source else ""
    if found[0].code != CODE["mismatch"]:
        return f"The backward rule of {node.op} is wrong at node {blame}{where}: {UNSTEADY}."
    if found[0].scope == "sum":
        return f"The gradient of {title(node)}, node {blame}{where}, is not the sum of its shares: analytic {worst.analytic:.6g}, numeric {worst.numeric:.6g}."
    slot = worst.slot or 0
    name = node.slots[slot] if slot < len(node.slots) else str(slot)
    compared = sum(found[0].counts.values())
    share = f"{found[0].counts['mismatch']:,} of {compared:,} derivatives differ, " if compared > 1 else ""
    return f"The backward rule of {node.op} for operand {name} is wrong at node {blame}{where}: {share}the worst is analytic {worst.analytic:.6g}, numeric {worst.numeric:.6g}."


def _excused(subject: Subject, b: Block, wrong: Sequence[int], noisy: Sequence[int], kinked: Sequence[int]) -> Block:
    """A global mismatch of a narrow dtype, or of what is noise or a kink further down, where every rule downstream is right."""
    if b.scope != "global" or b.node is None or b.code != CODE["mismatch"] or any(i > b.node for i in wrong):
        return b
    if not set(subject.downstream(b.node)).isdisjoint(kinked):
        return excused(b, "nonsmooth", KINKED)
    if subject.double and not any(i > b.node for i in noisy):
        return b
    return excused(b, "noise", "round-off that grew between here and the root: every rule downstream is right")


KINKED = "every rule is right by itself, but some stand at a kink or a tie, where what each gives by convention need not add up to a derivative"


def excused(b: Block, verdict: Literal["noise", "nonsmooth"], reason: str) -> Block:
    """The block with its mismatches, if any, turned into another verdict."""
    counts = dict(b.counts)
    wrong = counts.pop("mismatch", 0)
    if not wrong:
        return b
    counts[verdict] = counts.get(verdict, 0) + wrong
    mismatch = b.codes == CODE["mismatch"]
    reasons = tuple(reason if m else r for m, r in zip(mismatch, b.reasons, strict=True))
    return replace(b, codes=np.where(mismatch, CODE[verdict], b.codes), reasons=reasons, counts=counts)


def _chosen(trace: Trace, nodes: Any) -> list[int]:
    if isinstance(nodes, str) and nodes == "all":
        return list(range(len(trace.nodes)))
    keys = nodes if isinstance(nodes, (list, tuple, set, frozenset, range)) else [nodes]
    return sorted({trace.node(key).id for key in keys})


def jobs_of(subject: Subject, chosen: list[int], allowance: float) -> tuple[list[Job], list[Block]]:
    """The work, newest node first, and blocks for what does not fit into the allowance."""
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
    order = sorted(rules | picked, reverse=True)
    reason = "too much to replay: all global checks together would pass 2**11 budgets; name it in nodes=, or raise budget="
    skipped = [single(i, "global", None, title(nodes[i]), "skipped", reason) for i in reached if i not in affordable]
    jobs = [Job("rules", group) for group in _groups(order, lambda _: 0.0)]
    return [*jobs, *(Job("gradients", group) for group in _groups([i for i in order if i in affordable], _rows(subject)))], skipped


def _groups(ids: Sequence[int], size: Callable[[int], float]) -> list[tuple[int, ...]]:
    """Neighbours in pieces that are not too large."""
    groups: list[list[int]] = []
    held = 0.0
    for i in ids:
        if not groups or len(groups[-1]) == _TOGETHER or held + size(i) > _ROWS:
            groups.append([])
            held = 0.0
        groups[-1].append(i)
        held += size(i)
    return [tuple(g) for g in groups]


def _rows(subject: Subject) -> Callable[[int], float]:
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
