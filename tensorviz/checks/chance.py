"""The global sources of random numbers, which a check leaves as they were: a program draws the same with it as without."""

from __future__ import annotations

import random
from collections.abc import Generator
from contextlib import contextmanager

import numpy as np


@contextmanager
def undrawn() -> Generator[None, None, None]:
    """NumPy's and Python's as they were, whatever is drawn from them inside."""
    numpys, pythons = np.random.get_state(), random.getstate()  # noqa: NPY002 - it is the user's legacy state that is protected
    try:
        yield
    finally:
        np.random.set_state(numpys)  # noqa: NPY002
        random.setstate(pythons)
