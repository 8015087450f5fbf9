"""A notebook, run and turned into the body of a page: nbconvert does it, with mathematics as MathML, so that a page loads nothing. Imports errors."""

from __future__ import annotations

import re
from copy import deepcopy
from pathlib import Path
from typing import Any

from tensorviz.errors import MissingExtraError, SiteError

SECONDS = 900
"""A cell that runs longer has gone wrong; the slowest of the lessons takes a tenth of it on two cores."""

HIDDEN = "tensorviz-hidden"
"""The tag by which nbconvert knows a cell whose code is not shown."""


def executed(path: Path) -> Any:
    """The notebook with the outputs of a fresh run in its own folder.

    Raises :class:`SiteError` with the cell and the traceback of a cell that raises.
    """
    try:
        import nbformat
        from nbclient import NotebookClient
        from nbclient.exceptions import CellExecutionError, CellTimeoutError
    except ImportError as missing:
        raise needs_extra(missing) from None
    book: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    # a kernel warns that others on this machine could listen in; a lesson holds no secrets
    quiet = ["--log-level=ERROR"]
    client = NotebookClient(book, timeout=SECONDS, kernel_name="python3", extra_arguments=quiet, resources={"metadata": {"path": str(path.parent)}})
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError) as problem:
        raise SiteError(f"{path} does not run to its end:\n{problem}") from None
    return book


def body_of(book: Any) -> str:
    """The cells and their outputs as HTML; mathematics as MathML, code with the classes of :func:`code_style`.

    Widgets, which live on a kernel, are shown as the HTML or text that stands beside them; code that a notebook hides is hidden here, too.
    """
    book = deepcopy(book)
    book.metadata.pop("widgets", None)
    for cell in book.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)
        if cell.metadata.get("jupyter", {}).get("source_hidden"):
            cell.metadata["tags"] = [*cell.metadata.get("tags", []), HIDDEN]
    return str(_exporter().from_notebook_node(book)[0])


def markdown(text: str) -> str:
    """A piece of Markdown as HTML."""
    from nbconvert.filters.markdown_mistune import MarkdownWithMath

    return str(MarkdownWithMath(renderer=_renderer()(escape=False)).render(text))


def anchor_of(heading: str, taken: set[str]) -> str:
    """What a link to a heading (as HTML) ends in, other than all that are taken; it is taken from then on.

    >>> taken = set()
    >>> anchor_of("2. A <b>node</b>, used twice", taken), anchor_of("A node used twice", taken), anchor_of("Ω", taken)
    ('a-node-used-twice', 'a-node-used-twice-2', 'part')
    """
    words = re.findall(r"[a-z0-9]+", re.sub(r"<[^>]*>|&\w+;", "", heading).lower())
    if len(words) > 1 and words[0].isdigit():
        del words[0]  # a lesson that gains a section keeps its links
    plain = anchor = "-".join(words) or "part"
    number = 1
    while anchor in taken:
        number += 1
        anchor = f"{plain}-{number}"
    taken.add(anchor)
    return anchor


def code_style() -> str:
    """Colours of code, light and dark."""
    from pygments.formatters import HtmlFormatter

    light = HtmlFormatter(style="default").get_style_defs(".highlight")
    dark = HtmlFormatter(style="github-dark").get_style_defs(".highlight")
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}"


def needs_extra(missing: ImportError) -> MissingExtraError:
    return MissingExtraError(f"a site needs {missing.name}, which a plain install leaves out: pip install 'tensorviz-backward[site]'")


def _exporter() -> Any:
    try:
        from jinja2 import pass_context
        from nbconvert.exporters import HTMLExporter
        from nbconvert.filters.markdown_mistune import MarkdownWithMath
        from traitlets.config import Config
    except ImportError as missing:
        raise needs_extra(missing) from None

    anchors: set[str] = set()

    class Exporter(HTMLExporter):
        @pass_context
        def markdown2html(self, context: Any, source: str) -> str:
            cell = context.get("cell", {})
            renderer = _renderer()(escape=False, attachments=cell.get("attachments", {}))
            renderer.anchors = anchors
            return str(MarkdownWithMath(renderer=renderer).render(source))

    made: Any = Exporter
    return made(template_name="basic", config=Config({"TagRemovePreprocessor": {"enabled": True, "remove_input_tags": {HIDDEN}}}))


def _renderer() -> Any:
    try:
        from latex2mathml.converter import convert
        from nbconvert.filters.markdown_mistune import IPythonRenderer
    except ImportError as missing:
        raise needs_extra(missing) from None

    class Renderer(IPythonRenderer):
        anchors: set[str] | None = None
        """Those of the page so far; None where headings need none."""

        def heading(self, text: str, level: int, **attributes: Any) -> str:
            if self.anchors is None:
                return f"<h{level}>{text}</h{level}>\n"
            anchor = anchor_of(text, self.anchors)
            return f'<h{level} id="{anchor}">{text}<a class="anchor-link" href="#{anchor}" aria-label="Link to this heading">#</a></h{level}>\n'

        def inline_math(self, body: str) -> str:
            return str(convert(body))

        def block_math(self, body: str) -> str:
            return str(convert(body, display="block"))

        def latex_environment(self, name: str, body: str) -> str:
            return str(convert(f"\\begin{{{name}}}{body}\\end{{{name}}}", display="block"))

        def link(self, text: str, url: str, title: str | None = None) -> str:
            # a notebook beside this one is a page beside this one
            if url.endswith(".ipynb") and "/" not in url:
                url = url.removesuffix(".ipynb") + ".html"
            elif not re.match(r"[a-z][a-z0-9+.-]*:|[/#]|\.\./", url, re.IGNORECASE):
                # and any other file is where the notebooks are
                url = f"notebooks/{url}"
            return str(super().link(text, url, title))

    return Renderer
