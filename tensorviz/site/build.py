"""A folder of notebooks becomes a folder of pages."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from tensorviz.errors import SiteError
from tensorviz.site.course import data_folders, read_course
from tensorviz.site.export import body_of, executed
from tensorviz.site.lite import build_lite, kernel_extension
from tensorviz.site.pages import index_page, lesson_page, style


def build_site(
    source: str | Path, target: str | Path, *, lite: bool = False, pyodide: str | None = None, progress: Callable[[str], None] = lambda _: None
) -> list[Path]:
    """Run every lesson of a folder and write one page each, an index, and the notebooks to download.

    The pages need no server, no kernel and no network: put the folder on any host, or open ``index.html``. ``progress`` is told a line for each
    lesson. Only files of this site are replaced in ``target``; nothing is deleted. Gives the pages, the index first.

    With ``lite``, ``target/lite`` becomes a JupyterLite site of the same lessons, and each page links to it: there the student edits and runs, and for
    that a web server must serve the files. ``pyodide``: see :func:`tensorviz.site.lite.build_lite`.

    Raises :class:`SiteError` for a folder without notebooks or a lesson that does not run; pages that are finished by then stay.
    """
    source, target = Path(source), Path(target)
    if not source.is_dir():
        raise SiteError(f"there is no folder {source}")
    course = read_course(source)
    if pyodide is not None and not lite:
        raise SiteError("a Pyodide is for the JupyterLite of a site (--lite); the pages run no Python")
    if lite:
        kernel_extension()  # whoever lacks the extra should hear of it before every lesson has run
    (target / "notebooks").mkdir(parents=True, exist_ok=True)
    (target / "style.css").write_text(style(), encoding="utf-8")
    index = target / "index.html"
    index.write_text(index_page(course, lite=lite), encoding="utf-8")
    pages = [index]
    books = {}
    for number, lesson in enumerate(course.lessons, 1):
        started = time.perf_counter()
        page = target / f"{lesson.name}.html"
        books[lesson.name] = book = executed(lesson.path)
        page.write_text(lesson_page(course, lesson, body_of(book), lite=lite), encoding="utf-8")
        shutil.copyfile(lesson.path, target / "notebooks" / lesson.path.name)
        pages.append(page)
        progress(f"{number}/{len(course.lessons)}  {page.name}  {time.perf_counter() - started:.1f} s")
    for folder in data_folders(source, target):
        # a downloaded lesson finds beside itself what it reads
        shutil.copytree(folder, target / "notebooks" / folder.name, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    if lite:
        build_lite(course, books, target / "lite", pyodide=pyodide, progress=progress)
    return pages
