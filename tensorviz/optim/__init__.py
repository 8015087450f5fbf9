"""Optimizers, schedules of the learning rate, and clipping of gradients; for any leaf Tensors. Imports the engine only."""

from tensorviz.optim.adam import Adam, AdamW
from tensorviz.optim.clip import clip_grad_norm
from tensorviz.optim.optimizer import Optimizer
from tensorviz.optim.schedule import CosineLR, LinearWarmup, Schedule, StepLR
from tensorviz.optim.sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "CosineLR", "LinearWarmup", "Optimizer", "Schedule", "StepLR", "clip_grad_norm"]
