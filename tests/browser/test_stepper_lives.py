"""One display, three lives: live while the kernel lives, stepping on when it is gone, stepping after save and reopen without one."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from browser.book import wait_until

BROADCAST = """\
import tensorviz as tv
X = tv.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
b = tv.tensor([0.1, 0.2, 0.3], requires_grad=True)
L = ((X + b) ** 2).sum()
trace = L.backward()
"""
APPS = pytest.mark.parametrize("app", ["lab", pytest.param("notebook", marks=pytest.mark.slow)])


def at(stepper: Locator, step: int) -> None:
    """The stepper stands at a position of ``trace.steps``, and says so."""
    expect(stepper).to_have_attribute("data-step", str(step))
    expect(stepper.get_by_role("status")).to_contain_text(f"Step {step + 1} of")


@APPS
def test_live_both_ways_then_on_without_a_kernel_then_on_after_reopening(open_notebook, app):
    book = open_notebook([BROADCAST + "stepper = trace.show()\nstepper"], app=app)
    book.run_all()
    stepper = book.debugger()
    at(stepper, 0)
    expect(stepper.locator(".tv-link")).to_have_text("live")
    stepper.get_by_role("slider", name="Step").fill("4")
    at(stepper, 3)
    wait_until(lambda: book.python("print(stepper.step)") == "3", "the kernel's step")
    book.python("stepper.step = 7")
    at(stepper, 7)

    book.restart_kernel()
    expect(stepper.locator(".tv-link")).to_have_text("offline")
    stepper.get_by_role("button", name="Next step").click()
    at(stepper, 8)
    book.run_all()
    stepper = book.debugger()
    at(stepper, 0)
    expect(stepper.locator(".tv-link")).to_have_text("live")
    book.save()
    book.shut_kernel_down()
    stepper.get_by_role("button", name="Last step").click()
    at(stepper, 10)


DRAWS = """\
import time
import matplotlib.pyplot as plt
figure, axes = plt.subplots(figsize=(2, 1))
axes.plot([1.0, 2.0])
print("begun", flush=True)
while stepper.step < 2:
    time.sleep(0.01)
time.sleep(0.3)
print("figures:", plt.get_fignums())
axes.set_title("whole")
"""


def test_what_a_page_says_while_a_cell_draws_leaves_the_figure_to_the_cell(one_notebook):
    book = one_notebook([BROADCAST + "stepper = trace.show()\nstepper", DRAWS])
    book.run(0)
    stepper = book.debugger()
    at(stepper, 0)
    book.page.evaluate(
        "() => { const a = window.jupyterapp; a.shell.currentWidget.content.activeCellIndex = 1; a.commands.execute('notebook:run-cell'); }"
    )
    expect(book.page.get_by_text("begun", exact=True)).to_be_visible()
    for step in (1, 2):
        stepper.get_by_role("button", name="Next step").click()
        at(stepper, step)
    expect(book.output(1).first).to_contain_text("figures: [1]")
    expect(book.output(1).locator("img")).to_have_count(1)


def test_a_trace_at_the_end_of_a_cell_opens_the_stepper_and_a_crash_does_not_stop_it(one_notebook):
    book = one_notebook([BROADCAST + "trace"])
    book.run_all()
    stepper = book.debugger()
    at(stepper, 0)
    book.crash_kernel()
    stepper.get_by_role("button", name="Next step").click()
    at(stepper, 1)


@pytest.mark.slow
def test_a_reopened_notebook_steps_without_a_kernel_once_trusted_and_lists_the_steps_before(new_server, one_notebook, open_notebook):
    first = one_notebook([BROADCAST + "trace.show(step=2)"])
    first.run_all()
    at(first.debugger(), 2)
    first.save()
    elsewhere = new_server()
    for trusted in (False, True):
        name = f"copy-{trusted}.ipynb"
        path = elsewhere.root / name
        path.write_bytes(first.path.read_bytes())
        if trusted:
            elsewhere.trust(name)
        book = open_notebook(path, server=elsewhere)
        if trusted:
            stepper = book.debugger()
            at(stepper, 2)
            stepper.get_by_role("button", name="Next step").click()
            at(stepper, 3)
        else:
            steps = book.output(0).locator("ol > li")
            expect(steps).to_have_count(11)
            assert book.page.locator("iframe.tensorviz-frame").count() == 0


def test_two_steppers_on_one_page_do_not_hear_each_other(one_notebook):
    book = one_notebook([BROADCAST + "trace.show()", "y = X * X\nother = y.backward(X.data)\nother.show()"])
    book.run_all()
    one, two = book.debugger(0), book.debugger(1)
    two.get_by_role("button", name="Next step").click()
    at(two, 1)
    at(one, 0)


def test_a_stepper_inside_a_box_is_an_ordinary_widget_and_leaks_no_shortcut(one_notebook):
    book = one_notebook([BROADCAST + "import ipywidgets\nstepper = trace.show()\nipywidgets.VBox([ipywidgets.Label('above'), stepper])"])
    book.run_all()
    stepper = book.page.get_by_role("region", name="Backward pass debugger")
    at(stepper, 0)
    before = book.cells()
    stepper.get_by_role("button", name="Next step").click()
    at(stepper, 1)
    # counted after every key: an insertion and a deletion would cancel out
    for focused in (stepper.get_by_role("button", name="Next step"), stepper.get_by_role("slider", name="Step"), stepper):
        focused.focus()
        for key in ("b", "a", "d", "d", "x"):
            book.page.keyboard.press(key)
            assert book.cells() == before, (focused, key)
    stepper.press("ArrowRight")
    at(stepper, 2)
    wait_until(lambda: book.python("print(stepper.step)") == "2", "the kernel's step")
    book.python("stepper.step = 5")
    at(stepper, 5)


@pytest.mark.slow
def test_the_colours_are_those_of_the_notebook_in_frame_and_widget_and_a_forced_theme_stays(open_notebook):
    code = "import tensorviz as tv\nx = tv.tensor([1.0, 2.0], requires_grad=True)\ntrace = (x * x).sum().backward()\n"
    book = open_notebook([code + "trace", "import ipywidgets\nipywidgets.VBox([trace.show()])", "trace.show(theme='light')"], height=2600)
    book.run_all()
    name = "Backward pass debugger"
    frame, widget, forced = book.debugger(cell=0), book.output(1).get_by_role("region", name=name), book.debugger(cell=2)
    for stepper in (frame, widget, forced):
        expect(stepper).to_have_attribute("data-scheme", "light")
    book.command("apputils:change-theme", theme="JupyterLab Dark")
    for stepper in (frame, widget):
        expect(stepper).to_have_attribute("data-scheme", "dark")
        expect(stepper).to_have_css("background-color", "rgb(33, 33, 33)")  # the notebook's own
    expect(forced).to_have_attribute("data-scheme", "light")
    expect(forced).to_have_css("background-color", "rgb(255, 255, 255)")
