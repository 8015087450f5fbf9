"""Schedules of the learning rate."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tensorviz as tv
from tensorviz import optim
from tensorviz.errors import StateError


def sgd(lr: float = 1.0) -> optim.SGD:
    return optim.SGD([tv.tensor(1.0, requires_grad=True)], lr=lr)


def rates(schedule: optim.Schedule, n: int) -> list[float]:
    """The learning rates that the optimizer has in n steps."""
    found = []
    for _ in range(n):
        found.append(schedule.optimizer.lr)
        schedule.step()
    return found


def test_steps_multiply_by_gamma():
    assert rates(optim.StepLR(sgd(8.0), 2, gamma=0.5), 6) == [8, 8, 4, 4, 2, 2]


def test_a_cosine_falls_slowly_fast_slowly_and_stays():
    found = rates(optim.CosineLR(sgd(1.0), 4, lowest=0.2), 7)
    assert found == pytest.approx([1, 0.6 + 0.4 * math.sqrt(0.5), 0.6, 0.6 - 0.4 * math.sqrt(0.5), 0.2, 0.2, 0.2])


def test_a_warmup_rises_in_equal_parts_and_hands_over():
    optimizer = sgd(3.0)
    assert rates(optim.LinearWarmup(optimizer, 3, start=0.0, after=optim.StepLR(optimizer, 1, gamma=0.5)), 6) == [0, 1, 2, 3, 1.5, 0.75]
    assert rates(optim.LinearWarmup(sgd(3.0), 2), 4) == pytest.approx([1, 2, 3, 3])
    optimizer = sgd(8.0)
    twice = optim.LinearWarmup(optimizer, 1, start=0.5, after=optim.LinearWarmup(optimizer, 2, start=0.25))
    assert rates(twice, 5) == [4, 2, 5, 8, 8]


def test_a_schedule_of_ones_own_is_one_method():
    class Inverse(optim.Schedule):
        def factor(self, k: int) -> float:
            return 1 / (k + 1)

    assert rates(Inverse(sgd(6.0)), 3) == [6, 3, 2]
    with pytest.raises(NotImplementedError, match=r"Schedule has no factor\(k\)"):
        optim.Schedule(sgd())


def test_a_schedule_goes_on_from_its_state():
    first = optim.StepLR(sgd(8.0), 2, gamma=0.5)
    rates(first, 3)
    second = optim.StepLR(sgd(1.0), 2, gamma=0.5)
    second.load_state_dict(first.state_dict())
    assert rates(second, 3) == rates(first, 3) == [4, 2, 2]
    optimizer = sgd(1.0)
    warm = optim.LinearWarmup(optimizer, 1, start=0.0, after=optim.StepLR(optimizer, 1, gamma=0.5))
    warm.load_state_dict({"count": 1, "first": 4.0})
    assert rates(warm, 3) == [4, 2, 1]
    with pytest.raises(StateError, match="the state does not fit this StepLR: missing: first"):
        second.load_state_dict({"count": 3})


def test_what_makes_no_schedule_is_refused():
    with pytest.raises(ValueError, match="StepLR: step_size must be a whole number of at least 1, got 0"):
        optim.StepLR(sgd(), 0)
    with pytest.raises(ValueError, match=r"CosineLR: steps must be a whole number of at least 1, got 1.5"):
        optim.CosineLR(sgd(), 1.5)
    with pytest.raises(ValueError, match="LinearWarmup: `after` belongs to another optimizer"):
        optim.LinearWarmup(sgd(), 1, after=optim.StepLR(sgd(), 1))
    with pytest.raises(TypeError, match="StepLR takes an optimizer, got float"):
        optim.StepLR(0.1, 1)


def test_the_rates_agree_with_pytorch():
    torch = pytest.importorskip("torch")
    schedulers = torch.optim.lr_scheduler
    pairs = [
        (lambda o: optim.StepLR(o, 3, 0.5), lambda o: schedulers.StepLR(o, 3, 0.5)),
        (lambda o: optim.CosineLR(o, 8, 0.01), lambda o: schedulers.CosineAnnealingLR(o, 8, 0.01)),
        (lambda o: optim.LinearWarmup(o, 5), lambda o: schedulers.LinearLR(o, total_iters=5)),
    ]
    for ours, theirs in pairs:
        w = torch.ones(1, requires_grad=True)
        w.grad = torch.zeros(1)
        optimizer = torch.optim.SGD([w], lr=0.4)
        scheduler, expected = theirs(optimizer), []
        for _ in range(8):
            expected.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            scheduler.step()
        np.testing.assert_allclose(rates(ours(sgd(0.4)), 8), expected)
