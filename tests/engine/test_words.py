"""Who asks for a name that other libraries have is told what to write here."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.engine.words import ARGUMENTS, ON_TENSORS, ON_THE_PACKAGE, words_of
from tensorviz.errors import OptionTypeError


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


X = tv.tensor([[1.0, 2.0]], requires_grad=True)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: X.sum().backward(retain_graph=True), "backward takes no retain_graph=: leave it out: the graph is kept.*; it has gradient, record$"),
        (lambda: X.sum().backward(create_graph=True), r"backward takes no create_graph=: take tv\.grad, which nests"),
        (lambda: X.sum().backward(seed=1.0), "backward takes no seed=: write gradient="),
        (lambda: tv.tensor(1.0, device="cpu"), "tensor takes no device=: leave it out"),
        (lambda: tv.tensor(1.0, require_grad=True), "tensor takes no require_grad=: did you mean requires_grad="),
        (lambda: tv.nn.Linear(2, 3, bias_=False), "Linear takes no bias_=: did you mean bias="),
        (lambda: tv.nn.Linear(input_dim=2, units=3), "Linear takes no input_dim=: write in_features="),
        (lambda: tv.nn.ReLU(inplace=True), "ReLU takes no inplace=: leave it out: the result is a new Tensor$"),
        (lambda: tv.nn.ReLU(3), "ReLU takes no arguments, got 1$"),
        (lambda: tv.nn.Softmax(dim=1), "Softmax takes no dim=: write axis="),
        (lambda: tv.nn.Dropout(rate=0.5), "Dropout takes no rate=: write p="),
        (lambda: tv.nn.Dropout(seed=3), "Dropout takes no seed=: write rng="),
        (lambda: tv.optim.SGD([X], learning_rate=0.1), "SGD takes no learning_rate=: write lr="),
        (lambda: tv.optim.Adam([X], lr=0.1, maximize=True), "Adam takes no maximize=: run backward from -loss"),
    ],
)
def test_an_argument_of_others_is_told_what_ours_is_called(call, says):
    with pytest.raises(TypeError, match=says) as caught:
        call()
    assert isinstance(caught.value, OptionTypeError)


def test_modules_of_ones_own_take_the_arguments_that_their_init_takes():
    class Net(tv.nn.Module):
        def __init__(self, width, *, depth=1, **further):
            self.width, self.depth, self.further = width, depth, further

    class Narrow(Net):
        def __init__(self, *, wide=1):
            super().__init__(wide)

    net = Net(3, depth=2, colour="red")
    assert (net.width, net.depth, net.further, Narrow(wide=2).width) == (3, 2, {"colour": "red"}, 2)
    with pytest.raises(OptionTypeError, match="Narrow takes no wid=: did you mean wide="):
        Narrow(wid=1)


def test_every_argument_that_is_told_of_is_one_of_ours():
    functions = [vars(tv)[name] for name in dir(tv) if hasattr(vars(tv).get(name), "__code__")]
    kinds = [kind.__init__ for part in (tv.nn, tv.optim) for kind in vars(part).values() if isinstance(kind, type)]
    ours = {word for f in (*functions, *kinds, tv.Tensor.backward) for word in words_of(f)}
    assert {word for words in ARGUMENTS.values() for word in words} <= ours


@pytest.mark.parametrize(
    ("name", "value", "kind", "says"),
    [
        ("shape", (2, 1), AttributeError, r"^shape of tensor 'x' cannot be assigned to: write x = x\.reshape\(shape\)"),
        ("dtype", np.float32, AttributeError, r"^dtype of tensor 'x' cannot be assigned to: write x = x\.astype\(dtype\)"),
        ("size", 3, AttributeError, "^size of tensor 'x' cannot be assigned to: it follows from the values"),
        ("is_leaf", True, AttributeError, r"x\.detach\(\)"),
        ("device", "cpu", AttributeError, "no attribute 'device': leave it out"),
        ("trace", 3, TypeError, r"^trace of tensor 'x' is a Trace, which backward\(\) makes and keeps there, or None; got 3"),
        ("data", [0.5, 1.5], TypeError, "^data of tensor 'x' has dtype int64, into which float64 does not fit"),
    ],
)
def test_an_assignment_that_would_mean_nothing_is_answered_with_what_to_write(name, value, kind, says):
    x = tv.tensor([1, 2], name="x")
    with pytest.raises(kind, match=says):
        setattr(x, name, value)
    assert x.tolist() == [1, 2]
    assert x.shape == (2,)
    x.data = [3, 4]
    x.trace = None
    assert x.tolist() == [3, 4]


def test_whole_numbers_are_data_of_any_dtype_that_holds_them():
    for dtype, values in (np.uint8, [3, 255]), (bool, [1, 0]), (int, [3.0, 4.0]):
        x = tv.tensor(np.ones(2, dtype=dtype))
        x.data = values
        assert x.dtype == dtype
        assert x.tolist() == values
    x = tv.tensor(np.array([1, 2], dtype=np.uint8), name="x")
    for values in [3, 256], [-1, 0], [0.5, 1.0], [np.nan, 1.0]:
        with pytest.raises(TypeError, match=r"^data of tensor 'x' has dtype uint8"):
            x.data = values
    assert x.tolist() == [1, 2]
