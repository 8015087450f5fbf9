"""The Tensor: a node of the graph, or a handle on one, in the user's hands. Knows no op: operators are attached by the registry."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Never, overload

import numpy as np

from tensorviz.arguments import shown
from tensorviz.engine import aliases, cuts, cycles, exits, protocols
from tensorviz.engine.aside import ever, holder
from tensorviz.engine.flat import Flat
from tensorviz.engine.graph import check_dtype, frozen, leaf, same_bits, user_frame, weak
from tensorviz.engine.mode import is_grad_enabled
from tensorviz.engine.node import UNSETTLED, Changed, Node, new_uid, set_blank, twin
from tensorviz.engine.own import Own
from tensorviz.engine.run import METHODS, apply, set_tensor_class
from tensorviz.engine.threads import lock
from tensorviz.engine.untraced import refuse_use
from tensorviz.engine.words import NOT_SET, ON_TENSORS, not_set, refuse_words
from tensorviz.errors import ConversionError, DTypeError, InPlaceError, OptionTypeError, ShapeError

if TYPE_CHECKING:
    import numpy.typing as npt

    from tensorviz.engine.op import Op
    from tensorviz.trace import Trace

    Array = npt.NDArray[Any]


class _Made(type):
    """The class of Tensor, which users make with a function."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is Tensor:
            raise DTypeError("Tensor(...) makes no Tensor: make one with tv.tensor(data, requires_grad=True), which copies the data")
        return super().__call__(*args, **kwargs)


class Tensor(Node, metaclass=_Made):
    """A NumPy array that remembers how it was made. Make one with :func:`tensor`.

    Everything that works on arrays works on Tensors (operators, methods, ``np.`` functions) and is recorded as soon as one operand requires a gradient.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

        def __add__(self, other: Any) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...
        def __floordiv__(self, other: Any) -> Tensor: ...
        def __rfloordiv__(self, other: Any) -> Tensor: ...
        def __mod__(self, other: Any) -> Tensor: ...
        def __rmod__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __rpow__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        def __rmatmul__(self, other: Any) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __pos__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __lt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...
        def __getitem__(self, key: Any) -> Tensor: ...
        def __setitem__(self, key: Any, value: Any) -> None: ...

    # ---- the node behind it -----------------------------------------------------------------------------------

    def _current(self) -> Node:
        """The node that this Tensor is or stands for."""
        own = self.own
        if own is None:
            return self
        now: Node | None = own.now
        return self if now is None else now if now is not UNSETTLED else self._settle()

    def _kept(self) -> Node:
        """The same, for who keeps it: it has to stay what it is."""
        node = self._current()
        node.used = True
        return node

    def _kept_apart(self) -> Node:
        """The same, apart from this Tensor where nobody has it as a node yet: who keeps the node does not keep the Tensor and what that holds."""
        own = self.own
        if not self.used and (own is None or own.now is None):
            made = twin(self)
            if own is None:
                self.own = Own(made)
            else:
                own.now = made
            return made
        return self._kept()

    def _is_node(self) -> bool:
        """Whether it is its own node."""
        return self.own is None or self.own.now is None

    def _settle(self) -> Node:
        """The node of a leaf whose array was handed out: the old one while the array is unchanged, a new leaf once it was written to. Of a view whose base was changed: taken again."""
        own = self.own
        assert own is not None
        if own.view is not None and own.view.stale:
            return aliases.taken_again(self, own.view)
        assert own.hand is not None
        live, base = own.hand
        if not same_bits(live, base.value):
            base = self._successor(base, frozen(live.copy()))
            own.hand = live, base
        return base

    def _more(self) -> Own:
        """The rare part, made on demand."""
        if self.own is None:
            self.own = Own()
        return self.own

    def _become(self, node: Node) -> None:
        """Stand for another node from now on; an array that was handed out is let go of."""
        own = self._more()
        own.now = node
        own.hand = None
        node.used = True

    def _step_aside(self, op: Op) -> None:
        """Before an in-place op: raise where it cannot put its result in this Tensor's place; where this is a node itself, have a twin be that.

        The result is computed from the old node, and must not keep the Tensor that stands for it: nothing would ever be freed without
        the cyclic collector. Only if something was computed from the node before does it have to stay the same object, and the collector is needed
        (see :mod:`tensorviz.engine.cycles`).
        """
        self._refuse_change(op)
        if not self.used and self._is_node():
            self._more().now = twin(self)
            self.a = self.b = self.value = self.rare = None

    def _successor(self, old: Node, value: Any) -> Node:
        """A leaf that takes the place of ``old`` for this Tensor; both stay the same variable to a record."""
        changes.versions = True
        node = leaf(value, requires_grad=old.needs_grad, uid=old.uid, depth=3)
        rare = node.more()
        rare.owner = weak(self)
        if old.rare is not None:
            rare.name, rare.cut = old.rare.name, old.rare.cut
            if old.rare.path is not None:
                rare.path, node.scope = old.rare.path, old.scope
        node.params = old.params
        return node

    @property
    def _uid(self) -> int:
        return self._current().uid

    # ---- what it is -------------------------------------------------------------------------------------------

    @property
    def data(self) -> Array:
        """The values. Of a leaf: a writable array, and writing to it changes the leaf (what was recorded before stays as it was). Of a result: read-only."""
        own = self._more()
        if own.now is UNSETTLED and own.hand is not None:
            return own.hand[0]
        node = self._current()
        if node.op is not None:
            return _read_only(node.value)
        live = np.array(node.value, order="C")
        own.hand, own.now = (live, node), UNSETTLED
        return live

    @data.setter
    def data(self, value: npt.ArrayLike) -> None:
        if self.own is not None and self.own.now is UNSETTLED and value is self.data:
            return
        node = self._current()
        array = self._taken("data", value)
        if array.shape != node.value.shape:
            raise ShapeError(
                f"data of {self._what()} has shape {node.value.shape}, got {array.shape}; a Tensor keeps its shape, make a new one with tensor(...)"
            )
        if node.op is not None:
            raise InPlaceError(
                f"data of {self._what()}, the result of {node.op.name}, is read-only: it is part of a graph. Use detach(), or an in-place op such as copy_"
            )
        if np.can_cast(array.dtype, node.value.dtype, "same_kind"):
            taken = np.array(array, dtype=node.value.dtype)
        else:
            with np.errstate(invalid="ignore"):
                taken = np.array(array, dtype=node.value.dtype)
            if not np.array_equal(taken, array):  # a list of whole numbers is int64, and may be meant for uint8
                raise DTypeError(
                    f"data of {self._what()} has dtype {node.value.dtype}, into which {array.dtype} does not fit; make a new one with tensor(...)"
                )
        self._become(self._successor(node, frozen(taken)))

    @property
    def grad(self) -> Array | None:
        """The accumulated gradient: None or a writable array of this Tensor's shape and dtype. Kept for leaves, and for results after ``retain_grad()``."""
        own = self.own
        if ever.any and own is not None:
            own = holder(own)
        if own is not None and own.grad is not None:
            if not own.private:
                with gradients:
                    if not own.private:
                        own.grad = np.array(own.grad)
                        own.private = True
            return own.grad  # type: ignore[no-any-return]
        if not self.is_leaf and not (own is not None and own.retain) and self.requires_grad:
            warnings.warn(
                f".grad of {self._what()}, the result of {self._current().op!r}, is not kept: only leaves keep theirs. Call retain_grad() on it before backward, or read trace.node(t).cotangent.",
                UserWarning,
                stacklevel=2,
            )
        return None

    @grad.setter
    def grad(self, value: npt.ArrayLike | None) -> None:
        if value is None:
            if self.own is not None:
                (holder(self.own) if ever.any else self.own).grad = None
            return
        array = self._taken(".grad", value)
        if array.shape != self.shape:
            raise ShapeError(f".grad of {self._what()} has shape {self.shape}, got {array.shape}")
        own = self._more()
        if ever.any:
            own = holder(own)
        own.grad, own.private = np.array(array, dtype=self.dtype), True

    @property
    def trace(self) -> Trace | None:
        """The record of the latest ``backward`` that started here; None before."""
        if self.own is not None and self.own.trace is not None:
            return self.own.trace
        refuse_use(self, sys._getframe(1))
        return None

    @trace.setter
    def trace(self, value: Trace | None) -> None:
        from tensorviz.trace import Trace

        if value is not None and not isinstance(value, Trace):
            raise OptionTypeError(f"trace of {self._what()} is a Trace, which backward() makes and keeps there, or None; got {shown(value)}")
        self._more().trace = value

    @property
    def requires_grad(self) -> bool:
        return self._current().needs_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        node = self._current()
        _check_flag("requires_grad", value)
        if node.op is not None:
            raise InPlaceError(f"{self._what()} is the result of {node.op.name}, whose need of a gradient follows from its operands; use detach()")
        if value:
            _check_differentiable(node.value.dtype)
        fresh = self._successor(node, node.value)
        fresh.needs_grad = bool(value)
        self._become(fresh)

    @property
    def is_leaf(self) -> bool:
        """Made by the user or cut from its graph, not the result of a recorded op."""
        return self._current().op is None

    @property
    def name(self) -> str | None:
        """The label in pictures; settable."""
        return self._current().given_name

    @name.setter
    def name(self, value: str | None) -> None:
        if value is not None and not isinstance(value, str):
            raise DTypeError(f"a name is a string or None, got {type(value).__name__}")
        rare = self._current().more()
        if rare.name == value:
            return
        rare.renamed = (*rare.renamed, (new_uid(), rare.name))
        rare.name = value

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._current().value.shape)

    @property
    def ndim(self) -> int:
        return int(self._current().value.ndim)

    @property
    def size(self) -> int:
        return int(self._current().value.size)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return int(self._current().value.itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return int(self._current().value.nbytes)

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each axis."""
        return tuple(self._current().value.strides)

    @property
    def flags(self) -> Any:
        """How the values lie in memory, as NumPy tells it."""
        return self.numpy().flags

    @property
    def T(self) -> Tensor:
        """All axes reversed, recorded as a transpose."""
        return METHODS["transpose"](self)  # type: ignore[no-any-return]

    @property
    def mT(self) -> Tensor:
        """The last two axes exchanged: every matrix of a stack transposed."""
        if self.ndim < 2:
            raise ShapeError(f"mT exchanges the last two axes, {self._what()} has shape {self.shape}")
        return METHODS["swapaxes"](self, -1, -2)  # type: ignore[no-any-return]

    @property
    def flat(self) -> Flat:
        """The elements one after the other: to go through, to index and to assign to."""
        return Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        Flat(self)[:] = value

    @property
    def real(self) -> Tensor:
        """The Tensor itself, as all its numbers are real."""
        return self

    @property
    def imag(self) -> Tensor:
        """Zeros, the imaginary part of real numbers."""
        return np.imag(self)

    @property
    def dtype(self) -> np.dtype[Any]:
        found: np.dtype[Any] = self._current().value.dtype
        return found

    def item(self, *index: Any) -> float | int | bool:
        """The only element as a Python number, or the one at an index, as NumPy's ``item`` takes it."""
        value = self._current().value
        if index:
            try:
                return np.asarray(value).item(*index)  # type: ignore[no-any-return]
            except TypeError:
                raise OptionTypeError(
                    f"item() takes one whole number, or one per axis of shape {value.shape}, got {', '.join(map(shown, index))}"
                ) from None
        if value.size != 1:
            raise ShapeError(
                f"item() needs exactly one element, {self._what()} has shape {value.shape}; use tolist(), or reduce it first, e.g. with sum()"
            )
        return value.reshape(()).item()  # type: ignore[no-any-return]

    def numpy(self) -> Array:
        """The values as a read-only array; where ``.data`` was handed out, a view of that."""
        own = self.own
        if own is not None and own.now is UNSETTLED and own.hand is not None:
            return _read_only(own.hand[0])
        return _read_only(self._current().value)

    def tolist(self) -> Any:
        """The values as nested lists of Python numbers."""
        return self._current().value.tolist()

    def detach(self) -> Tensor:
        """The same values, cut from the graph: no gradient flows back through the result."""
        node = self._kept_apart()
        fresh = leaf(node.value)
        cuts.detached(node, fresh)
        return handle(fresh)

    def retain_grad(self) -> None:
        """Keep ``.grad`` of this result at the next backward, as leaves do."""
        if not self.requires_grad:
            raise InPlaceError(f"{self._what()} requires no gradient, so there is none to retain")
        self._more().retain = True
        self._current().more().owner = weak(self)

    def zero_grad(self) -> None:
        """Forget the accumulated gradient (``.grad`` becomes None)."""
        self.grad = None

    @overload
    def backward(self, gradient: Any = None, *, record: Literal[True] = True, **words: Never) -> Trace: ...

    @overload
    def backward(self, gradient: Any = None, *, record: bool, **words: Never) -> Trace | None: ...

    def backward(self, gradient: Any = None, *, record: bool = True, **words: Never) -> Trace | None:
        """Run the backward pass from here and add to ``.grad`` of the leaves.

        ``gradient``: the seed, in this Tensor's shape; may be left out where it has one element (then 1).
        Returns the recorded :class:`Trace` (also kept as ``.trace``), or None with ``record=False``.
        The graph is kept: a second call adds again. If anything raises midway, no ``.grad`` has changed.
        """
        if words:
            refuse_words(Tensor.backward, words)
        trace: Trace | None = run_backward(self, gradient, record=record, frame=user_frame(2) if record else None)
        return trace

    # ---- in place ---------------------------------------------------------------------------------------------

    def _replace(self, op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Tensor:
        """Put the result of an op in this Tensor's place; the old node stays what it was."""
        self._step_aside(op)
        return self._receive(apply(op, (self, *operands), params), op.name)

    def _refuse_change(self, op: Op) -> None:
        """Raise where an op cannot put its result in this Tensor's place."""
        old = self._current()
        enabled = is_grad_enabled()
        if old.op is None and old.needs_grad and enabled:
            raise InPlaceError(
                f"in-place {op.name} on the leaf{self._called()}, which requires a gradient: its recorded value would be lost. "
                f"{f'Write x = x {op.label} ... for a new value' if op.operators else 'Change a copy, made with x.copy()'}, or update it inside `with tv.no_grad():`"
            )
        aliases.refuse_write(self, op)

    def _receive(self, result: Tensor, by: str) -> Tensor:
        """Become the result of an in-place op named ``by``, and change with it what shares its memory in NumPy's world."""
        self._take_over(result, by)
        if self.own is not None and (self.own.view is not None or self.own.views is not None):
            aliases.write_through(self)
        return self

    def _take_over(self, result: Tensor, by: str) -> None:
        """Become the result of an in-place op named ``by``."""
        old = self._current()
        enabled = is_grad_enabled()
        node = result._current()
        uid = node.uid  # that of the op itself, not of a cast behind it
        if node.value.shape != old.value.shape:
            raise ShapeError(
                f"in-place {by}: {self._what()} has shape {old.value.shape}, the result has {node.value.shape}; an in-place op cannot change the shape"
            )
        if node.value.dtype != old.value.dtype:
            if not np.can_cast(node.value.dtype, old.value.dtype, "same_kind"):
                raise DTypeError(
                    f"in-place {by}: {self._what()} has dtype {old.value.dtype}, the result {node.value.dtype}, which does not fit into it"
                )
            node = result.astype(old.value.dtype)._current() if node.op is not None else leaf(np.asarray(node.value).astype(old.value.dtype)[()])
        node.value = aliases.lying_as(old.value, node.value)
        if old.op is None and not (enabled and node.tracked):
            node = self._successor(old, node.value)
        elif old.rare is not None and old.rare.name is not None and node.given_name is None:
            node.more().name = old.rare.name
        if self.own is not None and self.own.retain and node.needs_grad:
            node.more().owner = weak(self)
            if old.op is not None and old.rare is not None:
                old.rare.owner = None  # the gradient is that of the value which is there, not the sum of those of all that were
        old.more().changed = Changed(by, uid, node.code, node.lasti)
        changes.any = True
        if self.used:
            cycles.grown(old, node)
        self._become(node)

    def copy_(self, other: Any) -> Tensor:
        """In place: every element becomes that of ``other`` (broadcast to this shape)."""
        self[...] = other
        return self

    def zero_(self) -> Tensor:
        """In place: every element becomes 0."""
        self[...] = 0
        return self

    # ---- as Python and NumPy see it ---------------------------------------------------------------------------

    __array_priority__ = 1000.0
    __pandas_priority__ = 5000
    """Above that of a DataFrame, which leaves an operator to what stands higher, and takes an array of what does not."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """``np.asarray(x)``, a read-only view, and ``np.array([x, y])``: who asks for an array gets the numbers, without a gradient. Who takes them unasked is refused."""
        value = self.numpy()
        if self.requires_grad and is_grad_enabled():
            exits.refuse_in_rule(self)
            exits.refuse(self._what(), value, dtype)
        if value.size <= exits.LARGEST:
            exits.left(self._current(), is_grad_enabled())
        if dtype is not None and np.dtype(dtype) != value.dtype:
            return value.astype(dtype)
        return value.copy() if copy else value

    __array_ufunc__ = protocols.of_ufunc
    __array_function__ = protocols.of_function

    def __len__(self) -> int:
        shape = self.shape
        if not shape:
            raise DTypeError("len() of a 0-d Tensor: it has no first axis")
        return shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self.shape:
            raise DTypeError(f"a 0-d Tensor cannot be iterated over: {self._what()} holds one number; item() gives it")
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        value = self._current().value
        if value.size != 1:
            raise ShapeError(f"the truth of {self._what()} with shape {value.shape} is ambiguous; use .any() or .all() of its numpy()")
        return bool(value)

    def __float__(self) -> float:
        found = float(self._number("float()"))
        if self.requires_grad and is_grad_enabled():
            exits.refuse_in_rule(self)
            exits.refuse(self._what(), number=True)
        exits.left(self._current(), is_grad_enabled())
        return found

    def __int__(self) -> int:
        if self.requires_grad and is_grad_enabled():
            exits.refuse_assignment(self._what())
        return int(self._number("int()"))

    def _number(self, what: str) -> Any:
        """The only element, for Python's own conversions, which raise TypeError on arrays."""
        value = self._current().value
        if value.size != 1:
            raise ConversionError(
                f"{what} needs exactly one element, {self._what()} has shape {value.shape}; use numpy(), or reduce it first, e.g. with sum()"
            )
        return value.reshape(()).item()

    def __format__(self, spec: str) -> str:
        if not spec:
            return repr(self)
        if self.size != 1:
            raise DTypeError(f"format {spec!r} needs one number, {self._what()} has shape {self.shape}; format its elements, or reduce it first")
        return format(self.item(), spec)

    def __round__(self, ndigits: int | None = None) -> float | int:
        return round(self.item(), ndigits)

    def __index__(self) -> int:
        value = self._current().value
        if value.dtype.kind not in "iu" or value.ndim:
            raise DTypeError(f"only a 0-d integer Tensor can be an index, {self._what()} has shape {value.shape} and dtype {value.dtype}")
        return int(value)

    __hash__ = object.__hash__

    def __copy__(self) -> Tensor:
        """Of a leaf: a leaf of its own, with the same values, whose gradient is None. Of a result: another handle on it, cut from its graph or not."""
        node = self._kept_apart()
        return handle(node) if node.op is not None or (node.params and not node.needs_grad) else self._twin()

    def __deepcopy__(self, memo: Any) -> Tensor:
        node = self._current()
        if node.op is not None:
            raise InPlaceError(f"deepcopy of {self._what()}, the result of {node.op.name}: only leaves can be copied; use detach()")
        made = self._twin()
        made.grad = None if self.own is None else holder(self.own).grad
        return made

    def _twin(self) -> Tensor:
        """A leaf of its own like this one; a subclass makes one of its class."""
        node = self._current()
        return tensor(node.value, requires_grad=node.needs_grad, name=node.given_name)

    def __reduce__(self) -> Any:
        node = self._current()
        if node.op is not None:
            raise InPlaceError(f"pickling {self._what()}, the result of {node.op.name}: only leaves can be pickled; use detach(), or save its trace")
        return _unpickled, (np.asarray(node.value), node.needs_grad, node.given_name)

    def __dir__(self) -> list[str]:
        return sorted(set(object.__dir__(self)).difference(vars(Node), ON_TENSORS).union(vars(Tensor).keys() - ON_TENSORS.keys()))

    def __repr__(self) -> str:
        node = self._current()
        text = np.array2string(np.asarray(node.value), separator=", ", threshold=200, edgeitems=3, prefix="tensor(")
        parts = [text]
        if node.value.dtype not in (np.float64, np.int64, np.bool_):
            parts.append(f"dtype={node.value.dtype}")
        if node.op is not None:
            parts.append(f"op={node.op.name}")
        elif node.needs_grad:
            parts.append("requires_grad=True")
        if node.given_name is not None:
            parts.append(f"name={node.given_name[:60]!r}")
        return f"tensor({', '.join(parts)})"

    def _taken(self, what: str, value: Any) -> Array:
        """What is assigned to ``data`` or ``grad``, as an array of real numbers."""
        try:
            array = np.asarray(value)
        except (ValueError, TypeError) as error:
            raise DTypeError(f"{what} of {self._what()} takes an array of shape {self.shape}, got {shown(value)} ({error})") from error
        if array.dtype.kind not in "fiub":
            raise DTypeError(f"{what} of {self._what()} takes real numbers, got {shown(value)} of dtype {array.dtype}")
        return array

    def _what(self) -> str:
        from tensorviz.trace import one_line

        name = self._current().given_name
        return f"tensor {one_line(name)!r}" if name else "this tensor"

    def _called(self) -> str:
        """What stands behind "the leaf" in a sentence: its name, if it has one."""
        what = self._what()
        return "" if what.startswith("this ") else f" {what}"


gradients = lock()
"""Held while a ``.grad`` is added to, or gets an array of its own: threads that share a leaf read, add and write, and none may come in between."""

run_backward: Any = None
"""Set by the backward module, which is built on top of this one; an import inside the method would cost as much as two ops."""


class _Changes:
    """What ever happened: while it did not, backward need not look for what follows from it."""

    any = False
    """An in-place op ran, and a saved value may be stale."""
    versions = False
    """A leaf took the place of another, and may stand in one graph with it."""
    swapped = False
    """A gradient is to have another order of bytes than the machine's, in which sums are."""


changes = _Changes()


def _read_only(value: Any) -> Array:
    array = np.asarray(value)
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


def _check_flag(name: str, value: Any) -> None:
    if not isinstance(value, (bool, np.bool_)):
        raise DTypeError(f"{name} is True or False, got {shown(value)}")


def _check_differentiable(dtype: np.dtype[Any]) -> None:
    if dtype.kind != "f":
        raise DTypeError(f"only floats can require a gradient, got dtype {dtype}; pass dtype=float (float64) or give floats, e.g. 1.0 instead of 1")
    if not dtype.isnative:
        changes.swapped = True


def _unpickled(data: Array, requires_grad: bool, name: str | None) -> Tensor:
    return tensor(data, requires_grad=requires_grad, name=name)


blank: Callable[[], Tensor] = type.__call__.__get__(Tensor)
"""What makes a Tensor with nothing in it; calling the class is refused."""


def handle(node: Node) -> Tensor:
    """A Tensor that stands for a node."""
    made = blank()
    made.own = Own(node)
    made.used = False
    node.used = True
    return made


def tensor(data: Any, *, dtype: npt.DTypeLike | None = None, requires_grad: bool = False, name: str | None = None, **words: Never) -> Tensor:
    """A leaf Tensor with a copy of ``data`` (nested lists, scalars, arrays, Tensors).

    Floats keep their dtype, Python floats become float64; integers and booleans keep theirs and cannot require a gradient
    (``TypeError`` naming the dtype). Complex and object data are refused.

    >>> tensor([[1.0, 2.0]], requires_grad=True)
    tensor([[1., 2.]], requires_grad=True)
    """
    if words:
        refuse_words(tensor, words)
    _check_flag("requires_grad", requires_grad)
    if isinstance(data, Tensor):
        data = data.numpy()
    if isinstance(data, np.ndarray) and type(data) is not np.ndarray and np.ma.is_masked(data):
        raise DTypeError(
            "tensor(): the data is a masked array with masked elements, whose mask would be lost; give data.filled(...) or data.compressed()"
        )
    try:
        array = np.array(data, dtype=dtype)
    except (ValueError, TypeError, OverflowError) as error:
        given = f", or dtype={dtype!r} is none" if dtype is not None else ""
        raise DTypeError(f"tensor(): the data is no rectangular array of numbers{given} ({error})") from error
    check_dtype(array.dtype, like=data)
    if requires_grad:
        _check_differentiable(array.dtype)
    if name is not None and not isinstance(name, str):
        raise DTypeError(f"a name is a string or None, got {type(name).__name__}")
    node = leaf(frozen(array), requires_grad=bool(requires_grad))
    made = handle(node)
    rare = node.more()
    rare.owner = weak(made)
    rare.name = name
    return made


for _name, _advice in NOT_SET.items():
    setattr(Tensor, _name, not_set(vars(Tensor)[_name], _name, _advice))
exits.LEAVES.add(tensor.__code__)
set_blank(blank)
set_tensor_class(Tensor, blank)
