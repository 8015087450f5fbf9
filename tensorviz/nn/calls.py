"""A call of a module: which scope it opens, and what its parameters are called in the record. Imports the engine only."""

from __future__ import annotations

import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

from tensorviz.engine.mode import Entered
from tensorviz.engine.tensor import Tensor
from tensorviz.errors import DepthError
from tensorviz.nn.parameter import place
from tensorviz.nn.tree import own_parameters, walk

if TYPE_CHECKING:
    from tensorviz.nn.module import Module


class Place(NamedTuple):
    """Where one module stands below the module that the user called."""

    module: weakref.ref[Module]
    path: str
    tensors: list[tuple[str, Tensor]]
    """Its own parameters and buffers, by their full names."""
    titles: dict[str | None, str]
    """What its scope is called, by the path of the module that calls it."""


class Structure:
    """Counts the changes of any module's parts, so that a module looks for its parts again only after one."""

    version = 0


class Kept:
    """The places below a root, as long as no part of a module changed. An object and no tuple, so that the search for parts does not enter it."""

    __slots__ = ("found", "version")

    def __init__(self, found: dict[int, Place]) -> None:
        self.found, self.version = found, Structure.version


def places(root: Module) -> dict[int, Place]:
    """Where everything below ``root`` stands; looked up once per change of a module's parts."""
    kept: Kept | None = vars(root).get("_places")
    if kept is not None and kept.version == Structure.version:
        return kept.found
    found: dict[int, Place] = {}
    for path, module in walk(root):
        lead = f"{path}." if path else ""
        tensors = [(lead + name, value) for name, value in [*own_parameters(module), *module._own_buffers()]]
        found[id(module)] = Place(weakref.ref(module), path, tensors, {})
    vars(root)["_places"] = Kept(found)
    return found


class Run:
    """One call from outside, with the calls of further modules that happen inside it."""

    def __init__(self, root: Module) -> None:
        self.root = root
        self.places = places(root)
        self.looked = False
        self.here: str | None = None
        """The path of the module that runs now."""
        self.seen: set[int] = set()

    def find(self, module: Module) -> Place | None:
        """The place of a module; None if it stands nowhere below the root."""
        found = self.places.get(id(module))
        if found is not None and found.module() is module:
            return found
        if self.looked:
            return None
        # a list or dict of modules may have grown, which no attribute shows
        self.looked = True
        vars(self.root).pop("_places", None)
        self.places = places(self.root)
        return self.find(module)


class _Calls(threading.local):
    run: Run | None = None


_calls = _Calls()


def call(module: Module, /, *args: Any, **kwargs: Any) -> Any:
    """Run ``forward`` in a scope of the module's name, and note on its parameters where they stand."""
    outer = run = _calls.run
    at = run.find(module) if run is not None else None
    if run is None or at is None:
        run = _calls.run = Run(module)
        at = run.places[id(module)]
    caller, run.here = run.here, at.path
    title = at.titles.get(caller)
    if title is None:
        title = at.titles[caller] = _title(type(module).__name__, at.path, caller)
    # what tv.scope does, without the cost of a context manager on every layer of every call
    scope = Entered(title=title)
    name = scope.mode.scope
    try:
        if id(module) not in run.seen:
            run.seen.add(id(module))
            for path, value in at.tensors:
                place(value, path, name)
        return module.forward(*args, **kwargs)
    except RecursionError as error:
        if outer is None and (depth := _depth(error)) > _MANY:
            raise DepthError(
                f"{title}: {depth} modules are called inside each other, and Python allows {sys.getrecursionlimit()} calls of any kind. Put the layers one after the other into "
                f"one Sequential, or raise the limit by sys.setrecursionlimit; a module that calls itself needs an end"
            ) from None
        raise
    except Exception as error:
        if not getattr(error, "__notes__", None):
            error.add_note(f"raised in {name}")
        raise
    finally:
        scope.leave()
        run.here, _calls.run = caller, outer


_MANY = 100
"""Calls of modules in each other beyond which it is they that reached the end of Python's stack, and no function of the user's."""


def _depth(error: BaseException) -> int:
    """How many modules had been called when it was raised."""
    found, at = 0, error.__traceback__
    while at is not None:
        found += at.tb_frame.f_code is call.__code__
        at = at.tb_next
    return found


def _title(kind: str, path: str, caller: str | None) -> str:
    """The last part of the scope: the module's name below its caller, and its class where the name alone would be a number.

    The class alone for the module that the user called, and for one that calls itself.
    """
    if not path or caller is None or path == caller:
        return kind
    relative = path.removeprefix(f"{caller}.") if caller else path
    return f"{relative}.{kind}" if relative.rpartition(".")[2].isdigit() else relative
