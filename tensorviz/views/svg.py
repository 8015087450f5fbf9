"""A trace as SVG: stills with resolved colours, and the skeleton that the stepper styles. Imports trace and other views only."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from tensorviz.arguments import one_of
from tensorviz.errors import OptionError
from tensorviz.trace import Trace
from tensorviz.views import text
from tensorviz.views.curves import number as n
from tensorviz.views.drawing_options import DrawingOptions
from tensorviz.views.exported import Markup, exported
from tensorviz.views.film import check_film, film
from tensorviz.views.layout import DIRECTIONS
from tensorviz.views.legend import legend as make_legend
from tensorviz.views.legend import plain_notes
from tensorviz.views.marks import Pen
from tensorviz.views.options import refuse_unknown
from tensorviz.views.paint import Skeleton, Still
from tensorviz.views.picture import Picture, compose
from tensorviz.views.scale import scale_of
from tensorviz.views.scene import MOST_NODES
from tensorviz.views.state import check_step
from tensorviz.views.wires import MARGIN

LEAST_WIDTH = 360.0
"""A legend needs some width, however small the graph."""
OPTIONS = ("step", "palette", "direction", "engine", "title", "scale", "legend", "max_nodes", "timeout", "steps", "columns")


def to_svg(
    trace: Trace,
    path: str | PathLike[str] | None = None,
    *,
    step: int | None = None,
    steps: str | Sequence[int] | None = None,
    columns: int | None = None,
    palette: str = "light",
    direction: str = "LR",
    engine: str = "auto",
    title: str | None = None,
    scale: float = 1.0,
    legend: bool = True,
    max_nodes: int = MOST_NODES,
    timeout: float = 20.0,
    **unknown: Any,
) -> str:
    """The still picture as SVG text, also written to ``path`` (UTF-8) if given.

    Attributes only: no style element, no script, no variable, no id, so slide programs and sanitising front ends show it, and two pictures on one
    page do not meet. The same trace gives the same bytes.

    Parameters
    ----------
    trace
        What to draw.
    path
        A file to write it to as well.
    step
        Draw the state after this step (``trace.steps[step]``); None draws the whole pass, with nothing highlighted.
    steps
        Draw a filmstrip instead: these steps side by side, each with its number, the graph, the gradient that it is about and its sentence.
        A list of step numbers, or ``"micro"``, ``"share"``, ``"node"`` as for ``to_animated_svg``.
    columns
        Frames of a filmstrip beside each other; None: as many as a screen has room for.
    palette
        ``"light"`` (colour-blind safe), ``"dark"``, ``"colorblind"`` (the same colours as ``"light"``) or ``"cs231n"``.
    direction
        ``"LR"`` runs to the right, in rows where it is long, ``"TB"`` downwards.
    engine
        ``"auto"``, ``"graphviz"`` (embedded), ``"layered"`` (our own), ``"dot"`` (the program, if there is one).
    title
        A line above the picture.
    scale
        Multiplies width and height; the drawing itself stays the same.
    legend
        Whether the meaning of the marks stands below.
    max_nodes
        Above this many, scopes collapse, chains fold, and finally only the neighbourhood of the step (or the root) is drawn.
    timeout
        Seconds for Graphviz, after which our own layout takes over.
    **unknown
        Refused, with a list of what there is.

    Raises
    ------
    ValueError, TypeError
        For an option or a value that does not exist; the message lists those that do.

    """
    refuse_unknown("to_svg", unknown, OPTIONS)
    check_step(trace, step, "to_svg")
    drawing = DrawingOptions(palette, direction, engine, title, scale, legend, max_nodes, timeout)
    tokens = drawing.checked("to_svg")
    if steps is not None:
        markup = film(trace, check_film(trace, steps, step, columns), tokens, columns, drawing)
    elif columns is not None:
        raise OptionError("to_svg: columns is for a filmstrip: say which steps, as in steps=[0, 3, 5]")
    else:
        paint = Still(tokens)
        picture = compose(trace, paint, scale_of(trace), step=step, direction=direction, engine=engine, most=max_nodes, timeout=timeout)
        markup = _document(trace, picture, Pen(paint, picture.scale), step, title, scale, legend)
    return exported("to_svg", path, Markup(markup))


def _document(trace: Trace, picture: Picture, pen: Pen, step: int | None, title: str | None, scale: float, legend: bool) -> str:
    width, top = max(picture.width, LEAST_WIDTH), 0.0
    out = []
    if title:
        top = 34.0
        out.append(pen.text(MARGIN, 25, text.cut(title, 200), "title", 16))
        width = max(width, 2 * MARGIN + text.heading(text.cut(title, 200)))
    height = top + picture.height
    waiting = not trace.data.steps
    if legend:
        lines, high = make_legend(
            pen,
            MARGIN,
            height,
            width - 2 * MARGIN,
            cells=picture.has_cells,
            saved=picture.has_saved,
            born=picture.born,
            tags=picture.tags,
            signs=picture.signs,
            waiting=waiting,
            notes=picture.notes,
            sideways=picture.sideways,
        )
    else:
        lines, high = plain_notes(pen, picture.notes, MARGIN, height)
    height += high + (MARGIN / 2 if high else 0)
    left = (width - picture.width) / 2
    name = f"Computation graph of {', '.join(trace.nodes[r].title for r in trace.roots) or 'nothing'}"
    after = ", backward not yet called" if waiting else "" if step is None else f", after step {step}: {trace.steps[step].caption}"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tv-graph" viewBox="0 0 {n(width)} {n(height)}" width="{n(width * scale)}" height="{n(height * scale)}" '
        f'data-step="{picture.step}" role="img" aria-label="{text.xml(name)}">'
    )
    paper = f'<rect width="{n(width)}" height="{n(height)}" {pen.paint.attributes("paper")}/>'
    body = f'<g transform="translate({n(left)},{n(top)})">{picture.body}</g>' if left or top else picture.body
    return f"{head}<title>{text.xml(name + after)}</title>{paper}{''.join(out)}{body}{lines}</svg>\n"


def skeleton(trace: Trace, *, direction: str = "LR", engine: str = "auto", max_nodes: int = MOST_NODES, timeout: float = 20.0) -> str:
    """The same picture for the stepper: final state, class names for colours, everything present that a step can show.

    The root carries ``data-step`` and the heat scale's ends (``data-vmax``, ``data-gmax``). Of a trace of more than ``max_nodes`` nodes it is empty: the
    browser then draws what the user opens, since no one picture would do.
    """
    one_of("skeleton", "direction", direction, DIRECTIONS)
    if len(trace.nodes) > max_nodes:
        return ""
    paint = Skeleton()
    picture = compose(
        trace,
        paint,
        scale_of(trace),
        step=None,
        direction=direction,
        engine=engine,
        most=max_nodes,
        timeout=timeout,
    )
    notes, high = plain_notes(Pen(paint, picture.scale), picture.notes, MARGIN, picture.height)
    width, height = picture.width, picture.height + high
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tv-graph" viewBox="0 0 {n(width)} {n(height)}" width="{n(width)}" height="{n(height)}" '
        f'data-step="{picture.step}" data-vmax="{picture.scale.value!r}" data-gmax="{picture.scale.gradient!r}" '
        f'role="graphics-document" aria-label="Computation graph"><g class="tv-viewport">{picture.body}{notes}</g></svg>'
    )
