"""The quiz and the bug zoo in a real JupyterLab: asked, answered by the keyboard, revealed; the wrong run beside the right one."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

SETUP = """\
import tensorviz as tv
X = tv.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
b = tv.tensor([0.1, 0.2, 0.3], requires_grad=True)
trace = ((X + b) ** 2).sum().backward()
"""


@pytest.fixture
def book(open_notebook):
    book = open_notebook([f"{SETUP}\nquiz = trace.quiz(2, kinds=['axes', 'shares'])\nquiz", "trace.with_bug('wrong-axes')"], app="lab")
    book.run_all()
    return book


def test_a_quiz_is_answered_by_the_keyboard_and_opens_the_stepper_and_the_zoo_shows_both_runs(book):
    quiz = book.page.locator(".tv-quiz")
    expect(quiz.get_by_role("heading", name="Question 1 of 2")).to_be_visible()
    field = quiz.get_by_label("Your answer")
    field.fill("77")
    field.press("Enter")
    status = quiz.get_by_role("status").first  # the second is the stepper's
    expect(status).to_contain_text("Not yet.")
    assert book.python("print(quiz[0].attempts[-1][1].ok, quiz[0].kind)") in ("False axes", "False shares")
    solution = book.python("print(quiz[0].solution)")
    field.fill(solution)
    field.press("Enter")
    expect(status).to_contain_text("Right.")
    expect(status).to_contain_text("1 of 2 right")
    stepper = quiz.get_by_role("region", name="Backward pass debugger")
    expect(stepper).to_have_attribute("data-step", book.python("print(quiz[0].step)"))
    book.page.keyboard.press("Tab")
    focused = []
    for _ in range(6):
        focused.append(book.page.evaluate("document.activeElement.textContent.trim()"))
        book.page.keyboard.press("Tab")
    assert [name for name in focused if name in ("Answer", "Reveal", "Next question")] == ["Answer", "Reveal", "Next question"]
    quiz.get_by_role("button", name="Next question").press("Enter")
    expect(quiz.get_by_role("heading", name="Question 2 of 2")).to_be_visible()
    expect(stepper).to_have_count(0)
    quiz.get_by_role("button", name="Reveal").press("Enter")
    expect(status).to_contain_text("The answer is")
    expect(stepper).to_be_visible()
    assert stepper.bounding_box()["width"] > 0.9 * quiz.bounding_box()["width"]
    assert book.python("print(quiz.score, quiz.done)") == "1 True"

    # the second cell
    frame = book.page.frame_locator("iframe[title='Two passes, step by step']")
    wrong = frame.get_by_role("region", name="with wrong-axes").get_by_role("region", name="Backward pass debugger")
    expect(wrong.get_by_role("status")).to_contain_text("The wrong engine sums (2, 3) over axes 0, 1")
    right = frame.get_by_role("region", name="the right engine").get_by_role("region", name="Backward pass debugger")
    expect(right.get_by_role("status")).to_contain_text("summed over axis 0")
