"""Network ops: small cases by hand, the corners of the losses, and PyTorch as a second opinion where it is installed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import DTypeError, ShapeError

INF, NAN = math.inf, math.nan


def leaf(data: Any, dtype: Any = None) -> tv.Tensor:
    return tv.tensor(data, dtype=dtype, requires_grad=True)


# ---- softmax ------------------------------------------------------------------------------------------------------


def test_softmax_neither_overflows_nor_warns():
    x = leaf([[1000.0, 0.0, -1000.0], [0.0, 0.0, 0.0]])
    with np.errstate(all="raise"):
        y = tv.softmax(x)
        y.backward(np.array([[1.0, 2.0, 3.0], [1.0, 0.0, 0.0]]))
    np.testing.assert_allclose(y.numpy(), [[1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]])
    np.testing.assert_allclose(x.grad, [[0.0, 0.0, 0.0], [2 / 9, -1 / 9, -1 / 9]], atol=1e-15)


@pytest.mark.parametrize(("shape", "axis"), [((0, 3), 0), ((2, 0), -1), ((0,), None), ((2, 0, 3), (0, 1))])
@pytest.mark.parametrize("f", [tv.softmax, tv.log_softmax])
def test_softmax_over_no_elements_is_empty_and_silent(f, shape, axis):
    x = tv.tensor(np.zeros(shape), requires_grad=True)
    with np.errstate(all="raise"):
        y = f(x, axis=axis)
        y.backward(np.ones(shape))
    assert y.shape == x.grad.shape == shape
    with pytest.raises(ValueError, match="out of bounds"):
        f(x, axis=3)


def test_softmax_of_a_row_of_minus_infinities_is_nan_and_so_is_its_gradient():
    x = leaf([[-INF, -INF], [0.0, 0.0]])
    with np.errstate(invalid="ignore"):
        tv.softmax(x, axis=1).backward(np.array([[1.0, 2.0], [1.0, -1.0]]))
    assert np.isnan(x.grad[0]).all()
    assert x.grad[1].tolist() == [0.5, -0.5]


def test_log_softmax_is_exact_where_softmax_is_zero():
    x = leaf([1000.0, 0.0])
    y = x.log_softmax(axis=0)
    assert y.tolist() == [0.0, -1000.0]
    y.backward(np.array([0.0, 1.0]))
    assert x.grad.tolist() == [-1.0, 1.0]


# ---- linear -------------------------------------------------------------------------------------------------------


def test_linear_is_one_node_with_a_bias_summed_over_the_batch():
    x, weight, bias = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), leaf([10.0, 20.0, 30.0])
    y = tv.linear(x, weight, bias)
    assert y.tolist() == [[11.0, 22.0, 33.0], [13.0, 24.0, 37.0]]
    trace = y.backward(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 2.0]]))
    assert x.grad.tolist() == [[1.0, 0.0], [2.0, 2.0]]
    assert weight.grad.tolist() == [[1.0, 2.0], [0.0, 0.0], [6.0, 8.0]]
    assert bias.grad.tolist() == [1.0, 0.0, 2.0]
    assert trace.node("bias").shares[0].summed_axes == (0,)
    assert len(trace.nodes) == 4


def test_a_stack_of_rows_goes_through_a_linear_layer_as_one_product_and_so_does_its_gradient():
    rng = np.random.default_rng(0)
    x, weight = leaf(rng.normal(size=(300, 1, 40))), leaf(rng.normal(size=(30, 40)))
    y, g = tv.linear(x, weight), rng.normal(size=(300, 1, 30))
    y.backward(g)
    # to the last bit: BLAS adds up otherwise in a product of one row
    assert y.numpy().tobytes() == (x.numpy().reshape(300, 40) @ weight.numpy().T).tobytes()
    assert x.grad.tobytes() == (g.reshape(300, 30) @ weight.numpy()).tobytes()


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((2, 3), (4, 2)), r"x of shape \(2, 3\) needs a weight of shape \(outputs, 3\), got \(4, 2\)"),
        (((2, 3), (4, 3), (3,)), r"needs a bias of shape \(4,\), got \(3,\)"),
    ],
)
def test_linear_says_which_shape_it_wants(shapes: Any, message: str):
    with pytest.raises(ShapeError, match=message):
        tv.linear(*(leaf(np.ones(s)) for s in shapes))


# ---- cross entropy ------------------------------------------------------------------------------------------------


def test_cross_entropy_of_confident_logits_right_and_wrong():
    z = leaf([[1000.0, 0.0], [0.0, 1000.0]])
    with np.errstate(all="raise"):
        loss = tv.cross_entropy(z, np.array([0, 0]))
        loss.backward()
    assert loss.item() == 500.0
    assert z.grad.tolist() == [[0.0, 0.0], [-0.5, 0.5]]


def test_cross_entropy_under_every_reduction():
    z = np.zeros((2, 2))
    assert tv.cross_entropy(z, np.array([0, 1])) == pytest.approx(math.log(2))
    assert tv.cross_entropy(z, np.array([0, 1]), reduction="sum") == pytest.approx(2 * math.log(2))
    np.testing.assert_allclose(tv.cross_entropy(z, np.array([0, 1]), reduction="none"), [math.log(2)] * 2)


def test_ignored_rows_have_neither_loss_nor_gradient_whatever_they_hold():
    z = leaf([[0.0, 0.0], [-INF, -INF], [NAN, 1.0], [1.0, 1.0]])
    with np.errstate(all="raise"):
        loss = tv.cross_entropy(z, np.array([0, -1, -1, 1]), ignore_index=-1)
        loss.backward()
    assert loss.item() == pytest.approx(math.log(2))
    assert z.grad.tolist() == [[-0.25, 0.25], [0.0, 0.0], [0.0, 0.0], [0.25, -0.25]]


def test_the_mean_over_no_row_is_nan_with_gradient_zero():
    z = leaf([[1.0, 2.0]])
    loss = tv.cross_entropy(z, np.array([-100]))
    assert math.isnan(loss.item())
    loss.backward()
    assert z.grad.tolist() == [[0.0, 0.0]]


def test_label_smoothing_spreads_the_target():
    z = leaf([[0.0, 0.0]])
    tv.cross_entropy(z, np.array([0]), label_smoothing=0.5).backward()
    # softmax (1/2, 1/2) minus the smoothed target (3/4, 1/4)
    assert z.grad.tolist() == [[-0.25, 0.25]]


@pytest.mark.parametrize(
    ("logits", "target", "options", "error", "message"),
    [
        ((2, 3), [0, 3], {}, ShapeError, r"target\[1\] is 3, expected a class from 0 to 2"),
        ((2, 3), [-1, 0], {}, ShapeError, r"target\[0\] is -1.*ignore_index=-100"),
        ((2, 3, 2), [[0, 1], [0, 7]], {}, ShapeError, r"target\[\(1, 1\)\] is 7"),
        ((2, 3), [0, 1, 2], {}, ShapeError, r"scores of shape \(2, 3\).*a target of shape \(2,\), got \(3,\)"),
        ((2, 3), [0.0, 1.0], {}, DTypeError, r"must be integers, got dtype float64"),
        ((), 0, {}, ShapeError, r"got a single number"),
        ((2, 3), [0, 1], {"reduction": "avg"}, ValueError, r"'mean', 'sum', 'none', got 'avg'"),
        ((2, 3), [0, 1], {"label_smoothing": 1.5}, ValueError, r"a number from 0 to 1, got 1.5"),
    ],
)
def test_cross_entropy_says_what_is_wrong_with_its_operands(logits: Any, target: Any, options: Any, error: Any, message: str):
    with pytest.raises(error, match=message):
        tv.cross_entropy(leaf(np.zeros(logits)), np.array(target), **options)


def test_nll_loss_picks_one_score_per_row():
    scores = leaf([[-1.0, -2.0], [-3.0, -4.0]])
    trace = tv.nll_loss(scores, np.array([1, 0]), reduction="sum").backward()
    assert scores.grad.tolist() == [[0.0, -1.0], [-1.0, 0.0]]
    assert trace.node("scores").shares[0].route.tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_mse_loss_refuses_to_broadcast():
    with pytest.raises(ShapeError, match=r"\(3, 1\) and target of shape \(3,\)"):
        tv.mse_loss(leaf(np.ones((3, 1))), np.ones(3))
    x = leaf([1.0, 2.0])
    loss = tv.mse_loss(x, [1.0, 5.0])
    loss.backward()
    assert loss.item() == 4.5
    assert x.grad.tolist() == [0.0, -3.0]


def test_bce_with_logits_far_from_zero():
    x = leaf([1000.0, -1000.0, 0.0])
    with np.errstate(all="raise"):
        loss = tv.bce_with_logits(x, np.array([0.0, 0.0, 1.0]), reduction="none")
        loss.backward(np.ones(3))
    np.testing.assert_allclose(loss.numpy(), [1000.0, 0.0, math.log(2)])
    assert x.grad.tolist() == [1.0, 0.0, -0.5]


# ---- pools, convolutions --------------------------------------------------------------------------------------------


def test_max_pool_routes_each_window_to_its_greatest_element():
    x = leaf(np.array([[1.0, 2.0, 5.0, 5.0], [3.0, 4.0, 0.0, 5.0]]).reshape(1, 1, 2, 4))
    trace = tv.max_pool2d(x, 2).backward(np.array([[[[10.0, 3.0]]]]))
    assert x.grad[0, 0].tolist() == [[0.0, 0.0, 1.0, 1.0], [0.0, 10.0, 0.0, 1.0]]
    np.testing.assert_allclose(trace.node("x").shares[0].route[0, 0], [[0, 0, 1 / 3, 1 / 3], [0, 1, 0, 1 / 3]])


def test_max_pool_sends_a_nan_gradient_to_the_chosen_element_only():
    x = leaf(np.array([[1.0, 2.0], [3.0, 4.0]]).reshape(1, 1, 2, 2))
    tv.max_pool2d(x, 2).backward(np.full((1, 1, 1, 1), NAN))
    assert math.isnan(x.grad[0, 0, 1, 1])
    assert x.grad[0, 0].ravel()[:3].tolist() == [0.0, 0.0, 0.0]


def test_an_element_of_several_windows_collects_from_all_of_them():
    x = leaf(np.array([[0.0, 9.0, 0.5]]).reshape(1, 1, 1, 3))
    trace = tv.max_pool2d(x, (1, 2), stride=1).backward(np.array([[[[1.0, 10.0]]]]))
    assert x.grad[0, 0].tolist() == [[0.0, 11.0, 0.0]]
    assert trace.node("x").shares[0].route[0, 0].tolist() == [[0.0, 1.0, 0.0]]


def test_padding_is_never_the_greatest_element():
    x = leaf(np.full((1, 1, 2, 2), -5.0))
    tv.max_pool2d(x, 3, stride=2, padding=1).sum().backward()
    assert x.grad[0, 0].tolist() == [[0.25, 0.25], [0.25, 0.25]]


def test_a_convolution_by_hand():
    x, weight, bias = leaf([[[1.0, 2.0, 4.0]]]), leaf([[[10.0, 1.0]]]), leaf([100.0])
    y = tv.conv1d(x, weight, bias)
    assert y.tolist() == [[[112.0, 124.0]]]
    y.backward(np.array([[[1.0, 2.0]]]))
    assert x.grad.tolist() == [[[10.0, 21.0, 2.0]]]
    assert weight.grad.tolist() == [[[5.0, 10.0]]]
    assert bias.grad.tolist() == [3.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tv.conv2d(np.ones((3, 8, 8)), np.ones((1, 3, 3, 3))), r"expected x of shape \(batch, channels, height, width\).*got \(3, 8, 8\)"),
        (lambda: tv.conv2d(np.ones((1, 3, 8, 8)), np.ones((1, 2, 3, 3))), r"x has 3 channels.*takes 2"),
        (lambda: tv.conv2d(np.ones((1, 1, 2, 2)), np.ones((1, 1, 3, 3))), r"a window of 3 does not fit into 2 elements \(axis 2"),
        (lambda: tv.conv2d(np.ones((1, 3, 8, 8)), np.ones((2, 3, 3, 3)), groups=2), r"groups=2 must divide the 3 channels"),
        (lambda: tv.conv1d(np.ones((1, 1, 8)), np.ones((2, 1, 3)), np.ones(3)), r"a bias of shape \(2,\), got \(3,\)"),
        (lambda: tv.conv1d(np.ones((1, 1, 8)), np.ones((2, 1, 3)), stride=0), r"stride is an int of at least 1"),
        (lambda: tv.max_pool2d(np.ones((8, 8)), 2), r"expected x of shape \(batch, channels, height, width\), got \(8, 8\)"),
        (lambda: tv.avg_pool2d(np.ones((1, 1, 8, 8)), 2, padding=2), r"more than half of the kernel"),
        (lambda: tv.layer_norm(np.ones((2, 3)), 4), r"normalized_shape \(4,\) must be the end of x's shape \(2, 3\)"),
        (lambda: tv.batch_norm(np.ones((1, 3)), training=True), r"1 value\(s\) per channel"),
        (lambda: tv.batch_norm(np.ones((2, 3))), r"both must be given"),
        (lambda: tv.batch_norm(np.ones((2, 3)), weight=np.ones(2), training=True), r"weight needs one element per channel, shape \(3,\)"),
        (lambda: tv.scaled_dot_product_attention(np.ones((2, 3)), np.ones((2, 4)), np.ones((2, 3))), r"query and key share the width"),
        (lambda: tv.dropout(np.ones(3), 1.5), r"a number from 0 to 1, got 1.5"),
    ],
)
def test_layers_say_which_shapes_they_want(call: Callable[[], Any], message: str):
    with pytest.raises(ValueError, match=message):
        call()


# ---- dropout, normalization -----------------------------------------------------------------------------------------


def test_dropout_keeps_its_seed_in_the_record_and_leaves_numpys_generator_alone():
    x = leaf(np.ones(1000))
    before = np.random.get_state()[1].copy()  # noqa: NPY002 - the global generator is what must not move
    y = tv.dropout(x, 0.25)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002
    trace = y.backward(np.ones(1000))
    seed = trace.nodes[-1].params["seed"]
    np.testing.assert_array_equal(tv.dropout(np.ones(1000), 0.25, seed=seed), y.numpy())
    assert set(np.unique(x.grad)) == {0.0, 1 / 0.75}
    assert 0.6 < (y.numpy() != 0).mean() < 0.9


def test_dropout_is_nothing_outside_training_and_everything_at_one():
    x = leaf([1.0, 2.0])
    assert tv.dropout(x, 0.5, training=False) is x
    y = tv.dropout(x, 1.0)
    assert y.tolist() == [0.0, 0.0]
    y.backward(np.array([1.0, 1.0]))
    assert x.grad.tolist() == [0.0, 0.0]


def test_a_generator_decides_which_elements_fall():
    a = tv.dropout(np.ones(20), 0.5, seed=np.random.default_rng(3))
    assert a.tolist() == tv.dropout(np.ones(20), 0.5, seed=np.random.default_rng(3)).tolist()


@pytest.mark.parametrize("kind", [np.asarray, tv.tensor])
def test_batch_norm_moves_its_running_values_towards_the_batch(kind: Any):
    mean, var = kind(np.array([0.0, 0.0])), kind(np.array([1.0, 1.0]))
    x = leaf([[1.0, 10.0], [3.0, 30.0]])
    tv.batch_norm(x, mean, var, training=True)
    np.testing.assert_allclose(np.asarray(mean), [0.2, 2.0])
    np.testing.assert_allclose(np.asarray(var), [0.9 + 0.1 * 2, 0.9 + 0.1 * 200])
    y = tv.batch_norm(x, mean, var, eps=0.0)
    np.testing.assert_allclose(y.numpy()[0], [0.8 / math.sqrt(1.1), 8 / math.sqrt(20.9)])


def test_layer_norm_of_equal_elements_has_gradient_zero():
    x = leaf([[2.0, 2.0, 2.0]])
    y = tv.layer_norm(x, 3, weight=np.array([1.0, 2.0, 3.0]))
    assert y.tolist() == [[0.0, 0.0, 0.0]]
    y.backward(np.array([[1.0, 1.0, 1.0]]))
    assert np.isfinite(x.grad).all()


# ---- PyTorch as a second opinion ------------------------------------------------------------------------------------

R = np.random.default_rng(5)
LABELS = np.array([0, 2, 1, -100])
MEAN, VAR = np.array([0.5, -1.0]), np.array([2.0, 0.5])

PEERS: dict[str, tuple[Callable[..., Any], Callable[[Any], Callable[..., Any]], tuple[Any, ...]]] = {
    "cross_entropy": (lambda z: tv.cross_entropy(z, LABELS), lambda F: lambda z: F.cross_entropy(z, _torch(LABELS)), (R.normal(size=(4, 3)),)),
    "cross_entropy smoothed": (
        lambda z: tv.cross_entropy(z, LABELS, label_smoothing=0.2),
        lambda F: lambda z: F.cross_entropy(z, _torch(LABELS), label_smoothing=0.2),
        (R.normal(size=(4, 3)),),
    ),
    "cross_entropy of pixels": (
        lambda z: tv.cross_entropy(z, LABELS.reshape(1, 2, 2), reduction="sum"),
        lambda F: lambda z: F.cross_entropy(z, _torch(LABELS).reshape(1, 2, 2), reduction="sum"),
        (R.normal(size=(1, 3, 2, 2)),),
    ),
    "nll_loss": (lambda z: tv.nll_loss(z, LABELS), lambda F: lambda z: F.nll_loss(z, _torch(LABELS)), (R.normal(size=(4, 3)),)),
    "bce_with_logits": (tv.bce_with_logits, lambda F: F.binary_cross_entropy_with_logits, (R.normal(size=5), R.random(5))),
    "linear": (tv.linear, lambda F: F.linear, (R.normal(size=(2, 4, 3)), R.normal(size=(5, 3)), R.normal(size=5))),
    "gelu": (tv.gelu, lambda F: F.gelu, (R.normal(size=9),)),
    "gelu tanh": (lambda a: tv.gelu(a, "tanh"), lambda F: lambda a: F.gelu(a, approximate="tanh"), (R.normal(size=9),)),
    "silu": (tv.silu, lambda F: F.silu, (R.normal(size=9),)),
    "softplus": (tv.softplus, lambda F: F.softplus, (R.normal(size=9),)),
    "elu": (lambda a: tv.elu(a, 0.7), lambda F: lambda a: F.elu(a, 0.7), (R.normal(size=9),)),
    "layer_norm": (
        lambda x, w, b: tv.layer_norm(x, (2, 3), w, b),
        lambda F: lambda x, w, b: F.layer_norm(x, (2, 3), w, b),
        (R.normal(size=(4, 2, 3)), R.normal(size=(2, 3)), R.normal(size=(2, 3))),
    ),
    "batch_norm": (
        lambda x, w, b: tv.batch_norm(x, None, None, w, b, training=True),
        lambda F: lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        (R.normal(size=(4, 2, 3)), R.normal(size=2), R.normal(size=2)),
    ),
    "batch_norm fixed": (
        lambda x, w: tv.batch_norm(x, MEAN, VAR, w),
        lambda F: lambda x, w: F.batch_norm(x, _torch(MEAN), _torch(VAR), w),
        (R.normal(size=(4, 2, 3)), R.normal(size=2)),
    ),
    "conv1d": (
        lambda x, w, b: tv.conv1d(x, w, b, stride=2, padding=1, dilation=2),
        lambda F: lambda x, w, b: F.conv1d(x, w, b, stride=2, padding=1, dilation=2),
        (R.normal(size=(2, 3, 9)), R.normal(size=(4, 3, 3)), R.normal(size=4)),
    ),
    "conv2d": (
        lambda x, w, b: tv.conv2d(x, w, b, stride=(2, 1), padding=(1, 0), groups=2),
        lambda F: lambda x, w, b: F.conv2d(x, w, b, stride=(2, 1), padding=(1, 0), groups=2),
        (R.normal(size=(2, 4, 5, 6)), R.normal(size=(6, 2, 3, 2)), R.normal(size=6)),
    ),
    "max_pool2d": (lambda x: tv.max_pool2d(x, 3, 2, 1), lambda F: lambda x: F.max_pool2d(x, 3, 2, 1), (R.normal(size=(2, 2, 7, 6)),)),
    "avg_pool2d": (
        lambda x: tv.avg_pool2d(x, (3, 2), 2, 1, count_include_pad=False),
        lambda F: lambda x: F.avg_pool2d(x, (3, 2), 2, 1, count_include_pad=False),
        (R.normal(size=(2, 2, 7, 6)),),
    ),
    "attention": (
        tv.scaled_dot_product_attention,
        lambda F: F.scaled_dot_product_attention,
        (R.normal(size=(2, 4, 3)), R.normal(size=(2, 5, 3)), R.normal(size=(2, 5, 6))),
    ),
    "attention causal": (
        lambda *a: tv.scaled_dot_product_attention(*a, is_causal=True, scale=0.3),
        lambda F: lambda *a: F.scaled_dot_product_attention(*a, is_causal=True, scale=0.3),
        (R.normal(size=(2, 4, 3)), R.normal(size=(2, 4, 3)), R.normal(size=(2, 4, 6))),
    ),
    "attention masked": (
        tv.scaled_dot_product_attention,
        lambda F: lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m),
        (R.normal(size=(2, 4, 3)), R.normal(size=(2, 5, 3)), R.normal(size=(2, 5, 6)), R.normal(size=(2, 4, 5))),
    ),
    "norm 3": (lambda x: tv.norm(x, 3, axis=1), lambda _: lambda x: x.norm(3, dim=1), (R.normal(size=(2, 3)),)),
    "std": (lambda x: tv.std(x, axis=0, ddof=1), lambda _: lambda x: x.std(dim=0), (R.normal(size=(4, 3)),)),
    "cumprod": (lambda x: tv.cumprod(x, axis=1), lambda _: lambda x: x.cumprod(1), (np.array([[2.0, 0.0, 3.0, 0.0], [1.0, 2.0, 3.0, 4.0]]),)),
    "prod": (lambda x: tv.prod(x, axis=1), lambda _: lambda x: x.prod(1), (np.array([[2.0, 0.0, 3.0], [1.0, 2.0, 3.0]]),)),
}


def _torch(array: Any) -> Any:
    return pytest.importorskip("torch").from_numpy(array)


@pytest.mark.parametrize("name", PEERS)
def test_values_and_gradients_equal_pytorchs(name: str):
    torch = pytest.importorskip("torch")
    ours, theirs, operands = PEERS[name]
    made = [leaf(x) for x in operands]
    peers = [torch.tensor(x, requires_grad=True) for x in operands]
    y, z = ours(*made), theirs(torch.nn.functional)(*peers)
    np.testing.assert_allclose(y.numpy(), z.detach().numpy(), rtol=1e-10, atol=1e-12)
    seed = np.random.default_rng(1).normal(size=y.shape)
    y.backward(seed)
    z.backward(torch.tensor(seed))
    for mine, peer in zip(made, peers, strict=True):
        if peer.grad is not None:
            np.testing.assert_allclose(mine.grad, peer.grad.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("given", [(), ("weight",), ("weight", "bias")], ids=len)
def test_layer_norm_is_its_formula_to_the_last_bit_and_leaves_the_seed_as_it_was(given, dtype):
    rng = np.random.default_rng(0)
    x, seed = (rng.normal(size=(5, 7, 12)).astype(dtype) for _ in range(2))
    more = {name: tv.tensor(rng.normal(size=12).astype(dtype), requires_grad=True) for name in given}
    leaf, before = tv.tensor(x, requires_grad=True), seed.copy()
    y = tv.layer_norm(leaf, 12, **more)
    y.backward(seed)
    centred = x - x.sum(-1, keepdims=True) / 12
    factor = 1 / np.sqrt((centred * centred).sum(-1, keepdims=True) / 12 + 1e-5)
    normalized = centred * factor
    weight = more["weight"].numpy() if given else dtype(1)
    g = seed * weight
    share = factor * (g - g.sum(-1, keepdims=True) / 12 - normalized * ((g * normalized).sum(-1, keepdims=True) / 12))
    assert y.numpy().tobytes() == (normalized * weight + (more["bias"].numpy() if "bias" in more else dtype(0))).tobytes()
    assert leaf.grad.tobytes() == share.tobytes()
    assert seed.tobytes() == before.tobytes()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("axis", [-1, 0, (0, 2), None], ids=str)
def test_softmax_is_its_formula_to_the_last_bit_and_leaves_operand_and_seed_as_they_were(axis, dtype):
    rng = np.random.default_rng(0)
    x, seed = (rng.normal(size=(5, 7, 12)).astype(dtype) for _ in range(2))
    leaf, before = tv.tensor(x, requires_grad=True), seed.copy()
    y = tv.softmax(leaf, axis)
    y.backward(seed)
    e = np.exp(x - x.max(axis, keepdims=True))
    out = e / e.sum(axis, keepdims=True)
    assert y.numpy().tobytes() == out.tobytes()
    assert leaf.grad.tobytes() == (out * (seed - (seed * out).sum(axis, keepdims=True))).tobytes()
    assert (leaf.numpy().tobytes(), seed.tobytes()) == (x.tobytes(), before.tobytes())
