"""Two passes on one page that step together."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import expect

import tensorviz as tv
from browser.book import wait_until
from tensorviz.trace import Trace
from tensorviz.widgets.pair import pair


def run(activation) -> Trace:
    x = tv.tensor([0.5, -1.0], requires_grad=True, name="x")
    return (activation(x * 2.0) ** 2).sum().backward()


def test_a_step_in_one_takes_the_other_to_its_counterpart(open_page, tmp_path):
    a, b = run(np.tanh), run(lambda z: np.tanh(z) + 0.0)
    ops = {n.op: n.id for n in b.nodes if n.op != "constant"}
    shown = pair(a, b, nodes=[(n.id, ops[n.op]) for n in a.nodes if n.op in ops], names=("plain", "shifted"))
    assert (0, 0) in shown.steps
    shown.to_html(tmp_path / "pair.html")
    page = open_page(tmp_path / "pair.html")
    left = page.get_by_role("region", name="plain").get_by_role("region", name="Backward pass debugger")
    right = page.get_by_role("region", name="shifted").get_by_role("region", name="Backward pass debugger")
    expect(right).to_have_attribute("data-step", "0")
    left.get_by_role("button", name="Last step").click()
    expect(right).to_have_attribute("data-step", str(len(b.steps) - 1))
    i, j = shown.steps[2]
    right.get_by_role("slider", name="Step").fill(str(j + 1))
    expect(left).to_have_attribute("data-step", str(i))
    left.get_by_role("button", name="node", exact=True).click()
    expect(right.get_by_role("button", name="node", exact=True)).to_have_attribute("aria-pressed", "true")


def test_two_views_of_one_pass_show_different_nodes_at_the_same_step(open_page, tmp_path):
    a = run(np.tanh)
    pair(a, a, names=("one", "two")).to_html(tmp_path / "pair.html")
    page = open_page(tmp_path / "pair.html")
    one, two = (page.get_by_role("region", name=name).get_by_role("region", name="Backward pass debugger") for name in ("one", "two"))
    one.get_by_role("searchbox", name="Find node").fill("x")
    page.keyboard.press("Enter")
    one.get_by_role("gridcell", name="x[0] is").focus()
    page.keyboard.press("Enter")
    expect(one.get_by_text("in a notebook that shows this trace by itself: trace.show().")).to_be_visible()
    page.keyboard.press("Escape")
    one.get_by_role("searchbox", name="Find node").fill("x")
    page.keyboard.press("Enter")
    two.get_by_role("button", name="Next step").click()
    expect(one).to_have_attribute("data-step", "1")
    expect(one.locator("[data-node][data-selected]")).to_have_count(1)
    expect(two.locator("[data-node][data-selected]")).to_have_count(0)


@pytest.mark.parametrize("width", [700, 820, 1300, 1740, 1800, 2000])
def test_a_frame_that_no_script_sizes_is_about_as_high_as_the_pair_in_it(open_page, tmp_path, width):
    a = run(np.tanh)
    shown = re.sub(
        r"<script.*?</script>", "", pair(a, a)._repr_mimebundle_()["text/html"], flags=re.DOTALL
    )  # as where scripts are stripped from outputs
    (tmp_path / "output.html").write_text(f"<!doctype html><meta charset='utf-8'><title>output</title><body>{shown}", "utf-8")
    page = open_page(tmp_path / "output.html", width=width)
    inside = page.locator("iframe").content_frame.get_by_role("main")
    expect(inside.get_by_role("region", name="Backward pass debugger")).to_have_count(2)
    for part in inside.get_by_role("status").all():
        expect(part).not_to_be_empty()  # it is filled

    def spare() -> float:
        return page.locator("iframe").bounding_box()["height"] - inside.bounding_box()["height"]

    wait_until(lambda: 0 <= spare() <= 80, "a frame about as high as the pair", 45)
