"""One plain sentence for every step. Imports nothing of the engine or the ops.

A caption names things as the user does, says what the gate does with the gradient (add *distributes*, max *routes*, mul *swaps*, a fork *adds*),
and gives the number where there is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from tensorviz.trace import Array, Share, Step, TraceData, TraceNode
from tensorviz.views import format as fmt
from tensorviz.views.born import Strange, born_backward, strange

_LONGEST = 28
"""Characters of a source expression that stand for an unnamed node; longer ones give way to the op's name."""
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_COUNTS = (
    "no times",
    "once",
    "twice",
    "three times",
    "four times",
    "five times",
    "six times",
    "seven times",
    "eight times",
    "nine times",
    "ten times",
)

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def title(node: TraceNode) -> str:
    """What a sentence calls a node: its name, a constant's number, the expression that made it, or its op."""
    if node.name:
        return node.name
    if node.kind == "constant" and node.value.size == 1:
        return fmt.number(node.value.reshape(()).item())
    if node.source is not None and node.kind == "op":
        expression = node.source.expression
        if 0 < len(expression) <= _LONGEST and "\n" not in expression and not expression.isidentifier():
            return expression
    return _gate(node)


def _gate(node: TraceNode) -> str:
    """The op in words: ``add`` rather than ``+``, but ``max`` as it stands in the picture."""
    return node.label if node.label.isidentifier() else node.op


def captioned(data: TraceData) -> tuple[Step, ...]:
    """The steps of a record, each with its sentence; those that have one (a loaded trace) keep it."""
    if data.steps and data.steps[0].caption:
        return data.steps
    arrived: Counter[int] = Counter()
    sent: dict[int, list[int]] = {}
    born = born_backward(data.nodes)
    for step in data.steps:
        if step.share is not None and step.kind == "accumulate":
            sent.setdefault(step.share.consumer, []).append(step.node)
    steps = []
    for step in data.steps:
        if step.kind == "accumulate":
            arrived[step.node] += 1
        told = caption(data, step, arrived[step.node], sent.get(step.node, []), _worst_of(born.get(step.node, ())))
        steps.append(Step(step.kind, step.node, step.share, step.before, step.after, told))
    return tuple(steps)


def caption(data: TraceData, step: Step, arrived: int, sent: list[int], born: Strange = "") -> str:
    """The sentence of one step.

    ``arrived``: the shares that its node has, this one included; ``sent``: whom its rule sends shares to, once for each; ``born``: what that rule
    brings into the world.
    """
    node = data.nodes[step.node]
    if step.kind == "seed":
        return _seed(node, step)
    if step.kind == "pull":
        return _pull(data, node, sent) + (f" {_STRANGE[born]} is born here." if born else "")
    if step.kind == "leaf":
        return _leaf(node, step)
    assert step.share is not None
    if step.kind == "unbroadcast":
        return _unbroadcast(node, step.share)
    return _accumulate(data, node, step.share, arrived)


def _seed(node: TraceNode, step: Step) -> str:
    name = title(node)
    value = _value(step.after)
    if node.value.size == 1 and value == "1":
        return f"The pass starts at {name}: a change of {name} changes {name} by as much, so ∂{_symbol(node)} = 1."
    return (
        f"The pass starts at {name} with the seed ∂{_symbol(node)} = {value}."
        if value
        else f"The pass starts at {name} with the given seed of shape {fmt.shape(node.shape)}."
    )


def _pull(data: TraceData, node: TraceNode, sent: list[int]) -> str:
    receivers = Counter(sent)
    gate, name = _gate(node), title(node)
    what = f"{gate} {node.word}" if node.word else gate
    start = f"The rule of {name} runs: {what}" if name != gate else f"{what[0].upper()}{what[1:]}"
    if not receivers:
        return f"{start}; no operand needs a share."
    if len(receivers) == 1:
        return f"{start}; {'a share goes' if len(sent) == 1 else f'{_number(len(sent))} shares go'} to {title(data.nodes[sent[0]])}."
    return f"{start}; shares go to {_listed([title(data.nodes[i]) + (f' ({_number(k)})' if k > 1 else '') for i, k in receivers.items()])}."


def _unbroadcast(node: TraceNode, share: Share) -> str:
    name = title(node)
    local = fmt.shape(share.local.shape)
    return f"Forward copied {name} along {fmt.axes(share.summed_axes)}, so backward its share is {summed(share.summed_axes)}: {local} becomes {fmt.shape(node.shape)}."


def summed(axes: tuple[int, ...]) -> str:
    """``summed over axes 0``, ``summed over axes (0, 2)``.

    >>> summed((0,)), summed((0, 2))
    ('summed over axes 0', 'summed over axes (0, 2)')
    """
    return f"summed over axes {axes[0] if len(axes) == 1 else axes}"


def _accumulate(data: TraceData, node: TraceNode, share: Share, arrived: int) -> str:
    name, symbol = title(node), _symbol(node)
    sender = title(data.nodes[share.consumer])
    value, total = _value(share.value), _value(share.total)
    count = len(node.shares)
    if count <= 1:
        if share.route is not None:
            return f"{_routed(share, name, _gate(data.nodes[share.consumer]))}."
        holds = _holds(share.value)
        return f"{name} receives its only share{f', {value},' if value else ''} from {sender}{f', with {holds},' if holds else ','} so ∂{symbol} is complete{f': {total}' if total and total != value else ''}."
    used = _COUNTS[count] if count < len(_COUNTS) else f"{fmt.count(count)} times"
    which = _ORDINALS[arrived - 1] if arrived <= len(_ORDINALS) else f"number {fmt.count(arrived)}"
    makes = f" makes ∂{symbol} = {total}" if total else f" brings ‖∂{symbol}‖ to {fmt.number(fmt.norm(share.total))}"
    given = f"the {which}, {value} from {sender}," if value else f"the {which}, from {sender},"
    return f"{name} is used {used}, so its shares add: {given}{makes}{'.' if arrived < count else '; all are in.'}"


def _routed(share: Share, name: str, gate: str) -> str:
    assert share.route is not None
    chosen = int(np.count_nonzero(share.route))
    ties = int(np.count_nonzero((share.route > 0) & (share.route < 1)))
    tie = f"; {fmt.count(ties)} tie and split theirs evenly" if ties else ""
    if share.route.size == 1:
        return f"{gate} {'passes the gradient on to' if chosen else 'blocks the gradient:'} {name}{'' if chosen else ' receives 0'}"
    if chosen == share.route.size and not ties:
        return f"{gate} routes: every element of {name} was chosen and receives its gradient"
    some = f"{fmt.count(chosen)} of {fmt.counted(share.route.size, 'element')} of {name}"
    if not chosen:
        return f"{gate} routes: none of {fmt.counted(share.route.size, 'element')} of {name} was chosen, and ∂ of each is 0"
    return f"{gate} routes: {some} {'was chosen, and the gradient goes to it' if chosen == 1 else 'were chosen, and the gradient goes to them'} alone{tie}"


def _leaf(node: TraceNode, step: Step) -> str:
    name, symbol = title(node), _symbol(node)
    held, now, added = _value(step.before), _value(step.after), _value(node.cotangent)
    holds = _holds(step.after)
    tail = f", with {holds}" if holds else ""
    if step.before is None:
        return f"{name}.grad was None and now holds ∂{symbol}{f' = {now}' if now else ''}{tail}."
    if not np.any(step.before):
        return f"{name}.grad held zeros, and ∂{symbol}{f' = {added}' if added else ''} is added to it{tail}."
    sums = f"; the sum is {now}" if held and now else ""
    return f"{name}.grad already held {held or 'a gradient'}, and ∂{symbol}{f' = {added}' if added else ''} is added to it{sums}{tail}. Without zero_grad() it keeps growing."


_STRANGE: dict[Strange, str] = {"nan": "NaN", "inf": "An infinity"}


def _worst_of(born: Sequence[tuple[Strange, str]]) -> Strange:
    return max((how for how, _ in born), key=("", "inf", "nan").index, default="")


def _holds(array: Array | None) -> str:
    """``NaN in 1 of 2 elements``, where there is one among others; the number of a single element says so itself."""
    if array is None or array.size == 1:
        return ""
    how = strange(array)
    if not how:
        return ""
    many = int(np.count_nonzero(np.isnan(array) if how == "nan" else np.isinf(array)))
    return f"{'NaN' if how == 'nan' else 'infinity'} in {fmt.count(many)} of {fmt.counted(array.size, 'element')}"


def _number(count: int) -> str:
    """``two`` to ``ten`` in words."""
    return _NUMBERS[count] if count < len(_NUMBERS) else fmt.count(count)


def _symbol(node: TraceNode) -> str:
    """What stands behind ∂: the name, or the expression in brackets."""
    name = title(node)
    return name if node.name or name.isidentifier() else f"({name})"


def _value(array: Array | None) -> str:
    """The number of a one-element array; arrays are told by the pictures, not by the sentence."""
    return fmt.number(array.reshape(()).item()) if array is not None and array.size == 1 else ""


def _listed(words: list[str]) -> str:
    if len(words) > 4:
        words = [*words[:3], f"{fmt.count(len(words) - 3)} more"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
