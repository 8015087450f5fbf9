"""Gradients that a function of the user's writes while a check calls it: kept aside, so that those of the program stay as they are. Knows no op."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from tensorviz.engine.graph import local
from tensorviz.engine.own import Own


class _Ever:
    """While no check has called a function, nobody needs to ask."""

    any = False


ever = _Ever()


class Aside:
    """In such a block, what this thread writes to ``.grad`` is read in the block only, and histories take no note of its passes.

    What is put aside is not undone afterwards: another thread, the user's own, may write to the same Tensors meanwhile.
    """

    def __enter__(self) -> dict[Own, Own]:
        """Who has the gradient in the place of whom; cleared, all gradients are again what they are outside."""
        ever.any = True
        thread = local.thread
        self.before = thread.aside, thread.histories
        aside: dict[Own, Own] = {}
        thread.aside, thread.histories = aside, ()
        return aside

    def __exit__(self, *_: object) -> None:
        local.thread.aside, local.thread.histories = self.before


def apart(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, each call of which finds the gradients of the program and leaves them alone."""

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        with Aside():
            return function(*args, **kwargs)

    return called


def holder(own: Own) -> Own:
    """Who has the gradient for this thread."""
    aside = local.thread.aside
    if aside is None:
        return own
    found: Own | None = aside.get(own)
    if found is None:
        found = aside[own] = Own()
        found.grad = own.grad  # and so it is copied before it is handed out
    return found
