"""One replay in which every row moves another node: what would take a replay per node takes one for all. Imports replay and its neighbours only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensorviz.checks.differences import Floats, Pair, contract
from tensorviz.checks.quick import Plan
from tensorviz.checks.stacked import Stacked
from tensorviz.trace import Array


def together(stacked: Stacked, moved: Sequence[tuple[int, Array]], roots: Sequence[int]) -> tuple[Floats, list[int]]:
    """The roots' values, flat, one row per moved value, and the row at which each node's begin.

    ``moved``: ids, and stacks of values in those nodes' places. Row 0 is the recorded point, computed like the others.
    Rows are in the order in which the moved nodes are first used: up to there a row is the recorded point, which need not
    be computed again, so that the stack grows as the replay goes on.
    """
    program = stacked.program
    nodes, consumers, base = program.nodes, program.consumers, program.values
    end = len(nodes)
    ids = [i for i, _ in moved]
    own, starts, total = dict(moved), {}, 1
    for i in sorted(ids, key=lambda i: (min(consumers[i], default=end), i)):
        starts[i] = total
        total += len(own[i])
    values: dict[int, Array] = {}
    with np.errstate(all="ignore"):
        for j in sorted({*ids, *program.downstream(ids)}):
            inputs = nodes[j].inputs
            flags = tuple([k in values for k in inputs])
            result = None
            if True in flags:
                count = max([len(values[k]) for k in inputs if k in values])
                operands = [_padded(values[k], count) if s else base[k] for k, s in zip(inputs, flags, strict=True)]
                result = stacked.apply(j, operands, flags, count)
            rows = own.get(j)
            if rows is not None:
                whole = np.empty((starts[j] + len(rows), *rows.shape[1:]), dtype=np.asarray(base[j]).dtype)
                whole[:] = base[j]
                if result is not None:
                    whole[: len(result)] = result
                    whole[len(result) : starts[j]] = result[0]
                whole[starts[j] :] = rows
                result = whole
            assert result is not None
            values[j] = result
    outputs = [np.asarray(_padded(values[r], total), dtype=np.float64).reshape(total, -1) for r in roots]
    return outputs[0] if len(outputs) == 1 else np.concatenate(outputs, axis=1), [starts[i] for i in ids]


def _padded(stack: Array, count: int) -> Array:
    if len(stack) == count:
        return stack
    whole = np.empty((count, *stack.shape[1:]), dtype=stack.dtype)
    whole[: len(stack)] = stack
    whole[len(stack) :] = stack[0]
    return whole


def pair_of(stacked: Stacked, plans: Sequence[tuple[int, Plan]], roots: Sequence[int], weights: Floats) -> Pair | None:
    """The moves of all plans, one after the other, as differences of the weighted roots; None where those are not all finite."""
    outputs, starts = together(stacked, [(i, p.rows()) for i, p in plans], roots)
    if not (np.isfinite(outputs).all() and np.isfinite(weights).all()):
        return None
    counts = [len(p.h) for _, p in plans]
    plus = np.concatenate([np.arange(start, start + n) for start, n in zip(starts, counts, strict=True)])
    minus = plus + np.repeat(counts, counts)
    return contract(outputs[0], outputs[plus], outputs[minus], weights, finite=True)
