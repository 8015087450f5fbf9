"""Losses: cross entropy, negative log likelihood, squared error, binary cross entropy. Imports the engine's op base only."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.arguments import number, one_of, whole
from tensorviz.engine.op import REGISTRY, Op
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import DTypeError, ShapeError
from tensorviz.ops.activation import sigmoid
from tensorviz.ops.axes import averaged, divided, spread
from tensorviz.ops.operands import as_array
from tensorviz.ops.probability import shifted, softmax
from tensorviz.ops.samples import Examples
from tensorviz.ops.soft_labels import soft_cross_entropy

__all__ = ["bce_with_logits", "cross_entropy", "mse_loss", "nll_loss"]

REDUCTIONS = ("mean", "sum", "none")


# ---- classes: logits or log-probabilities against class indices -----------------------------------------------------


def _class_axis(ndim: int) -> int:
    return 0 if ndim == 1 else 1


def _counted(target: Any, ignore_index: int) -> Any:
    """Which rows count."""
    return np.asarray(target) != ignore_index


def _one_hot(scores: Any, target: Any, ignore_index: int) -> Any:
    """True at each counted row's class, in the shape of the scores."""
    axis = _class_axis(scores.ndim)
    target = np.expand_dims(np.asarray(target), axis)
    classes = np.arange(scores.shape[axis]).reshape([-1 if i == axis else 1 for i in range(scores.ndim)])
    return (classes == target) & (target != ignore_index)


def _reduced(rows: Any, reduction: str, counted: Any) -> Any:
    if reduction == "none":
        return rows
    return np.add.reduce(rows, axis=None) if reduction == "sum" else averaged(rows, np.count_nonzero(counted))


def _per_row(g: Any, shape: tuple[int, ...], reduction: str, counted: Any) -> Any:
    """The gradient of every row's loss, with a class axis of size 1."""
    axis = _class_axis(len(shape))
    if reduction == "none":
        return np.expand_dims(g, axis)
    return divided(g, max(np.count_nonzero(counted), 1)) if reduction == "mean" else g


def _picked(scores: Any, target: Any, axis: int) -> Any:
    """Every row's score at its class."""
    if scores.ndim == 2:
        return scores[np.arange(len(scores)), target]
    return np.squeeze(np.take_along_axis(scores, np.expand_dims(target, axis), axis), axis)


def _cross_entropy(logits: Any, target: Any, reduction: str = "mean", ignore_index: int = -100, label_smoothing: float = 0.0) -> Any:
    axis = _class_axis(logits.ndim)
    counted = _counted(target, ignore_index)
    everything = counted.all()
    if not everything:  # what is ignored may hold anything, also -inf
        logits = np.where(np.expand_dims(counted, axis), logits, 0).astype(logits.dtype)
        target = np.where(counted, target, 0)
    with np.errstate(under="ignore"):
        s = shifted(logits, axis)
        normalizer = np.log(np.add.reduce(np.exp(s), axis=axis))
    rows = normalizer - _picked(s, target, axis)
    if label_smoothing:
        rows = (1 - label_smoothing) * rows + label_smoothing * (normalizer - np.mean(s, axis=axis))
    return _reduced(rows if everything else np.where(counted, rows, 0).astype(logits.dtype), reduction, counted)


def _cross_entropy_rule(g: Any, logits: Any, target: Any, reduction: str, ignore_index: int, label_smoothing: float) -> Any:
    axis = _class_axis(logits.ndim)
    counted = _counted(target, ignore_index)
    wanted = _one_hot(logits, target, ignore_index).astype(logits.dtype)
    if label_smoothing:
        wanted = (1 - label_smoothing) * wanted + label_smoothing / logits.shape[axis]
    g = _per_row(g, logits.shape, reduction, counted)
    if counted.all():
        return g * (softmax(logits, axis) - wanted)
    rows = np.expand_dims(counted, axis)
    return np.where(rows, g * (softmax(np.where(rows, logits, 0), axis) - wanted), 0)


def _cross_entropy_examples(rng: np.random.Generator) -> Examples:
    logits, target = rng.normal(size=(4, 3)), np.array([0, 2, 1, 2])
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((logits, target), {"reduction": r, "label_smoothing": s}) for r in REDUCTIONS for s in (0.0, 0.3)
    ]
    calls += [((logits, np.array([0, -1, 1, -1])), {"reduction": r, "ignore_index": -1}) for r in REDUCTIONS]
    calls += [((rng.normal(size=3), np.array(1)), {}), ((rng.normal(size=(2, 3, 2)), np.array([[0, 1], [2, 0]])), {})]
    return [*calls, ((np.zeros((0, 3)), np.zeros(0, int)), {"reduction": "sum"})]


class _CrossEntropy(Op):
    """Minus the log of the softmax probability of the right class."""

    name, word, slots = "cross_entropy", "compares", ("logits", "target")
    forward = staticmethod(_cross_entropy)
    vjps = (_cross_entropy_rule, None)
    formulas = ("g / n * (softmax(logits) - onehot(target))", "")
    examples = staticmethod(_cross_entropy_examples)
    source = "label smoothing: Szegedy and others: Rethinking the Inception architecture (2016), section 7"


def _nll_rule(g: Any, scores: Any, target: Any, reduction: str, ignore_index: int) -> Any:
    picked = _one_hot(scores, target, ignore_index)
    return np.where(picked, -_per_row(g, scores.shape, reduction, _counted(target, ignore_index)), 0)


class _NllLoss(Op):
    """Minus the score of the right class."""

    name, word, slots = "nll_loss", "routes", ("scores", "target")
    vjps = (_nll_rule, None)
    formulas = ("-g / n at the class target, else 0", "")
    routes = (lambda scores, target, ignore_index: _one_hot(scores, target, ignore_index), None)

    @staticmethod
    def forward(scores: Any, target: Any, reduction: str = "mean", ignore_index: int = -100) -> Any:
        axis = _class_axis(scores.ndim)
        counted = _counted(target, ignore_index)
        rows = -_picked(scores, np.where(counted, target, 0), axis)
        return _reduced(np.where(counted, rows, 0).astype(scores.dtype), reduction, counted)

    @staticmethod
    def examples(rng: np.random.Generator) -> Examples:
        scores = rng.normal(size=(4, 3))
        return [((scores, t), {"reduction": r, "ignore_index": -1}) for r in REDUCTIONS for t in (np.array([0, 2, 1, 2]), np.array([0, -1, 1, -1]))]


def _checked_classes(name: str, scores: Any, target: Any, reduction: str, ignore_index: int) -> tuple[Any, Any]:
    """The operands of a loss on class indices, or the error that says what is wrong with them."""
    _check_reduction(name, reduction)
    if not isinstance(scores, (Tensor, np.ndarray)):
        scores = as_array(scores)
    if not isinstance(target, (Tensor, np.ndarray)):
        target = np.asarray(target)
    labels = np.asarray(target)
    if labels.dtype.kind not in "iu":
        raise DTypeError(
            f"{name}: target holds class indices, so it must be integers, got dtype {labels.dtype}; convert it with astype(int)"
            + (f", or give probabilities in the shape {scores.shape} of the logits" if name == "cross_entropy" else "")
        )
    if scores.ndim == 0:
        raise ShapeError(f"{name}: expected scores of shape (classes,) or (rows, classes, ...), got a single number")
    axis = _class_axis(scores.ndim)
    expected = scores.shape[:axis] + scores.shape[axis + 1 :]
    if labels.shape != expected:
        raise ShapeError(f"{name}: scores of shape {scores.shape} need one class index per row, a target of shape {expected}, got {labels.shape}")
    classes = scores.shape[axis]
    wrong = (labels < 0) | (labels >= classes)
    if wrong.any():
        wrong &= labels != ignore_index
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        place = at[0] if len(at) == 1 else at
        raise ShapeError(
            f"{name}: target[{place}] is {labels[at]}, expected a class from 0 to {classes - 1} (the scores have {classes} classes) or ignore_index={ignore_index}"
        )
    return scores, target


def _check_reduction(name: str, reduction: str) -> None:
    one_of(name, "reduction", reduction, REDUCTIONS)


def cross_entropy(logits: Any, target: Any, reduction: str = "mean", ignore_index: int = -100, label_smoothing: float = 0.0) -> Any:
    """Minus the log of the softmax probability of the right class, over class indices; or over probabilities of the classes.

    ``logits`` has shape (classes,), (rows, classes) or (rows, classes, ...), ``target`` one integer per row, or floats in the shape of the logits:
    what is wanted of every class, which gets its gradient, too. ``reduction`` is
    ``"mean"`` (over the rows that count), ``"sum"`` or ``"none"``. Rows whose target is ``ignore_index`` have neither loss nor gradient,
    whatever they hold. ``label_smoothing`` in [0, 1] spreads that part of the probability over all classes (Szegedy and others, 2016).
    Raises ValueError for labels out of range and for shapes that do not fit, TypeError for a target that is no integer.

    >>> cross_entropy(np.array([[1000.0, 0.0], [0.0, 0.0]]), np.array([1, 0]), reduction="none")
    array([1.00000000e+03, 6.93147181e-01])
    >>> round(float(cross_entropy(np.zeros(2), np.array([0.25, 0.75]))), 6)  # log 2
    0.693147
    """
    _check_reduction("cross_entropy", reduction)
    label_smoothing = number("cross_entropy", "label_smoothing", label_smoothing, least=0, most=1)
    ignore_index = whole("cross_entropy", "ignore_index", ignore_index)
    logits, wanted = as_array(logits), as_array(target)
    if wanted.dtype.kind == "f" and wanted.shape == logits.shape:
        return soft_cross_entropy(logits, _like(target, logits.dtype), reduction, ignore_index, label_smoothing)
    logits, target = _checked_classes("cross_entropy", logits, target, reduction, ignore_index)
    return REGISTRY["cross_entropy"](logits, target, reduction=reduction, ignore_index=ignore_index, label_smoothing=label_smoothing)


def nll_loss(log_probabilities: Any, target: Any, reduction: str = "mean", ignore_index: int = -100) -> Any:
    """Minus the score of the right class, for scores that are log-probabilities. Shapes, ``reduction``, ``ignore_index`` and errors as in :func:`cross_entropy`.

    >>> nll_loss(np.array([[-0.5, -1.5], [-2.0, -0.25]]), np.array([0, 1]), reduction="none")
    array([0.5 , 0.25])
    """
    scores, target = _checked_classes("nll_loss", log_probabilities, target, reduction, ignore_index)
    return REGISTRY["nll_loss"](scores, target, reduction=reduction, ignore_index=whole("cross_entropy", "ignore_index", ignore_index))


# ---- numbers: predictions against targets of the same shape -----------------------------------------------------


def _averaged(values: Any, reduction: str) -> Any:
    if reduction == "none":
        return values
    return np.add.reduce(values, axis=None) if reduction == "sum" else averaged(values, values.size)


def _each(g: Any, shape: tuple[int, ...], reduction: str) -> Any:
    if reduction == "none":
        return g
    return spread(divided(g, max(int(np.prod(shape)), 1)) if reduction == "mean" else g, shape, None, False)


def _two_examples(rng: np.random.Generator) -> Examples:
    shapes: tuple[tuple[int, ...], ...] = ((), (3,), (2, 3), (0, 2))
    return [((rng.normal(size=s), rng.uniform(0.1, 0.9, s)), {"reduction": r}) for s in shapes for r in REDUCTIONS if r != "mean" or 0 not in s]


class _MseLoss(Op):
    """The squared difference, averaged or summed."""

    name, word, slots = "mse_loss", "compares", ("a", "b")
    vjps = (
        lambda g, a, b, reduction: _each(g, a.shape, reduction) * (2 * (a - b)),
        lambda g, a, b, reduction: _each(g, a.shape, reduction) * (2 * (b - a)),
    )
    formulas = ("g / n * 2 * (a - b)", "g / n * 2 * (b - a)")
    examples = staticmethod(_two_examples)

    @staticmethod
    def forward(a: Any, b: Any, reduction: str = "mean") -> Any:
        d = a - b
        return _averaged(d * d, reduction)


def _bce(a: Any, target: Any, reduction: str = "mean") -> Any:
    with np.errstate(under="ignore"):
        return _averaged(np.maximum(a, 0) - a * target + np.log1p(np.exp(-np.abs(a))), reduction)


class _BceWithLogits(Op):
    """Binary cross entropy of a sigmoid, computed from its argument."""

    name, word, slots = "bce_with_logits", "compares", ("a", "target")
    forward = staticmethod(_bce)
    vjps = (
        lambda g, a, target, reduction: _each(g, a.shape, reduction) * (sigmoid(a) - target),
        lambda g, a, reduction: -_each(g, a.shape, reduction) * a,
    )
    formulas = ("g / n * (sigmoid(a) - target)", "-g / n * a")
    examples = staticmethod(_two_examples)


def _like(x: Any, dtype: Any) -> Any:
    """A number or a list in the dtype of the other operand; what has a dtype keeps it."""
    made = as_array(x)
    return made if made is x or isinstance(made, Tensor) else np.asarray(made, dtype)


def _checked_pair(name: str, a: Any, b: Any, reduction: str) -> tuple[Any, Any]:
    _check_reduction(name, reduction)
    a = _like(a, getattr(b, "dtype", float))
    b = _like(b, a.dtype)
    if a.shape != b.shape:
        raise ShapeError(
            f"{name}: prediction of shape {a.shape} and target of shape {b.shape} must agree, since broadcasting one against the other is almost always a mistake; reshape one of them"
        )
    return a, b


def mse_loss(prediction: Any, target: Any, reduction: str = "mean") -> Any:
    """The squared difference of two operands of the same shape: ``"mean"``, ``"sum"`` or ``"none"``. Differentiable in both.

    Raises ValueError when the shapes differ.

    >>> mse_loss(np.array([1.0, 2.0]), np.array([1.0, 5.0]), reduction="none")
    array([0., 9.])
    """
    a, b = _checked_pair("mse_loss", prediction, target, reduction)
    return REGISTRY["mse_loss"](a, b, reduction=reduction)


def bce_with_logits(logits: Any, target: Any, reduction: str = "mean") -> Any:
    """Binary cross entropy ``-(t log σ(a) + (1 - t) log(1 - σ(a)))``, computed from the logits ``a`` without overflow.

    ``target`` has the logits' shape and lies between 0 and 1. Differentiable in both. Raises ValueError when the shapes differ.

    >>> bce_with_logits(np.array([0.0, 1000.0]), np.array([1.0, 0.0]), reduction="none")
    array([6.93147181e-01, 1.00000000e+03])
    """
    a, b = _checked_pair("bce_with_logits", logits, target, reduction)
    return REGISTRY["bce_with_logits"](a, b, reduction=reduction)
