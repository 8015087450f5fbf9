"""What other libraries, and arrays, call something that has another name here or is not needed: said where it is asked for. Knows no op."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

from tensorviz.errors import NamingError, OptionTypeError

_ALL_NUMPY = "leave it out: a Tensor holds a NumPy array, in the machine's memory"
_COPY = "write y = x.copy(), then y[i] = value"

ON_TENSORS: dict[str, str] = {
    # arrays
    **{name: f"take x.numpy().{name}, which is outside the graph" for name in ("base", "ctypes", "tofile", "dump", "dumps")},
    "byteswap": "take x.numpy().byteswap(), which is outside the graph",
    "resize": "write np.resize(x, shape), or x.reshape(shape) for as many elements",
    "setflags": "leave it out: what is recorded is read-only, and x.copy() can be written to",
    # shapes
    "contiguous": "leave it out: every op takes operands in any memory order",
    "dim": "write x.ndim",
    **dict.fromkeys(("clamp", "clamp_"), "write x.clip(low, high)"),
    "expand": "write np.broadcast_to(x, shape)",
    "expand_as": "write np.broadcast_to(x, y.shape)",
    "numel": "write x.size",
    "permute": "write x.transpose(axes)",
    "t": "write x.T",
    "unflatten": "write x.reshape(shape)",
    "unsqueeze": "write x[None], x[:, None] ..., or np.expand_dims(x, axis)",
    "view_as": "write x.reshape(y.shape)",
    # arithmetic
    "add": "write x + y",
    "bmm": "write x @ y",
    "div": "write x / y",
    "eq": "write x == y",
    "ge": "write x >= y",
    "gt": "write x > y",
    "le": "write x <= y",
    "lt": "write x < y",
    "mm": "write x @ y",
    "mul": "write x * y",
    "mv": "write x @ y",
    "ne": "write x != y",
    "neg": "write -x",
    "pow": "write x ** y",
    "rsqrt": "write 1 / np.sqrt(x)",
    "sub": "write x - y",
    # choosing and assigning
    "assign": "write x.copy_(value) under tv.no_grad()",
    "at": _COPY,
    "gather": "write np.take_along_axis(x, index, axis)",
    "index_select": "write np.take(x, index, axis)",
    "masked_fill": "write np.where(mask, value, x)",
    "masked_select": "write x[mask]",
    "scatter": _COPY,
    "select": "write x[i]",
    "topk": "write np.sort(x)[..., -k:]",
    # dtypes and devices
    **{name: f"write x.astype(np.{name}32)" for name in ("float", "int")},
    "bool": "write x.astype(bool)",
    "double": "write x.astype(np.float64)",
    "half": "write x.astype(np.float16)",
    "long": "write x.astype(np.int64)",
    "type": "write x.astype(dtype)",
    **dict.fromkeys(("cpu", "cuda", "device", "gpu", "block_until_ready"), _ALL_NUMPY),
    "to": f"{_ALL_NUMPY}; x.astype(dtype) gives another dtype",
    # looking
    **dict.fromkeys(("show", "debug", "display", "visualize", "step"), "write tv.debug(x), which runs backward and shows the stepper; after backward x.trace.show()"),
    **dict.fromkeys(("draw", "plot", "graph", "to_svg", "to_png"), "write tv.draw(x), which shows the picture; after backward x.trace has to_svg, to_png, to_gif ..."),
    **dict.fromkeys(("explain", "check", "findings", "summary", "shares"), "read x.trace after backward, which has it: x.trace.explain(x), .check(), .findings(), .summary()"),
    # graphs
    "clone": "write x.copy()",
    "detach_": "write x = x.detach()",
    "grad_fn": "read x.trace after backward, where trace.node(x) tells the op, the rule's saved values and the shares",
    "register_hook": "read trace.node(x).shares, which has every share that arrived, after backward; tv.break_on stops a pass midway",
    "requires_grad_": "write x.requires_grad = True",
}  # fmt: skip
"""Names that are no attributes of a Tensor, and what to do instead."""

_MADE = "make a Tensor of an array with tv.tensor(array, requires_grad=True)"
_OF_A_TRACE = "that is a method of the trace which backward() returns: trace.{}"

ON_THE_PACKAGE: dict[str, str] = {
    **dict.fromkeys(("array", "asarray", "as_tensor", "from_numpy", "variable", "parameter", "constant"), _MADE),
    **dict.fromkeys(("cuda", "device", "jit"), "leave it out: everything is computed with NumPy"),
    **dict.fromkeys(
        ("rand", "randn", "randint", "random", "manual_seed"),
        "draw with rng = np.random.default_rng(seed), and make a Tensor of what you get: tv.tensor(rng.normal(size=shape), requires_grad=True)",
    ),
    **dict.fromkeys(
        ("show", "step", "display", "visualize", "debugger"), "tv.debug(y) runs backward and shows the stepper; trace.show() shows a trace"
    ),
    **dict.fromkeys(("plot", "graph", "to_svg", "picture"), "tv.draw(y) shows the picture; tensorviz.views.plots has plots of a trace"),
    **dict.fromkeys(("exercises", "quizzes"), 'tv.exercise("matmul") gives one, and help(tv.exercise) lists them; trace.quiz() asks about a pass'),
    **dict.fromkeys(("function", "register", "op", "customop"), "an op of your own is tv.custom_op(name, forward, vjp)"),
    **dict.fromkeys(("check", "check_grad", "check_grads"), "trace.check() checks a recorded pass, tv.gradcheck(f, x) a function"),
    **dict.fromkeys(
        ("break", "breakpoint", "set_detect_anomaly", "detect_anomaly"), 'with tv.break_on("nan"): ... stops a pass where the first is born'
    ),
    **{name: _OF_A_TRACE.format(f"{name}(...)") for name in ("quiz", "save", "with_bug", "explain", "summary", "to_html")},
    **dict.fromkeys(("watch", "monitor", "callback", "recorder"), "with tv.history() as passes: ... takes note of every pass"),
    "autograd": "it is in tv itself: tv.grad, tv.value_and_grad, tv.jacobian, tv.gradcheck",
    "bugs": _OF_A_TRACE.format('with_bug("overwrite")'),
    "cat": "write tv.concatenate(tensors, axis=0)",
    "functional": "it is in tv itself: tv.relu, tv.softmax, tv.cross_entropy ...",
    "linalg": "take NumPy's: the functions of np.linalg work on Tensors",
    "mm": "write x @ y",
    "numpy": "import numpy as np: its functions work on Tensors",
    "permute": "write np.transpose(x, axes)",
    "unsqueeze": "write np.expand_dims(x, axis)",
}
"""The same for names that the package does not have."""


ARGUMENTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("axes", "dim", "dims"), ("axis",)),
    **dict.fromkeys(("generator", "key", "random_state"), ("rng",)),
    **dict.fromkeys(("grad", "grad_output", "v"), ("gradient",)),
    **dict.fromkeys(("in_channels", "in_dim", "input_dim", "input_size"), ("in_features", "in_channels")),
    **dict.fromkeys(("out_channels", "out_dim", "output_dim", "output_size", "units"), ("out_features", "out_channels")),
    "epsilon": ("eps",),
    "learning_rate": ("lr",),
    "negative_slope": ("slope",),
    "rate": ("p",),
    "seed": ("gradient", "rng"),
    "use_bias": ("bias",),
}  # fmt: skip
"""Arguments of other libraries, and what ours may be called: the first one that a function has."""

NO_ARGUMENTS: dict[str, str] = {
    **dict.fromkeys(("device", "layout", "memory_format", "non_blocking", "pin_memory"), _ALL_NUMPY),
    **dict.fromkeys(("reduce", "size_average"), "write reduction='mean', 'sum' or 'none'"),
    "create_graph": "take tv.grad, which nests: tv.grad(tv.grad(f))",
    "inplace": "leave it out: the result is a new Tensor",
    "inputs": "read .grad of those that are wanted; tv.grad(f, argnums) gives the gradients of some arguments alone",
    "maximize": "run backward from -loss",
    "set_to_none": "leave it out: .grad becomes None",
    "retain_graph": "leave it out: the graph is kept, so that backward can be called again",
}
"""Arguments that ours need not, and what to do instead."""


def refuse_words(function: Callable[..., Any], given: Iterable[str], name: str = "") -> NoReturn:
    """Say of the first keyword that a function does not take what to write instead. ``name``: what the user calls it, where it is not the function's own."""
    raise OptionTypeError(told_word(name or function.__name__, next(iter(given)), words_of(function)))


def told_word(name: str, word: str, known: Sequence[str]) -> str:
    """What is said of a keyword that a function does not take: what to write instead, and which ones it has."""
    ours = next((w for w in ARGUMENTS.get(word, ()) if w in known), None)
    advice = f"write {ours}=" if ours else NO_ARGUMENTS.get(word)
    if advice is None:
        import difflib

        near = difflib.get_close_matches(word, known, 1, 0.7)
        advice = f"did you mean {near[0]}=?" if near else None
    listed = ", ".join(known)
    return f"{name} takes no {word}={f': {advice}' if advice else ''}{f'; it has {listed}' if known else ''}"


_ANY_KEYWORD = 0x08
"""``inspect.CO_VARKEYWORDS``, without what an import of ``inspect`` costs."""


def refuse_arguments(cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """The same before an object of a class is made: refuse what its ``__init__`` does not take."""
    init = cls.__init__  # type: ignore[misc]
    if init is object.__init__:
        if kwargs:
            refuse_words(init, kwargs, cls.__name__)
        if args:
            raise OptionTypeError(f"{cls.__name__} takes no arguments, got {len(args)}")
    elif kwargs and getattr(init, "__code__", None) is not None and not init.__code__.co_flags & _ANY_KEYWORD:
        unknown = [word for word in kwargs if word not in words_of(init)]
        if unknown:
            refuse_words(init, unknown, cls.__name__)


def words_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the arguments of a function."""
    code = getattr(function, "__code__", None)
    return () if code is None else tuple([n for n in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if n != "self"])


class Word:
    """A name that a Tensor does not have, and that says what to do instead. ``hasattr`` is False, as it should be."""

    __slots__ = ("advice", "name")

    def __init__(self, name: str, advice: str) -> None:
        self.name, self.advice = name, advice

    def __get__(self, of: Any, cls: type) -> NoReturn:
        raise NamingError(f"'Tensor' object has no attribute {self.name!r}: {self.advice}")

    def __set__(self, of: Any, value: Any) -> NoReturn:
        self.__get__(of, type(of))


_FOLLOWS = "it follows from the values; make a Tensor with tv.tensor(array)"
NOT_SET: dict[str, str] = {
    **dict.fromkeys(("T", "mT"), "write x.copy_(value.T), or x = value.T"),
    **dict.fromkeys(("flags", "imag", "itemsize", "nbytes", "ndim", "size", "strides"), _FOLLOWS),
    "dtype": "write x = x.astype(dtype)",
    "is_leaf": "write x = x.detach() for a leaf of the same values",
    "real": "write x.copy_(value)",
    "shape": "write x = x.reshape(shape)",
}
"""Attributes of a Tensor that cannot be assigned to, and what to do instead."""


def not_set(attribute: property, name: str, advice: str) -> property:
    """The attribute, with an answer for who assigns to it."""

    def refuse(of: Any, value: Any) -> NoReturn:  # noqa: ARG001 - what a property calls
        raise NamingError(f"{name} of {of._what()} cannot be assigned to: {advice}")

    return attribute.setter(refuse)


def numpys(name: str) -> str | None:
    """What to write for a name that NumPy has; None if it has none that is of use here."""
    found = vars(np).get(name, np)
    if name.startswith("_") or name in ON_THE_PACKAGE or isinstance(found, ModuleType):
        return None
    if name.removesuffix("_like") in ("zeros", "ones", "empty", "full") or name in ("arange", "linspace", "eye", "identity"):
        return f"take NumPy's, and make a Tensor of it: tv.tensor(np.{name}(...), requires_grad=True)"
    return f"take NumPy's: np.{name}{' works on Tensors' if callable(found) and not isinstance(found, type) else ''}"
