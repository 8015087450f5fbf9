"""One plain sentence for every step. Imports nothing of the engine or the ops.

A caption names things as the user does, says what the gate does with the gradient (add *distributes*, max *routes*, mul *swaps*, a fork *adds*),
and gives the number where there is one.
"""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from tensorviz.axes import in_words
from tensorviz.trace import Array, Share, Step, TraceData, TraceNode
from tensorviz.views import format as fmt
from tensorviz.views.born import Strange, born_backward, strange
from tensorviz.views.selected import selected
from tensorviz.views.text import cut, visible

_LONGEST = 28
"""Characters of a source expression that stand for an unnamed node; longer ones give way to the op's name."""
_NAME = 60
"""Characters of a name that a sentence says."""
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
        return cut(node.name, _NAME)
    if node.kind == "constant" and node.value.size == 1:
        return fmt.number(node.value.reshape(()).item())
    if node.source is not None and node.kind == "op":
        expression = node.source.expression
        if 0 < len(expression) <= _LONGEST and "\n" not in expression and not expression.isidentifier():
            return visible(expression)
    return _gate(node)


def _gate(node: TraceNode) -> str:
    """The op in words: ``add`` rather than ``+``, ``sum`` rather than ``Σ``, but ``max`` as it stands in the picture."""
    return cut(node.label if node.label.isidentifier() and node.label.isascii() else node.op, _NAME)


class Captions:
    """The sentences of a record's steps. None is made before it is asked for.

    A sentence is a template and what it is filled with. Its fields stand for what the step's own row says (``{node}``, ``{symbol}``, ``{sender}``,
    ``{value}``, ``{total}``, ``{before}``, ``{after}``, ``{cotangent}``, ``{arrived}``: see :func:`fill`); everything else is text, with ``{{`` for a
    bracket. So a long pass has few templates, and what reads them elsewhere puts in the numbers itself. A step that came with a sentence keeps it.
    """

    def __init__(self, data: TraceData) -> None:
        self._data = data
        self.given = bool(data.steps) and bool(data.steps[0].caption)
        """The steps have their sentences (of a pass with a bug, or a graph of a gradient)."""
        self._pulls: dict[tuple[Any, ...], str] = {}

    @cached_property
    def _arrived(self) -> dict[int, int]:
        """Per step that adds a share how many its node has then."""
        counts: dict[int, int] = {}
        found = {}
        for k, step in enumerate(self._data.steps):
            if step.kind == "accumulate":
                found[k] = counts[step.node] = counts.get(step.node, 0) + 1
        return found

    @cached_property
    def _sent(self) -> dict[int, list[int]]:
        """Whom each rule sends shares to, once for each."""
        sent: dict[int, list[int]] = {}
        for step in self._data.steps:
            if step.kind == "accumulate" and step.share is not None:
                sent.setdefault(step.share.consumer, []).append(step.node)
        return sent

    @cached_property
    def _by_hand(self) -> frozenset[tuple[int, int]]:
        """The consumers and slots whose share was set in a rerun."""
        return frozenset((s.consumer, s.slot) for node in self._data.nodes for s in node.shares if s.by_hand)

    @cached_property
    def _follows(self) -> set[int]:
        """The nodes whose gradient has a share that was set by hand, or that follows from one."""
        found: set[int] = set()
        for node in reversed(self._data.nodes if self._by_hand else ()):
            if any(s.by_hand or s.consumer in found for s in node.shares):
                found.add(node.id)
        return found

    @cached_property
    def _born(self) -> dict[int, list[tuple[Strange, str]]]:
        return born_backward(self._data.nodes)

    @cached_property
    def titles(self) -> list[str]:
        """What the sentences call each node."""
        return [title(node) for node in self._data.nodes]

    def template(self, k: int) -> str:
        """The sentence of step ``k`` with its fields open."""
        step = self._data.steps[k]
        if self.given:
            return plain(step.caption)
        node = self._data.nodes[step.node]
        if step.kind == "accumulate":
            assert step.share is not None
            return self._accumulate(k, node, step.share)
        if step.kind == "pull":
            born = self._born.get(step.node)
            return self._pull(node) + (f" {_STRANGE[_worst_of(born)]} is born here." if born else "") + self._hand(node)
        if step.kind == "seed":
            return _seed(node, step)
        if step.kind == "leaf":
            return _leaf(node, step) + (f" {_FOLLOWS}" if node.id in self._follows else "")
        assert step.share is not None
        return _unbroadcast(node, step.share)

    def text(self, k: int) -> str:
        """The sentence of step ``k``."""
        step = self._data.steps[k]
        if self.given:
            return step.caption
        return fill(self.template(k), self._data, step, self._arrived.get(k, 0))

    def _pull(self, node: TraceNode) -> str:
        sent, titles = self._sent.get(node.id, ()), self.titles
        if len(sent) > 2:
            return _pull(node, sent, titles)
        # rules of one gate that send to nodes of the same names have one sentence
        key = (node.label, node.op, node.word, titles[node.id] == _gate(node), len(set(sent)), *[titles[i] for i in sent])
        found = self._pulls.get(key)
        if found is None:
            found = self._pulls[key] = _pull(node, sent, titles)
        return found

    def _hand(self, node: TraceNode) -> str:
        """What a rule is told to have to do with shares that were set by hand: what it runs on, and what is not taken from it."""
        if not self._by_hand:
            return ""
        replaced = [i for slot, i in enumerate(node.inputs) if (node.id, slot) in self._by_hand]
        which = "A" if Counter(self._sent.get(node.id, ())) - Counter(replaced) & Counter(replaced) else "The"
        called = plain(_listed(list(dict.fromkeys(self.titles[i] for i in replaced)))) if replaced else ""
        return (f" {_FOLLOWS}" if node.id in self._follows else "") + (f" {which} share of {called} is set by hand instead." if replaced else "")

    def _accumulate(self, k: int, node: TraceNode, share: Share) -> str:
        count = len(node.shares)
        if count <= 1:
            if share.route is not None and not share.by_hand:
                return f"{_routed(share, _gate(self._data.nodes[share.consumer]))}."
            value = share.value.size == 1
            total = share.total.size == 1 and share.total is not share.value and _value(share.total) != (_value(share.value) if value else "")
            holds = _holds(share.value)
            hand = f"{'' if value else ','} set by hand in place of that" if share.by_hand else ""
            return f"{{node}} receives its only share{', {value},' if value else ''}{hand} from {{sender}}{f', with {holds},' if holds else ','} so ∂{{symbol}} is complete{': {total}' if total else ''}."
        used = _COUNTS[count] if count < len(_COUNTS) else f"{fmt.count(count)} times"
        arrived = self._arrived[k]
        which = f"the {_ORDINALS[arrived - 1]}" if arrived <= len(_ORDINALS) else "number {arrived}"
        holds = _holds(share.total)
        makes = (
            " makes ∂{symbol} = {total}"
            if share.total.size == 1
            else f" leaves ∂{{symbol}} with {holds}"
            if holds
            else f" brings ‖∂{{symbol}}‖ to {fmt.number(fmt.norm(share.total))}"
        )
        hand = "set by hand in place of that " if share.by_hand else ""
        given = f"{which}, {{value}}{',' if hand else ''} {hand}from {{sender}}," if share.value.size == 1 else f"{which}, {hand}from {{sender}},"
        return f"{{node}} is used {used}, so its shares add: {given}{makes}{'.' if arrived < count else '; all are in.'}"


class Steps(tuple[Step, ...]):  # noqa: SLOT001 - a tuple's subclass has no slots of its own
    """The steps of a trace. A tuple, but each gets its sentence when it is looked at: a long pass has more than anybody reads."""

    _captions: Captions
    _made: dict[int, Step]

    def __new__(cls, steps: Iterable[Step], captions: Captions) -> Self:
        made = super().__new__(cls, steps)
        made._captions, made._made = captions, {}
        return made

    def _at(self, k: int) -> Step:
        found = self._made.get(k)
        if found is None:
            step = tuple.__getitem__(self, k)
            found = self._made[k] = Step(step.kind, step.node, step.share, step.before, step.after, self._captions.text(k))
        return found

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return tuple([self._at(k) for k in range(*key.indices(len(self)))])
        k = operator.index(key)
        return self._at(k + len(self) if -len(self) <= k < 0 else k)

    def __iter__(self) -> Iterator[Step]:
        return map(self._at, range(len(self)))

    def __add__(self, other: Any) -> Any:
        return tuple(self) + other

    def __radd__(self, other: Any) -> Any:
        return other + tuple(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __contains__(self, step: object) -> bool:
        return step in tuple(self)

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> Any:
        return tuple, (list(self),)

    def index(self, *args: Any) -> int:
        return tuple(self).index(*args)

    def count(self, step: object) -> int:
        return tuple(self).count(step)


def plain(text: str) -> str:
    """Text in a template that is no field of it.

    >>> plain("{a: 1}")
    '{{a: 1}'
    """
    return text.replace("{", "{{")


_FIELD = re.compile(r"\{\{|\{(\w+)\}")


def fill(template: str, data: TraceData, step: Step, arrived: int = 0) -> str:
    """The sentence of a step: its template with the names and numbers of the step's row."""

    def field(found: re.Match[str]) -> str:
        name = found[1]
        if name is None:
            return "{"
        node, share = data.nodes[step.node], step.share
        if name == "node":
            return title(node)
        if name == "symbol":
            return _symbol(node)
        if name in ("before", "after"):
            return _value(getattr(step, name))
        if name == "cotangent":
            return _value(node.cotangent)
        assert share is not None
        if name == "sender":
            return title(data.nodes[share.consumer])
        if name == "arrived":
            return fmt.count(arrived)
        return _value(getattr(share, name))

    return _FIELD.sub(field, template)


def _pull(node: TraceNode, sent: Sequence[int], titles: Sequence[str]) -> str:
    gate, name = _gate(node), titles[node.id]
    what = plain(f"{gate} {cut(node.word, _NAME)}" if node.word else gate)
    start = f"The rule of {{node}} runs: {what}" if name != gate else f"{what[0].upper()}{what[1:]}"
    if not sent:
        return f"{start}; no operand needs a share."
    receivers = Counter(sent)
    if len(receivers) == 1:
        return f"{start}; {'a share goes' if len(sent) == 1 else f'{_number(len(sent))} shares go'} to {plain(titles[sent[0]])}."
    return f"{start}; shares go to {plain(_listed([titles[i] + (f' ({_number(n)})' if n > 1 else '') for i, n in receivers.items()]))}."


def _seed(node: TraceNode, step: Step) -> str:
    value = _value(step.after)
    if node.value.size == 1 and value == "1":
        return "The pass starts at {node}: a change of {node} changes {node} by as much, so ∂{symbol} = 1."
    if value:
        return "The pass starts at {node} with the seed ∂{symbol} = {after}."
    return f"The pass starts at {{node}} with the given seed of shape {fmt.shape(node.shape)}."


def _unbroadcast(node: TraceNode, share: Share) -> str:
    local = fmt.shape(share.local.shape)
    if share.by_hand:
        return f"Forward copied {{node}} along {in_words(share.summed_axes)}, so backward what {{sender}} sends would be summed over {in_words(share.summed_axes)}, {local} to {fmt.shape(node.shape)}; this share is set by hand instead."
    return f"Forward copied {{node}} along {in_words(share.summed_axes)}, so backward its share is summed over {in_words(share.summed_axes)}: {local} becomes {fmt.shape(node.shape)}."


def _routed(share: Share, gate: str) -> str:
    assert share.route is not None
    gate = plain(gate)
    chosen = int(np.count_nonzero(share.route))
    ties = int(np.count_nonzero(share.tied))
    tie = f"; {'1 ties and gets its part' if ties == 1 else f'{fmt.count(ties)} tie and split theirs evenly'}" if ties else ""
    won, places = selected(share)
    if places > share.route.size and 0 < won < places:
        whose = "copies" if share.route.size == 1 else "copied elements"
        so = "was chosen, and the gradient goes to it" if won == 1 else "were chosen, and the gradient goes to them"
        part = "" if won == int(won) else "; one that ties counts as its part"
        return f"{gate} routes: {fmt.part(won)} of {fmt.count(places)} {whose} of {{node}} {so} alone{part}"
    if share.route.size == 1:
        return f"{gate} {'passes the gradient on to' if chosen else 'blocks the gradient:'} {{node}}{'' if chosen else ' receives 0'}"
    if chosen == share.route.size and not ties:
        return f"{gate} routes: every element of {{node}} was chosen and receives its gradient"
    some = f"{fmt.count(chosen)} of {fmt.counted(share.route.size, 'element')} of {{node}}"
    if not chosen:
        return f"{gate} routes: none of {fmt.counted(share.route.size, 'element')} of {{node}} was chosen, and ∂ of each is 0"
    return f"{gate} routes: {some} {'was chosen, and the gradient goes to it' if chosen == 1 else 'were chosen, and the gradient goes to them'} alone{tie}"


def _leaf(node: TraceNode, step: Step) -> str:
    held, now, added = (array is not None and array.size == 1 for array in (step.before, step.after, node.cotangent))
    holds = _holds(step.after)
    tail = f", with {holds}" if holds else ""
    if step.before is None:
        return f"{{node}}.grad was None and now holds ∂{{symbol}}{' = {after}' if now else ''}{tail}."
    if not np.any(step.before):
        return f"{{node}}.grad held zeros, and ∂{{symbol}}{' = {cotangent}' if added else ''} is added to it{tail}."
    sums = "; the sum is {after}" if held and now else ""
    return f"{{node}}.grad already held {'{before}' if held else 'a gradient'}, and ∂{{symbol}}{' = {cotangent}' if added else ''} is added to it{sums}{tail}. Without zero_grad() it keeps growing."


_FOLLOWS = "∂{symbol} follows from a share set by hand: it is no derivative."


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
