"""What ``tv.lower`` returns: the graph in primitives, what each node of the original became, its pass, its gradients, its counts. No view is imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from os import PathLike
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorviz.engine.backward import backward
from tensorviz.engine.graph import user_frame
from tensorviz.engine.record import forward_only
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import GraphError, NodeLookupError, OptionTypeError
from tensorviz.primitives import Counts, GradGraph, grad_graph, recompute_counts
from tensorviz.primitives.captions import within
from tensorviz.trace import Array, Source, Trace, TraceData

if TYPE_CHECKING:
    from tensorviz.widgets.pair import Pair


class Lowered:
    """A graph in primitives beside the original one."""

    trace: Trace | None = None
    """The record of the latest :meth:`backward`; None before."""

    def __init__(self, original: Trace, roots: tuple[Tensor, ...], nodes: tuple[tuple[Tensor, ...], ...], values: Sequence[Any]) -> None:
        self.original, self.roots = original, roots
        """The record that was lowered; and its roots, in primitives."""
        self._nodes, self._values = nodes, tuple(values)

    @property
    def root(self) -> Tensor:
        """The lowered root; of several the first."""
        return self.roots[0]

    # ---- what became of what ---------------------------------------------------------------------------------

    @property
    def nodes(self) -> Mapping[int, tuple[Tensor, ...]]:
        """For every node id of the original, the Tensors that it became, in the order in which they are computed; its own value is the last."""
        return dict(enumerate(self._nodes))

    def of(self, key: Any) -> tuple[Tensor, ...]:
        """The Tensors that a node of the original became, by Tensor, name or id."""
        return self._nodes[self.original.node(key).id]

    def value(self, key: Any) -> Tensor:
        """The Tensor that stands for a value of the original. GraphError for a Python number, which stays one."""
        node = self.original.node(key)
        found = self._values[node.id]
        if not isinstance(found, Tensor):
            raise GraphError(f"{node.title} is a Python number and has no node in the lowered graph")
        return found

    def grad(self, key: Any) -> Array:
        """After :meth:`backward`, the gradient at a node of the original, as the lowered graph computed it."""
        if self.trace is None:
            raise GraphError("grad: backward() has not been called on this lowered graph")
        value = self.value(key)
        try:
            cotangent = self.trace.node(value).cotangent
        except NodeLookupError:  # nothing was made of it, as of an empty part of a concatenation
            cotangent = None
        return np.zeros(value.shape, value.dtype) if cotangent is None else np.array(cotangent)

    # ---- running it ------------------------------------------------------------------------------------------

    def backward(self, gradient: Any = None) -> Trace:
        """The pass through the primitives; its record shows G Bᵀ and Aᵀ G appear. ``gradient`` as for ``Tensor.backward``, a list of them for several roots."""
        for value in self._values:
            if isinstance(value, Tensor) and value.is_leaf:
                value.zero_grad()
        if len(self.roots) == 1:
            gradient = None if gradient is None else [gradient]
        raw = backward(list(self.roots), gradient, frame=user_frame(2))
        assert raw is not None
        self.trace = Trace(lambda: self._told(raw.data))
        for root in self.roots:
            root.trace = self.trace
        return self.trace

    @cached_property
    def trace_of_forward(self) -> Trace:
        """The record of the graph in primitives alone, before any pass."""
        return Trace(self._told(forward_only(self.roots, None)))

    def _told(self, data: TraceData) -> TraceData:
        """The record with the lines of source that made the original, and its names."""
        values = {tensors[-1]._uid for tensors in self._nodes if tensors}
        source = self._sources
        nodes = tuple([replace(n, source=source.get(n.uid) if n.uid in values else within(source.get(n.uid))) for n in data.nodes])
        return replace(data, nodes=nodes, sources=self.original.sources)

    @cached_property
    def _sources(self) -> dict[int, Source | None]:
        """By uid, the line of the original that a node comes from."""
        found: dict[int, Source | None] = {}
        for node, tensors in zip(self.original.nodes, self._nodes, strict=True):
            for tensor in tensors:
                found.setdefault(tensor._uid, node.source)
        return found

    def grad_graph(self, gradient: Any = None) -> GradGraph:
        """The backward pass as a graph of primitives of its own; see :func:`tensorviz.primitives.grad_graph`. Several roots take a list of seeds."""
        graph = grad_graph(self.root if len(self.roots) == 1 else self.roots, gradient, frame=user_frame(2))
        graph.origin = lambda node: self._sources.get(node.uid)
        graph.texts = self.original.sources
        return graph

    def counts(self, *, backward: bool = True, gradient: Any = None) -> Counts:
        """How often each value is computed where nothing is kept but what is staged: for the gradients of all leaves, or with ``backward=False`` for the roots."""
        frame: FrameType | None = user_frame(2)
        if not backward:
            return recompute_counts(*self.roots, frame=frame)
        if len(self.roots) == 1:
            gradient = [gradient]
        gradients = [None] * len(self.roots) if gradient is None else gradient
        ones = [np.ones(root.shape) if g is None else g for root, g in zip(self.roots, gradients, strict=True)]
        return grad_graph(self.roots, ones, frame=frame).counts()

    # ---- to look at ------------------------------------------------------------------------------------------

    @property
    def links(self) -> dict[int, tuple[int, ...]]:
        """For every node id of the original, the ids in :attr:`trace` (or :attr:`trace_of_forward`) of what it became: what a view of both follows."""
        ids = {n.uid: n.id for n in (self.trace or self.trace_of_forward).nodes}
        return {i: tuple([ids[t._uid] for t in tensors if t._uid in ids]) for i, tensors in enumerate(self._nodes)}

    def table(self) -> str:
        """One line per result of the original, with the primitives that it became."""
        rows = [("original", "primitives")]
        for node, tensors in zip(self.original.nodes, self._nodes, strict=True):
            if node.kind == "op":
                ops = [t._current().op for t in tensors]
                rows.append(
                    (f"{node.id} {node.op}{f' {node.name}' if node.name else ''}", ", ".join([op.name for op in ops if op is not None]) or "nothing")
                )
        wide = max(len(left) for left, _ in rows)
        return "\n".join(f"{left.ljust(wide)}  {right}" for left, right in rows) + "\n"

    def draw(self) -> Any:
        """The still picture of the graph in primitives, with its gradients after :meth:`backward`."""
        from tensorviz.looking import draw

        return draw(self.trace or self.trace_of_forward)

    def show(self, *, step: int = 0, theme: str = "auto", alone: bool = False, **options: Any) -> Any:
        """The original pass and the one through the primitives in two linked steppers; :meth:`backward` runs first if it has not.

        The original's pass starts with the same seed: where it has not run with that, it is made again from the record, and no Tensor is touched.
        ``step`` is a position in the original pass. ``alone``: the primitives in a stepper of their own, with the options of :meth:`Trace.show`.
        """
        trace = self._ran()
        if alone:
            return trace.show(step=step, theme=theme, **options)
        if options:
            raise OptionTypeError(f"show: two linked steppers take step= and theme=, got {', '.join(options)}; alone=True takes them all")
        return self._beside(trace, step, theme)

    def to_html(self, path: str | PathLike[str] | None = None, *, step: int = 0, theme: str = "auto") -> str:
        """What :meth:`show` opens, as one page that needs no kernel and no network; also written to ``path`` if given."""
        page: str = self._beside(self._ran(), step, theme).to_html(path)
        return page

    def _ran(self) -> Trace:
        """The pass through the primitives; made with the seeds of the original where it has not been."""
        if self.trace is not None:
            return self.trace
        seeds = {s.node: s.after for s in self.original.data.steps if s.kind == "seed"}
        gradients = (
            [seeds.pop(i, None if root.size == 1 else np.zeros(root.shape)) for i, root in zip(self.original.roots, self.roots, strict=True)]
            if seeds
            else None
        )
        return self.backward(gradients[0] if gradients is not None and len(gradients) == 1 else gradients)

    def _beside(self, trace: Trace, step: int, theme: str) -> Pair:
        from tensorviz.lowering.beside import lined_up, seeded

        after = {s.node: s.after for s in trace.data.steps if s.kind == "seed"}
        original = seeded(self.original, [np.asarray(after[trace.node(root).id]) for root in self.roots])
        return original.beside(trace, steps=lined_up(original, trace, self.links), names=("as you wrote it", "in primitives"), step=step, theme=theme)

    def __repr__(self) -> str:
        before = sum(n.kind == "op" for n in self.original.nodes)
        after = sum(not n.is_leaf for n in self.trace_of_forward.nodes)
        return f"Lowered graph: {before} op{'' if before == 1 else 's'} written as {after} primitive{'' if after == 1 else 's'}"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """Both pictures, the original above, and after :meth:`backward` both steppers; text alone where ``tv.set_display`` asks for no pictures."""
        told = f"{self!r}\n{self.table()}"
        kinds = set((self.trace or self.original)._repr_mimebundle_(include, exclude))
        if self.trace is not None and "image/svg+xml" not in kinds and "text/html" in kinds:
            return {**self._beside(self.trace, 0, "auto")._repr_mimebundle_(), "text/plain": told}
        if kinds == {"text/plain"}:
            return {"text/plain": told}
        from tensorviz.looking import draw

        original, lowered = draw(self.original)._repr_mimebundle_(), self.draw()._repr_mimebundle_()
        rows = (("as you wrote it", original), ("in primitives", lowered))
        figures = "".join(f'<figure style="margin:0 0 1em"><figcaption>{title}</figcaption>{shown["text/html"]}</figure>' for title, shown in rows)
        return {"text/html": figures, "image/svg+xml": lowered["image/svg+xml"], "text/plain": told}
