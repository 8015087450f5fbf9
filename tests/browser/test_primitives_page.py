"""The backward pass as a graph of primitives, and a lowered pass, stepped through in a real browser."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import expect

import tensorviz as tv

pytestmark = pytest.mark.browser


def test_the_gradient_of_a_broadcast_operand_is_stepped_through_one_primitive_at_a_time(open_page, tmp_path):
    a = tv.tensor(np.ones((5, 1, 4, 1)), requires_grad=True)
    b = tv.tensor(np.ones((3, 1, 1)), requires_grad=True)
    y = a + b
    graph = tv.primitives.grad_graph(y, np.ones((5, 3, 4, 1)))
    graph.trace.to_html(tmp_path / "page.html", step=0)
    stepper = open_page(tmp_path / "page.html").get_by_role("region", name="Backward pass debugger")
    for k in range(1, 7):  # three for a, three for b
        stepper.get_by_role("button", name="Next step", exact=True).click()
        expect(stepper).to_have_attribute("data-step", str(k))
        expect(stepper).to_contain_text(graph.steps[k].caption)
        active = stepper.locator('.tv-node[data-state="active"]')
        expect(active).to_have_count(1)
        expect(active).to_have_attribute("data-node", str(graph.steps[k].node))
    expect(stepper.get_by_role("heading", name="∂b reshape")).to_be_visible()
    expect(stepper.get_by_text("of reduce_add")).to_be_visible()  # what it was computed from
    expect(stepper.locator(".tv-ledger-box")).to_have_count(0)
    stepper.get_by_role("button", name="node", exact=True).click()
    stepper.get_by_role("button", name="Previous step", exact=True).click()
    expect(stepper).to_have_attribute("data-step", "0")  # the seed, before the one rule


def test_a_lowered_pass_steps_through_the_primitives_with_the_line_that_they_stem_from(open_page, tmp_path):
    A = tv.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    B = tv.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    C = A @ B
    trace = tv.lower(C.sum()).backward()
    trace.to_html(tmp_path / "page.html", step=next(k for k, s in enumerate(trace.steps) if s.kind == "pull" and trace.nodes[s.node].op == "mul"))
    stepper = open_page(tmp_path / "page.html").get_by_role("region", name="Backward pass debugger")
    expect(stepper).to_contain_text("Mul swaps; shares go to expand and expand.")
    expect(stepper).to_contain_text("C = A @ B")
