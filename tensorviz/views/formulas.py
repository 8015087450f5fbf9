"""The rule of one share as a formula: in the user's names, and with the numbers of one entry put in. Imports trace and other views only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Literal

import numpy as np

from tensorviz.axes import in_words
from tensorviz.trace import Array, Share, Trace, TraceNode
from tensorviz.views import format as fmt
from tensorviz.views.captions import title
from tensorviz.views.text import visible

Kind = Literal["text", "value", "gradient"]

_PIECE = re.compile(r"(?P<name>[^\W\d]\w*)|(?P<number>\d+(?:\.\d+)?)|(?P<sign>\*\*|//|[-+*/(),@])|(?P<other>\s+|.)", re.DOTALL)
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
_ENTRYWISE = re.compile(r"[\w\s.+\-*/(),]+")
_PRODUCT = re.compile(r"(\w+)(\.T)? @ (\w+)(\.T)?")
_FRACTIONS = {2: "½", 3: "⅓", 4: "¼", 5: "⅕", 6: "⅙", 8: "⅛"}
MOST_TERMS = 4
"""Of a sum that is written out; of a longer one the first two and how many there are."""
FEW = 8
"""Words of a rule that are looked up whether it names them or not."""
LONGEST = 24
"""Characters of a name inside a formula."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A few characters of a formula, and what they stand for."""

    text: str
    kind: Kind = "text"
    raised: bool = False
    """Part of an exponent."""


Pieces = tuple[Piece, ...]


def said(pieces: Sequence[Piece]) -> str:
    """The pieces as one line; an exponent is written with ``**``.

    >>> said((Piece("x"), Piece("2", raised=True)))
    'x ** 2'
    """
    out: list[str] = []
    for i, piece in enumerate(pieces):
        starts = piece.raised and not (i and pieces[i - 1].raised)
        ends = piece.raised and not (i + 1 < len(pieces) and pieces[i + 1].raised)
        if starts:
            out.append(" ** " if ends else " ** (")
        out.append(piece.text)
        if ends and not starts:
            out.append(")")
    return "".join(out)


@dataclass(frozen=True, slots=True)
class Formula:
    """One share: ``∂b = Σ axis 0 of ∂(X + b)``, and for one entry ``∂b[0] = 2.2 + 8.2 = 10.4``."""

    left: str
    """``∂b``"""
    sign: str
    """``=`` where this is the only share, ``←`` where others add to it."""
    summed: str
    """``Σ axis 0``, or empty."""
    rule: Pieces
    """The rule in the names of the user's program."""
    entry: str = ""
    """Which entry the numbers are of: ``[0, 2]``; empty for a single number."""
    worked: Pieces = ()
    """The same with numbers; nothing where they would be many, or would say no more than the names."""
    result: str = ""

    @property
    def names(self) -> str:
        """The rule as text."""
        return said(self.rule)

    @property
    def numbers(self) -> str:
        """The line with numbers as text; empty where there is none."""
        return f"{self.left}{self.entry} {self.sign} {said(self.worked)} = {self.result}" if self.worked else ""

    def __str__(self) -> str:
        right = f"{self.summed} of {self.names}" if self.summed else self.names
        return f"{self.left} {self.sign} {right}" + (f"\n{self.numbers}" if self.numbers else "")


def formula(trace: Trace, share: Share) -> Formula:
    """The formula of a share.

    Names are those that captions use. The recorded rule is in the op's own words (``g * b``): ``g`` becomes ``∂`` of the consumer, operands and saved
    values become their nodes, ``out`` becomes the consumer itself.
    """
    return Formulas(trace).of(share)


class Formulas:
    """The formulas of one trace; each name is made once."""

    def __init__(self, trace: Trace) -> None:
        self._nodes = trace.nodes
        self._symbols: dict[int, str] = {}

    def symbol(self, i: int) -> str:
        """A node's name as a factor: in brackets where it is an expression."""
        found = self._symbols.get(i)
        if found is None:
            found = self._symbols[i] = symbol(self._nodes[i])
        return found

    def of(self, share: Share) -> Formula:
        """The formula of a share, with the numbers of one entry where they help."""
        consumer, target = self._nodes[share.consumer], self._nodes[share.target]
        if share.by_hand:
            return Formula(f"∂{self.symbol(target.id)}", "=" if len(target.shares) == 1 else "←", "", _given(share))
        rule = _rule(consumer, share)
        pieces = self._named(consumer, rule)
        left, sign = f"∂{self.symbol(target.id)}", "=" if len(target.shares) == 1 else "←"
        summed = f"Σ {in_words(share.summed_axes)}" if share.summed_axes else ""
        index, worked = _numbers(self._nodes, consumer, share, rule)
        if not worked:
            return Formula(left, sign, summed, pieces)
        entry = f"[{', '.join(map(str, index))}]" if share.value.size > 1 else ""
        return Formula(left, sign, summed, pieces, entry, worked, fmt.number(share.value[index]))

    def _named(self, consumer: TraceNode, rule: str) -> Pieces:
        words = self._words(consumer, rule)
        return _pieces(rule, words) if rule else (Piece(f"{visible(consumer.op)}'s rule of "), words["g"])

    def _words(self, consumer: TraceNode, rule: str) -> dict[str, Piece]:
        found = {w: Piece(self.symbol(consumer.id if slot < 0 else consumer.inputs[slot]), "value") for w, slot in _operands(consumer, rule)}
        found["g"] = Piece(f"∂{self.symbol(consumer.id)}", "gradient")
        return found


def symbol(node: TraceNode) -> str:
    """A node's name as a factor: in brackets where it is an expression."""
    return _factor(title(node))


@lru_cache(maxsize=4096)
def _factor(called: str) -> str:
    whole = visible(called)
    name = whole if len(whole) <= LONGEST else f"{whole[: LONGEST // 2 - 1]}…{whole[-LONGEST // 2 :]}"  # names of a model differ in their ends
    return name if re.fullmatch(r"[\w.\[\]…]+", name) else f"({name})"


def _given(share: Share) -> Pieces:
    """What stands in the place of a rule where a share was set by hand."""
    one = share.value.size == 1
    return (Piece(fmt.number(share.value.reshape(()).item()), "gradient"), Piece(", set by hand")) if one else (Piece("set by hand"),)


def _rule(consumer: TraceNode, share: Share) -> str:
    """The share's rule in the op's own words; empty where it has none."""
    return consumer.formulas[share.slot] if share.slot < len(consumer.formulas) else ""


# ---- names ---------------------------------------------------------------------------------------------------------------


def _operands(consumer: TraceNode, rule: str) -> list[tuple[str, int]]:
    """What each word of a rule stands for: a slot's position, -1 for the result. Of an op that joins many operands only what its rule names."""
    known = _slots(consumer.slots, len(consumer.inputs), tuple(consumer.saved_from.items()))
    if len(known) <= FEW:
        return list(known.items())
    return [(word, known[word]) for word in dict.fromkeys(token for token, _ in _tokens(rule)) if word in known]


@lru_cache(maxsize=64)
def _slots(names: tuple[str, ...], arity: int, saved_from: tuple[tuple[str, int], ...]) -> dict[str, int]:
    found = {name: i for i, name in enumerate(names) if i < arity}
    return found | {"out": -1} | {name: slot for name, slot in saved_from if slot < arity}


_SIGNS = {"*": "·", "-": fmt.MINUS}


def _pieces(rule: str, words: Mapping[str, Piece]) -> Pieces:
    """The rule in the words given, signs as in print; everything else, its spaces too, stays as it is."""

    def piece(token: str, up: bool) -> Piece:
        found = words.get(token) or Piece(_SIGNS.get(token, visible(token)))
        return Piece(found.text, found.kind, True) if up else found

    return _joined(piece(token, up) for token, up in _tokens(rule))


@cache
def _tokens(rule: str) -> tuple[tuple[str, bool], ...]:
    return tuple(_split(rule))


def _split(rule: str) -> Iterator[tuple[str, bool]]:
    """The tokens of a rule, and whether each stands in an exponent; the signs of power themselves and the brackets around exponents are left out."""
    found = [match[0] for match in _PIECE.finditer(rule)]
    i = 0
    while i < len(found):
        if i + 1 < len(found) and found[i].isspace() and found[i + 1] == "**":
            i += 1
        if found[i] != "**":
            yield found[i], False
            i += 1
            continue
        i += 1
        while i < len(found) and found[i].isspace():
            i += 1
        start, depth = i, 0
        while i < len(found):
            depth += (found[i] == "(") - (found[i] == ")")
            i += 1
            if depth <= 0 and found[i - 1] != "-":
                break
        inside = found[start:i]
        if len(inside) > 2 and inside[0] == "(" and inside[-1] == ")":
            inside = inside[1:-1]
        yield from ((token, True) for token in inside)


def _joined(pieces: Iterable[Piece]) -> Pieces:
    """Neighbours of one kind as one piece."""
    out: list[Piece] = []
    for piece in pieces:
        last = out[-1] if out else None
        if last is not None and last.kind == piece.kind == "text" and last.raised == piece.raised:
            out[-1] = Piece(last.text + piece.text, last.kind, last.raised)
        else:
            out.append(piece)
    return tuple(out)


# ---- numbers -------------------------------------------------------------------------------------------------------------


def _numbers(nodes: Sequence[TraceNode], consumer: TraceNode, share: Share, rule: str) -> tuple[tuple[int, ...], Pieces]:
    """One entry of the share, and its calculation; no pieces where there is none that helps."""
    if not share.value.size or not share.local.size or share.value.dtype.kind not in "biuf":
        return (), ()
    index = _telling(share)
    if share.summed_axes:
        return index, _sum((_number(x),) for x in _terms(share, index))
    if share.route is not None and share.route.shape == share.value.shape:
        return index, _routed(float(share.route[index]), float(share.value[index]))
    values = _values(nodes, consumer, share, rule)
    if values is None:
        return (), ()
    product = _product(rule, values, share, index)
    if product:
        return index, product
    # "g / n, repeated along the averaged axes": what stands before the words is the formula
    spelled = _substitute(rule.split(", ")[0] if "(" not in rule else rule, values, share.local.shape, index)
    # A rule that only hands the gradient on says nothing as numbers that its names have not said.
    return index, spelled if len(spelled) > 1 else ()


def _telling(share: Share) -> tuple[int, ...]:
    """The entry that is spelled out: a NaN where there is one, else an infinity, else a tie, else the largest; of several the first.

    Of a share that was summed it is the first that is not zero: the strip that pictures of the sum begin with.
    """
    flat = share.value.ravel()
    size = np.abs(flat.astype(float, copy=False))
    route = share.route.ravel() if share.route is not None and share.route.shape == share.value.shape else None
    ties = None if route is None else (route > 0) & (route < 1) & (size > 0)
    for wanted in (np.isnan(size), np.isinf(size), size > 0 if share.summed_axes else ties):
        if wanted is not None and wanted.any():
            return _unravelled(int(np.argmax(wanted)), share)
    return _unravelled(int(np.argmax(size)), share)


def _unravelled(position: int, share: Share) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(position, share.value.shape))


def _routed(weight: float, value: float) -> Pieces:
    if not weight:
        return ()
    parts = round(1 / weight)
    word = "1" if weight == 1 else _FRACTIONS.get(parts, f"1/{parts}") if abs(weight * parts - 1) < 1e-6 else fmt.number(weight)
    return (Piece(f"{word} · "), _number(value / weight))


def _terms(share: Share, index: tuple[int, ...]) -> list[float]:
    """The entries of the local share that add up to one entry of the share."""
    grown = share.local.ndim - share.value.ndim
    picked = tuple(slice(None) if axis in share.summed_axes else index[axis - grown] for axis in range(share.local.ndim))
    return [float(x) for x in np.asarray(share.local[picked]).ravel()]


def _sum(terms: Iterable[Sequence[Piece]]) -> Pieces:
    """Terms with signs between them; of many the first two."""
    listed = list(terms)
    shown = listed if len(listed) <= MOST_TERMS else listed[:2]
    out: list[Piece] = []
    for i, term in enumerate(shown):
        alone = len(term) == 1 and term[0].text.startswith("(")
        if i:
            out.append(Piece(f" {fmt.MINUS} " if alone else " + "))
            out.extend([replace(term[0], text=term[0].text[2:-1])] if alone else term)
        else:
            out.extend([_bare(term[0]), *term[1:]])
    if len(listed) > len(shown):
        out.append(Piece(f" + … ({fmt.counted(len(listed), 'term')})"))
    return _joined(out)


def _values(nodes: Sequence[TraceNode], consumer: TraceNode, share: Share, rule: str) -> Mapping[str, tuple[Array, Kind]] | None:
    if consumer.cotangent is None:
        return None

    def grown(a: Array) -> Array:
        """A reduction's result with the axes back that it lost, so that it stands beside its operand."""
        axis = consumer.params.get("axis")
        if a.shape != consumer.shape or a.ndim >= share.local.ndim or axis is None:
            return a
        lost = axis if isinstance(axis, tuple) else (axis,)
        return np.expand_dims(a, tuple(lost)) if len(lost) == share.local.ndim - a.ndim else a

    found: dict[str, tuple[Array, Kind]] = {
        word: (grown(consumer.value) if slot < 0 else nodes[consumer.inputs[slot]].value, "value") for word, slot in _operands(consumer, rule)
    }
    for name, value in (*consumer.saved.items(), *((k, v) for k, v in consumer.params.items() if type(v) in (int, float))):
        found.setdefault(name, (np.asarray(value), "value"))
    if "axis" in consumer.params and consumer.value.size:
        found.setdefault("n", (np.asarray(share.local.size / consumer.value.size), "text"))  # what a mean divides by
    found["g"] = (grown(consumer.cotangent), "gradient")
    return found


def _product(rule: str, values: Mapping[str, tuple[Array, Kind]], share: Share, index: tuple[int, ...]) -> Pieces:
    """``g @ b.T`` for one entry: a row of the one times a column of the other, term by term."""
    match = _PRODUCT.fullmatch(rule)
    if match is None or match[1] not in values or match[3] not in values:
        return ()
    rows = {"a", "x"}
    """Operands that stand on the left of the product."""
    one_row = any(values[word][0].ndim == 1 for word in rows & values.keys())
    if any(values[match[i]][0].ndim > 2 for i in (1, 3)) or share.local.ndim > 2:
        return ()

    def table(word: str) -> Array:
        """As a matrix: a vector on the left is one row, one on the right one column, and the gradient of their product fits both."""
        a = values[word][0]
        if a.ndim == 2:
            return a
        return a.reshape(1, -1) if word in rows or (word == "g" and one_row) else a.reshape(-1, 1)

    left, right = (table(match[i]).T if match[i + 1] else table(match[i]) for i in (1, 3))
    if left.shape[1] != right.shape[0] or left.shape[0] * right.shape[1] != share.local.size:
        return ()
    row, column = divmod(int(np.ravel_multi_index(index, share.local.shape)) if index else 0, right.shape[1])
    kinds = (values[match[1]][1], values[match[3]][1])
    return _sum((_number(x, kinds[0]), Piece(" · "), _number(y, kinds[1])) for x, y in zip(left[row], right[:, column], strict=True))


def _substitute(rule: str, values: Mapping[str, tuple[Array, Kind]], shape: tuple[int, ...], index: tuple[int, ...]) -> Pieces:
    """The rule with one entry of each value put in; nothing where it is no formula of single entries."""
    if not _ENTRYWISE.fullmatch(rule):
        return ()
    out: list[Piece] = []
    for token, up in _tokens(rule):
        if token in values:
            array, kind = values[token]
            try:
                piece = _number(array.item() if array.size == 1 else np.broadcast_to(array, shape)[index], kind, up)
            except ValueError:
                return ()
        elif token[0].isidentifier() and token not in _FUNCTIONS:
            return ()
        else:
            piece = Piece(_SIGNS.get(token, token), "text", up)
        out.append(piece)
    if out and not (len(out) > 1 and out[1].raised):
        out[0] = _bare(out[0])
    return _joined(out)


def _bare(piece: Piece) -> Piece:
    """A negative number that stands first needs no brackets."""
    return replace(piece, text=piece.text[1:-1]) if piece.text.startswith(f"({fmt.MINUS}") else piece


def _number(value: float, kind: Kind = "gradient", raised: bool = False) -> Piece:
    word = fmt.number(float(value))  # a truth value counts as 1 or 0 in a formula
    return Piece(f"({word})" if word.startswith(fmt.MINUS) else word, kind, raised)
