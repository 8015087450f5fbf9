"""What holds for the code that runs now: is a graph recorded, and under which scope. Knows no node and no op."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextvars import ContextVar
from functools import wraps
from types import CodeType
from typing import Any, TypeVar

from tensorviz.arguments import shown
from tensorviz.errors import DTypeError

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class Place:
    """Where nodes are made: a function of the user's, and the scope that is open there. One object for all that one function makes in a row."""

    __slots__ = ("code", "scope")

    def __init__(self, code: CodeType | None, scope: str) -> None:
        self.code, self.scope = code, scope


NOWHERE = Place(None, "")


class Mode:
    """What the open blocks add up to. Every op reads it and few enter a block, so it is changed in one case only: see :meth:`Entered.leave`."""

    __slots__ = ("blocks", "enabled", "followers", "place", "scope", "unrecorded")

    def __init__(self, blocks: tuple[Entered, ...] = ()) -> None:
        self.followers: tuple[Mode, ...] = ()
        """What is to hold the same blocks if those of this one change."""
        self.hold(blocks)

    def hold(self, blocks: tuple[Entered, ...]) -> None:
        """Be what these blocks add up to."""
        self.blocks = blocks
        """Outermost first."""
        said = [b.enabled for b in blocks if b.enabled is not None]
        self.enabled = said[-1] if said else True
        self.scope = "/".join([b.title for b in blocks if b.title])
        self.place = NOWHERE
        """Where the latest node was made: the next one mostly comes from the same function. Nowhere while nothing is recorded."""
        self.unrecorded = NOWHERE
        """The same where nothing is recorded."""
        for mode in self.followers:
            mode.hold(blocks)


class Entered:
    """One block, open from its making to :meth:`leave`."""

    __slots__ = ("around", "enabled", "mode", "open", "title")

    def __init__(self, enabled: bool | None = None, title: str = "") -> None:
        self.enabled, self.title = enabled, title
        self.open = True
        self.around = around = current()
        self.mode = mode = Mode((*around.blocks, self))
        become(mode)

    def leave(self) -> None:
        """Close this block and no other: generators that take turns close theirs in any order, and where another thread or task closes one, it is closed where it was opened."""
        mode = current()
        self.open = False
        if mode is self.mode:
            become(self.around)
        elif self in mode.blocks:
            become(Mode(tuple([b for b in mode.blocks if b.open])))
        else:
            self.mode.hold(self.around.blocks)
            if self.around.blocks:
                self.around.followers = (*self.around.followers, self.mode)


_mode: ContextVar[Mode] = ContextVar("tensorviz mode", default=Mode())  # noqa: B039 - a Mode without blocks is never changed
current = _mode.get
"""The mode of this thread and of this asyncio task."""
become = _mode.set


class _Block:
    """A context manager, also a decorator: of a generator or a coroutine it holds inside the body, not between its steps."""

    _enabled: bool | None = None
    _title = ""

    def __init__(self, *misused: Any) -> None:
        if misused:
            name = type(self).__name__
            raise DTypeError(f"{name} takes no arguments, got {shown(misused[0])}; as a decorator it is written with parentheses: @tv.{name}()")
        self._entered: list[Entered] = []

    def __enter__(self) -> None:
        self._entered.append(Entered(self._enabled, self._title))

    def __exit__(self, *error: object) -> None:
        self._entered.pop().leave()

    def _enter(self) -> Entered:
        return Entered(self._enabled, self._title)

    def __call__(self, function: Decorated) -> Decorated:
        from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction

        wrapped: Callable[..., Any]
        if isgeneratorfunction(function):
            wrapped = self._generator(function)
        elif isasyncgenfunction(function):
            wrapped = self._async_generator(function)
        elif iscoroutinefunction(function):
            wrapped = self._coroutine(function)
        else:
            wrapped = self._function(function)
        return wraps(function)(wrapped)  # type: ignore[return-value]

    def _function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            entered = self._enter()
            try:
                return function(*args, **kwargs)
            finally:
                entered.leave()

        return run

    def _coroutine(self, function: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Coroutine[Any, Any, Any]]:
        # a task has a mode of its own, so what runs while this one waits does not see the block
        async def run(*args: Any, **kwargs: Any) -> Any:
            entered = self._enter()
            try:
                return await function(*args, **kwargs)
            finally:
                entered.leave()

        return run

    def _generator(self, function: Callable[..., Generator[Any, Any, Any]]) -> Callable[..., Generator[Any, Any, Any]]:
        def run(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            body = function(*args, **kwargs)
            step, given = body.send, None
            while True:
                entered = self._enter()
                try:
                    made = step(given)
                except StopIteration as end:
                    return end.value
                finally:
                    entered.leave()
                try:
                    step, given = body.send, (yield made)
                except GeneratorExit:
                    entered = self._enter()
                    try:
                        body.close()
                    finally:
                        entered.leave()
                    raise
                except BaseException as error:  # noqa: BLE001 - what was thrown into the generator is thrown into its body
                    step, given = body.throw, error

        return run

    def _async_generator(self, function: Callable[..., AsyncGenerator[Any, Any]]) -> Callable[..., AsyncGenerator[Any, Any]]:
        async def run(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
            body = function(*args, **kwargs)
            step, given = body.asend, None
            while True:
                entered = self._enter()
                try:
                    made = await step(given)
                except StopAsyncIteration:
                    return
                finally:
                    entered.leave()
                try:
                    step, given = body.asend, (yield made)
                except GeneratorExit:
                    entered = self._enter()
                    try:
                        await body.aclose()
                    finally:
                        entered.leave()
                    raise
                except BaseException as error:  # noqa: BLE001 - as above
                    step, given = body.athrow, error

        return run


class no_grad(_Block):  # noqa: N801 - used like a function, and so named everywhere
    """Record nothing inside: results carry no gradient. A context manager and a decorator, for this thread (and this asyncio task) only.

    >>> import tensorviz as tv
    >>> x = tv.tensor(2.0, requires_grad=True)
    >>> with tv.no_grad():
    ...     y = x * 3
    >>> y.requires_grad
    False
    """

    _enabled = False


class enable_grad(_Block):  # noqa: N801 - as no_grad
    """Record again inside a :class:`no_grad` block."""

    _enabled = True


class scope(_Block):  # noqa: N801 - as no_grad
    """Group the nodes made inside under ``name``; nested names join with ``/``. A context manager and a decorator.

    >>> import tensorviz as tv
    >>> x = tv.tensor(2.0, requires_grad=True)
    >>> with tv.scope("net"), tv.scope("layer1"):
    ...     y = x * x
    >>> y.backward().node(y).scope
    'net/layer1'
    """

    def __init__(self, name: str) -> None:
        if not (type(name) is str and name):
            raise DTypeError(f"a scope's name is a string with at least one character, got {name!r}")
        super().__init__()
        self._title = name


def is_grad_enabled() -> bool:
    """Whether operations are recorded now."""
    return current().enabled
