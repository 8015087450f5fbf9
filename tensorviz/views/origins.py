"""Which entries of an operand each entry of a result was computed from. Imports trace and replay only."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorviz.replay import Program
from tensorviz.trace import Trace, TraceNode

ALL, FIRST = -1, -2
"""Instead of an axis of the result: every position along the operand's axis; the only one, which was broadcast."""

LARGEST = 256
"""Entries of an array up to which its links are found by trying: what the stepper draws cell by cell."""
MOST_TRIES = 2_000
"""Runs of ops that one trace may cost: at most a tenth of a second."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The links of one use of one operand; one of the two forms."""

    axes: tuple[int, ...] | None = None
    """Per axis of the operand: the axis of the result that it runs along, ALL or FIRST."""
    sources: npt.NDArray[np.int32] | None = None
    """Per entry of the result, in a row: flat positions in the operand, filled up with -1."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


ENTRYWISE = _names(
    "add sub mul div pow floor_divide mod equal not_equal less less_equal greater greater_equal bitwise_and bitwise_or bitwise_xor logical_and logical_or "
    "logical_xor hypot logaddexp logaddexp2 fmax fmin where maximum minimum clip arctan2 relu leaky_relu elu sigmoid softplus silu erf gelu neg pos abs "
    "square reciprocal invert logical_not isnan isinf isfinite signbit sign floor ceil trunc rint round astype exp exp2 expm1 log log1p log2 log10 sqrt "
    "cbrt sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh deg2rad rad2deg sinc nan_to_num copy dropout broadcast_to tril triu "
    "conjugate imag angle bce_with_logits mse_loss"
)
_REDUCED = _names("sum mean var std prod logsumexp max min argmax argmin any all norm")
_ALONG = _names("softmax log_softmax sort argsort partition argpartition")
_TRIED = _names(
    "reshape ravel expand_dims squeeze transpose swapaxes moveaxis pad repeat tile concatenate stack getitem setitem index_add embedding take_along_axis "
    "flip roll diagonal diag trace cumsum cumprod windows fold conv1d conv2d max_pool2d avg_pool2d cross_entropy soft_cross_entropy nll_loss layer_norm batch_norm "
    "batch_norm_fixed linear attention cholesky cross outer tensordot inner dot"
)
_WHOLE = _names("inv pinv det logabsdet signdet")
"""Every entry of each matrix goes into every entry of what is made of it. Not tried: the solver picks its rows by comparing numbers, and a NaN gets lost there."""


def origins(trace: Trace) -> dict[str, Origin | None]:
    """By edge (``"consumer:slot"``): the links of each use, None where they are not known. Uses by ops that work entry by entry are left out.

    Closed forms for reductions, matrix products and einsum; small arrays of other ops by trying: what of the result becomes NaN where one entry of
    the operand is NaN. Ops that users defined are not run.
    """
    found: dict[str, Origin | None] = {}
    trier = _Trier(trace)
    for node in trace.nodes:
        if node.kind != "op" or not all(node.shape) or _entrywise(trace.nodes, node):
            continue
        for slot, i in enumerate(node.inputs):
            operand = trace.nodes[i]
            axes = _axes(trace.nodes, node, slot) if operand.value.size else None
            found[f"{node.id}:{slot}"] = Origin(axes) if axes is not None else trier.tried(node, slot)
    return found


def _entrywise(nodes: Sequence[TraceNode], node: TraceNode) -> bool:
    if node.op not in ENTRYWISE:
        return False
    try:
        return np.broadcast_shapes(*(nodes[i].shape for i in node.inputs)) == node.shape or node.op == "broadcast_to"
    except ValueError:
        return False


def _axes(nodes: Sequence[TraceNode], node: TraceNode, slot: int) -> tuple[int, ...] | None:
    """The closed form, where there is one."""
    shape = nodes[node.inputs[slot]].shape
    rank, axis = len(shape), node.params.get("axis")
    along = tuple(axis) if isinstance(axis, (tuple, list)) else range(rank) if axis is None else (axis,)
    if not all(type(a) is int for a in along):
        return None  # a file may say anything
    gone = {a % rank for a in along} if rank else set()
    if node.op in _REDUCED or (node.op in ("mse_loss", "bce_with_logits") and node.shape == ()):
        if node.op not in _REDUCED or axis is None:
            return (ALL,) * rank
        out, at = [], 0
        for a in range(rank):
            out.append(ALL if a in gone else at)
            at += a not in gone or bool(node.params.get("keepdims"))
        return tuple(out)
    if node.op in _ALONG and rank == len(node.shape):
        return tuple(ALL if a in gone else a for a in range(rank))
    if node.op == "matmul" or (node.op == "dot" and rank and all(len(nodes[i].shape) == 2 for i in node.inputs)):
        return _product(shape, node.shape, slot, [len(nodes[i].shape) for i in node.inputs])
    if node.op in _WHOLE and rank >= 2:
        return (*range(rank - 2), ALL, ALL)
    if node.op == "solve" and rank and len(node.inputs) == 2:
        return _solved(shape, node.shape, slot, len(nodes[node.inputs[1]].shape) == 1)
    if node.op == "einsum":
        return _einsum(str(node.params.get("subscripts", "")), slot, len(node.inputs), rank, len(node.shape))
    return None


def _product(shape: tuple[int, ...], result: tuple[int, ...], slot: int, ranks: list[int]) -> tuple[int, ...]:
    """``a @ b``: rows of the one, columns of the other; batch axes from the right."""
    lost = (ranks[0] == 1) + (ranks[1] == 1)
    batch = len(result) - 2 + lost
    if len(shape) == 1:
        return (ALL,)
    lead = _batched(shape, result, batch)
    if slot == 0:
        return (*lead, batch, ALL)
    return (*lead, ALL, len(result) - 1)


def _solved(shape: tuple[int, ...], result: tuple[int, ...], slot: int, vector: bool) -> tuple[int, ...]:
    """``solve(a, b)``: all of a matrix, and of ``b`` the column; batch axes from the right."""
    batch = len(result) - (1 if vector else 2)
    if slot == 1 and vector:
        return (ALL,)
    return (*_batched(shape, result, batch), ALL, ALL if slot == 0 else len(result) - 1)


def _batched(shape: tuple[int, ...], result: tuple[int, ...], batch: int) -> tuple[int, ...]:
    """The axes of an operand before its last two."""
    offset = batch - (len(shape) - 2)
    return tuple(FIRST if shape[i] == 1 and result[i + offset] != 1 else i + offset for i in range(len(shape) - 2))


def _einsum(subscripts: str, slot: int, count: int, rank: int, result: int) -> tuple[int, ...] | None:
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if "." in text or len(parts) != count or len(parts[slot]) != rank:
        return None
    out = right if arrow else "".join(sorted(c for c in set(left) if c.isalpha() and left.count(c) == 1))
    return tuple(out.index(c) if c in out else ALL for c in parts[slot]) if len(out) == result else None


class _Trier:
    """Finds links by running an op with one entry of an operand after the other made NaN."""

    def __init__(self, trace: Trace) -> None:
        self.nodes = trace.nodes
        self.left = MOST_TRIES
        self.program: Program | None = None

    def tried(self, node: TraceNode, slot: int) -> Origin | None:
        operand = self.nodes[node.inputs[slot]]
        count = operand.value.size
        if node.op not in _TRIED or node.value.dtype.kind != "f" or operand.value.dtype.kind != "f":
            return None
        if not 0 < count <= LARGEST or node.value.size > LARGEST or count > self.left:
            return None
        self.left -= count
        try:
            return self._found(node, slot, count)
        except Exception:  # noqa: BLE001 - an op's rule may raise anything on a NaN, and then the links are not known
            return None

    def _found(self, node: TraceNode, slot: int, count: int) -> Origin | None:
        self.program = self.program or Program(self.nodes)
        base: list[Any] = [self.program.values[i] for i in node.inputs]
        clean = [np.zeros(np.shape(v), dtype=v.dtype) if np.asarray(v).dtype.kind == "f" and not _needs_values(node) else v for v in base]
        hit = np.zeros((node.value.size, count), dtype=bool)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            still = self._nan(node, clean)
            for k in range(count):
                moved = np.array(clean[slot], dtype=float)
                moved.reshape(-1)[k] = np.nan
                operands = [moved if j == slot else v for j, v in enumerate(clean)]
                hit[:, k] = self._nan(node, operands) & ~still
        width = int(hit.sum(axis=1).max(initial=0))
        if not width:
            return None
        order = np.argsort(~hit, axis=1, kind="stable")[:, :width]
        return Origin(sources=np.where(np.take_along_axis(hit, order, axis=1), order, -1).astype(np.int32))

    def _nan(self, node: TraceNode, operands: Sequence[Any]) -> npt.NDArray[np.bool_]:
        assert self.program is not None
        found: npt.NDArray[np.bool_] = np.isnan(np.asarray(self.program.apply(node.id, operands), dtype=float))
        return found.reshape(-1)


def _needs_values(node: TraceNode) -> bool:
    """Ops that need their operands as they are, since zeros have no inverse."""
    return node.op == "cholesky"
