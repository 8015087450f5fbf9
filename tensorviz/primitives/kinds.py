"""Which ops are primitives, by family. Imports nothing of ours."""

from __future__ import annotations

MOVEMENT = frozenset(["reshape", "permute", "pad_zeros", "shrink", "shrink_at", "stack_front", "index", "index_at", "stage", "expand"])
"""Names of the ops that move elements; those with a longer name than their function share it with an op that broadcasts or takes an axis."""

REDUCTION = frozenset(["reduce_add", "reduce_max", "reduce_mul"])

FUNCTIONS = frozenset(
    [
        *(
            "abs",
            "arccos",
            "arccosh",
            "arcsin",
            "arcsinh",
            "arctan",
            "arctanh",
            "cbrt",
            "ceil",
            "cos",
            "cosh",
            "deg2rad",
            "erf",
            "exp",
            "exp2",
            "expm1",
        ),
        *("floor", "log", "log10", "log1p", "log2", "neg", "rad2deg", "reciprocal", "rint", "round", "sigmoid", "sign", "sin", "sinc", "sinh"),
        *("softplus", "sqrt", "square", "tan", "tanh", "trunc"),
    ]
)
"""Functions of one number, applied to every element; their gradients are made of functions of the same family."""

PAIRS = frozenset(
    [
        "add",
        "arctan2",
        "div",
        "floor_divide",
        "fmax",
        "fmod",
        "fmin",
        "hypot",
        "logaddexp",
        "logaddexp2",
        "max_of_two",
        "maximum",
        "minimum",
        "mod",
        "mul",
        "pow",
        "sub",
    ]
)
"""Functions of two numbers, applied to elements of one place; as primitives their operands have one shape."""

TESTS = frozenset(
    [
        *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "bitwise_and", "bitwise_or", "bitwise_xor"),
        *("logical_and", "logical_or", "logical_xor", "invert", "logical_not", "isnan", "isinf", "isfinite", "signbit", "stop"),
    ]
)
"""Comparisons, tests and what is taken as constant: they carry no gradient."""

ELEMENTWISE = FUNCTIONS | PAIRS | TESTS | {"astype", "where"}
PRIMITIVES = MOVEMENT | REDUCTION | ELEMENTWISE
"""The names of all of them, as they stand in a record."""


def is_primitive(op: str) -> bool:
    """Whether an op of that name is one of the primitives. An elementwise op counts as one where its operands have one shape.

    >>> is_primitive("permute"), is_primitive("matmul")
    (True, False)
    """
    return op in PRIMITIVES
