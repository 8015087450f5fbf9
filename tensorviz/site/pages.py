"""The pages of a site as HTML text: the frame around a lesson, and the index. Imports the other halves of the site alone."""

from __future__ import annotations

from html import escape
from importlib.resources import files

from tensorviz.site.course import Course, Lesson
from tensorviz.site.export import code_style, markdown


def style() -> str:
    """The sheet that all pages share."""
    return files("tensorviz.site").joinpath("style.css").read_text(encoding="utf-8") + code_style()


def lesson_page(course: Course, lesson: Lesson, body: str) -> str:
    """A lesson between the ways to its neighbours."""
    lessons = course.lessons
    at = lessons.index(lesson)
    before = lessons[at - 1] if at else None
    after = lessons[at + 1] if at + 1 < len(lessons) else None
    steps = "".join(
        f'<a rel="{rel}" href="{escape(other.name)}.html"><span>{word}</span> {escape(other.title)}</a>'
        for rel, word, other in (("prev", "Before", before), ("next", "Next", after))
        if other is not None
    )
    return _page(
        f"{lesson.title} · {course.title}",
        f'<header><a href="index.html">{escape(course.title)}</a><span>Lesson {at + 1} of {len(lessons)}</span>'
        f'<a href="notebooks/{escape(lesson.path.name)}" download>Notebook</a></header>'
        f"<main>{body}</main><nav aria-label='Lessons'>{steps}</nav>",
    )


def index_page(course: Course) -> str:
    """Every lesson with the paragraph that opens it."""
    number = 0
    parts = []
    for part in course.parts:
        items = []
        for lesson in part.lessons:
            number += 1
            items.append(
                f'<li><a href="{escape(lesson.name)}.html"><b>{number}</b><strong>{escape(lesson.title)}</strong></a><div>{markdown(lesson.opening)}</div></li>'
            )
        heading = f"<h2>{escape(part.title)}</h2>" if part.title else ""
        parts.append(f"<section>{heading}<ol>{''.join(items)}</ol></section>")
    opening = markdown(course.opening) if course.opening else ""
    return _page(course.title, f'<main class="index"><h1>{escape(course.title)}</h1>{opening}{"".join(parts)}</main>')


def _page(title: str, body: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="stylesheet" href="style.css"></head><body>{body}</body></html>\n'
    )
