"""The lesson of the five broken networks, as its reader sees it: each page opens on what is wrong, and says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from browser.book import wait_until

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "five_broken_networks.ipynb"

SAYS = [
    ("dead = regression().backward()", "dead", "units of this relu are off for every one of the 16 rows"),
    ("shape = loss.backward()", "double-broadcast", "36 pairs instead of 6"),
    ("stale = loss.backward()", "stale-grad", "w.grad was not empty before this pass"),
    ("stopped = stop", "nan", "Born here"),
]


@pytest.mark.slow
def test_each_network_shows_what_is_wrong_with_it(open_notebook):
    book = open_notebook(NOTEBOOK)
    book.run_all()
    for code, kind, words in SAYS:
        cell = book.find_cell(code)
        book.cell(cell)
        stepper = book.debugger(cell=cell)
        tab = stepper.get_by_role("tab", name="Findings")
        # verdicts arrive while the page opens, and a click may meet a pane that is being drawn anew
        wait_until(lambda tab=tab: tab.click() or tab.get_attribute("aria-selected") == "true", "the tab of findings")
        panel = stepper.get_by_role("tabpanel")
        expect(panel).to_contain_text(kind)
        expect(panel).to_contain_text(words)
        expect(panel).to_contain_text("Do:")
        expect(stepper.locator(f'.tv-flag[data-kind="finding"], .tv-flag[data-kind="{kind}"]').first).to_be_attached()

    cell = book.find_cell("blamed = wrong.nodes[report.blame]")
    book.cell(cell)
    stepper = book.debugger(cell=cell)
    expect(stepper.get_by_role("status")).to_contain_text("softsign")
    expect(stepper.get_by_role("tabpanel").locator(".tv-heading")).to_contain_text("its own rule: mismatch")
    expect(stepper.locator('.tv-verdict[data-sign="bad"]').first).to_be_attached()
    expect(stepper.locator('.tv-verdict[data-sign="ok"]').first).to_be_attached()
