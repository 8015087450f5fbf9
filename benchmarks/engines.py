"""The engines that run a workload's forward text, and how each one's gradients are read. A peer that is missing is left out."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.workloads.workload import Array, Forward, Workload

Result = tuple[float, tuple[Array, ...]]
"""Loss, and the gradient of each parameter."""


@dataclass(frozen=True)
class Program:
    """One engine set up for one workload."""

    engine: str
    run: Callable[[], Any]
    """One forward and one backward pass, from arrays that are there already."""
    read: Callable[[Any], Result]
    """Loss and gradients of what ``run`` returned."""


def optional(name: str) -> Any:
    """A module, or None if it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None


def missing() -> list[str]:
    """The peers that are not installed."""
    return [name for name in ("autograd", "torch", "micrograd") if optional(name) is None]


def programs(workload: Workload, peers: Sequence[str] = ("autograd", "torch", "micrograd")) -> list[Program]:
    """Every engine that is here and can run the workload, hand-written NumPy first."""
    made = [by_hand(workload), *ours(workload)]
    here = [peer for peer in peers if optional(peer) is not None]
    if "autograd" in here:
        made.append(hips(workload))
    if "torch" in here:
        made += [torch(workload), torch(workload, hooks=True)]
        if workload.fused is not None:
            made.append(torch(workload, forward=workload.fused))
    if "micrograd" in here and workload.scalar:
        made.append(micrograd(workload))
    return made


def by_hand(workload: Workload) -> Program:
    """Plain NumPy: what every ratio's bar is about."""
    return Program("NumPy", lambda: workload.by_hand(workload.parameters, workload.constants), lambda result: result)


# ---- tensorviz --------------------------------------------------------------------------------------------------


def _peak(x: Any) -> Any:
    return np.max(x.numpy(), axis=-1, keepdims=True)


def language() -> Any:
    """Ours."""
    tv: Any = importlib.import_module("tensorviz")
    return SimpleNamespace(
        np=tv,
        relu=tv.relu,
        peak=_peak,
        softmax=tv.softmax,
        layer_norm=lambda x, gain, bias: tv.layer_norm(x, gain.shape, gain, bias),
    )


def ours(workload: Workload) -> list[Program]:
    """tensorviz: recording, not recording, and with its own softmax and layer norm where the workload has them."""
    made = [tensorviz(workload, "tensorviz", record=True), tensorviz(workload, "tensorviz off", record=False)]
    if workload.fused is not None:
        made.append(tensorviz(workload, "tensorviz fused", record=True, forward=workload.fused))
    return made


def tensorviz(workload: Workload, engine: str, *, record: bool, forward: Forward | None = None) -> Program:
    """Ours: leaves made once, ``.grad`` cleared at every pass. ``record``: the Trace is kept (built when looked at)."""
    tv: Any = importlib.import_module("tensorviz")
    words = language()
    loss_of = forward or workload.forward
    leaves = [tv.tensor(p, requires_grad=True) for p in workload.parameters]
    constants = [c if c.dtype.kind == "i" else tv.tensor(c) for c in workload.constants]

    def run() -> Any:
        for leaf in leaves:
            leaf.grad = None
        loss = loss_of(words, leaves, constants)
        loss.backward(record=record)
        return loss

    return Program(engine, run, lambda loss: (loss.item(), tuple(leaf.grad for leaf in leaves)))


# ---- peers ------------------------------------------------------------------------------------------------------


def hips(workload: Workload) -> Program:
    """HIPS autograd, which records nothing."""
    autograd: Any = importlib.import_module("autograd")
    anp: Any = importlib.import_module("autograd.numpy")
    getval = importlib.import_module("autograd.tracer").getval
    words: Any = SimpleNamespace(
        np=anp,
        relu=lambda x: anp.maximum(x, 0.0),
        peak=lambda x: np.max(getval(x), axis=-1, keepdims=True),
    )
    pass_ = autograd.value_and_grad(lambda parameters: workload.forward(words, parameters, workload.constants))
    parameters = [float(p) for p in workload.parameters] if workload.scalar else list(workload.parameters)
    return Program("autograd", lambda: pass_(parameters), lambda result: (float(result[0]), tuple(np.asarray(g) for g in result[1])))


def torch(workload: Workload, *, hooks: bool = False, forward: Forward | None = None) -> Program:
    """PyTorch, eager. ``hooks``: with a hook before and after every node of the graph that keep all gradients: what a debugger has to do there."""
    th: Any = importlib.import_module("torch")
    th.set_num_threads(1)
    functional = th.nn.functional
    words: Any = SimpleNamespace(
        np=th,
        relu=th.relu,
        peak=lambda x: x.detach().amax(-1, keepdim=True),
        softmax=lambda x: th.softmax(x, -1),
        layer_norm=lambda x, gain, bias: functional.layer_norm(x, gain.shape, gain, bias),
    )
    loss_of = forward or workload.forward
    leaves = [th.tensor(p, requires_grad=True) for p in workload.parameters]
    constants = [th.tensor(c) for c in workload.constants]

    def run() -> Any:
        for leaf in leaves:
            leaf.grad = None
        loss = loss_of(words, leaves, constants)
        loss.backward()
        return loss

    def run_with_hooks() -> Any:
        for leaf in leaves:
            leaf.grad = None
        loss = loss_of(words, leaves, constants)
        kept = keep_gradients(loss.grad_fn)
        loss.backward()
        return loss, kept

    def read(result: Any) -> Result:
        loss = result[0] if hooks else result
        return loss.item(), tuple(leaf.grad.numpy() for leaf in leaves)

    return Program("torch" + (" hooks" if hooks else " fused" if forward else ""), run_with_hooks if hooks else run, read)


def keep_gradients(root: Any) -> list[Any]:
    """Hooks on every node of a PyTorch graph: before it, its tensor's gradient is kept (what a tensor hook gets), after it, the shares it sends."""
    kept: list[Any] = []

    def before(gradients: Any) -> None:
        kept.append(gradients)

    def after(shares: Any, _: Any) -> None:
        kept.append(shares)

    seen = {root}
    stack = [root]
    while stack:
        node = stack.pop()
        node.register_prehook(before)
        node.register_hook(after)
        for source, _ in node.next_functions:
            if source is not None and source not in seen:
                seen.add(source)
                stack.append(source)
    return kept


DEEP = 1_000_000


def micrograd(workload: Workload) -> Program:
    """micrograd, which recurses: its limit is lifted for it."""
    value_class = importlib.import_module("micrograd.engine").Value
    sys.setrecursionlimit(DEEP)
    leaves = [value_class(float(p)) for p in workload.parameters]
    words: Any = SimpleNamespace(np=np)

    def run() -> Any:
        for leaf in leaves:
            leaf.grad = 0
        loss = workload.forward(words, leaves, ())
        loss.backward()
        return loss

    return Program("micrograd", run, lambda loss: (loss.data, tuple(np.asarray(leaf.grad) for leaf in leaves)))


def agree(program: Program, expected: Result) -> None:
    """Raise unless the program's loss and gradients are the expected ones, up to rounding."""
    loss, gradients = program.read(program.run())
    np.testing.assert_allclose(loss, expected[0], rtol=1e-9, err_msg=f"{program.engine}: loss")
    for i, (got, wanted) in enumerate(zip(gradients, expected[1], strict=True)):
        assert got.shape == wanted.shape, f"{program.engine}: gradient {i} has shape {got.shape}, expected {wanted.shape}"
        np.testing.assert_allclose(
            got, wanted, rtol=1e-7, atol=1e-10 * max(1.0, float(np.abs(wanted).max())), err_msg=f"{program.engine}: gradient {i}"
        )
