"""The base class of ops and their registry: one class holds everything about an op, the rest is derived. Knows no particular op."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from tensorviz.arguments import shown
from tensorviz.engine.graph import NO_PARAMS, OURS, Node, check_dtype, constant, local, new_uid, numbers
from tensorviz.errors import AxisError, DTypeError, IndexingError, LinearAlgebraError, NumberError, OpDefinitionError, ShapeError, TensorvizError

REGISTRY: dict[str, Op] = {}
"""Every op by name."""
UFUNCS: dict[Any, Op] = {}
"""NumPy's ufuncs to ops, for ``np.tanh(x)``."""
REDUCTIONS: dict[Any, Callable[..., Any]] = {}
"""NumPy's ufuncs to what their ``.reduce`` means, for ``np.add.reduce(x)``."""
ACCUMULATIONS: dict[Any, Callable[..., Any]] = {}
"""NumPy's ufuncs to what their ``.accumulate`` means, for ``np.add.accumulate(x)``."""
FUNCTIONS: dict[Any, Callable[..., Any]] = {}
"""NumPy's functions to ours of the same signature, for ``np.sum(x, axis=0)``."""
METHODS: dict[str, Callable[..., Any]] = {}
"""Methods of Tensor by name, attached when the Tensor class is made and whenever an op is added."""

Rule = Callable[..., Any]


class Op:
    """One operation. A subclass *is* the op: defining it registers it; an incomplete one is refused there and then.

    A rule (an entry of ``vjps``) is a plain function of ``g``, the gradient of the result, and of the things that it
    names in its parameters; those names decide what is saved:

    * a slot's name (``a``): that operand's value; ``a_shape``, ``a_dtype``: only its shape or dtype, which is nothing saved;
    * ``out``: the result; the name of an ``extras`` entry: a value that ``forward`` made for the rule;
    * the name of a parameter (``axis``): its value;
    * in a variadic op: ``slot`` (the position), ``inputs`` (all operands), ``others`` (all but the one at ``slot``, which is None)
      or ``shapes`` (only their shapes).

    It returns the share **before** unbroadcast; the engine sums the axes that the operand grew. Rules are written in NumPy
    calls and operators, so that the same text works on arrays and, for higher order, on Tensors.
    """

    name: ClassVar[str] = ""
    label: ClassVar[str] = ""
    """What stands in the picture of the node; the name if empty."""
    word: ClassVar[str] = ""
    """What the gate does with a gradient, a verb: ``distributes``, ``swaps``, ``routes``."""
    slots: ClassVar[tuple[str, ...]] = ()
    """The operands' names; ``("*xs",)`` for a variadic op."""
    forward: ClassVar[Callable[..., Any]]
    """Operands' arrays and parameters to the result; with ``extras``, to ``(result, (extra, ...))``."""
    vjps: ClassVar[tuple[Rule | None, ...]] = ()
    """One rule per slot; None where the operand has no gradient (an index, a condition). A variadic op has one for all."""
    joint: ClassVar[Rule | None] = None
    """Instead of ``vjps``: one rule ``(g, need, ...)`` for all slots, where they share work; it returns a tuple."""
    formulas: ClassVar[tuple[str, ...]] = ()
    """What each rule computes, in the slots' names: ``("g * b", "g * a")``."""
    extras: ClassVar[tuple[str, ...]] = ()
    """Names of the values that ``forward`` returns beside the result, for the rule."""
    routes: ClassVar[tuple[Rule | None, ...]] = ()
    """For an op that selects: per slot the weights in [0, 1] of the operand's elements; parameters as in a rule, without ``g``."""
    differentiable: ClassVar[bool] = True
    """False: the result carries no gradient (a comparison, an index)."""
    broadcasts: ClassVar[bool] = False
    """Operands are broadcast against each other, so shares may have to be summed."""
    ufuncs: ClassVar[tuple[Any, ...]] = ()
    operators: ClassVar[tuple[str, ...]] = ()
    """Python operators: ``("__add__", "__radd__")``."""
    inplace: ClassVar[tuple[str, ...]] = ()
    """In-place methods: ``("__iadd__", "add_")``."""
    methods: ClassVar[tuple[str, ...]] = ()
    advice: ClassVar[str] = ""
    """What to do about operands that do not fit, for the error."""
    source: ClassVar[str] = ""
    """Where the rule stands in the literature, where it is more than school calculus."""
    domain: ClassVar[tuple[tuple[float, float], ...]] = ()
    """Per slot the open interval on which the op is defined and smooth, for the property tests; the whole line if empty."""
    examples: ClassVar[Any] = None
    """A static function of a random generator: a list of (operands, parameters) for the property tests, where random operands of any shape do not do."""

    # derived when the class is defined
    saves: tuple[str, ...] = ()
    """Names of the values that the rules read: slots, ``out``, extras."""
    variadic: bool = False
    run: Callable[..., Any]
    """``forward`` as a plain function, looked up once."""
    foreign: bool = False
    """Forward is the user's own function: what it raises is not NumPy's word about the operands, and stays as it is."""
    partial: bool = False
    """Some slots have no rule, so whether the result requires a gradient depends on which operands do."""
    pull: Callable[[Node, Any], tuple[Any, ...]]
    """``pull(node, g)``: one share per slot (None where none is needed), from arrays."""
    pull_recorded: Callable[[Node, Any, Callable[[Node], Any], tuple[Any, ...]], tuple[Any, ...]]
    """The same from Tensors: ``pull_recorded(node, g, wrap, extras)``."""

    def __init_subclass__(cls, abstract: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not abstract:
            register(cls())

    def __call__(self, *operands: Any, **params: Any) -> Any:
        return apply(self, operands, params)

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def slot_name(self, i: int) -> str:
        return f"{self.slots[0][1:]}[{i}]" if self.variadic else self.slots[i]

    def formula(self, i: int) -> str:
        if not self.formulas:
            return ""
        return self.formulas[0] if self.variadic else self.formulas[i]

    def saved(self, node: Node) -> dict[str, tuple[Any, int]]:
        """What the rules of a node read, by name: the value and the slot that it is (-1: the result, -2: made for the rule).

        Only what the operands that need a gradient ask for: ``x * 2.0`` saves the 2, not x.
        """
        found: dict[str, tuple[Any, int]] = {}
        for i, inp in enumerate(node.inputs):
            if not inp.requires_grad:
                continue
            for what in self._reads[0 if (self.variadic or self.joint) else i]:
                if what == "out":
                    found["out"] = (node.value, -1)
                elif what == "inputs":
                    for j, other in enumerate(node.inputs):
                        found[self.slot_name(j)] = (other.value, j)
                elif what == "others":
                    for j, other in enumerate(node.inputs):
                        if j != i:
                            found[self.slot_name(j)] = (other.value, j)
                elif what in self.extras:
                    found[what] = (node.extras[self.extras.index(what)], -2)
                elif what in self.slots:
                    j = self.slots.index(what)
                    if j < len(node.inputs):
                        found[what] = (node.inputs[j].value, j)
        return found

    _reads: tuple[tuple[str, ...], ...] = ()


def register(op: Op) -> None:
    """Check that an op is complete, derive what it saves and how it is pulled back, and make it known."""
    cls = type(op)
    where = f"op {op.name or cls.__name__!r}"

    def refuse(what: str) -> None:
        raise OpDefinitionError(f"{where}: {what}")

    if not op.name or not op.name.isidentifier():
        refuse("needs a name that is a Python identifier")
    if op.name in REGISTRY:
        refuse("is defined already; ops are known by name, choose another")
    if not op.slots:
        refuse("needs slots, the names of its operands")
    if not hasattr(cls, "forward"):
        refuse("needs a forward rule")
    if _NUMPY_1:
        cls.forward = staticmethod(_narrowed(forward_of(op)))
    op.run = forward_of(op)
    op.partial = None in op.vjps and op.joint is None
    op.variadic = op.slots[0].startswith("*")
    count = 1 if op.variadic else len(op.slots)
    if op.differentiable:
        if op.joint is None and len(op.vjps) != count:
            refuse(f"has {len(op.slots)} slot(s) but {len(op.vjps)} rule(s); give one per slot, None where the operand has no gradient")
        rules = (_unbound(op, "joint"),) if op.joint is not None else op.vjps
        if len(op.formulas) != count:
            refuse(f"needs one formula per slot ({count}), has {len(op.formulas)}")
        if not op.word:
            refuse("needs a word that says what it does with a gradient")
        known = (
            {s.lstrip("*") for s in op.slots}
            | {f"{s}_shape" for s in op.slots}
            | {f"{s}_dtype" for s in op.slots}
            | {"out", "slot", "inputs", "others", "shapes", "need"}
            | set(op.extras)
        )
        params = set(_parameters(op.run)) - set(op.slots)
        for rule in rules:
            for wanted in _names(rule):
                if wanted not in known and wanted not in params:
                    refuse(f"a rule asks for {wanted!r}, which is no slot, no extra, no parameter of forward and not `out`")
        op._reads = tuple(tuple(n for n in _names(rule) if n in op.slots or n in op.extras or n in ("out", "inputs", "others")) for rule in rules)
        op.saves = tuple(dict.fromkeys(n for names in op._reads for n in names))
        _compile_when_used(op)
    if op.routes and len(op.routes) != count:
        refuse(f"needs one route per slot ({count}), has {len(op.routes)}")
    REGISTRY[op.name] = op
    for ufunc in op.ufuncs:
        UFUNCS[ufunc] = op
    for name in op.methods:
        attach(name, _method(op))
    for i, name in enumerate(op.operators):
        attach(name, _binary(op, reflected=i == 1) if len(op.slots) == 2 else _method(op))
    for name in op.inplace:
        attach(name, _inplace(op))


_NUMPY_1 = np.lib.NumpyVersion(np.__version__) < "2.0.0"


def _narrowed(forward: Callable[..., Any]) -> Callable[..., Any]:
    """For NumPy 1, where a float32 scalar and a Python number make a float64: the forward rule with a scalar result in the operands' dtype."""

    @functools.wraps(forward)
    def narrowed(*operands: Any, **params: Any) -> Any:
        result = forward(*operands, **params)
        value = result[0] if type(result) is tuple else result
        if getattr(value, "dtype", None) != np.float64 or value.ndim or "dtype" in params:
            return result
        floats = {x.dtype for x in operands if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "fiu"}
        if not floats or any(d.kind != "f" or d == np.float64 for d in floats):
            return result
        value = np.asarray(value).astype(np.result_type(*floats))[()]
        return (value, *result[1:]) if type(result) is tuple else value

    return narrowed


def forward_of(op: Op) -> Callable[..., Any]:
    """The forward rule as a plain function (a function in a class body would bind)."""
    found = inspect.getattr_static(op, "forward")
    return found.__func__ if isinstance(found, staticmethod) else found


_REQUIRED: Any = inspect.Parameter.empty


@functools.cache
def _parameters(function: Callable[..., Any]) -> dict[str, Any]:
    """The parameters of a function and their defaults; none for a ufunc. Read off the code object, since an import asks for hundreds."""
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None)
    if code is not None:
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        given = function.__defaults__ or ()
        defaults = dict(zip(names[code.co_argcount - len(given) : code.co_argcount], given, strict=True)) | (function.__kwdefaults__ or {})
        return {name: defaults.get(name, _REQUIRED) for name in names}
    if isinstance(function, np.ufunc):
        return {}
    try:
        return {p.name: p.default for p in inspect.signature(function).parameters.values()}
    except (ValueError, TypeError):
        return {}


def _names(rule: Rule | None) -> tuple[str, ...]:
    """The names that a rule asks for, without ``g``."""
    return () if rule is None else tuple(_parameters(rule))[1:]


def _compile_when_used(op: Op) -> None:
    """Most ops of a session are never pulled; the first pull of one compiles its rules."""

    @functools.cache
    def compiled(recorded: bool) -> Any:
        return _compile(op, recorded=recorded)

    # the compiled rule takes this one's place, unless somebody has put another there
    def pull(node: Node, g: Any) -> tuple[Any, ...]:
        if op.pull is pull:
            op.pull = compiled(False)
        return compiled(False)(node, g)  # type: ignore[no-any-return]

    def pull_recorded(node: Node, g: Any, wrap: Callable[[Node], Any], extras: tuple[Any, ...]) -> tuple[Any, ...]:
        if op.pull_recorded is pull_recorded:
            op.pull_recorded = compiled(True)
        return compiled(True)(node, g, wrap, extras)  # type: ignore[no-any-return]

    op.pull, op.pull_recorded = pull, pull_recorded


_IDENTITY = (lambda g: g).__code__


def _compile(op: Op, *, recorded: bool) -> Any:
    """The function that fetches what each rule asks for and calls it: written out once, so that a pass spends no time on looking up."""
    value = "wrap({})" if recorded else "{}.value"

    def fetch(name: str, slot: str) -> str:
        if name == "out":
            return value.format("node")
        if name == "slot":
            return slot
        if name == "inputs":
            return "tuple([" + value.format("n") + " for n in inputs])"
        if name == "others":
            return f"tuple([None if j == {slot} else " + value.format("n") + " for j, n in enumerate(inputs)])"
        if name == "shapes":
            return "tuple([shape(n.value) for n in inputs])"
        if name == "need":
            return "tuple([n.requires_grad for n in inputs])"
        if name in op.extras:
            return f"{'extras' if recorded else 'node.extras'}[{op.extras.index(name)}]"
        if name in op.slots:
            return _optional(op, name, value)
        for kind in ("_shape", "_dtype"):
            if name.endswith(kind) and name.removesuffix(kind) in op.slots:
                i = op.slots.index(name.removesuffix(kind))
                return f"shape(inputs[{i}].value)" if kind == "_shape" else f"dtype(inputs[{i}].value)"
        return f"params[{name!r}]" if _required(op, name) else f"params.get({name!r}, default[{name!r}])"

    def call(rule: str, names: tuple[str, ...], slot: str) -> str:
        code = getattr(op.vjps[int(rule[4:])], "__code__", None) if rule.startswith("rule") else None
        if code is not None and not names and code.co_code == _IDENTITY.co_code and code.co_consts == _IDENTITY.co_consts:
            return "g"  # the rule of a sum: no call
        return f"{rule}({', '.join(['g', *(fetch(n, slot) for n in names)])})"

    if op.joint is not None:
        body = call("joint", _names(_unbound(op, "joint")), "0")
    elif op.variadic:
        body = f"tuple([{call('rule0', _names(op.vjps[0]), 'i')} if n.requires_grad else None for i, n in enumerate(inputs)])"
    else:
        parts = []
        for i, rule in enumerate(op.vjps):
            if rule is None:
                parts.append("None")
            elif len(op.slots) == 1:
                parts.append(call(f"rule{i}", _names(rule), str(i)))
            else:
                need = f"inputs[{i}].requires_grad" if i < _least(op) else f"len(inputs) > {i} and inputs[{i}].requires_grad"
                parts.append(f"({call(f'rule{i}', _names(rule), str(i))} if {need} else None)")
        body = "(" + ", ".join(parts) + ",)"
    if not op.variadic and _least(op) < len(op.slots):
        body = f"{body}[: len(inputs)]"
    arguments = "node, g, wrap, extras" if recorded else "node, g"
    text = f"def pull({arguments}):\n    inputs = node.inputs\n    params = node.params\n    return {body}\n"
    names: dict[str, Any] = {f"rule{i}": rule for i, rule in enumerate(op.vjps)}
    names |= {"joint": _unbound(op, "joint"), "shape": np.shape, "dtype": np.result_type, "default": defaults_of(op)}
    exec(compile(text, f"<rule of {op.name}>", "exec"), names)  # noqa: S102 - text made above from checked identifiers alone
    return names["pull"]


def _unbound(op: Op, attribute: str) -> Any:
    found = inspect.getattr_static(op, attribute)
    return found.__func__ if isinstance(found, staticmethod) else found


def defaults_of(op: Op) -> dict[str, Any]:
    """The parameters of an op that have a default."""
    return {name: default for name, default in _parameters(op.run).items() if default is not _REQUIRED}


def _required(op: Op, name: str) -> bool:
    return name not in defaults_of(op)


def _least(op: Op) -> int:
    """How many operands an op has at least: trailing slots whose forward parameter has a default may be left out."""
    defaults = defaults_of(op)
    return sum(1 for s in op.slots if s not in defaults)


def _optional(op: Op, name: str, value: str) -> str:
    i = op.slots.index(name)
    fetched = value.format(f"inputs[{i}]")
    return fetched if i < _least(op) else f"({fetched} if len(inputs) > {i} else None)"


# ---- running an op ----------------------------------------------------------------------------------------------

_tensor_class: Any = None
_wrap: Any = None


def set_tensor_class(cls: Any, wrap: Callable[[Node], Any]) -> None:
    """Called once by the Tensor class, which is built on top of this module."""
    global _tensor_class, _wrap
    _tensor_class, _wrap = cls, wrap
    for name, function in METHODS.items():
        if name not in cls.__dict__:
            setattr(cls, name, function)


def attach(name: str, function: Callable[..., Any]) -> None:
    """Make ``function`` a method of Tensor, unless it has one of that name."""
    METHODS[name] = function
    if _tensor_class is not None and name not in _tensor_class.__dict__:
        setattr(_tensor_class, name, function)


def apply(op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """Run an op on Tensors, arrays and scalars, and record it. Without a Tensor among the operands: the plain result."""
    cls = _tensor_class
    if len(operands) == 1 and type(operands[0]) is cls:
        node = operands[0]._node or operands[0]._settle()
        nodes: Any = (node,)
        requires_grad, tracked = node.requires_grad, node.tracked
    else:
        requires_grad = tracked = False
        found = None
        nodes = []
        for x in operands:
            if type(x) is cls or isinstance(x, cls):
                node = x._node or x._settle()
                if found is None:
                    found = node
                if node.tracked:
                    tracked = True
                    if node.requires_grad:
                        requires_grad = True
                nodes.append(node)
            else:
                nodes.append(None)
        if found is None:
            return _plainly(op, operands, params)
        if None in nodes:
            like = found.value
            try:
                nodes = [constant(x, like) if n is None else n for n, x in zip(nodes, operands, strict=True)]
            except DTypeError:
                for i, x in enumerate(operands):
                    if nodes[i] is None:
                        _value(op, i, x)
                raise
        nodes = tuple(nodes)
    try:
        value = op.run(*[n.value for n in nodes], **params) if params or len(nodes) > 1 else op.run(nodes[0].value)
    except TensorvizError:
        raise
    except FAILURES as error:
        if op.foreign:
            raise
        raise explained(op, [n.value for n in nodes], params, error) from error
    extras: tuple[Any, ...] = ()
    if op.extras:
        value, extras = value
    return finish(op, nodes, params, value, requires_grad, tracked, extras, 2)


def finish(
    op: Op, nodes: tuple[Node, ...], params: dict[str, Any], value: Any, requires_grad: bool, tracked: bool, extras: tuple[Any, ...], depth: int
) -> Any:
    """The Tensor of a result; its node without operands where no graph is recorded. Plain stores: calls with many arguments cost three times as much."""
    frame: Any = sys._getframe(depth)
    while frame is not None and OURS[frame.f_globals.get("__name__")]:
        frame = frame.f_back
    mode = local.mode
    if type(value) is _ARRAY:
        if value.ndim == 0:
            value = value[()]
    node: Node = _make(Node)
    node.value = value
    node.uid = new_uid()
    node.scope = mode.scope
    node.rare = None
    if frame is None:
        node.code, node.lasti = None, -1
    else:
        node.code = frame.f_code
        node.lasti = frame.f_lasti
    if tracked and mode.enabled:
        if requires_grad:
            requires_grad = op.differentiable and value.dtype.kind == "f"
            if requires_grad and op.partial:
                requires_grad = any(n.requires_grad and rule is not None for n, rule in zip(nodes, op.vjps, strict=False))
        node.op = op
        node.inputs = nodes
        node.params = params
        node.requires_grad = requires_grad
        node.tracked = True
        node.same = same = requires_grad and op.broadcasts
        if same:
            shape, dtype = value.shape, value.dtype
            for n in nodes:
                if n.requires_grad and (n.value.shape != shape or n.value.dtype is not dtype):
                    node.same = False
                    break
            if _NUMPY_1 and not shape and dtype != _FLOAT:
                node.same = False  # a rule may widen a scalar there; fitting the share narrows it again
        if extras:
            node.more().extras = extras
    else:
        node.op, node.inputs, node.requires_grad, node.tracked, node.same = None, (), False, False, True
        node.params = {"made_by": op.name, "no_grad": True} if tracked else NO_PARAMS
    made = _make(_tensor_class)
    made._node = node
    made._hand = made._grad = made.trace = None
    made._retain = False
    return made


FAILURES = (ValueError, IndexError, TypeError, OverflowError)
"""What NumPy raises about operands and parameters that do not fit."""


def _plainly(op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """The result without a Tensor among the operands: lists become arrays, and what does not fit is refused in the same words."""
    values = [x if isinstance(x, _VALUES) else _value(op, i, x) for i, x in enumerate(operands)]
    try:
        result = op.run(*values, **params)
    except TensorvizError:
        raise
    except FAILURES as error:
        if op.foreign:
            raise
        raise explained(op, values, params, error) from error
    return result[0] if op.extras else result


def _value(op: Op, i: int, x: Any) -> Any:
    """What is neither array nor number, as an array; None stands for an operand that is left out."""
    if x is None and not op.variadic and op.slots[min(i, len(op.slots) - 1)] in defaults_of(op):
        return None
    where = f"{op.name}: operand {op.slot_name(i)}" if op.variadic or i < len(op.slots) else op.name
    array = numbers(x, where)
    check_dtype(array.dtype, where, x)
    return array


def _refused(op: Op, i: int, x: Any) -> DTypeError:
    """The error that names an operand which is no array of real numbers."""
    try:
        _value(op, i, x)
    except DTypeError as error:
        return error
    return DTypeError(f"{op.name}: operand {op.slot_name(i)} holds real numbers, got {shown(x)}")


def explained(op: Op, values: Sequence[Any], params: dict[str, Any], error: Exception) -> Exception:
    """The error of a forward rule, with the op, the shapes, the parameters and what to do."""
    if not op.variadic and not _least(op) <= len(values) <= len(op.slots):
        return DTypeError(f"{op.name} takes {len(op.slots)} operand(s) ({', '.join(op.slots)}), got {len(values)}")
    taken = _parameters(op.run)
    unknown = [k for k in params if k not in taken] if taken else list(params)
    if unknown and isinstance(error, TypeError):
        known = ", ".join(k for k in taken if k not in op.slots)
        return DTypeError(f"{op.name} takes no {', '.join(unknown)}={f'; it has {known}' if known else ''}")
    shapes = " and ".join(str(np.shape(v)) for v in values)
    given = ", ".join(text for k, v in params.items() if len(text := f"{k}={v!r}") <= 80)
    advice = f"; {op.advice}" if op.advice else ""
    text = f"{op.name}: operands of shape {shapes} do not fit{f' with {given}' if given else ''} ({error}){advice}"
    if isinstance(error, np.linalg.LinAlgError):
        return LinearAlgebraError(f"{op.name} of operands of shape {shapes}: {error}{advice}")
    if isinstance(error, OverflowError):
        large = next((f" {op.slot_name(i)}" for i, v in enumerate(values) if type(v) is int and v.bit_length() > 63), "")
        return NumberError(
            f"{op.name}: the number in operand{large} does not fit into the dtype of the others ({error}); give a float, or a smaller one"
        )
    if isinstance(error, TypeError):
        dtypes = " and ".join(str(getattr(v, "dtype", type(v).__name__)) for v in values)
        return DTypeError(f"{op.name}: operands of shape {shapes} and dtype {dtypes}{f' with {given}' if given else ''}: {error}{advice}")
    if isinstance(error, IndexError):
        return AxisError(text) if isinstance(error, ValueError) else IndexingError(text)
    return ShapeError(text)


_VALUES = (np.ndarray, np.generic, bool, int, float)
_FLOAT, _ARRAY, _make = np.float64, np.ndarray, object.__new__


def _binary(op: Op, *, reflected: bool) -> Callable[[Any, Any], Any]:
    """The method behind a Python operator: the same as :func:`apply`, written out for two operands."""
    forward, broadcasts, make = op.run, op.broadcasts, object.__new__
    plain = op.differentiable and not op.partial and not op.extras and op.joint is None
    equality = op.operators[0] in ("__eq__", "__ne__")

    def method(self: Any, other: Any) -> Any:
        a = self._node or self._settle()
        if type(other) is _tensor_class or isinstance(other, _tensor_class):
            b = other._node or other._settle()
        else:
            if other is None or isinstance(other, (str, dict, set)):
                if equality:
                    return NotImplemented  # Python then compares identities: nothing equals None
                raise _refused(op, 0 if reflected else 1, other)
            try:
                b = constant(other, a.value)
            except DTypeError:
                raise _refused(op, 0 if reflected else 1, other) from None
        if reflected:
            a, b = b, a
        x, y = a.value, b.value
        try:
            value = forward(x, y)
        except FAILURES as error:
            raise explained(op, (x, y), NO_PARAMS, error) from error
        frame = sys._getframe(1)
        mode = local.mode
        kind = type(value)
        if (
            not (plain and mode.enabled and (a.requires_grad or b.requires_grad))
            or (kind is not _FLOAT and (kind is not _ARRAY or value.ndim == 0 or value.dtype.kind != "f"))
            or (OURS[frame.f_globals.get("__name__")])
        ):
            return finish(op, (a, b), NO_PARAMS, value, a.requires_grad or b.requires_grad, a.tracked or b.tracked, (), 2)
        # what finish() does, for float results with a gradient: plain stores are faster than calls
        node: Node = make(Node)
        if kind is _FLOAT:
            node.same = (type(x) is _FLOAT or not a.requires_grad) and (type(y) is _FLOAT or not b.requires_grad)
        else:
            if broadcasts:
                shape, dtype = value.shape, value.dtype
                node.same = (not a.requires_grad or (x.shape == shape and x.dtype is dtype)) and (
                    not b.requires_grad or (y.shape == shape and y.dtype is dtype)
                )
            else:
                node.same = False
        node.op = op
        node.inputs = (a, b)
        node.params = NO_PARAMS
        node.value = value
        node.requires_grad = node.tracked = True
        node.uid = new_uid()
        node.code = frame.f_code
        node.lasti = frame.f_lasti
        node.scope = mode.scope
        node.rare = None
        made = make(_tensor_class)
        made._node = node
        made._hand = made._grad = made.trace = None
        made._retain = False
        return made

    method.__name__ = op.operators[1 if reflected else 0]
    method.__doc__ = op.__doc__
    return method


def _method(op: Op) -> Callable[..., Any]:
    def method(self: Any, *operands: Any, **params: Any) -> Any:
        return apply(op, (self, *operands), params)

    method.__name__ = op.name
    method.__doc__ = op.__doc__
    return method


def _inplace(op: Op) -> Callable[..., Any]:
    def method(self: Any, *operands: Any, **params: Any) -> Any:
        return self._replace(op, operands, params)

    method.__name__ = op.name
    method.__doc__ = f"In place: {op.__doc__ or op.name}"
    return method


def expose(*, numpy: Sequence[Any] = (), method: str | Sequence[str] = ()) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a public function answer for NumPy functions of the same signature and be a method of Tensor."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for f in numpy:
            FUNCTIONS[f] = function
        for name in (method,) if isinstance(method, str) and method else method:
            attach(name, function)
        return function

    return decorate
