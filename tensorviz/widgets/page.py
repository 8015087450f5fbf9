"""A trace as one HTML file that steps with no kernel and no network. Must not import engine or ops."""

from __future__ import annotations

import os
from typing import Any

from tensorviz.trace import Trace
from tensorviz.views.exported import Page, exported
from tensorviz.views.options import check_values, refuse_unknown
from tensorviz.widgets import payload as data
from tensorviz.widgets import state
from tensorviz.widgets.output import document, static_list


def to_html(
    trace: Trace,
    path: str | os.PathLike[str] | None = None,
    *,
    step: int | None = None,
    theme: str = "auto",
    presentation: bool = False,
    title: str | None = None,
    **unknown: Any,
) -> str:
    """The page as text, also written to ``path`` if given. It opens at ``step`` (a position in ``trace.steps``), with ``presentation`` for a lecture hall:
    large type, high contrast, one pane.

    Raises ValueError for a step that the trace does not have, an unknown theme, or a ``presentation`` that is neither True nor False.
    """
    refuse_unknown("to_html", unknown, ("step", "theme", "presentation", "title"))
    check_values("to_html", title=title)
    content = data.payload(trace)  # checks a small trace
    given: dict[str, Any] = {} if step is None else {"step": step}
    options = state.settings("to_html", trace, {"theme": theme, "presentation": presentation} | given | state.opening(trace, given))
    heading = data.title(trace) if title is None else title
    page = document(
        content,
        {"id": "page", "state": options},
        heading=heading,
        fallback=f"<noscript>{static_list(trace)}</noscript>",
    )
    return exported("to_html", path, Page(page))
