"""What tests of the stepper share: a small pass with a broadcast, and where a stepper stands."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

import tensorviz as tv
from tensorviz.trace import Trace


def broadcast() -> Trace:
    X = tv.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    b = tv.tensor([0.1, 0.2, 0.3], requires_grad=True)
    L = ((X + b) ** 2).sum()
    return L.backward()


def at(stepper: Locator, step: int) -> None:
    expect(stepper).to_have_attribute("data-step", str(step))
