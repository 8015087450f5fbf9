"""Modules: pieces of a network that hold their parameters, and show up as groups in records and pictures. Imports the engine and the ops only."""

import sys
from typing import Any

from tensorviz.errors import no_attribute
from tensorviz.nn.activation import GELU, Flatten, LeakyReLU, LogSoftmax, ReLU, Sigmoid, SiLU, Softmax, Tanh
from tensorviz.nn.attention import MultiheadAttention
from tensorviz.nn.convolution import Conv1d, Conv2d
from tensorviz.nn.dropout import Dropout
from tensorviz.nn.embedding import Embedding
from tensorviz.nn.linear import Linear
from tensorviz.nn.loss import BCEWithLogitsLoss, CrossEntropyLoss, MSELoss, NLLLoss
from tensorviz.nn.module import Module
from tensorviz.nn.normalization import BatchNorm, LayerNorm
from tensorviz.nn.parameter import Parameter
from tensorviz.nn.pooling import AvgPool2d, MaxPool2d
from tensorviz.nn.sequential import Sequential

__all__ = [
    "GELU",
    "AvgPool2d",
    "BCEWithLogitsLoss",
    "BatchNorm",
    "Conv1d",
    "Conv2d",
    "CrossEntropyLoss",
    "Dropout",
    "Embedding",
    "Flatten",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LogSoftmax",
    "MSELoss",
    "MaxPool2d",
    "Module",
    "MultiheadAttention",
    "NLLLoss",
    "Parameter",
    "ReLU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Tanh",
]

_INSTEAD = {
    **dict.fromkeys(("functional", "f"), "functions are in tv itself: tv.relu, tv.softmax, tv.cross_entropy ..."),
    **dict.fromkeys(("batchnorm1d", "batchnorm2d"), "write nn.BatchNorm"),
    **dict.fromkeys(("modulelist", "moduledict", "parameterlist"), "leave it out: a module finds the parameters in its lists and dicts"),
    **dict.fromkeys(("rnn", "lstm", "gru"), "write the step with nn.Linear, tv.tanh and tv.sigmoid, and a loop over time"),
    **dict.fromkeys(("init", "utils"), "assign to a parameter's .data; tv.optim.clip_grad_norm clips gradients"),
    "adaptiveavgpool2d": "write x.mean(axis=(2, 3))",
    "l1loss": "write np.mean(np.abs(x - target))",
}
"""What to do in the place of what PyTorch has under these names, in small letters."""


def __getattr__(name: str) -> Any:
    raise no_attribute("module 'tensorviz.nn'", name, _INSTEAD, sys.modules[__name__])
