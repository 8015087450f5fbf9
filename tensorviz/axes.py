"""Over which axes the share of a broadcast operand is summed, and what a sentence calls them. Imports nothing of ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def sum_axes(from_shape: Sequence[int], to_shape: Sequence[int]) -> tuple[int, ...]:
    """The axes over which a gradient of ``from_shape`` is summed for an operand of ``to_shape`` that was broadcast to it.

    Those that were prepended, and those where the operand has size 1 and the result does not.

    >>> sum_axes((5, 3, 4, 1), (3, 1, 1))
    (0, 2)
    """
    grown = len(from_shape) - len(to_shape)
    return tuple(range(grown)) + tuple(
        grown + i for i, (to, got) in enumerate(zip(to_shape, from_shape[grown:], strict=True)) if to == 1 and got != 1
    )


def in_words(axes: Iterable[int]) -> str:
    """Axes as a sentence names them.

    >>> in_words((0,)), in_words((0, 2))
    ('axis 0', 'axes 0, 2')
    """
    listed = [str(axis) for axis in axes]
    return f"{'axis' if len(listed) == 1 else 'axes'} {', '.join(listed)}"
