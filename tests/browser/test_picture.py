"""What is drawn is seen: no head under a halo, no badge on another wire, no number cut off without a sign that there is more."""

from __future__ import annotations

import pytest

from browser import scenes
from browser.steppers import at
from views import gallery

COVERED = """svg => [...svg.querySelectorAll(".tv-edge")].filter(edge => {
  const head = edge.querySelector(".tv-backhead");
  if (!head?.checkVisibility() || edge.dataset.state === "idle") return false;
  const r = head.getBoundingClientRect(), found = document.elementFromPoint(r.x + r.width * 0.6, r.y + r.height / 2);
  return found && svg.contains(found) && !found.matches('.tv-backhead');
}).map(edge => edge.dataset.edge)"""
RHYTHM = """svg => [...svg.querySelectorAll(".tv-edge .tv-back")].filter(e => e.checkVisibility()).map(e => {
  const { strokeDasharray, strokeDashoffset } = getComputedStyle(e); return `${strokeDasharray} / ${strokeDashoffset}`; })"""
ON_WIRES = """svg => [...svg.querySelectorAll("[data-on]")].flatMap(badge => {
  const box = badge.querySelector("rect").getBBox();
  return [...svg.querySelectorAll("[data-edge]")].filter(edge => edge.dataset.edge !== badge.dataset.on).flatMap(edge =>
    [...edge.querySelectorAll("path[fill=none]")].filter(path => {
      for (let s = 0; s < path.getTotalLength(); s += 2) {
        const p = path.getPointAtLength(s);
        if (p.x > box.x - 8 && p.x < box.x + box.width + 8 && p.y > box.y - 2 && p.y < box.y + box.height + 2) return true;
      }
      return false;
    }).map(() => `${badge.dataset.on} on ${edge.dataset.edge}`));
})"""


@pytest.mark.parametrize("make", [gallery.broadcast, gallery.staged, gallery.tie, gallery.born])
def test_the_head_of_every_gradient_is_seen_at_every_step(show, make):
    trace = make()
    stepper = show(trace)
    picture = stepper.get_by_label("Computation graph")
    for k in range(len(trace.steps)):
        at(stepper, k)
        assert picture.evaluate(COVERED) == [], f"step {k}"
        stepper.page.keyboard.press("ArrowRight")


def test_gradients_that_share_a_stem_are_dashed_alike(show):
    trace = gallery.staged()
    stepper = show(trace, step=scenes.at("accumulate", 2, "x")(trace))
    stepper.page.evaluate("for (const a of document.getAnimations()) a.finish()")
    assert len(set(stepper.get_by_label("Computation graph").evaluate(RHYTHM))) == 1


@pytest.mark.parametrize("direction", ["LR", "TB"])
@pytest.mark.parametrize("make", [gallery.broadcast, gallery.tie, gallery.cut])
def test_no_badge_lies_on_another_wire(open_page, tmp_path, make, direction):
    path = tmp_path / "picture.html"
    path.write_text(f"<!doctype html><meta charset='utf-8'><title>picture</title>{make().to_svg(direction=direction)}", "utf-8")
    assert open_page(path).locator("svg").evaluate(ON_WIRES) == []
