"""Multi-head attention: layouts, masks, weights, the two ways it is recorded, and PyTorch where it is installed."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz import nn
from tensorviz.errors import ShapeError

RNG = np.random.default_rng(0)


def layer(**options) -> nn.MultiheadAttention:
    made = nn.MultiheadAttention(4, 2, batch_first=True, rng=0, **options)
    made.in_proj_bias.data = RNG.normal(size=12)
    return made


def test_equal_keys_give_equal_weights_and_the_mean_of_the_values():
    one = nn.MultiheadAttention(2, 1, rng=0)
    one.in_proj_weight.data = np.concatenate([np.eye(2)] * 3)
    one.out_proj.weight.data = np.eye(2)
    keys, values = np.zeros((2, 2)), np.array([[1.0, 2.0], [3.0, 4.0]])
    output, weights = one(np.ones((1, 2)), keys, values)
    assert output.tolist() == [[2, 3]]
    assert weights.tolist() == [[0.5, 0.5]]


def test_the_layouts_differ_in_the_order_of_axes_only():
    first, x = layer(), RNG.normal(size=(3, 5, 4))
    second = nn.MultiheadAttention(4, 2)
    second.load_state_dict(first.state_dict())
    expected, weights = first(x, x, x)
    flipped = np.swapaxes(x, 0, 1)
    output, other = second(flipped, flipped, flipped)
    np.testing.assert_allclose(np.swapaxes(output, 0, 1), expected)
    np.testing.assert_allclose(other, weights)
    single, alone = second(x[1], x[1], x[1])
    np.testing.assert_allclose(single, expected[1])
    np.testing.assert_allclose(alone, weights[1])


def test_one_op_and_many_ops_give_the_same_numbers():
    made, x, mask = layer(), RNG.normal(size=(3, 5, 4)), RNG.normal(size=(5, 5))
    for options in ({}, {"is_causal": True}, {"attn_mask": mask}, {"attn_mask": mask > 0.5}):
        a, weights = made(x, x, x, **options)
        b, none = made(x, x, x, need_weights=False, **options)
        assert weights.shape == (3, 5, 5)
        assert none is None
        np.testing.assert_allclose(a, b)
    ops = [n.op for n in b.backward(np.ones(b.shape)).nodes]
    assert "attention" in ops
    assert "softmax" not in ops
    ops = [n.op for n in a.backward(np.ones(a.shape)).nodes]
    assert "softmax" in ops
    assert "attention" not in ops


def test_weights_come_averaged_or_per_head_and_carry_a_gradient():
    made, x = layer(), RNG.normal(size=(3, 5, 4))
    _, averaged = made(x, x, x)
    _, each = made(x, x, x, average_attn_weights=False)
    assert each.shape == (3, 2, 5, 5)
    np.testing.assert_allclose(averaged, each.numpy().mean(axis=1))
    np.testing.assert_allclose(averaged.numpy().sum(axis=-1), np.ones((3, 5)))
    averaged[0, 0, 0].backward()
    assert made.in_proj_weight.grad.any()
    assert made.out_proj.weight.grad is None


def test_masks_keep_out_what_they_name():
    made, x = layer(), RNG.normal(size=(2, 3, 4))
    padding = np.array([[False, False, True], [False, True, True]])
    _, weights = made(x, x, x, key_padding_mask=padding)
    assert (weights.numpy() == 0).tolist() == np.broadcast_to(padding[:, None], (2, 3, 3)).tolist()
    _, weights = made(x, x, x, key_padding_mask=padding, is_causal=True)
    assert (weights.numpy()[1] > 0).tolist() == [[True, False, False]] * 3
    _, weights = made(x, x, x, key_padding_mask=padding, attn_mask=np.zeros((3, 3)))
    assert (weights.numpy()[0, :, 2] == 0).all()
    per_head = np.zeros((4, 3, 3), bool)
    per_head[1, 0, 0] = True  # batch 0, head 1
    _, weights = made(x, x, x, attn_mask=per_head, average_attn_weights=False)
    assert np.argwhere(weights.numpy() == 0).tolist() == [[0, 1, 0, 0]]


def test_a_learned_mask_gets_a_gradient():
    made, x = layer(), RNG.normal(size=(2, 3, 4))
    bias = tv.nn.Parameter(np.zeros((3, 3)))
    for need in (True, False):
        bias.grad = None
        made(x, x, x, attn_mask=bias, need_weights=need, is_causal=True)[0].sum().backward()
        assert bias.grad[2].any()
        assert bias.grad[0].tolist() == [0, 0, 0]  # the first query has one key, whatever is added to its score


def test_dropout_acts_while_training_only_and_repeats_with_the_seed():
    x = RNG.normal(size=(3, 5, 4))
    for need in (True, False):
        runs = [nn.MultiheadAttention(4, 2, dropout=0.5, batch_first=True, rng=1)(x, x, x, need_weights=need)[0].tolist() for _ in range(2)]
        assert runs[0] == runs[1]
        made = nn.MultiheadAttention(4, 2, dropout=0.5, batch_first=True, rng=1)
        assert made(x, x, x, need_weights=need)[0].tolist() != made(x, x, x, need_weights=need)[0].tolist()
        made.eval()
        assert made(x, x, x, need_weights=need)[0].tolist() == made(x, x, x, need_weights=need)[0].tolist()


def test_shapes_that_do_not_fit_are_refused():
    made, x = layer(), np.ones((2, 3, 4))
    expected = r"expected query, key and value of shape \(batch, length, embed_dim\) with embed_dim=4"
    for q, k, v in ((x[..., :3], x, x), (x, x, x[:, :2]), (x, x[0], x[0]), (x, x[:1], x[:1]), (x[None], x[None], x[None])):
        with pytest.raises(ShapeError, match=expected):
            made(q, k, v)
    with pytest.raises(ShapeError, match=r"attn_mask is booleans .* of shape \(3, 3\) or \(4, 3, 3\), got bool of shape \(2, 3\)"):
        made(x, x, x, attn_mask=np.ones((2, 3), bool))
    with pytest.raises(ShapeError, match=r"key_padding_mask is booleans .* of shape \(2, 3\), got int64 of shape \(2, 3\)"):
        made(x, x, x, key_padding_mask=np.ones((2, 3), np.int64))


def test_the_initial_values_are_pytorchs():
    made = nn.MultiheadAttention(16, 4, rng=0)
    bound = np.sqrt(6 / 64)
    assert 0.95 * bound < np.abs(made.in_proj_weight.numpy()).max() <= bound
    assert not made.in_proj_bias.numpy().any()
    assert not made.out_proj.bias.numpy().any()
    assert [name for name, _ in nn.MultiheadAttention(4, 2, bias=False).named_parameters()] == ["in_proj_weight", "out_proj.weight"]


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("selfish", [True, False])
def test_it_agrees_with_pytorch_in_values_weights_and_gradients(need_weights, selfish):
    torch = pytest.importorskip("torch")
    theirs = torch.nn.MultiheadAttention(6, 3, dtype=torch.float64)
    ours = nn.MultiheadAttention(6, 3)
    theirs.in_proj_bias.data = torch.from_numpy(RNG.normal(size=18))
    ours.load_state_dict(theirs.state_dict())
    arrays = [RNG.normal(size=(4, 2, 6)), RNG.normal(size=(5, 2, 6)), RNG.normal(size=(5, 2, 6))]
    mine, yours = [tv.tensor(a, requires_grad=True) for a in arrays], [torch.tensor(a, requires_grad=True) for a in arrays]
    if selfish:
        mine, yours = [mine[0]] * 3, [yours[0]] * 3
    mask = RNG.uniform(size=(4, 4 if selfish else 5)) > 0.7
    padding = np.zeros((2, 4 if selfish else 5), bool)
    padding[1, -1] = True
    mask[:, 0] = False
    masks = {"key_padding_mask": padding, "attn_mask": mask}
    y, w = ours(*mine, need_weights=need_weights, **masks)
    z, v = theirs(*yours, need_weights=need_weights, **{k: torch.from_numpy(m) for k, m in masks.items()})
    np.testing.assert_allclose(y, z.detach(), atol=1e-12)
    if need_weights:
        np.testing.assert_allclose(w, v.detach(), atol=1e-12)
    g = RNG.normal(size=y.shape)
    y.backward(g)
    z.backward(torch.from_numpy(g))
    for a, b in zip(mine, yours, strict=True):
        np.testing.assert_allclose(a.grad, b.grad, atol=1e-12)
    named = dict(theirs.named_parameters())
    assert [name for name, _ in ours.named_parameters()] == list(named)
    for name, p in ours.named_parameters():
        np.testing.assert_allclose(p.grad, named[name].grad, atol=1e-12)
