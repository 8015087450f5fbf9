"""How a backward rule gets what it asks for: the names in it are looked up once, and a function that fetches exactly those is written out. Knows no op."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tensorviz.engine.node import Node
    from tensorviz.engine.op import Op

Rule = Callable[..., Any]
"""A function of ``g`` and of what it names in its parameters."""

_REQUIRED: Any = object()


def function_of(op: Op, attribute: str) -> Any:
    """A rule as a plain function (a function in a class body would bind)."""
    for cls in type(op).__mro__:
        if attribute in cls.__dict__:
            found = cls.__dict__[attribute]
            return found.__func__ if isinstance(found, staticmethod) else found
    return None


def forward_of(op: Op) -> Callable[..., Any]:
    """The forward rule as a plain function."""
    found: Callable[..., Any] = function_of(op, "forward")
    return found


_POSITIONAL = (np.ufunc, type(len), type(np.where))
"""Functions written in C, which as forward rules get operands alone; asking ``inspect`` for their parameters takes longer than all else of an import."""


@cache
def parameters(function: Callable[..., Any]) -> dict[str, Any]:
    """The parameters of a function and their defaults; none for a ufunc. Read off the code object, since an import asks for hundreds."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    if code is not None:
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        given = getattr(function, "__defaults__", None) or ()
        defaults = dict(zip(names[code.co_argcount - len(given) : code.co_argcount], given, strict=True))
        defaults |= getattr(function, "__kwdefaults__", None) or {}
        return {name: defaults.get(name, _REQUIRED) for name in names}
    if isinstance(function, _POSITIONAL):
        return {}
    from inspect import signature

    try:
        return {p.name: _REQUIRED if p.default is p.empty else p.default for p in signature(function).parameters.values()}
    except (ValueError, TypeError):
        return {}


def defaults_of(op: Op) -> dict[str, Any]:
    """The parameters of an op that have a default."""
    return {name: default for name, default in parameters(op.run).items() if default is not _REQUIRED}


NAME = r"(?<![\w.])[A-Za-z_]\w*"
"""A name, but no attribute: ``np`` in ``np.log``."""
_SHARE = "share"
_GIVEN = ("g", "np", _SHARE)


def names_in(rule: Rule | str | None) -> tuple[str, ...]:
    """The names that a rule (a function or an expression) asks for, without ``g``.

    >>> names_in("g * b"), names_in(lambda g, a, axis: g)
    (('b',), ('a', 'axis'))
    """
    if rule is None:
        return ()
    if isinstance(rule, str):
        return tuple(dict.fromkeys([n for n in re.findall(NAME, rule) if n not in _GIVEN]))
    return tuple(parameters(rule))[1:]


def least(op: Op) -> int:
    """How many operands an op has at least: trailing slots whose forward parameter has a default may be left out."""
    defaults = defaults_of(op)
    return sum(1 for s in op.slots if s not in defaults)


def compile_when_used(op: Op) -> None:
    """Most ops of a session are never pulled; the first pull of one compiles its rules."""
    made: dict[bool, Any] = {}

    def compiled(recorded: bool) -> Any:
        if recorded not in made:
            made[recorded] = _compile(op, recorded=recorded)
        return made[recorded]

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


def _compile(op: Op, *, recorded: bool) -> Any:
    """The function that fetches what each rule asks for and calls it: written out once, so that a pass spends no time on looking up."""
    writer = _Writer(op, recorded)
    names: dict[str, Any] = {f"rule{i}": rule for i, rule in enumerate(op.vjps)}
    names |= {"joint": function_of(op, "joint"), "np": np, "shape": np.shape, "dtype": np.result_type, "default": writer.default}
    arguments = "node, g, wrap, extras" if recorded else "node, g"
    lines = [f"def pull({arguments}):", writer.unpacking(), *writer.direct(), *writer.shortcut(), f"return {writer.shares(op.vjps)}"]
    text = "\n    ".join(lines)
    exec(compile(text, f"<rule of {op.name}>", "exec"), names)  # noqa: S102 - text made from our own rules and checked identifiers alone
    return names["pull"]


class _Writer:
    """Writes the source of one op's ``pull``: what each rule asks for is fetched where it is; a rule that is an expression stands there as it is."""

    def __init__(self, op: Op, recorded: bool) -> None:
        self.op = op
        self.recorded = recorded
        self.value = "wrap({})" if recorded else "{}.value"
        self.extras = "extras" if recorded else "node.extras"
        self.least = len(op.slots) if op.variadic else least(op)
        self.default = defaults_of(op)

    def unpacking(self) -> str:
        """The statement that names the operands ``n0``, ``n1``, ...; those left out are None."""
        op = self.op
        if op.variadic or op.joint is not None:
            return "inputs = node.inputs"
        named = ", ".join([f"n{i}" for i in range(len(op.slots))]) + ","
        if self.least == len(op.slots):
            return ["n0 = node.a", "n0 = node.a; n1 = node.b"][len(op.slots) - 1] if len(op.slots) < 3 else f"{named} = node.inputs"
        return f"inputs = node.inputs; {named} = inputs + (None,) * ({len(op.slots)} - len(inputs))"

    def direct(self) -> list[str]:
        """Lines for the arrays of which an op's rules are written down once more."""
        if self.recorded or not self.op.direct:
            return []
        condition, *vjps = self.op.direct
        return [f"if {self.call(condition, '', '0')}:", f"    return {self.shares(vjps)}"]

    def shortcut(self) -> list[str]:
        """Lines for two slots that share work: for ``x * x`` where the rules are mirror images, and where one rule is a part of the other."""
        op = self.op
        if len(op.slots) != 2 or not all(isinstance(rule, str) and names_in(rule) for rule in op.vjps):
            return []
        first, second = str(op.vjps[0]), str(op.vjps[1])
        swapped = dict(zip(op.slots, reversed(op.slots), strict=True))
        share = f"    share = {self.call(first, 'rule0', '0')}"
        if re.sub(NAME, lambda m: swapped.get(m[0], m[0]), first) == second:
            return ["if n0 is n1:", share, "    return share, share"]
        if f"({first})" in second:
            rest = self.call(second.replace(f"({first})", _SHARE), "rule1", "1")
            return ["if n0.needs_grad and n1.needs_grad:", share, f"    return share, {rest}"]
        return []

    def shares(self, vjps: Sequence[Rule | str | None]) -> str:
        """The expression for the tuple of shares, None where an operand needs none."""
        op = self.op
        cut = "" if self.least == len(op.slots) else "[: len(inputs)]"
        if op.joint is not None:
            return self.call(function_of(op, "joint"), "joint", "0") + cut
        if op.variadic:
            return f"tuple([{self.call(vjps[0], 'rule0', 'i')} if n.needs_grad else None for i, n in enumerate(inputs)])"
        parts = []
        for i, rule in enumerate(vjps):
            if rule is None:
                parts.append("None")
            elif len(op.slots) == 1:
                parts.append(self.call(rule, "rule0", "0"))
            else:
                need = f"n{i}.needs_grad" if i < self.least else f"n{i} is not None and n{i}.needs_grad"
                parts.append(f"({self.call(rule, f'rule{i}', str(i))} if {need} else None)")
        return f"({', '.join(parts)},)" + cut

    def call(self, rule: Rule | str | None, called: str, slot: str) -> str:
        """The expression for one rule's share."""
        if isinstance(rule, str):
            return re.sub(NAME, lambda m: m[0] if m[0] in _GIVEN else self.fetch(m[0], slot), rule)
        return f"{called}({', '.join(['g', *(self.fetch(n, slot) for n in names_in(rule))])})"

    def fetch(self, name: str, slot: str) -> str:
        """The expression for what a rule calls ``name``."""
        op = self.op
        of_all = {
            "out": self.value.format("node"),
            "slot": slot,
            "inputs": "tuple([" + self.value.format("n") + " for n in inputs])",
            "others": f"tuple([None if j == {slot} else " + self.value.format("n") + " for j, n in enumerate(inputs)])",
            "shapes": "tuple([shape(n.value) for n in inputs])",
            "need": "tuple([n.needs_grad for n in inputs])",
        }
        if name in of_all:
            return of_all[name]
        if name in op.extras:
            return f"{self.extras}[{op.extras.index(name)}]"
        if name in op.slots:
            return self.operand(op.slots.index(name), self.value)
        for kind in ("shape", "dtype"):
            if name.endswith(f"_{kind}") and name.removesuffix(f"_{kind}") in op.slots:
                i = op.slots.index(name.removesuffix(f"_{kind}"))
                # what a share goes to is an array or a NumPy scalar; another operand may be a Python number
                return self.operand(i, f"{{}}.value.{kind}" if str(i) == slot and op.joint is None else f"{kind}({{}}.value)")
        return f"node.params.get({name!r}, default[{name!r}])" if name in self.default else f"node.params[{name!r}]"

    def operand(self, i: int, form: str) -> str:
        """The expression for something of the operand in slot ``i``; None where it was left out."""
        node = f"inputs[{i}]" if self.op.joint is not None else f"n{i}"
        fetched = form.format(node)
        if i < self.least:
            return fetched
        there = f"len(inputs) > {i}" if self.op.joint is not None else f"{node} is not None"
        return f"({fetched} if {there} else None)"
