"""What a backward pass starts from: roots that have a graph, and a seed for each. Knows no op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorviz.arguments import shown
from tensorviz.engine.late import record_module
from tensorviz.engine.node import Node
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import GraphError, SeedError

_ONE = np.float64(1)


def root_of(y: Any, kept: bool) -> Node:
    """The node of a root. ``kept``: by a record, and so apart from the Tensor, which holds the record."""
    if not isinstance(y, Tensor):
        raise GraphError(f"backward starts from a Tensor, got {type(y).__name__}")
    node = y._kept_apart() if kept else y._current()
    if not node.needs_grad:
        why = (
            "it was made under no_grad"
            if node.params.get("no_grad")
            else "it was detached"
            if node.params.get("cut")
            else f"{node.op.name} has no gradient"
            if node.op is not None and not node.op.differentiable
            else "nothing that it depends on requires a gradient, or detach() or no_grad cut the way to it"
        )
        where = record_module().source_of(node)
        raise GraphError(
            f"backward: {y._what()} has no graph, because {why}{f' ({where})' if where else ''}. Make the leaves with requires_grad=True"
        )
    return node


def seeds_of(nodes: Sequence[Node], roots: Sequence[Tensor], gradients: Any) -> list[Any]:
    if gradients is None and len(nodes) == 1:
        value = nodes[0].value
        if type(value) is np.float64:
            return [_ONE]
    if isinstance(gradients, np.ndarray) and gradients.ndim:
        gradients = list(gradients)
    if gradients is not None and not isinstance(gradients, (list, tuple)):
        raise SeedError(f"backward of a list of Tensors takes a list of gradients, one per Tensor, got {shown(gradients)}")
    if gradients is not None and len(gradients) != len(nodes):
        raise SeedError(
            f"backward got {len(nodes)} Tensor(s) and {len(gradients)} gradient(s); give one per Tensor (None for one with a single element)"
        )
    seeds = []
    for node, root, gradient in zip(nodes, roots, [None] * len(nodes) if gradients is None else gradients, strict=True):
        value = node.value
        if gradient is None:
            if value.size != 1:
                raise SeedError(
                    f"backward: {root._what()} has shape {value.shape}, so it is no scalar and needs a seed of that shape: backward(gradient=np.ones({value.shape})), or reduce it first, e.g. with sum()"
                )
            seed = np.ones(value.shape, value.dtype)
        else:
            try:
                given = np.asarray(gradient)
            except (ValueError, TypeError) as error:
                raise SeedError(
                    f"backward: the gradient is no rectangular array, expected real numbers of shape {value.shape}, got {shown(gradient)} ({error})"
                ) from error
            if given.dtype.kind not in "fiub":
                raise SeedError(
                    f"backward: the gradient has dtype {given.dtype}, expected real numbers of shape {value.shape}, got {shown(gradient)}"
                )
            if given.shape != value.shape:
                raise SeedError(
                    f"backward: the gradient has shape {given.shape}, expected {value.shape}, the shape of {root._what()}; it is not broadcast"
                )
            seed = np.array(given, dtype=value.dtype)
        seeds.append(seed[()] if seed.ndim == 0 else seed)
    return seeds


def seed_numbers(what: str, given: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """A cotangent or tangent as an array of real numbers; its shape is for the caller to compare."""
    try:
        found = np.asarray(given)
    except (ValueError, TypeError) as error:
        raise SeedError(f"{what}: expected real numbers of shape {shape}, got {shown(given)} ({error})") from error
    if found.dtype.kind not in "fiub":
        raise SeedError(f"{what}: expected real numbers of shape {shape}, got {shown(given)} of dtype {found.dtype}")
    return found
