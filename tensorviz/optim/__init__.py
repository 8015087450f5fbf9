"""Optimizers, schedules of the learning rate, and clipping of gradients; for any leaf Tensors. Imports the engine only."""

import sys
from typing import Any

from tensorviz.errors import no_attribute
from tensorviz.optim.adam import Adam, AdamW
from tensorviz.optim.clip import clip_grad_norm
from tensorviz.optim.optimizer import Optimizer
from tensorviz.optim.schedule import CosineLR, LinearWarmup, Schedule, StepLR
from tensorviz.optim.sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "CosineLR", "LinearWarmup", "Optimizer", "Schedule", "StepLR", "clip_grad_norm"]

_INSTEAD = {"lr_scheduler": "schedules are in tv.optim itself: CosineLR, LinearWarmup, StepLR", "cosineannealinglr": "write optim.CosineLR"}
"""What to do in the place of what PyTorch has under these names, in small letters."""


def __getattr__(name: str) -> Any:
    raise no_attribute("module 'tensorviz.optim'", name, _INSTEAD, sys.modules[__name__])
