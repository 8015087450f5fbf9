"""The examples in the docstrings run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from tensorviz import teaching


@pytest.mark.parametrize("name", [m.name for m in pkgutil.walk_packages(teaching.__path__, "tensorviz.teaching.")])
def test_the_examples_run(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0
