"""Who asks for a name that other libraries have is told what to write here."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.engine.words import ON_TENSORS, ON_THE_PACKAGE


@pytest.mark.parametrize("name", sorted(ON_TENSORS))
def test_a_word_of_others_is_no_attribute_and_says_what_to_do(name):
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    assert not hasattr(x, name)
    assert name not in dir(x)
    with pytest.raises(AttributeError, match=rf"'Tensor' object has no attribute '{name}': (write|take|read|leave) "):
        getattr(x, name)


@pytest.mark.parametrize(
    ("module", "name", "advice"),
    [
        (tv, "cat", "write tv.concatenate"),
        (tv, "as_tensor", "with tv.tensor"),
        (tv, "zeros", r"tv.tensor\(np.zeros\(...\), requires_grad=True\)"),
        (tv, "full_like", r"tv.tensor\(np.full_like\(...\), requires_grad=True\)"),
        (tv, "float32", "take NumPy's: np.float32$"),
        (tv, "softmaxx", "did you mean softmax"),
        (tv, "newaxis", "take NumPy's: np.newaxis"),
        (tv, "linalg", "np.linalg work on Tensors"),
        (tv, "grad_check", "did you mean gradcheck"),
        (tv, "allclose", "take NumPy's: np.allclose works on Tensors"),
        (tv.nn, "BatchNorm2d", "write nn.BatchNorm"),
        (tv.nn, "LayerNrom", "did you mean LayerNorm"),
        (tv.optim, "Adamw", "did you mean AdamW"),
        (tv.optim, "lr_scheduler", "CosineLR, LinearWarmup, StepLR"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_a_module_that_lacks_a_name_tells_ours(module, name, advice):
    assert not hasattr(module, name)
    with pytest.raises(AttributeError, match=f"has no attribute '{name}': .*{advice}"):
        getattr(module, name)


def test_a_name_that_nobody_has_gets_the_plain_words_of_python():
    with pytest.raises(AttributeError, match=r"^'Tensor' object has no attribute 'zorb'$"):
        _ = tv.tensor(1.0).zorb
    with pytest.raises(AttributeError, match=r"^module 'tensorviz' has no attribute 'zorb'$"):
        _ = tv.zorb


def test_no_word_stands_for_what_is_there():
    assert [name for name in ON_THE_PACKAGE if name in dir(tv)] == []
    assert [name for name in ON_TENSORS if name in dir(tv.tensor(1.0))] == []


def test_an_op_of_a_user_that_has_such_a_name_is_unharmed():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    clone = tv.custom_op("clone", lambda a: a.copy(), lambda g, a: (g,))
    clone(x).sum().backward()
    assert np.array_equal(x.grad, [1.0, 1.0])


def test_a_third_operand_of_pow_is_refused_by_name():
    x = tv.tensor(2.0)
    for _ in range(3):  # the first use has a faster form take the operator's place
        with pytest.raises(TypeError, match="__pow__"):
            pow(x, 2, 3)
        assert (x**2).item() == 4
