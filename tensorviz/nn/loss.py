"""Losses as modules. Imports the engine and the ops only."""

from __future__ import annotations

from typing import Any

from tensorviz.arguments import number, one_of, whole
from tensorviz.nn.module import Module
from tensorviz.ops.loss import REDUCTIONS, bce_with_logits, cross_entropy, mse_loss, nll_loss


class _Loss(Module):
    """What losses share: how the losses of the rows become one."""

    def __init__(self, reduction: str = "mean") -> None:
        one_of(type(self).__name__, "reduction", reduction, REDUCTIONS)
        self.reduction = reduction

    def extra_repr(self) -> str:
        return "" if self.reduction == "mean" else f"reduction={self.reduction!r}"


class MSELoss(_Loss):
    """The squared difference of prediction and target, which must have the same shape (ValueError; PyTorch broadcasts and warns).

    >>> float(MSELoss()([1.0, 2.0], [1.0, 4.0]))
    2.0
    """

    def forward(self, prediction: Any, target: Any) -> Any:
        return mse_loss(prediction, target, self.reduction)


class CrossEntropyLoss(_Loss):
    """Minus the log of the softmax probability of the right class: logits (rows, classes, ...) against class indices (rows, ...) or probabilities (rows, classes, ...).

    As in PyTorch, without class weights. Raises ValueError for labels out of range and shapes that do not fit, TypeError for targets that are
    neither integers nor probabilities in the shape of the logits.

    >>> import numpy as np
    >>> round(float(CrossEntropyLoss()(np.zeros((1, 4)), np.array([2]))), 6)  # log 4
    1.386294
    """

    def __init__(self, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0) -> None:
        super().__init__(reduction)
        self.ignore_index = whole("CrossEntropyLoss", "ignore_index", ignore_index)
        self.label_smoothing = number("CrossEntropyLoss", "label_smoothing", label_smoothing, least=0, most=1)

    def forward(self, logits: Any, target: Any) -> Any:
        return cross_entropy(logits, target, self.reduction, self.ignore_index, self.label_smoothing)


class NLLLoss(_Loss):
    """Minus the score of the right class, for log-probabilities (rows, classes, ...) against class indices (rows, ...). As in PyTorch, without class weights.

    >>> import numpy as np
    >>> float(NLLLoss()(np.array([[-0.5, -1.5]]), np.array([0])))
    0.5
    """

    def __init__(self, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.ignore_index = whole("NLLLoss", "ignore_index", ignore_index)

    def forward(self, log_probabilities: Any, target: Any) -> Any:
        return nll_loss(log_probabilities, target, self.reduction, self.ignore_index)


class BCEWithLogitsLoss(_Loss):
    """Binary cross entropy of ``sigmoid(logits)`` against targets between 0 and 1, which must have the logits' shape (ValueError). As in PyTorch, without weights.

    >>> import numpy as np
    >>> round(float(BCEWithLogitsLoss()(np.array([0.0]), np.array([1.0]))), 6)  # log 2
    0.693147
    """

    def forward(self, logits: Any, target: Any) -> Any:
        return bce_with_logits(logits, target, self.reduction)
