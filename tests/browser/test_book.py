"""The browser tests' own tools: a notebook runs, its kernel dies when told, and a page that misbehaves is caught."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from browser.book import Watch, wait_until


@pytest.mark.slow
@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_a_notebook_runs_and_survives_a_crash_and_a_restart_of_its_kernel(open_notebook, app):
    book = open_notebook(["x = 20 + 1", "x * 2"], app=app)
    book.run_all()
    expect(book.output(1)).to_have_text("42")
    book.crash_kernel()
    assert book.python("print('x' in globals())") == "False"
    book.restart_kernel()
    book.run_all()
    book.save()
    assert '"42"' in book.path.read_text()
    book.shut_kernel_down()
    assert book.find_cell("x * 2") == 1


def test_cells_are_replaced_in_a_notebook_that_gets_a_kernel_again_and_a_failed_one_is_reported(one_notebook):
    book = one_notebook(["x = 1", "x = 2"])
    book.run_all()
    assert book.cells() == 2
    book.shut_kernel_down()
    book = one_notebook(["print('x' in globals())", "1 / 0"])
    assert book.cells() == 2
    with pytest.raises(AssertionError, match="ZeroDivisionError: division by zero"):
        book.run_all()


def test_a_page_that_complains_or_calls_elsewhere_is_caught(browser, tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text("<script>console.error('broken'); fetch('http://example.invalid/x').catch(() => {})</script>")
    page = browser.new_page()
    watch = Watch(page, ("file:",))
    page.goto(bad.as_uri())
    wait_until(lambda: watch.complaints and watch.foreign, "the complaint", 10)
    with pytest.raises(AssertionError, match="broken"):
        watch.verify()
    assert watch.foreign == ["http://example.invalid/x"]
    page.close()
