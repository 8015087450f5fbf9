"""Every step is told in one plain sentence that names things as the user does."""

import pickle

import numpy as np

import tensorviz as tv
from tensorviz.views.captions import title
from tensorviz.views.parts import tags


def sentences(trace: tv.Trace, kind: str) -> list[str]:
    return [s.caption for s in trace.steps if s.kind == kind]


def broadcast_example() -> tv.Trace:
    X = tv.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    b = tv.tensor([0.1, 0.2, 0.3], requires_grad=True)
    L = ((X + b) ** 2).sum()
    return L.backward()


def test_the_seed_says_where_the_pass_starts() -> None:
    assert sentences(broadcast_example(), "seed") == ["The pass starts at L: a change of L changes L by as much, so ∂L = 1."]


def test_an_unbroadcast_names_the_axes_and_both_shapes() -> None:
    assert sentences(broadcast_example(), "unbroadcast") == [
        "Forward copied b along axis 0, so backward its share is summed over axis 0: (2, 3) becomes (3,)."
    ]


def test_an_unnamed_result_is_called_by_the_expression_that_made_it() -> None:
    trace = broadcast_example()
    assert "X + b" in [title(n) for n in trace.nodes]
    assert any(c.startswith("The rule of X + b runs: add distributes; shares go to X and b") for c in sentences(trace, "pull"))


def test_a_fork_counts_its_shares_and_gives_the_running_sum() -> None:
    x = tv.tensor(3.0, requires_grad=True)
    y = x * x
    told = sentences(y.backward(), "accumulate")
    assert told == [
        "x is used twice, so its shares add: the first, 3 from y, makes ∂x = 3.",
        "x is used twice, so its shares add: the second, 3 from y, makes ∂x = 6; all are in.",
    ]


def test_a_leaf_that_held_a_gradient_is_told_to_keep_growing() -> None:
    x = tv.tensor(3.0, requires_grad=True)
    y = x * 2.0
    assert sentences(y.backward(), "leaf") == ["x.grad was None and now holds ∂x = 2."]
    assert sentences(y.backward(), "leaf") == [
        "x.grad already held 2, and ∂x = 2 is added to it; the sum is 4. Without zero_grad() it keeps growing."
    ]


def test_a_route_to_what_was_broadcast_counts_the_copies_that_were_chosen() -> None:
    X = tv.tensor([[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]], name="X")
    b, s = tv.tensor([2.0, 3.0, 4.0], requires_grad=True, name="b"), tv.tensor(3.0, requires_grad=True, name="s")

    def told(y: tv.Tensor) -> tuple[str, str]:
        trace = y.sum().backward()
        step = next(s for s in trace.steps if s.kind == "accumulate" and s.share is not None and s.share.route is not None)
        assert step.share is not None
        return step.caption, tags(trace, step.share)[-1].text

    them = "were chosen, and the gradient goes to them alone"
    # X is larger at 4 of 6 places: b at (0, 0), (1, 1) and, since 3 < 4, at (0, 2)
    assert told(np.maximum(X, b)) == (f"max routes: 3 of 6 copied elements of b {them}.", "3 of 6")
    assert told(np.maximum(X, s)) == (f"max routes: 2.5 of 6 copies of s {them}; one that ties counts as its part.", "2.5 of 6")
    assert told(np.where(X.data == 6, s, X)) == ("where routes: 1 of 6 copies of s was chosen, and the gradient goes to it alone.", "1 of 6")
    assert told(np.maximum(X, b + 100)) == ("max routes: every element of b + 100 was chosen and receives its gradient.", "6 of 6")


def test_a_route_counts_winners_and_ties() -> None:
    A = tv.tensor([[0.2, 1.5, 1.5], [3.0, 1.0, 0.5]], requires_grad=True)
    m = A.max(axis=1)
    told = sentences(m.backward(np.array([1.0, 1.0])), "accumulate")
    assert told == ["max routes: 3 of 6 elements of A were chosen, and the gradient goes to them alone; 2 tie and split theirs evenly."]


def test_of_an_operand_that_was_broadcast_some_copies_are_chosen_and_that_is_no_tie() -> None:
    X = tv.tensor([[3.0, -2.0], [-1.0, 4.0]], requires_grad=True)
    c = tv.tensor([0.5, 0.5], requires_grad=True)
    trace = np.maximum(X, c).sum().backward()
    (share,) = trace.node("c").shares
    assert [tag.text for tag in tags(trace, share)] == ["Σ axis 0", "2 of 4"]
    assert not any("tie" in said for said in sentences(trace, "accumulate"))


def test_ties_of_two_operands_are_counted_place_by_place() -> None:
    a = tv.tensor([[1.0, 5.0], [1.0, 1.0]], requires_grad=True)
    for b, ties, said in (
        ([[1.0, 9.0], [0.0, 0.0]], "1 tie", "1 ties and gets its part"),
        (np.ones((2, 2)), "3 ties", "3 tie and split theirs evenly"),
    ):
        trace = np.minimum(a, b).sum().backward()
        (share,) = trace.node("a").shares
        assert tags(trace, share)[0].text.endswith(f" of 4 · {ties}")
        assert any(said in sentence for sentence in sentences(trace, "accumulate"))


def test_a_gate_that_lets_nothing_through_is_said_to_block() -> None:
    x = tv.tensor(-1.0, requires_grad=True)
    told = sentences(tv.relu(x).backward(), "accumulate")
    assert told == ["relu blocks the gradient: x receives 0."]


def test_one_axis_is_an_axis_and_several_are_axes() -> None:
    a, b = tv.tensor(np.ones((2, 1, 3)), requires_grad=True), tv.tensor(np.ones((4, 1)), requires_grad=True)
    assert sentences((a * b).sum().backward(), "unbroadcast") == [
        "Forward copied a along axis 1, so backward its share is summed over axis 1: (2, 4, 3) becomes (2, 1, 3).",
        "Forward copied b along axes 0, 2, so backward its share is summed over axes 0, 2: (2, 4, 3) becomes (4, 1).",
    ]


def test_a_sum_of_shares_with_nan_in_it_is_told_by_that_and_not_by_the_norm_of_the_rest() -> None:
    x = tv.tensor([1.0, 0.0], requires_grad=True, name="x")
    with np.errstate(all="ignore"):
        told = sentences((np.log(x) * [1.0, 0.0] + x).sum().backward(), "accumulate")
    assert told[-1] == "x is used twice, so its shares add: the second, from np.log(x), leaves ∂x with NaN in 1 of 2 elements; all are in."


def test_a_sum_without_a_name_is_called_sum() -> None:
    x = tv.tensor([1.0, 2.0], requires_grad=True, name="x")
    long = (x * x * x * x * x * x * x * x * x).sum().backward()
    assert sentences(long, "seed") == ["The pass starts at sum: a change of sum changes sum by as much, so ∂sum = 1."]


def test_a_value_that_one_gate_uses_twice_is_sent_two_shares():
    x = tv.tensor(3.0, requires_grad=True, name="x")
    told = [s.caption for s in (x * x).backward().steps if s.kind == "pull"]
    assert told == ["The rule of x * x runs: mul swaps; two shares go to x."]


def test_several_shares_to_one_of_two_receivers_are_counted():
    x = tv.tensor([3.0], requires_grad=True, name="x")
    y = tv.tensor([2.0], requires_grad=True, name="y")
    told = [s.caption for s in np.stack([x, y, x]).sum().backward().steps if s.kind == "pull"]
    assert told[-1].endswith("shares go to x (two) and y.")


def test_the_step_at_which_nan_is_born_says_so_and_the_later_ones_how_far_it_came():
    x = tv.tensor([0.0, 1.0], requires_grad=True, name="x")
    with np.errstate(all="ignore"):
        told = [s.caption for s in np.where(x > 0, np.sqrt(x) * 2, x * 0).sum().backward().steps]
        (root,) = [c for c in told if c.startswith("The rule of sqrt") or "sqrt(x) runs" in c]
    assert root.endswith("a share goes to x. NaN is born here.")
    assert sum("born" in c for c in told) == 1
    assert told[-1] == "x.grad was None and now holds ∂x, with NaN in 1 of 2 elements."


def test_adding_to_a_gradient_of_zeros_is_no_warning():
    x = tv.tensor([1.0, 2.0], requires_grad=True, name="x")
    x.grad = np.zeros(2)
    assert x.sum().backward().steps[-1].caption == "x.grad held zeros, and ∂x is added to it."


def test_the_steps_are_a_tuple_whose_sentences_are_made_when_they_are_looked_at() -> None:
    x = tv.tensor(3.0, requires_grad=True, name="x")
    trace = (x * x).backward()
    steps = trace.steps
    assert isinstance(steps, tuple)
    assert all(not step.caption for step in trace.data.steps)
    first, *rest = steps
    assert (first, rest[-1]) == (steps[0], steps[-1])
    assert [s.caption for s in steps[1:3]] == [steps[1].caption, steps[2].caption]
    assert [s.caption for s in reversed(steps)] == [s.caption for s in steps][::-1]
    assert all([*(s.caption for s in steps), *(s.caption for s in (*steps, first)), *(s.caption for s in steps + (first,))])
    assert steps == tuple(steps)
    assert steps.index(rest[1]) == 2
    assert [s.caption for s in pickle.loads(pickle.dumps(steps))] == [s.caption for s in steps]


def test_a_sentence_is_a_template_filled_with_what_the_row_says_and_names_stay_text() -> None:
    x = tv.tensor(3.0, requires_grad=True, name="{node}")
    trace = (x * x).backward()
    templates = [trace.captions.template(k) for k in range(len(trace))]
    assert templates[2] == "{node} is used twice, so its shares add: the first, {value} from {sender}, makes ∂{symbol} = {total}."
    assert trace.steps[2].caption == "{node} is used twice, so its shares add: the first, 3 from x * x, makes ∂{node} = 3."
    assert templates[1] == "The rule of {node} runs: mul swaps; two shares go to {{node}."
    assert trace.steps[1].caption == "The rule of x * x runs: mul swaps; two shares go to {node}."


def test_a_long_chain_has_few_templates() -> None:
    a, b = tv.tensor(0.5, requires_grad=True), tv.tensor(0.01, requires_grad=True)
    for _ in range(200):
        a = a * b + a
    trace = a.backward()
    assert len({trace.captions.template(k) for k in range(len(trace))}) < 30
