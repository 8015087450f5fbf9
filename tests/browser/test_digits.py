"""The step of the digits network: as one page from disk with the network off, and in Notebook 7."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

import tensorviz as tv

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def digits_step() -> tv.Trace:
    """A step of a network with 8 real digits and weights as they are at the start."""
    with np.load(NOTEBOOKS / "data" / "digits.npz") as file:
        pixels, labels = file["images"][:8].reshape(8, 64) / 16.0, file["labels"][:8].astype(np.int64)
    rng = np.random.default_rng(1)
    W1 = tv.tensor(rng.normal(0, 1 / 8, (64, 32)), requires_grad=True)
    b1 = tv.tensor(np.zeros(32), requires_grad=True)
    W2 = tv.tensor(rng.normal(0, 1 / 6, (32, 10)), requires_grad=True)
    b2 = tv.tensor(np.zeros(10), requires_grad=True)
    scores = tv.relu(pixels @ W1 + b1) @ W2 + b2
    loss = tv.cross_entropy(scores, labels)
    trace = loss.backward()
    assert trace is not None
    return trace


def test_the_page_of_the_digits_step_opens_from_disk_without_a_network_and_steps(open_page, tmp_path):
    trace = digits_step()
    path = tmp_path / "digits.html"
    trace.to_html(path)
    page = open_page(path)
    region = page.get_by_role("region", name="Backward pass debugger")
    status = region.get_by_role("status")
    slider = region.get_by_role("slider", name="Step")
    steps = len(trace.steps)
    expect(slider).to_have_attribute("max", str(steps))
    slider.fill("1")
    expect(status).to_contain_text(re.compile(rf"Step 1 of {steps}\b.*The pass starts at loss"))
    region.get_by_role("button", name="Next step").click()
    expect(status).to_contain_text(re.compile(rf"Step [2-9] of {steps}\b"))
    at_b2 = next(k for k, step in enumerate(trace.steps, 1) if step.kind == "unbroadcast" and trace.nodes[step.node].name == "b2")
    slider.fill(str(at_b2))
    expect(status).to_contain_text("summed over axis 0: (8, 10) becomes (10,)")
    slider.fill(str(steps))
    expect(status).to_contain_text(f"Step {steps} of {steps}")


@pytest.mark.slow
def test_the_digits_lesson_runs_in_notebook_7_and_its_step_is_checked(open_notebook):
    book = open_notebook(NOTEBOOKS / "digits.ipynb", app="notebook")
    book.run_all()
    region = book.debugger(cell=book.find_cell("step.show()"))
    region.scroll_into_view_if_needed()
    slider = region.get_by_role("slider", name="Step")
    last = slider.get_attribute("max")
    slider.fill(str(last))
    expect(region.get_by_role("status")).to_contain_text(f"Step {last} of {last}")
    search = region.get_by_role("searchbox", name="Find node")
    search.fill("W1")
    search.press("Enter")
    region.get_by_role("tab", name="Check").click()
    expect(region.get_by_role("tabpanel")).to_contain_text("ok")
