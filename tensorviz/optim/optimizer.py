"""What every optimizer shares: which parameters it has, what it remembers of each, and its state. Imports the engine only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Never, Self

import numpy as np
import numpy.typing as npt

from tensorviz.arguments import mapping, number, shown
from tensorviz.engine.mode import no_grad
from tensorviz.engine.tensor import Tensor
from tensorviz.engine.words import refuse_arguments, refuse_words
from tensorviz.errors import DTypeError, GraphError, OptionError, StateError

Array = npt.NDArray[Any]


class Optimizer:
    """Moves parameters along their gradients. A subclass says in :meth:`update` what one parameter becomes.

    ``parameters`` are leaf Tensors that require a gradient, or (name, Tensor) pairs; names show up in errors and in the state.
    Raises ValueError for none at all and for one given twice, RuntimeError for a Tensor that is no leaf or requires no gradient, TypeError
    for what is no Tensor.

    As in PyTorch, but all parameters have the same settings (for groups with others use two optimizers), and they are attributes: ``lr`` may
    be set at any time.
    """

    settings: ClassVar[tuple[str, ...]] = ("lr",)
    """Attributes that are part of the state."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        refuse_arguments(cls, args, kwargs)
        return super().__new__(cls)

    def __init__(self, parameters: Iterable[Tensor] | Iterable[tuple[str, Tensor]], lr: float) -> None:
        self.lr = number(type(self).__name__, "lr", lr, least=0)
        self.parameters = _named(type(self).__name__, parameters)
        self._memory: dict[str, dict[str, Array]] = {}

    def update(self, value: Array, gradient: Array, memory: dict[str, Array]) -> Array:
        """The new values of one parameter. ``memory`` is what the optimizer keeps of it between steps; empty at the first."""
        raise NotImplementedError(f"{type(self).__name__} has no update(value, gradient, memory)")

    def step(self) -> None:
        """Move every parameter that has a gradient. Records, and results computed so far, keep the values that they were computed with."""
        with no_grad():
            for name, p in self.parameters.items():
                if p.grad is not None:
                    p.data = self.update(p.numpy(), p.grad, self._memory.setdefault(name, {}))

    def zero_grad(self, **words: Never) -> None:
        """Forget the gradients of all parameters (``.grad`` becomes None)."""
        if words:
            refuse_words(Optimizer.zero_grad, words)
        for p in self.parameters.values():
            p.zero_grad()

    def state_dict(self) -> dict[str, Array]:
        """Copies of the settings and of what is remembered, as arrays by name: ``lr``, and such as ``0.momentum`` for the first parameter.

        ``np.savez(path, **optimizer.state_dict())`` writes it to a file.
        """
        found = {name: np.array(getattr(self, name)) for name in self.settings}
        return found | {f"{name}.{what}": np.array(array) for name, memory in self._memory.items() for what, array in memory.items()}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over a state that :meth:`state_dict` of the same kind of optimizer gave, for parameters of the same names and shapes.

        Raises :class:`~tensorviz.errors.StateError` (a ValueError) that lists what does not fit; nothing is changed then.
        """
        mapping("load_state_dict", "its argument", state_dict, "state_dict() gives it")
        problems = [f"missing: {name}" for name in self.settings if name not in state_dict]
        memory: dict[str, dict[str, Array]] = {}
        for key, given in state_dict.items():
            name, _, what = str(key).rpartition(".")
            array = _numbers(given)
            if array is None:
                problems.append(f"{key} holds no real numbers: {shown(given)}")
                continue
            if key in self.settings:
                if array.shape != np.shape(getattr(self, key)):
                    problems.append(f"{key} has shape {array.shape}, expected {np.shape(getattr(self, key))}")
                continue
            if name not in self.parameters:
                problems.append(f"unexpected: {key}")
            elif array.ndim and array.shape != self.parameters[name].shape:
                problems.append(f"{key} has shape {array.shape}, expected {self.parameters[name].shape}")
            memory.setdefault(name, {})[what] = array
        if problems:
            raise StateError(f"the state does not fit this {type(self).__name__}: {'; '.join(problems)}. Nothing was loaded")
        for name in self.settings:
            setattr(self, name, _plain(state_dict[name]))
        self._memory = memory

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={getattr(self, name)}" for name in self.settings)
        return f"{type(self).__name__}({len(self.parameters)} parameter{'' if len(self.parameters) == 1 else 's'}, {values})"


def _numbers(value: Any) -> Array | None:
    """A copy as an array; None if it is none of real numbers."""
    try:
        array = np.array(value)
    except (ValueError, TypeError):
        return None
    return array if array.dtype.kind in "fiub" else None


def _plain(value: Any) -> Any:
    """A setting as Python has it: a number, or a tuple of them."""
    found = np.asarray(value).tolist()
    return tuple(found) if isinstance(found, list) else found


def _named(optimizer: str, parameters: Any) -> dict[str, Tensor]:
    """The parameters by name (by position where they have none), each checked."""
    if isinstance(parameters, Tensor) or not isinstance(parameters, Iterable):
        what = "a single Tensor; write [w]" if isinstance(parameters, Tensor) else f"{type(parameters).__name__}; write model.parameters()"
        raise DTypeError(f"{optimizer} takes the parameters as a list or another iterable, got {what}")
    found: dict[str, Tensor] = {}
    seen: dict[int, str] = {}
    for i, item in enumerate(parameters):
        pair = isinstance(item, tuple) and len(item) == 2
        name, p = (str(item[0]), item[1]) if pair else (str(i), item)
        which = f"parameter {name}"
        if not isinstance(p, Tensor):
            raise DTypeError(f"{optimizer}: {which} is a {type(p).__name__}, expected a Tensor, or a pair of a name and a Tensor")
        if not p.is_leaf:
            raise GraphError(f"{optimizer}: {which} is no leaf but the result of an op; give the leaf that it was computed from, or detach() it")
        if not p.requires_grad:
            raise GraphError(
                f"{optimizer}: {which} does not require a gradient; leave it out, as in [p for p in model.parameters() if p.requires_grad], or set requires_grad=True"
            )
        if id(p) in seen or name in found:
            raise OptionError(f"{optimizer}: {which} is given twice{f', first as {seen[id(p)]}' if id(p) in seen and seen[id(p)] != name else ''}")
        found[name], seen[id(p)] = p, name
    if not found:
        raise OptionError(f"{optimizer} got no parameters; was an iterator such as model.parameters() used up before, or does the model have none?")
    return found
