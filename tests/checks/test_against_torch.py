"""gradcheck says pass and fail where torch.autograd.gradcheck does, on the same functions and points, with the same rules broken."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv

torch = pytest.importorskip("torch", reason="PyTorch is not installed: gradcheck has NOT been held to its own")

pytestmark = pytest.mark.filterwarnings("ignore")

RNG = np.random.default_rng(5)
A = RNG.uniform(0.3, 0.9, (2, 3))
B = RNG.uniform(1.1, 1.9, (2, 3))
C = RNG.uniform(0.5, 1.5, (3, 2))
ROW = RNG.uniform(0.5, 1.5, 3)
S = np.array([[2.0, 0.3], [0.4, 1.5]])

NAMES = [
    *("abs", "negative", "deg2rad", "floor", "ceil", "sign", "exp", "expm1", "exp2", "log", "log1p", "log2", "log10", "sqrt", "square"),
    *("reciprocal", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arctanh"),
]
UNARY = {name: (getattr(np, name), getattr(torch, name)) for name in NAMES}
UNARY["arccosh"] = (lambda a: np.arccosh(a + 1.0), lambda a: torch.arccosh(a + 1.0))
OURS = {
    "relu": (tv.relu, torch.relu),
    "sigmoid": (tv.sigmoid, torch.sigmoid),
    "softplus": (tv.softplus, torch.nn.functional.softplus),
    "silu": (tv.silu, torch.nn.functional.silu),
    "elu": (tv.elu, torch.nn.functional.elu),
    "erf": (tv.erf, torch.erf),
    "softmax": (tv.softmax, lambda a: torch.softmax(a, -1)),
    "log_softmax": (tv.log_softmax, lambda a: torch.log_softmax(a, -1)),
    "logsumexp": (lambda a: tv.logsumexp(a, axis=1), lambda a: torch.logsumexp(a, 1)),
}
BINARY = {
    "add": (lambda a, b: a + b, lambda a, b: a + b),
    "sub": (lambda a, b: a - b, lambda a, b: a - b),
    "mul": (lambda a, b: a * b, lambda a, b: a * b),
    "div": (lambda a, b: a / b, lambda a, b: a / b),
    "pow": (lambda a, b: a**b, lambda a, b: a**b),
    "arctan2": (np.arctan2, torch.arctan2),
    "hypot": (np.hypot, torch.hypot),
    "logaddexp": (np.logaddexp, torch.logaddexp),
    "maximum": (np.maximum, torch.maximum),
    "minimum": (np.minimum, torch.minimum),
}
SHAPED = {
    "sum": (lambda a: a.sum(axis=0), lambda a: a.sum(0)),
    "mean": (lambda a: a.mean(axis=1), lambda a: a.mean(1)),
    "var": (lambda a: a.var(axis=1), lambda a: a.var(1, correction=0)),
    "std": (lambda a: a.std(), lambda a: a.std(correction=0)),
    "prod": (lambda a: a.prod(axis=1), lambda a: a.prod(1)),
    "max": (lambda a: a.max(axis=1), lambda a: a.amax(1)),
    "min": (lambda a: a.min(axis=0), lambda a: a.amin(0)),
    "cumsum": (lambda a: np.cumsum(a, axis=1), lambda a: torch.cumsum(a, 1)),
    "cumprod": (lambda a: np.cumprod(a, axis=1), lambda a: torch.cumprod(a, 1)),
    "reshape": (lambda a: a.reshape(3, 2) * 2.0, lambda a: a.reshape(3, 2) * 2.0),
    "transpose": (lambda a: a.T * 2.0, lambda a: a.T * 2.0),
    "flip": (lambda a: np.flip(a, 1) * 2.0, lambda a: torch.flip(a, (1,)) * 2.0),
    "roll": (lambda a: np.roll(a, 1, axis=1) * 2.0, lambda a: torch.roll(a, 1, 1) * 2.0),
    "tile": (lambda a: np.tile(a, (2, 1)) * 2.0, lambda a: torch.tile(a, (2, 1)) * 2.0),
    "index": (lambda a: a[[0, 0, 1], [1, 1, 2]] * 3.0, lambda a: a[[0, 0, 1], [1, 1, 2]] * 3.0),
    "mask": (lambda a: np.where(A > 0.6, a, a * a), lambda a: torch.where(torch.tensor(A > 0.6), a, a * a)),
    "tril": (lambda a: np.tril(a) * 2.0, lambda a: torch.tril(a) * 2.0),
    "norm": (lambda a: np.linalg.norm(a), lambda a: torch.linalg.norm(a)),
    "clip": (lambda a: np.clip(a, 0.4, 0.8), lambda a: torch.clip(a, 0.4, 0.8)),
    "detached": (lambda a: a * a.detach(), lambda a: a * a.detach()),
    "kink at zero": (lambda a: tv.relu(a * 0.0), lambda a: torch.relu(a * 0.0)),
}
MATRIX = {
    "matmul": (lambda a, c: a @ c, lambda a, c: a @ c, (A, C)),
    "einsum": (lambda a, c: np.einsum("ij,jk->ki", a, c), lambda a, c: torch.einsum("ij,jk->ki", a, c), (A, C)),
    "outer": (np.outer, torch.outer, (ROW, ROW)),
    "row": (lambda a, r: a * r + r, lambda a, r: a * r + r, (A, ROW)),
    "stack": (lambda a, b: np.stack([a, b * a]), lambda a, b: torch.stack([a, b * a]), (A, B)),
    "concatenate": (lambda a, b: np.concatenate([a, b], axis=1) * 2.0, lambda a, b: torch.cat([a, b], 1) * 2.0, (A, B)),
    "inv": (np.linalg.inv, torch.linalg.inv, (S,)),
    "det": (np.linalg.det, torch.linalg.det, (S,)),
    "solve": (np.linalg.solve, torch.linalg.solve, (S, C[:2])),
    "two outputs": (lambda a: (a * a, np.tanh(a)), lambda a: (a * a, torch.tanh(a)), (A,)),
}


class Wrong(torch.autograd.Function):
    """x * 2 whose gradient is off by a factor."""

    @staticmethod
    def forward(ctx, x):
        return x * 2.0

    @staticmethod
    def backward(ctx, g):
        return g * 2.1


wrong = tv.custom_op("against_torch_wrong", lambda x: x * 2.0, lambda g, x: (g * 2.1,))

FUNCTIONS = (
    {name: (*pair, (A,)) for name, pair in {**UNARY, **OURS, **SHAPED}.items()} | {name: (*pair, (A, B)) for name, pair in BINARY.items()} | MATRIX
)

BROKEN = ["exp", "sin", "sigmoid", "mul", "pow", "sum", "max", "cumprod", "index", "matmul", "row", "solve"]
"""Also looked at with a wrong rule behind them."""


def verdicts(ours, theirs, points):
    mine = bool(tv.gradcheck(ours, *points, raise_exception=False))
    inputs = [torch.tensor(p, requires_grad=True) for p in points]
    return mine, torch.autograd.gradcheck(theirs, inputs, raise_exception=False)


def test_the_table_has_sixty_functions():
    assert len(FUNCTIONS) >= 60


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradcheck_agrees(name):
    mine, expected = verdicts(*FUNCTIONS[name])
    assert mine == expected
    assert expected == (name != "detached")


@pytest.mark.parametrize("name", BROKEN)
def test_gradcheck_agrees_where_a_rule_is_wrong(name):
    ours, theirs, points = FUNCTIONS[name]
    assert verdicts(lambda *p: wrong(ours(*p)), lambda *p: Wrong.apply(theirs(*p)), points) == (False, False)
