"""The visual debugger for backward passes: write NumPy maths, call ``backward()``, and step through every share of gradient.

>>> import numpy as np
>>> import tensorviz as tv
>>> X = tv.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
>>> b = tv.tensor([0.1, 0.2, 0.3], requires_grad=True)
>>> L = ((X + b) ** 2).sum()
>>> trace = L.backward()  # as the last line of a notebook cell: the stepper
>>> trace
Trace of L: 6 nodes, 14 steps, 0 forks
>>> b.grad
array([10.4, 14.8, 19.2])
>>> share = trace.node("b").shares[0]
>>> share.local.shape, share.summed_axes, share.value.shape
((2, 3), (0,), (3,))
>>> print(trace.steps[-4].caption)
Forward copied b along axis 0, so backward its share is summed over axis 0: (2, 3) becomes (3,).
>>> trace.check().ok
True
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tensorviz import ops
from tensorviz.engine.backward import backward
from tensorviz.engine.mode import enable_grad, is_grad_enabled, no_grad, scope
from tensorviz.engine.tensor import Tensor, tensor
from tensorviz.errors import no_attribute
from tensorviz.ops import *  # noqa: F403 - the op families list their public names in __all__

if TYPE_CHECKING:
    from tensorviz import nn, optim, primitives, trace
    from tensorviz.checks import CheckReport, break_on, error_curve, gradcheck
    from tensorviz.checks.history import History, history
    from tensorviz.checks.runs import compare
    from tensorviz.display import set_display
    from tensorviz.engine.functional import grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp
    from tensorviz.errors import Breakpoint
    from tensorviz.findings import Finding
    from tensorviz.looking import debug, draw
    from tensorviz.lowering import lower
    from tensorviz.ops.attention import scaled_dot_product_attention
    from tensorviz.ops.convolution import conv1d, conv2d
    from tensorviz.ops.custom import custom_op
    from tensorviz.ops.decompositions import eigh, eigvalsh, pinv, svd
    from tensorviz.ops.differences import diff
    from tensorviz.ops.layer import linear
    from tensorviz.ops.linalg import cholesky, det, inv, slogdet, solve
    from tensorviz.ops.loss import bce_with_logits, cross_entropy, mse_loss, nll_loss
    from tensorviz.ops.noise import dropout
    from tensorviz.ops.normalization import batch_norm, layer_norm
    from tensorviz.ops.orthogonal import qr
    from tensorviz.ops.pooling import avg_pool2d, max_pool2d
    from tensorviz.teaching.exercise import exercise
    from tensorviz.teaching.self_test import self_test
    from tensorviz.trace import Share, Source, Step, Trace, TraceNode
    from tensorviz.widgets.stepper import Stepper
    from tensorviz.wire import load

__version__ = "0.1.0"

_LATER = {
    "Breakpoint": "tensorviz.errors",
    "CheckReport": "tensorviz.checks",
    "Finding": "tensorviz.findings",
    "History": "tensorviz.checks.history",
    "Share": "tensorviz.trace",
    "Source": "tensorviz.trace",
    "Step": "tensorviz.trace",
    "Stepper": "tensorviz.widgets.stepper",
    "Trace": "tensorviz.trace",
    "TraceNode": "tensorviz.trace",
    "break_on": "tensorviz.checks",
    "compare": "tensorviz.checks.runs",
    "debug": "tensorviz.looking",
    "draw": "tensorviz.looking",
    "error_curve": "tensorviz.checks",
    "exercise": "tensorviz.teaching.exercise",
    "gradcheck": "tensorviz.checks",
    "history": "tensorviz.checks.history",
    "load": "tensorviz.wire",
    "lower": "tensorviz.lowering",
    "self_test": "tensorviz.teaching.self_test",
    "set_display": "tensorviz.display",
    **dict.fromkeys(("grad", "hessian", "hvp", "jacobian", "jvp", "value_and_grad", "vjp"), "tensorviz.engine.functional"),
    **{name: f"tensorviz.ops.{family}" for family, names in ops.LATER.items() for name in names},
}
"""Names whose modules are loaded when they are first used, so that the import stays light."""
_PARTS = ("nn", "optim", "primitives", "trace")
"""Parts of the package that are loaded so, too. The module of the record is also called: ``tv.trace(x)`` is the op."""

__all__ = [
    "Breakpoint",
    "CheckReport",
    "Finding",
    "History",
    "Share",
    "Source",
    "Step",
    "Stepper",
    "Tensor",
    "Trace",
    "TraceNode",
    "backward",
    "break_on",
    "compare",
    "debug",
    "draw",
    "enable_grad",
    "error_curve",
    "exercise",
    "grad",
    "gradcheck",
    "hessian",
    "history",
    "hvp",
    "is_grad_enabled",
    "jacobian",
    "jvp",
    "load",
    "lower",
    "nn",
    "no_grad",
    "optim",
    "primitives",
    "scope",
    "self_test",
    "set_display",
    "tensor",
    "trace",
    "value_and_grad",
    "vjp",
    *ops.__all__,
    "avg_pool2d",
    "batch_norm",
    "bce_with_logits",
    "cholesky",
    "conv1d",
    "conv2d",
    "cross_entropy",
    "custom_op",
    "det",
    "diff",
    "dropout",
    "eigh",
    "eigvalsh",
    "inv",
    "layer_norm",
    "linear",
    "max_pool2d",
    "mse_loss",
    "nll_loss",
    "pinv",
    "qr",
    "scaled_dot_product_attention",
    "slogdet",
    "solve",
    "svd",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _PARTS:
        return import_module(f"tensorviz.{name}")
    if name not in _LATER:
        from tensorviz.engine.words import ON_THE_PACKAGE, numpys

        advice = numpys(name)
        raise no_attribute(
            "module 'tensorviz'", name, ON_THE_PACKAGE if advice is None else {name.lower(): advice, **ON_THE_PACKAGE}, sys.modules[__name__]
        )
    found = globals()[name] = getattr(import_module(_LATER[name]), name)  # not asked for again
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
