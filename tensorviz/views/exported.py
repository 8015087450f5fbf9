"""What an export gives: the text or the bytes, which as the last value of a cell show what they are. Imports no trace and no other view."""

from __future__ import annotations

from base64 import b64encode
from os import PathLike, fspath
from typing import Any, TypeVar

from tensorviz.arguments import written


class Exported:
    """The content of a file. All that is made from it, by slicing or joining, is an ordinary string."""

    kind: str
    unit = "characters"
    path: str | None = None

    def __repr__(self) -> str:
        size = f"{len(self):,} {self.unit}"  # type: ignore[arg-type]  # a text or bytes
        return f"<{self.kind} of {size}{'' if self.path is None else f', written to {self.path}'}>"


class Markup(Exported, str):
    """SVG, which a notebook shows as the picture."""

    __slots__ = ("__dict__",)
    kind = "SVG picture"

    def _repr_svg_(self) -> str:
        return str(self)


class Dot(Exported, str):
    """DOT, which is for a program to read."""

    __slots__ = ("__dict__",)
    kind = "DOT text"


class Page(Exported, str):
    """HTML with scripts of its own: to be opened, not to be shown inside another page."""

    __slots__ = ("__dict__",)
    kind = "HTML page"


class Image(Exported, bytes):
    """PNG, which a notebook shows as the image."""

    kind, unit = "PNG image", "bytes"

    def _repr_png_(self) -> bytes:
        return bytes(self)


class Moving(Exported, bytes):
    """GIF, which a notebook plays."""

    kind, unit = "GIF animation", "bytes"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"image/gif": b64encode(self).decode(), "text/plain": repr(self)}


class Document(Exported, bytes):
    """PDF."""

    kind, unit = "PDF document", "bytes"


class Told(str):
    """A text for people, which shows its lines."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self).rstrip("\n")


Content = TypeVar("Content", Markup, Dot, Page, Image, Moving, Document)


def exported(where: str, path: str | PathLike[str] | None, content: Content) -> Content:
    """The content, also written to ``path`` if given; ``where`` is the function that was called."""
    if path is not None:
        written(where, path, content)
        content.path = fspath(path)
    return content
