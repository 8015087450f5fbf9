"""The Module: a piece of a network with its parameters, buffers and modules. Imports the engine only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike
from textwrap import indent
from types import MappingProxyType
from typing import Any, Never, Self

import numpy as np
import numpy.typing as npt

from tensorviz.engine.tensor import Tensor, tensor
from tensorviz.engine.words import refuse_arguments, refuse_words
from tensorviz.errors import DTypeError, NamingError
from tensorviz.nn import state
from tensorviz.nn.calls import Structure, call
from tensorviz.nn.parameter import Parameter, place
from tensorviz.nn.tree import own_parameters, unfold, walk


class Module:
    """A piece of a network. Assign parameters and modules to attributes (also in lists, tuples and dicts), and write ``forward``.

    Calling a module runs ``forward`` in a scope of its name, so that records and pictures group by module: a model of class ``Net`` whose
    attribute ``body`` is a Sequential gives the scopes ``Net``, ``Net/body`` and ``Net/body/0.Linear``.

    As in PyTorch, with these differences: lists, tuples and dicts of modules need no wrapper; ``super().__init__()`` may be left out; a state
    is a dict of NumPy arrays, and ``save`` writes it as npz; there are no hooks, and no devices.

    >>> from tensorviz import nn
    >>> class Net(nn.Module):
    ...     def __init__(self):
    ...         self.layers = [nn.Linear(2, 3), nn.Linear(3, 1)]
    ...
    ...     def forward(self, x):
    ...         for layer in self.layers:
    ...             x = layer(x)
    ...         return x
    >>> [name for name, _ in Net().named_parameters()]
    ['layers.0.weight', 'layers.0.bias', 'layers.1.weight', 'layers.1.bias']
    """

    training: bool = True
    """Whether layers that differ (dropout, batch norm) behave as in training; set by :meth:`train` and :meth:`eval`."""
    _buffers: Mapping[str, bool] = MappingProxyType({})
    """Names of the buffers, and whether each is part of the state."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        refuse_arguments(cls, args, kwargs)
        return super().__new__(cls)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; every subclass writes its own."""
        raise NotImplementedError(f"{type(self).__name__} has no forward: write a method `def forward(self, x): ...` that computes its result")

    __call__ = call

    # ---- what it consists of ----------------------------------------------------------------------------------

    def parameters(self) -> Iterator[Parameter]:
        """All parameters, here and in the modules below, each once."""
        return (p for _, p in self.named_parameters())

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """All parameters with their dotted names, each once."""
        seen: set[int] = set()
        for path, module in walk(self):
            for name, p in own_parameters(module):
                if id(p) not in seen:
                    seen.add(id(p))
                    yield _joined(path, name), p

    def buffers(self) -> Iterator[Tensor]:
        """All buffers, here and in the modules below."""
        return (b for _, b in self.named_buffers())

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """All buffers with their dotted names."""
        for path, module in walk(self):
            for name, b in module._own_buffers():
                yield _joined(path, name), b

    def modules(self) -> Iterator[Module]:
        """The module itself and all below, each once."""
        return (m for _, m in self.named_modules())

    def named_modules(self) -> Iterator[tuple[str, Module]]:
        """The module itself (its name is empty) and all below with their dotted names, each once."""
        return walk(self)

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules among its own attributes."""
        for name, value in list(vars(self).items()):
            yield from unfold(name, value, (Module,))

    def register_buffer(self, name: str, data: npt.ArrayLike | None, persistent: bool = True) -> None:
        """Keep an array that is no parameter, as ``self.<name>``: a Tensor with a copy of ``data``, or None.

        It is part of the state unless ``persistent=False``. Raises AttributeError for a name that is taken or no identifier, TypeError for
        a Tensor that requires a gradient.
        """
        if not str(name).isidentifier():
            raise NamingError(f"a buffer's name is a Python identifier, got {name!r}")
        if hasattr(self, name) and name not in self._buffers:
            raise NamingError(f"{type(self).__name__} has an attribute {name!r} already; choose another name for the buffer")
        if isinstance(data, Tensor) and data.requires_grad:
            raise DTypeError(f"buffer {name!r}: the Tensor requires a gradient; assign an nn.Parameter, or register detach() of it")
        object.__setattr__(self, "_buffers", {**self._buffers, name: bool(persistent)})
        setattr(self, name, data)

    def _own_buffers(self, *, persistent: bool = False) -> Iterator[tuple[str, Tensor]]:
        for name, lasting in self._buffers.items():
            value = getattr(self, name, None)
            if value is not None and (lasting or not persistent):
                yield name, value

    def __setattr__(self, name: str, value: Any) -> None:
        before = vars(self).get(name)
        if name in self._buffers:
            if value is not before:
                value = None if value is None else tensor(value)
                Structure.version += 1
        elif isinstance(before, Parameter) and value is not None and not isinstance(value, Parameter):
            raise DTypeError(
                f"{type(self).__name__}.{name} is a Parameter and cannot become a {type(value).__name__}, which parameters() would not find. "
                f"Change its values in place inside `with tv.no_grad():`, or assign nn.Parameter(...)"
            )
        elif _has_parts(name, value) or _has_parts(name, before):
            Structure.version += 1
            if isinstance(value, Parameter) and not value.path:
                place(value, name, value._current().scope)
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        Structure.version += 1
        object.__setattr__(self, "_buffers", {k: v for k, v in self._buffers.items() if k != name})
        object.__delattr__(self, name)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k != "_places"}

    # ---- modes and gradients ----------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Self:
        """Switch this module and all below to training (or, with False, to evaluation); gives the module back."""
        for m in self.modules():
            m.training = bool(mode)
        return self

    def eval(self) -> Self:
        """Switch this module and all below to evaluation: dropout passes through, batch norm uses its running values."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Let all parameters ask for a gradient, or freeze them; gives the module back."""
        for p in self.parameters():
            p.requires_grad = requires_grad
        return self

    def zero_grad(self, **words: Never) -> None:
        """Forget the gradients of all parameters (``.grad`` becomes None)."""
        if words:
            refuse_words(Module.zero_grad, words)
        for p in self.parameters():
            p.zero_grad()

    # ---- state ------------------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Tensor]:
        return {
            _joined(path, name): value
            for path, module in walk(self)
            for name, value in [*own_parameters(module), *module._own_buffers(persistent=True)]
        }

    def state_dict(self) -> dict[str, npt.NDArray[Any]]:
        """Copies of all parameters and persistent buffers, by name.

        A parameter that is shared has an entry under each name. A module that is shared has one (PyTorch: one under each name).
        """
        return {name: np.array(value.numpy()) for name, value in self._state().items()}

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> state.Loaded:
        """Take over the arrays (or Tensors, also PyTorch's) of a state; each keeps the dtype that it has here.

        Names that only one side has are an error, unless ``strict=False``; they are returned as ``(missing, unexpected)``.
        Raises :class:`~tensorviz.errors.StateError` (a ValueError) that lists every name, shape and dtype that does not fit; nothing is changed then.
        """
        return state.load(type(self).__name__, self._state(), state_dict, strict=strict)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the state to an npz file (no pickle); ``np.load`` reads it too."""
        state.write(path, self.state_dict())

    def load(self, path: str | PathLike[str], strict: bool = True) -> state.Loaded:
        """Read a state from a file that :meth:`save` or ``np.savez`` wrote. Raises as :meth:`load_state_dict`, and StateError for a file that is none."""
        return self.load_state_dict(state.read(path), strict=strict)

    # ---- how it prints ----------------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """What stands between the parentheses; by default the module's own parameters and their shapes."""
        return ", ".join(f"{name}: {p.shape}" for name, p in own_parameters(self))

    def __repr__(self) -> str:
        return "\n".join(_lines(self))


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _lines(root: Module) -> Iterator[str]:
    """How a module prints, with those below it indented; without recursion, as they may stand in each other as deep as one likes."""
    around: set[int] = set()
    todo: list[tuple[int, str, Module, bool]] = [(0, "", root, False)]
    while todo:
        depth, lead, module, ends = todo.pop()
        margin = "  " * depth
        if ends:
            around.discard(id(module))
            yield f"{margin})"
        elif id(module) in around:
            yield f"{margin}{lead}..."
        elif depth and type(module).__repr__ is not Module.__repr__:
            yield indent(f"{lead}{module!r}", margin)
        else:
            start, extra, children = f"{lead}{type(module).__name__}(", module.extra_repr(), list(module.named_children())
            if not children:
                yield indent(f"{start}{extra})", margin)
                continue
            yield f"{margin}{start}"
            if extra:
                yield indent(extra, f"{margin}  ")
            around.add(id(module))
            todo += [(depth, "", module, True), *((depth + 1, f"({name}): ", child, False) for name, child in reversed(children))]


def _has_parts(name: str, value: Any) -> bool:
    return value is not None and next(unfold(name, value, (Parameter, Module)), None) is not None
