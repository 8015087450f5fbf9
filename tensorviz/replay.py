"""Runs a recorded forward graph again with some nodes replaced. Imports the registry of ops; no check, view or widget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tensorviz.arguments import dtype_of, mapping, shown
from tensorviz.engine.aside import Aside, apart
from tensorviz.engine.node import NO_PARAMS, Node
from tensorviz.engine.node import node as new_node
from tensorviz.engine.op import REGISTRY
from tensorviz.engine.refusals import FAILURES, explained
from tensorviz.errors import DTypeError, ReplayError, ShapeError
from tensorviz.trace import Array, Trace, TraceNode, one_line


def replay(trace: Trace, values: Mapping[Any, npt.ArrayLike], *, dtype: npt.DTypeLike | None = None) -> Array:
    """The root's value after the recorded forward graph has run again with some nodes replaced.

    ``values``: keys as :meth:`Trace.node` takes them (Tensor, name, id), arrays of exactly the recorded shapes. A replaced
    result is taken as given, whatever its operands are. Only what lies downstream is computed again. Everything keeps its
    recorded dtype, and Python scalars stay weak; with ``dtype=`` all floats, constants included, are replayed in that one.
    Values cut off by ``detach`` or ``no_grad`` stay as recorded. Of a trace with several roots: the first root's value.

    Raises :class:`ReplayError` for an op that this process does not know (a custom op of a loaded trace), :class:`ShapeError`
    and :class:`DTypeError` for a value that does not fit its node, ``KeyError`` for a node that is not in the trace.

    >>> import numpy as np, tensorviz as tv
    >>> x = tv.tensor([1.0, 2.0], requires_grad=True, name="x")
    >>> trace = (x * x).sum().backward()
    >>> float(replay(trace, {"x": [3.0, 4.0]}))
    25.0
    """
    found = replay_nodes(trace, values, dtype=dtype)
    if not trace.roots:
        raise ReplayError("replay: this trace has no root, so there is no value to give")
    return np.array(found[trace.roots[0]])


def replay_nodes(trace: Trace, values: Mapping[Any, npt.ArrayLike], *, dtype: npt.DTypeLike | None = None) -> list[Array]:
    """The value of every node, by id, after a replay; see :func:`replay`.

    >>> import numpy as np, tensorviz as tv
    >>> x = tv.tensor([1.0, 2.0], requires_grad=True, name="x")
    >>> trace = (x * x).sum().backward()
    >>> [v.tolist() for v in replay_nodes(trace, {"x": [3.0, 4.0]})]
    [[3.0, 4.0], [9.0, 16.0], 25.0]
    """
    mapping("replay", "its first argument", values, "{'W': array} (keys: Tensors, names or ids)")
    program = Program(trace.nodes, dtype=dtype)
    replaced = {}
    for key, value in values.items():
        node = trace.node(key)
        if node.id in replaced:
            raise ReplayError(f"replay: node {node.id} ({node.title}) is replaced twice, under two keys")
        replaced[node.id] = program.fitted(node, value)
    found = list(program.values)
    order = program.downstream(replaced)
    for i in order:
        same_op(trace.nodes, i)
    for i, value in program.run(replaced, order).items():
        found[i] = value
    return [np.asarray(v) for v in found]


class Runnable(Protocol):
    """What a program needs to know of a node; :class:`TraceNode` is one."""

    @property
    def id(self) -> int: ...
    @property
    def op(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def inputs(self) -> tuple[int, ...]: ...
    @property
    def params(self) -> Mapping[str, Any]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...
    @property
    def value(self) -> Array: ...
    @property
    def weak(self) -> bool: ...


class Program:
    """A recorded forward graph, ready to run again and again.

    ``values`` holds what each node is worth at the recorded point, as the engine would hold it: arrays, NumPy scalars, and
    Python numbers where they were weak. With a ``dtype``, that point is computed anew in it.
    """

    def __init__(self, nodes: Sequence[Runnable], *, dtype: npt.DTypeLike | None = None) -> None:
        self.nodes = nodes
        if any(n.kind == "op" and n.op not in REGISTRY for n in nodes):
            # a trace from a file may hold primitives, whose ops are registered when they are first used
            from tensorviz import primitives  # noqa: F401
        self.dtype = None if dtype is None else dtype_of("replay", dtype)
        if self.dtype is not None and self.dtype.kind != "f":
            raise DTypeError(f"replay: dtype= is a float type, got {self.dtype}")
        self._forwards: dict[int, Callable[..., Any]] = {}
        self._params: dict[int, Mapping[str, Any]] = {}
        self._consumers: list[list[int]] | None = None
        self.values: list[Any] = [_held(n, self.dtype) for n in self.nodes]
        if self.dtype is not None and any(n.kind == "op" and n.value.dtype.kind == "f" and n.value.dtype != self.dtype for n in self.nodes):
            for i, value in self.run({}, [n.id for n in self.nodes if n.kind == "op"]).items():
                self.values[i] = value

    @property
    def consumers(self) -> list[list[int]]:
        """For every node the ids of the nodes that use it."""
        if self._consumers is None:
            self._consumers = [[] for _ in self.nodes]
            for n in self.nodes:
                for i in set(n.inputs):
                    self._consumers[i].append(n.id)
        return self._consumers

    def downstream(self, ids: Iterable[int]) -> list[int]:
        """The ids of the results that depend on some nodes, in forward order, those nodes left out."""
        start = set(ids)
        seen = set(start)
        stack = list(start)
        consumers = self.consumers
        while stack:
            for c in consumers[stack.pop()]:
                if c not in seen:
                    seen.add(c)
                    stack.append(c)
        return sorted(seen - start)

    def run(self, replaced: Mapping[int, Any], order: Sequence[int]) -> dict[int, Any]:
        """The values of the replaced nodes and of ``order`` (as :meth:`downstream` gives it); the others are at the recorded point."""
        values = dict(replaced)
        get, base = values.get, self.values
        nodes = self.nodes
        with np.errstate(all="ignore"):
            for i in order:
                arguments = []
                for j in nodes[i].inputs:
                    value = get(j)
                    arguments.append(base[j] if value is None else value)
                values[i] = self.apply(i, arguments)
        return values

    def apply(self, i: int, operands: Sequence[Any]) -> Any:
        """The result of node ``i``'s op on other operands."""
        forward = self._forwards.get(i)
        if forward is None:
            forward = self._prepare(i)
        try:
            return forward(*operands, **self._params[i])
        except FAILURES as error:
            op = REGISTRY[self.nodes[i].op]
            if op.foreign:
                error.add_note(f"raised while node {i} ({self.nodes[i].title}) was run again")
                raise
            raise ReplayError(
                f"node {i} ({self.nodes[i].title}) cannot be run again: {explained(op, operands, dict(self._params[i]), error)}"
            ) from error

    def forward(self, i: int) -> Callable[..., Any]:
        """The forward rule of node ``i``'s op."""
        return self._forwards.get(i) or self._prepare(i)

    def params(self, i: int) -> Mapping[str, Any]:
        """The parameters with which node ``i``'s op is replayed."""
        self.forward(i)
        return self._params[i]

    def _prepare(self, i: int) -> Callable[..., Any]:
        node = self.nodes[i]
        op = REGISTRY.get(node.op)
        if op is None:
            raise ReplayError(
                f"node {i} ({node.title}) is the result of {one_line(node.op)!r}, which is no op of tensorviz: a custom op is a Python function, and no record holds it. "
                f"Define it again with tv.custom_op({node.op!r}, ...) in this process, then replay"
            )
        forward = apart(op.run) if op.foreign else op.run
        if op.extras:
            forward = _first(forward)
        params = node.params
        if self.dtype is not None and "dtype" in params and params["dtype"] is not None and np.dtype(params["dtype"]).kind == "f":
            params = {**params, "dtype": self.dtype}  # a cast inside the graph follows the dtype of the replay
        self._forwards[i], self._params[i] = forward, params
        return forward

    def fitted(self, node: Runnable, value: npt.ArrayLike) -> Any:
        """A value as the engine would hold it in a node's place. Raises where its shape or dtype is not the node's."""
        try:
            given = np.asarray(value)
        except (ValueError, TypeError) as error:
            raise DTypeError(f"replay: node {node.id} ({node.title}) takes an array of shape {node.shape}, got {shown(value)} ({error})") from None
        if given.dtype.kind not in "fiub":
            raise DTypeError(f"replay: node {node.id} ({node.title}) holds {node.dtype}, got {shown(value)} of dtype {given.dtype}")
        if given.shape != node.shape:
            raise ShapeError(f"replay: node {node.id} ({node.title}) has shape {node.shape}, got {given.shape}; a replacement is not broadcast")
        if not np.can_cast(given.dtype, node.value.dtype, "same_kind"):
            raise DTypeError(f"replay: node {node.id} ({node.title}) holds {node.dtype}, which {given.dtype} does not fit into")
        if node.weak:
            return given.astype(node.value.dtype).item()
        target = node.value.dtype if self.dtype is None or node.value.dtype.kind != "f" else self.dtype
        return np.array(given, dtype=target)[()]


def same_op(nodes: Sequence[Runnable], i: int) -> None:
    """Refuse to run a custom op again that is another than the one recorded: it would give a wrong answer without a word."""
    node = nodes[i]
    op = REGISTRY.get(node.op)
    if op is None or not op.foreign or getattr(node, "uid", -1) > getattr(op, "since", -1) >= 0:
        return
    operands = [_held(nodes[j], None) for j in node.inputs]
    try:
        with np.errstate(all="ignore"), Aside():
            again = np.asarray(op.run(*operands, **node.params))
    except Exception as error:
        error.add_note(f"raised while node {i} ({node.title}) was run again on the operands of the record")
        raise
    near = 64 * np.finfo(node.value.dtype).eps if node.value.dtype.kind == "f" else 0.0  # another machine may round otherwise
    if again.shape != node.shape or not np.allclose(again, node.value, rtol=near, atol=0.0, equal_nan=node.value.dtype.kind == "f"):
        raise ReplayError(
            f"node {i} ({node.title}): the custom op {node.op!r} that this process knows gives another result on the recorded operands than the record holds, "
            f"so it is not the one that was recorded (or gives another result every time). Define it as it was, then replay"
        )


def _held(node: Runnable, dtype: np.dtype[Any] | None) -> Any:
    if node.weak:
        return node.value.item()
    value = node.value
    if dtype is not None and value.dtype.kind == "f" and value.dtype != dtype:
        value = value.astype(dtype)
    return value[()]


def _first(forward: Callable[..., Any]) -> Callable[..., Any]:
    def result(*operands: Any, **params: Any) -> Any:
        return forward(*operands, **params)[0]

    return result


def engine_node(n: TraceNode, value: Any, inputs: Sequence[Node] = (), extras: Sequence[Any] | None = None) -> Node:
    """A recorded node as the engine would hold it, so that its op's rule can run on it.

    ``extras``: what the op made for its rule beside the result; without them those that were saved, since of the others nobody asks.
    """
    op = REGISTRY.get(n.op) if n.kind == "op" else None
    made = new_node(op, tuple(inputs), dict(n.params) if op is not None else NO_PARAMS, value, n.requires_grad, uid=n.id)
    made.scope = n.scope
    if op is not None and op.extras:
        made.more().extras = tuple(n.saved[name][()] if name in n.saved else None for name in op.extras) if extras is None else tuple(extras)
    return made
