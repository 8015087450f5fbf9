"""The base class of ops and their registry: one class holds everything about an op, the rest is derived. Knows no particular op."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from tensorviz.engine.calls import Call, frame
from tensorviz.engine.graph import NUMPY_1
from tensorviz.engine.late import load_all
from tensorviz.engine.node import Node
from tensorviz.engine.operators import method_of, operator
from tensorviz.engine.rules import Rule, compile_when_used, defaults_of, forward_of, function_of, names_in, parameters
from tensorviz.engine.run import METHODS, Plan, apply, attach, inplace, plan_of
from tensorviz.errors import OpDefinitionError

__all__ = [
    "ACCUMULATIONS",
    "FUNCTIONS",
    "METHODS",
    "REDUCTIONS",
    "REGISTRY",
    "UFUNCS",
    "UFUNC_METHODS",
    "Call",
    "Op",
    "apply",
    "attach",
    "defaults_of",
    "expose",
    "forward_of",
    "frame",
    "register",
]


class _Registry(dict[str, "Op"]):
    """Ops by name. Most programs need few of them; the rest is loaded when somebody asks for a name that is not there yet, or for all names."""

    def __missing__(self, name: str) -> Op:
        load_all()
        return dict(self)[name]  # a plain one, which refuses what is still not there

    def __contains__(self, name: object) -> bool:
        return dict.__contains__(self, name) or (load_all() and dict.__contains__(self, name))

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default

    def __iter__(self) -> Iterator[str]:
        load_all()
        return super().__iter__()

    def __len__(self) -> int:
        load_all()
        return super().__len__()

    def keys(self) -> Any:
        load_all()
        return super().keys()

    def values(self) -> Any:
        load_all()
        return super().values()

    def items(self) -> Any:
        load_all()
        return super().items()


REGISTRY: dict[str, Op] = _Registry()
"""Every op by name."""
UFUNCS: dict[Any, Op] = {}
"""NumPy's ufuncs to ops, for ``np.tanh(x)``."""
REDUCTIONS: dict[Any, Callable[..., Any]] = {}
"""NumPy's ufuncs to what their ``.reduce`` means, for ``np.add.reduce(x)``."""
ACCUMULATIONS: dict[Any, Callable[..., Any]] = {}
"""NumPy's ufuncs to what their ``.accumulate`` means, for ``np.add.accumulate(x)``."""
UFUNC_METHODS: dict[str, Callable[..., Any]] = {}
"""Methods of any ufunc to what they mean, the ufunc first: for ``np.add.at(x, i, v)``, and those of the two tables above for ufuncs that are not in them."""
FUNCTIONS: dict[Any, Callable[..., Any]] = {}
"""NumPy's functions to ours of the same signature, for ``np.sum(x, axis=0)``."""


class Op:
    """One operation. A subclass *is* the op: defining it registers it; an incomplete one is refused there and then.

    A rule (an entry of ``vjps``) is a plain function of ``g``, the gradient of the result, and of the things that it
    names in its parameters, or, where one expression says it, the text of that expression (``"g * b"``: the pass runs it without a call).
    The names decide what is saved:

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
    vjps: ClassVar[tuple[Rule | str | None, ...]] = ()
    """One rule per slot; None where the operand has no gradient (an index, a condition). A variadic op has one for all."""
    joint: ClassVar[Rule | None] = None
    """Instead of ``vjps``: one rule ``(g, need, ...)`` for all slots, where they share work; it returns a tuple."""
    formulas: ClassVar[tuple[str, ...]] = ()
    """What each rule computes, in the slots' names: ``("g * b", "g * a")``; the rules themselves where all of them are expressions."""
    extras: ClassVar[tuple[str, ...]] = ()
    """Names of the values that ``forward`` returns beside the result, for the rule."""
    routes: ClassVar[tuple[Rule | None, ...]] = ()
    """For an op that selects: per slot the weights in [0, 1] of the operand's elements; parameters as in a rule, without ``g``."""
    differentiable: ClassVar[bool] = True
    """False: the result carries no gradient (a comparison, an index)."""
    broadcasts: ClassVar[bool] = False
    """Operands are broadcast against each other, so shares may have to be summed."""
    elementwise: bool = False
    """Each element of the result comes from one of each operand, so an operand of the result's shape gets a share of that shape. Every ufunc is."""
    expression: ClassVar[str] = ""
    """The same as ``forward``, in the names of slots, parameters and the op's own module (``"a * b"``): where it stands in the place of a call, that is saved."""
    exact: ClassVar[str] = ""
    """Whether, for these operands' arrays, every rule returns its share in the operand's own shape and in the result's dtype: an expression in the slots' names, such as ``"a.ndim"``.
    Empty: never sure, so each is looked at."""
    direct: ClassVar[tuple[str, ...]] = ()
    """The rules once more, for arrays of which the condition before them holds: expressions, which take a call less."""
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
    plan: Plan
    call: Call
    """The op without parameters."""
    foreign: bool = False
    """Forward is the user's own function: what it raises is not NumPy's word about the operands, and stays as it is."""
    partial: bool = False
    """Some slots have no rule, so whether the result requires a gradient depends on which operands do."""
    pull_recorded: Callable[[Node, Any, Callable[[Node], Any], tuple[Any, ...]], tuple[Any, ...]]
    """The same from Tensors: ``pull_recorded(node, g, wrap, extras)``."""

    @property
    def pull(self) -> Callable[[Node, Any], tuple[Any, ...]]:
        """``pull(node, g)``: one share per slot (None where none is needed), from arrays."""
        return self.plan.pull

    @pull.setter
    def pull(self, rule: Callable[[Node, Any], tuple[Any, ...]]) -> None:
        plan = self.plan
        plan.pull = plan.sure.pull = plan.huge.pull = plan.rows.pull = rule

    def __init_subclass__(cls, abstract: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not abstract:
            register(cls())

    def __call__(self, *operands: Any, **params: Any) -> Any:
        if params or len(operands) != len(self.slots):
            return apply(self, operands, params)
        return self.call.run(frame(1), *operands)

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
            if not inp.needs_grad:
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


_VALUES = ("out", "inputs", "others")
_KNOWN = (*_VALUES, "slot", "shapes", "need")
"""What any rule may ask for."""


def _describes(wanted: str, op: Op) -> bool:
    """Whether a name is that of a slot's shape or dtype."""
    slot, _, what = wanted.rpartition("_")
    return what in ("shape", "dtype") and any(slot == s.lstrip("*") for s in op.slots)


def register(op: Op) -> None:
    """Check that an op is complete, derive what it saves and how it is pulled back, and make it known."""
    cls = type(op)
    where = f"op {op.name or cls.__name__!r}"

    def refuse(what: str) -> None:
        raise OpDefinitionError(f"{where}: {what}")

    if not op.name or not op.name.isidentifier():
        refuse("needs a name that is a Python identifier")
    # ours have names of their own; another's may be that of one that is not loaded yet
    if op.name in REGISTRY if not cls.__module__.startswith("tensorviz.") else dict.__contains__(REGISTRY, op.name):
        refuse("is defined already; ops are known by name, choose another")
    if not op.slots:
        refuse("needs slots, the names of its operands")
    if not hasattr(cls, "forward"):
        refuse("needs a forward rule")
    if NUMPY_1:
        cls.forward = staticmethod(_narrowed(forward_of(op)))
    op.run = forward_of(op)
    op.partial = None in op.vjps and op.joint is None
    op.elementwise = op.elementwise or any(u.signature is None for u in op.ufuncs)
    op.variadic = op.slots[0].startswith("*")
    count = 1 if op.variadic else len(op.slots)
    if op.differentiable:
        texts = tuple([rule for rule in op.vjps if isinstance(rule, str)])
        if not op.formulas and len(texts) == len(op.vjps):
            cls.formulas = texts
        if op.joint is None and len(op.vjps) != count:
            refuse(f"has {len(op.slots)} slot(s) but {len(op.vjps)} rule(s); give one per slot, None where the operand has no gradient")
        rules = (function_of(op, "joint"),) if op.joint is not None else op.vjps
        if len(op.formulas) != count:
            refuse(f"needs one formula per slot ({count}), has {len(op.formulas)}")
        if not op.word:
            refuse("needs a word that says what it does with a gradient")
        params = parameters(op.run)
        asked = [names_in(rule) for rule in rules]
        for names in asked:
            for wanted in names:
                if (
                    wanted not in _KNOWN
                    and wanted not in op.slots
                    and wanted not in op.extras
                    and wanted not in params
                    and not _describes(wanted, op)
                ):
                    refuse(f"a rule asks for {wanted!r}, which is no slot, no extra, no parameter of forward and not `out`")
        op._reads = tuple([tuple([n for n in names if n in op.slots or n in op.extras or n in _VALUES]) for names in asked])
        op.saves = tuple(dict.fromkeys([n for names in op._reads for n in names]))
    op.plan = plan_of(op)
    op.call = Call(op)
    if op.differentiable:
        compile_when_used(op)
    if op.routes and len(op.routes) != count:
        refuse(f"needs one route per slot ({count}), has {len(op.routes)}")
    REGISTRY[op.name] = op
    for ufunc in op.ufuncs:
        UFUNCS[ufunc] = op
    for name in op.methods:
        attach(name, method_of(op))
    for i, name in enumerate(op.operators):
        attach(name, operator(op, reflected=i == 1) if len(op.slots) == 2 else method_of(op))
    for name in op.inplace:
        attach(name, inplace(op))


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


def expose(*, numpy: Sequence[Any] = (), method: str | Sequence[str] = ()) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a public function answer for NumPy functions of the same signature and be a method of Tensor."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for f in numpy:
            FUNCTIONS[f] = function
        for name in (method,) if isinstance(method, str) and method else method:
            attach(name, function)
        return function

    return decorate
