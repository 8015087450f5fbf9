"""The rule of one share as a formula: in the user's names, and with the numbers put in where they are few. Imports trace and other views only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tensorviz.trace import Array, Share, Trace, TraceNode
from tensorviz.views import format as fmt
from tensorviz.views.captions import title
from tensorviz.views.text import visible

_NAME = re.compile(r"[^\W\d]\w*")
_PIECE = re.compile(r"(?P<name>[^\W\d]\w*)|(?P<number>\d+(?:\.\d+)?)|(?P<sign>\*\*|//|[-+*/(),])|(?P<space>\s+)")
_FUNCTIONS = frozenset(
    [
        "abs",
        "arccos",
        "arccosh",
        "arcsin",
        "arcsinh",
        "arctan",
        "arctan2",
        "arctanh",
        "cbrt",
        "cos",
        "cosh",
        "exp",
        "exp2",
        "expm1",
        "log",
        "log1p",
        "log2",
        "log10",
        "max",
        "min",
        "sigmoid",
        "sign",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
    ]
)
"""Functions that work entry by entry, so that a formula with them can be written for one entry."""
MOST_TERMS = 4
"""Of a sum that is written out."""


@dataclass(frozen=True, slots=True)
class Formula:
    """One share: ``∂b = Σ axis 0 of ∂(X + b)``, and for one entry ``∂b[0] = 2.2 + 8.2 = 10.4``."""

    left: str
    """``∂b``"""
    sign: str
    """``=`` where this is the only share, ``←`` where others add to it."""
    summed: str
    """``Σ axis 0``, or empty."""
    names: str
    """The rule in the names of the user's program."""
    numbers: str
    """The same with numbers, for the whole or for the first entry; empty where they would be many."""

    def __str__(self) -> str:
        right = f"{self.summed} of {self.names}" if self.summed else self.names
        return f"{self.left} {self.sign} {right}" + (f"\n{self.numbers}" if self.numbers else "")


def formula(trace: Trace, share: Share) -> Formula:
    """The formula of a share.

    Names are those that captions use. The recorded rule is in the op's own words (``g * b``): ``g`` becomes ``∂`` of the consumer, operands and saved
    values become their nodes, ``out`` becomes the consumer itself.
    """
    consumer, target = trace.nodes[share.consumer], trace.nodes[share.target]
    rule = consumer.formulas[share.slot] if share.slot < len(consumer.formulas) else ""
    words = _words(trace, consumer)
    names = _pretty(_NAME.sub(lambda m: words.get(m[0], m[0]), rule)) if rule else f"{consumer.op}'s rule of {words['g']}"
    left = f"∂{symbol(target)}"
    summed = f"Σ {fmt.axes(share.summed_axes)}" if share.summed_axes else ""
    sign = "=" if len(target.shares) == 1 else "←"
    return Formula(left, sign, summed, visible(names), visible(_numbers(trace, consumer, share, rule, left, sign)))


def symbol(node: TraceNode) -> str:
    """A node's name as a factor: in brackets where it is an expression."""
    name = title(node)
    return name if re.fullmatch(r"[\w.\[\]]+", name) else f"({name})"


def _operands(consumer: TraceNode) -> dict[str, int]:
    """What each word of a rule stands for: a slot's position, -1 for the result."""
    found = {name: i for i, name in enumerate(consumer.slots) if i < len(consumer.inputs)}
    return found | {"out": -1} | {name: slot for name, slot in consumer.saved_from.items() if slot < len(consumer.inputs)}


def _words(trace: Trace, consumer: TraceNode) -> dict[str, str]:
    found = {word: symbol(consumer if slot < 0 else trace.nodes[consumer.inputs[slot]]) for word, slot in _operands(consumer).items()}
    return found | {"g": f"∂{symbol(consumer)}"}


def _pretty(rule: str) -> str:
    """Signs as in print: ``·`` and a true minus; powers stay ``**``."""
    rule = re.sub(r"(?<!\*)\s*\*\s*(?!\*)", " · ", rule)
    return rule.replace("-", fmt.MINUS)


def _numbers(trace: Trace, consumer: TraceNode, share: Share, rule: str, left: str, sign: str) -> str:
    if not share.value.size or not share.local.size:
        return ""
    index = (0,) * share.value.ndim
    at = (f"{left}[{', '.join('0' * share.value.ndim)}]" if share.value.size > 1 else left) + f" {sign}"
    result = fmt.number(share.value[index])
    if share.summed_axes:
        terms = _terms(share)
        return f"{at} {' + '.join(map(_bracketed, terms))} = {result}" if len(terms) <= MOST_TERMS else ""
    values = _values(trace, consumer)
    if values is None or share.local.shape != consumer.shape:
        return ""
    spelled = _substitute(rule, values, share.local.shape, index)
    # A rule that only hands the gradient on says nothing as numbers that its names have not said.
    return f"{at} {spelled} = {result}" if spelled and spelled != _bracketed(result) else ""


def _terms(share: Share) -> list[str]:
    """The entries of the local share that add up to the first entry of the share."""
    picked = tuple(slice(None) if axis in share.summed_axes else 0 for axis in range(share.local.ndim))
    return [fmt.number(x) for x in np.asarray(share.local[picked]).ravel()]


def _values(trace: Trace, consumer: TraceNode) -> Mapping[str, Array] | None:
    if consumer.cotangent is None:
        return None
    found = {word: consumer.value if slot < 0 else trace.nodes[consumer.inputs[slot]].value for word, slot in _operands(consumer).items()}
    found |= {name: np.asarray(value) for name, value in consumer.saved.items()}
    found |= {name: np.asarray(value) for name, value in consumer.params.items() if isinstance(value, (int, float)) and not isinstance(value, bool)}
    return found | {"g": consumer.cotangent}


def _substitute(rule: str, values: Mapping[str, Array], shape: tuple[int, ...], index: tuple[int, ...]) -> str:
    """The rule with one entry of each value put in; empty where it is no formula of single entries."""
    out: list[str] = []
    end = 0
    for piece in _PIECE.finditer(rule):
        if piece.start() != end:
            return ""
        end = piece.end()
        word = piece[0]
        if piece["name"] is None:
            out.append(word)
        elif word in values:
            entry = _entry(values[word], shape, index)
            if entry is None:
                return ""
            out.append(entry)
        elif word in _FUNCTIONS:
            out.append(word)
        else:
            return ""
    if end != len(rule):
        return ""
    return _pretty("".join(out))


def _entry(value: Array, shape: tuple[int, ...], index: tuple[int, ...]) -> str | None:
    try:
        return _bracketed(fmt.number(np.broadcast_to(value, shape)[index]))
    except ValueError:
        return None


def _bracketed(number: str) -> str:
    return f"({number})" if number.startswith(fmt.MINUS) else number
