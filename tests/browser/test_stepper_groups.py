"""Scopes and folds in the page: opened and closed by click and by key without a kernel, stepped into and over, with the step's neighbourhood in sight."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

import tensorviz as tv
from browser.steppers import at
from tensorviz.trace import Trace


def scoped() -> Trace:
    """Ten layers of twenty nodes, each in a scope of a block of five."""
    x = tv.tensor([0.1, 0.2, 0.3], requires_grad=True, name="x")
    w = tv.tensor([1.0, 1.1, 0.9], requires_grad=True, name="w")
    h = x
    for i in range(10):
        with tv.scope(f"block{i // 5}/layer{i}"):
            for _ in range(10):
                h = np.tanh(h * w)
    return h.sum().backward()


def woven() -> Trace:
    """Thirty layers of six tanh, each of a product of neighbours."""
    xs = [tv.tensor(np.arange(3.0) + i, requires_grad=True, name=f"x{i}") for i in range(6)]
    for _ in range(30):
        xs = [np.tanh(xs[i] * xs[(i + 1) % 6]) for i in range(6)]
    return sum(xs[1:], xs[0]).sum().backward()


def chain(nodes: int) -> Trace:
    h = tv.tensor(0.5, requires_grad=True, name="h")
    for _ in range(nodes // 2):
        h = np.tanh(h) * 1.01
    return h.backward()


@pytest.fixture
def show(open_page, tmp_path):
    def show_(trace: Trace, **options) -> Locator:
        path = tmp_path / "page.html"
        trace.to_html(path, **options)
        return open_page(path).get_by_role("region", name="Backward pass debugger")

    return show_


def graph(stepper: Locator) -> Locator:
    return stepper.get_by_label("Computation graph")


def test_scopes_open_and_close_by_click_and_by_key(show):
    stepper = show(scoped())
    whole = graph(stepper)
    layer = whole.get_by_role("button", name="scope block1/layer9 20 nodes")
    expect(layer).to_have_attribute("aria-expanded", "false")
    layer.click()
    expect(layer).to_have_count(0)
    expect(whole.locator("[data-node='199']")).to_be_attached()
    stepper.page.keyboard.press("-")
    expect(layer).to_be_focused()
    stepper.page.keyboard.press("Enter")
    expect(layer).to_have_count(0)
    stepper.get_by_role("button", name="− block1").click()
    expect(whole.get_by_role("button", name="scope block1 100 nodes")).to_be_visible()
    expect(whole.get_by_role("button", name="scope block0/layer0 20 nodes")).to_be_attached()


def test_the_neighbourhood_of_the_step_is_always_drawn(show):
    trace = scoped()
    stepper = show(trace)
    near = stepper.get_by_label("Neighbourhood of the step")
    for step in (1, 40, len(trace.steps) // 2, len(trace.steps) - 1):
        stepper.get_by_role("slider", name="Step").fill(str(step + 1))
        at(stepper, step)
        node = trace.steps[step].node
        expect(near.locator(f"[data-node='{node}'][data-state='active']")).to_be_in_viewport()
        expect(stepper.locator("[data-node][data-active]")).to_have_count(1)
        for operand in trace.nodes[node].inputs:
            expect(near.locator(f"[data-node='{operand}']")).to_be_attached()
        expect(graph(stepper).locator(".tv-node[data-state='active']")).to_have_count(1)


WALK = """async (root, [from, way, steps]) => {
  const real = document.createElementNS.bind(document);
  const slider = root.querySelector('.tv-slider'), picture = () => root.querySelector('.tv-near .tv-graph:not(.tv-unseen)');
  const made = []; // of each step that showed another picture: elements that were made in it, whether the picture was in the page before, and what is hidden
  for (let i = 0; i < steps; i++) {
    for (let n = 0; n < 5; n++) await new Promise(r => requestIdleCallback(r, { timeout: 300 }));
    const before = picture(), awaited = root.querySelector('.tv-near .tv-unseen');
    let count = 0;
    document.createElementNS = (...given) => (count++, real(...given));
    slider.value = from + way * i;
    slider.dispatchEvent(new Event('input'));
    await null;
    document.createElementNS = real;
    if (picture() !== before && i > 1) made.push([count, picture() === awaited, before.ariaHidden, picture().ariaHidden]);
  }
  return made;
}"""


@pytest.mark.slow
@pytest.mark.parametrize("way", [1, -1])
def test_the_next_neighbourhood_is_drawn_while_there_is_time_and_then_shown_for_many_steps(show, way):
    made = show(woven()).evaluate(WALK, [400, way, 60])
    assert made  # another neighbourhood was shown
    assert max(elements for elements, *_ in made) < 100  # the whole of it has some hundreds
    assert {tuple(state) for _, *state in made} == {(True, "true", None)}  # it had been laid out, unseen
    assert len(made) <= 6


MARKED = """async (root, [from, steps]) => {
  const slider = root.querySelector('.tv-slider'), marked = [];
  for (let i = 0; i < steps; i++) {
    slider.value = from + i + 1; // it counts from 1
    slider.dispatchEvent(new Event('input'));
    await new Promise(r => requestAnimationFrame(r));
    for (let n = 0; n < 5; n++) await new Promise(r => requestIdleCallback(r, { timeout: 300 }));
    marked.push([...root.querySelectorAll('[data-node][data-active]')].map(node => +node.dataset.node));
  }
  return marked;
}"""


@pytest.mark.slow
def test_what_happens_is_marked_in_what_is_seen_and_not_in_what_is_laid_out_for_later(show):
    trace = woven()
    stepper = show(trace)
    assert stepper.evaluate(MARKED, [400, 40]) == [[step.node] for step in trace.steps[400:440]]
    expect(stepper.locator(".tv-near .tv-unseen")).to_have_count(1)  # one was there all the time


def test_the_neighbourhood_has_the_verdicts_and_breakpoints_that_the_picture_has(show):
    trace = scoped()
    step = trace.steps[300]
    trace.check(nodes=[step.node])
    stepper = show(trace, step=300)
    near, legend = stepper.locator(".tv-near"), stepper.get_by_role("group", name="Legend")
    node = near.locator(f"[data-node='{step.node}']")
    expect(node.locator(".tv-verdict[data-sign='ok']")).to_be_attached()
    expect(legend).not_to_contain_text("your breakpoint")
    node.click(modifiers=["Shift"])
    expect(node.locator(".tv-stop")).to_be_visible()
    expect(legend).to_contain_text("your breakpoint")
    node.click(modifiers=["Shift"])
    expect(near.locator(".tv-stop")).to_have_count(0)
    expect(legend).not_to_contain_text("your breakpoint")


def test_the_neighbourhood_has_the_room_that_the_closed_groups_leave(show):
    stepper = show(chain(600))
    whole, near = (graph(stepper).locator(".."), stepper.locator(".tv-near"))
    expect(near).to_be_visible()
    low, high = graph(stepper).bounding_box(), whole.bounding_box()
    assert low
    assert high
    assert low["y"] + low["height"] <= high["y"] + high["height"]  # all of it is seen
    assert near.evaluate("e => e.clientHeight") > 1.6 * high["height"]
    wanted = stepper.evaluate("e => e.style.getPropertyValue('--tv-panes')")  # in a notebook, where the page has not another height for it
    assert int(wanted.removesuffix("px")) >= 470


def test_a_step_goes_into_a_closed_scope_or_over_it(show):
    trace = scoped()
    stepper = show(trace, step=3)
    last_layer = {n.id for n in trace.nodes if n.scope == "block1/layer9"}
    assert trace.steps[3].node in last_layer
    expect(graph(stepper).locator("[data-group='scope:block1/layer9'][data-state='active']")).to_be_visible()
    stepper.get_by_role("button", name="Next step").click()
    at(stepper, 4)
    # The weights are in no layer, and get shares from every one.
    concerned = [{s.node, s.node if s.share is None else s.share.consumer} for s in trace.steps]
    after = next(k for k in range(5, len(trace.steps)) if not concerned[k] & last_layer)
    assert trace.nodes[trace.steps[after].node].scope == "block1/layer8"
    stepper.get_by_role("button", name="step over").click()
    at(stepper, after)
    stepper.focus()
    stepper.page.keyboard.press("o")
    layer = {n.id for n in trace.nodes if n.scope == "block1/layer8"}
    further = next(k for k in range(after, len(trace.steps)) if not concerned[k] & layer)
    at(stepper, further)
    stepper.page.keyboard.press("Shift+O")
    at(stepper, further - 1)
    stepper.page.keyboard.press("Shift+O")
    at(stepper, after - 1)
    weights = next(k for k, step in enumerate(trace.steps) if trace.nodes[step.node].name == "w")
    stepper.get_by_role("slider", name="Step").fill(str(weights + 1))
    at(stepper, weights)
    stepper.get_by_role("button", name="step over").click()
    at(stepper, after)


def test_a_node_runs_to_its_next_and_previous_step_and_becomes_a_breakpoint(show):
    x = tv.tensor(3.0, requires_grad=True)
    y = x * x + np.tanh(x)
    trace = y.backward()
    stepper = show(trace)
    graph(stepper).get_by_role("button", name="leaf x ()").click()
    touching = [k for k, s in enumerate(trace.steps) if trace.nodes[s.node].name == "x" and s.kind != "pull"]
    for step in touching:
        stepper.get_by_role("button", name="until ▸").click()
        at(stepper, step)
    stepper.get_by_role("button", name="◂ until").click()
    at(stepper, touching[-2])
    graph(stepper).get_by_role("button", name="tanh tanh ()").or_(graph(stepper).get_by_role("button", name="tanh ()")).click(modifiers=["Shift"])
    expect(stepper.locator(".tv-stop")).to_have_count(1)
    stepper.focus()
    stepper.page.keyboard.press("Home")
    at(stepper, 0)
    stepper.page.keyboard.press("Shift+ArrowRight")
    at(stepper, next(k for k, s in enumerate(trace.steps) if s.kind != "pull" and trace.nodes[s.node].op == "tanh"))


def test_a_chain_of_five_thousand_nodes_is_stepped_at_its_place(show):
    stepper = show(chain(5_000), step=6_000)
    expect(graph(stepper).locator("[data-group]").first).to_be_attached()
    assert graph(stepper).locator("[data-group]").count() <= 20
    expect(stepper.get_by_label("Neighbourhood of the step").locator("[data-node][data-active]")).to_be_visible()
    stepper.get_by_role("searchbox", name="Find node").fill("#77")
    stepper.page.keyboard.press("Enter")
    expect(stepper.get_by_label("Neighbourhood of the pinned node").locator("[data-node='77'][data-selected]")).to_be_visible()
    expect(stepper.get_by_label("Neighbourhood of the step").locator("[data-node][data-active]")).to_be_visible()
    for _ in range(4):
        stepper.page.keyboard.press("+")
    expect(graph(stepper).locator("[data-node='77']")).to_be_visible()


MIDDLES = """near => {
  const pane = near.getBoundingClientRect();
  const middle = shape => { const box = shape.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; };
  const inside = ([x, y]) => x > pane.left && x < pane.right && y > pane.top && y < pane.bottom;
  const shapes = [...near.querySelectorAll('.tv-graph:not(.tv-unseen) [data-node] .tv-shape')];
  return shapes.filter(shape => inside(middle(shape)) && shape.parentNode.contains(document.elementFromPoint(...middle(shape)))).map(middle);
}"""


def test_a_node_of_the_neighbourhood_is_clicked_and_the_keys_still_step(show):
    stepper = show(woven(), step=400)
    stepper.page.emulate_media(reduced_motion="reduce")
    for turn in range(3):
        points = stepper.locator(".tv-near").evaluate(MIDDLES)
        stepper.page.mouse.click(*(points[0] if turn % 2 else points[-1]))  # one at the edge: the neighbourhood is drawn anew around it
        expect(stepper.locator(".tv-near [data-selected]").first).to_be_visible()
        before = int(stepper.get_attribute("data-step"))
        for _ in range(20):
            stepper.page.keyboard.press("ArrowRight")
        at(stepper, before + 20)
        stepper.page.keyboard.press("Escape")


PRESS = """async (times) => {
  for (let k = 1; k <= times; k++) {
    document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
    await null;
    if (k % 100 === 0) for (let n = 0; n < 9; n++) await new Promise(r => requestIdleCallback(r, { timeout: 300 })); // in which what is out of sight is put away
  }
}"""


@pytest.mark.slow
def test_a_node_that_has_the_focus_goes_out_of_sight_and_the_keys_still_step(show):
    trace = scoped()
    stepper = show(trace, step=0)
    while (closed := graph(stepper).locator("[data-group^='scope:']")).count():
        closed.first.focus()
        stepper.page.keyboard.press("+")
    node = graph(stepper).locator(f"[data-node='{trace.steps[0].node}']")
    node.focus()
    stepper.page.evaluate(PRESS, len(trace.steps) - 1)
    at(stepper, len(trace.steps) - 1)
    expect(node).to_be_focused()
