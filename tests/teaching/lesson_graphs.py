"""The graphs that lessons are made of: circuits, forks, broadcasting, ties, matrix products, losses, in-place changes, several passes."""

from __future__ import annotations

import numpy as np

import tensorviz as tv


def _random(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def gates():
    x, y, z = (tv.tensor(v, requires_grad=True) for v in (-2.0, 5.0, -4.0))
    q = x + y
    return (q * z).backward()


def neuron():
    w0, x0, w1, x1, w2 = (tv.tensor(v, requires_grad=True) for v in (2.0, -1.0, -3.0, -2.0, -3.0))
    return (1.0 / (1.0 + np.exp(-(w0 * x0 + w1 * x1 + w2)))).backward()


def staged():
    x, y = tv.tensor(3.0, requires_grad=True), tv.tensor(-4.0, requires_grad=True)
    sigy, sigx, xpy = tv.sigmoid(y), tv.sigmoid(x), x + y
    num, den = x + sigy, sigx + xpy**2
    return (num / den).backward()


def forks():
    x = tv.tensor([1.0, 2.0, 3.0], requires_grad=True)
    h = np.tanh(x)
    return (h * h + np.sin(h) + x).sum().backward()


def a_fork_of_itself():
    x = tv.tensor(3.0, requires_grad=True)
    h = x * 1.5
    return (h + h).backward()


def broadcasting():
    a = tv.tensor(_random(5, 1, 4, 1), requires_grad=True)
    b = tv.tensor(_random(3, 1, 1), requires_grad=True)
    return ((a + b) * _random(5, 3, 4, 1, seed=1)).sum().backward()


def bias():
    X = tv.tensor(_random(2, 3), requires_grad=True)
    b = tv.tensor([0.1, 0.2, 0.3], requires_grad=True)
    return ((X + b) ** 2).sum().backward()


def scale():
    X, s = tv.tensor(_random(3, 3), requires_grad=True), tv.tensor(0.5, requires_grad=True)
    return (X * s).sum().backward()


def route():
    x = tv.tensor([1.0, 5.0, 2.0], requires_grad=True)
    return (x.max() * 3.0).backward()


def ties():
    x = tv.tensor([1.0, 5.0, 5.0, 2.0], requires_grad=True)
    return x.max().backward()


def ties_by_row():
    x = tv.tensor([[1.0, 4.0, 4.0], [2.0, 2.0, 2.0], [3.0, 1.0, 2.0]], requires_grad=True)
    return (x.max(axis=1) * np.array([1.0, 10.0, 100.0])).sum().backward()


def ties_of_two():
    a, b = tv.tensor([[1.0], [2.0]], requires_grad=True), tv.tensor([2.0, 1.0, 0.0], requires_grad=True)
    return (np.maximum(a, b) * _random(2, 3)).sum().backward()


def product():
    A, B = tv.tensor(_random(2, 3), requires_grad=True), tv.tensor(_random(3, 4), requires_grad=True)
    return (A @ B).sum().backward()


def square_product():
    A, B = tv.tensor(_random(3, 3), requires_grad=True), tv.tensor(_random(3, 3, seed=1), requires_grad=True)
    return ((A @ B) ** 2).sum().backward()


def symmetric_product():
    A, S = tv.tensor(_random(2, 3), requires_grad=True), tv.tensor(np.ones((3, 3)))
    return ((A @ S) ** 2).sum().backward()


def mlp(dtype=np.float64):
    X, target = _random(4, 3).astype(dtype), np.array([0, 1, 1, 0])
    W1, b1 = (tv.tensor(v.astype(dtype), requires_grad=True) for v in (_random(3, 4), _random(4)))
    W2, b2 = (tv.tensor(v.astype(dtype), requires_grad=True) for v in (_random(4, 2), _random(2)))
    h = tv.relu(X @ W1 + b1)
    return tv.cross_entropy(h @ W2 + b2, target).backward()


def narrow_mlp():
    return mlp(np.float32)


def modules():
    rng = np.random.default_rng(0)
    net = tv.nn.Sequential(tv.nn.Linear(3, 4, rng=rng), tv.nn.Tanh(), tv.nn.LayerNorm(4), tv.nn.Linear(4, 2, rng=rng))
    return tv.mse_loss(net(tv.tensor(_random(5, 3))), _random(5, 2)).backward()


def softmax_by_hand():
    z = tv.tensor(_random(3, 4), requires_grad=True)
    m = z.max(axis=1, keepdims=True).detach()
    e = np.exp(z - m)
    p = e / e.sum(axis=1, keepdims=True)
    return (-np.log(p[np.arange(3), np.array([0, 3, 1])])).mean().backward()


def ignored_targets():
    z = tv.tensor(_random(4, 3), requires_grad=True)
    return tv.cross_entropy(z, np.array([0, -100, 2, 1]), ignore_index=-100).backward()


def in_place():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    h = x * 2.0
    h += 1.0
    h[0] = 5.0
    return (h * x).sum().backward()


def second_pass_without_zero_grad():
    w = tv.tensor([1.0, -2.0], requires_grad=True)
    (w * w).sum().backward()
    return (w * w).sum().backward()


def second_pass_after_zero_grad():
    w = tv.tensor([1.0, -2.0], requires_grad=True)
    (w * w).sum().backward()
    w.zero_grad()
    return (w * w).sum().backward()


def dead_unit():
    x, w = tv.tensor([1.0, 2.0]), tv.tensor([-1.0, -2.0], requires_grad=True)
    h = x * w
    return (tv.relu(h) + tv.relu(h * 2.0)).sum().backward()


def movement():
    x = tv.tensor(_random(2, 3), requires_grad=True)
    y = np.concatenate([x.T, np.flip(x, 0).reshape(3, 2)])
    return (np.pad(y, 1)[1:4] * _random(3, 4)).sum().backward()


def primitives():
    A, B = tv.tensor(_random(2, 3), requires_grad=True), tv.tensor(_random(3, 2), requires_grad=True)
    return tv.lower(((A @ B) ** 2).sum()).backward()


def several_roots():
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    h = np.exp(x)
    return tv.backward([h, (h * x).sum()], [np.array([1.0, -1.0]), None])


def convolution():
    x, w = tv.tensor(_random(1, 1, 4, 4), requires_grad=True), tv.tensor(_random(2, 1, 2, 2), requires_grad=True)
    return tv.max_pool2d(tv.conv2d(x, w), 2).sum().backward()


LESSONS = {
    f.__name__: f
    for f in (
        *(gates, neuron, staged, forks, a_fork_of_itself, broadcasting, bias, scale, route, ties, ties_by_row, ties_of_two),
        *(product, square_product, symmetric_product, mlp, narrow_mlp, modules, softmax_by_hand, ignored_targets, in_place),
        *(second_pass_without_zero_grad, second_pass_after_zero_grad, dead_unit, movement, primitives, several_roots, convolution),
    )
}
