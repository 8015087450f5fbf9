"""Which elements of an operand an op that selects sends its gradient to. Knows no op."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from tensorviz.engine.node import Node
from tensorviz.engine.op import Op, defaults_of
from tensorviz.engine.unbroadcast import grown_axes, unbroadcast
from tensorviz.trace import Array


def route(node: Node, slot: int) -> Array | None:
    """The weights with which an op that selects passes a gradient to the elements of an operand; None for other ops."""
    op = node.op
    if op is None or not op.routes:
        return None
    rule = op.routes[0 if op.variadic else slot]
    if rule is None:
        return None
    arguments = [fetch(op, node, slot, name) for name in inspect.signature(rule).parameters]
    weights, shape = np.asarray(rule(*arguments), dtype=float), np.shape(node.inputs[slot].value)
    if weights.shape != shape and op.broadcasts:
        # an element that forward used k times: the part of its uses in which it was chosen
        weights = np.broadcast_to(weights, np.shape(node.value))
        axes = grown_axes(weights.shape, shape)
        used = np.prod([weights.shape[i] for i in axes]) if weights.size else 1
        weights = unbroadcast(weights, shape) / used
    return np.array(np.broadcast_to(weights, shape), order="C")


def fetch(op: Op, node: Node, slot: int, name: str) -> Any:
    """What a rule's parameter of that name stands for at a node."""
    if name == "out":
        return node.value
    if name == "slot":
        return slot
    if name == "inputs":
        return tuple(n.value for n in node.inputs)
    if name == "shapes":
        return tuple(np.shape(n.value) for n in node.inputs)
    if name in op.extras:
        return node.extras[op.extras.index(name)]
    if name in op.slots:
        i = op.slots.index(name)
        return node.inputs[i].value if i < len(node.inputs) else None
    if name.endswith("_shape") and name.removesuffix("_shape") in op.slots:
        return np.shape(node.inputs[op.slots.index(name.removesuffix("_shape"))].value)
    return node.params[name] if name in node.params else defaults_of(op)[name]
