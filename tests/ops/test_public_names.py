"""Every family is exported, and every public function is documented with an example that runs."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
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


OPS = """
exp expm1 exp2 log log1p log2 log10 sqrt cbrt square reciprocal sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh hypot
logaddexp sigmoid softplus relu leaky_relu elu gelu silu erf maximum minimum clip sign floor ceil sum mean prod max min var std logsumexp norm cumsum cumprod
argmax argmin reshape ravel transpose swapaxes moveaxis expand_dims squeeze broadcast_to pad flip roll repeat tile split diag diagonal tril triu sort
take_along_axis matmul dot inner outer tensordot softmax log_softmax
"""
FUNCTIONS_ONLY = """
where stack concatenate einsum trace inv solve det slogdet cholesky linear cross_entropy nll_loss mse_loss bce_with_logits
layer_norm batch_norm dropout embedding conv1d conv2d max_pool2d avg_pool2d scaled_dot_product_attention
"""


def test_ops_are_functions_and_those_of_one_tensor_or_two_are_methods():
    assert [name for name in (OPS + FUNCTIONS_ONLY).split() if not callable(getattr(tv, name, None))] == []
    assert [name for name in OPS.split() if not callable(getattr(tv.Tensor, name, None))] == []


def test_the_module_of_the_record_is_called_for_the_op_of_its_name():
    x = tv.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = tv.trace(x) + tv.trace(x, 1)
    record = y.backward()
    assert x.grad.tolist() == [[1, 1], [0, 1]]
    assert [n.op for n in record.nodes] == ["leaf", "trace", "trace", "add"]
    assert "test_public_names.py" in record.nodes[1].source.file
    from tensorviz.trace import Trace

    assert isinstance(record, Trace)
    fresh("assert tv.trace(np.eye(2)) == 2; from tensorviz.trace import Trace; assert tv.Trace is Trace")


def test_the_families_that_are_loaded_later_offer_what_they_are_listed_with():
    for family, names in ops.LATER.items():
        assert importlib.import_module(f"tensorviz.ops.{family}").__all__ == list(names)


@pytest.mark.parametrize(
    ("first", "family"),
    [
        ("np.linalg.inv(x)", "linalg"),
        ("np.diff(x)", "differences"),
        ("tv.layer_norm(x, 2)", "normalization"),
        ("REGISTRY['conv2d']", "convolution"),
        ("'fold' in REGISTRY", "windows"),
        ("REGISTRY.get('mse_loss').name", "loss"),
        ("max(map(len, REGISTRY))", "attention"),
        ("tv.grad(tv.sum)(x)", None),
    ],
)
def test_what_an_import_leaves_out_comes_with_the_first_that_asks_for_it(first: str, family: str | None):
    loaded = f"tensorviz.ops.{family}" if family else "tensorviz.engine.functional"
    fresh(f"assert {loaded!r} not in sys.modules; found = {first}; assert found is not None and found is not False; assert {loaded!r} in sys.modules")


def test_no_op_takes_the_name_of_one_that_is_not_loaded_yet():
    fresh(
        "try: tv.custom_op('solve', abs, abs)\nexcept TypeError as error: assert 'built-in' in str(error)\nelse: raise AssertionError('custom op')\n"
    )
    fresh(
        "try: type('Mine', (Op,), {'name': 'conv2d', 'word': 'w', 'slots': ('a',), 'formulas': ('g',), 'vjps': ('g',), 'forward': abs})\n"
        "except TypeError as error: assert 'defined already' in str(error)\n"
        "else: raise AssertionError('class')\n"
    )


def test_two_threads_that_ask_for_the_rest_at_once_both_get_it():
    fresh(
        "from threading import Barrier, Thread\n"
        "start, found = Barrier(4), []\n"
        "def ask(name): start.wait(); found.append(REGISTRY[name].name)\n"
        "threads = [Thread(target=ask, args=(name,)) for name in ('conv2d', 'solve', 'linear', 'dropout')]\n"
        "for t in threads: t.start()\n"
        "for t in threads: t.join()\n"
        "assert sorted(found) == ['conv2d', 'dropout', 'linear', 'solve'], found\n"
    )


def fresh(code: str) -> None:
    """Run a few lines in an interpreter of their own, where nothing was asked for before."""
    begun = (
        "import sys, numpy as np, tensorviz as tv; from tensorviz.engine.op import REGISTRY, Op; x = tv.tensor(np.eye(2) + 1, requires_grad=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", begun + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", sorted([*ops.__all__, *[name for names in ops.LATER.values() for name in names]]))
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
