"""A record is of its pass: what happens afterwards, before it is first looked at, changes nothing in it."""

from __future__ import annotations

import copy
import pickle

import numpy as np

import tensorviz as tv


def test_a_tensor_renamed_after_backward_keeps_its_name_in_the_record():
    x = tv.tensor([1.0, 2.0], requires_grad=True, name="before")
    h = np.tanh(x)
    h.name = "h"
    trace = h.sum().backward()
    x.name, h.name = "after", None
    x.name = "later still"
    assert trace.node("before").op == "leaf"
    assert trace.node("h").op == "tanh"
    second = (x * 2.0).sum().backward()
    assert second.node("later still").shape == (2,)


def test_a_record_can_be_pickled_and_copied_before_anybody_looked_at_it():
    x = tv.tensor([1.0, 2.0], requires_grad=True, name="x")
    again = pickle.loads(pickle.dumps((x * x).sum().backward()))
    assert again.node("x").cotangent.tolist() == [2, 4]
    assert again.check().ok
    copied = copy.deepcopy((x * 3.0).sum().backward())
    assert copied.node("x").cotangent.tolist() == [3, 3]


def test_a_pass_without_a_record_leaves_no_older_one_in_its_place():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    y.backward()
    assert y.trace is not None
    assert y.backward(record=False) is None
    assert y.trace is None
