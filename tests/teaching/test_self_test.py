"""Self-tests: questions in view, answers folded."""

from __future__ import annotations

import re

import pytest

import tensorviz as tv
from tensorviz.errors import OptionError

TEST = tv.self_test(("How large is `x * x` at <3>?", f"`{3 * 3}`."), ("Why?", "It swaps."))


def test_the_answers_are_folded_each_under_its_question():
    html = TEST._repr_mimebundle_()["text/html"]
    assert html.count("<details>") == len(TEST) == 2
    outside = re.sub(r"<details>.*?</details>", "", html)
    assert "Why?" in outside and "swaps" not in outside and "9" not in outside


def test_code_is_set_as_code_and_nothing_else_is_markup():
    html = TEST._repr_html_()
    assert "<code>x * x</code> at &lt;3&gt;?" in html and "`" not in html


def test_as_text_the_answers_come_after_all_questions():
    assert str(TEST).splitlines() == ["1. How large is x * x at <3>?", "2. Why?", "", "Answers:", "1. 9.", "2. It swaps."]
    assert repr(TEST) == "<SelfTest of 2 questions>"


@pytest.mark.parametrize("pairs", [(), ("question",), (("question",),), (("question", 3),), ("ab",), (3,), (None,)])
def test_what_is_no_pair_of_texts_is_refused(pairs):
    with pytest.raises(OptionError, match="pair"):
        tv.self_test(*pairs)
