"""What a person meets who runs the README's main command: the tour, in a real JupyterLab, read by its accessible names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

TOUR = Path(__file__).parents[2] / "notebooks" / "tour.ipynb"


class Debugger:
    """A stepper as its user knows it: by the words on it."""

    def __init__(self, region: Locator) -> None:
        self.region = region
        self.status = region.get_by_role("status")
        self.slider = region.get_by_role("slider", name="Step")

    def press(self, name: str) -> None:
        self.region.get_by_role("button", name=name, exact=True).click()

    def open(self, tab: str) -> Locator:
        self.region.get_by_role("tab", name=tab).click()
        return self.region.get_by_role("tabpanel")

    @property
    def length(self) -> int:
        return int(self.slider.get_attribute("max") or 0)

    def is_at(self, step: int) -> None:
        expect(self.status).to_contain_text(re.compile(rf"^Step {step} of {self.length}\b"))

    def go(self, step: int) -> None:
        self.slider.fill(str(step))
        self.is_at(step)

    def find(self, sentence: str | re.Pattern[str]) -> int:
        """Step on from the first step until the sentence is read; its number."""
        self.go(1)
        read = []
        for step in range(1, self.length + 1):
            self.is_at(step)
            read.append(" ".join(self.status.inner_text().split()))
            if re.search(sentence, read[-1]):
                return step
            if step < self.length:
                self.press("Next step")
        raise AssertionError(f"no step says {sentence!r}; they say\n" + "\n".join(read))


@pytest.fixture(scope="module")
def tour(shared_notebook):
    book = shared_notebook(TOUR)
    book.run_all()
    return book


def debugger(book, source: str) -> Debugger:
    """The stepper under the cell that holds ``source``."""
    region = book.debugger(cell=book.find_cell(source))
    region.evaluate(
        "e => e.scrollIntoView({ block: 'center' })"
    )  # at once: a frame out of sight draws nothing, so that nothing in it is ever seen to be at rest
    expect(region).to_be_visible()
    stepper = Debugger(region)
    # The front end may still settle: the granularity of single events is what the steps of the record are.
    region.get_by_role("button", name="micro", exact=True).click()
    return stepper


def test_the_tour_steps_with_buttons_slider_and_keys(tour):
    stepper = debugger(tour, "loss = ((X + b) ** 2).sum()")
    last = stepper.length
    assert last == 11, "seed, three pulls, four accumulates, one unbroadcast, two gradients written"

    stepper.is_at(1)
    stepper.press("Next step")
    stepper.is_at(2)
    stepper.press("Previous step")
    stepper.is_at(1)
    stepper.press("Last step")
    stepper.is_at(last)
    stepper.press("First step")
    stepper.is_at(1)

    stepper.go(4)
    stepper.slider.press("ArrowRight")
    stepper.is_at(5)
    stepper.region.press("ArrowLeft")
    stepper.is_at(4)
    stepper.region.press("Home")
    stepper.is_at(1)
    stepper.region.press("End")
    stepper.is_at(last)
    cells = tour.cells()
    for key in ("a", "b", "d", "d", "x"):
        stepper.region.press(key)
        # after every key: an insertion and a deletion would cancel out
        assert tour.cells() == cells, "no shortcut of the notebook fires while the debugger has the focus"


def test_at_b_the_sentence_the_picture_and_the_inspector_say_that_axis_0_is_summed(tour):
    stepper = debugger(tour, "loss = ((X + b) ** 2).sum()")
    stepper.find(r"\bb\b.*summed over axis 0")
    expect(
        stepper.region.get_by_role("img", name=re.compile(r"local share \(2, 3\), summed over axis 0, becomes the share \(3,\) for b"))
    ).to_be_visible()
    row = stepper.region.get_by_role("table", name="Ledger of ∂b").get_by_role("row").nth(1)
    for number in ("10.4", "14.8", "19.2"):
        expect(row).to_contain_text(number)


def test_at_the_fork_two_shares_and_their_running_sum_are_read(tour):
    stepper = debugger(tour, "y = h + h**2")
    ledger = stepper.region.get_by_role("table", name="Ledger of ∂h")

    stepper.find(r"h is used twice.*the first")
    first, second = (ledger.get_by_role("row", name=re.compile(rf"^{n} ")) for n in (1, 2))
    expect(ledger.get_by_role("row", name=re.compile(r"^\d "))).to_have_count(2)
    assert [c.inner_text().strip() for c in first.get_by_role("cell").all()][3:5] == ["1", "1"]
    expect(second).to_contain_text("to come")

    stepper.find(r"h is used twice.*the second")
    assert [c.inner_text().strip() for c in second.get_by_role("cell").all()][3:5] == ["12", "13"]
    expect(stepper.region.get_by_text("all shares are in")).to_be_visible()


def test_in_the_max_example_the_routed_elements_and_the_tie_are_read(tour):
    stepper = debugger(tour, "best = scores.max(axis=1)")
    stepper.press("Last step")
    node = stepper.region.get_by_role("button", name=re.compile(r"\bscores\b.*\(3, 3\)"))
    node.click()
    stepper.find(r"max routes: 4 of 9 elements of scores.*2 tie")
    mask = stepper.region.get_by_role("table", name="routing mask")
    cells = [[c.inner_text().split() for c in row.get_by_role("cell").all()] for row in mask.get_by_role("row").all()]
    assert [[words[1] for words in row] for row in cells] == [["½", "0", "½"], ["0", "1", "0"], ["0", "1", "0"]]
    sent = [[float(words[-1].removeprefix("∂")) for words in row] for row in cells]
    assert sent == [[0.5, 0, 0.5], [0, 1, 0], [0, 0, 0]], "the last row's winner is blocked by relu"


def test_the_verdict_of_finite_differences_is_seen(tour):
    stepper = debugger(tour, "loss = ((X + b) ** 2).sum()")
    stepper.find(r"\bb\b.*summed over axis 0")
    panel = stepper.open("Check")
    expect(panel).to_contain_text("ok")
    expect(panel).not_to_contain_text("mismatch")


def test_when_the_kernel_is_killed_the_debugger_steps_on(tour):
    stepper = debugger(tour, "loss = ((X + b) ** 2).sum()")
    stepper.go(2)
    tour.crash_kernel()
    stepper.go(3)
    stepper.press("Next step")
    stepper.is_at(4)
    tour.shut_kernel_down()
    stepper.press("Next step")
    stepper.is_at(5)
    stepper.go(2)
