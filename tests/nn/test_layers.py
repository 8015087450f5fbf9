"""Layers: small cases by hand, initial values, and PyTorch where it is installed."""

from __future__ import annotations

import numpy as np
import pytest

import tensorviz as tv
from tensorviz import nn
from tensorviz.errors import DTypeError


def put(module: nn.Module, **arrays) -> nn.Module:
    """The module with those parameters."""
    for name, array in arrays.items():
        getattr(module, name).data = np.asarray(array, float)
    return module


# ---- by hand ----------------------------------------------------------------------------------------------------


def test_linear_multiplies_by_the_transposed_weight_and_adds_the_bias():
    layer = put(nn.Linear(2, 2), weight=[[1, 2], [3, 4]], bias=[10, 20])
    layer(np.array([[1.0, -1.0]])).backward(np.array([[1.0, 2.0]]))
    assert layer(np.array([[1.0, -1.0]])).tolist() == [[9, 19]]
    assert layer.weight.grad.tolist() == [[1, -1], [2, -2]]
    assert layer.bias.grad.tolist() == [1, 2]
    assert nn.Linear(2, 2, bias=False).bias is None


def test_convolutions_slide_their_kernel_without_flipping_it():
    layer = put(nn.Conv2d(1, 1, 2), weight=[[[[1, 0], [0, -1]]]], bias=[5])
    assert layer(np.arange(9.0).reshape(1, 1, 3, 3)).tolist() == [[[[1, 1], [1, 1]]]]  # a[i, j] - a[i + 1, j + 1] + 5
    line = put(nn.Conv1d(1, 1, 2, stride=2, bias=False), weight=[[[1, -1]]])
    assert line(np.array([[[1.0, 4.0, 2.0, 8.0]]])).tolist() == [[[-3, -6]]]
    assert nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2)(np.ones((1, 4, 6, 6))).shape == (1, 6, 3, 4)


def test_layer_norm_centres_and_scales_the_last_axes():
    layer = put(nn.LayerNorm(2, eps=0.0), weight=[2, 3], bias=[1, 1])
    assert layer(np.array([[1.0, 3.0]])).tolist() == [[-1, 4]]
    assert nn.LayerNorm((2, 3))(np.ones((4, 2, 3))).shape == (4, 2, 3)
    assert [name for name, _ in nn.LayerNorm(2, bias=False).named_parameters()] == ["weight"]
    assert list(nn.LayerNorm(2, elementwise_affine=False).parameters()) == []


def test_embedding_looks_rows_up_and_adds_up_the_gradient_of_each():
    layer = put(nn.Embedding(3, 2), weight=[[1, 2], [3, 4], [5, 6]])
    y = layer([[2, 0], [2, 2]])
    assert y.tolist() == [[[5, 6], [1, 2]], [[5, 6], [5, 6]]]
    y.sum().backward()
    assert layer.weight.grad.tolist() == [[1, 1], [0, 0], [3, 3]]
    with pytest.raises(IndexError, match="ids run from 3 to 3, but the weight of shape"):
        layer([3])
    with pytest.raises(TypeError, match="ids are whole numbers, got dtype float64"):
        layer([1.0])


def test_activations_compute_what_their_names_say():
    x = np.array([-1.0, 0.0, 2.0])
    assert nn.ReLU()(x).tolist() == [0, 0, 2]
    assert nn.LeakyReLU(0.1)(x).tolist() == [-0.1, 0, 2]
    assert nn.Tanh()(x).tolist() == np.tanh(x).tolist()
    np.testing.assert_allclose(nn.Sigmoid()(x), 1 / (1 + np.exp(-x)))
    np.testing.assert_allclose(nn.SiLU()(x), x / (1 + np.exp(-x)))
    np.testing.assert_allclose(nn.GELU()(x), [-0.15865525, 0, 1.95449974])
    np.testing.assert_allclose(nn.GELU("tanh")(x), [-0.15880801, 0, 1.95459769])
    np.testing.assert_allclose(nn.Softmax()(x), np.exp(x) / np.exp(x).sum())
    np.testing.assert_allclose(nn.Softmax(axis=0)(np.ones((4, 2))), np.full((4, 2), 0.25))
    np.testing.assert_allclose(nn.LogSoftmax()(x), np.log(np.exp(x) / np.exp(x).sum()))


def test_flatten_makes_one_axis_of_several():
    x = np.zeros((2, 3, 4, 5))
    assert nn.Flatten()(x).shape == (2, 60)
    assert nn.Flatten(0)(x).shape == (120,)
    assert nn.Flatten(1, 2)(x).shape == (2, 12, 5)
    assert nn.Flatten(-2, -1)(x).shape == (2, 3, 20)
    assert nn.Flatten()(np.zeros((0, 3, 4))).shape == (0, 12)
    with pytest.raises(ValueError, match=r"Flatten: x of shape \(2,\) has no axes 1 to -1"):
        nn.Flatten()(np.zeros(2))


def test_pools_take_the_greatest_or_the_mean_of_each_window():
    x = np.arange(16.0).reshape(1, 1, 4, 4)
    assert nn.MaxPool2d(2)(x).tolist() == [[[[5, 7], [13, 15]]]]
    assert nn.AvgPool2d(2)(x).tolist() == [[[[2.5, 4.5], [10.5, 12.5]]]]


def test_losses_compare_and_reduce():
    a, b = np.array([1.0, 2.0]), np.array([1.0, 4.0])
    assert [float(nn.MSELoss(r)(a, b)) for r in ("mean", "sum")] == [2, 4]
    assert nn.MSELoss("none")(a, b).tolist() == [0, 4]
    logits, target = np.log([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]]), np.array([0, 2])
    assert float(nn.CrossEntropyLoss()(logits, target)) == pytest.approx(-np.log([0.5, 0.8]).mean())
    assert float(nn.CrossEntropyLoss(ignore_index=2)(logits, target)) == pytest.approx(np.log(2))
    smoothed = 0.7 * -np.log(0.5) + 0.3 * -np.log([0.5, 0.25, 0.25]).mean()
    assert float(nn.CrossEntropyLoss(label_smoothing=0.3)(logits[:1], target[:1])) == pytest.approx(smoothed)
    assert float(nn.NLLLoss()(nn.LogSoftmax()(logits), target)) == pytest.approx(-np.log([0.5, 0.8]).mean())
    assert nn.NLLLoss(ignore_index=0, reduction="none")(logits, target).tolist() == pytest.approx([0, -np.log(0.8)])
    assert float(nn.BCEWithLogitsLoss("sum")(np.zeros(2), np.array([0.0, 1.0]))) == pytest.approx(2 * np.log(2))


# ---- batch norm and dropout, in training and in evaluation -------------------------------------------------------


def test_batch_norm_uses_the_batch_while_training_and_moves_its_running_values():
    layer, x = nn.BatchNorm(2, eps=0.0), np.array([[1.0, 10.0], [3.0, 30.0]])
    assert layer(x).tolist() == [[-1, -1], [1, 1]]
    assert layer.running_mean.tolist() == [0.1 * 2, 0.1 * 20]
    assert layer.running_var.tolist() == pytest.approx([0.9 + 0.1 * 2, 0.9 + 0.1 * 200])  # the unbiased variances
    assert layer.num_batches_tracked.item() == 1


def test_batch_norm_uses_its_running_values_in_evaluation_and_leaves_them():
    layer = put(nn.BatchNorm(1, eps=0.0), running_mean=[1], running_var=[4], weight=[10], bias=[1]).eval()
    assert layer(np.array([[3.0], [1.0]])).tolist() == [[11], [1]]
    assert layer(np.array([[3.0]])).tolist() == [[11]]
    assert (layer.running_mean.tolist(), layer.num_batches_tracked.item()) == ([1], 0)
    layer(np.array([[3.0]])).sum().backward()
    assert (layer.weight.grad.tolist(), layer.bias.grad.tolist()) == ([1], [1])


def test_batch_norm_without_momentum_averages_all_batches():
    layer = nn.BatchNorm(1, momentum=None)
    for mean in (3.0, 5.0, 10.0):
        layer(np.array([[mean - 1], [mean + 1]]))
    assert layer.running_mean.tolist() == pytest.approx([6])


def test_batch_norm_without_running_values_uses_the_batch_always():
    layer = nn.BatchNorm(1, affine=False, track_running_stats=False, eps=0.0).eval()
    assert layer(np.array([[1.0], [3.0]])).tolist() == [[-1], [1]]
    assert layer.state_dict() == {}


def test_what_batch_norm_recorded_stays_when_its_running_values_move_on():
    layer, x = nn.BatchNorm(1).eval(), np.array([[1.0], [2.0]])
    y = layer(x).sum()
    layer.train()(x)
    trace = y.backward()
    assert trace.node("running_mean").value.tolist() == [0]
    assert layer.running_mean.tolist() != [0]


def test_a_failed_call_counts_no_batch():
    layer = nn.BatchNorm(2)
    with pytest.raises(ValueError, match="running_mean needs one element per channel"):
        layer(np.ones((4, 3)))
    with pytest.raises(ValueError, match="needs at least 2 while training"):
        layer(np.ones((1, 2)))
    assert layer.num_batches_tracked.item() == 0


def test_dropout_drops_while_training_only_and_repeats_with_its_seed():
    x = np.ones(1000)
    layer = nn.Dropout(0.25, rng=3)
    first, second = layer(x), layer(x)
    assert set(np.unique(first)) == {0, 4 / 3}
    assert 200 < np.count_nonzero(first == 0) < 300
    assert first.tolist() != second.tolist()
    again = nn.Dropout(0.25, rng=3)
    assert [again(x).tolist(), again(x).tolist()] == [first.tolist(), second.tolist()]
    assert layer.eval()(x) is x


def test_dropout_replays_the_elements_that_fell():
    x = tv.tensor(np.ones(20), requires_grad=True)
    layer = nn.Dropout(rng=0)
    trace = layer(x).sum().backward()
    assert trace.replay({"x": 2 * np.ones(20)}) == 2 * trace.nodes[-1].value
    assert set(x.grad) == {0, 2}


def test_numpys_global_generator_is_left_alone():
    np.random.seed(0)  # noqa: NPY002 - the generator that is meant
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    nn.Sequential(nn.Linear(3, 3), nn.Dropout(), nn.Embedding(3, 3))
    nn.Dropout()(np.ones(9))
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


# ---- initial values ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "bound"),
    [
        (lambda rng: nn.Linear(16, 500, rng=rng), 0.25),
        (lambda rng: nn.Conv2d(4, 500, 2, rng=rng), 0.25),  # 4 * 2 * 2 inputs
        (lambda rng: nn.Conv1d(8, 500, 4, groups=2, rng=rng), 0.25),  # 8 / 2 * 4
    ],
)
def test_weights_and_biases_are_uniform_within_one_over_the_root_of_the_inputs(make, bound):
    layer = make(0)
    for p in layer.parameters():
        assert np.abs(p.numpy()).max() <= bound
        assert np.abs(p.numpy()).max() > 0.95 * bound
    assert np.std(layer.weight.numpy()) == pytest.approx(bound / np.sqrt(3), rel=0.05)


def test_an_embedding_is_standard_normal():
    weight = nn.Embedding(100, 100, rng=0).weight.numpy()
    assert (abs(weight.mean()) < 0.05, weight.std()) == (True, pytest.approx(1, rel=0.05))


def test_a_seed_repeats_and_a_generator_goes_on():
    make = [lambda r: nn.Linear(3, 2, rng=r), lambda r: nn.Conv2d(1, 2, 2, rng=r), lambda r: nn.Embedding(3, 2, rng=r)]
    make.append(lambda r: nn.MultiheadAttention(4, 2, rng=r))
    for layer in make:
        first = next(layer(0).parameters()).tolist()
        assert next(layer(0).parameters()).tolist() == first
        assert next(layer(1).parameters()).tolist() != first
        rng = np.random.default_rng(0)
        assert [next(layer(rng).parameters()).tolist() == first for _ in range(2)] == [True, False]
        assert next(layer(None).parameters()).tolist() != next(layer(None).parameters()).tolist()


def test_parameters_are_float64_unless_told_otherwise_and_float32_stays():
    layers = [
        *(nn.Linear(2, 2, dtype=np.float32), nn.LayerNorm(2, dtype=np.float32), nn.BatchNorm(2, dtype=np.float32)),
        nn.MultiheadAttention(2, 1, dtype=np.float32),
    ]
    x = np.ones((3, 2), np.float32) * np.arange(3, dtype=np.float32)[:, None]
    for layer in layers:
        assert {p.dtype for p in layer.parameters()} == {np.dtype("float32")}
        y = layer(x, x, x)[0] if isinstance(layer, nn.MultiheadAttention) else layer(x)
        assert y.dtype == np.float32
        y.sum().backward()
        assert {p.grad.dtype for p in layer.parameters()} == {np.dtype("float32")}
    assert nn.Linear(2, 2).weight.dtype == np.float64


# ---- what is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: nn.Linear(0, 2), "Linear: in_features must be a whole number of at least 1, got 0"),
        (lambda: nn.Linear(2, 1.5), "Linear: out_features must be a whole number of at least 1, got 1.5"),
        (lambda: nn.Conv2d(1, 1, 0), "Conv2d: kernel_size must be a whole number of at least 1, got 0"),
        (lambda: nn.Conv2d(1, 1, (1, 2, 3)), r"Conv2d: kernel_size is a whole number or 2 of them, got \(1, 2, 3\)"),
        (lambda: nn.Conv2d(3, 2, 1, groups=2), "Conv2d: groups=2 must divide in_channels=3 and out_channels=2"),
        (lambda: nn.Conv1d(1, 1, 1, groups=0), "Conv1d: groups must be a whole number of at least 1, got 0"),
        (lambda: nn.LayerNorm(()), "LayerNorm: normalized_shape is a whole number or 1 of them"),
        (lambda: nn.LayerNorm((2, -1)), "LayerNorm: normalized_shape must be a whole number of at least 1, got -1"),
        (lambda: nn.BatchNorm(0), "BatchNorm: num_features must be a whole number of at least 1, got 0"),
        (lambda: nn.Embedding(0, 1), "Embedding: num_embeddings must be a whole number of at least 1, got 0"),
        (lambda: nn.Embedding(1, "2"), "Embedding: embedding_dim must be a whole number of at least 1, got '2'"),
        (lambda: nn.Dropout(1.5), "Dropout: the probability of dropping an element must be a number from 0 to 1, got 1.5"),
        (lambda: nn.MultiheadAttention(4, 3), "MultiheadAttention: num_heads=3 must divide embed_dim=4"),
        (lambda: nn.MultiheadAttention(4, 2, dropout=-1), "MultiheadAttention: the probability of dropping an element"),
        (lambda: nn.GELU("fast"), "GELU: approximate must be one of 'none', 'tanh', got 'fast'"),
        (lambda: nn.MSELoss("max"), "MSELoss: reduction must be one of 'mean', 'sum', 'none', got 'max'"),
        (lambda: nn.CrossEntropyLoss(label_smoothing=2), "CrossEntropyLoss: label_smoothing must be a number from 0 to 1, got 2"),
    ],
)
def test_arguments_that_make_no_layer_are_refused_by_name(make, text):
    with pytest.raises(ValueError, match=text):
        make()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: nn.Linear(2, 3)(np.ones(3)), r"linear: x of shape \(3,\) needs a weight of shape"),
        (lambda: nn.Conv2d(1, 1, 2)(np.ones((3, 3))), r"conv2d: expected x of shape \(batch, channels, height, width\)"),
        (lambda: nn.LayerNorm(3)(np.ones(2)), "layer_norm: normalized_shape"),
        (lambda: nn.MSELoss()(np.ones((2, 1)), np.ones(2)), r"prediction of shape \(2, 1\) and target of shape \(2,\) must agree"),
        (lambda: nn.BCEWithLogitsLoss()(np.ones((2, 1)), np.ones(2)), "must agree"),
        (lambda: nn.CrossEntropyLoss()(np.ones((2, 3)), np.array([0, 3])), "cross_entropy"),
    ],
)
def test_operands_that_do_not_fit_are_refused_with_their_shapes(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_labels_that_are_no_integers_are_refused():
    with pytest.raises(DTypeError):
        nn.CrossEntropyLoss()(np.ones((2, 3)), np.ones(2))


# ---- against PyTorch --------------------------------------------------------------------------------------------


def against_torch(ours: nn.Module, theirs, *inputs, atol: float = 1e-10, exact: bool = True):
    """Same parameters, same inputs: same output, same gradients of everything, same buffers."""
    import torch

    theirs = theirs.double()
    rng = np.random.default_rng(7)
    for p in theirs.parameters():
        p.data = torch.from_numpy(rng.normal(size=tuple(p.shape)))
    ours.load_state_dict(theirs.state_dict())
    mine = [tv.tensor(x, requires_grad=x.dtype.kind == "f") for x in inputs]
    yours = [torch.tensor(x, requires_grad=x.dtype.kind == "f") for x in inputs]
    y, z = ours(*mine), theirs(*yours)
    y, z = (y[0], z[0]) if isinstance(z, tuple) else (y, z)
    np.testing.assert_allclose(y, z.detach(), atol=atol)
    g = rng.normal(size=y.shape)
    y.backward(g)
    z.backward(torch.from_numpy(np.asarray(g)))
    for a, b in zip(mine, yours, strict=True):
        if b.grad is not None:
            np.testing.assert_allclose(a.grad, b.grad, atol=atol)
    named = dict(theirs.named_parameters())
    assert [name for name, _ in ours.named_parameters()] == list(named)
    for name, p in ours.named_parameters():
        np.testing.assert_allclose(p.grad, named[name].grad, atol=atol)
    for name, b in theirs.named_buffers():
        np.testing.assert_allclose(ours.state_dict()[name], b, atol=atol)


RNG = np.random.default_rng(1)
CASES = {
    "Linear": (lambda m: m.Linear(3, 2), [RNG.normal(size=(4, 5, 3))]),
    "Linear without bias": (lambda m: m.Linear(3, 2, bias=False), [RNG.normal(size=3)]),
    "Conv1d": (lambda m: m.Conv1d(2, 4, 3, stride=2, padding=1, groups=2), [RNG.normal(size=(2, 2, 7))]),
    "Conv2d": (lambda m: m.Conv2d(2, 3, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2)), [RNG.normal(size=(2, 2, 6, 5))]),
    "LayerNorm": (lambda m: m.LayerNorm((3, 4)), [RNG.normal(size=(2, 3, 4))]),
    "LayerNorm without bias": (lambda m: m.LayerNorm(4, bias=False), [RNG.normal(size=(2, 3, 4))]),
    "Embedding": (lambda m: m.Embedding(5, 3), [np.array([[1, 4, 1], [0, 1, 4]])]),
    "BatchNorm1d": (lambda m: getattr(m, "BatchNorm1d", None)(3) if hasattr(m, "BatchNorm1d") else m.BatchNorm(3), [RNG.normal(size=(5, 3))]),
    "BatchNorm2d": (
        lambda m: m.BatchNorm2d(3, momentum=None) if hasattr(m, "BatchNorm2d") else m.BatchNorm(3, momentum=None),
        [RNG.normal(size=(2, 3, 4, 5))],
    ),
    "MaxPool2d": (lambda m: m.MaxPool2d(2, stride=1, padding=1), [RNG.normal(size=(2, 1, 4, 4))]),
    "AvgPool2d": (lambda m: m.AvgPool2d(2, padding=1, count_include_pad=False), [RNG.normal(size=(2, 1, 4, 4))]),
    "GELU": (lambda m: m.GELU("tanh"), [RNG.normal(size=5)]),
    "Softmax": (lambda m: m.Softmax(-1), [RNG.normal(size=(3, 4))]),
    "Flatten": (lambda m: m.Flatten(1, 2), [RNG.normal(size=(2, 3, 4, 2))]),
    "Sequential": (lambda m: m.Sequential(m.Linear(3, 4), m.LeakyReLU(0.2), m.Linear(4, 2), m.SiLU(), m.Tanh()), [RNG.normal(size=(4, 3))]),
    "MSELoss": (lambda m: m.MSELoss(), [RNG.normal(size=(3, 2)), RNG.normal(size=(3, 2))]),
    "CrossEntropyLoss": (lambda m: m.CrossEntropyLoss(ignore_index=1, label_smoothing=0.1), [RNG.normal(size=(4, 3)), np.array([0, 1, 2, 2])]),
    "CrossEntropyLoss per pixel": (
        lambda m: m.CrossEntropyLoss(reduction="sum"),
        [RNG.normal(size=(2, 3, 2, 2)), RNG.integers(0, 3, (2, 2, 2))],
    ),
    "NLLLoss": (lambda m: m.NLLLoss(reduction="none"), [RNG.normal(size=(4, 3)), np.array([0, 1, 2, 2])]),
    "BCEWithLogitsLoss": (lambda m: m.BCEWithLogitsLoss(), [RNG.normal(size=6), RNG.uniform(size=6)]),
}


@pytest.mark.parametrize("case", CASES)
def test_layers_agree_with_pytorch(case):
    torch = pytest.importorskip("torch")
    make, inputs = CASES[case]
    against_torch(make(nn), make(torch.nn), *inputs)


def test_batch_norm_in_evaluation_agrees_with_pytorch():
    torch = pytest.importorskip("torch")
    ours, theirs = nn.BatchNorm(3), torch.nn.BatchNorm1d(3).double()
    theirs(torch.from_numpy(RNG.normal(size=(4, 3))))
    against_torch(ours.eval(), theirs.eval(), RNG.normal(size=(2, 3)))
