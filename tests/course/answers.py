"""For every exercise of every lesson one right answer and three or more wrong ones: ``{lesson: {cell: (right, [wrong, ...])}}``."""

from __future__ import annotations

from course.lessons import Answer


def each(*pairs: tuple[str, str]) -> Answer:
    return list(pairs)


def filled(names: str, *numbers: str) -> Answer:
    """``{"u": todo, "v": todo}`` with numbers in it."""
    keys = names.split()
    return [(f'"{key}": todo', f'"{key}": {number}') for key, number in zip(keys, numbers, strict=True)]


Answers = dict[str, tuple[Answer, list[Answer]]]

CIRCUITS: Answers = {
    "exercise-circuit": (
        filled("left right v", "4.0", "-2.0", "-4.0"),
        [filled("left right v", "-2.0", "4.0", "2.0"), filled("left right v", "4.0", "-2.0", "4.0"), filled("left right v", "1.0", "1.0", "-1.0")],
    ),
    "exercise-sigmoid": (
        "s = 1 / (1 + np.exp(-x))\nreturn g * s * (1 - s)",
        ["return g", "s = 1 / (1 + np.exp(-x))\nreturn s * (1 - s)", "return g * x * (1 - x)"],
    ),
    "exercise-tanh": (
        "return g * (1 - np.tanh(a) ** 2)",
        ["return 1 - np.tanh(a) ** 2", "return g * (1 - a**2)", "return g * np.tanh(a)"],
    ),
}

BY_HAND = (
    ("d_top = todo", "d_top = 1 / bottom.item()"),
    ("d_bottom = todo", "d_bottom = -top.item() / bottom.item() ** 2"),
    ("d_apart = todo", "d_apart = 2 * apart.item() * d_bottom"),
    ("d_uv = todo", "d_uv = top.item() * d_top"),
    ("d_u = todo", "d_u = v.item() * d_uv + d_apart"),
    ("d_v = todo", "d_v = u.item() * d_uv - d_apart"),
)


def by_hand(old: str, new: str) -> Answer:
    """The pass by hand with one of its lines changed."""
    return [(name, line.replace(old, new)) for name, line in BY_HAND]


DIVISION = """
def fit(s, x):
    return s.sum(axis=tv.primitives.summed_axes(s.shape, np.shape(x))).reshape(np.shape(x))

return fit(g / b, a), fit(-g * a / b**2, b)
"""
STAGED: Answers = {
    "exercise-by-hand": (
        BY_HAND,
        [by_hand("v.item() * d_uv + d_apart", "d_apart"), by_hand("d_uv - d_apart", "d_uv + d_apart"), by_hand("-top.item()", "top.item()")],
    ),
    "exercise-div": (
        DIVISION,
        ["return g / b, -g * a / b**2", "return 1 / b, -a / b**2", "return g * b, g * a"],
    ),
}

FORKS: Answers = {
    "exercise-shares": (
        filled("p q r", "4.0", "9.0", "31.0"),
        [filled("p q r", "3.0", "9.0", "30.0"), filled("p q r", "4.0", "6.0", "22.0"), filled("p q r", "4.0", "9.0", "13.0")],
    ),
    "exercise-batches": (
        each(("mean_loss(batch).backward()  #", "(mean_loss(batch) * (len(batch) / 12)).backward()  #")),
        [
            each(("mean_loss(batch).backward()  #", "(mean_loss(batch) / 3).backward()  #")),
            each(("mean_loss(batch).backward()  #", "(mean_loss(batch) / len(batch)).backward()  #")),
            each(("mean_loss(batch).backward()  #", "v.zero_grad(); mean_loss(batch).backward()  #")),
        ],
    ),
}

AXES = (
    "front = len(from_shape) - len(to_shape)\nreturn tuple(i for i, n in enumerate(from_shape) if i < front or (to_shape[i - front] == 1 and n != 1))"
)
BROADCASTING: Answers = {
    "exercise-axes": (
        AXES,
        [
            "return tuple(range(len(from_shape) - len(to_shape)))",
            AXES.replace(" and n != 1", ""),
            "return tuple(i for i, n in enumerate(to_shape) if n == 1)",
        ],
    ),
    "exercise-unbroadcast": (
        "return g.sum(axis=summed_axes(g.shape, shape)).reshape(shape)",
        [
            "return g",
            "return g.mean(axis=summed_axes(g.shape, shape)).reshape(shape) if g.size else np.zeros(shape)",
            "return g.sum(axis=summed_axes(g.shape, shape), keepdims=True)",
        ],
    ),
    "exercise-mul": (
        "return unbroadcast(g * b, np.shape(a)), unbroadcast(g * a, np.shape(b))",
        [
            "return unbroadcast(g * a, np.shape(a)), unbroadcast(g * b, np.shape(b))",
            "return g * b, g * a",
            "return unbroadcast(g, np.shape(a)), unbroadcast(g, np.shape(b))",
        ],
    ),
}

LEAVES: Answers = {
    "exercise-cut": (filled("a", "10.0"), [filled("a", "28.0"), filled("a", "9.0"), filled("a", "1.0")]),
    "exercise-exp": ("return g * np.exp(a)", ["return np.exp(a)", "return g * a", "return g"]),
    "exercise-step": (
        "q.data -= 0.1 * q.grad\nq.grad = None",
        ["q.data -= 0.1 * q.grad", "q = q - 0.1 * q.grad", "q.data += 0.1 * q.grad\nq.zero_grad()", "q.zero_grad()\nq.data -= 0.1 * q.numpy()"],
    ),
}

MOVEMENT: Answers = {
    "exercise-inverse": (
        "return [order.index(axis) for axis in range(len(order))]",
        ["return order", "return order[::-1]", "return sorted(order)"],
    ),
    "exercise-permute": (
        "return g.transpose(np.argsort(order))",
        ["return g.transpose(order)", "return g.transpose()", "return g"],
    ),
    "exercise-pad": (
        "return g[tuple(slice(left, n - right) for n, left, right in zip(g.shape, pads[::2], pads[1::2]))]",
        [
            "return g[tuple(slice(left, -right) for left, right in zip(pads[::2], pads[1::2]))]",
            "return g[tuple(slice(right, n - left) for n, left, right in zip(g.shape, pads[::2], pads[1::2]))]",
            "return g",
        ],
    ),
    "exercise-sum": (
        "return np.broadcast_to(np.expand_dims(g, axes), shape)",
        ["return g", "return np.ones(shape)", "return np.broadcast_to(np.expand_dims(g, axes), shape) / np.prod([shape[a] for a in axes])"],
    ),
}

TIE = '"t": [[todo, todo], [todo, todo], [todo, todo]]'
MAX: Answers = {
    "exercise-tie": (
        each((TIE, '"t": [[0.5, 2.0], [0.0, 2.0], [0.5, 2.0]]')),
        [
            each((TIE, '"t": [[1.0, 6.0], [0.0, 0.0], [0.0, 0.0]]')),
            each((TIE, '"t": [[1.0, 6.0], [0.0, 6.0], [1.0, 6.0]]')),
            each((TIE, '"t": [[3.0, 2.0], [0.0, 2.0], [3.0, 2.0]]')),
        ],
    ),
    "exercise-max": (
        "hits = x == x.max(axis=-1, keepdims=True)\nreturn g[..., None] * hits / hits.sum(axis=-1, keepdims=True)",
        [
            "return g[..., None] * (x == x.max(axis=-1, keepdims=True))",
            "return g[..., None] * (np.arange(x.shape[-1]) == x.argmax(axis=-1)[..., None])",
            "return x * (x == x.max(axis=-1, keepdims=True))",
        ],
    ),
    "exercise-relu": (
        "return np.where(x > 0, g, 0)",
        ["return np.where(x >= 0, g, 0)", "return np.maximum(g, 0)", "return np.where(x > 0, 1.0, 0.0)"],
    ),
}

PRODUCT = """
full = (a.shape[0], a.shape[1], b.shape[1])
left = p.expand(p.reshape(a, (*a.shape, 1)), full)
right = p.expand(p.reshape(b, (1, *b.shape)), full)
return p.reduce(p.permute(p.mul(left, right), (1, 0, 2)), "add", pop=1)
"""
MATMUL: Answers = {
    "exercise-matmul": ("return g @ B.T, A.T @ g", ["return g @ B, A @ g", "return A.T @ g, g @ B.T", "return (g @ B.T).T, (A.T @ g).T"]),
    "exercise-product": (
        PRODUCT,
        [
            "return a @ b",
            PRODUCT.replace('"add"', '"max"'),
            PRODUCT.replace("(1, 0, 2)", "(0, 1, 2)"),
            PRODUCT.replace("p.mul(left, right)", "p.add(left, right)"),
        ],
    ),
    "exercise-counts": (
        each(("unstaged, staged = 0, 0", "unstaged, staged = 50, 1")),
        [each(("= 0, 0", "= 1, 50")), each(("= 0, 0", "= 150, 1")), each(("= 0, 0", "= 50, 50"))],
    ),
}


def pencil(gradient: str, along: str) -> Answer:
    return each(("[[todo, todo], [todo, todo]]", gradient), ("along = todo", f"along = {along}"))


INNER: Answers = {
    "exercise-direction": ("return dA @ B + A @ dB", ["return dA @ dB", "return dA @ B", "return (A + dA) @ (B + dB) - A @ B"]),
    "exercise-numbers": (
        pencil("[[2.0, -4.0], [0.0, 6.0]]", "-8.0"),
        [
            pencil("[[2.0, -4.0], [0.0, 6.0]]", "8.0"),
            pencil("[[1.0, 4.0], [0.0, 9.0]]", "-8.0"),
            pencil("[[2.0, 0.0], [-4.0, 6.0]]", "-8.0"),
        ],
    ),
    "exercise-sides": (
        "return np.cumsum(g[::-1])[::-1]",
        ["return np.cumsum(g)", "return g", "return np.cumsum(g[::-1])", "return g * np.arange(len(g), 0, -1)"],
    ),
}

NUMERIC = """
found = np.zeros(x.shape)
for index in np.ndindex(x.shape):
    up, down = x.copy(), x.copy()
    up[index] += h
    down[index] -= h
    found[index] = (f(up) - f(down)) / (2 * h)
return found
"""
DIFFERENCES: Answers = {
    "exercise-differences": (
        NUMERIC,
        [
            NUMERIC.replace("(2 * h)", "h"),
            NUMERIC.replace("down[index] -= h", "pass").replace("(2 * h)", "h"),
            "return (f(x + h) - f(x - h)) / (2 * h)",
        ],
    ),
    "exercise-error": (
        "top = max(abs(a), abs(n))\nreturn abs(a - n) / top if top else 0.0",
        ["return abs(a - n)", "return abs(a - n) / max(abs(a), abs(n))", "return abs(a - n) / abs(a) if a else 0.0"],
    ),
    "exercise-repair": (
        each(("(1 + np.abs(x)),)  # almost", "(1 + np.abs(x)) ** 2,)")),
        [
            each(("(1 + np.abs(x)),)  # almost", "(1 + x) ** 2,)")),
            each(("(1 + np.abs(x)),)  # almost", "(1 + np.abs(x) ** 2),)")),
            each(("(g / (1 + np.abs(x)),)  # almost", "(1 / (1 + np.abs(x)) ** 2 * np.sign(x),)")),
        ],
    ),
}


EQUAL, DOUBLE = '"equal": [[todo, todo]]', '"double": [[todo, todo]]'
LOSS = """
counted = target != ignore_index
rows, classes = np.flatnonzero(counted), target[counted]
shifted = logits - logits.max(axis=1, keepdims=True)
log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
gradient = np.exp(log_p)
gradient[rows, classes] -= 1
gradient[~counted] = 0
n = counted.sum()
return -log_p[rows, classes].sum() / n, gradient / n
"""
SOFTMAX: Answers = {
    "exercise-pencil": (
        each((EQUAL, '"equal": [[0.5, -0.5]]'), (DOUBLE, '"double": [[2 / 3, -2 / 3]]')),
        [
            each((EQUAL, '"equal": [[-0.5, 0.5]]'), (DOUBLE, '"double": [[-2 / 3, 2 / 3]]')),
            each((EQUAL, '"equal": [[0.5, 0.5]]'), (DOUBLE, '"double": [[2 / 3, 1 / 3]]')),
            each((EQUAL, '"equal": [[0.5, -0.5]]'), (DOUBLE, '"double": [[1 / 3, -1 / 3]]')),
        ],
    ),
    "exercise-softmax": (
        "return p * (g - (g * p).sum(axis=-1, keepdims=True))",
        ["return g * p * (1 - p)", "return g * p", "return p * (g - (g * p).sum())"],
    ),
    "exercise-loss": (
        LOSS,
        [
            LOSS.replace("n = counted.sum()", "n = len(target)"),
            LOSS.replace("gradient[~counted] = 0", ""),
            LOSS.replace("gradient[rows, classes] -= 1", ""),
            LOSS.replace("shifted = logits - logits.max(axis=1, keepdims=True)", "shifted = logits"),
        ],
    ),
}

VALUE = """
def __init__(self, data, parents=()):
    self.data, self.grad, self.parents, self.send = data, 0.0, parents, lambda: None

def __add__(self, other):
    out = Value(self.data + other.data, (self, other))

    def send():
        self.grad += out.grad
        other.grad += out.grad

    out.send = send
    return out

def __mul__(self, other):
    out = Value(self.data * other.data, (self, other))

    def send():
        self.grad += other.data * out.grad
        other.grad += self.data * out.grad

    out.send = send
    return out

def tanh(self):
    out = Value(math.tanh(self.data), (self,))

    def send():
        self.grad += (1 - out.data**2) * out.grad

    out.send = send
    return out

def backward(self):
    self.grad = 1.0
    for node in reversed(ordered(self)):
        node.send()
"""
SUM = """        self.grad = self.grad + out.grad
        other.grad = self.grad if other is self else other.grad + out.grad  # repair these lines"""
ORDER = """
order, seen, stack = [], set(), [(root, False)]
while stack:
    name, done = stack.pop()
    if done:
        order.append(name)
    elif name not in seen:
        seen.add(name)
        stack.append((name, True))
        stack += [(part, False) for part in ways[name]]
return order[::-1]
"""
VISIT = """
order = []

def visit(name):
    if name not in order:
        for part in ways[name]:
            visit(part)
        order.append(name)

visit(root)
return order[::-1]
"""
LEVELS = """
order, level = [], [root]
while level:
    order += [name for name in dict.fromkeys(level) if name not in order]
    level = [part for name in dict.fromkeys(level) for part in ways[name] if part not in order]
return order
"""
ENGINE: Answers = {
    "exercise-add": (
        each((SUM, "        self.grad += out.grad\n        other.grad += out.grad")),
        [
            each((SUM, "        self.grad = out.grad\n        other.grad = out.grad")),
            each((SUM, "        self.grad += out.grad\n        if other is not self:\n            other.grad += out.grad")),
            each((SUM, "        self.grad += out.grad / 2\n        other.grad += out.grad / 2")),
        ],
    ),
    "exercise-order": (ORDER, [ORDER.replace("order[::-1]", "order"), VISIT, LEVELS]),
    "exercise-engine": (
        VALUE,
        [
            VALUE.replace("self.grad += out.grad", "self.grad = out.grad"),
            VALUE.replace("reversed(ordered(self))", "ordered(self)"),
            VALUE.replace("(1 - out.data**2) * out.grad", "1 - out.data**2"),
            VALUE.replace("    self.grad = 1.0\n", ""),
        ],
    ),
}

FORWARD = """
Z1 = X @ p["W1"] + p["b1"]
H = np.tanh(Z1)
Z2 = H @ p["W2"] + p["b2"]
shifted = Z2 - Z2.max(axis=1, keepdims=True)
log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
return -log_p[np.arange(len(t)), t].mean(), {"H": H, "log_p": log_p}
"""
BACKWARD = """
_, kept = forward(p, X, t)
G = np.exp(kept["log_p"])
G[np.arange(len(t)), t] -= 1
G /= len(t)
G1 = (G @ p["W2"].T) * (1 - kept["H"] ** 2)
return {"W1": X.T @ G1, "b1": G1.sum(axis=0), "W2": kept["H"].T @ G, "b2": G.sum(axis=0), "Z2": G}
"""
TRAIN = """
draw = np.random.default_rng(0)
for _step in range(600):
    batch = draw.integers(len(X), size=32)
    for name, gradient in gradients(p, X[batch], t[batch]).items():
        if name in p:
            p[name] -= 0.5 * gradient
"""
MLP: Answers = {
    "exercise-affine": (
        "return g @ W.T, X.T @ g, g.sum(axis=0)",
        ["return g @ W.T, X.T @ g, g", "return g @ W, X @ g, g.sum(axis=0)", "return g @ W.T, X.T @ g, g.sum(axis=1)"],
    ),
    "exercise-forward": (
        FORWARD,
        [
            FORWARD.replace(".mean()", ".sum()"),
            FORWARD.replace("np.tanh(Z1)", "np.maximum(Z1, 0)"),
            FORWARD.replace("Z2 - Z2.max(axis=1, keepdims=True)", "Z2"),
        ],
    ),
    "exercise-backward": (
        BACKWARD,
        [
            BACKWARD.replace(' * (1 - kept["H"] ** 2)', ""),
            BACKWARD.replace("G /= len(t)", ""),
            BACKWARD.replace("G[np.arange(len(t)), t] -= 1", ""),
            BACKWARD.replace('kept["H"].T @ G', '(kept["H"].T @ G) / len(t)'),
        ],
    ),
    "exercise-train": (
        TRAIN,
        [
            TRAIN.replace("-= 0.5", "+= 0.5"),
            TRAIN.replace("600", "1"),
            TRAIN.replace("if name in p", "if name not in p").replace("p[name] -=", "_ ="),
        ],
    ),
}


def factors(loss: str, gradient: str, other: str) -> Answer:
    return each(("= 1, 1, 1  #", f"= {loss}, {gradient}, {other}  #"))


SCALE: Answers = {
    "exercise-standardize": (
        "deviation = X.std(axis=0)\nreturn (X - X.mean(axis=0)) / np.where(deviation == 0, 1, deviation)",
        ["return (X - X.mean(axis=0)) / X.std(axis=0)", "return X - X.mean(axis=0)", "return (X - X.mean()) / X.std()"],
    ),
    "exercise-factor": (factors("100", "100", "10"), [factors("10", "10", "10"), factors("100", "10", "1"), factors("100", "100", "1")]),
    "exercise-initial": ("return np.sqrt(2 / n)", ["return 1 / np.sqrt(n)", "return 2 / n", "return 0.1", "return 1.0"]),
}


def diagnosis(*kinds: str) -> Answer:
    return [(f'"{name}": ""', f'"{name}": "{kind}"') for name, kind in zip(("first", "second", "third"), kinds, strict=True)]


COLUMN = ("prediction = features @ w", "prediction = (features @ w).reshape(-1)")
EMPTY = ("        loss.backward(", "        w.zero_grad()\n        loss.backward(")
BROKEN: Answers = {
    "exercise-diagnosis": (
        diagnosis("double-broadcast", "inf", "no-gradient"),
        [
            diagnosis("double-broadcast", "nan", "no-gradient"),
            diagnosis("dead", "inf", "no-gradient"),
            diagnosis("double-broadcast", "inf", "stale-grad"),
        ],
    ),
    "exercise-repair": (
        each(COLUMN, EMPTY),
        [each(COLUMN), each(EMPTY), each(EMPTY, ("0.1 * w.grad", "0.01 * w.grad"))],
    ),
    "exercise-sqrt": ("return g / (2 * np.sqrt(a))", ["return 1 / (2 * np.sqrt(a))", "return g / np.sqrt(a)", "return g * np.sqrt(a)"]),
}

ANSWERS: dict[str, Answers] = {
    "circuits": CIRCUITS,
    "staged_computation": STAGED,
    "forks": FORKS,
    "broadcasting": BROADCASTING,
    "leaves_and_saved_values": LEAVES,
    "movement_and_reduce": MOVEMENT,
    "max_routing": MAX,
    "matmul_from_primitives": MATMUL,
    "inner_products": INNER,
    "finite_differences": DIFFERENCES,
    "softmax_cross_entropy": SOFTMAX,
    "scalar_engine": ENGINE,
    "mlp_from_blank": MLP,
    "scale_and_gradients": SCALE,
    "five_broken_networks": BROKEN,
}
