"""What arguments may be: one refusal for each kind of them, which names the function and the argument, what is expected, and what came. Imports the errors only."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Real
from os import PathLike, fsencode, fspath
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorviz.errors import DTypeError, IndexingError, OptionError, OptionTypeError

if TYPE_CHECKING:
    from pathlib import Path

_LONGEST = 60


def shown(value: Any) -> str:
    """A value as an error shows it: in full while that is short, its type and shape otherwise.

    >>> shown("a"), shown(None), shown([1.0] * 100)
    ("'a'", 'None', 'a list')
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, list, tuple, dict, set)):
        try:
            text = repr(value)
        except Exception:  # noqa: BLE001 - an int of thousands of digits does not print, and what a list holds may have any repr
            text = ""
        if 0 < len(text) <= _LONGEST:
            return text
        return _a(type(value).__name__)
    shape = getattr(value, "shape", None)
    return f"{_a(type(value).__name__)}{f' of shape {shape}' if isinstance(shape, tuple) else ''}"


def _a(name: str) -> str:
    return f"{'an' if name[:1] in 'aeiouAEIOU' or name.startswith('nd') else 'a'} {name}"


def number(
    where: str,
    name: str,
    value: Any,
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    most: float = math.inf,
    below: float = math.inf,
    finite: bool = False,
) -> float:
    """``value`` as a float inside its bounds, of which ``least`` and ``most`` are allowed themselves. NaN is refused, and with ``finite`` infinity.

    >>> number("SGD", "lr", 0.1, least=0)
    0.1
    """
    if getattr(value, "requires_grad", False):
        raise OptionTypeError(
            f"{where}: {name} is a Tensor that requires a gradient, which it would not get here: it is a plain number. Write what it does in recorded ops, or give float(...) of it"
        )
    if isinstance(value, (bool, np.bool_)) or not (isinstance(value, Real) or _is_scalar(value)):
        raise OptionTypeError(f"{where}: {name} must be a {_kind(finite)}{_between(least, above, most, below)}, got {shown(value)}")
    try:
        found = float(value)
    except (OverflowError, TypeError, ValueError):
        found = math.nan
    if (finite and math.isinf(found)) or not (
        least <= found <= most and (found > above or above == -math.inf) and (found < below or below == math.inf)
    ):
        raise OptionError(f"{where}: {name} must be a {_kind(finite)}{_between(least, above, most, below)}, got {shown(value)}")
    return found


def _kind(finite: bool) -> str:
    return "finite number" if finite else "number"


def _between(least: float, above: float, most: float, below: float) -> str:
    """The bounds in words."""
    if abs(least) < math.inf and abs(most) < math.inf:
        return f" from {least:g} to {most:g}"
    found = [
        f"{word} {bound:g}"
        for word, bound in (("of at least", least), ("above", above), ("of at most", most), ("below", below))
        if abs(bound) < math.inf
    ]
    return f" {' and '.join(found)}" if found else ""


def _is_scalar(value: Any) -> bool:
    """A 0-d array or Tensor of real numbers."""
    return getattr(value, "shape", None) == () and getattr(getattr(value, "dtype", None), "kind", "") in ("f", "i", "u")


def whole(where: str, name: str, value: Any, *, least: int | None = None) -> int:
    """``value`` as a Python int, ``least`` or more.

    >>> whole("roll", "shift", np.int64(3))
    3
    """
    try:
        found = operator.index(value)
    except TypeError:
        found = None
    if found is None or isinstance(value, (bool, np.bool_)):
        raise OptionTypeError(f"{where}: {name} must be a whole number{_from(least)}, got {shown(value)}")
    if least is not None and found < least:
        raise OptionError(f"{where}: {name} must be a whole number{_from(least)}, got {shown(value)}")
    return found


def _from(least: int | None) -> str:
    return "" if least is None else f" of at least {least}"


def element(where: str, index: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The index of one element of an array of ``shape``, none of it negative; a single number for a vector.

    >>> element("error_curve", -1, (3,))
    (2,)
    """
    given = tuple(index) if isinstance(index, (tuple, list, np.ndarray)) and is_list(index) else (index,)
    found = tuple(whole(where, "index", i) for i in given)
    if len(found) != len(shape) or not all(-n <= i < n for i, n in zip(found, shape, strict=True)):
        raise IndexingError(f"{where}: there is no element {list(found)} in shape {shape}")
    return tuple(i % n for i, n in zip(found, shape, strict=True))


def dtype_of(where: str, value: Any) -> np.dtype[Any]:
    """``value`` as a dtype."""
    try:
        if isinstance(value, ModuleType):  # its attribute `dtype` is none, which NumPy 1 overlooks
            raise TypeError
        found: np.dtype[Any] = np.dtype(value)
    except (TypeError, ValueError):
        raise DTypeError(f"{where}: {shown(value)} is no dtype") from None
    return found


def one_of(where: str, name: str, value: Any, choices: Iterable[str]) -> None:
    """Refuse what is none of the choices, and list them."""
    known = tuple(choices)
    if not isinstance(value, str) or value not in known:
        raise OptionError(f"{where}{': ' if where else ''}{name} must be one of {', '.join(map(repr, known))}, got {shown(value)}")


def listed(where: str, name: str, value: Any, example: str) -> list[Any]:
    """The parts of a list, tuple or other iterable; refuse a text, of which the parts are letters, and what has none.

    >>> listed("quiz", "answers", (1, 2), "[2, None]")
    [1, 2]
    """
    if not is_list(value):
        raise OptionTypeError(f"{where}: {name} must be a list such as {example}, got {shown(value)}")
    return list(value)


def is_list(value: Any) -> bool:
    """Whether it has parts to go through; the letters of a text are none, and a 0-d array only looks as if it had.

    >>> is_list([1]), is_list("ab"), is_list(np.array(1))
    (True, False, False)
    """
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes)) and getattr(value, "shape", None) != ()


def flag(where: str, name: str, value: Any) -> bool:
    """``value`` as a bool; refuse what only counts as one, as ``"no"`` counts as True.

    >>> flag("to_svg", "legend", np.True_)
    True
    """
    if not isinstance(value, (bool, np.bool_)):
        raise OptionTypeError(f"{where}: {name} must be True or False, got {shown(value)}")
    return bool(value)


def function(where: str, name: str, value: Any) -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        raise DTypeError(f"{where}: {name} must be a function, got {shown(value)}")


def mapping(where: str, name: str, value: Any, example: str) -> Mapping[Any, Any]:
    """Refuse what is no dict, and show one."""
    if not isinstance(value, Mapping):
        raise DTypeError(f"{where}: {name} must be a dict such as {example}, got {shown(value)}")
    return value


def file(where: str, path: str | PathLike[str]) -> Path:
    """``path`` as a Path; refuse what is no name of a file."""
    from pathlib import Path

    try:
        name = fspath(path)
        found = Path(name)
    except TypeError:
        raise DTypeError(f"{where}: path must be the name of a file, got {shown(path)}") from None
    try:
        fsencode(name)
    except UnicodeEncodeError:
        name = ""
    if not name or "\0" in name:
        raise OptionError(f"{where}: path must be the name of a file, got {shown(path)}")
    return found


def written(where: str, path: str | PathLike[str], content: str | bytes) -> None:
    """Write a file, a text as UTF-8 with the ends of lines that it has."""
    target = file(where, path)
    with writing(where, target):
        target.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


@contextmanager
def writing(where: str, path: PathLike[str]) -> Iterator[None]:
    """Have what the system says of ``path`` said with the function and what to do, as the same kind of ``OSError``."""
    with _told(path, f"{where}: path must be a file that can be written, in a folder that exists"):
        yield


@contextmanager
def reading(where: str, path: PathLike[str]) -> Iterator[None]:
    """The same for a file that is read."""
    with _told(path, f"{where}: path must be a file that exists and can be read"):
        yield


@contextmanager
def _told(path: PathLike[str], wanted: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno is None:  # none of the system's
            raise
        raise OSError(error.errno, f"{wanted} ({error.strerror})", fspath(path)) from None
