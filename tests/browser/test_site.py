"""A site made of notebooks: from its index into a lesson, step, and on to the next, from the disk with the network off."""

from __future__ import annotations

import nbformat
from playwright.sync_api import expect

from tensorviz.site.build import build_site

STEPPER = "import tensorviz as tv\nx = tv.tensor(3.0, requires_grad=True)\ny = x * x\ny.backward()"


def test_a_lesson_opens_from_the_index_and_steps(open_page, tmp_path):
    for name, text, code in (("first", "# Squares", STEPPER), ("second", "# Sums", "1 + 1")):
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text), nbformat.v4.new_code_cell(code)])
        nbformat.write(book, tmp_path / f"{name}.ipynb")
    build_site(tmp_path, tmp_path / "out")
    page = open_page(tmp_path / "out" / "index.html")
    page.get_by_role("link", name="Squares").click()
    inner = page.locator("iframe.tensorviz-frame").content_frame
    inner.get_by_role("button", name="Next step").click()
    expect(inner.get_by_role("region", name="Backward pass debugger")).to_have_attribute("data-step", "1")
    # by key: a click sent right after a scroll may still be taken for one into the frame
    page.get_by_role("link", name="Next Sums").press("Enter")
    expect(page.get_by_role("heading", name="Sums")).to_be_visible()
