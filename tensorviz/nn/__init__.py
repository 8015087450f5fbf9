"""Modules: pieces of a network that hold their parameters, and show up as groups in records and pictures. Imports the engine and the ops only."""

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
