"""Which lessons a course has, and in what order: read off a folder of notebooks. Imports nothing of ours."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensorviz.errors import SiteError


@dataclass(frozen=True)
class Lesson:
    """One notebook: its file, its first heading, and the paragraph that opens it (both as Markdown)."""

    path: Path
    title: str
    opening: str

    @property
    def name(self) -> str:
        return self.path.stem


@dataclass(frozen=True)
class Part:
    """Lessons under one heading."""

    title: str
    lessons: tuple[Lesson, ...]


@dataclass(frozen=True)
class Course:
    """The lessons in order."""

    title: str
    opening: str
    parts: tuple[Part, ...]
    folder: Path

    @property
    def lessons(self) -> tuple[Lesson, ...]:
        return tuple(lesson for part in self.parts for lesson in part.lessons)


def read_course(folder: Path) -> Course:
    """The course in a folder.

    ``course.toml`` says title, opening and order, as ``[[part]]`` tables with ``title`` and ``lessons`` (names of notebooks). Without that file, all
    notebooks of the folder come in alphabetical order.

    Raises :class:`SiteError` where there is no notebook, or where the file names one that does not exist.
    """
    table = folder / "course.toml"
    if not table.is_file():
        found = sorted(folder.glob("*.ipynb"))
        if not found:
            raise SiteError(f"{folder} holds no notebook (*.ipynb) and no course.toml")
        return Course(folder.resolve().name, "", (Part("", tuple(read_lesson(path) for path in found)),), folder)
    try:
        said = tomllib.loads(table.read_text(encoding="utf-8"))
        parts = tuple(Part(part["title"], tuple(read_lesson(folder / f"{name}.ipynb") for name in part["lessons"])) for part in said["part"])
        return Course(said["title"], said.get("opening", ""), parts, folder)
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as problem:
        raise SiteError(f"{table}: {problem!r}; it needs a title and [[part]] tables with a title and a list of lessons") from None


def read_lesson(path: Path) -> Lesson:
    if not path.is_file():
        raise SiteError(f"there is no notebook {path}")
    try:
        cells: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    except (ValueError, KeyError, TypeError) as problem:
        raise SiteError(f"{path} is no notebook: {problem}") from None
    blocks = [block.strip() for text in texts[:1] for block in text.split("\n\n")]
    title = next((block.lstrip("# ") for block in blocks if block.startswith("# ")), path.stem.replace("_", " "))
    said = [block for block in blocks if block and not block.startswith("#")]
    # "after this lesson you can" and the list that follows it
    opening = "\n\n".join(said[: 2 if len(said) > 1 and said[1].startswith(("- ", "* ", "1. ")) else 1])
    return Lesson(path, title, opening)


def data_folders(folder: Path, target: Path) -> list[Path]:
    """What the notebooks of a folder read: the folders beside them, without the one that is being written."""
    written = (target.resolve(), *target.resolve().parents)
    return [one for one in sorted(folder.iterdir()) if one.is_dir() and not one.name.startswith((".", "_")) and one.resolve() not in written]
