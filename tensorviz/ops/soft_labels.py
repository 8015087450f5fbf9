"""Cross entropy against probabilities of the classes in the place of labels. Imports the engine's op base only."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.engine.op import REGISTRY, Op
from tensorviz.errors import OptionError, ShapeError
from tensorviz.ops.axes import averaged, divided
from tensorviz.ops.probability import log_softmax, softmax
from tensorviz.ops.samples import Examples


def _class_axis(ndim: int) -> int:
    return 0 if ndim == 1 else 1


def _rows(shape: tuple[int, ...]) -> int:
    """How many there are, each with one number per class."""
    axis = _class_axis(len(shape))
    return int(np.prod(shape[:axis] + shape[axis + 1 :]))


def _smoothed(target: Any, label_smoothing: float, classes: int) -> Any:
    return (1 - label_smoothing) * target + label_smoothing / classes if label_smoothing else target


def _per_row(g: Any, shape: tuple[int, ...], reduction: str) -> Any:
    """The gradient of every row's loss, with a class axis of size 1."""
    if reduction == "none":
        return np.expand_dims(g, _class_axis(len(shape)))
    return divided(g, max(_rows(shape), 1)) if reduction == "mean" else g


class _SoftCrossEntropy(Op):
    """Minus the logs of the softmax probabilities, weighted with those that are wanted."""

    name, word, slots = "soft_cross_entropy", "compares", ("logits", "target")
    formulas = ("g / n * (softmax(logits) * sum(target) - target)", "-g / n * log_softmax(logits)")
    source = "label smoothing: Szegedy and others: Rethinking the Inception architecture (2016), section 7"

    @staticmethod
    def forward(logits: Any, target: Any, reduction: str = "mean", label_smoothing: float = 0.0) -> Any:
        axis = _class_axis(logits.ndim)
        with np.errstate(under="ignore"):
            rows = -np.add.reduce(_smoothed(target, label_smoothing, logits.shape[axis]) * log_softmax(logits, axis), axis=axis)
        if reduction == "none":
            return rows
        return np.add.reduce(rows, axis=None) if reduction == "sum" else averaged(rows, _rows(logits.shape))

    @staticmethod
    def _to_logits(g: Any, logits: Any, target: Any, reduction: str, label_smoothing: float) -> Any:
        axis = _class_axis(logits.ndim)
        wanted = _smoothed(target, label_smoothing, logits.shape[axis])
        return _per_row(g, logits.shape, reduction) * (softmax(logits, axis) * np.sum(wanted, axis=axis, keepdims=True) - wanted)

    @staticmethod
    def _to_target(g: Any, logits: Any, reduction: str, label_smoothing: float) -> Any:
        share = -_per_row(g, logits.shape, reduction) * log_softmax(logits, _class_axis(logits.ndim))
        return (1 - label_smoothing) * share if label_smoothing else share

    vjps = (_to_logits, _to_target)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        shapes: tuple[tuple[int, ...], ...] = ((4, 3), (3,), (2, 3, 2))
        calls: list[Any] = [
            ((rng.normal(size=shape), rng.uniform(0.1, 0.9, shape)), {"reduction": how, "label_smoothing": smoothing})
            for shape in shapes
            for how in ("mean", "sum", "none")
            for smoothing in (0.0, 0.3)
        ]
        return [*calls, ((np.zeros((0, 3)), np.zeros((0, 3))), {"reduction": "sum"})]


def soft_cross_entropy(logits: Any, target: Any, reduction: str, ignore_index: int, label_smoothing: float) -> Any:
    """The loss of checked operands of one shape."""
    if ignore_index >= 0:
        raise OptionError(
            f"cross_entropy: ignore_index={ignore_index} leaves out rows by their label, and this target holds probabilities; set their rows to 0 instead"
        )
    if logits.ndim == 0:
        raise ShapeError("cross_entropy: expected logits of shape (classes,) or (rows, classes, ...), got a single number")
    return REGISTRY["soft_cross_entropy"](logits, target, reduction=reduction, label_smoothing=label_smoothing)
