"""Nodes that were made in a notebook's cell under ``%%time`` have their lines and names, too."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

SESSION = """
import json
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
for cell in CELLS:
    shell.run_cell(cell, store_history=True)
told = {}
for name in ("t", "u", "v", "w"):
    trace = shell.user_ns[name]
    places = [None if n.source is None else [n.source.file, n.source.line, n.source.expression] for n in trace.nodes]
    told[name] = {"names": [n.name for n in trace.nodes], "places": places, "texts": trace.data.sources}
print("\\n" + json.dumps(told))
"""
FIRST = "import numpy as np, tensorviz as tv\nx = tv.tensor([1.0, 2.0], requires_grad=True)"
SECOND = "%%time\n\nh = np.sin(x)\ndef f(a):\n    b = np.exp(a)\n    return b\nq = f(h)\nt = (q * h).sum().backward()\nt"
THIRD = "%%time\nu = f(x).sum().backward()"
LINE = "é = 1\nif é:\n    %time é; k = np.sin(x)\nw = (k * 2).sum().backward()"
BROKEN = ["%%time\nif x:\n        y = 1\n    z = 2", "%%time\nf(("]
"""Entered later, so that they are looked at first."""
LAST = "%%time\nnp.cos(x).sum().backward()"


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    pytest.importorskip("IPython")
    cells = [FIRST, SECOND, THIRD, LAST, "v = _", LINE, *BROKEN]
    away = {**os.environ, "IPYTHONDIR": str(tmp_path_factory.mktemp("ipython"))}
    script = f"CELLS = {cells!r}{SESSION}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=away, timeout=60, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def test_a_timed_cell_is_called_by_its_number_and_its_lines_count_from_the_magic(told):
    assert told["t"]["texts"]["cell [2]"] == SECOND + "\n"
    assert told["t"]["places"][1:] == [
        ["cell [2]", 3, "np.sin(x)"],
        ["cell [2]", 5, "np.exp(a)"],
        ["cell [2]", 8, "q * h"],
        ["cell [2]", 8, "(q * h).sum()"],
    ]


def test_assignments_in_a_timed_cell_name_their_values(told):
    assert told["t"]["names"][:3] == ["x", "h", "q"]
    assert told["u"]["names"][:2] == ["x", "b"]


def test_a_function_of_an_earlier_timed_cell_keeps_its_place_there(told):
    assert told["u"]["places"][1:] == [["cell [2]", 5, "np.exp(a)"], ["cell [3]", 2, "f(x).sum()"]]
    assert {"cell [2]", "cell [3]"} <= set(told["u"]["texts"])


def test_a_cell_of_one_expression_is_found_as_well(told):
    assert told["v"]["places"][1:] == [["cell [4]", 2, "np.cos(x)"], ["cell [4]", 2, "np.cos(x).sum()"]]


def test_a_line_that_is_timed_is_the_line_of_its_cell(told):
    assert told["w"]["places"][1] == ["cell [6]", 3, "np.sin(x)"]
    assert told["w"]["names"][1] == "k"
    text = told["w"]["texts"]["cell [6]"].splitlines()
    assert (len(text), text[1], text[3]) == (4, "if é:", "w = (k * 2).sum().backward()")
    assert "np.sin(x)" in text[2]
