"""What HIPS autograd offers, read off autograd itself, and what of it is not offered here, with the reason."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorviz.engine.op import FUNCTIONS, UFUNCS

COMPLEX = "its result is complex, and a Tensor holds real numbers"
NOT_OFFERED = {
    **{f"np.fft.{name}": COMPLEX for name in ("fft", "fft2", "fftn", "ifft", "ifft2", "ifftn", "rfft", "rfft2", "rfftn")},
    **{f"np.fft.{name}": "it takes a complex spectrum" for name in ("irfft", "irfft2", "irfftn")},
    "np.linalg.eig": COMPLEX,
}
"""Functions of NumPy for which autograd has a rule and we have none: they raise NoRuleError."""
if hasattr(np, "msort"):  # NumPy 1
    NOT_OFFERED["np.msort"] = "NumPy 2 removed it: np.sort(a, axis=0)"

_OF_AUTOGRAD = {"array_from_args", "concatenate_args", "make_diagonal", "_original_where", "_primitive_norm", "truncate_pad"}
"""Autograd's own helpers, which it keeps in its numpy namespaces."""


def differentiated() -> dict[str, Any]:
    """Every function of NumPy for which autograd has a gradient, by its full name; aliases once."""
    import autograd.numpy as anp
    from autograd.core import primitive_vjps

    return _numpys(((anp, np, "np."), (anp.linalg, np.linalg, "np.linalg."), (anp.fft, np.fft, "np.fft.")), set(primitive_vjps))


def constant() -> dict[str, Any]:
    """Every function of NumPy that autograd takes to be constant."""
    import autograd.numpy as anp
    from autograd.tracer import notrace_primitives

    return _numpys(((anp, np, "np."),), set().union(*notrace_primitives.values()))


def _numpys(namespaces: Any, kept: set[Any]) -> dict[str, Any]:
    found = {}
    for theirs, numpy, path in namespaces:
        for name in dir(theirs):
            function = getattr(theirs, name)
            if callable(function) and _hashable(function) and function in kept and name not in _OF_AUTOGRAD:
                original = getattr(numpy, name)
                found[f"{path}{original.__name__}"] = original
    return dict(sorted(found.items()))


def _hashable(x: Any) -> bool:
    try:
        hash(x)
    except TypeError:
        return False
    return True


def is_offered(function: Any) -> bool:
    """Whether NumPy's function, called with a Tensor, is ours."""
    return function in UFUNCS or function in FUNCTIONS
