"""Kinds of mistakes, the hint for each, and how one is recognised: by what it would have given. Imports nothing of ours."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

HINTS = {
    # axes and shapes
    "kept-axes": "those are axes at which the operand has its full size. Summed are the others: those that it grew.",
    "missing-axis": "an axis is missing. Summed is every axis put in front, and every one at which the operand has size 1 and the result has not.",
    "extra-axis": "one axis too many. Where the operand has its full size, or the result has size 1 as well, nothing was copied, and nothing is summed.",
    "axis-numbers": "axes are counted in the shape of the result, from the left and from 0; shapes are aligned at the right.",
    "kept-dims": "the axes that were summed are still there with size 1. Reshape to the shape of the operand.",
    "not-summed": "the operand was copied in forward, so its share is summed over those axes in backward.",
    "result-shape": "that is the shape of the result. A share arrives in the shape of its operand.",
    "other-shape": "a gradient has the shape of its value, and a share that of its operand: so many numbers are asked for, in that nesting.",
    "transposed": "rows and columns are exchanged: a transpose is missing, or there is one too many.",
    # moving
    "same-order": "the same order once more brings the axes home only where it exchanges two. The inverse has inverse[order[k]] = k.",
    "reversed": "that reverses the axes. Ask for each axis of the result which axis of x it was.",
    "not-moved": "that is the gradient of the result as it is. Undo what forward did to the places.",
    "from-the-front": "x does not begin at the front of the result: the left pad stands before it.",
    "left-and-right": "the left pad says where x begins; the right one lies behind it.",
    "padded-again": "backward undoes forward: what was padded is cut off, not padded once more.",
    "not-copied": "every element that was summed gets the whole gradient of its sum: put the axes back with size 1, and repeat.",
    "other-axis": "those numbers belong to another axis.",
    # derivatives as numbers
    "one-sided": "that difference looks to one side only; central is (f(x + h) - f(x - h)) / 2h.",
    "two-h": "the two points are 2h apart.",
    "not-put-back": "move one element at a time, and put it back before the next.",
    "absolute": "divide the difference by the larger of |a| and |n|.",
    "signed": "an error has no sign: take the absolute value.",
    "one-denominator": "divide by the larger of the two, so that it does not matter which is which.",
    "sum-below": "divide by the larger of the two, not by their sum.",
    "one-term": "both operands move: one term for each.",
    "product-of-directions": "a product of two small steps is of second order. Each term keeps one of the operands as it is.",
    "second-order": "the product of both steps is of second order and drops out.",
    "not-centred": "the mean has to be subtracted first.",
    "not-scaled": "divide by the standard deviation.",
    "all-at-once": "each column has a mean and a standard deviation of its own.",
    "variance": "divide by the standard deviation, the root of the variance.",
    # values
    "sign": "look at the sign.",
    "averaged": "that is a mean. Every use acts in full, so that shares are summed, not averaged.",
    "factor": "every number is off by the same factor.",
    "swapped": "that is the share of the other operand.",
    "own-operand": "the gradient of one factor is multiplied with the other one, not with itself.",
    "without-g": "that is the derivative of this op alone. Multiply it with the gradient that the result has received (the chain rule).",
    "passed-on": "that is the gradient of the result as it is. The derivative of this op has to be multiplied in.",
    "by-mask": "a gradient flows where the operand is greater than 0, and only there.",
    "at-the-kink": "at exactly 0 the gradient is 0 here.",
    "first-of-tie": "where several elements are equally large, each of them gets an even part.",
    "all-of-tie": "each winner of a tie got the whole gradient; it is split among them.",
    "position": "the gradient goes to the place where the largest element stands, and is as large as g, not as the element.",
    "diagonal": "every output of a softmax depends on every input: p * (g - sum(g * p)), not p * (1 - p) * g alone.",
    # losses
    "counted-ignored": "the mean is over the rows that are not ignored.",
    "summed-not-mean": "the loss is a mean: divide by the number of rows that count.",
    "ignored-gradient": "a row that is ignored has no gradient.",
    "no-one-hot": "the gradient is (p - onehot(target)): subtract 1 at the target.",
    "overflow": "exp of a large number overflows. Subtract the largest logit of each row first; the result is the same.",
    "not-finite": "the result holds NaN or infinity.",
    # adding up
    "overwrote": "a value that is used several times gets a share from each use, and they add: += instead of =.",
    "first-share": "that is the first share alone; more of them come.",
    "last-share": "that is the last share alone. The ones before it are added to it.",
    "wrong-order": "a value may pass its gradient on only when all its shares have come: visit the nodes in reverse topological order.",
    "forgot-held": ".grad already held something, and backward adds to it.",
    "held-alone": "that is what .grad held before. The pass adds its gradient to it.",
    # counting and choosing
    "uses": "count the uses, not the operations: x * x uses x twice, and sends it two shares.",
    "one-gradient": "there is one gradient in the end, and it is the sum of several shares.",
    "constants": "a use in something that needs no gradient sends no share.",
    "off-by-one": "off by one; positions are counted from 0.",
    "smallest": "that is the smallest one.",
    "not-chosen": "the rule goes by the values: look again which of them forward chose.",
    "gave-value": "that is the value; asked for is its position.",
}


def close(a: Any, b: Any, tolerance: float) -> bool:
    """Whether two arrays of one shape agree: ``|a - b| <= tolerance * max(1, |b|)`` everywhere, NaN like NaN.

    >>> close(np.array([1.0, 2.0]), np.array([1.0, 2.0001]), 1e-3)
    True
    """
    return not np.any(apart(a, b, tolerance)) if np.shape(a) == np.shape(b) else False


def apart(a: Any, b: Any, tolerance: float) -> Array:
    """Per element whether the two disagree."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    with np.errstate(all="ignore"):
        near = (np.abs(a - b) <= tolerance * np.maximum(1.0, np.abs(b))) | (a == b) | (np.isnan(a) & np.isnan(b))
    return np.asarray(~near)


def diagnose(given: Any, right: Any, wrong: Iterable[tuple[str, Any]], tolerance: float) -> str:
    """The kind of mistake that gives ``given`` where ``right`` belongs; empty where none is recognised.

    ``wrong``: kinds of mistakes with what each would give here; those that would give the right thing are passed over.

    >>> diagnose(np.array([2.0, 4.0]), np.array([-2.0, -4.0]), [], 1e-6)
    'sign'
    >>> diagnose(np.array(2.0), np.array(5.0), [("overwrote", np.array(2.0))], 1e-6)
    'overwrote'
    """
    given, right = np.asarray(given, dtype=float), np.asarray(right, dtype=float)
    for kind, value in wrong:
        value = np.asarray(value, dtype=float)
        if close(given, value, tolerance) and not close(value, right, tolerance):
            return kind
    if given.shape != right.shape:
        if given.shape == right.shape[::-1] or (given.ndim > 1 and np.swapaxes(given, -1, -2).shape == right.shape):
            return "transposed"
        return _of_shape(given.shape, right.shape)
    if not given.size or np.all(right == 0):
        return ""
    if close(given, -right, tolerance):
        return "sign"
    if given.ndim > 1 and given.shape[-1] == given.shape[-2] and close(np.swapaxes(given, -1, -2), right, tolerance):
        return "transposed"
    if not np.all(np.isfinite(given)) and np.all(np.isfinite(right)):
        return "not-finite"
    with np.errstate(all="ignore"):
        ratio = given[right != 0] / right[right != 0]
    same = np.all(np.isfinite(ratio)) and ratio[0] not in (0.0, 1.0) and np.all(np.abs(ratio - ratio[0]) <= tolerance * max(1.0, abs(ratio[0])))
    return "factor" if same and np.all(given[right == 0] == 0) and ratio.size > 1 else ""


def _of_shape(given: tuple[int, ...], right: tuple[int, ...]) -> str:
    """What a shape says of a mistake."""
    if tuple(s for s in given if s != 1) == tuple(s for s in right if s != 1) and len(given) > len(right):
        return "kept-dims"
    if len(given) >= len(right) and int(np.prod(given)) > int(np.prod(right)):
        return "not-summed"
    return ""
