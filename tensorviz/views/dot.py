"""A trace as DOT text for Graphviz's own tools; quoting is the graphviz package's. Imports trace and other views only."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from os import PathLike
from typing import Any

from tensorviz.arguments import one_of
from tensorviz.trace import Share, Trace, TraceNode
from tensorviz.views import format as fmt
from tensorviz.views.exported import Dot, exported
from tensorviz.views.labels import norm_mark
from tensorviz.views.layout import DIRECTIONS
from tensorviz.views.options import check_values, refuse_unknown
from tensorviz.views.palette import Tokens
from tensorviz.views.palette import palette as tokens_of
from tensorviz.views.parts import tags
from tensorviz.views.scene import near
from tensorviz.views.state import State, check_step, focus_at, sender_at, state_at
from tensorviz.views.summary import spelled
from tensorviz.views.text import cut, visible

Attributes = dict[str, str]
OPTIONS = ("step", "palette", "direction", "title", "max_nodes")
MOST_NODES = 5_000
"""More than any layout of Graphviz's draws in minutes."""
_SHAPES = {"leaf": "box", "parameter": "hexagon", "constant": "box", "detached": "parallelogram", "op": "ellipse"}
_SPELLED = 8
"""Entries of an array that stand in a label; larger ones are given by their norm."""


def to_dot(
    trace: Trace,
    path: str | PathLike[str] | None = None,
    *,
    step: int | None = None,
    palette: str = "light",
    direction: str = "LR",
    title: str | None = None,
    max_nodes: int = MOST_NODES,
    **unknown: Any,
) -> str:
    """The whole graph as DOT text, one edge per use, also written to ``path`` (UTF-8) if given.

    Of a graph of more than ``max_nodes`` the neighbourhood of the step (or the root) is written, and how many nodes are left out.

    Ids are generated (``n0``, ``n1``, …) and names stand in labels only, escaped, so no name can add a node, an attribute or a port.
    """
    refuse_unknown("to_dot", unknown, OPTIONS)
    check_step(trace, step, "to_dot")
    one_of("to_dot", "direction", direction, DIRECTIONS)
    check_values("to_dot", title=title, max_nodes=max_nodes)
    nodes: Sequence[TraceNode] = trace.nodes
    if len(nodes) > max_nodes:
        starts = [i for i in (focus_at(trace, step), sender_at(trace, step)) if i is not None]
        kept = near(nodes, starts or [trace.roots[-1] if trace.roots else len(nodes) - 1], max_nodes)
        nodes = [nodes[i] for i in kept]
    shown = frozenset(n.id for n in nodes)
    tokens, now = tokens_of(palette, "to_dot"), state_at(trace, step, shown)
    graph = {
        "rankdir": direction,
        "bgcolor": tokens["bg"],
        **({"label": visible(title), "labelloc": "t", "fontcolor": tokens["ink"]} if title else {}),
    }
    boxes = list(_nodes(trace, nodes, now, tokens))
    if left := len(trace.nodes) - len(nodes):
        boxes.append(("more", [f"… {fmt.counted(left, 'more node')} not drawn"], {"shape": "plaintext", "fontcolor": tokens["ink2"]}))
    text = _written(graph, boxes, list(_edges(trace, nodes, shown, now, tokens)))
    return exported("to_dot", path, Dot(text))


def source(trace: Trace, **options: Any) -> Any:
    """The DOT text as a ``graphviz.Source``, which people who have the program ``dot`` can render and show."""
    import graphviz

    return graphviz.Source(to_dot(trace, **options))


def _nodes(trace: Trace, nodes: Sequence[TraceNode], now: State, tokens: Tokens) -> Iterator[tuple[str, list[str], Attributes]]:
    for node in nodes:
        state = now.nodes[node.id]
        look = {"shape": _SHAPES[node.kind], "color": tokens["ink2"], "fontcolor": tokens["ink"], "style": "filled", "fillcolor": tokens["node"]}
        if state in ("done", "zero"):
            look |= {"color": tokens["gline"], "fillcolor": tokens["done"]}
        elif state == "active":
            look |= {"color": tokens["nowink"], "fillcolor": tokens["now"], "fontcolor": tokens["onnow"], "penwidth": "2.5"}
        if node.kind == "constant":
            look["style"] = "dotted"
        if node.kind == "detached":
            look["style"] = "dashed"
        if node.id in trace.roots:
            look["peripheries"] = "2"
        yield f"n{node.id}", _lines(node, now), look


def _lines(node: TraceNode, now: State) -> list[str]:
    if node.kind == "op":
        lines = [cut(node.op) if node.label in ("", node.op) else f"{cut(node.label)}  {cut(node.op)}", *([cut(node.name)] if node.name else [])]
    elif node.name:
        lines = [cut(node.name)]
    else:
        lines = [node.kind]
    lines.append(f"{fmt.shape(node.shape)} {node.dtype}")
    lines.append(_short(node.value, gradient=False))
    if node.id in now.totals:
        lines.append(_short(now.totals[node.id], gradient=True))
    if len(node.shares) > 1:
        lines.append(f"Σ {now.arrived.get(node.id, 0)}/{len(node.shares)}")
    return lines


def _short(array: Any, *, gradient: bool) -> str:
    if 0 < array.size <= _SPELLED:
        return ("∂ " if gradient else "") + spelled(array)
    return norm_mark(gradient, array) + fmt.stats(array)


def _edges(
    trace: Trace, nodes: Sequence[TraceNode], shown: Collection[int], now: State, tokens: Tokens
) -> Iterator[tuple[str, str, list[str], Attributes]]:
    shares: dict[str, Share] = {share.edge: share for node in nodes for share in node.shares if share.consumer in shown}
    for node in nodes:
        if node.cut is not None and node.cut in shown:
            yield f"n{node.cut}", f"n{node.id}", ["cut"], {"style": "dashed", "color": tokens["wire"], "fontcolor": tokens["ink2"]}
        for slot, operand in enumerate(node.inputs):
            if operand not in shown:
                continue
            use = f"{node.id}:{slot}"
            share, state = shares.get(use), now.edges.get(use, "idle")
            lines = [tag.text for tag in tags(trace, share)] if share is not None else []
            if share is not None and len(trace.nodes[share.target].shares) > 1 and state != "idle":
                lines.append(_short(share.value, gradient=True))
            colour = {"idle": "wire", "active": "nowink"}.get(state, "gline")
            yield (
                f"n{operand}",
                f"n{node.id}",
                lines,
                {"color": tokens[colour], "fontcolor": tokens["grad"], **({"penwidth": "3"} if state == "active" else {})},
            )


def _written(graph: Attributes, nodes: list[tuple[str, list[str], Attributes]], edges: list[tuple[str, str, list[str], Attributes]]) -> str:
    font = {"fontname": "Helvetica,Arial,sans-serif", "fontsize": "12"}
    try:
        import graphviz
    except ImportError:
        return _plainly(graph, font, nodes, edges)
    made = graphviz.Digraph(
        graph_attr={**graph, **font, **({"label": graphviz.escape(graph["label"])} if "label" in graph else {})}, node_attr=font, edge_attr=font
    )

    def label(lines: list[str]) -> str:
        # "\n" between the lines is DOT's own line break; nohtml, because a joined string is a plain one again.
        return str(graphviz.nohtml("")) if not lines else graphviz.nohtml("\\n".join(graphviz.escape(visible(line)) for line in lines))

    for name, lines, look in nodes:
        made.node(name, label(lines), **look)
    for tail, head, lines, look in edges:
        made.edge(tail, head, **({"label": label(lines)} if lines else {}), **look)
    return str(made.source)


def _plainly(
    graph: Attributes, font: Attributes, nodes: list[tuple[str, list[str], Attributes]], edges: list[tuple[str, str, list[str], Attributes]]
) -> str:
    """The same graph where the package is missing: every value in quotes, in which DOT gives a meaning to two characters only."""

    def quoted(text: str) -> str:
        return '"' + visible(text).replace("\\", "\\\\").replace('"', '\\"') + '"'

    def listed(look: Attributes, lines: list[str] | None = None) -> str:
        label = ['label="' + "\\n".join(quoted(line)[1:-1] for line in lines) + '"'] if lines else []
        return "[" + " ".join([*label, *(f"{key}={quoted(value)}" for key, value in look.items())]) + "]"

    rows = ["digraph {", f"\tgraph {listed({**graph, **font})}", f"\tnode {listed(font)}", f"\tedge {listed(font)}"]
    rows += [f"\t{name} {listed(look, lines)}" for name, lines, look in nodes]
    rows += [f"\t{tail} -> {head} {listed(look, lines)}" for tail, head, lines, look in edges]
    return "\n".join([*rows, "}", ""])
