"""An exercise on a function of the teacher's own: its backward rule, judged against the engine's answer. Imports the exercise and the engine."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tensorviz.arguments import is_list, shown, whole
from tensorviz.engine.tensor import Tensor, tensor
from tensorviz.errors import DTypeError, OptionError, OptionTypeError
from tensorviz.teaching.exercise import Case, Exercise, Part
from tensorviz.teaching.exercises.answers import gradients, random

Shapes = tuple[tuple[int, ...], ...]


def own(function: Callable[..., Any], shapes: Any, task: str | None) -> Exercise:
    """The exercise on ``function(*operands)``, with operands of the given shapes, once or for several cases; see :func:`tensorviz.teaching.exercise.exercise`."""
    names = _operands(function)
    cases = _cases(names, shapes)
    called = getattr(function, "__name__", "f")
    called = called if called.isidentifier() else "f"
    listed = ", ".join(names)
    for operands in cases:  # what cannot be asked is said to the teacher, not to the class
        _tried(function, names, operands)
    shares = "the share of " + names[0] if len(names) == 1 else "the shares of " + " and ".join((", ".join(names[:-1]), names[-1])) + " as a tuple"
    words = task or f"y = {called}({listed}). Write its backward rule: g is the gradient of y; return {shares}, each in the shape of its operand."

    def made(rng: np.random.Generator) -> Iterator[Case]:
        for operands in cases:
            values = _drawn(function, operands, rng)
            g = random(rng, np.shape(_result(function, values)))
            right = gradients(function, values, g)
            alone = gradients(function, values, np.ones(np.shape(g)))
            parts = tuple(
                Part(
                    f"the share of {name}",
                    right[i],
                    (
                        ("without-g", alone[i]),
                        ("passed-on" if g.shape == right[i].shape else "not-summed", g),
                        *(("swapped", other) for k, other in enumerate(right) if k != i and other.shape == right[i].shape),
                        *((("transposed", right[i].T),) if right[i].ndim == 2 else ()),
                    ),
                )
                for i, name in enumerate(names)
            )
            yield Case(", ".join(f"{name} of shape {shape}" for name, shape in zip(names, operands, strict=True)), (g, *values), parts)

    return Exercise(called, words, f"rule(g, {listed})", made)


def _operands(function: Callable[..., Any]) -> tuple[str, ...]:
    parameters = inspect.signature(function).parameters.values()
    names = tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty)
    if not names:
        raise OptionError("exercise: the function must take its operands by position, as in lambda x, w: np.tanh(x @ w)")
    return names


def _cases(names: tuple[str, ...], shapes: Any) -> list[Shapes]:
    example = f"shapes=[{', '.join(['(4, 3)'] * len(names))}], one for each of {', '.join(names)}, or a list of such lists"
    if not is_list(shapes) or not len(list(shapes)):
        raise OptionTypeError(f"exercise: a function needs the shapes of its operands: {example}; got {shown(shapes)}")
    several = [list(shape) if is_list(shape) else shape for shape in shapes]
    if all(isinstance(shape, list) and all(map(is_list, shape)) and shape for shape in several):
        return [_one(names, case, example) for case in several]
    return [_one(names, several, example)]


def _one(names: tuple[str, ...], shapes: Sequence[Any], example: str) -> Shapes:
    if len(shapes) != len(names) or not all(map(is_list, shapes)):
        raise OptionError(f"exercise: shapes must be {example}; got {shown(list(shapes))}")
    return tuple(tuple(whole("exercise", "a size in shapes", n, least=0) for n in shape) for shape in shapes)


def _result(function: Callable[..., Any], values: Sequence[Any]) -> Any:
    with np.errstate(all="ignore"):
        return np.asarray(function(*values))


def _drawn(function: Callable[..., Any], shapes: Shapes, rng: np.random.Generator) -> list[Any]:
    """Numbers at which the result is finite: of both signs where that goes, else positive."""
    values = [random(rng, shape) for shape in shapes]
    return values if np.isfinite(_result(function, values)).all() else [np.abs(v) for v in values]


def _tried(function: Callable[..., Any], names: tuple[str, ...], shapes: Shapes) -> None:
    values = _drawn(function, shapes, np.random.default_rng(0))
    what = ", ".join(f"{name} of shape {shape}" for name, shape in zip(names, shapes, strict=True))
    result = function(*[tensor(v, requires_grad=True) for v in values])
    if not isinstance(result, Tensor) or not result.requires_grad:
        raise DTypeError(
            f"exercise: with {what} the function returns {shown(result)}, of which there is no gradient; it should return one recorded result"
        )
    if not np.isfinite(result.data).all():
        raise OptionError(f"exercise: with {what} the function has NaN or infinities in its result, for numbers from 0.5 to 2 too")
