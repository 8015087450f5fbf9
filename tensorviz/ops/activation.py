"""Activations of neural networks, element by element. Imports the engine's op base only."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorviz.arguments import number, one_of
from tensorviz.engine.op import REGISTRY, Call, Op, frame
from tensorviz.ops.numbers import ZERO
from tensorviz.ops.samples import Examples, off_zero

__all__ = ["elu", "erf", "gelu", "leaky_relu", "relu", "sigmoid", "silu", "softplus"]

_KINKED = ((), (4,), (0, 2), (2, 1, 3))


def _around_zero(rng: np.random.Generator) -> Examples:
    return [((off_zero(rng, s),), {}) for s in _KINKED]


_WHOLE = {size: np.dtype(f"i{size}") for size in (2, 4, 8)}
"""Whole numbers as long as floats of so many bytes."""
_ONE = np.array(1, np.int8)


def _relu_rule(g: Any, out: Any) -> Any:
    """``where(out > 0, g, 0)``, and g where out is NaN, from where the NaN came. A NaN in g reaches nothing that was not selected."""
    if type(g) is not np.ndarray or type(out) is not np.ndarray or g.dtype is not out.dtype or g.itemsize > 8:
        return np.where(out <= 0, 0, g)
    zero = ZERO[g.dtype]
    blocked = out <= zero
    if g.size < 350:  # one by one: fewer calls, but a branch that no processor foresees
        kept = g.copy()
        kept[blocked] = zero
        return kept
    # by its bits, all of them kept or none: no branch for each element
    whole = _WHOLE[g.itemsize]
    kept = (blocked.view(np.int8) - _ONE).astype(whole)
    kept &= g.view(whole)
    return kept.view(g.dtype)


class _Relu(Op):
    """``max(a, 0)``. Its gradient at 0 is 0."""

    name, word = "relu", "routes"
    slots, methods = ("a",), ("relu",)
    elementwise = True
    expression = "np.maximum(a, ZERO[a.dtype] if type(a) is np.ndarray else 0)"
    vjps = (_relu_rule,)
    formulas = ("g where a > 0, else 0",)
    routes = (lambda out: ~(out <= 0),)
    examples = staticmethod(_around_zero)

    @staticmethod
    def forward(a: Any) -> Any:
        return np.maximum(a, ZERO[a.dtype] if type(a) is np.ndarray else 0)


class _LeakyRelu(Op):
    """``a`` where positive, ``slope * a`` elsewhere. Its gradient at 0 is the slope."""

    name, word, slots, methods = "leaky_relu", "scales", ("a",), ("leaky_relu",)
    vjps = (lambda g, a, slope: np.where(a > 0, g, g * slope),)
    formulas = ("g where a > 0, else g * slope",)
    source = "Maas, Hannun, Ng: Rectifier nonlinearities improve neural network acoustic models (2013)"
    examples = staticmethod(lambda rng: [*_around_zero(rng), ((off_zero(rng, (3,)),), {"slope": 0.3})])

    @staticmethod
    def forward(a: Any, slope: float = 0.01) -> Any:
        return np.where(np.greater(a, 0), a, np.multiply(a, slope))


def _elu_rule(g: Any, a: Any, alpha: float) -> Any:
    # not out + alpha, which has lost all digits where out is near -alpha
    with np.errstate(under="ignore"):
        return np.where(a > 0, g, g * (alpha * np.exp(np.minimum(a, 0))))


class _Elu(Op):
    """``a`` where positive, ``alpha * (e ** a - 1)`` elsewhere. Its gradient at 0 is alpha."""

    name, word, slots, methods = "elu", "scales", ("a",), ("elu",)
    vjps = (_elu_rule,)
    formulas = ("g where a > 0, else g * alpha * exp(a)",)
    source = "Clevert, Unterthiner, Hochreiter: Fast and accurate deep network learning by exponential linear units (2016)"
    examples = staticmethod(lambda rng: [*_around_zero(rng), ((off_zero(rng, (3,)),), {"alpha": 0.5})])

    @staticmethod
    def forward(a: Any, alpha: float = 1.0) -> Any:
        with np.errstate(under="ignore"):
            return np.where(np.greater(a, 0), a, alpha * np.expm1(np.minimum(a, 0)))


def _sigmoid(a: Any) -> Any:
    # the exponent is never positive, so nothing overflows, and both tails keep their digits
    with np.errstate(under="ignore"):
        e = np.exp(-np.abs(a))
        return np.where(np.greater_equal(a, 0), 1, e) / (1 + e)


def _sigmoid_rule(g: Any, out: Any) -> Any:
    with np.errstate(under="ignore"):
        return g * (out * (1 - out))


class _Sigmoid(Op):
    """``1 / (1 + e ** -a)``."""

    name, label, word, slots, methods = "sigmoid", "σ", "scales", ("a",), ("sigmoid",)
    forward = staticmethod(_sigmoid)
    vjps = (_sigmoid_rule,)
    formulas = ("g * out * (1 - out)",)


class _Softplus(Op):
    """``log(1 + e ** a)``."""

    name, word, slots, methods = "softplus", "scales", ("a",), ("softplus",)
    vjps = (lambda g, a: g * sigmoid(a),)
    formulas = ("g * sigmoid(a)",)

    @staticmethod
    def forward(a: Any) -> Any:
        with np.errstate(under="ignore"):
            return np.logaddexp(a, 0)


def _silu_rule(g: Any, a: Any) -> Any:
    s = sigmoid(a)
    with np.errstate(under="ignore"):
        return g * (s * (1 + a * (1 - s)))


class _Silu(Op):
    """``a * sigmoid(a)``."""

    name, word, slots, methods = "silu", "scales", ("a",), ("silu",)
    vjps = (_silu_rule,)
    formulas = ("g * sigmoid(a) * (1 + a * (1 - sigmoid(a)))",)
    source = "Elfwing, Uchibe, Doya: Sigmoid-weighted linear units (2018); also known as swish"

    @staticmethod
    def forward(a: Any) -> Any:
        with np.errstate(under="ignore"):
            return a * _sigmoid(a)


def _erf(a: Any) -> Any:
    # NumPy has no error function; the C library's is exact to the last digit but one
    array = np.asarray(a)
    kind = array.dtype if array.dtype.kind == "f" else np.dtype(float)
    return np.fromiter(map(math.erf, array.ravel().tolist()), dtype=float, count=array.size).reshape(array.shape).astype(kind, copy=False)


def _bell(a: Any) -> Any:
    """``e ** -a²``."""
    with np.errstate(under="ignore", over="ignore"):
        return np.exp(-(a * a))


class _Erf(Op):
    """The error function, ``2/√π ∫ e ** -t² dt`` from 0 to a."""

    name, word, slots, methods = "erf", "scales", ("a",), ("erf",)
    forward = staticmethod(_erf)
    vjps = (lambda g, a: g * (_bell(a) * (2 / math.sqrt(math.pi))),)
    formulas = ("g * 2 / sqrt(π) * exp(-a ** 2)",)
    source = "NIST Digital Library of Mathematical Functions, 7.2.1"


_HALF = math.sqrt(0.5)
_DENSITY = 1 / math.sqrt(2 * math.pi)
_TWO_OVER_PI = math.sqrt(2 / math.pi)
_CUBIC = 0.044715  # the paper's


def _gelu(a: Any, approximate: str = "none") -> Any:
    if approximate == "tanh":
        cdf = 0.5 * (1 + np.tanh(_TWO_OVER_PI * (a + _CUBIC * (a * a * a))))
    else:
        cdf = 0.5 * (1 + erf(a * _HALF))
    return a * cdf, (cdf,)


def _gelu_rule(g: Any, a: Any, cdf: Any, approximate: str) -> Any:
    if approximate == "tanh":
        # the derivative of (1 + tanh t) / 2 is 2 cdf (1 - cdf)
        return g * (cdf + a * (2 * cdf * (1 - cdf)) * (_TWO_OVER_PI * (1 + 3 * _CUBIC * (a * a))))
    return g * (cdf + a * (_bell(a * _HALF) * _DENSITY))


class _Gelu(Op):
    """``a`` times the probability that a standard normal number is below a."""

    name, word, slots, methods, extras = "gelu", "scales", ("a",), ("gelu",), ("cdf",)
    forward = staticmethod(_gelu)
    vjps = (_gelu_rule,)
    formulas = ("g * (cdf + a * density(a))",)
    source = "Hendrycks, Gimpel: Gaussian error linear units (2016)"
    examples = staticmethod(lambda rng: [((rng.normal(size=s),), {"approximate": how}) for s in _KINKED for how in ("none", "tanh")])


_LEAKY_RELU, _ELU, _GELU = Call(REGISTRY["leaky_relu"], "slope"), Call(REGISTRY["elu"], "alpha"), Call(REGISTRY["gelu"], "approximate")


def relu(a: Any) -> Any:
    """``max(a, 0)``: routes the gradient to the elements above 0. At 0 its gradient is 0.

    >>> relu(np.array([-1.0, 0.0, 2.0]))
    array([0., 0., 2.])
    """
    return REGISTRY["relu"].call.run(frame(1), a)


def leaky_relu(a: Any, slope: float = 0.01) -> Any:
    """``a`` where positive, ``slope * a`` elsewhere. At 0 its gradient is the slope.

    >>> leaky_relu(np.array([-1.0, 2.0]), slope=0.1)
    array([-0.1,  2. ])
    """
    return _LEAKY_RELU.run(frame(1), a, number("leaky_relu", "slope", slope))


def elu(a: Any, alpha: float = 1.0) -> Any:
    """``a`` where positive, ``alpha * (e ** a - 1)`` elsewhere (Clevert and others, 2016). At 0 its gradient is alpha.

    >>> elu(np.array([-1.0, 2.0]))
    array([-0.63212056,  2.        ])
    """
    return _ELU.run(frame(1), a, number("elu", "alpha", alpha))


def sigmoid(a: Any) -> Any:
    """``1 / (1 + e ** -a)``, without overflow and with all digits in both tails.

    >>> sigmoid(np.array([-1000.0, 0.0, 1000.0]))
    array([0. , 0.5, 1. ])
    """
    return REGISTRY["sigmoid"].call.run(frame(1), a)


def softplus(a: Any) -> Any:
    """``log(1 + e ** a)``, a smooth relu, without overflow.

    >>> softplus(np.array([-1000.0, 0.0, 1000.0]))
    array([0.00000000e+00, 6.93147181e-01, 1.00000000e+03])
    """
    return REGISTRY["softplus"].call.run(frame(1), a)


def silu(a: Any) -> Any:
    """``a * sigmoid(a)``, also known as swish (Elfwing and others, 2018).

    >>> silu(np.array([-1.0, 0.0, 1.0]))
    array([-0.26894142,  0.        ,  0.73105858])
    """
    return REGISTRY["silu"].call.run(frame(1), a)


def erf(a: Any) -> Any:
    """The error function, ``2/√π ∫ e ** -t² dt`` from 0 to a (DLMF 7.2.1).

    >>> erf(np.array([0.0, 1.0]))
    array([0.        , 0.84270079])
    """
    return REGISTRY["erf"].call.run(frame(1), a)


def gelu(a: Any, approximate: str = "none") -> Any:
    """``a`` times the probability that a standard normal number is below a (Hendrycks, Gimpel, 2016).

    ``approximate="tanh"`` takes the paper's approximation, which is faster. Raises ValueError for another word.

    >>> gelu(np.array([-1.0, 0.0, 1.0]))
    array([-0.15865525,  0.        ,  0.84134475])
    """
    one_of("gelu", "approximate", approximate, ("none", "tanh"))
    return _GELU.run(frame(1), a, approximate)
