"""The report as a Markdown page. The same text on every machine: no times, no digits that depend on the order of a sum."""

from __future__ import annotations

from collections.abc import Iterator

from tensorviz.engine.op import REGISTRY

from .conventions import POINTS
from .judge import ABSENT, AGREES, JUDGES, Verdict
from .offered import NOT_OFFERED, constant, differentiated, is_offered
from .reasons import REASONS
from .table import INTERNAL, verdicts


def page() -> str:
    """The whole page."""
    return "\n".join([*_head(), *_functions(), *_disagreements(), *_conventions(), *_offered()]) + "\n"


def _head() -> Iterator[str]:
    import autograd
    import torch

    found = verdicts()
    yield "# Conformance"
    yield ""
    yield "<!-- made by `python -m tests.quality.conformance > benchmarks/CONFORMANCE.md`; a test compares -->"
    yield ""
    yield (
        f"{len(found)} expressions, each evaluated by tensorviz, by NumPy on plain arrays, by PyTorch {torch.__version__.split('+')[0]} and by HIPS autograd "
        f"{autograd.__version__ if hasattr(autograd, '__version__') else _version('autograd')}, with random cotangents. *NumPy*: results and dtypes are those on arrays. *differences*: gradients are central "
        "differences of the expression on arrays, by every element. *float32*: in float32 the gradients are float32 and the same to round-off. *PyTorch*, *autograd*: "
        "results and gradients are theirs. A cell gives the number of expressions that agree, of those that the judge has a word for."
    )
    yield ""


def _version(name: str) -> str:
    from importlib.metadata import version

    return version(name)


def _functions() -> Iterator[str]:
    yield "## Function by function"
    yield ""
    yield "| function | ops in its record | " + " | ".join(JUDGES) + " |"
    yield "| --- | --- | " + " | ".join(["---"] * len(JUDGES)) + " |"
    by_function: dict[str, list[Verdict]] = {}
    for verdict in verdicts():
        by_function.setdefault(verdict.case.function, []).append(verdict)
    for function in sorted(by_function, key=lambda f: (f.split(".")[0] != "np", f)):
        group = by_function[function]
        ops = sorted({op for v in group for op in v.ops if op in REGISTRY})
        yield f"| `{function}` | {', '.join(ops)} | " + " | ".join(_cell(group, who) for who in JUDGES) + " |"
    yield ""
    constants = sorted(name for name, op in REGISTRY.items() if not op.differentiable and type(op).__module__.startswith("tensorviz.ops."))
    yield f"Ops without a gradient: {', '.join(constants)}. Ops that only higher derivatives meet: {', '.join(sorted(INTERNAL))}."
    yield ""


def _cell(group: list[Verdict], who: str) -> str:
    asked = [v.by[who] for v in group if v.by[who] != ABSENT]
    agreed = sum(1 for outcome in asked if outcome == AGREES)
    return ABSENT if not asked else str(agreed) if agreed == len(asked) else f"**{agreed} of {len(asked)}**"


def _disagreements() -> Iterator[str]:
    yield "## Where a judge differs"
    yield ""
    yield "Away from kinks there is one right gradient, and where judges differ, differences decide."
    yield ""
    yield "| expression | operands | who | what | why, and whom we follow |"
    yield "| --- | --- | --- | --- | --- |"
    for verdict in verdicts():
        for who, what in verdict.disagreements.items():
            shapes = " ".join(str(x.shape) for x in verdict.case.operands().values())
            yield f"| `{verdict.case.ours}` | {shapes} | {who} | {what} | {REASONS.get((verdict.case.function, who), 'NOT EXPLAINED')} |"
    yield ""


def _conventions() -> Iterator[str]:
    yield "## Where the gradient is a convention"
    yield ""
    yield "The gradient of the sum of the result, by `a` and by `b`. *House* are the rules that the engine states for itself and that tests/engine and tests/ops hold it to."
    yield ""
    yield "| point | expression | at | tensorviz | PyTorch | autograd | followed |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for point in POINTS:
        at = ", ".join(f"{name} = {value}" for name, value in point.operands.items())
        values = " | ".join(point.gradients(who) for who in ("tensorviz", "PyTorch", "autograd"))
        yield f"| {point.where} | `{point.ours}` | {at} | {values} | {point.rule} |"
    yield ""


def _offered() -> Iterator[str]:
    functions = differentiated()
    yield "## What autograd offers"
    yield ""
    ours = [name for name, function in functions.items() if is_offered(function)]
    yield f"autograd has gradients for {len(functions)} functions of NumPy; {len(ours)} of them work on Tensors. The others raise `NoRuleError`:"
    yield ""
    for name in functions:
        if name not in ours:
            yield f"- `{name}`: {NOT_OFFERED.get(name, 'NOT EXPLAINED')}"
    yield ""
    yield "Of a Tensor, `np.full` needs `like=` (NumPy does not ask the fill value otherwise), and `np.array([a, b])` is `tv.stack([a, b])` (NumPy takes lists apart).."
    yield ""
    yield f"Functions that autograd takes to be constant, and that work on Tensors too: {', '.join(f'`{name}`' for name, f in constant().items() if is_offered(f))}."
