"""The error of central differences against their step: a V, with round-off on its left side and truncation on its right. Imports no view or widget."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tensorviz.arguments import element, shown, whole
from tensorviz.checks.differences import Floats, Ruler, rounded, scale_of
from tensorviz.checks.local import Alone
from tensorviz.checks.replayed import problem_of
from tensorviz.checks.run import BUDGET
from tensorviz.checks.subject import Subject, title
from tensorviz.errors import CheckError, DTypeError
from tensorviz.trace import Trace


def error_curve(
    trace: Trace, key: Any, *, slot: int | None = None, index: tuple[int, ...] | int | None = None, h: npt.ArrayLike | None = None
) -> tuple[Floats, Floats]:
    """The steps h, and how far a recorded gradient is from the central difference at each: ``|a - n| / max(|a|, |n|)``.

    ``key``: a node, as :meth:`Trace.node` takes it. The derivative is that of the root with respect to the element ``index``
    of its value, or, with ``slot=``, that of this node's op alone with respect to its operand there (the share that it sent).
    ``index``: the element with the largest gradient if None. ``h``: the steps; if None all powers of two from the scale of
    the value down to a 2**-52 of it. Errors are NaN where a difference is not finite. float32 is replayed in float64, so
    that the V ends in the float32 gradient's own error. Raises :class:`CheckError` where nothing can be compared.

    >>> import numpy as np, tensorviz as tv
    >>> x = tv.tensor([1.0, 2.0], requires_grad=True, name="x")
    >>> h, error = error_curve(np.exp(x).sum().backward(), "x")
    >>> bool(error.min() < 1e-9), bool(error[0] > 1e-2), bool(error[-1] > 1e-3)
    (True, True, True)
    """
    if not isinstance(trace, Trace):
        raise DTypeError(f"error_curve takes a Trace (what backward() returns), got {shown(trace)}")
    node = trace.node(key)
    subject = Subject(trace.data, Ruler(), BUDGET, 0)
    if slot is None:
        if node.cotangent is None or not node.shares:
            raise CheckError(f"error_curve: {title(node)} received no gradient")
        order = subject.exact.downstream([node.id])
        trouble = subject.reruns(order)
        problem = None if trouble else problem_of(subject, node.id, order)
        x, gradient = subject.exact.values[node.id], node.cotangent
    else:
        share = subject.sent.get(node.id, {}).get(whole("error_curve", "slot", slot))
        if share is None:
            raise CheckError(f"error_curve: {title(node)} sent no share from slot {slot}; it did from {sorted(subject.sent.get(node.id, {}))}")
        trouble = subject.rerun(node.id)
        problem = None if trouble else Alone(subject, node, slot).problem
        x, gradient = trace.nodes[share.target].value, share.value
    if problem is None:
        raise CheckError(f"error_curve: {trouble[1] if trouble else ''}")
    values = np.asarray(x, dtype=np.float64)
    analytic = gradient.astype(np.float64)
    at = (
        int(np.argmax(np.abs(np.nan_to_num(analytic))))
        if index is None
        else int(np.ravel_multi_index(element("error_curve", index, values.shape), values.shape))
        if values.ndim
        else 0
    )
    if h is None:
        size = abs(float(values.reshape(-1)[at]))
        top = rounded(np.array([size if size > 0 else scale_of(values)]))[0]
        steps = top * 2.0 ** -np.arange(53)
    else:
        try:
            steps = np.array(h, dtype=np.float64).reshape(-1)
        except (ValueError, TypeError) as wrong:
            raise DTypeError(f"error_curve: h holds positive numbers, got {shown(h)} ({wrong})") from None
        if not steps.size or not (np.isfinite(steps) & (steps > 0)).all():
            raise CheckError(f"error_curve: h holds positive numbers, at least one, got {shown(h)}")
    with np.errstate(all="ignore"):
        pair = problem([at]).pairs(np.zeros(len(steps), dtype=np.intp), steps)
        numeric = np.where(pair.bad_plus | pair.bad_minus, np.nan, (pair.plus + pair.minus) / (2 * steps))
        a = analytic.reshape(-1)[at]
        top_value = np.maximum(abs(a), np.abs(numeric))
        error = np.where(top_value == 0, 0.0, np.abs(a - numeric) / top_value)
    return steps, error
