"""What every public door says to a wrong argument: the function, the argument, what is expected, what came. And that nothing is refused in another class."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorviz as tv
from tensorviz import nn, optim
from tensorviz.errors import (
    AxisError,
    BreakpointError,
    ConversionError,
    DTypeError,
    GraphError,
    IndexingError,
    LinearAlgebraError,
    NodeLookupError,
    NumberError,
    OptionError,
    OptionTypeError,
    RecordError,
    RuleError,
    SeedError,
    ShapeError,
    StateError,
    TensorvizError,
)
from tensorviz.views import plots
from tensorviz.widgets.pair import pair

Case = tuple[Callable[[], Any], type[Exception], str]
PACKAGE = Path(tv.__file__).parent
SINGULAR = [[1.0, 1.0], [1.0, 1.0]]


def x(values: Any = (1.0, 2.0)) -> tv.Tensor:
    return tv.tensor(values, requires_grad=True, name="x")


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no words for it")


def squares() -> tv.Trace:
    a = x()
    y = (a * a).sum()
    return y.backward()


def raises(cases: list[Case]) -> Any:
    return pytest.mark.parametrize(("call", "kind", "text"), cases, ids=[text[:50] for _, _, text in cases])


def told(call: Callable[[], Any], kind: type[Exception], text: str) -> Exception:
    with pytest.raises(kind, match=text) as caught:
        call()
    assert isinstance(caught.value, TensorvizError)
    return caught.value


# ---- tensors ------------------------------------------------------------------------------------------------------


def assign(name: str, value: Any) -> Callable[[], None]:
    return lambda: setattr(x(), name, value)


@raises(
    [
        (lambda: tv.tensor(None), DTypeError, r"got None \(dtype object\)"),
        (lambda: tv.tensor([[1.0], [1.0, 2.0]]), DTypeError, "tensor.*no rectangular array of numbers"),
        (lambda: tv.tensor([1.0], dtype="bad"), DTypeError, "or dtype='bad' is none"),
        (lambda: tv.tensor(10**400, dtype=float), DTypeError, "int too large"),
        (lambda: tv.tensor([1.0], requires_grad="yes"), DTypeError, "requires_grad is True or False, got 'yes'"),  # type: ignore[arg-type]
        (assign("requires_grad", None), DTypeError, "requires_grad is True or False, got None"),
        (assign("grad", [[1.0], [1.0, 2.0]]), DTypeError, r"\.grad of tensor 'x' takes an array of shape \(2,\), got \[\[1\.0\], \[1\.0, 2\.0\]\]"),
        (assign("grad", [1j, 2j]), DTypeError, r"\.grad of tensor 'x' takes real numbers, got \[1j, 2j\] of dtype complex128"),
        (assign("data", "a"), DTypeError, "data of tensor 'x' takes real numbers, got 'a'"),
        (lambda: list(tv.tensor(1.0)), DTypeError, r"a 0-d Tensor cannot be iterated over: this tensor holds one number; item\(\) gives it"),
        (lambda: bool(x()), ShapeError, r"the truth of tensor 'x' with shape \(2,\) is ambiguous"),
        (lambda: float(x()), ConversionError, r"float\(\) needs exactly one element, tensor 'x' has shape \(2,\)"),
        (lambda: int(x()), ConversionError, r"int\(\) needs exactly one element"),
        (lambda: tv.no_grad(abs), DTypeError, r"no_grad takes no arguments, got .*written with parentheses: @tv\.no_grad\(\)"),  # type: ignore[call-arg]
        (lambda: x().backward([[1], [1, 2]]), SeedError, r"expected real numbers of shape \(2,\), got \[\[1\], \[1, 2\]\]"),
        (lambda: x().backward("a"), SeedError, r"dtype <U1, expected real numbers of shape \(2,\), got 'a'"),
        (lambda: x().backward([1j, 2j]), SeedError, r"dtype complex128, expected real numbers"),
        (lambda: x().backward(np.array([object(), 1])), SeedError, r"dtype object, expected real numbers"),
        (lambda: tv.backward([x().sum()], 3), SeedError, "a list of gradients, one per Tensor, got 3"),
        (lambda: tv.backward([x().sum()], [1.0, 2.0]), SeedError, r"1 Tensor\(s\) and 2 gradient\(s\)"),
    ]
)
def test_a_tensor_is_refused_what_it_cannot_be(call: Callable[[], Any], kind: type[Exception], text: str) -> None:
    told(call, kind, text)


def test_a_number_is_refused_in_the_words_of_both_numpy_and_pytorch() -> None:
    for kind in (TypeError, ValueError):
        with pytest.raises(kind):
            float(x())


# ---- operands -----------------------------------------------------------------------------------------------------


@raises(
    [
        (lambda: x() + 10**400, NumberError, r"add: the number in operand b does not fit into the dtype of the others"),
        (lambda: 10**400 * x(), NumberError, r"mul: the number in operand a does not fit"),
        (lambda: x() + None, DTypeError, "add: operand b .*got None"),  # type: ignore[operator]
        (lambda: "a" * x(), DTypeError, "mul: operand a .*got 'a'"),  # type: ignore[operator]
        (lambda: x() * "a", DTypeError, "mul: operand b .*got 'a'"),  # type: ignore[operator]
        (lambda: x() @ None, DTypeError, "matmul: operand b .*got None"),  # type: ignore[operator]
        (lambda: x() < None, DTypeError, "less: operand b .*got None"),  # type: ignore[operator]
        (lambda: x() + object(), DTypeError, "add: operand b .*got an object"),  # type: ignore[operator]
        (lambda: tv.relu(None), DTypeError, "relu: operand a .*got None"),
        (lambda: tv.relu("a"), DTypeError, "relu: operand a .*got 'a'"),
        (lambda: tv.relu([[1], [1, 2]]), DTypeError, r"relu: operand a is no rectangular array of numbers, got \[\[1\], \[1, 2\]\]"),
        (lambda: tv.maximum(x(), "a"), DTypeError, "maximum: operand b .*got 'a'"),
        (lambda: tv.where("a", x(), x()), DTypeError, "where: operand condition .*got 'a'"),
        (lambda: x().exp(3), DTypeError, r"exp takes 1 operand\(s\) \(a\), got 2"),
        (lambda: x().relu(foo=1), DTypeError, "relu takes no foo="),
        (lambda: tv.concatenate([x(), None]), DTypeError, "concatenate: an operand .*got None"),
        (lambda: tv.inv([[1.0], [1.0, 2.0]]), DTypeError, "inv: an operand is no rectangular array"),
        (lambda: tv.inv(SINGULAR), LinearAlgebraError, r"inv of operands of shape \(2, 2\): Singular matrix; a singular matrix has no inverse"),
        (lambda: tv.inv(x(SINGULAR)), LinearAlgebraError, "Singular matrix"),
        (lambda: tv.solve(x(SINGULAR), [1.0, 2.0]), LinearAlgebraError, r"solve of operands of shape \(2, 2\) and \(2,\): Singular matrix"),
        (lambda: tv.cholesky(x([[1.0, 2.0], [2.0, 1.0]])), LinearAlgebraError, "cholesky .*not positive definite"),
    ]
)
def test_an_operand_is_refused_by_op_and_slot(call: Callable[[], Any], kind: type[Exception], text: str) -> None:
    told(call, kind, text)


@raises(
    [
        (lambda: tv.linspace(x(), "abc"), DTypeError, "linspace: stop must be a number, or an array of numbers, got 'abc'"),
        (lambda: tv.linspace(x(), [[1], [2, 3]]), DTypeError, "linspace: stop "),
        (lambda: tv.broadcast_arrays(x(), np.ones(3)), ShapeError, r"broadcast_arrays: shapes \(2,\), \(3,\) have no common shape"),
        (lambda: tv.where(3), ShapeError, "where: a condition alone gives .* needs an axis, got 3"),
        (lambda: tv.clip("abc", 0), DTypeError, "clip"),
        (lambda: tv.copy(x(), np.zeros(0)), DTypeError, "copy: order is 'C', 'F', 'A' or 'K', got"),
        (lambda: tv.hstack(np.zeros(0)), ShapeError, "concatenate"),
        (lambda: tv.array_split(x(), [[1, 2], [3]]), DTypeError, "array_split: a position must be a whole number"),
        (lambda: tv.avg_pool2d([[1, 2], [3]], 2), DTypeError, "avg_pool2d"),
        (lambda: x().sum(where=[[True], [True, False]]), DTypeError, "sum: where"),
        (lambda: x().item(None), OptionTypeError, r"item\(\) takes one whole number, or one per axis of shape \(2,\), got None"),
        (lambda: tv.grad(lambda a: a * a)(None), DTypeError, "grad: argument 0 is None; expected the array of floats"),
    ]
)
def test_what_is_no_number_or_fits_nowise_is_refused_in_our_words(call: Callable[[], Any], kind: type[Exception], text: str) -> None:
    told(call, kind, text)


@raises(
    [
        (
            lambda: squares()[1000],
            IndexingError,
            r"there is no step 1000: the pass has \d+, numbered from 0\. A node by its number is trace\.node\(1000\)",
        ),
        (lambda: squares().check_alongside(foo=1), OptionTypeError, "check_alongside takes no foo=; it has tell, eps, atol, rtol, budget, seed"),
        (lambda: squares().check_alongside(nodes="x"), OptionTypeError, "check_alongside takes no nodes=; it has"),
        (lambda: squares().check_alongside(3), DTypeError, "check_alongside: tell must be a function, got 3"),  # type: ignore[arg-type]
        (
            lambda: tv.grad(x().sum(), x()),
            DTypeError,
            r"grad: .* must be a function .*, got this tensor, its result; .* backward\(\), and read \.grad",
        ),  # type: ignore[arg-type]
        (lambda: tv.draw(x(), step=3), OptionTypeError, r"draw takes no step=: .*draw\(y\)\.to_svg\(step=\.\.\.\)"),  # type: ignore[arg-type]
        (lambda: tv.jacobian(x()), DTypeError, "jacobian: .* got tensor 'x', its result"),  # type: ignore[arg-type]
        (lambda: nn.Linear(1, 1).zero_grad(set_to_none=True), OptionTypeError, r"zero_grad takes no set_to_none=: leave it out"),  # type: ignore[arg-type]
        (lambda: optim.SGD([x()], lr=1).zero_grad(set_to_none=True), OptionTypeError, "zero_grad takes no set_to_none=: leave it out"),  # type: ignore[arg-type]
    ]
)
def test_what_is_written_elsewhere_is_answered_by_the_name_that_it_was_asked_under(call: Callable[[], Any], kind: type[Exception], text: str) -> None:
    told(call, kind, text)


def test_nothing_equals_none_or_a_string() -> None:
    assert (x() == None) is False  # noqa: E711 - that is what is tested
    assert (x() != "a") is True


def test_a_failure_of_linear_algebra_is_numpys_too() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.inv(x(SINGULAR))


def test_functions_take_lists_as_they_take_arrays() -> None:
    for name in ("gelu", "relu", "silu", "elu", "leaky_relu", "softplus", "sigmoid", "erf", "softmax", "logsumexp"):
        function = getattr(tv, name)
        np.testing.assert_array_equal(function([0.5, -1.0]), function(np.array([0.5, -1.0])), err_msg=name)


# ---- parameters of ops --------------------------------------------------------------------------------------------

AXIS = "an axis must be an int, a tuple of ints or None, got 'a'"


@pytest.mark.parametrize(
    "name",
    ["sum", "mean", "max", "min", "prod", "var", "std", "logsumexp", "norm", "cumsum", "cumprod", "argmax", "softmax", "log_softmax", "argsort"],
)
def test_an_axis_of_a_wrong_type_or_out_of_range_is_refused_by_the_name_of_the_function(name: str) -> None:
    function = getattr(tv, name)
    told(lambda: function(x(), axis="a"), DTypeError, f"{name}: {AXIS}")
    error = told(lambda: function(x(), axis=7), AxisError, "axis.*7")
    assert isinstance(error, np.exceptions.AxisError)


@raises(
    [
        (lambda: x().sum(axis=1.0), DTypeError, "sum: an axis must be an int, a tuple of ints or None, got 1.0"),
        (lambda: x().sum(axis=(0, 0)), ShapeError, r"sum: .*axis=\(0, 0\).*duplicate"),
        (lambda: x().max(axis=(0, -1)), ShapeError, r"max: .*duplicate"),
        (lambda: x().reshape(-1, -1), ShapeError, r"reshape: .*shape=\(-1, -1\).*one of them may be -1"),
        (lambda: x().reshape(5), ShapeError, r"reshape: operands of shape \(2,\) do not fit with shape=\(5,\).*the sizes must multiply"),
        (lambda: x().reshape("a"), DTypeError, "reshape: shape must hold whole numbers, got 'a'"),
        (lambda: x().reshape(1.5), DTypeError, "reshape: shape must hold whole numbers, got 1.5"),
        (lambda: x().transpose(0, 0), ShapeError, r"transpose: .*axes=\(0, 0\).*axes lists every axis once"),
        (lambda: x().transpose("a"), DTypeError, "transpose: shape must hold whole numbers|transpose: .*got 'a'"),
        (lambda: x().swapaxes("a", 0), DTypeError, "swapaxes: axis1 must be a whole number, got 'a'"),
        (lambda: x().swapaxes(0, 5), AxisError, "swapaxes: .*axis2=5"),
        (lambda: tv.moveaxis(x(), (0, 0), (0, 0)), ShapeError, "moveaxis: .*repeated axis"),
        (lambda: x().expand_dims("a"), DTypeError, f"expand_dims: {AXIS}"),
        (lambda: x().broadcast_to("a"), DTypeError, "broadcast_to: shape must hold whole numbers, got 'a'"),
        (lambda: tv.einsum(None), DTypeError, r"einsum takes the subscripts first, as in einsum\('ij,jk->ik', a, b\), got None"),
        (lambda: tv.einsum(x(), [0, "a"]), DTypeError, "einsum: the name of an axis must be a whole number, got 'a'"),
        (lambda: tv.einsum(x(), [99]), ShapeError, "einsum: axes are named by the whole numbers 0 to 51"),
        (lambda: tv.einsum(x(), 3), DTypeError, "named by a list of whole numbers"),
        (lambda: tv.pad(x(), 1, mode="edge", constant_values=3), DTypeError, "pad: mode 'edge' takes no constant_values="),
        (lambda: tv.pad(x(), 1, stat_length=3), DTypeError, "pad: mode 'constant' takes no stat_length="),
        (lambda: tv.pad(x(), {5: 1}), AxisError, "pad: axis 5 is not there in an operand of 1 axes"),
        (lambda: tv.pad(x(), 1, constant_values="a"), DTypeError, "pad: .*got 'a'"),
        (lambda: tv.roll(x(), 1.5), DTypeError, "roll: shift must be a whole number, got 1.5"),
        (lambda: tv.repeat(x(), 2, 5), AxisError, "repeat: axis 5 is not there in an operand of 1 axes"),
        (lambda: tv.repeat(x(), 2, "a"), DTypeError, "repeat: axis must be a whole number, got 'a'"),
        (lambda: tv.tile(x(), "a"), DTypeError, "tile: shape must hold whole numbers, got 'a'"),
        (lambda: tv.stack([x()], axis="a"), DTypeError, "stack: axis must be a whole number, got 'a'"),
        (lambda: tv.concatenate([x()], axis="a"), DTypeError, "concatenate: axis must be a whole number, got 'a'"),
        (lambda: tv.split(x(), "a"), DTypeError, "split: the number of parts must be a whole number, got 'a'"),
        (lambda: tv.split(x(), 0), ShapeError, "the number of parts must be positive, got 0"),
        (lambda: tv.split(x(), 2, axis=4), AxisError, r"split: axis 4 is not there in shape \(2,\)"),
        (lambda: tv.split(x(), [1.5]), DTypeError, "a position must be a whole number, got 1.5"),
        (lambda: np.vsplit(x(), 2), ShapeError, r"vsplit: takes an array of 2 axes or more, got shape \(2,\)"),
        (lambda: np.median(x()[:0]), ShapeError, r"^np.median over axis None of shape \(0,\) has no elements"),
        (lambda: np.nanmedian(x(), axis=5), AxisError, r"^np.nanmedian: axis 5 is not there in shape \(2,\)"),
        (lambda: np.percentile(x(), "a"), DTypeError, "^np.percentile: .*got 'a'"),
        (lambda: np.percentile(x(), np.array(["a"])), DTypeError, "^np.percentile: q holds real numbers"),
        (lambda: np.quantile(x(), 0.5j), DTypeError, "^np.quantile: .*complex"),
        (lambda: np.quantile(x(), 2), OptionError, "^np.quantile: quantiles lie between 0 and 1"),
        (lambda: x().var(axis=7), AxisError, "^var: .*axis=7"),
        (lambda: np.std(x(), axis=7), AxisError, "^std: .*axis=7"),
        (lambda: tv.diag(x(), "a"), DTypeError, "diag: k must be a whole number, got 'a'"),
        (lambda: tv.diff(x(), axis=7), AxisError, r"diff: axis 7 is not there in shape \(2,\)"),
        (lambda: np.gradient(x(), axis=7), AxisError, "axis 7 is not there"),
        (lambda: x()[:"a"], IndexingError, "the bounds of a slice are whole numbers or None, got 'a'"),  # type: ignore[misc]
        (lambda: x()[[[0], [1, 2]]], IndexingError, r"an index array is rectangular, got \[\[0\], \[1, 2\]\]"),
        (lambda: tv.leaky_relu(x(), "a"), OptionTypeError, "leaky_relu: slope must be a number, got 'a'"),  # type: ignore[arg-type]
        (lambda: tv.elu(x(), None), OptionTypeError, "elu: alpha must be a number, got None"),  # type: ignore[arg-type]
        (lambda: tv.gelu(x(), "fast"), OptionError, "gelu: approximate must be one of 'none', 'tanh', got 'fast'"),
        (lambda: tv.cross_entropy(x(), 1, reduction="max"), OptionError, "cross_entropy: reduction must be one of 'mean', 'sum', 'none', got 'max'"),
        (lambda: tv.cross_entropy(x(), 1, label_smoothing=2), OptionError, "cross_entropy: label_smoothing must be a number from 0 to 1, got 2"),
        (lambda: tv.cross_entropy(x(), 1, ignore_index="a"), OptionTypeError, "ignore_index must be a whole number, got 'a'"),  # type: ignore[arg-type]
        (lambda: tv.layer_norm(x(), 2, eps="a"), OptionTypeError, "layer_norm: eps must be a number of at least 0, got 'a'"),  # type: ignore[arg-type]
        (lambda: tv.layer_norm(x(), "a"), DTypeError, "layer_norm: shape must hold whole numbers, got 'a'"),
        (lambda: tv.dropout(x(), 0.5, seed="a"), OptionTypeError, "dropout: seed must be a whole number of at least 0, got 'a'"),
        (lambda: tv.norm(x(), ord=[1]), DTypeError, r"norm: ord must be a number, inf, -inf or None, got \[1\]"),
        (lambda: x().astype("bad"), DTypeError, "astype: 'bad' is no dtype"),
        (lambda: x().astype(complex), DTypeError, "astype: complex numbers have no gradient here"),
        (lambda: tv.linspace(0.0, 1.0, "a"), DTypeError, "linspace: num must be a whole number, got 'a'"),  # type: ignore[arg-type]
        (lambda: x().astype(np), DTypeError, "astype: a module is no dtype"),
        (lambda: tv.take(x(), [0], axis="a"), DTypeError, "take: axis must be a whole number, got 'a'"),  # type: ignore[arg-type]
        (lambda: tv.cross(x(), x(), axis="a"), DTypeError, "cross: axisa must be a whole number, got 'a'"),  # type: ignore[arg-type]
        (lambda: tv.rot90(x(), axes=3), DTypeError, "rot90: axes must be two whole numbers, got 3"),
        (lambda: tv.tensordot(x(), x(), 10**9), ShapeError, "tensordot: axes counts those of shape .*have not so many; got 1000000000"),
        (lambda: tv.tensordot(x(), x(), []), ShapeError, r"tensordot: axes is a number, or the axes of a and those of b.*got \[\]"),
        (lambda: tv.concatenate([x()], dtype="bad"), DTypeError, "concatenate: 'bad' is no dtype"),
        (lambda: np.linalg.eigh(x([[1.0]]), "X"), OptionError, "eigh: UPLO must be one of 'L', 'U', got 'X'"),  # type: ignore[arg-type, call-overload]
    ]
)
def test_a_parameter_of_an_op_is_refused_by_name(call: Callable[[], Any], kind: type[Exception], text: str) -> None:
    told(call, kind, text)


@pytest.mark.parametrize(
    ("call", "name", "kin"),
    [
        (lambda: np.i0(x()), "np.i0", "exp"),
        (lambda: np.spacing(x()), "np.spacing", "absolute"),
    ],
)
def test_a_function_without_a_rule_names_one_of_like_meaning(call: Callable[[], Any], name: str, kin: str) -> None:
    told(call, tv.errors.NoRuleError, rf"{re.escape(name)} has no .* that has one is {kin};")


# ---- derivatives and own ops --------------------------------------------------------------------------------------


def cubes(a: Any) -> Any:
    return (a * a * a).sum()


@raises(
    [
        (lambda: tv.grad(3), DTypeError, "grad: its first argument must be a function, got 3"),  # type: ignore[arg-type]
        (lambda: tv.jacobian(None), DTypeError, "jacobian: its first argument must be a function, got None"),  # type: ignore[arg-type]
        (lambda: tv.vjp("f", 1.0), DTypeError, "vjp: its first argument must be a function, got 'f'"),  # type: ignore[arg-type]
        (lambda: tv.grad(cubes)("a"), DTypeError, "grad: argument 0 holds .*got 'a'"),
        (lambda: tv.grad(cubes)([[1.0], object()]), DTypeError, "grad: argument 0"),
        (lambda: tv.grad(lambda a, b: cubes(a), (0, 0))(np.ones(2), 1.0), IndexingError, r"argnums=\(0, 0\) names an argument twice"),
        (lambda: tv.jacobian(lambda a: None)(np.ones(2)), SeedError, "jacobian: the function returned None; does it lack a return"),
        (lambda: tv.vjp(cubes, np.ones(2))[1]("a"), SeedError, r"vjp's pullback: expected real numbers of shape \(\), got 'a'"),
        (lambda: tv.vjp(lambda a: a * 1.0, np.ones(2))[1]([1.0, 2.0, 3.0]), SeedError, r"expected shape \(2,\), got \(3,\)"),
        (lambda: tv.hvp(cubes, np.ones(2), np.ones(3)), SeedError, r"hvp's vector: expected shape \(2,\), got \(3,\)"),
        (lambda: tv.jvp(cubes, (np.ones(2),), ("a",)), SeedError, r"jvp's tangent: expected real numbers of shape \(2,\), got 'a'"),
        (lambda: tv.gradcheck(3), DTypeError, "gradcheck: its first argument must be a function, got 3"),  # type: ignore[arg-type]
        (lambda: tv.gradcheck(cubes, np.ones(2), eps="a"), OptionTypeError, "gradcheck: eps must be a finite number above 0, got 'a'"),  # type: ignore[arg-type]
        (lambda: tv.custom_op("a\0b", abs, abs), tv.errors.OpDefinitionError, r"op 'a\\x00b': needs a name that is a Python identifier"),
        (lambda: tv.custom_op("\ud800", abs, abs), tv.errors.OpDefinitionError, r"op '\\ud800': needs a name that is a Python identifier"),
        (lambda: tv.custom_op(3, abs, abs), tv.errors.OpDefinitionError, "custom_op: name is a string, got 3"),  # type: ignore[arg-type]
    ]
)
def test_a_derivative_refuses_by_name(call: Callable[[], Any], kind: type[Exception], text: str) -> None:
    told(call, kind, text)


def test_a_pullback_takes_a_list_of_numbers_for_an_array() -> None:
    _, pullback = tv.vjp(lambda a: a * 3.0, np.ones(2))
    assert pullback([1.0, 10.0])[0].tolist() == [3.0, 30.0]


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ((np.ones(2),), "forward returned a tuple of 1, expected one array; an op has one result"),
        ("no", "forward returned 'no', expected an array of real numbers"),
        (None, "forward returned None, expected an array of real numbers"),
        (1j, "forward returned 1j, expected an array of real numbers"),
        ([[1], [1, 2]], r"forward returned \[\[1\], \[1, 2\]\], expected an array of real numbers"),
    ],
)
def test_what_an_own_op_returns_forward_is_looked_at(result: Any, text: str) -> None:
    own = tv.custom_op("refused_forward", lambda a: result, lambda g, a: (g,))
    told(lambda: own(x()), RuleError, rf"custom op 'refused_forward': {text}")


@pytest.mark.parametrize(
    ("shares", "text"),
    [
        ((1.0, 2.0), r"returned 2 gradient\(s\), expected 1, one \(or None\) per operand"),
        ((), r"returned 0 gradient\(s\), expected 1"),
        (("s",), r"returned for slot 0 \(a\) 's', expected an array of real numbers, or None"),
        (([[1], [1, 2]],), r"returned for slot 0 \(a\) \[\[1\], \[1, 2\]\], expected an array of real numbers"),
        ({"a": 1.0}, r"returned for slot 0 \(a\) \{'a': 1\.0\}, expected an array of real numbers"),
        ((np.ones(3),), r"returned for slot 0 \(a\) a gradient of shape \(3,\), expected \(2,\)"),
        ((np.ones(2) * 1j,), "a gradient of dtype complex128, expected float64"),
    ],
)
def test_what_an_own_op_returns_backward_is_looked_at(shares: Any, text: str) -> None:
    own = tv.custom_op("refused_backward", lambda a: a * 2.0, lambda g, a: shares)
    y = own(x()).sum()
    error = told(y.backward, RuleError, f"the backward rule of refused_backward.*{text}")
    assert "test_refused_arguments.py" in str(error) + "".join(getattr(error, "__notes__", []))


def test_an_exception_in_an_own_op_stays_what_it_is_and_carries_where() -> None:
    own = tv.custom_op("own_raises_forward", lambda a: a.nothing, lambda g, a: (g,))
    with pytest.raises(AttributeError, match="nothing") as caught:
        own(x())
    assert "raised by the forward function of the custom op 'own_raises_forward', called at " in caught.value.__notes__[0]
    assert "test_refused_arguments.py" in caught.value.__notes__[0] and "(2,)" in caught.value.__notes__[0]
    own = tv.custom_op("own_raises_backward", lambda a: a * 2.0, lambda g, a: [][3])
    y = own(x()).sum()
    with pytest.raises(IndexError, match="out of range") as other:
        y.backward()
    assert "raised by the backward rule of own_raises_backward made at" in other.value.__notes__[0] and "own(x()).sum()" in other.value.__notes__[0]
    value_error = tv.custom_op("own_raises_value", lambda a: np.ones(2) + np.ones(3), lambda g, a: (g,))
    with pytest.raises(ValueError, match="could not be broadcast") as plain:
        value_error(x())
    assert not isinstance(plain.value, TensorvizError)  # the user's own, not a word about the operands


def test_a_loaded_record_is_not_replayed_with_another_op_of_the_same_name(tmp_path: Path) -> None:
    own = tv.custom_op("redefined", lambda a: a * 2.0, lambda g, a: (2.0 * g,))
    trace = own(x()).sum().backward()
    trace.save(tmp_path / "a.tvz")
    loaded = tv.load(tmp_path / "a.tvz")
    assert loaded.replay({"x": [1.0, 1.0]}) == 4.0
    tv.custom_op("redefined", lambda a: a * 3.0, lambda g, a: (3.0 * g,))
    for record in (loaded, trace):
        told(
            lambda record=record: record.replay({"x": [1.0, 1.0]}),
            tv.errors.ReplayError,
            r"node 1 \(redefined\): the custom op 'redefined' .* gives another result on the recorded operands than the record holds",
        )


# ---- records, pictures, checks ------------------------------------------------------------------------------------


def breaks(*kinds: Any, **options: Any) -> Callable[[], None]:
    def call() -> None:
        with tv.break_on(*kinds, **options):
            x().sum().backward()

    return call


@raises(
    [
        (lambda: squares().replay([1]), DTypeError, r"replay: its first argument must be a dict such as \{'W': array\}.*got \[1\]"),  # type: ignore[arg-type]
        (lambda: squares().replay({"x": "a"}), DTypeError, r"replay: node 0 \(x\) holds float64, got 'a' of dtype <U1"),
        (lambda: squares().replay({"x": [[1], [1, 2]]}), DTypeError, r"replay: node 0 \(x\) takes an array of shape \(2,\), got"),
        (lambda: squares().replay({"x": [1.0, 2.0]}, dtype="no"), DTypeError, "replay: 'no' is no dtype"),
        (lambda: squares().rerun([1]), DTypeError, r"rerun: its first argument must be a dict such as \{'W': array\}.*got \[1\]"),  # type: ignore[arg-type]
        (lambda: squares().rerun(shares="a"), DTypeError, r"rerun: shares must be a dict such as \{'3:0': array\}.*got 'a'"),  # type: ignore[arg-type]
        (lambda: squares().rerun(shares={"2:0": "a"}), tv.errors.ReplayError, "the share over '2:0' holds numbers, got 'a'"),
        (lambda: squares().rerun({"x": [[1], [1, 2]]}), DTypeError, r"replay: node 0 \(x\) takes an array"),
        (lambda: squares().compare([1]), DTypeError, "compare: its first argument must be a dict such as"),  # type: ignore[arg-type]
        (lambda: squares().compare({"x": "a"}), DTypeError, "the gradient given for x is 'a' of dtype <U1, expected real numbers"),
        (lambda: squares().node(1.5), NodeLookupError, "this float is not in the trace. Names: x, y"),
        (lambda: squares().check(eps="a"), OptionTypeError, "check: eps must be a finite number above 0, got 'a'"),
        (lambda: squares().check(eps=float("nan")), OptionError, "check: eps must be a finite number above 0, got nan"),
        (lambda: squares().check(atol=-1), OptionError, "check: atol must be a number of at least 0, got -1"),
        (lambda: squares().check(rtol=None), OptionTypeError, "check: rtol must be a number of at least 0, got None"),
        (lambda: squares().check(budget="a"), OptionTypeError, "check: budget must be a number above 0, got 'a'"),
        (lambda: squares().check(executor=3), DTypeError, r"check: executor must be a concurrent\.futures\.Executor or None, got 3"),
        (lambda: squares().check(progress="a"), DTypeError, "check: progress must be a function, got 'a'"),
        (lambda: squares().check(seed="a"), OptionTypeError, "check: seed must be a whole number, got 'a'"),
        (breaks(None), BreakpointError, "break_on: None is none of nan, inf, fork"),
        (breaks(3), BreakpointError, "break_on: 3 is none of nan, inf, fork"),
        (breaks("naan"), BreakpointError, "break_on: 'naan' is none of .*did you mean 'nan'"),
        (breaks(op=3), BreakpointError, "break_on: op=3 is no op"),
        (breaks(norm_above="a"), BreakpointError, "break_on: norm_above must be a number of at least 0, got 'a'"),
        (breaks(norm_above=float("nan")), BreakpointError, "norm_above must be a number of at least 0, got nan"),
        (breaks(when=lambda: True), BreakpointError, "when is called with a Step, or with a Step and its TraceNode; this function takes neither"),
        (breaks(when=lambda a, b, c: True), BreakpointError, "this function takes neither"),
        (lambda: tv.compare(squares(), squares(), atol=-1), OptionError, "compare: atol must be a number of at least 0, got -1"),
        (lambda: tv.compare(squares(), squares(), rtol="a"), OptionTypeError, "compare: rtol must be a number"),  # type: ignore[arg-type]
        (lambda: tv.error_curve(3, "x"), DTypeError, r"error_curve takes a Trace .*got 3"),  # type: ignore[arg-type]
        (lambda: tv.error_curve(squares(), "x", index=5), IndexingError, r"error_curve: there is no element \[5\] in shape \(2,\)"),
        (lambda: tv.error_curve(squares(), "x", index=(0, 0)), IndexingError, r"no element \[0, 0\] in shape \(2,\)"),
        (lambda: tv.error_curve(squares(), "x", index="a"), OptionTypeError, "error_curve: index must be a whole number, got 'a'"),  # type: ignore[arg-type]
        (lambda: tv.error_curve(squares(), "x", h="a"), DTypeError, "error_curve: h holds positive numbers, got 'a'"),
        (lambda: tv.error_curve(squares(), "x", h=[]), tv.errors.CheckError, r"h holds positive numbers, at least one, got \[\]"),
        (lambda: squares().named({}), OptionTypeError, r"named: takes a name, got dict; node\(\) also takes"),  # type: ignore[arg-type]
        (lambda: squares().to_svg(3), DTypeError, "to_svg: path must be the name of a file, got 3"),  # type: ignore[arg-type]
        (
            lambda: squares().to_svg(palette="sepia"),
            OptionError,
            "to_svg: palette must be one of 'light', 'dark', 'colorblind', 'cs231n', got 'sepia'",
        ),
        (lambda: squares().to_svg(direction=None), OptionError, "to_svg: direction must be one of 'LR', 'TB', got None"),
        (lambda: squares().to_svg(step=99), OptionError, r"to_svg: step must be in 0 to \d+ .*not 99"),
        (lambda: squares().to_svg(step="a"), DTypeError, "to_svg: step must be an int or None, not 'a'"),  # type: ignore[arg-type]
        (lambda: squares().to_svg(timeout="a"), OptionTypeError, "to_svg: timeout must be a number above 0, got 'a'"),
        (lambda: squares().to_svg(max_nodes=1.5), OptionTypeError, "to_svg: max_nodes must be a whole number of at least 1, got 1.5"),
        (lambda: squares().to_svg(steps=np.array(3)), OptionError, "to_svg: steps must be a list of step numbers, got an ndarray"),
        (lambda: squares().to_svg(legend="no"), OptionTypeError, "to_svg: legend must be True or False, got 'no'"),
        (lambda: squares().to_animated_svg(legend=np.ones(2)), OptionTypeError, "to_animated_svg: legend must be True or False, got an ndarray"),
        (lambda: squares().to_animated_svg(steps=[99]), OptionError, "to_animated_svg: the trace has steps 0 to"),
        (lambda: squares().to_svg(""), OptionError, "to_svg: path must be the name of a file, got ''"),
        (lambda: squares().to_html("a\0b"), OptionError, r"to_html: path must be the name of a file, got 'a\\x00b'"),
        (lambda: squares().save("\ud800"), OptionError, r"save: path must be the name of a file, got '\\ud800'"),
        (lambda: squares().to_svg(steps=3), OptionError, "to_svg: steps must be a list of step numbers"),
        (lambda: squares().to_svg(steps=[0], columns="a"), OptionTypeError, "columns must be a whole number of at least 1, got 'a'"),
        (
            lambda: squares().to_svg(theme="dark"),
            OptionTypeError,
            r"to_svg has no option 'theme' \(did you mean palette='dark'\?\); it has step, palette",
        ),
        (lambda: squares().to_animated_svg(theme="dark"), OptionTypeError, r"no option 'theme' \(did you mean palette='dark'\?\)"),
        (lambda: squares().to_dot(theme="dark"), OptionTypeError, r"no option 'theme' \(did you mean palette='dark'\?\)"),
        (lambda: squares().to_html(palette="dark"), OptionTypeError, r"no option 'palette' \(did you mean theme='dark'\?\)"),
        (lambda: squares().to_svg(colums=2), OptionTypeError, r"no option 'colums' \(did you mean columns=2\?\)"),
        (lambda: squares().to_dot(title=3), DTypeError, "to_dot: title must be a str or None, not 3"),
        (lambda: squares().to_html(foo=1), DTypeError, "to_html has no option 'foo'; it has step, theme, presentation, title"),
        (lambda: squares().to_html(title=3), DTypeError, "to_html: title must be a str or None, not 3"),
        (
            lambda: squares().to_html(theme="blue"),
            OptionError,
            "to_html: theme must be one of 'auto', 'light', 'dark', 'cs231n', 'colorblind', got 'blue'",
        ),
        (
            lambda: squares().to_animated_svg(seconds_per_step=0),
            OptionError,
            "to_animated_svg: seconds_per_step must be a number from 0.05 to 60, got 0",
        ),
        (lambda: squares().show(step=99), OptionError, "Stepper: step must be an integer from 0 to"),
        (lambda: squares().show(playing="a" * 3000), OptionError, "Stepper: playing must be True or False, got a str$"),
        (lambda: squares().show(breakpoints=np.array(3)), OptionError, "Stepper: breakpoints must be a list of .*, got an ndarray"),
        (lambda: squares().show(breakpoints=[Unprintable()]), OptionError, "Stepper: breakpoint an Unprintable is neither one of"),
        (lambda: squares().show(speed=[Unprintable()]), OptionError, "Stepper: speed must be a number .*, got a list"),
        (lambda: plots.error_curve(squares(), "x", steps=np.array(1.0)), OptionTypeError, "error_curve: steps must be positive"),
        (lambda: plots.error_curve(squares(), "x", np.array(7)), IndexingError, r"error_curve of x: there is no element \[7\] in shape \(2,\)"),
        (lambda: plots.share_heatmap(squares(), "x", log=1), OptionTypeError, "share_heatmap: log must be True or False, got 1"),
        (lambda: plots.share_heatmap(squares(), "x", ax=3), DTypeError, "share_heatmap: ax must be matplotlib axes or None, got 3"),  # type: ignore[arg-type]
        (lambda: pair(squares(), squares(), names="ab"), OptionTypeError, r"pair: names must be two strings, .* got 'ab'"),  # type: ignore[arg-type]
        (lambda: pair(squares(), squares(), steps=[1, 2]), OptionTypeError, r"pair: steps must be a list of pairs .* got \[1, 2\]"),  # type: ignore[list-item]
        (lambda: pair(squares(), squares(), nodes=3), OptionTypeError, "pair: nodes must be a list of pairs of positions, .* got 3"),  # type: ignore[arg-type]
        (lambda: pair(squares(), squares(), step=99), OptionError, "pair: step must be an integer from 0 to"),
        (lambda: squares().show(theme=["x"]), OptionError, "theme must be one of"),
        (lambda: squares().show(foo=1), DTypeError, "Stepper has no option 'foo'; it has step"),
        (lambda: tv.set_display("movie"), OptionError, "set_display: mode must be one of 'stepper', 'svg', 'text', 'none', got 'movie'"),  # type: ignore[arg-type]
        (lambda: tv.set_display(["svg"]), OptionError, "set_display: mode must be one of"),  # type: ignore[arg-type]
        (lambda: tv.draw(x()).to_svg(step=0), OptionError, "to_svg: step=0, but this trace has no steps: backward has not been called"),
        (lambda: tv.load(3), DTypeError, "load: path must be the name of a file, got 3"),  # type: ignore[arg-type]
        (lambda: tv.compare(3, squares()), RecordError, "compare takes two Traces, got 3"),  # type: ignore[arg-type]
    ]
)
def test_a_record_refuses_by_name(call: Callable[[], Any], kind: type[Exception], text: str) -> None:
    told(call, kind, text)


FOLDER = {
    "to_svg": lambda path: squares().to_svg(path),
    "to_animated_svg": lambda path: squares().to_animated_svg(path),
    "to_dot": lambda path: squares().to_dot(path),
    "to_html": lambda path: squares().to_html(path),
    "save": lambda path: squares().save(path),
    "load": lambda path: tv.load(path),
}
"""What is given a folder in place of a file."""


@pytest.mark.parametrize("function", [*FOLDER, "pair", "nn save", "nn load"])
def test_a_path_that_cannot_be_used_is_told_with_the_function_and_what_to_do_as_the_error_that_python_has_for_it(
    tmp_path: Path, function: str
) -> None:
    calls = FOLDER | {
        "pair": lambda path: pair(squares(), squares()).to_html(path),
        "nn save": lambda path: nn.Linear(2, 2).save(path),
        "nn load": lambda path: nn.Linear(2, 2).load(path),
    }
    words = {"pair": "to_html"}.get(function, function.split()[-1])
    with pytest.raises(OSError, match=rf"{words}: path must be a file that .*{tmp_path.name}"):
        calls[function](tmp_path)
    with pytest.raises(FileNotFoundError, match=rf"{words}: path must be a file that .*nowhere") as caught:
        calls[function](tmp_path / "nowhere" / "a")
    assert caught.value.filename == str(tmp_path / "nowhere" / "a")


def test_a_name_that_stands_for_several_nodes_is_said_to() -> None:
    a = x()

    def f(a: tv.Tensor) -> tv.Tensor:
        o = a + 1.0
        o = o * o
        return o.sum()

    trace = f(a).backward()
    assert [n.op for n in trace.named("o")] == ["add", "mul"] and trace.node("o").op == "mul"
    assert trace.named("nothing") == ()
    told(lambda: trace.node("nothing"), NodeLookupError, r"Names: o \(nodes 2, 3; the name means 3\), x")
    row = trace.compare({"o": trace.named("o")[0].cotangent})["o"]
    assert row.note == "it is the gradient of node 2 (add), an earlier o; the name means the latest, node 3"


def test_the_name_of_a_sequence_of_layers_is_that_of_its_last() -> None:
    net = nn.Sequential(nn.Linear(2, 3, rng=0), nn.Linear(3, 2, rng=0))

    def twice(given: Any) -> Any:
        y = given
        for _ in range(2):
            y = net(y)
        return y.sum()

    trace = twice(np.ones((1, 2))).backward()
    assert [n.name for n in trace.nodes if n.op == "linear"] == [None, "y", None, "y"]


# ---- layers and optimizers ----------------------------------------------------------------------------------------


def sgd(**options: Any) -> optim.SGD:
    return optim.SGD([x()], **options)


STATE = {"lr": 0.1, "momentum": 0.0, "weight_decay": 0.0, "nesterov": False}


@raises(
    [
        (lambda: sgd(lr="a"), OptionTypeError, "SGD: lr must be a number of at least 0, got 'a'"),
        (lambda: sgd(momentum=None), OptionTypeError, "SGD: momentum must be a number of at least 0, got None"),
        (lambda: optim.Adam([x()], betas=0.9), OptionError, r"Adam: betas are two numbers, such as \(0\.9, 0\.999\), got 0\.9"),  # type: ignore[arg-type]
        (lambda: optim.Adam([x()], betas=(0.9, "a")), OptionTypeError, r"Adam: betas\[1\] must be a number of at least 0 and below 1, got 'a'"),  # type: ignore[arg-type]
        (lambda: sgd().load_state_dict(3), DTypeError, "load_state_dict: its argument must be a dict"),  # type: ignore[arg-type]
        (lambda: sgd().load_state_dict(STATE | {"lr": "a"}), StateError, "lr holds no real numbers: 'a'.*Nothing was loaded"),
        (lambda: sgd().load_state_dict(STATE | {3: 4}), StateError, "unexpected: 3"),  # type: ignore[dict-item]
        (lambda: optim.StepLR(sgd(), "a"), OptionTypeError, "StepLR: step_size must be a whole number of at least 1, got 'a'"),  # type: ignore[arg-type]
        (lambda: optim.StepLR(sgd(), 1, gamma="a"), OptionTypeError, "StepLR: gamma must be a number, got 'a'"),  # type: ignore[arg-type]
        (lambda: optim.LinearWarmup(sgd(), 5, after=3), DTypeError, "LinearWarmup: after is a schedule or None, got 3"),  # type: ignore[arg-type]
        (lambda: optim.StepLR(sgd(), 1).load_state_dict({"count": "a", "first": 1.0}), StateError, "does not fit this StepLR: count.*'a'"),
        (lambda: optim.clip_grad_norm(3, 1.0), DTypeError, r"clip_grad_norm takes a Tensor or an iterable of them.*got 3"),  # type: ignore[arg-type]
        (lambda: optim.clip_grad_norm([3], 1.0), DTypeError, "got 3 at position 0"),  # type: ignore[list-item]
        (lambda: optim.clip_grad_norm([x()], "a"), OptionTypeError, "clip_grad_norm: max_norm must be a number of at least 0, got 'a'"),  # type: ignore[arg-type]
        (lambda: nn.Linear(2, 2, dtype="bad"), DTypeError, "Linear: 'bad' is no dtype"),
        (lambda: nn.Linear(2, 2, dtype=int), DTypeError, "Linear: dtype must be one of floats.*got int64"),
        (lambda: nn.Linear(2, 2, rng="a"), OptionTypeError, "Linear: rng must be a numpy Generator, a seed .* or None, got 'a'"),  # type: ignore[arg-type]
        (lambda: nn.Dropout(0.5, rng=-1), OptionTypeError, "Dropout: rng must be .*got -1"),
        (lambda: nn.Conv2d(1, 1, 2, stride="a"), ShapeError, "Conv2d: stride is an int of at least 1, or 2 of them, got 'a'"),
        (lambda: nn.Conv2d(1, 1, 2, padding="same"), ShapeError, "Conv2d: padding is an int of at least 0"),
        (lambda: nn.MaxPool2d("a"), ShapeError, "MaxPool2d: kernel_size is an int of at least 1"),
        (lambda: nn.Softmax(axis="a"), OptionTypeError, "Softmax: axis must be a whole number, got 'a'"),  # type: ignore[arg-type]
        (lambda: nn.Flatten("a"), OptionTypeError, "Flatten: start_axis must be a whole number, got 'a'"),  # type: ignore[arg-type]
        (lambda: nn.LeakyReLU("a"), OptionTypeError, "LeakyReLU: negative_slope must be a number, got 'a'"),  # type: ignore[arg-type]
        (lambda: nn.LayerNorm(2, eps=-1.0), OptionError, r"LayerNorm: eps must be a number of at least 0, got -1\.0"),
        (lambda: nn.BatchNorm(2, momentum="a"), OptionTypeError, "BatchNorm: momentum must be a number from 0 to 1, got 'a'"),  # type: ignore[arg-type]
        (lambda: nn.CrossEntropyLoss(ignore_index="a"), OptionTypeError, "CrossEntropyLoss: ignore_index must be a whole number"),  # type: ignore[arg-type]
        (lambda: nn.Sequential(nn.ReLU())[5], IndexingError, "Sequential has 1 modules, numbered from 0; there is no 5"),
        (lambda: nn.Linear(1, 1).save(3), DTypeError, "save: path must be the name of a file, got 3"),  # type: ignore[arg-type]
        (lambda: nn.Linear(1, 1).load(3), DTypeError, "load: path must be the name of a file, got 3"),  # type: ignore[arg-type]
        (
            lambda: nn.Linear(1, 1).load_state_dict({"weight": [[1.0], [1.0, 2.0]], "bias": [1.0]}),
            StateError,
            r"weight is no rectangular array, got \[\[1\.0\], \[1\.0, 2\.0\]\]",
        ),
        (lambda: tv.draw(3), GraphError, r"draw\(\) takes a Tensor or a Trace, got int"),  # type: ignore[arg-type]
    ]
)
def test_a_layer_or_an_optimizer_refuses_by_name(call: Callable[[], Any], kind: type[Exception], text: str) -> None:
    told(call, kind, text)


# ---- the house ----------------------------------------------------------------------------------------------------

BUILT_IN = {
    "ValueError",
    "TypeError",
    "RuntimeError",
    "KeyError",
    "IndexError",
    "AttributeError",
    "ArithmeticError",
    "AssertionError",
    "OverflowError",
}


def test_every_refusal_is_a_class_of_errors() -> None:
    """Built-ins are raised nowhere but where Python's own protocol asks for one."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Raise)
                and isinstance(node.exc, ast.Call)
                and isinstance(node.exc.func, ast.Name)
                and node.exc.func.id in BUILT_IN
            ):
                found.append(f"{path.relative_to(PACKAGE)}:{node.lineno} {node.exc.func.id}")
    assert [f for f in found if not f.startswith("__init__.py")] == []  # a module's __getattr__ raises AttributeError


def test_every_error_is_a_built_in_too() -> None:
    for name, kind in vars(tv.errors).items():
        if isinstance(kind, type) and issubclass(kind, TensorvizError) and kind is not TensorvizError:
            built_in = [k for k in kind.__mro__ if k.__module__ == "builtins" and k not in (Exception, BaseException, object)]
            assert built_in, name
