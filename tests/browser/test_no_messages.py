"""Stepping asks the kernel nothing: it goes on while the kernel is busy, and the kernel only hears where one has come to rest."""

from __future__ import annotations

from playwright.sync_api import expect

from browser.book import wait_until

CODE = """\
import numpy as np
import tensorviz as tv
h = tv.tensor(0.5, requires_grad=True)
for _ in range(40):
    h = np.tanh(h) * 1.01
stepper = h.backward().show()
stepper
"""

COUNT = """() => {
  globalThis.sent = 0;
  const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
  kernel.anyMessage.connect((_, { direction }) => { if (direction === 'send') globalThis.sent++; });
}"""

BUSY = """() => {
  const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
  globalThis.held = kernel.requestExecute({ code: "import time\\nwhile True: time.sleep(0.1)" });
  globalThis.ended = false;
  globalThis.held.done.then(() => (globalThis.ended = true));
}"""

WALK = """async (root) => {
  const slider = root.querySelector('.tv-slider');
  for (let k = 2; k <= 61; k++) {
    slider.value = k;
    slider.dispatchEvent(new Event('input'));
    await new Promise(requestAnimationFrame);
    if (root.dataset.step !== String(k - 1)) await new Promise(requestAnimationFrame);
    if (root.dataset.step !== String(k - 1)) return k;
  }
  return null;
}"""


def test_sixty_steps_are_no_sixty_messages_and_need_no_answer(open_notebook):
    book = open_notebook([CODE])
    book.run_all()
    stepper = book.debugger()
    expect(stepper).to_have_attribute("data-step", "0")
    expect(book.frame().locator(".tv-link")).to_have_text("live")
    book.page.evaluate(COUNT)
    assert stepper.evaluate(WALK) is None
    wait_until(lambda: book.python("print(stepper.step)") == "60", "the kernel to hear of the last step")
    # Asking for the step above is a message itself, and so is what the front end sends around it.
    asked = book.page.evaluate("globalThis.sent")
    assert asked < 30, f"{asked} messages for 60 steps"
    book.page.evaluate(BUSY)
    stepper.get_by_role("button", name="First step").click()
    expect(stepper).to_have_attribute("data-step", "0")
    before = book.page.evaluate("globalThis.sent")
    assert stepper.evaluate(WALK) is None
    told = book.page.evaluate("globalThis.sent") - before
    assert told < 15, f"{told} messages for 60 steps, with nobody there who could answer"
    assert not book.page.evaluate("globalThis.ended"), "the kernel was to be busy all the while"
    book.shut_kernel_down()
