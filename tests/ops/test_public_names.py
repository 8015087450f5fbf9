"""Every family is exported, and every public function is documented with an example that runs."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from typing import Any

import numpy as np
import pytest

import tensorviz as tv
from tensorviz import ops
from tensorviz.engine import protocols

FAMILIES = [importlib.import_module(f"tensorviz.ops.{m.name}") for m in pkgutil.iter_modules(ops.__path__)]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda m: m.__name__.rpartition(".")[2])
def test_every_family_is_exported_and_its_examples_run(family: Any):
    for name in getattr(family, "__all__", ()):
        assert name in tv.__all__
        assert getattr(tv, name) is getattr(family, name)
    failed, _ = doctest.testmod(family)
    assert failed == 0


@pytest.mark.parametrize("name", sorted(ops.__all__))
def test_every_public_function_has_a_docstring_with_an_example(name: str):
    function = getattr(tv, name)
    assert inspect.isfunction(function)
    assert ">>>" in (function.__doc__ or "")


# The list that users are promised: NumPy's names for what NumPy has, PyTorch's for the rest.
PROMISED = [
    "exp",
    "expm1",
    "exp2",
    "log",
    "log1p",
    "log2",
    "log10",
    "sqrt",
    "cbrt",
    "square",
    "reciprocal",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "arctan2",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arccosh",
    "arctanh",
    "hypot",
    "logaddexp",
    "sigmoid",
    "softplus",
    "relu",
    "leaky_relu",
    "elu",
    "gelu",
    "silu",
    "erf",
    "maximum",
    "minimum",
    "clip",
    "where",
    "sign",
    "floor",
    "ceil",
    "abs",
    "sum",
    "mean",
    "prod",
    "max",
    "min",
    "var",
    "std",
    "logsumexp",
    "norm",
    "cumsum",
    "cumprod",
    "argmax",
    "argmin",
    "linear",
    "softmax",
    "log_softmax",
    "cross_entropy",
    "nll_loss",
    "mse_loss",
    "bce_with_logits",
    "layer_norm",
    "batch_norm",
    "dropout",
    "conv1d",
    "conv2d",
    "max_pool2d",
    "avg_pool2d",
    "scaled_dot_product_attention",
    "custom_op",
]


@pytest.mark.parametrize("name", PROMISED)
def test_every_promised_name_is_there(name: str):
    assert callable(getattr(tv, name))


@pytest.mark.parametrize("name", [n for n in PROMISED if hasattr(np, n)])
def test_what_numpy_has_under_that_name_gives_a_recorded_tensor(name: str):
    x = tv.tensor(np.array([0.25, 0.5]), requires_grad=True)
    function = getattr(np, name)
    two = ("arctan2", "hypot", "logaddexp", "maximum", "minimum")
    special: dict[str, tuple[Any, ...]] = {"clip": (x, 0.0, 1.0), "where": (np.array([True, False]), x, x), "arccosh": (x + 1.5,)}
    arguments = special.get(name, (x, x) if name in two else (x,))
    y = function(*arguments)
    assert isinstance(y, tv.Tensor)
    np.testing.assert_allclose(y.numpy(), function(*(np.asarray(a) for a in arguments)))


def test_an_argument_that_a_reduction_does_not_take_is_named():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(TypeError, match=r"sum.*'mask'"):
        tv.sum(x, mask=np.array([True, False]))
    with pytest.raises(TypeError, match=r"np\.add\.reduce on a Tensor.*'first'"):
        protocols.array_ufunc(np.add, "reduce", (x,), {"first": 1.0})
