"""Derivatives of functions: grad, vjp, jvp, jacobian, hessian, hvp. They nest, and leave every ``.grad`` alone but what the function itself writes, which they call once. Knows no op but the one that marks a variable."""

from __future__ import annotations

import functools
import inspect
import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorviz.arguments import function
from tensorviz.engine import trees
from tensorviz.engine.graph import check_dtype, frozen, leaf, numbers, weak
from tensorviz.engine.higher import behind, pull
from tensorviz.engine.mode import enable_grad, is_grad_enabled
from tensorviz.engine.node import Node
from tensorviz.engine.op import REGISTRY, Op, apply
from tensorviz.engine.seeds import seed_numbers
from tensorviz.engine.tensor import Tensor, handle
from tensorviz.engine.threads import Local
from tensorviz.errors import DTypeError, GraphError, IndexingError, SeedError, ShapeError

__all__ = ["grad", "hessian", "hvp", "jacobian", "jvp", "value_and_grad", "vjp"]


class _Argument(Op):
    """Marks what a derivative is taken with respect to, apart from other uses of the same value."""

    name = "argument"
    word = "passes on"
    slots = ("x",)
    formulas = ("g",)
    vjps = (lambda g: g,)

    @staticmethod
    def forward(x: Any) -> Any:
        return x


class _Active(Local):
    """The variables of the derivatives that are being taken now in this thread, outermost first."""

    def __init__(self) -> None:
        self.variables: list[list[Node]] = []


_active = _Active()


class _Run:
    """One call of a function with variables in the places of some arguments, and its pullbacks."""

    def __init__(self, what: str, f: Callable[..., Any], args: Sequence[Any], argnums: Sequence[int], kwargs: dict[str, Any]) -> None:
        _function(what, f)
        self.what = what
        self.argnums = [_position(what, n, len(args)) for n in argnums]
        if len(set(self.argnums)) < len(self.argnums):
            raise IndexingError(f"{what}: argnums={tuple(argnums)} names an argument twice")
        self.given = [args[n] for n in self.argnums]
        for n, argument in zip(self.argnums, self.given, strict=True):
            if argument is None:
                raise DTypeError(f"{what}: argument {n} is None; expected the array of floats at which to take the derivative")
        self.outer = is_grad_enabled()
        self.enclosing = {n for variables in _active.variables for n in variables}
        self.inputs = list(trees.leaves(self.given))
        names = _parameter_names(f)
        made = []
        for n, argument in zip(self.argnums, self.given, strict=True):
            name = names[n] if n < len(names) and not isinstance(argument, (list, tuple, dict)) else None
            made += [self._variable(x, n, name) for x in trees.leaves(argument)]
        self.variables = [t._kept() for t in made]
        self.hidden = {v for v in self.variables if v.op is None}
        """Leaves that the caller cannot know: a result that depends on nothing else depends on nothing."""
        filled = trees.refilled(self.given, made)
        call = list(args)
        for n, argument in zip(self.argnums, filled, strict=True):
            call[n] = argument
        _active.variables.append(self.variables)
        try:
            with enable_grad():
                self.out = f(*call, **kwargs)
        finally:
            _active.variables.pop()
        if self.out is None:
            raise SeedError(f"{what}: the function returned None; does it lack a return?")
        self.roots = [_root(what, y) for y in trees.leaves(self.out)]

    def _variable(self, x: Any, n: int, name: str | None) -> Tensor:
        value = x._current().value if isinstance(x, Tensor) else numbers(x, f"{self.what}: argument {n}")
        check_dtype(np.dtype(value.dtype), f"{self.what}: argument {n}", x)
        if value.dtype.kind != "f":
            raise DTypeError(f"{self.what}: argument {n} has dtype {value.dtype}; only floats have a gradient, e.g. 1.0 instead of 1")
        if isinstance(x, Tensor) and x.requires_grad and self.outer:
            made: Tensor = apply(REGISTRY["argument"], (x,), {})
        else:
            node = leaf(frozen(value) if isinstance(value, np.ndarray) and not isinstance(x, Tensor) else value, requires_grad=True)
            made = handle(node)
            node.more().owner = weak(made)  # a leaf like others to the function, which may call backward itself
        if name is not None:
            made.name = name
        return made

    @property
    def recorded(self) -> bool:
        """Whether the pass itself must be recorded: a Tensor asks for it, or a derivative around this one may."""
        return any(isinstance(x, Tensor) for x in self.inputs) or bool(self.enclosing)

    def pull(self, seeds: Sequence[Any], *, recorded: bool) -> list[Any]:
        """One gradient per variable, zeros where nothing depends on it."""
        with enable_grad():
            found = pull([r._current() for r in self.roots], seeds, self.variables, recorded=recorded, matters=self.matters)
        return [np.zeros(np.shape(v.value), v.value.dtype) if g is None else g for v, g in zip(self.variables, found, strict=True)]

    def matters(self, value: Any) -> bool:
        """Whether a derivative around this one, or a later backward, may go through a value."""
        reached = behind(value)
        return bool(reached & self.enclosing) or (self.outer and any(n.op is None and n not in self.hidden for n in reached))

    def handed_out(self, values: Sequence[Any], like: Sequence[Any]) -> list[Any]:
        """Results in the form of the inputs: Tensors for Tensors, arrays for arrays; a Tensor also where a derivative around this one needs its graph."""
        return [self._hand_out(value, isinstance(x, Tensor)) for value, x in zip(values, like, strict=True)]

    def _hand_out(self, value: Any, as_tensor: bool) -> Any:
        if behind(value) & self.enclosing:
            return value
        if not as_tensor:
            array = np.array(value)
            return array[()] if array.ndim == 0 else array
        if self.matters(value):
            return value
        return handle(leaf(frozen(np.array(value))))

    def out_handed_out(self) -> Any:
        """The function's own result, in the form of its inputs."""
        like = next((x for x in self.inputs if isinstance(x, Tensor)), None)
        return trees.refilled(self.out, self.handed_out(self.roots, [like] * len(self.roots)))


def _function(what: str, f: Any) -> None:
    if isinstance(f, Tensor):
        raise DTypeError(
            f"{what}: its first argument must be a function of what the derivative is taken by, got {f._what()}, its result; for that call backward(), and read .grad of the leaves"
        )
    function(what, "its first argument", f)


def _position(what: str, n: Any, count: int) -> int:
    try:
        n = operator.index(n)
    except TypeError:
        raise DTypeError(f"{what}: argnums is an int or a tuple of ints, got {n!r}") from None
    if not -count <= n < count:
        raise IndexingError(f"{what}: argnums={n}, but the function was called with {count} positional argument(s)")
    return int(n) % count


def _parameter_names(f: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _root(what: str, y: Any) -> Tensor:
    """A result as a Tensor. A plain number or array depends on nothing that is differentiated, which is rarely meant."""
    if not isinstance(y, Tensor):
        value = np.array(y)
        if value.dtype.kind not in "fiub":
            raise GraphError(f"{what}: the function returned a {type(y).__name__}, not a Tensor or a number")
        warnings.warn(
            f"{what}: the function returned a {type(y).__name__}, not a Tensor, so nothing connects its result with the arguments and the derivative is 0; "
            f"if that is not meant, use NumPy functions and operators on the arguments as they are, without numpy(), item(), float() or asarray",
            UserWarning,
            stacklevel=4,
        )
        return handle(leaf(frozen(value if value.dtype.kind == "f" else value.astype(float))))
    if y.dtype.kind != "f":
        raise DTypeError(f"{what}: the function returned dtype {y.dtype}, which has no gradient; only floats have")
    return y


def _single(run: _Run) -> Tensor:
    """The result of a function to be differentiated as a number."""
    out = run.roots[0] if len(run.roots) == 1 and not isinstance(run.out, (list, tuple, dict)) else None
    if out is None or out.size != 1:
        got = f"shape {out.shape}" if out is not None else f"a {type(run.out).__name__} of {len(run.roots)} result(s)"
        raise SeedError(
            f"{run.what} differentiates a function that returns one number, this one returned {got}; reduce it, e.g. with sum(), or use jacobian or vjp"
        )
    return out


def _seed(what: str, g: Any, y: Any) -> Any:
    """A cotangent or tangent for ``y``, checked and in its dtype; a Tensor stays one."""
    value = g if isinstance(g, Tensor) else seed_numbers(what, g, y.shape)
    if value.shape != y.shape:
        raise SeedError(f"{what}: expected shape {y.shape}, got {value.shape}; it is not broadcast")
    if value.dtype != y.dtype:
        value = value.astype(y.dtype)
    return value if isinstance(value, Tensor) or value.ndim else value[()]


def _matching(what: str, given: Any, like: Any) -> list[Any]:
    """The leaves of one nesting, refused if it is another than that of ``like``. For a single array a list of Python numbers is one, too."""
    if not isinstance(like, (list, tuple, dict)) and all(isinstance(x, (int, float)) for x in trees.leaves(given)):
        return [given]
    if trees.shape(given) != trees.shape(like):
        raise ShapeError(f"{what}: expected the nesting {trees.shape(like)}, got {trees.shape(given)}")
    return list(trees.leaves(given))


def _argnums(argnums: Any) -> tuple[tuple[Any, ...], bool]:
    return (tuple(argnums), False) if isinstance(argnums, (tuple, list)) else ((argnums,), True)


# ---- reverse -----------------------------------------------------------------------------------------------------


def grad(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The function that computes the gradient of ``f``, which returns one number, with respect to its positional argument(s) ``argnums``.

    Gradients have the form of the arguments: arrays for arrays, Tensors (recorded, so that ``backward`` goes through them)
    for Tensors, nested lists, tuples and dicts alike; a tuple of them where ``argnums`` is one. They nest.
    Raises SeedError where ``f`` returns more than one number, TypeError for arguments that are no floats.

    >>> float(grad(grad(lambda x: x * x * x))(2.0))
    12.0
    """
    _function("grad", f)
    of = value_and_grad(f, argnums)

    @functools.wraps(f)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        return of(*args, **kwargs)[1]

    return gradient


def value_and_grad(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., tuple[Any, Any]]:
    """Like :func:`grad`, returning ``(f(...), gradient)``.

    >>> value, gradient = value_and_grad(lambda x: (x * x).sum())(np.array([1.0, 2.0]))
    >>> float(value), gradient.tolist()
    (5.0, [2.0, 4.0])
    """
    _function("value_and_grad", f)
    positions, single = _argnums(argnums)

    @functools.wraps(f)
    def both(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        run = _Run("grad", f, args, positions, kwargs)
        y = _single(run)
        seed = np.ones(y.shape, y.dtype)
        gradients = run.pull([seed if seed.ndim else seed[()]], recorded=run.recorded)
        filled = trees.refilled(run.given, run.handed_out(gradients, run.inputs))
        return run.out_handed_out(), filled[0] if single else tuple(filled)

    return both


def vjp(f: Callable[..., Any], *primals: Any, **kwargs: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """``f(*primals)`` and its pullback: from a cotangent of the result's shape to a tuple of gradients, one per primal.

    The result may be nested; the cotangent then is too. The pullback can be called again and again.

    >>> out, pullback = vjp(lambda x, y: x * y, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    >>> [g.tolist() for g in pullback(np.array([1.0, 10.0]))]
    [[3.0, 40.0], [1.0, 20.0]]
    """
    run = _Run("vjp", f, primals, range(len(primals)), kwargs)

    return run.out_handed_out(), functools.partial(_pullback, "vjp's pullback", run)


def _pullback(what: str, run: _Run, g: Any) -> tuple[Any, ...]:
    """The gradients of a run's inputs, from a cotangent of its result."""
    seeds = [_seed(what, x, y) for x, y in zip(_matching(what, g, run.out), run.roots, strict=True)]
    from_tensor = any(isinstance(s, Tensor) for s in seeds)
    gradients = run.pull(seeds, recorded=run.recorded or from_tensor)
    like = [x if isinstance(x, Tensor) or not from_tensor else seeds[0] for x in run.inputs]
    return tuple(trees.refilled(run.given, run.handed_out(gradients, like)))


# ---- forward -----------------------------------------------------------------------------------------------------


def jvp(f: Callable[..., Any], primals: Any, tangents: Any, **kwargs: Any) -> tuple[Any, Any]:
    """``f(*primals)`` and its derivative along ``tangents``, one per primal and of its shape.

    Forward mode by two reverse passes: a pullback is linear in its cotangent, and its transpose is the derivative wanted.

    >>> out, tangent = jvp(lambda x: x * x, (np.array([1.0, 2.0]),), (np.array([1.0, 10.0]),))
    >>> tangent.tolist()
    [2.0, 40.0]
    """
    primals, tangents = _as_tuple(primals), _as_tuple(tangents)
    run = _Run("jvp", f, primals, range(len(primals)), kwargs)
    directions = [
        _seed("jvp's tangent", t, x) for t, x in zip(_matching("jvp's tangents", tangents, primals), [handle(v) for v in run.variables], strict=True)
    ]
    # ones, as any cotangent would do: the second pass differentiates what is linear in it
    cotangents = [handle(leaf(frozen(np.ones(y.shape, y.dtype)), requires_grad=True)) for y in run.roots]
    run.enclosing |= {c._current() for c in cotangents}
    gradients = run.pull(cotangents, recorded=True)
    run.enclosing -= {c._current() for c in cotangents}
    pairs = [(g._current(), t) for g, t in zip(gradients, directions, strict=True) if isinstance(g, Tensor) and g.requires_grad]
    with enable_grad():
        recorded = run.recorded or any(isinstance(t, Tensor) for t in directions)
        found = pull([g for g, _ in pairs], [t for _, t in pairs], [c._current() for c in cotangents], recorded=recorded)
    found = [np.zeros(y.shape, y.dtype) if t is None else t for y, t in zip(run.roots, found, strict=True)]
    run.hidden |= {c._current() for c in cotangents}
    like = next((x for x in [*run.inputs, *directions] if isinstance(x, Tensor)), None)
    return run.out_handed_out(), trees.refilled(run.out, run.handed_out(found, [like] * len(found)))


def _as_tuple(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, (tuple, list)) else (given,)


# ---- matrices of derivatives -------------------------------------------------------------------------------------


def jacobian(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The function that computes every derivative of every element of ``f``'s result: shape result.shape + argument.shape, one reverse pass per row.

    >>> jacobian(lambda x: x * x)(np.array([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    _function("jacobian", f)
    positions, single = _argnums(argnums)

    @functools.wraps(f)
    def matrix(*args: Any, **kwargs: Any) -> Any:
        run = _Run("jacobian", f, args, positions, kwargs)
        blocks = []
        for which, y in enumerate(run.roots):
            rows = []
            for i in range(y.size):
                seeds = [np.zeros(r.shape, r.dtype) for r in run.roots]
                seeds[which].flat[i] = 1.0
                rows.append(run.pull([s if s.ndim else s[()] for s in seeds], recorded=run.recorded))
            with enable_grad():
                columns = [_stacked([row[k] for row in rows], y, v) for k, v in enumerate(run.variables)]
            filled = trees.refilled(run.given, run.handed_out(columns, run.inputs))
            blocks.append(filled[0] if single else tuple(filled))
        return trees.refilled(run.out, blocks)

    return matrix


def _stacked(rows: list[Any], y: Tensor, variable: Node) -> Any:
    shape = y.shape + np.shape(variable.value)
    return np.reshape(np.stack(rows), shape) if rows else np.zeros(shape, variable.value.dtype)


def hessian(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The function that computes all second derivatives of ``f``, which returns one number: shape argument.shape + argument.shape.

    >>> hessian(lambda x: (x * x * x).sum())(np.array([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    return jacobian(grad(f, argnums), argnums)


def hvp(f: Callable[..., Any], x: Any, v: Any, **kwargs: Any) -> Any:
    """The Hessian of ``f`` at ``x`` times ``v`` (of x's shape), without the matrix: a pullback through the gradient.

    >>> hvp(lambda x: (x * x * x).sum(), np.array([1.0, 2.0]), np.array([1.0, 10.0])).tolist()
    [6.0, 120.0]
    """
    run = _Run("hvp", functools.partial(grad(f), **kwargs), (x,), (0,), {})
    return _pullback("hvp's vector", run, v)[0]
