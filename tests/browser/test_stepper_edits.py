"""Changing a number in the stepper: the kernel runs the recorded graph again, every pane follows, and one click leads back."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

import tensorviz as tv
from browser.book import Book, wait_until

CELL = """\
import numpy as np, tensorviz as tv
X = tv.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
b = tv.tensor([0.5, 0.25, 1.0], requires_grad=True)
L = ((X + b) ** 2).sum()
trace = L.backward()
"""


def live(book: Book) -> Locator:
    """Run a notebook; its only stepper, joined to the kernel."""
    book.run_all()
    stepper = book.debugger()
    expect(stepper.locator(".tv-link")).to_have_text("live")
    return stepper


def entry(stepper: Locator, name: str) -> Locator:
    """A cell of a grid in the inspector, by what it is of: ``b[1]``."""
    return stepper.get_by_role("gridcell", name=re.compile(f"^{re.escape(name)} is"))


def change(stepper: Locator, name: str, to: str) -> None:
    """As somebody without a mouse does it."""
    press = stepper.page.keyboard.press
    entry(stepper, name).focus()
    press("Enter")
    field = stepper.get_by_role("textbox", name=f"New value of {name}")
    expect(field).to_be_focused()
    stepper.page.keyboard.type(to)
    press("Enter")


def select(stepper: Locator, name: str | re.Pattern[str]) -> None:
    stepper.get_by_label("Computation graph").get_by_role("button", name=name).focus()
    stepper.page.keyboard.press("Enter")


@pytest.mark.parametrize("display", ["trace", "import ipywidgets; ipywidgets.VBox([trace.show()])"], ids=["frame", "widget"])
def test_a_changed_entry_moves_every_pane_and_one_click_leads_back(one_notebook, display):
    book = one_notebook([CELL + display])
    book.run_all()
    plain = display != "trace"
    stepper = book.page.get_by_role("region", name="Backward pass debugger") if plain else book.debugger()
    if not plain:
        expect(stepper.locator(".tv-link")).to_have_text("live")
    stepper.get_by_role("button", name="Last step").click()
    panel = stepper.get_by_role("tabpanel")
    select(stepper, "leaf b (3,)")
    expect(entry(stepper, "∂b[1]")).to_have_accessible_name("∂b[1] is 15")
    change(stepper, "b[1]", "10.25")
    changes = stepper.get_by_role("group", name="Changes")
    expect(changes).to_contain_text("b[1]: 0.25 → 10.25")
    expect(entry(stepper, "b[1]")).to_have_accessible_name("b[1] is 10.25")
    expect(entry(stepper, "b[1]")).to_be_focused()
    expect(entry(stepper, "∂b[1]")).to_have_accessible_name("∂b[1] is 55")
    expect(stepper.get_by_role("tab", name="Check").locator(".tv-count")).to_have_text("✓")
    select(stepper, "sum L ()")
    expect(panel).to_contain_text("470.1")  # 1.5² + 12.25² + 4² + 4.5² + 15.25² + 7² = 470.125
    assert book.python("print(b.data.tolist(), b.grad.tolist())") == "[0.5, 0.25, 1.0] [12.0, 15.0, 22.0]"
    changes.get_by_role("button", name="Back to the recorded run").click()
    expect(changes).to_be_hidden()
    select(stepper, "leaf b (3,)")
    expect(entry(stepper, "∂b[1]")).to_have_accessible_name("∂b[1] is 15")


def test_a_share_set_to_zero_is_missing_downstream(one_notebook):
    stepper = live(one_notebook(["import tensorviz as tv\nx = tv.tensor(3.0, requires_grad=True)\ny = x * x + x\ny.backward()"]))
    stepper.get_by_role("button", name="Last step").click()
    select(stepper, "leaf x ()")
    stepper.get_by_role("tab", name="Shares").click()
    ledger = stepper.get_by_role("table", name="Ledger of ∂x")
    expect(ledger.locator("td.tv-n").last).to_contain_text("7")
    ledger.get_by_role("button", name="set to 0: share from x * x").first.click()
    expect(stepper.get_by_role("group", name="Changes")).to_contain_text("share from x * x to ∂x → 0")
    expect(ledger.locator("td.tv-n").last).to_contain_text("4")
    stepper.get_by_role("tab", name="Check").click()
    expect(stepper.get_by_role("tabpanel")).to_contain_text("Not checked: a share was changed")
    stepper.get_by_role("tab", name="Shares").click()
    ledger.get_by_role("button", name="as sent: share from x * x").click()
    expect(stepper.get_by_role("group", name="Changes")).to_be_hidden()
    expect(ledger.locator("td.tv-n").last).to_contain_text("7")


def test_a_field_in_which_somebody_writes_gives_way_to_a_step_and_outlives_the_kernel(one_notebook):
    book = one_notebook([CELL + "stepper = trace.show()\nstepper"])
    stepper = live(book)
    press = stepper.page.keyboard.press
    field = stepper.get_by_role("textbox", name="New value of b[1]")

    def write() -> None:
        press("End")
        entry(stepper, "b[1]").focus()
        press("Enter")
        expect(field).to_be_focused()
        stepper.page.keyboard.type("5")

    select(stepper, "leaf b (3,)")
    write()
    wait_until(lambda: book.python("print(stepper.step)") == "10", "the kernel's step")
    book.python("stepper.step = 3")
    expect(stepper.get_by_role("status")).to_contain_text("Step 4 of")
    expect(field).to_have_count(0)
    expect(entry(stepper, "b[1]")).to_have_text("0.25")
    expect(stepper.get_by_role("tab", name="Shares").locator(".tv-count")).to_have_attribute("data-count", "0/1")
    stepper.focus()
    write()
    book.restart_kernel()
    expect(stepper.locator(".tv-link")).to_have_text("offline")
    expect(field).to_have_value("5")
    field.press("Enter")
    expect(stepper.get_by_text("No kernel holds this trace: run the cell again")).to_be_visible()


def test_what_cannot_be_changed_says_why_and_without_a_kernel_nothing_can(one_notebook):
    book = one_notebook([CELL + "trace"])
    stepper = live(book)
    stepper.get_by_role("button", name="Last step").click()
    panel = stepper.get_by_role("tabpanel")
    select(stepper, re.compile("^add"))
    entry(stepper, "(X + b)[0, 1]").focus()
    expect(panel).to_contain_text("is the result of add: change the leaves")
    select(stepper, "leaf b (3,)")
    change(stepper, "b[0]", "many")
    expect(stepper.get_by_text("many is no number.")).to_be_visible()
    stepper.get_by_role("textbox", name="New value of b[0]").fill("0.5")  # as it was
    stepper.page.keyboard.press("Enter")
    expect(stepper.get_by_text("many is no number.")).to_have_count(0)
    change(stepper, "b[0]", "nan")
    expect(entry(stepper, "∂b[0]")).to_have_accessible_name("∂b[0] is NaN")
    expect(stepper.get_by_role("tab", name="Findings")).to_have_attribute("data-level", "err")
    book.restart_kernel()
    expect(stepper.locator(".tv-link")).to_have_text("offline")
    entry(stepper, "b[0]").focus()
    stepper.page.keyboard.press("Enter")
    expect(stepper.get_by_text("Numbers can be changed while a kernel is there: run the cell again.")).to_be_visible()
    stepper.get_by_role("button", name="Back to the recorded run").click()
    expect(entry(stepper, "∂b[0]")).to_have_accessible_name("∂b[0] is 12")


def test_where_the_kernel_has_let_go_of_a_trace_the_next_wish_says_so_and_another_stepper_stays_live(one_notebook):
    two = """\
import gc, tensorviz as tv
from tensorviz.widgets import output
def one():
    x = tv.tensor([1.0, 2.0], requires_grad=True, name="x")
    return (x * x).sum().backward()
first, second = one(), one()
display(first, second)"""
    book = one_notebook([two])
    book.run_all()
    let_go, kept = book.debugger(0), book.debugger(1)
    for stepper in (let_go, kept):
        expect(stepper.locator(".tv-link")).to_have_text("live")
        stepper.get_by_role("button", name="Last step").click()
        select(stepper, "leaf x (2,)")
    # Any word to the kernel would be answered with the news; what the pages have to say so far has to have arrived.
    told = "print(*(output._of_trace[trace].state.get('selected') is not None for trace in (first, second)))"
    wait_until(lambda: book.python(told) == "True True", "the selections in the kernel")
    book.python("output.let_go(first); del first; gc.collect()")
    for stepper in (let_go, kept):
        change(stepper, "x[0]", "5")
    expect(let_go.get_by_text("No kernel holds this trace: run the cell again.")).to_be_visible()
    expect(let_go.locator(".tv-link")).to_have_text("offline")
    expect(kept.get_by_role("group", name="Changes")).to_contain_text("x[0]: 1 → 5")
    expect(kept.locator(".tv-link")).to_have_text("live")


def test_on_a_page_of_its_own_entries_can_be_read_and_not_changed(open_page, tmp_path):
    x = tv.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    (x * x).sum().backward().to_html(tmp_path / "page.html")
    stepper = open_page(tmp_path / "page.html").get_by_role("region", name="Backward pass debugger")
    select(stepper, "leaf x (2, 2)")
    entry(stepper, "x[0, 0]").focus()
    stepper.page.keyboard.press("ArrowDown")
    stepper.page.keyboard.press("ArrowRight")
    expect(entry(stepper, "x[1, 1]")).to_be_focused()
    expect(stepper).to_have_attribute("data-step", "0")
    stepper.page.keyboard.press("Enter")
    expect(stepper.get_by_role("textbox", name="New value")).to_have_count(0)
    expect(stepper.get_by_text("Numbers can be changed in a notebook that shows this trace by itself: trace.show().")).to_be_visible()


def test_any_entry_of_any_share_of_a_fork_is_changed_to_any_number(one_notebook):
    code = "import tensorviz as tv\nx = tv.tensor([1.0, 2.0], requires_grad=True)\ny = (x * x).sum() + (x * 5.0).sum()\ny.backward()"
    stepper = live(one_notebook([code]))
    stepper.get_by_role("button", name="Last step").click()
    select(stepper, "leaf x (2,)")
    entry(stepper, "∂x[1]").focus()
    expect(entry(stepper, "∂x[1]")).to_have_accessible_name("∂x[1] is 9")
    expect(stepper.get_by_role("tabpanel")).to_contain_text("∂x is the sum of 3 shares: change one of them in Shares.")
    stepper.get_by_role("tab", name="Shares").click()
    stepper.get_by_role("button", name="change: share from x * 5.0").click()
    name = "share from x * 5.0 to ∂x[1]"
    expect(entry(stepper, "share from x * 5.0 to ∂x[0]")).to_be_focused()
    change(stepper, name, "-3.5")
    changes = stepper.get_by_role("group", name="Changes")
    expect(changes).to_contain_text("share from x * 5.0 to ∂x[1] → −3.5")
    expect(stepper.locator(".tv-hand")).to_contain_text("[1] set to −3.5 by hand; the recorded rule gave 5")
    expect(entry(stepper, name)).to_have_accessible_name(f"{name} is −3.5")
    expect(entry(stepper, name)).to_be_focused()
    stepper.get_by_role("tab", name="Node").click()
    expect(entry(stepper, "∂x[0]")).to_have_accessible_name("∂x[0] is 7.0")
    expect(entry(stepper, "∂x[1]")).to_have_accessible_name("∂x[1] is 0.5")
    changes.get_by_role("button", name="Back to the recorded run").click()
    expect(entry(stepper, "∂x[1]")).to_have_accessible_name("∂x[1] is 9")


def test_a_trace_that_only_its_output_knows_of_is_changed_too(one_notebook):
    code = """\
import gc, tensorviz as tv
def f():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    return (x * x).sum().backward()
display(f())
found = gc.collect()
"""
    stepper = live(one_notebook([code]))
    stepper.get_by_role("button", name="Last step").click()
    select(stepper, "leaf x (2,)")
    change(stepper, "x[1]", "5")
    expect(entry(stepper, "∂x[1]")).to_have_accessible_name("∂x[1] is 10")


def test_two_frames_of_one_record_are_changed_apart(one_notebook):
    book = one_notebook([CELL + "trace.show()", "trace.show()"])
    book.run_all()
    first, second = book.debugger(0), book.debugger(1)
    for stepper in (first, second):
        expect(stepper.locator(".tv-link")).to_have_text("live")
        select(stepper, "leaf b (3,)")
    change(first, "b[2]", "2")
    expect(first.get_by_role("group", name="Changes")).to_contain_text("b[2]: 1 → 2")
    expect(second.get_by_role("group", name="Changes")).to_be_hidden()
    expect(entry(second, "b[2]")).to_have_accessible_name("b[2] is 1.00")


TALL = """\
import numpy as np, tensorviz as tv
X = tv.tensor(np.arange(60.0).reshape(20, 3), requires_grad=True)
(X * X).sum().backward()
"""


def test_an_entry_of_a_part_is_looked_at_and_changed_like_any_other(one_notebook):
    stepper = live(one_notebook([TALL]))
    stepper.get_by_role("button", name="Last step").click()
    select(stepper, "leaf X (20, 3)")
    field = stepper.get_by_role("textbox", name="Part of X (20, 3)")
    expect(field).to_have_value("[:6, :]")
    expect(entry(stepper, "X[5, 2]")).to_have_accessible_name("X[5, 2] is 17")
    field.fill("[::-1, 1]")
    field.press("Enter")
    change(stepper, "X[18, 1]", "-5")
    expect(stepper.get_by_role("group", name="Changes")).to_contain_text("X[18, 1]: 55 → −5")
    expect(entry(stepper, "X[18, 1]")).to_have_accessible_name("X[18, 1] is −5")
    gradient = stepper.get_by_role("textbox", name="Part of ∂X (20, 3)")
    gradient.fill("[18]")
    gradient.press("Enter")
    expect(entry(stepper, "∂X[18, 1]")).to_have_accessible_name("∂X[18, 1] is −10")


def test_what_has_travelled_is_read_part_by_part_without_a_kernel(open_page, tmp_path):
    X = tv.tensor([[float(3 * i + j) for j in range(3)] for i in range(20)], requires_grad=True)
    (X * X).sum().backward().to_html(tmp_path / "page.html")
    stepper = open_page(tmp_path / "page.html").get_by_role("region", name="Backward pass debugger")
    select(stepper, "leaf X (20, 3)")
    entry(stepper, "X[1, 1]").hover()
    expect(stepper.get_by_role("tabpanel")).to_contain_text("goes into")
    field = stepper.get_by_role("textbox", name="Part of X (20, 3)")
    field.fill("[19, 1:]")
    field.press("Enter")
    expect(entry(stepper, "X[19, 2]")).to_have_accessible_name("X[19, 2] is 59")
    field.fill("[20]")
    field.press("Enter")
    expect(stepper.get_by_text("[20] is no index of shape (20, 3)")).to_be_visible()


def test_parts_of_a_large_array_come_from_the_kernel(one_notebook):
    code = "import numpy as np, tensorviz as tv\nx = tv.tensor(np.arange(12000.0).reshape(100, 120), requires_grad=True)\n(x * x).sum().backward()"
    book = one_notebook([code])
    stepper = live(book)
    select(stepper, "leaf x (100, 120)")
    field = stepper.get_by_role("textbox", name="Part of x (100, 120)")
    expect(field).to_have_value("[:6, :8]")
    field.press("Enter")
    expect(stepper.get_by_role("grid", name="x[:6, :8] (6, 8)")).to_contain_text("607")
    field.fill("[99, -3:]")
    field.press("Enter")
    expect(stepper.get_by_role("grid", name="x[99, -3:] (3,)")).to_contain_text("11999")
    field.fill("[100]")
    field.press("Enter")
    expect(stepper.get_by_text("'[100]' is no index of shape (100, 120)")).to_be_visible()
    field.fill("[2:4, ::60]")
    field.press("Enter")
    expect(entry(stepper, "x[3, 60]")).to_have_accessible_name("x[3, 60] is 420")
    stepper.get_by_role("button", name="Last step").click()
    gradient = stepper.get_by_role("textbox", name="Part of ∂x (100, 120)")
    gradient.fill("[3, 60:62]")
    gradient.press("Enter")
    expect(entry(stepper, "∂x[3, 60]")).to_have_accessible_name("∂x[3, 60] is 840")
    change(stepper, "x[3, 60]", "-1.5")
    changes = stepper.get_by_role("group", name="Changes")
    expect(changes).to_contain_text("x[3, 60]: 420 → −1.5")
    expect(entry(stepper, "x[3, 60]")).to_have_accessible_name("x[3, 60] is −1.5")
    expect(entry(stepper, "x[3, 60]")).to_be_focused()
    expect(entry(stepper, "∂x[3, 60]")).to_have_accessible_name("∂x[3, 60] is −3")
    changes.get_by_role("button", name="Back to the recorded run").click()
    expect(entry(stepper, "x[3, 60]")).to_have_accessible_name("x[3, 60] is 420")
    expect(entry(stepper, "∂x[3, 60]")).to_have_accessible_name("∂x[3, 60] is 840")
    field.fill("[99, -3:]")
    field.press("Enter")
    book.restart_kernel()
    expect(stepper.locator(".tv-link")).to_have_text("offline")
    stepper.get_by_role("button", name="Show", exact=True).first.click()
    expect(stepper.get_by_text("No kernel holds this trace: run the cell again")).to_be_visible()
