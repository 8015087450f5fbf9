"""Quizzes: questions, answers in all their forms, hints by kind of mistake, the score, and the widget."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from teaching.lesson_graphs import LESSONS, bias, broadcasting, forks, route, second_pass_without_zero_grad, square_product, ties, ties_by_row
from tensorviz.errors import OptionError, RecordError
from tensorviz.teaching.offers import KINDS
from tensorviz.teaching.view import QuizView


def only(trace, kind, which=0, **options):
    """The one question of a kind, or the first of them."""
    return trace.quiz(20, kinds=kind, **options)[which]


@pytest.mark.parametrize("lesson", LESSONS)
@pytest.mark.parametrize("tolerance", [1e-3, "sign"])
def test_every_question_accepts_its_own_solution(lesson, tolerance):
    asked = LESSONS[lesson]().quiz(30, tolerance=tolerance)
    for question in asked:
        assert question.answer(question.solution), question
        assert question.text.endswith(("?", "].", "none.", "1.")), question.text
    assert asked.score == len(asked) and asked.done


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_asked_about_some_lesson_and_refuses_a_wrong_answer(kind):
    trace = {"axes": broadcasting, "shape": broadcasting, "value": bias, "route": ties, "shares": forks, "grad": forks}[kind]()
    question = only(trace, kind)
    wrong = {"axes": (3,), "shape": (7,), "value": [9.0] * 3, "route": 0, "shares": 17, "grad": [9.0] * 3}[kind]
    said = question.answer(wrong)
    assert not said and said.words == "Not yet." and not question.correct


def test_the_same_seed_asks_the_same_and_another_one_something_else():
    def texts(seed):
        return [q.text for q in bias().quiz(4, seed=seed)]

    assert texts(1) == texts(1) and any(texts(1) != texts(s) for s in range(2, 6))


def test_questions_come_in_the_order_of_the_steps_and_in_all_kinds():
    asked = bias().quiz(5)
    assert [q.step for q in asked] == sorted(q.step for q in asked)
    assert {q.kind for q in asked} == {"axes", "shape", "value", "shares", "grad"}


@pytest.mark.parametrize(
    ("answer", "ok", "mistake"),
    [
        ((0, 2), True, ""),
        ([2, 0], True, ""),
        ({-4, -2}, True, ""),
        ((1,), False, "kept-axes"),
        (1, False, "kept-axes"),
        ((0,), False, "missing-axis"),
        ((), False, "missing-axis"),
        ((0, 2, 3), False, "extra-axis"),
        ((0, 1), False, "axis-numbers"),
        ((0, 7), False, "axis-numbers"),
    ],
)
def test_summed_axes_are_taken_in_any_order_and_wrong_ones_are_told_apart(answer, ok, mistake):
    question = only(broadcasting(), "axes", 1)
    assert "b has shape (3, 1, 1)" in question.text and "(5, 3, 4, 1)" in question.text
    said = question.answer(answer)
    assert (said.ok, said.mistake) == (ok, mistake) and bool(said.hint) == bool(mistake)


@pytest.mark.parametrize(
    ("answer", "mistake"), [((3, 1, 1), ""), ((5, 3, 4, 1), "not-summed"), ((1, 3, 1, 1), "kept-dims"), ((1, 1, 3), "transposed"), ((9,), None)]
)
def test_a_shape_that_is_wrong_says_what_was_forgotten(answer, mistake):
    said = only(broadcasting(), "shape", -1).answer(answer)
    assert said.ok == (mistake == "") and said.mistake == (mistake or "")


def product():
    a = tv.tensor([2.0, 3.0], requires_grad=True)
    b = tv.tensor([5.0, 7.0], requires_grad=True)
    return (a * b).sum().backward()


def scaled():
    x = tv.tensor(2.0, requires_grad=True)
    y = tv.tensor(5.0, requires_grad=True)
    p = x * y
    return (p * 3.0).backward()


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (15.0, ""),
        (15.0005, ""),
        (5.0, "without-g"),
        (3.0, "passed-on"),
        (6.0, "own-operand"),
        (-15.0, "sign"),
        (15.5, ""),
    ],
)
def test_a_share_that_is_wrong_says_which_part_of_the_rule(answer, mistake):
    question = next(q for q in scaled().quiz(20, kinds="value") if "sends to x" in q.text)
    assert "x = 2, y = 5, p = 10" in question.text and "∂p = 3" in question.text
    said = question.answer(answer)
    assert said.ok == (abs(answer - 15) < 0.01) and (said.mistake == mistake or (mistake == "own-operand" and said.mistake == "swapped"))


def test_a_share_in_the_form_of_a_list_an_array_or_a_tuple_is_taken():
    question = next(q for q in product().quiz(20, kinds="value") if q.target.name == "a")
    for answer in ([5, 7], (5.0, 7.0), np.array([5.0, 7.0]), tv.tensor([5.0, 7.0]).data):
        assert question.answer(answer)
    assert question.answer([2, 3]).mistake in ("swapped", "own-operand")


def test_a_share_that_was_not_summed_or_was_averaged_is_told():
    question = next(q for q in bias().quiz(20, kinds="value") if "sends to b" in q.text)
    g = question.consumer.cotangent
    assert question.answer(g).mistake == "not-summed"
    assert question.answer(g.mean(axis=0)).mistake == "averaged"
    assert question.answer(g.sum(axis=0).round(3))


@pytest.mark.parametrize(
    ("answer", "ok", "mistake"),
    [
        ([1, 2], True, ""),
        ((1, 2), True, ""),
        ([(1,), (-2,)], True, ""),
        (1, False, "first-of-tie"),
        ([2], False, "first-of-tie"),
        (5, False, "gave-value"),
        (3, False, "off-by-one"),
        (0, False, "smallest"),
    ],
)
def test_where_a_maximum_is_tied_all_winners_are_asked_for(answer, ok, mistake):
    question = only(ties(), "route")
    assert "x = [1, 5, 5, 2]" in question.text
    said = question.answer(answer)
    assert (said.ok, said.mistake) == (ok, mistake)


def test_a_single_winner_is_a_single_position():
    question = only(route(), "route")
    assert question.solution == 1 and question.answer(1) and question.answer([1]) and question.answer((1,))
    assert question.answer(2).mistake == "off-by-one" and question.answer(5).mistake == "gave-value"


def test_along_an_axis_one_element_of_the_result_is_asked_for():
    question = only(ties_by_row(), "route", seed=3)
    (row,) = question.at
    assert f"for its element at [{row}]" in question.text
    winners = [(row, int(j)) for j in np.flatnonzero(question.share.route[row] > 0)]
    assert question.answer(winners)
    assert not question.answer([((row + 1) % 3, 0)])


def test_the_number_of_shares_counts_uses_not_operations():
    x = tv.tensor(3.0, requires_grad=True)
    question = only((x * x + x).backward(), "shares")
    assert question.solution == 3
    assert question.answer(2).mistake == "uses" and question.answer(1).mistake == "one-gradient" and question.answer(3)


def test_what_grad_will_hold_reminds_of_what_it_holds_already():
    question = only(second_pass_without_zero_grad(), "grad")
    assert "Before the pass, w.grad holds [2, −4]" in question.text
    assert question.answer([4, -8])
    assert question.answer([2, -4]).mistake == "forgot-held"
    assert question.answer([3, -6]).mistake == "factor"


def test_what_grad_will_hold_knows_the_classic_bugs():
    x = tv.tensor(2.0, requires_grad=True)
    h = x * 3.0
    question = only((h * 10.0 + h * 1.0).backward(), "grad")
    assert question.solution == 33.0
    assert question.answer(30.0).mistake == "overwrote"
    assert question.answer(3.0).mistake == "wrong-order"
    assert question.answer(16.5).mistake == "averaged"


def test_of_a_large_array_one_element_is_asked_for():
    question = only(square_product(), "grad")
    assert f"Give its element at {list(question.index)}." in question.text
    assert question.answer(question.right[question.index]) and question.answer(question.right)


def test_the_tolerance_decides_how_near_is_right_and_sign_asks_for_the_sign():
    narrow, wide = (next(q for q in scaled().quiz(20, kinds="value", tolerance=t) if "sends to x" in q.text) for t in (1e-6, 0.1))
    assert not narrow.answer(14.9) and wide.answer(14.9) and wide.answer(13.6) and not wide.answer(13.4)
    signs = next(q for q in scaled().quiz(20, kinds="value", tolerance="sign") if "sends to x" in q.text)
    assert "Give the sign" in signs.text and signs.answer(1) and signs.answer(-1).mistake == "sign" and not signs.answer(0)


def test_a_wrong_answer_about_a_product_of_any_shapes_is_no_error():
    for a, b in [((2, 3), (3, 4)), ((3,), (3, 2)), ((2, 3), (3,)), ((3,), (3,)), ((2, 1, 2, 3), (3, 2))]:
        A, B = tv.tensor(np.ones(a), requires_grad=True), tv.tensor(np.ones(b), requires_grad=True)
        for question in (A @ B).sum().backward().quiz(20, kinds="value"):
            assert not question.answer(17.0)
            assert not question.answer(np.full(question.right.shape, 17.0))


def test_an_answer_of_another_shape_is_told_so():
    question = only(ties(), "grad")
    assert question.answer(1).mistake == "other-shape"
    assert only(ties(), "shape").answer(()).mistake == "result-shape"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("answer", ["1", b"1", None, [None], True, 1j, object(), 10**400, np.ma.masked])
def test_what_is_no_number_is_no_answer_to_any_question(kind, answer):
    trace = {"axes": broadcasting, "shape": broadcasting, "value": scaled, "route": ties, "shares": forks, "grad": scaled}[kind]()
    question = only(trace, kind)
    said = question.answer(answer)
    assert not said
    assert said.words.startswith("That is no answer")
    assert question.attempts == []


@pytest.mark.parametrize("answer", ["five", None, {"a": 1}, [[1], [1, 2]], 1.5])
def test_what_is_no_answer_is_not_counted_as_one(answer):
    question = only(forks(), "shares")
    said = question.answer(answer)
    assert not said and said.words == "That is no answer to this question: give a whole number." and question.attempts == []


def test_the_score_counts_the_latest_answer_before_the_solution_was_revealed():
    asked = bias().quiz(3)
    first, second, third = asked
    assert (asked.score, asked.done) == (0, False)
    first.answer(first.solution)
    second.answer("nothing")
    told = third.reveal()
    assert told == f"The answer is {third._shown(third.solution)}. {third.trace.steps[third.step].caption}"
    assert third.answer(third.solution) and not third.correct
    assert asked.score == 1
    second.answer(second.solution)
    assert asked.score == 2 and asked.done
    assert [bool(f) for f in asked.feedback()] == [True, True, False]


def test_a_list_of_answers_is_graded_at_once():
    asked = bias().quiz(3, seed=4)
    assert asked.grade([asked[0].solution, None, "?"]) == 1
    with pytest.raises(OptionError, match="3 questions take as many answers, got 1"):
        asked.grade([1])


def test_a_quiz_prints_its_questions_and_its_score():
    asked = bias().quiz(2)
    asked[0].answer(asked[0].solution)
    assert str(asked).splitlines() == [f"1. {asked[0].text} ✓", f"2. {asked[1].text}", "1 of 2 right."]
    assert asked._repr_mimebundle_() == {"text/plain": str(asked)}
    assert "right" in repr(asked[0]) and asked[:1] == (asked[0],)


def test_what_cannot_be_asked_is_refused_with_what_can():
    trace = product()
    with pytest.raises(OptionError, match="kinds must be one of 'axes', 'shape'"):
        trace.quiz(kinds="colour")
    with pytest.raises(OptionError, match="nothing to ask of kind axes about this trace; it offers shape, value, shares, grad"):
        trace.quiz(kinds="axes")
    with pytest.raises(OptionError, match='tolerance must be a number of at least 0, or "sign"'):
        trace.quiz(tolerance="near")
    with pytest.raises(OptionError, match="n must be a whole number of at least 1"):
        trace.quiz(0)
    with pytest.raises(OptionError, match=r"kinds must be a list such as \['axes', 'shape'\], got 3"):
        trace.quiz(kinds=3)
    assert len(trace.quiz(kinds=[])) == len(trace.quiz())
    for answers in (None, 3, "abc"):
        with pytest.raises(OptionError, match="answers must be a list such as"):
            trace.quiz(3).grade(answers)
    assert trace.quiz(3).grade(iter([None, None, None])) == 0
    x = tv.tensor(1.0, requires_grad=True)
    with pytest.raises(RecordError, match="no steps"):
        tv.draw(x * 2.0).trace.quiz()


# ---- the widget ----------------------------------------------------------------------------------------------------


def view():
    asked = bias().quiz(3)
    return asked, QuizView(asked)


def test_the_widget_asks_says_and_opens_the_stepper_when_the_answer_is_right():
    asked, shown = view()
    assert "Question 1 of 3" in shown.question.value and shown.place.children == ()
    shown.field.value = "77"
    shown.buttons["Answer"].click()
    assert "Not yet." in shown.said.value and 'role="status"' in shown.said.value and shown.place.children == ()
    shown.field.value = str(asked[0].solution)
    shown.buttons["Answer"].click()
    assert "Right." in shown.said.value and "1 of 3 right" in shown.said.value
    (stepper,) = shown.place.children
    assert stepper.step == asked[0].step and stepper.trace is asked.trace


def test_the_widget_goes_from_question_to_question_and_hides_the_stepper_again():
    _, shown = view()
    shown.buttons["Reveal"].click()
    assert "The answer is" in shown.said.value and len(shown.place.children) == 1
    shown.buttons["Next question"].click()
    assert "Question 2 of 3" in shown.question.value and shown.place.children == () and shown.field.value == ""
    shown.buttons["Next question"].click()
    assert shown.buttons["Next question"].disabled and not shown.buttons["Previous question"].disabled
    shown.buttons["Previous question"].click()
    assert shown.at == 1


def test_the_enter_key_answers():
    asked, shown = view()
    shown.field.value = str(asked[0].solution)
    shown.field._handle_custom_msg({"event": "submit"}, [])
    assert asked[0].correct


def test_fractions_are_typed_as_such():
    asked = ties().quiz(20, kinds="grad")
    shown = QuizView(asked)
    shown.field.value = "[0, 1/2, 1 / 2, 0]"
    shown.submit()
    assert asked[0].correct


@pytest.mark.parametrize("typed", ["", "import os", "__import__('os')", "1/0", "(0,", "[" * 1000, "9**9**9", "9" * 5000, "True", "{[1]}", "1 + [2]"])
def test_what_was_typed_is_read_and_never_run(typed):
    asked, shown = view()
    shown.field.value = typed
    shown.submit()
    assert ("Type " in shown.said.value or "no answer" in shown.said.value) and asked[0].attempts == []


def test_a_rule_that_is_named_by_its_op_is_named_once():
    x = tv.tensor([1.0, 2.0], requires_grad=True, name="x")
    L = -np.log(np.exp(x * 2 + 1) + np.exp(x * 3 + 1)).mean()
    texts = " ".join(q.text for q in L.backward().quiz(20, kinds="value"))
    assert "the rule of L (neg)." in texts  # a name of the reader's says nothing of the op
    assert "the rule of mean." in texts  # an expression too long for a name
