"""Multi-head attention. Imports the engine and the ops only."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorviz.errors import OptionError, ShapeError
from tensorviz.nn.initial import Rng, between, floats, generator, size
from tensorviz.nn.linear import Linear
from tensorviz.nn.module import Module
from tensorviz.nn.parameter import Parameter
from tensorviz.ops.attention import scaled_dot_product_attention
from tensorviz.ops.layer import linear
from tensorviz.ops.noise import check_probability, dropout
from tensorviz.ops.operands import as_array
from tensorviz.ops.probability import softmax


class MultiheadAttention(Module):
    """Attention in ``num_heads`` subspaces at once (Vaswani and others, 2017).

    Called with query (queries, batch, embed_dim), key and value (keys, batch, embed_dim); with ``batch_first=True`` the batch comes first; or
    all three without a batch axis. Gives ``(output, weights)``: the output in the query's shape, and the weights (batch, queries, keys)
    averaged over the heads, or (batch, heads, queries, keys) with ``average_attn_weights=False``. With ``need_weights=False`` the
    weights are None, and scores, softmax and product are recorded as one op.

    ``attn_mask`` (queries, keys) or (batch * heads, queries, keys) and ``key_padding_mask`` (batch, keys): in booleans, True may *not* be
    attended to; floats are added to the scores. ``is_causal`` lets query i attend to keys 0 to i.

    Names, shapes, defaults and initial values as in PyTorch (``in_proj_weight`` uniform in ±√(6 / (4 embed_dim)), biases 0), so that its state
    fits. Differences: ``is_causal`` needs no mask beside it; keys and values have embed_dim channels; float64 unless ``dtype`` says otherwise;
    random numbers come from ``rng``. Raises ValueError for heads that do not divide embed_dim, and when called on shapes that do not fit.

    >>> layer = MultiheadAttention(8, 2, batch_first=True, rng=0)
    >>> x = np.ones((4, 3, 8))
    >>> output, weights = layer(x, x, x)
    >>> output.shape, weights.shape
    ((4, 3, 8), (4, 3, 3))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        batch_first: bool = False,
        *,
        dtype: npt.DTypeLike = float,
        rng: Rng = None,
    ) -> None:
        self.embed_dim, self.num_heads = size("MultiheadAttention", "embed_dim", embed_dim), size("MultiheadAttention", "num_heads", num_heads)
        if embed_dim % num_heads:
            raise OptionError(f"MultiheadAttention: num_heads={num_heads} must divide embed_dim={embed_dim}")
        self.dropout, self.batch_first = check_probability("MultiheadAttention", dropout), bool(batch_first)
        self.rng, dtype = generator("MultiheadAttention", rng), floats("MultiheadAttention", dtype)
        # Glorot's bound √(6 / (fan_in + fan_out)) for the three projections stacked in one matrix
        bound = math.sqrt(6 / (embed_dim + 3 * embed_dim))
        self.in_proj_weight = Parameter(between(self.rng, (3 * embed_dim, embed_dim), bound, dtype))
        self.in_proj_bias = Parameter(np.zeros(3 * embed_dim, dtype)) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias, dtype=dtype, rng=self.rng)
        if self.out_proj.bias is not None:
            self.out_proj.bias.data = np.zeros(embed_dim)

    def forward(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Any, Any]:
        self._check(query, key, value)
        flip = np.ndim(query) == 3 and not self.batch_first
        q, k, v = (self._heads(part, flip) for part in self._projected(query, key, value))
        mask = self._mask(q.shape[:-3], q.shape[-2], k.shape[-2], attn_mask, key_padding_mask, is_causal)
        p = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            weights = dropout(softmax(_masked(np.matmul(q, np.swapaxes(k, -1, -2)) / math.sqrt(q.shape[-1]), mask)), p, seed=self.rng)
            attended = np.matmul(weights, v)
            weights = np.mean(weights, axis=-3) if average_attn_weights else weights
        else:
            attended = scaled_dot_product_attention(q, k, v, mask, p, seed=self.rng)
        merged = np.swapaxes(attended, -3, -2)
        output = self.out_proj(np.reshape(merged, (*merged.shape[:-2], self.embed_dim)))
        return np.swapaxes(output, 0, 1) if flip else output, weights

    def _check(self, query: Any, key: Any, value: Any) -> None:
        q, k, v = np.shape(query), np.shape(key), np.shape(value)
        layout = "(batch, length, embed_dim)" if self.batch_first else "(length, batch, embed_dim)"
        batch = 0 if self.batch_first else 1
        if not (
            len(q) == len(k) == len(v)
            and len(q) in (2, 3)
            and q[-1] == k[-1] == v[-1] == self.embed_dim
            and k[:-1] == v[:-1]
            and (len(q) == 2 or q[batch] == k[batch])
        ):
            raise ShapeError(
                f"MultiheadAttention: expected query, key and value of shape {layout} with embed_dim={self.embed_dim}, or all without the batch axis, and as many keys as values; got {q}, {k} and {v}"
            )

    def _projected(self, query: Any, key: Any, value: Any) -> tuple[Any, ...]:
        if query is key and key is value:
            return tuple(np.split(linear(query, self.in_proj_weight, self.in_proj_bias), 3, axis=-1))
        weights = np.split(self.in_proj_weight, 3)
        biases = np.split(self.in_proj_bias, 3) if self.in_proj_bias is not None else [None] * 3
        return tuple(linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True))

    def _heads(self, x: Any, flip: bool) -> Any:
        """(..., length, embed_dim) to (..., heads, length, embed_dim / heads)."""
        x = np.swapaxes(x, 0, 1) if flip else x
        return np.swapaxes(np.reshape(x, (*x.shape[:-1], self.num_heads, self.embed_dim // self.num_heads)), -3, -2)

    def _mask(self, batch: tuple[int, ...], queries: int, keys: int, attn_mask: Any, key_padding_mask: Any, is_causal: bool) -> Any:
        """All masks as one: booleans of what may be attended to, or floats to add to the scores; None without any."""
        masks = []
        if attn_mask is not None:
            attn_mask = _checked("attn_mask", attn_mask, ((queries, keys), (math.prod(batch) * self.num_heads, queries, keys)))
            masks.append(np.reshape(attn_mask, (*batch, self.num_heads, queries, keys)) if attn_mask.ndim == 3 else attn_mask)
        if key_padding_mask is not None:
            key_padding_mask = _checked("key_padding_mask", key_padding_mask, ((*batch, keys),))
            masks.append(np.reshape(key_padding_mask, (*batch, 1, 1, keys)))
        if is_causal:
            masks.append(np.tri(queries, keys) == 0)
        blocked: Any = None
        added: Any = None
        for mask in masks:
            if mask.dtype.kind == "b":
                blocked = np.asarray(mask) if blocked is None else blocked | np.asarray(mask)
            else:
                added = mask if added is None else added + mask
        if added is None:
            return None if blocked is None else ~blocked
        return added if blocked is None else np.where(blocked, -np.inf, added)

    def extra_repr(self) -> str:
        return f"embed_dim={self.embed_dim}, num_heads={self.num_heads}, dropout={self.dropout}, bias={self.in_proj_bias is not None}, batch_first={self.batch_first}"


def _checked(name: str, mask: Any, shapes: tuple[tuple[int, ...], ...]) -> Any:
    mask = as_array(mask)
    if mask.shape not in shapes or mask.dtype.kind not in "bf":
        raise ShapeError(
            f"MultiheadAttention: {name} is booleans (True may not be attended to) or floats (added to the scores) of shape {' or '.join(map(str, shapes))}, got {mask.dtype} of shape {mask.shape}"
        )
    return mask


def _masked(scores: Any, mask: Any) -> Any:
    if mask is None:
        return scores
    return np.where(mask, scores, -np.inf) if mask.dtype.kind == "b" else scores + mask
