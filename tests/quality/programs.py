"""Random programs of 1 to 30 ops over random shapes, drawn line by line with their values, so that each line fits and keeps clear of kinks."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from strategies import axes, shapes

CLEAR = 1e-2
"""Distance to a kink or a tie: far more than a step of a central difference becomes on its way there."""
LARGE = 6.0
"""Values beyond it are squashed, so that exponentials and products stay within what differences can judge."""
CROWDED = 120
"""Elements that a result may have."""


@dataclass(frozen=True)
class Line:
    """``name = text``, and PyTorch's text where it has the words."""

    name: str
    ours: str
    torch: str | None


@dataclass(repr=False)
class Program:
    """Leaves and lines; the roots are the values that nothing uses."""

    leaves: dict[str, Any]
    lines: list[Line] = field(default_factory=list)

    def __repr__(self) -> str:
        made = [f"{name} = np.array({array.tolist()}).reshape({array.shape})" for name, array in self.leaves.items()]
        return "\n".join([*made, *(f"{line.name} = {line.ours}" for line in self.lines), f"roots: {self.roots}"])

    @property
    def roots(self) -> list[str]:
        used = {n for line in self.lines for n in compile(line.ours, "<line>", "eval").co_names}
        return [n for n in (*self.leaves, *(line.name for line in self.lines)) if n not in used] or [self.lines[-1].name]

    def run(self, values: dict[str, Any], names: dict[str, Any], *, torch: bool = False) -> dict[str, Any]:
        """Every value by name."""
        found = dict(values)
        for line in self.lines:
            text = line.torch if torch else line.ours
            assert text is not None
            found[line.name] = eval(text, names | WORDS, found)
        return found


@dataclass(frozen=True)
class Value:
    """A value that a line may use."""

    name: str
    array: Any


Kind = Callable[[st.DrawFn, list[Value]], "tuple[str, str | None] | None"]
"""Draws a line over some of the values; None where it cannot be made of those."""
KINDS: list[Kind] = []


def kind(function: Kind) -> Kind:
    KINDS.append(function)
    return function


def pick(draw: st.DrawFn, values: list[Value], fits: Callable[[Any], bool] = lambda _: True) -> Value | None:
    """One of the values that fit, later ones as likely as early ones, so that forks are common."""
    found = [v for v in values if fits(v.array)]
    return draw(st.sampled_from(found)) if found else None


def partner(draw: st.DrawFn, values: list[Value], a: Value) -> Value | None:
    """A value that broadcasts against ``a``; it may be ``a`` itself."""

    def fits(b: Any) -> bool:
        try:
            return int(np.prod(np.broadcast_shapes(a.array.shape, b.shape))) <= CROWDED
        except ValueError:
            return False

    return pick(draw, values, fits)


def spaced(array: Any, axis: Any) -> bool:
    """No two elements along the axes near each other."""
    flat = np.reshape(array, -1) if axis is None else array
    ordered = np.sort(flat, axis=-1 if axis is None else axis)
    return bool(np.all(np.diff(ordered, axis=-1 if axis is None else axis) > CLEAR))


SMOOTH = {
    "np.sin({a})": "torch.sin({a})",
    "np.tanh({a})": "torch.tanh({a})",
    "np.exp({a} / 3)": "torch.exp({a} / 3)",
    "np.log({a} * {a} + 1.0)": "torch.log({a} * {a} + 1.0)",
    "np.sqrt(np.square({a}) + 0.5)": "torch.sqrt(torch.square({a}) + 0.5)",
    "np.arctan({a})": "torch.arctan({a})",
    "tv.sigmoid({a})": "torch.sigmoid({a})",
    "tv.softplus({a})": "F.softplus({a})",
    "tv.gelu({a})": "F.gelu({a})",
    "-{a}": "-{a}",
    "{a} ** 3 / 4": "{a} ** 3 / 4",
    "1.5 - {a}": "1.5 - {a}",
    "2 / (3 + np.cos({a}))": "2 / (3 + torch.cos({a}))",
    "np.sinc({a} / 4)": "torch.sinc({a} / 4)",
    "np.arcsinh({a})": "torch.arcsinh({a})",
    "np.expm1({a} / 3)": "torch.expm1({a} / 3)",
}
KINKED = {
    "np.abs({a})": ("torch.abs({a})", (0.0,)),
    "tv.relu({a})": ("F.relu({a})", (0.0,)),
    "np.maximum({a}, 0.3)": ("torch.clamp({a}, min=0.3)", (0.3,)),
    "np.clip({a}, -0.5, 0.8)": ("torch.clamp({a}, -0.5, 0.8)", (-0.5, 0.8)),
    "tv.leaky_relu({a}, 0.1)": ("F.leaky_relu({a}, 0.1)", (0.0,)),
    "np.where({a} > 0.2, {a} * 2.0, 0.5)": ("torch.where({a} > 0.2, {a} * 2.0, 0.5)", (0.2,)),
    "np.sign({a}) * {a}": ("torch.sign({a}) * {a}", (0.0,)),
}
PAIRS = {
    "{a} + {b}": "{a} + {b}",
    "{a} - {b}": "{a} - {b}",
    "{a} * {b}": "{a} * {b}",
    "{a} / ({b} * {b} + 1.0)": "{a} / ({b} * {b} + 1.0)",
    "np.logaddexp({a}, {b})": "torch.logaddexp({a}, {b})",
    "np.arctan2({a}, {b} * {b} + 0.5)": "torch.arctan2({a}, {b} * {b} + 0.5)",
    "np.hypot({a}, np.exp({b} / 3))": "torch.hypot({a}, torch.exp({b} / 3))",
    "np.power(np.square({a}) + 0.5, {b} / 3)": "torch.pow(torch.square({a}) + 0.5, {b} / 3)",
}


@kind
def smooth(draw, values):
    text = draw(st.sampled_from(sorted(SMOOTH)))
    a = pick(draw, values)
    return text.format(a=a.name), SMOOTH[text].format(a=a.name)


@kind
def kinked(draw, values):
    text = draw(st.sampled_from(sorted(KINKED)))
    torch, kinks = KINKED[text]
    a = pick(draw, values, lambda x: all(np.all(np.abs(x - k) > CLEAR) for k in kinks))
    return a and (text.format(a=a.name), torch.format(a=a.name))


@kind
def pair(draw, values):
    text = draw(st.sampled_from(sorted(PAIRS)))
    a = pick(draw, values)
    b = partner(draw, values, a)
    return b and (text.format(a=a.name, b=b.name), PAIRS[text].format(a=a.name, b=b.name))


@kind
def greater_or_smaller(draw, values):
    which = draw(st.sampled_from(["maximum", "minimum", "fmax", "fmin"]))
    a = pick(draw, values)
    b = partner(draw, values, a)
    if b is None or not np.all(np.abs(a.array - b.array) > CLEAR):
        return None
    return f"np.{which}({a.name}, {b.name})", f"torch.{which}({a.name}, {b.name})"


@kind
def chosen(draw, values):
    a = pick(draw, values)
    b = partner(draw, values, a)
    if b is None:
        return None
    shape = np.broadcast_shapes(a.array.shape, b.array.shape)
    mask = np.array(draw(st.lists(st.booleans(), min_size=int(np.prod(shape)), max_size=int(np.prod(shape)))), bool).reshape(shape).tolist()
    shaped = f"np.array({mask}, bool).reshape({shape})"
    return f"np.where({shaped}, {a.name}, {b.name})", f"torch.where(torch.from_numpy({shaped}), {a.name}, {b.name})"


@kind
def reduced(draw, values):
    which = draw(st.sampled_from(["sum", "mean", "max", "min", "var", "std", "prod", "logsumexp", "norm"]))
    a = pick(draw, values, lambda x: x.size > 0)
    if a is None:
        return None
    axis, keepdims = draw(axes(a.array.ndim)), draw(st.booleans())
    over = tuple(range(a.array.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    over = tuple(i % max(a.array.ndim, 1) for i in over)
    if which in ("max", "min"):
        lines = np.moveaxis(a.array, over, range(len(over))).reshape(-1, *(s for i, s in enumerate(a.array.shape) if i not in over))
        if not spaced(lines, 0):
            return None
    if which == "std" and np.any(np.std(a.array, axis=axis) < 0.1):
        return None
    if which == "norm" and (len(over) != 1 or np.any(np.linalg.norm(a.array, axis=over[0]) < 0.1)):
        return None
    how, dims = f"axis={axis}, keepdims={keepdims}", f"{over}, keepdim={keepdims}"
    theirs = {
        "sum": f"torch.sum({a.name}, {dims})",
        "mean": f"torch.mean({a.name}, {dims})",
        "max": f"torch.amax({a.name}, {dims})",
        "min": f"torch.amin({a.name}, {dims})",
        "var": f"torch.var({a.name}, {dims}, correction=0)",
        "std": f"torch.std({a.name}, {dims}, correction=0)",
        "prod": None,
        "logsumexp": f"torch.logsumexp({a.name}, {dims})",
        "norm": f"torch.linalg.vector_norm({a.name}, 2, {dims})",
    }[which]
    module = {"logsumexp": "tv", "norm": "np.linalg"}.get(which, "np")
    if not over:
        theirs = None  # PyTorch takes no axes for all of them
    return f"{module}.{which}({a.name}, {how})", theirs


@kind
def running(draw, values):
    a = pick(draw, values, lambda x: x.ndim > 0)
    if a is None:
        return None
    axis = draw(st.integers(-a.array.ndim, a.array.ndim - 1))
    which = draw(st.sampled_from(["np.cumsum", "np.cumprod", "tv.softmax", "np.flip", "np.diff"]))
    if (which == "tv.softmax" and a.array.size == 0) or (which == "np.diff" and a.array.shape[axis] == 0):
        return None
    theirs = {
        "np.cumsum": f"torch.cumsum({a.name}, {axis})",
        "np.cumprod": f"torch.cumprod({a.name}, {axis})",
        "tv.softmax": f"F.softmax({a.name}, {axis})",
        "np.flip": f"torch.flip({a.name}, ({axis},))",
        "np.diff": f"torch.diff({a.name}, dim={axis})",
    }[which]
    return f"{which}({a.name}, axis={axis})", theirs


@kind
def moved(draw, values):
    a = pick(draw, values)
    order = tuple(draw(st.permutations(range(a.array.ndim))))
    return draw(
        st.sampled_from(
            [
                (f"np.transpose({a.name}, {order})", f"{a.name}.permute({order})"),
                (f"np.reshape({a.name}, -1)", f"{a.name}.reshape(-1)"),
                (
                    f"{a.name}.reshape(1, -1)" if a.array.size else f"np.ravel({a.name})",
                    f"{a.name}.reshape(1, -1)" if a.array.size else f"{a.name}.ravel()",
                ),
                (f"np.expand_dims({a.name}, 0)", f"{a.name}.unsqueeze(0)"),
                (f"np.squeeze({a.name})", f"{a.name}.squeeze()"),
                (f"{a.name}.T", f"{a.name}.permute({tuple(range(a.array.ndim))[::-1]})"),
                (f"np.roll({a.name}, 1)", f"torch.roll({a.name}, 1)"),
            ]
        )
    )


@kind
def copied(draw, values):
    a = pick(draw, values, lambda x: x.size <= CROWDED // 4 and x.ndim > 0)
    if a is None:
        return None
    axis = draw(st.integers(0, a.array.ndim - 1))
    width = tuple((1, 2) if i == axis else (0, 0) for i in range(a.array.ndim))
    flat = tuple(w for pair in reversed(width) for w in pair)
    choices = [
        (f"np.repeat({a.name}, 2, axis={axis})", f"torch.repeat_interleave({a.name}, 2, {axis})"),
        (f"np.tile({a.name}, 2)", f"torch.tile({a.name}, (2,))"),
        (f"np.pad({a.name}, {width})", f"F.pad({a.name}, {flat})"),
        (f"np.broadcast_to({a.name}, {(2, *a.array.shape)})", f"{a.name}.broadcast_to({(2, *a.array.shape)})"),
    ]
    if a.array.shape[axis] > 0:
        choices.append((f"np.pad({a.name}, {width}, 'edge')", None))
        choices.append((f"np.pad({a.name}, {width}, 'wrap')", None))
    return draw(st.sampled_from(choices))


@kind
def joined(draw, values):
    a = pick(draw, values, lambda x: x.ndim > 0 and x.size <= CROWDED // 2)
    if a is None:
        return None
    axis = draw(st.integers(0, a.array.ndim - 1))
    others = [i for i in range(a.array.ndim) if i != axis]
    b = pick(draw, values, lambda x: x.ndim == a.array.ndim and all(x.shape[i] == a.array.shape[i] for i in others))
    if b.array.shape == a.array.shape and draw(st.booleans()):
        return f"np.stack([{a.name}, {b.name}], axis={axis})", f"torch.stack([{a.name}, {b.name}], {axis})"
    return f"np.concatenate([{a.name}, {b.name}], axis={axis})", f"torch.cat([{a.name}, {b.name}], {axis})"


@kind
def indexed(draw, values):
    a = pick(draw, values, lambda x: x.ndim > 0 and x.shape[0] > 0)
    if a is None:
        return None
    n = a.array.shape[0]
    i = draw(st.integers(-n, n - 1))
    many = draw(st.lists(st.integers(-n, n - 1), min_size=1, max_size=4))
    keep = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    keys = [f"{i}", f"{many}", f"{keep}", "..., None", f"{i}:", "None, ..."]
    key = draw(st.sampled_from(keys))
    return f"{a.name}[{key}]", f"{a.name}[{key}]"


@kind
def backwards(draw, values):
    a = pick(draw, values, lambda x: x.ndim > 0)
    step = draw(st.sampled_from(["::2", "::-1", "1:", ":-1", "::-2"]))
    return a and (f"{a.name}[..., {step}]", None if "-" in step[1:] and step != ":-1" else f"{a.name}[..., {step}]")


@kind
def assigned(draw, values):
    a = pick(draw, values, lambda x: x.ndim > 0 and x.shape[0] > 0)
    if a is None:
        return None
    b = pick(draw, values, lambda x: x.shape in (a.array.shape[1:], ()))
    i = draw(st.integers(0, a.array.shape[0] - 1))
    return b and (f"put({a.name}, {i}, {b.name})", f"put({a.name}, {i}, {b.name})")


@kind
def increased(draw, values):
    a = pick(draw, values)
    b = pick(
        draw, values, lambda x: x.ndim <= a.array.ndim and np.broadcast_shapes(a.array.shape, x.shape) == a.array.shape if fits(a.array, x) else False
    )
    sign = draw(st.sampled_from(["add", "mul", "sub"]))
    return b and (f"{sign}_to({a.name}, {b.name})", f"{sign}_to({a.name}, {b.name})")


def fits(a: Any, b: Any) -> bool:
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return False
    return True


@kind
def ordered(draw, values):
    a = pick(draw, values, lambda x: x.ndim > 0 and x.size > 0 and spaced(x, -1))
    if a is None:
        return None
    return draw(
        st.sampled_from(
            [
                (f"np.sort({a.name})", f"torch.sort({a.name}).values"),
                (f"np.take_along_axis({a.name}, np.argsort({a.name})[..., :1], -1)", f"torch.sort({a.name}).values[..., :1]"),
            ]
        )
    )


@kind
def multiplied(draw, values):
    a = pick(draw, values, lambda x: x.ndim > 0)
    if a is None:
        return None

    def goes(b: Any) -> bool:
        try:
            return b.ndim > 0 and (a.array @ b).size <= CROWDED
        except ValueError:
            return False

    b = pick(draw, values, goes)
    if b is not None:
        return f"{a.name} @ {b.name}", f"{a.name} @ {b.name}"
    if a.array.ndim == 2:
        return f"{a.name} @ {a.name}.T", f"{a.name} @ {a.name}.T"
    return f"np.dot({a.name}, {a.name})" if a.array.ndim == 1 else f"np.einsum('...i,...i->...', {a.name}, {a.name})", None


@kind
def contracted(draw, values):
    a = pick(draw, values, lambda x: x.ndim > 0 and x.size**2 <= CROWDED)
    if a is None:
        return None
    n = a.array.ndim
    return draw(
        st.sampled_from(
            [
                (f"np.outer({a.name}, {a.name})", f"torch.outer({a.name}.reshape(-1), {a.name}.reshape(-1))"),
                (f"np.tensordot({a.name}, {a.name}, ({[0]}, {[0]}))", f"torch.tensordot({a.name}, {a.name}, ({[0]}, {[0]}))"),
                (f"np.einsum('...i->...', {a.name})", f"torch.einsum('...i->...', {a.name})"),
                (f"np.inner({a.name}, {a.name})", f"torch.inner({a.name}, {a.name})" if n == 1 else None),
            ]
        )
    )


@kind
def put_together(draw, values):
    """Functions made of several ops."""
    a = pick(draw, values, lambda x: x.ndim > 0 and x.size > 0)
    if a is None:
        return None
    name, x = a.name, a.array
    choices: list[tuple[str, str | None]] = [
        (f"np.average({name}, axis=-1)", f"{name}.mean(-1)"),
        (f"np.delete({name}, 0, axis=0)", f"{name}[1:]"),
        (f"np.insert({name}, 0, 0.5, axis=-1)", f"F.pad({name}, (1, 0), value=0.5)"),
        (f"np.trapezoid({name}, axis=0)" if hasattr(np, "trapezoid") else f"np.trapz({name}, axis=0)", f"torch.trapezoid({name}, dim=0)"),
        (f"np.nansum({name}, axis=0, keepdims=True)", f"{name}.sum(0, keepdim=True)"),
        (f"np.sum({name}, axis=-1, initial=0.5)", f"{name}.sum(-1) + 0.5"),
        (f"np.convolve({name}.ravel(), {name}.ravel()[:2], 'valid')", None),
        (f"np.add.outer({name}.ravel()[:3], {name}.ravel()[-3:])", f"{name}.reshape(-1)[:3, None] + {name}.reshape(-1)[-3:]"),
    ]
    if spaced(x, -1):
        choices += [
            (f"np.median({name}, axis=-1)", f"torch.quantile({name}, 0.5, dim=-1)"),
            (f"np.percentile({name}, [20, 90], axis=-1)", f"torch.quantile({name}, torch.tensor([0.2, 0.9], dtype={name}.dtype), dim=-1)"),
            (f"np.ptp({name}, axis=-1)", f"torch.amax({name}, -1) - torch.amin({name}, -1)" if x.shape[-1] > 1 else None),
            (f"np.maximum.accumulate({name}, axis=-1)", f"torch.cummax({name}, -1).values"),
        ]
    if np.all(np.abs(x - 0.2) > CLEAR):
        choices += [
            (f"np.interp({name}, *np.array([[-9.0, 0.2, 9.0], [1.0, 2.0, -3.0]]).astype({name}.dtype))", None),
            (f"np.mean({name}, axis=0, where={name} > 0.2) if np.all(({name} > 0.2).any(axis=0)) else {name} * 2.0", None),
            (f"np.select([{name} > 0.2], [{name} * {name}], 0.3)", f"torch.where({name} > 0.2, {name} * {name}, 0.3)"),
        ]
    return draw(st.sampled_from(choices))


@kind
def written_through(draw, values):
    """A write to a view of a view of a value, in NumPy's words: what arrays make of it is what Tensors have to."""
    a = pick(draw, values, lambda x: x.ndim > 0 and x.size > 0)
    if a is None:
        return None
    word = st.sampled_from(["[0]", "[-1]", "[1:]", "[::-1]", "[..., ::2]", "[None]", ".T", ".reshape(-1)", ".swapaxes(0, -1)", ".copy()", "[..., 0]"])
    steps = draw(st.lists(word, min_size=1, max_size=4))
    b = pick(draw, values, lambda x: x.ndim == 0)
    how = draw(st.sampled_from(["set", "add", "mul", "twice"]))
    text = f"through({a.name}, {steps}, {b.name if b is not None else 0.5}, {how!r})"
    try:
        _through(a.array, steps, 0.5, how)
    except (IndexError, TypeError, np.exceptions.AxisError):  # TypeError: a number on the way, which cannot be written to
        return None
    return text, None  # PyTorch has no negative steps


def _through(a: Any, steps: list[str], b: Any, how: str) -> Any:
    base = a.copy()
    parts = [base]
    for step in steps:
        parts.append(eval(f"part{step}", {"part": parts[-1]}))
    part = parts[-1]
    if part.ndim == 0:
        return base  # a number, which changes nothing
    if how == "set":
        part[...] = b
    elif how == "add":
        part += b
    elif how == "mul":
        part *= 0.5
    else:
        part[0] = b
        parts[len(parts) // 2][...] *= 0.5
        flat = part.reshape(-1)  # a view or a copy, as the memory has it
        flat[-1:] += 0.25
    return base + sum(p.sum() for p in parts[1:])


def _put(a: Any, i: int, b: Any) -> Any:
    made = a.clone() if hasattr(a, "clone") else a.copy()
    made[i] = b
    return made


def _changed(a: Any, b: Any, sign: str) -> Any:
    """In place, on a result that nothing has saved."""
    made = a.clone() if hasattr(a, "clone") else a.copy()
    if isinstance(made, (float, np.generic)):
        return {"add": made + b, "sub": made - b, "mul": made * b}[sign]
    if sign == "add":
        made += b
    elif sign == "sub":
        made -= b
    else:
        made *= b
    return made


WORDS = {
    "put": _put,
    "through": _through,
    "add_to": lambda a, b: _changed(a, b, "add"),
    "sub_to": lambda a, b: _changed(a, b, "sub"),
    "mul_to": lambda a, b: _changed(a, b, "mul"),
}
"""Words for what takes a statement: the same in every library."""


@st.composite
def programs(draw: st.DrawFn, max_lines: int = 30) -> Program:
    """A program whose lines have been evaluated on arrays while it was drawn."""
    import tensorviz as tv

    count = draw(st.integers(1, 3))
    leaves = {}
    for name in "xyz"[:count]:
        shape = draw(shapes(min_side=0 if draw(st.integers(0, 9)) == 9 else 1))
        seed = zlib.crc32(f"{name}{draw(st.integers(0, 999))}".encode())
        leaves[name] = np.random.default_rng(seed).uniform(-1.5, 1.5, shape)
    program = Program(leaves)
    values = [Value(name, array) for name, array in leaves.items()]
    for _ in range(draw(st.integers(1, max_lines))):
        texts = draw(st.sampled_from(KINDS))(draw, values) or smooth(draw, values)
        _append(program, values, texts, tv)
        if values[-1].array.size and np.max(np.abs(values[-1].array)) > LARGE:
            last = values[-1].name
            _append(program, values, (f"np.tanh({last} / {LARGE})", f"torch.tanh({last} / {LARGE})"), tv)
        if values[-1].array.size > CROWDED:
            last = values[-1].name
            _append(program, values, (f"{last}.sum()", f"{last}.sum()"), tv)
        if len(program.lines) >= max_lines:
            break
    return program


def _append(program: Program, values: list[Value], texts: tuple[str, str | None], tv: Any) -> None:
    name = f"v{len(program.lines)}"
    found = {v.name: v.array for v in values}
    array = np.asarray(eval(texts[0], {"np": np, "tv": tv, **WORDS}, found), float)
    program.lines.append(Line(name, *texts))
    values.append(Value(name, array))
