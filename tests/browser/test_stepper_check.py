"""The check beside an open stepper: verdicts arrive while other cells run, can be stopped, and are in what is exported."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import expect

import tensorviz as tv
from browser.book import wait_until
from tensorviz.checks.alongside import Alongside

DEEP = """\
import threading
import numpy as np
import tensorviz as tv
rng = np.random.default_rng(0)
x = tv.tensor(rng.normal(size=(8, 12)), requires_grad=True)
gate = threading.Event()
def held(a):
    if threading.current_thread().name == "tensorviz check":
        gate.wait()
    return a * a
h = tv.custom_op("held", held, lambda g, a: (2 * g * a,))(x)
for _ in range(60):
    W = tv.tensor(rng.normal(0, 0.29, size=(12, 12)), requires_grad=True)
    h = np.tanh(h @ W) + h
loss = (h * h).mean()
trace = loss.backward()
stepper = trace.show()
stepper"""

WRONG = """\
import numpy as np
import tensorviz as tv
wrong = tv.custom_op("wrong_square", lambda a: a * a, lambda g, a: (g * a,))
x = tv.tensor([0.5, -1.0, 2.0], requires_grad=True)
h = x
for k in range(20):
    h = np.sin(h) + 0.1 * (wrong(h) if k == 12 else h)
trace = h.sum().backward()
"""


def test_verdicts_arrive_while_another_cell_runs_can_be_stopped_and_are_exported(one_notebook):
    book = one_notebook([DEEP, "print('another cell', sum(range(100)))"])
    book.run_all()
    stepper = book.debugger()
    group = stepper.get_by_role("group", name="Check")
    progress = group.get_by_role("progressbar", name="Check progress")
    expect(progress).to_be_visible()
    # The other cell has run, and the kernel answers, while the check goes on.
    expect(stepper.locator(".tv-verdict[data-sign=ok]").first).to_be_attached()
    expect(book.page.get_by_text("another cell 4950")).to_be_attached()
    assert book.python("print(trace.report is not None and 'still running' in trace.report.notes[0])") == "True"
    stepper.get_by_role("button", name="Next step").click()
    expect(stepper).to_have_attribute("data-step", "1")

    # At once, though the op that is being run does not end.
    group.get_by_role("button", name="Cancel the check").click()
    expect(progress).to_be_hidden()
    book.python("gate.set()")
    wait_until(lambda: "running" not in book.python("print(trace.report.notes[0])"), "the end of the check")
    said = book.python("print(trace.report.notes[0])")
    assert re.fullmatch(r"\d+ of \d+ nodes checked so far: the check was cancelled\.", said)
    done, total = (int(n) for n in re.findall(r"\d+", said)[:2])
    assert 0 < done < total

    # What is known goes into an export, with what is not.
    assert book.python("page = trace.to_html(); from tensorviz.widgets.payload import payload; print(len(payload(trace)) > 0)") == "True"
    book.python("nodes = {row.node for row in trace.report.rows}")
    assert int(book.python("print(len(nodes))")) >= done

    group.get_by_role("button", name="Check the gradients").click()
    wait_until(lambda: book.python("print(trace.report.notes)") == "()", "the whole check", 90)
    expect(progress).to_be_hidden()
    expect(group.get_by_role("button", name="Check the gradients")).to_have_text("✓ Check")
    assert book.python("print(trace.report.kind, trace.report.blame)") == "ok None"
    stepper.get_by_role("button", name="Next step").click()
    stepper.get_by_role("tab", name="Check").click()
    expect(stepper.get_by_role("tabpanel")).to_contain_text("global: against differences of the whole pass")


def test_a_cell_that_runs_again_ends_the_check_of_what_it_showed_and_a_page_that_opens_again_takes_its_own_up(one_notebook):
    book = one_notebook([DEEP, "import time\nwhile not gate.is_set():\n    time.sleep(0.01)"])
    going = "from tensorviz.widgets.checking import feed; print(feed({})._running.going)"
    book.run(0)
    progress = book.debugger().get_by_role("progressbar", name="Check progress")
    expect(progress).to_be_visible()
    book.python("old = trace")
    book.run(0)
    wait_until(lambda: book.python(going.format("old")) == "False", "the end of the old check")
    expect(progress).to_be_visible()
    assert book.python(going.format("trace")) == "True"

    book.save()
    book.reload()
    progress = book.debugger().get_by_role("progressbar", name="Check progress")
    expect(progress).to_be_visible()
    expect(book.debugger().locator(".tv-verdict[data-sign=ok]").first).to_be_attached()
    # To stop is heard while a cell runs.
    book.page.evaluate(
        "() => { const a = window.jupyterapp; a.shell.currentWidget.content.activeCellIndex = 1; a.commands.execute('notebook:run-cell'); }"
    )
    expect(book.page.locator(".jp-InputPrompt").nth(1)).to_have_text("[*]:")
    book.debugger().get_by_role("button", name="Cancel the check").click()
    expect(book.debugger().get_by_role("progressbar", name="Check progress")).to_be_hidden()
    expect(book.page.locator(".jp-InputPrompt").nth(1)).to_have_text("[*]:")
    book.command("notebook:interrupt-kernel")
    book.python("gate.set()")


@pytest.mark.slow
def test_a_kernel_that_is_restarted_in_the_middle_of_a_check_leaves_a_stepper_that_steps_and_says_so(one_notebook):
    book = one_notebook([DEEP])
    book.run_all()
    stepper = book.debugger()
    progress = stepper.get_by_role("group", name="Check").get_by_role("progressbar", name="Check progress")
    expect(progress).to_be_visible()
    expect(stepper.locator(".tv-verdict[data-sign=ok]").first).to_be_attached()
    book.restart_kernel()
    expect(progress).to_be_hidden()
    stepper.get_by_role("button", name="Next step").click()
    expect(stepper).to_have_attribute("data-step", "1")
    expect(stepper.locator(".tv-verdict[data-sign=ok]").first).to_be_attached()
    book.run_all()
    expect(book.debugger().locator(".tv-verdict[data-sign=ok]").first).to_be_attached()


def test_an_export_of_a_check_that_was_cancelled_shows_what_it_had_come_to(open_page, tmp_path):
    rng = np.random.default_rng(0)
    h = x = tv.tensor(rng.normal(size=(4, 6)), requires_grad=True, name="x")
    for _ in range(8):
        h = np.tanh(h @ tv.tensor(rng.normal(0, 0.4, size=(6, 6)), requires_grad=True)) + h
    trace = (h * h).mean().backward()

    class Impatient(Alongside):
        def _advance(self):
            self.cancel()
            return super()._advance()

    checking = Impatient(trace, lambda update: None)
    checking._left = checking._run()
    checking.state = "running"
    assert checking.wait() and checking.state == "cancelled"
    (said,) = trace.report.notes
    (tmp_path / "page.html").write_text(trace.to_html(), "utf-8")

    stepper = open_page(tmp_path / "page.html").get_by_role("region", name="Backward pass debugger")
    expect(stepper.locator(".tv-verdict[data-sign=ok]")).to_have_count(len({row.node for row in trace.report.rows}))
    stepper.get_by_role("button", name="Last step").click()
    stepper.get_by_role("tab", name="Check").click()
    expect(stepper.get_by_role("tabpanel")).to_contain_text(said)
    assert x.grad is not None


def test_the_stepper_goes_to_the_blamed_node_and_comes_back_to_it(one_notebook):
    book = one_notebook([WRONG + "trace", "import ipywidgets\nipywidgets.VBox([trace.show()])"])
    book.run(0)
    goes_to_the_blamed_node(book.debugger(), book)
    book.run(1)
    plain = book.output(1).get_by_role("region", name="Backward pass debugger")
    goes_to_the_blamed_node(plain, book)


def goes_to_the_blamed_node(stepper, book):
    expect(stepper.get_by_role("status")).to_contain_text("wrong_square")
    blamed, here = book.python("print(trace.report.blame)"), stepper.get_attribute("data-step")
    assert here not in (None, "0")
    expect(stepper.locator(f'[data-node="{blamed}"][data-active]')).to_be_attached()
    expect(stepper.get_by_role("group", name="Pinned")).to_be_hidden()
    expect(stepper.get_by_role("tabpanel").locator(".tv-heading")).to_contain_text("its own rule: mismatch")
    stepper.get_by_role("button", name="First step").click()
    expect(stepper).to_have_attribute("data-step", "0")
    stepper.get_by_role("button", name="Go to the blamed node").click()
    expect(stepper).to_have_attribute("data-step", here)
    expect(stepper.locator(f'[data-node="{blamed}"] .tv-verdict[data-sign=bad]')).to_be_attached()
