"""What an error says: where, what was expected, what came, what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorviz as tv
from tensorviz import wire
from tensorviz.errors import DTypeError, GraphError, NodeLookupError, RecordError, RuleError, ShapeError


def leaf(values: Any = (1.0, 2.0), **options: Any) -> tv.Tensor:
    return tv.tensor(values, requires_grad=True, **options)


def set_data() -> None:
    leaf(name="w").data = np.zeros(3)


def set_name() -> None:
    leaf().name = 3  # type: ignore[assignment]


def set_grad() -> None:
    leaf(name="w").grad = np.zeros(3)


def two_gradients_for_one_operand() -> None:
    twice = tv.custom_op("returns_two", lambda a: a * 2.0, lambda g, a: (g, g))
    twice(leaf()).sum().backward()


def half_a_header() -> None:
    content = wire.dumps((leaf() * 2.0).sum().backward())
    wire.loads(content[: len(content) // 2])


CASES: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (set_data, ShapeError, r"data of tensor 'w' has shape \(2,\), got \(3,\); a Tensor keeps its shape"),
    (set_name, DTypeError, r"a name is a string or None, got int"),
    (set_grad, ShapeError, r"\.grad of tensor 'w' has shape \(2,\), got \(3,\)"),
    (lambda: tv.draw(3), GraphError, r"draw\(\) takes a Tensor or a Trace, got int"),  # type: ignore[arg-type]
    (lambda: tv.debug(3), GraphError, r"debug\(\) takes the Tensor to start backward from, got int"),  # type: ignore[arg-type]
    (lambda: (leaf() * 2.0).sum().backward().node(99), NodeLookupError, r"99 is no node id: the trace has 4 nodes, 0 to 3"),
    (lambda: (leaf(name="w") * 2.0).sum().backward().node("v"), NodeLookupError, r"'v' is not in the trace\. Names: w"),
    (two_gradients_for_one_operand, RuleError, r"returns_two returned 2 gradient\(s\), expected 1, one \(or None\) per operand"),
    (half_a_header, RecordError, r"truncated|incomplete|damaged|ends"),
    (lambda: tv.scope(3).__enter__(), DTypeError, r"a scope's name is a string"),  # type: ignore[arg-type]
    (lambda: tv.tensor([1, 2], requires_grad=True), DTypeError, r"only floats can require a gradient, got dtype int64"),
    (lambda: tv.tensor([1j]), DTypeError, r"complex numbers have no gradient here \(dtype complex128\)"),
]


@pytest.mark.parametrize(("call", "kind", "text"), CASES, ids=[text[:30] for _, _, text in CASES])
def test_the_text_of_an_error(call: Callable[[], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call()


def test_an_array_taken_from_a_tensor_is_a_read_only_view_of_what_was_handed_out() -> None:
    x = leaf()
    live = x.data
    view = np.asarray(x)
    live[0] = 7.0
    assert view.tolist() == [7.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 0.0


def closed_stepper() -> None:
    stepper = (leaf() ** 2).sum().backward().show()  # type: ignore[union-attr]
    stepper.close()
    _ = stepper.trace


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: np.pad(leaf(), -1), "pad: pad_width must not be negative, got -1; crop with a slice"),
        (lambda: range(leaf(name="x")), r"only a 0-d integer Tensor can be an index, tensor 'x' has shape \(2,\) and dtype float64"),
        (lambda: np.tanh(leaf(), out=np.zeros(2)), r"np\.tanh with out= .* cannot be recorded: the array is outside the graph"),
        (lambda: np.stack([leaf(), leaf([1.0])]), r"stack: operands of shape \(2,\) and \(1,\) do not fit with axis=0"),
        (lambda: tv.concatenate([leaf(), leaf([[1.0]])]), r"concatenate: operands of shape \(2,\) and \(1, 1\) do not fit"),
        (lambda: np.broadcast_to(leaf(), (3,)), r"broadcast_to: operands of shape \(2,\) do not fit with shape=\(3,\)"),
        (lambda: np.transpose(leaf(), (1, 0)), r"transpose: .* do not fit with axes=\(1, 0\).*axes lists every axis once"),
        (lambda: np.where(np.array([True, False, True]), leaf(), leaf()), r"where: operands of shape \(3,\) and \(2,\) and \(2,\) do not fit"),
        (
            lambda: np.einsum("i,ij->j", leaf(), np.ones((3, 2))),
            r"einsum: operands of shape \(2,\) and \(3, 2\) do not fit with subscripts='i,ij->j'",
        ),
        (lambda: leaf()[np.array([True, False, True])], "getitem: .*boolean index did not match"),
        (lambda: leaf(name="X").sum().backward().replay({"X": "abc"}), r"replay: node 0 \(X\) holds float64, got 'abc' of dtype <U3"),
        (lambda: leaf().sum().backward().to_html(colour=1), "to_html has no option 'colour'; it has step, theme, presentation, title"),
        (lambda: leaf().sum().backward().to_html(step=999), "999"),
        (closed_stepper, "this stepper was closed and holds no trace any more"),
    ],
)
def test_a_refusal_says_what_does_not_fit(call: Callable[[], Any], told: str) -> None:
    with pytest.raises(tv.errors.TensorvizError, match=told):
        call()
