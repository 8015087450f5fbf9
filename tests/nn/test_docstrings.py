"""The examples in the docstrings run, and every public name has one."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from tensorviz import nn, optim

MODULES = [f"{p.__name__}.{m.name}" for p in (nn, optim) for m in pkgutil.iter_modules(p.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_run(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("part", [nn, optim], ids=["nn", "optim"])
def test_every_public_name_is_described_and_shown(part):
    for name in part.__all__:
        doc = getattr(part, name).__doc__
        assert doc, name
        assert ">>>" in doc or name in ("Optimizer", "Schedule"), name
