"""The lines of a record are those that ran, also where a file was changed, and read again or not, since it was imported."""

from __future__ import annotations

import importlib
import linecache
import os
import subprocess
import sys
import zipfile

import pytest

import tensorviz as tv

HEAD = "import numpy as np\nimport tensorviz as tv\n\n\n"
FIRST = f"""{HEAD}class Net:
    def __init__(self):
        self.w = tv.tensor([1.0, 2.0], requires_grad=True)

    def loss(self):
        h = np.sin(self.w)
        return (h * h).sum()
"""
SECOND = "# One line more.\n" + FIRST.replace("np.sin(self.w)", "np.cos(2.0 *\n            self.w)")


def places(trace, file):
    """Of each op of the file: the line, and its expression without line ends."""
    made = [n for n in trace.nodes if n.source is not None and n.source.file.startswith(str(file))]
    return {n.op: (n.source.line, "".join(map(str.strip, n.source.expression.splitlines()))) for n in made if not n.is_leaf}


@pytest.fixture
def write(tmp_path, monkeypatch):
    """``write(text)`` makes the module's file anew, a second after the last time."""
    file, seconds = tmp_path / "edited.py", 0
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write_(text):
        nonlocal seconds
        file.write_text(text)
        seconds += 1
        stamp = file.stat().st_mtime + seconds
        os.utime(file, (stamp, stamp))
        return file

    yield write_
    sys.modules.pop("edited", None)


@pytest.mark.parametrize("looked", [True, False], ids=["looked at before", "never looked at before"])
def test_a_module_that_was_edited_and_reloaded_shows_its_new_lines_and_names(write, looked):
    file = write(FIRST)
    edited = importlib.import_module("edited")
    before = edited.Net().loss().backward()
    if looked:
        assert places(before, file)["sin"] == (10, "np.sin(self.w)")
    write(SECOND)
    importlib.reload(edited)
    after = edited.Net().loss().backward()
    assert places(after, file)["cos"] == (11, "np.cos(2.0 *self.w)")
    assert places(after, file)["sum"] == (13, "(h * h).sum()")
    assert after["h"].op == "cos"
    assert after.sources[str(file)] == SECOND
    if looked:
        assert places(before, file)["sin"] == (10, "np.sin(self.w)")


def test_code_that_runs_on_while_its_file_was_edited_shows_no_line_of_the_new_text(write):
    file = write(FIRST)
    edited = importlib.import_module("edited")
    write(SECOND)
    trace = edited.Net().loss().backward()
    assert {n.source.code for n in trace.nodes if n.op in ("sin", "mul")} == {""}
    assert [n.source.line for n in trace.nodes if n.op == "sin"] == [10]
    assert str(file) not in trace.sources or trace.sources[str(file)] == SECOND


def test_a_function_that_the_edit_only_moved_is_found_where_it_stands_now(write):
    file = write(FIRST)
    edited = importlib.import_module("edited")
    write("# One\n# or two lines more.\n" + FIRST)
    assert places(edited.Net().loss().backward(), file)["sin"] == (12, "np.sin(self.w)")


def test_a_parameter_made_by_the_text_before_the_edit_says_so(write):
    file = write(FIRST)
    edited = importlib.import_module("edited")
    net = edited.Net()
    places(net.loss().backward(), file)
    write(SECOND.replace("[1.0, 2.0]", "[1.0, 2.0] * 1"))
    importlib.reload(edited)
    net.__class__ = edited.Net
    trace = net.loss().backward()
    made = trace["w"].source
    assert (made.file, made.line, made.expression) == (f"{file} (older version)", 7, "tv.tensor([1.0, 2.0], requires_grad=True)")
    assert set(trace.sources) == {f"{file} (older version)", str(file)}
    assert places(trace, file)["sum"] == (13, "(h * h).sum()")


def test_a_file_that_another_tool_has_read_again_changes_nothing(write):
    file = write(FIRST)
    edited = importlib.import_module("edited")
    net = edited.Net()
    first = net.loss().backward()
    assert places(first, file)["sin"] == (10, "np.sin(self.w)")
    write(SECOND)
    linecache.checkcache()  # as with every traceback
    assert places(net.loss().backward(), file)["sin"] == (10, "np.sin(self.w)")


def test_code_in_an_archive_shows_its_lines(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as archive:
        archive.writestr("packed.py", FIRST)
    monkeypatch.syspath_prepend(tmp_path / "app.zip")
    try:
        trace = importlib.import_module("packed").Net().loss().backward()
        assert places(trace, tmp_path / "app.zip")["sin"] == (10, "np.sin(self.w)")
        assert trace["h"].op == "sin"
    finally:
        sys.modules.pop("packed", None)


def test_a_method_on_a_line_of_its_own_gives_its_result_the_name_that_it_is_assigned_to():
    def chain(x):
        h = (
            (x * 2.0)
            .sin()
            .reshape(
                2,
            )
        )
        k = (h *
             h).sum()  # fmt: skip
        return k + 0.0

    trace = chain(tv.tensor([1.0, 2.0], requires_grad=True)).backward()
    assert {trace["h"].op, trace["k"].op} == {"reshape", "sum"}


RELOADED = """
import os, time
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
def run(cell):
    shell.run_cell(cell, store_history=True).raise_error()
def write(text):
    open("edited.py", "w").write(text)
    os.utime("edited.py", (time.time() + len(text), time.time() + len(text)))

write(FIRST)
run("%load_ext autoreload\\n%autoreload 2\\nfrom edited import Net\\nnet = Net()\\nnet.loss().backward().nodes")
write(SECOND)
run("trace = net.loss().backward()")
for n in shell.user_ns["trace"].nodes:
    print(n.op, n.name, n.source and [n.source.line, n.source.function, n.source.expression.split()])
"""


def test_a_method_that_autoreload_has_exchanged_shows_its_line_in_the_file(tmp_path):
    pytest.importorskip("IPython")
    script = f"FIRST = {FIRST!r}\nSECOND = {SECOND!r}\n{RELOADED}"
    away = {**os.environ, "IPYTHONDIR": str(tmp_path / "ipython"), "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=away, cwd=tmp_path, timeout=60, check=True)
    lines = done.stdout.splitlines()
    assert "cos h [11, 'Net.loss', ['np.cos(2.0', '*', 'self.w)']]" in lines
    assert "leaf w [7, 'Net.__init__', ['tv.tensor([1.0,', '2.0],', 'requires_grad=True)']]" in lines
