"""The base class of ops: an incomplete op is refused where it is defined, and rules get exactly what they name."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.engine.op import REGISTRY, Op
from tensorviz.errors import OpDefinitionError

COMPLETE = {
    "name": "complete",
    "word": "passes",
    "slots": ("a",),
    "forward": staticmethod(lambda a, k=1: a * k),
    "vjps": (lambda g, k: g * k,),
    "formulas": ("g * k",),
}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"name": ""}, "Python identifier"),
        ({"name": "not one"}, "Python identifier"),
        ({"name": "add"}, "defined already"),
        ({"slots": ()}, "needs slots"),
        ({"forward": None}, "needs a forward rule"),
        ({"vjps": ()}, r"1 slot\(s\) but 0 rule"),
        ({"formulas": ()}, "one formula per slot"),
        ({"word": ""}, "needs a word"),
        ({"vjps": (lambda g, nothing: g,)}, "asks for 'nothing'"),
        ({"routes": (None, None)}, "one route per slot"),
    ],
)
def test_an_incomplete_op_is_refused_and_told_what_it_lacks(change, says):
    body = {k: v for k, v in (COMPLETE | change).items() if v is not None}
    with pytest.raises(OpDefinitionError, match=says):
        type("Incomplete", (Op,), body)
    assert "complete" not in REGISTRY


def test_a_rule_gets_what_it_names():
    seen = {}

    def rule(g, a, b_shape, out, k, made):
        seen.update(a=a, b_shape=b_shape, out=out, k=k, made=made)
        return g * k

    class Nosy(Op):
        name, word, slots, formulas = "nosy", "looks", ("a", "b"), ("g * k", "")
        extras = ("made",)
        vjps = (rule, None)

        @staticmethod
        def forward(a, b, k=3.0):
            return a * k, ("extra",)

    x = tv.tensor([1.0, 2.0], requires_grad=True)
    y = REGISTRY["nosy"](x, np.ones((2, 2)))
    y.backward(np.ones(2))
    assert {k: np.asarray(v).tolist() for k, v in seen.items()} == {"a": [1, 2], "b_shape": [2, 2], "out": [3, 6], "k": 3.0, "made": "extra"}


def test_saved_values_are_those_that_the_rules_that_run_ask_for():
    x, w = tv.tensor([1.0, 2.0], requires_grad=True), tv.tensor([3.0, 4.0])
    for y, saved in ((x * w, {"b": [3, 4]}), (np.tanh(x * 0.0), {"out": [0, 0]}), (x + w, {}), (x.reshape(2, 1), {})):
        node = y.backward(np.ones(y.shape)).node(y)
        assert {k: v.tolist() for k, v in node.saved.items()} == saved


def test_an_operand_without_a_rule_alone_makes_no_graph():
    ids = tv.tensor([0, 1])
    weight = np.eye(2)
    assert not tv.embedding(ids, weight).requires_grad


def test_a_wrong_call_names_the_op_and_the_shapes():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(ValueError, match=r"add: operands of shape \(2,\) and \(3,\) do not fit"):
        x + np.ones(3)
    with pytest.raises(ValueError, match=r"div: operands of shape \(3,\) and \(2,\)"):
        np.ones(3) / x
