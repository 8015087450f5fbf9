"""The command line runs a program as it is and shows the pass that it made."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tensorviz.cli import main

SCRIPT = """\
import sys
import numpy as np
import tensorviz as tv

def loss_of(x):
    return np.sum(np.tanh(x) ** 2)

if __name__ == "__main__":
    x = tv.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(3):
        loss = loss_of(x)
        loss.backward()
    print("arguments", sys.argv[1:])
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    return path


def test_svg_draws_the_last_pass_beside_the_caller(script, tmp_path, capsys):
    assert main(["svg", str(script)]) == 0
    assert (tmp_path / "train.svg").read_text().startswith("<svg")
    assert capsys.readouterr().out.splitlines()[-1] == "train.svg"


def test_arguments_after_two_dashes_reach_the_script(script, capsys):
    assert main(["check", str(script), "--", "--fast", "7"]) == 0
    assert "arguments ['--fast', '7']" in capsys.readouterr().out


def test_html_of_a_chosen_pass_goes_to_standard_output(script, capsys):
    assert main(["html", str(script), "--number", "1", "-o", "-"]) == 0
    assert "<!doctype html>" in capsys.readouterr().out.lower()


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_an_output_of_an_old_code_page_gets_escapes_for_what_it_cannot_hold_and_pages_in_utf_8(script, encoding):
    script.write_text(SCRIPT.replace("loss = loss_of(x)", "x.name = 'wéight λ'; loss = loss_of(x)"), encoding="utf-8")
    found = []
    for arguments in (["check", script], ["svg", script, "-o", "-"], ["demo", "--text"]):
        away = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
        done = subprocess.run([sys.executable, "-m", "tensorviz", *arguments], capture_output=True, env=away, timeout=60)
        assert done.returncode == 0, done.stderr.decode()
        found.append(done.stdout)
    assert "\\u03bb" in found[0].decode(encoding)
    assert "wéight λ" in found[1].decode("utf-8")
    assert "\\u2202" in found[2].decode(encoding)


def test_check_prints_the_verdicts_and_succeeds(script, capsys):
    assert main(["check", str(script)]) == 0
    assert "ok" in capsys.readouterr().out


def test_passes_that_keep_no_record_are_shown_like_any_other(script, tmp_path, capsys):
    script.write_text(SCRIPT.replace("loss.backward()", "assert loss.backward(record=False) is None"))
    assert main(["svg", str(script), "-o", "-"]) == 0
    assert ">x<" in capsys.readouterr().out
    assert main(["check", str(script), "--number", "3"]) == 0


def test_check_fails_with_status_1_where_a_rule_is_wrong(tmp_path, capsys):
    path = tmp_path / "wrong.py"
    path.write_text(
        "import tensorviz as tv\n"
        "cube = tv.custom_op('cube', lambda x: x**3, lambda g, x: (g * 2 * x**2,))\n"
        "cube(tv.tensor(2.0, requires_grad=True)).backward()\n"
    )
    assert main(["check", str(path)]) == 1
    assert "cube" in capsys.readouterr().out


def test_check_tells_which_parameter_got_no_gradient_that_could_be_checked(tmp_path, capsys):
    path = tmp_path / "cut.py"
    path.write_text(
        "import tensorviz as tv\n"
        "a = tv.tensor([1.0, 2.0], requires_grad=True)\n"
        "w = tv.tensor([3.0, 4.0], requires_grad=True)\n"
        "cut = (w * 2).detach()\n"
        "(a * cut).sum().backward()\n"
    )
    assert main(["check", str(path)]) == 0
    told = capsys.readouterr().out
    assert "w requires a gradient and got none: the path is cut at detach, in line 4" in told and "cut.py:4" in told
    path.write_text(path.read_text().replace(".detach()", ""))
    assert main(["check", str(path)]) == 0
    assert "got none" not in capsys.readouterr().out


def test_a_notebook_runs_cell_by_cell(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    cells = ["%matplotlib inline\nimport tensorviz as tv", ["x = tv.tensor(2.0, requires_grad=True)\n", "y = x * x\n", "y.backward()"]]
    book = {"cells": [{"cell_type": "markdown", "source": "# text"}, *({"cell_type": "code", "source": c} for c in cells)]}
    (tmp_path / "book.ipynb").write_text(json.dumps(book))
    assert main(["svg", "book.ipynb", "-o", "-"]) == 0
    assert "<svg" in capsys.readouterr().out


def test_a_record_knows_the_lines_of_the_script(script):
    import argparse

    from tensorviz.cli import record_of

    trace = record_of(argparse.Namespace(script=str(script), arguments=[], number=None))
    source = trace.node("loss").source
    assert source is not None
    assert (source.function, source.line, source.code.strip()) == ("loss_of", 6, "return np.sum(np.tanh(x) ** 2)")


def test_a_saved_trace_is_shown_as_text(tmp_path, capsys):
    import tensorviz as tv

    x = tv.tensor(3.0, requires_grad=True, name="x")
    trace = (x * x).backward()
    assert trace is not None
    trace.save(tmp_path / "pass.tensorviz")
    assert main(["show", str(tmp_path / "pass.tensorviz"), "--text"]) == 0
    assert "x" in capsys.readouterr().out


def test_a_file_that_is_no_trace_is_refused_in_one_line(tmp_path, capsys):
    path = tmp_path / "letter.txt"
    path.write_text("Dear reader")
    assert main(["show", str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_demo_writes_a_page(tmp_path, capsys):
    page = tmp_path / "demo.html"
    assert main(["demo", "-o", str(page)]) == 0
    assert "summed over axis 0" in page.read_text()


@pytest.mark.parametrize(
    ("program", "arguments", "told"),
    [
        ("x = 1", [], "never called backward()"),
        (SCRIPT, ["--number", "9"], "made 3 record(s), so there is no number 9"),
        (SCRIPT, ["--step", "99"], "--step 99: the record has"),
        (None, [], "there is no file"),
    ],
)
def test_what_cannot_be_shown_is_said_in_one_line(tmp_path, capsys, program, arguments, told):
    path = tmp_path / "program.py"
    if program is not None:
        path.write_text(program)
    assert main(["svg", str(path), *arguments]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


def test_a_program_that_fails_shows_its_own_traceback_only(tmp_path, capsys):
    path = tmp_path / "broken.py"
    path.write_text("def f():\n    return 1 / 0\n\nf()\n")
    assert main(["svg", str(path)]) == 1
    error = capsys.readouterr().err
    assert "ZeroDivisionError" in error
    assert "cli.py" not in error


@pytest.mark.parametrize(("place", "told"), [("missing/a.svg", "there is no folder missing"), (".", "that is a folder; name a file in it")])
def test_a_place_that_cannot_be_written_to_is_refused_before_the_program_runs(script, capsys, place, told):
    assert main(["svg", str(script), "-o", place]) == 2
    said = capsys.readouterr()
    assert said.err == f"tensorviz: --output {place}: {told}\n" and said.out == ""


@pytest.mark.parametrize("command", ["svg", "show"])
def test_a_folder_is_no_file(tmp_path, capsys, command):
    assert main([command, str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"tensorviz: {tmp_path} is a folder, no file\n"


def test_python_m_tensorviz_lists_the_commands():
    got = subprocess.run([sys.executable, "-m", "tensorviz", "--help"], capture_output=True, text=True, check=True).stdout
    assert all(name in got for name in ("demo", "svg", "html", "check", "show"))


def notebook(path, *cells):
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": c} for c in cells]}), encoding="utf-8")
    return str(path)


def test_a_notebook_means_in_the_command_line_what_it_means_in_a_kernel(tmp_path, monkeypatch, capsys):
    monkeypatch.delattr("builtins._", raising=False)  # a doctest in this process leaves one, and IPython keeps its own back then
    monkeypatch.chdir(tmp_path)
    book = notebook(
        tmp_path / "book.ipynb",
        "import asyncio\nimport tensorviz as tv\n%time x = tv.tensor(2.0, requires_grad=True)\n%config Completer.use_jedi = False",
        'text = """\n%not a magic\n!neither this\n"""\nlines = !echo shell\nx?',
        "await asyncio.sleep(0)\n(x\n% 4)",
        "y = _ * x\nassert text.count(chr(10)) == 3 and lines == ['shell']\ny.backward()",
    )
    assert main(["check", book]) == 0
    told = capsys.readouterr()
    assert "y" in told.out
    assert "Out[" not in told.out


def test_the_nodes_of_a_notebook_tell_their_cells(tmp_path):
    import argparse

    from tensorviz.cli import record_of

    book = notebook(tmp_path / "book.ipynb", "import tensorviz as tv", "x = tv.tensor(2.0, requires_grad=True)\ny = x * x\ny.backward()")
    trace = record_of(argparse.Namespace(script=book, arguments=[], number=None))
    source = trace.node("y").source
    assert source is not None
    assert (source.file, source.line, source.expression) == ("cell [2]", 2, "x * x")


@pytest.mark.parametrize(
    "program",
    [
        "# -*- coding: latin-1 -*-\nimport tensorviz as tv\nname = 'é'\nx = tv.tensor(2.0, requires_grad=True, name=name)\n(x * x).backward()\n".encode(
            "latin-1"
        ),
        b"\xef\xbb\xbfimport tensorviz as tv\nx = tv.tensor(2.0, requires_grad=True)\n(x * x).backward()\n",
    ],
    ids=["latin-1", "byte-order mark"],
)
def test_a_script_is_read_in_the_encoding_that_it_declares(tmp_path, capsys, program):
    path = tmp_path / "program.py"
    path.write_bytes(program)
    assert main(["svg", str(path), "-o", "-"]) == 0
    assert "<svg" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("ending", "told"),
    [
        ("sys.exit(3)", "left with exit status 3; this is the last pass before that"),
        ("1 / 0", "raised ZeroDivisionError; this is the last pass before that"),
    ],
)
def test_a_program_that_fails_after_a_pass_still_shows_the_pass(tmp_path, capsys, ending, told):
    path = tmp_path / "program.py"
    path.write_text(f"import sys\nimport tensorviz as tv\nx = tv.tensor(2.0, requires_grad=True)\n(x * x).backward()\n{ending}\n")
    assert main(["svg", str(path), "-o", "-"]) == 0
    got = capsys.readouterr()
    assert "<svg" in got.out
    assert told in got.err


def test_a_failing_cell_is_told_without_the_frames_of_the_tools(tmp_path, capsys):
    book = notebook(tmp_path / "book.ipynb", "def f():\n    return 1 / 0\nf()")
    assert main(["svg", book]) == 1
    error = capsys.readouterr().err
    assert "ZeroDivisionError" in error
    assert "interactiveshell" not in error


def test_options_meant_for_the_script_are_told_their_place(script, capsys):
    with pytest.raises(SystemExit):
        main(["svg", str(script), "a", "--lr", "3"])
    assert "options for the script itself go after --" in capsys.readouterr().err


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit) as leaving:
        main(["--version"])
    assert leaving.value.code == 0
    assert capsys.readouterr().out.startswith("tensorviz 0.")
