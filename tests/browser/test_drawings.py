"""A still picture in a notebook: in the colours of the page, no wider than its cell, and there where no script runs."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

CELL = """\
import tensorviz as tv
x = tv.tensor(2.0, requires_grad=True)
y = x * x + x
y.backward(record=False)
tv.draw(y)
"""
LONG = """\
import tensorviz as tv
y = tv.tensor(0.5, requires_grad=True, name="x")
for _ in range(20):
    y = y.tanh() * 1.5
tv.draw(y)
"""


def test_a_drawing_follows_the_theme_of_the_notebook(open_notebook):
    book = open_notebook([CELL])
    book.run_all()
    image = book.output(0).locator("img")
    expect(image).to_have_attribute("data-scheme", "light")
    light = image.get_attribute("src")
    book.command("apputils:change-theme", theme="JupyterLab Dark")
    expect(image).to_have_attribute("data-scheme", "dark")
    assert "15181c" in image.get_attribute("src")
    # by hand: JupyterLab itself complains where its theme is changed again before its splash is gone, and until then it may set its own again
    book.page.wait_for_function(
        "i => { document.body.dataset.jpThemeLight = 'true'; return i.dataset.scheme === 'light' }", arg=image.element_handle(), polling=200
    )
    assert image.get_attribute("src") == light


@pytest.mark.slow
def test_a_wide_drawing_shrinks_to_its_cell_and_scrolls_where_it_would_be_too_small(open_notebook):
    book = open_notebook([CELL, LONG])
    book.run_all()
    for index, scrolls in ((0, False), (1, True)):
        image = book.output(index).locator("img")
        expect(image).to_be_visible()
        natural, shown, box, inside = image.evaluate("i => [i.naturalWidth, i.clientWidth, i.parentElement.clientWidth, i.parentElement.scrollWidth]")
        assert natural * 0.59 < shown <= natural
        assert (inside > box) is scrolls
        assert book.output(index).evaluate("o => o.scrollWidth <= o.clientWidth")


@pytest.mark.slow
def test_in_a_notebook_that_nobody_trusts_the_picture_is_there(new_server, open_notebook):
    first = open_notebook([CELL])
    first.run_all()
    expect(first.output(0).locator("img")).to_be_visible()
    first.save()
    elsewhere = new_server()
    copy = elsewhere.root / "copy.ipynb"
    copy.write_bytes(first.path.read_bytes())
    image = open_notebook(copy, server=elsewhere).output(0).locator("img")
    expect(image).to_be_visible()
    assert image.evaluate("i => i.complete && i.naturalWidth > 100")
