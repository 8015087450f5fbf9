"""The pages of a site as HTML text: the frame around a lesson, and the index. Imports the other halves of the site alone."""

from __future__ import annotations

import re
from html import escape
from importlib.resources import files

from tensorviz.site.course import Course, Lesson
from tensorviz.site.export import code_style, markdown


def style() -> str:
    """The sheet that all pages share."""
    return files("tensorviz.site").joinpath("style.css").read_text(encoding="utf-8") + code_style()


def lesson_page(course: Course, lesson: Lesson, body: str, *, lite: bool = False) -> str:
    """A lesson between the ways to its neighbours. ``lite``: there is a JupyterLite beside the pages."""
    lessons = course.lessons
    at = lessons.index(lesson)
    before = lessons[at - 1] if at else None
    after = lessons[at + 1] if at + 1 < len(lessons) else None
    steps = "".join(
        f'<a rel="{rel}" href="{escape(other.name)}.html"><span>{word}</span> {heading(other.title)}</a>'
        for rel, word, other in (("prev", "Before", before), ("next", "Next", after))
        if other is not None
    )
    run = f'<a class="served" href="lite/notebooks/index.html?path={escape(lesson.path.name)}">Edit and run</a>' if lite else ""
    return _page(
        f"{plain(lesson.title)} · {plain(course.title)}",
        f'<header><a href="index.html">{escape(course.title)}</a><span>Lesson {at + 1} of {len(lessons)}</span>{run}'
        f'<a href="notebooks/{escape(lesson.path.name)}" download>Notebook</a></header>'
        f'<main id="lesson" tabindex="-1">{_lazy(body)}</main><nav aria-label="Lessons">{steps}</nav>',
        lite=lite,
    )


def index_page(course: Course, *, lite: bool = False) -> str:
    """Every lesson with the paragraph that opens it."""
    number = 0
    parts = []
    for part in course.parts:
        items = []
        for lesson in part.lessons:
            number += 1
            items.append(
                f'<li><a href="{escape(lesson.name)}.html"><b>{number}</b><strong>{heading(lesson.title)}</strong></a><div>{markdown(lesson.opening)}</div></li>'
            )
        above = f"<h2>{heading(part.title)}</h2>" if part.title else ""
        parts.append(f"<section>{above}<ol>{''.join(items)}</ol></section>")
    opening = markdown(course.opening) if course.opening else ""
    run = (
        '<p class="served"><a href="lite/tree/index.html">Edit and run the lessons in this browser</a>, with nothing to install.</p>' if lite else ""
    )
    body = f'<main class="index" id="lesson" tabindex="-1"><h1>{escape(course.title)}</h1>{opening}{run}{"".join(parts)}</main>'
    return _page(plain(course.title), body, lite=lite)


def heading(title: str) -> str:
    """A title in Markdown as HTML, without a paragraph around it.

    >>> heading("Movement ops and `reduce`")
    'Movement ops and <code>reduce</code>'
    """
    return re.sub(r"^<p>(.*)</p>$", r"\1", markdown(title).strip(), flags=re.DOTALL)


def plain(title: str) -> str:
    """A title in Markdown as a browser's tab shows it, without the marks of code and mathematics.

    >>> plain("Leaves, `detach` and $x^2$")
    'Leaves, detach and x^2'
    """
    return re.sub(r"([`$])(.+?)\1", r"\2", title)


LATER = (
    "<script>{const near = new IntersectionObserver((seen) => { for (const { isIntersecting, target } of seen) if (isIntersecting) "
    "{ near.unobserve(target); target.srcdoc = target.dataset.later; } }, { rootMargin: '1200px' }); "
    'for (const frame of document.querySelectorAll("iframe[data-later]")) near.observe(frame);}</script>'
)
ARROWS = (
    # With one stepper in sight and the focus nowhere, the arrows are the stepper's.
    '<script>{const frames = document.querySelectorAll("iframe.tensorviz-frame"); addEventListener("keydown", (event) => { const { key } = event; '
    "const seen = frames.length === 1 && frames[0].getBoundingClientRect(); "
    "if (!/^Arrow(Left|Right)$/.test(key) || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || document.activeElement !== document.body "
    "|| !seen || seen.bottom < 0 || seen.top > innerHeight) return; "
    'event.preventDefault(); frames[0].contentWindow.postMessage({ tensorviz: 1, type: "key", key }, "*"); });}</script>'
)


def _lazy(body: str) -> str:
    """Steppers that start when they come near the window: a lesson has ten and more, each as much work as a page of its own.

    ``loading="lazy"`` would say the same, but browsers heed it only for frames with an address.
    """
    return re.sub(r'(<iframe class="tensorviz-frame"[^>]*? )srcdoc=', r"\1data-later=", body) + LATER + ARROWS


def _page(title: str, body: str, *, lite: bool) -> str:
    # JupyterLite is an application of workers and requests; opened from a disk it can only fail
    served = '<script>if (location.protocol === "file:") for (const e of document.querySelectorAll(".served")) e.remove();</script>' if lite else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="stylesheet" href="style.css"></head><body><a class="skip" href="#lesson">To the lesson</a>{body}{served}</body></html>\n'
    )
