"""Exercises that check themselves: a student's function against computed answers on hidden shapes. Imports the record's vocabulary and the engine by way of the exercises."""

from __future__ import annotations

import html
import linecache
import os
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tensorviz.arguments import function as must_be_a_function
from tensorviz.arguments import shown, whole
from tensorviz.errors import OptionError
from tensorviz.teaching.feedback import Feedback
from tensorviz.teaching.hints import HINTS, apart, diagnose
from tensorviz.teaching.reading import numbers, several
from tensorviz.teaching.reading import whole as whole_number

TOLERANCE = 1e-6
"""How far an answer may be off, relative to max(1, |x|): another order of the same float64 sums is; another formula is not."""


@dataclass(frozen=True)
class Part:
    """One thing that a function is to return in one case, and what typical mistakes would give in its place."""

    name: str
    expected: Any
    wrong: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Case:
    """One call of the student's function."""

    what: str
    """What is particular about it: ``a tie``, ``a of shape (2, 3), b of shape (3,)``."""
    arguments: tuple[Any, ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Exercise:
    """One task; :meth:`check` judges a student's function.

    >>> import numpy as np
    >>> relu = exercise("relu")
    >>> print(relu.check(lambda g, x: np.where(x > 0, g, 0.0)).ok)
    True
    >>> said = relu.check(lambda g, x: np.where(x >= 0, g, 0.0))
    >>> said.mistake, said.hint
    ('at-the-kink', 'at exactly 0 the gradient is 0 here.')
    """

    name: str
    task: str
    """What is to be written, in words."""
    signature: str
    """How the function is called: ``rule(g, x)``."""
    cases: Callable[[np.random.Generator], Iterable[Case]] = field(repr=False)
    """The hidden cases, made from a generator."""
    axes: bool = False
    """The answer is a set of axes, in any order."""
    judge: Callable[[Any, np.random.Generator], Feedback | None] | None = field(default=None, repr=False)
    """Instead of ``cases``: judges the answer as a whole; None where it is right."""

    def check(self, function: Callable[..., Any], *, seed: int = 0) -> Feedback:
        """Run the student's function on hidden cases, and say in words whether it is right; if not, the first wrong element and a hint.

        Nothing is raised for a wrong answer, nor for an exception in the student's code: it is told, with its line. ``seed`` chooses the numbers.
        """
        must_be_a_function(f"exercise({self.name!r}).check", "function", function)
        rng = np.random.default_rng(whole("exercise.check", "seed", seed, least=0))
        if self.judge is not None:
            said = self.judge(function, rng)
            return Feedback(True, "Right: every hidden expression agrees.") if said is None else said
        cases = list(self.cases(rng))
        for case in cases:
            said = self._one(function, case)
            if said is not None:
                return said
        return Feedback(True, f"Right: {len(cases)} hidden cases, among them {', '.join(dict.fromkeys(c.what for c in cases[-3:]))}.")

    def _one(self, function: Callable[..., Any], case: Case) -> Feedback | None:
        try:
            with np.errstate(all="ignore"):
                returned = function(*(np.array(a) if isinstance(a, np.ndarray) else a for a in case.arguments))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the student's code may raise anything, and is told what
            return raised(error, case.what)
        if returned is None:
            return Feedback(False, "Your function returned None: is there a return statement?", mistake="", where=case.what)
        if self.axes:
            return _axes(returned, case)
        values: Sequence[Any] = [returned]
        if len(case.parts) > 1:
            if not isinstance(returned, (tuple, list)) or len(returned) != len(case.parts):
                got = f"{len(returned)} values" if isinstance(returned, (tuple, list)) else f"a single {type(returned).__name__}"
                return Feedback(
                    False,
                    f"Your function should return {len(case.parts)} values, {_names(case.parts)}, as a tuple; it returned {got}.",
                    where=case.what,
                )
            values = returned
        for part, value in zip(case.parts, values, strict=True):
            said = judged(part, value, case.what)
            if said is not None:
                return said
        return None

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self.task)}</p><p><code>{html.escape(self.signature)}</code></p><p>{html.escape(self._how)}</p>"

    def __str__(self) -> str:
        return f"{self.task}\n{self.signature}\n{self._how}"

    @property
    def _how(self) -> str:
        return f"Try it: .check({self.signature.partition('(')[0].removeprefix('class ')}) says whether yours is right."


def judged(part: Part, value: Any, what: str) -> Feedback | None:
    """What there is to say about one returned value; None where it is right."""
    try:
        got = numbers(value, "iufb")
    except OptionError:
        return Feedback(False, f"In the case “{what}”, {part.name} should be an array of numbers, got {shown(value)}.", where=what, got=value)
    expected = np.asarray(part.expected, dtype=float)
    if got.shape != expected.shape:
        mistake = diagnose(got, expected, part.wrong, TOLERANCE)
        words = f"Not yet. In the case “{what}”, {part.name} should have shape {expected.shape}, got {got.shape}."
        return Feedback(False, words, HINTS.get(mistake, ""), mistake, what, None, expected.shape, got.shape)
    off = apart(got, expected, TOLERANCE)
    if not off.any():
        return None
    index = tuple(int(i) for i in np.argwhere(off)[0])
    mistake = diagnose(got, expected, part.wrong, TOLERANCE)
    at = f" at index {index if len(index) != 1 else index[0]}" if index else ""
    words = f"Not yet. In the case “{what}”, {part.name}{at}: expected {_number(expected[index])}, got {_number(got[index])}."
    return Feedback(False, words, HINTS.get(mistake, ""), mistake, what, index, float(expected[index]), float(got[index]))


def _axes(returned: Any, case: Case) -> Feedback | None:
    part = case.parts[0]
    try:
        got = tuple(sorted({whole_number(a) for a in several(returned)}))
    except OptionError:
        return Feedback(False, f"Your function should return axes, such as (0, 2), and returned {shown(returned)}.", where=case.what, got=returned)
    if got == part.expected:
        return None
    mistake = next((kind for kind, axes in part.wrong if tuple(axes) == got != part.expected), "")
    odd = min(set(got) ^ set(part.expected))
    which = "should be among them" if odd in part.expected else "should not be among them"
    words = f"Not yet. In the case “{case.what}”: expected {part.expected}, got {got}; axis {odd} {which}."
    return Feedback(False, words, HINTS.get(mistake, ""), mistake, case.what, None, part.expected, got)


def raised(error: BaseException, what: str) -> Feedback:
    """What is said of an exception in the student's code: its text and the line."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not _ours(f.filename)]
    where = ""
    if frames:
        last = frames[-1]
        line = (last.line or linecache.getline(last.filename, last.lineno or 0)).strip()
        where = f", in line {last.lineno} of {last.name}" + (f": {line}" if line else "")
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return Feedback(False, f"Your code raised {text}{where}. That was in the case “{what}”.", mistake="", where=what)


_NOT_THEIRS = tuple(str(Path(f).resolve().parent) + os.sep for f in (np.__file__, Path(__file__).parent))
"""The folders of this package and of NumPy, whose frames are not where the student looks."""


def _ours(filename: str) -> bool:
    return filename.startswith(_NOT_THEIRS)


def _names(parts: Sequence[Part]) -> str:
    names = [p.name for p in parts]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _number(value: Any) -> str:
    from tensorviz.views.format import number

    return number(value, 6)


def exercise(rule: str | Callable[..., Any], *, shapes: Any = None, task: str | None = None) -> Exercise:
    """The exercise of that name: its ``task``, and ``check(function)``, which judges a student's function on hidden shapes.

    Of a function of your own, written in NumPy, it asks for the backward rule: give the ``shapes`` of its operands, once or as a list of several cases,
    and in ``task`` your own words if you like.

    ``rule``: ``"summed_axes"``, ``"unbroadcast"``, ``"add"``, ``"mul"``, ``"matmul"``, ``"inverse_order"``, ``"permute"``, ``"pad"``, ``"sum"``, ``"relu"``,
    ``"max"``, ``"sigmoid"``, ``"softmax"``, ``"affine"``, ``"standardize"``, ``"cross_entropy"``, ``"numeric_gradient"``, ``"relative_error"``,
    ``"matmul_direction"``, ``"engine"`` (a whole scalar engine), or any elementwise op (``"tanh"``, ``"log"``, ``"div"``).

    >>> summed = exercise("summed_axes")
    >>> print(summed.signature)
    summed_axes(from_shape, to_shape)
    >>> print(summed.check(lambda from_shape, to_shape: tuple(range(len(from_shape) - len(to_shape)))).hint)
    an axis is missing. Summed is every axis put in front, and every one at which the operand has size 1 and the result has not.

    >>> import numpy as np
    >>> layer = exercise(lambda x, w: np.tanh(x @ w), shapes=[[(4, 3), (3, 2)], [(1, 3), (3, 1)]])
    >>> print(layer.check(lambda g, x, w: (g @ w.T, x.T @ g)))
    Not yet. In the case “x of shape (4, 3), w of shape (3, 2)”, the share of x at index (0, 0): expected 0.754495, got 0.224135.
    """
    if callable(rule):
        from tensorviz.teaching.exercises.own import own

        return own(rule, shapes, task)
    if shapes is not None or task is not None:
        raise OptionError("exercise: shapes= and task= go with a function of your own; an exercise by name has its own")
    from tensorviz.teaching.exercises import EXERCISES
    from tensorviz.teaching.exercises.elementwise import elementwise, names

    if isinstance(rule, str):
        if rule in EXERCISES:
            return EXERCISES[rule]
        if rule in names():
            return elementwise(rule)
    raise OptionError(
        f"exercise: rule must be one of {', '.join(map(repr, EXERCISES))}, or an elementwise op such as 'tanh', or a function, got {rule!r}"
    )
