"""How numbers, arrays, counts and shapes are printed, everywhere the same. Imports nothing of ours.

The browser prints with the same rules (``format.ts``); both are held to ``tests/golden/format.json``. Ties in rounding go away from zero, which is
what JavaScript's ``toFixed`` does with the exact binary value, so that the two agree to the last digit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

MINUS = "\u2212"
PAD = "\u00a0"
DIGITS = 4
"""Significant digits of a value; errors are printed with two."""
_EXACT = Context(prec=400, rounding=ROUND_HALF_UP)
"""Enough digits for any double below 1e5 to be rounded from its exact binary value."""


def number(value: Any, digits: int = DIGITS) -> str:
    """One number with at most ``digits`` significant digits, trailing zeros off.

    Exact zero is ``0``. Below 1e-4 and from 1e5 on, an exponent.

    >>> number(0.1 + 0.2), number(-2.0), number(123456.0), number(float("nan")), number(0.0), number(True)
    ('0.3', '−2', '1.235e5', 'NaN', '0', 'True')
    """
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    x = float(value)
    if math.isnan(x):
        return "NaN"
    if math.isinf(x):
        return "+∞" if x > 0 else MINUS + "∞"
    if x == 0:
        return "0"
    sign = MINUS if x < 0 else ""
    mantissa, exponent = _scientific(abs(x), digits)
    if exponent >= 5 or exponent < -4:
        return f"{sign}{_trim(mantissa)}e{str(exponent).replace('-', MINUS)}"
    return sign + _trim(_fixed(abs(x), max(0, digits - 1 - exponent)))


def _scientific(x: float, digits: int) -> tuple[str, int]:
    exact = Decimal(x)
    rounded = Context(prec=digits, rounding=ROUND_HALF_UP).plus(exact)
    exponent = rounded.adjusted()
    return format(rounded.scaleb(-exponent), f".{digits - 1}f"), exponent


def _fixed(x: float, decimals: int) -> str:
    return format(Decimal(x).quantize(Decimal(1).scaleb(-decimals), context=_EXACT), "f")


def _trim(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def cells(values: npt.ArrayLike) -> list[str]:
    r"""The entries of one array, flat, with one count of decimals, so that right-aligned points stand in line.

    Where one count of decimals would cost an entry its digits, or an entry needs an exponent, each is printed by itself.

    >>> cells([1.0, 2.5, 0.0]), cells([True, False])
    (['1.0', '2.5', '0\xa0\xa0'], ['T', 'F'])
    """
    if np.asarray(values).dtype.kind == "b":
        return ["T" if v else "F" for v in np.asarray(values).ravel()]
    flat = [v.item() for v in np.asarray(values).ravel()]
    alone = [number(v) for v in flat]
    ordinary = [(v, text) for v, text in zip(flat, alone, strict=True) if math.isfinite(v) and v != 0]
    if any("e" in text for _, text in ordinary):
        return alone
    needed = max((len(text.partition(".")[2]) for _, text in ordinary), default=0)
    whole = max((_scientific(abs(float(v)), DIGITS)[1] + 1 for v, _ in ordinary), default=1)
    # Four digits for the largest, and up to six where a smaller one would keep fewer than two, or its only one not: 100.500 beside 0.033, 1000.0 beside 0.5.
    for decimals in range(min(needed, max(0, DIGITS - whole)), min(needed, max(0, DIGITS + 2 - whole)) + 1):
        if not any(_starved(text, _padded(v, decimals)) for v, text in ordinary):
            return [_padded(v, decimals) for v in flat]
    return alone


def _padded(v: Any, decimals: int) -> str:
    x = float(v)
    if not math.isfinite(x):
        return number(x)
    if x == 0:
        return "0" + PAD * (decimals + 1 if decimals else 0)
    return (MINUS if x < 0 else "") + _fixed(abs(x), decimals)


def _starved(alone: str, shared: str) -> bool:
    """Whether the shared count of decimals leaves fewer than two significant digits of a number that has more, or another number: 1 for 0.5."""
    kept, whole = (text.lstrip(MINUS).replace(".", "").lstrip("0") for text in (shared, alone))
    return len(kept) < 2 if len(whole) > 1 else len(shared) < len(alone)


def count(n: int) -> str:
    """A count, with thousands commas.

    >>> count(19960)
    '19,960'
    """
    return f"{n:,}"


def part(n: float) -> str:
    """A count of which one may be half chosen.

    >>> part(2.0), part(2.5), part(12345.0)
    ('2', '2.5', '12,345')
    """
    return count(int(n)) if n == int(n) else number(n)


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """A count with its noun.

    >>> counted(1, "share"), counted(1200, "node")
    ('1 share', '1,200 nodes')
    """
    return f"{count(n)} {noun if n == 1 else plural or noun + 's'}"


def shape(dims: Sequence[int]) -> str:
    """A shape as Python prints it.

    >>> shape((2, 3)), shape((3,)), shape(())
    ('(2, 3)', '(3,)', '()')
    """
    return str(tuple(int(d) for d in dims))


def norm(values: npt.ArrayLike) -> float:
    """The 2-norm of the finite entries, in float64, without overflow.

    >>> norm([3.0, float("nan"), 4.0])
    5.0
    """
    flat = np.asarray(values, dtype=np.float64).ravel()
    finite = flat if _is_finite(flat) else flat[np.isfinite(flat)]
    if not finite.size:
        return 0.0
    with np.errstate(all="ignore"):
        plain = math.sqrt(float(finite @ finite))
        if math.isfinite(plain) and (plain > 1e-150 or not finite.any()):
            return plain
        top = float(np.abs(finite).max())
        return top * math.sqrt(float(((finite / top) ** 2).sum()))


def _is_finite(flat: npt.NDArray[np.float64]) -> bool:
    return bool(np.isfinite(flat).all())


def specials(values: npt.ArrayLike) -> str:
    """NaN and infinities in words; the empty string where there is none.

    >>> specials([1.0, float("nan"), float("inf")])
    '1 NaN · 1 +∞'
    """
    flat = np.asarray(values)
    if flat.dtype.kind != "f" or _is_finite(flat):
        return ""
    found = ((np.isnan(flat), "NaN"), (np.isposinf(flat), "+∞"), (np.isneginf(flat), MINUS + "∞"))
    return " · ".join(f"{count(int(mask.sum()))} {word}" for mask, word in found if mask.any())


def stats(values: npt.ArrayLike) -> str:
    """What stands for an array that is too large to be spelled out: its norm, and its NaN and infinities in words; of truth values how many are true.

    >>> stats([3.0, 4.0]), stats([3.0, 4.0, float("nan")]), stats([]), stats([True, False])
    ('5', '5 · 1 NaN', 'empty', '1 of 2 true')
    """
    flat = np.asarray(values)
    if not flat.size:
        return "empty"
    if flat.dtype.kind == "b":
        return f"{count(int(flat.sum()))} of {count(flat.size)} true"
    strange = specials(flat)
    if strange and not np.isfinite(flat).any():
        return strange
    return f"{number(norm(flat))}{' · ' + strange if strange else ''}"
