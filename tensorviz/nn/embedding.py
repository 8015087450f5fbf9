"""The embedding layer. Imports the engine and the ops only."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from tensorviz.nn.initial import Rng, floats, generator, size
from tensorviz.nn.module import Module
from tensorviz.nn.parameter import Parameter
from tensorviz.ops.indexing import embedding


class Embedding(Module):
    """The rows of ``weight`` (num_embeddings, embedding_dim) at whole numbers of any shape: ids.shape + (embedding_dim,).

    The weight is standard normal. As in PyTorch, without padding_idx, max_norm and sparse gradients; float64 unless ``dtype`` says
    otherwise, and the random numbers come from ``rng``. Raises ValueError for sizes below 1; when called, TypeError for ids that are no
    integers and IndexError for ids outside the table.

    >>> Embedding(10, 4, rng=0)([[1, 2], [3, 1]]).shape
    (2, 2, 4)
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, *, dtype: npt.DTypeLike = float, rng: Rng = None) -> None:
        self.num_embeddings = size("Embedding", "num_embeddings", num_embeddings)
        self.embedding_dim = size("Embedding", "embedding_dim", embedding_dim)
        self.weight = Parameter(generator("Embedding", rng).standard_normal((num_embeddings, embedding_dim)).astype(floats("Embedding", dtype)))

    def forward(self, ids: Any) -> Any:
        return embedding(ids, self.weight)

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}"
