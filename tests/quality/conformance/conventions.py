"""Points where a derivative is a matter of convention: kinks, ties, bounds, corners, NaN. What each library gives there, and which rule we follow."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import peers

NAN, INF = float("nan"), float("inf")


@dataclass(frozen=True)
class Point:
    """An expression of ``a`` (and ``b``) at one point. The page tells the gradient of the sum of the result by each of them."""

    where: str
    ours: str
    torch: str | None
    autograd: str | None
    operands: dict[str, Any]
    rule: str
    """Which convention is followed, and why; ``house 3`` is rule 3 of the house."""

    def gradients(self, who: str) -> str:
        """The gradients by one library, as text; why there are none otherwise."""
        operands = {name: np.asarray(x, float) for name, x in self.operands.items()}
        text = {"tensorviz": self.ours, "PyTorch": self.torch, "autograd": self.autograd}[who]
        if text is None:
            return "-"
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                found = _ours(text, operands) if who == "tensorviz" else peers.PEERS[who](text, operands, ones=True).gradients
            except Exception as error:  # noqa: BLE001 - whatever a library raises is what it does there
                return type(error).__name__
        return "; ".join(shown(found[name]) for name in operands)


def _ours(text: str, operands: dict[str, Any]) -> dict[str, Any]:
    import tensorviz as tv

    leaves = {name: tv.tensor(x, requires_grad=True) for name, x in operands.items()}
    results = peers.evaluated(text, leaves, np=np, tv=tv)
    tv.backward(results, [np.ones(r.shape) for r in results])
    return {name: leaf.grad if leaf.grad is not None else np.zeros(leaf.shape) for name, leaf in leaves.items()}


def shown(array: Any) -> str:
    """Numbers with four digits: what differs is a convention, not a round-off."""
    array = np.asarray(array)
    if array.ndim:
        return "[" + ", ".join(shown(x) for x in array) + "]"
    x = float(array)
    return "nan" if x != x else f"{x:.4g}".replace("-0", "0") if x == 0 else f"{x:.4g}"


POINTS = (
    Point(
        "relu at 0", "tv.relu(a)", "F.relu(a)", "np.maximum(a, 0)", {"a": 0.0}, "0 (house 3). autograd has no relu; a maximum with 0 is a tie there"
    ),
    Point(
        "logaddexp with an infinity",
        "np.logaddexp(a, b)",
        "torch.logaddexp(a, b)",
        "np.logaddexp(a, b)",
        {"a": INF, "b": 1.0},
        "the infinity is all of the sum, as in PyTorch",
    ),
    Point(
        "power of zero, NaN from above",
        "(0.0 ** a) * b",
        "(0.0 ** a) * b",
        "(0.0 ** a) * b",
        {"a": 2.0, "b": NAN},
        "0 * NaN is NaN: a power selects nothing",
    ),
    Point("abs at 0", "np.abs(a)", "torch.abs(a)", "np.abs(a)", {"a": 0.0}, "0 (house 3)"),
    Point(
        "maximum, equal operands", "np.maximum(a, b)", "torch.maximum(a, b)", "np.maximum(a, b)", {"a": 2.0, "b": 2.0}, "ties split evenly (house 3)"
    ),
    Point(
        "minimum, equal operands", "np.minimum(a, b)", "torch.minimum(a, b)", "np.minimum(a, b)", {"a": 2.0, "b": 2.0}, "ties split evenly (house 3)"
    ),
    Point(
        "fmax, equal operands",
        "np.fmax(a, b)",
        "torch.fmax(a, b)",
        "np.fmax(a, b)",
        {"a": 2.0, "b": 2.0},
        "ties split evenly, as in maximum; PyTorch gives all to the first",
    ),
    Point(
        "maximum with 0 of 0",
        "np.maximum(a, 0.0)",
        "torch.clamp(a, min=0.0)",
        "np.maximum(a, 0.0)",
        {"a": 0.0},
        "a tie: half (house 3). PyTorch's word for it is clamp, which passes at its bound",
    ),
    Point("max of two equal elements", "np.max(a)", "torch.amax(a)", "np.max(a)", {"a": [1.0, 3.0, 3.0]}, "ties split evenly (house 3)"),
    Point(
        "max along an axis, equal elements",
        "np.max(a, axis=0)",
        "torch.max(a, 0).values",
        "np.max(a, axis=0)",
        {"a": [3.0, 1.0, 3.0]},
        "ties split evenly (house 3); torch.max with a dim picks one, torch.amax splits",
    ),
    Point("max with NaN", "np.max(a)", "torch.amax(a)", "np.max(a)", {"a": [1.0, NAN, 3.0]}, "the NaN entries get it (house 9)"),
    Point(
        "maximum with NaN", "np.maximum(a, b)", "torch.maximum(a, b)", "np.maximum(a, b)", {"a": NAN, "b": 2.0}, "the NaN operand gets it (house 9)"
    ),
    Point("fmax with NaN", "np.fmax(a, b)", "torch.fmax(a, b)", "np.fmax(a, b)", {"a": NAN, "b": 2.0}, "the number gets it: a NaN was passed over"),
    Point(
        "clip at its bounds",
        "np.clip(a, 0.0, 1.0)",
        "torch.clamp(a, 0.0, 1.0)",
        "np.clip(a, 0.0, 1.0)",
        {"a": [0.0, 0.5, 1.0, 2.0]},
        "the gradient passes at the bounds (house 3)",
    ),
    Point(
        "sort, equal elements",
        "np.sort(a) * np.array([1.0, 2.0, 3.0])",
        "torch.sort(a, stable=True).values * torch.tensor([1.0, 2.0, 3.0])",
        "np.sort(a) * np.array([1.0, 2.0, 3.0])",
        {"a": [2.0, 2.0, 1.0]},
        "one to one, in the order of appearance",
    ),
    Point("norm at 0", "np.linalg.norm(a)", "torch.linalg.norm(a)", "np.linalg.norm(a)", {"a": [0.0, 0.0]}, "0, as for abs"),
    Point(
        "largest norm, equal sizes",
        "np.linalg.norm(a, ord=np.inf)",
        "torch.linalg.norm(a, ord=float('inf'))",
        None,
        {"a": [3.0, -3.0]},
        "ties split evenly (house 3)",
    ),
    Point(
        "hypot at (0, 0)",
        "np.hypot(a, b)",
        "torch.hypot(a, b)",
        "np.hypot(a, b)",
        {"a": 0.0, "b": 0.0},
        "0, as for abs and norm; where it is computed as g * a / out it is 0 / 0",
    ),
    Point(
        "arctan2 at (0, 0)",
        "np.arctan2(a, b)",
        "torch.arctan2(a, b)",
        "np.arctan2(a, b)",
        {"a": 0.0, "b": 0.0},
        "0, as in PyTorch: the angle jumps there, and no direction is preferred",
    ),
    Point("std of equal elements", "np.std(a)", "torch.std(a, correction=0)", "np.std(a)", {"a": [2.0, 2.0]}, "0, as for abs: a kink at its minimum"),
    Point("sqrt at 0", "np.sqrt(a)", "torch.sqrt(a)", "np.sqrt(a)", {"a": 0.0}, "infinite, as IEEE arithmetic has it; all agree"),
    Point("a ** 0 at 0", "a ** 0", "a ** 0", "a ** 0", {"a": 0.0}, "0: the power 0 is constant"),
    Point(
        "0 ** b by b",
        "np.power(a, b)",
        "torch.pow(a, b)",
        "np.power(a, b)",
        {"a": 0.0, "b": 2.0},
        "0: constant for b > 0, although log(0) is infinite",
    ),
    Point(
        "a ** b at negative a",
        "np.power(a, b)",
        "torch.pow(a, b)",
        "np.power(a, b)",
        {"a": -2.0, "b": 2.0},
        "by b: NaN, as no real power is defined beside b",
    ),
    Point(
        "prod with one 0",
        "np.prod(a)",
        "torch.prod(a)",
        "np.prod(a)",
        {"a": [2.0, 0.0, 3.0]},
        "exact: the product of the others. autograd divides by the element",
    ),
    Point("cumprod with one 0", "np.cumprod(a)", "torch.cumprod(a, 0)", None, {"a": [2.0, 0.0, 3.0]}, "exact; all agree"),
    Point(
        "det of a singular matrix",
        "np.linalg.det(a)",
        "torch.linalg.det(a)",
        "np.linalg.det(a)",
        {"a": [[1.0, 2.0], [2.0, 4.0]]},
        "the cofactors, which exist. autograd inverts the matrix",
    ),
    Point("sinc at 0", "np.sinc(a)", "torch.sinc(a)", "np.sinc(a)", {"a": 0.0}, "0, the limit"),
    Point(
        "remainder by b",
        "np.remainder(a, b)",
        "torch.remainder(a, b)",
        "np.remainder(a, b)",
        {"a": 5.0, "b": 3.0},
        "minus the floor of the quotient; all agree",
    ),
    Point("round at a half", "np.round(a)", "torch.round(a)", "np.round(a)", {"a": 0.5}, "0 at the jumps of step functions too"),
    Point(
        "logaddexp of two -inf",
        "np.logaddexp(a, b)",
        "torch.logaddexp(a, b)",
        "np.logaddexp(a, b)",
        {"a": -INF, "b": -INF},
        "NaN, as in PyTorch's softmax of such a row (house 9)",
    ),
    Point("softmax of a row of -inf", "tv.softmax(a)[0]", "F.softmax(a, -1)[0]", None, {"a": [-INF, -INF]}, "NaN, as in PyTorch (house 9)"),
    Point(
        "where beside an infinite gradient",
        "np.where(a > 0, np.log(a), b)",
        "torch.where(a > 0, torch.log(a), b)",
        "np.where(a > 0, np.log(a), b)",
        {"a": 0.0, "b": 1.0},
        "where sends 0 to log(0), and 0 * inf is NaN further down, as in IEEE, NumPy and PyTorch (house 4)",
    ),
    Point("nan_to_num of NaN", "np.nan_to_num(a)", "torch.nan_to_num(a)", "np.nan_to_num(a)", {"a": [NAN, 1.0]}, "0 where a number was put in"),
    Point(
        "cholesky, which triangle",
        "np.linalg.cholesky(a)[1, 0]",
        "torch.linalg.cholesky(a)[1, 0]",
        "np.linalg.cholesky(a)[1, 0]",
        {"a": [[4.0, 2.0], [2.0, 5.0]]},
        "both, evenly: the matrix is read as (a + a.T) / 2. NumPy's own function looks at the lower one only",
    ),
    Point(
        "eigh, which triangle",
        "np.linalg.eigh(a)[0][1]",
        "torch.linalg.eigh(a)[0][1]",
        "np.linalg.eigh(a)[0][1]",
        {"a": [[2.0, 1.0], [1.0, 2.0]]},
        "both, evenly, as for cholesky; autograd gives all to the lower one",
    ),
    Point(
        "eigenvectors, equal eigenvalues",
        "np.linalg.eigh(a)[1][0, 1]",
        "torch.linalg.eigh(a)[1][0, 1]",
        "np.linalg.eigh(a)[1][0, 1]",
        {"a": [[1.0, 0.0], [0.0, 1.0]]},
        "not finite: such vectors are not determined",
    ),
)
