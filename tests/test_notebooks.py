"""Every notebook runs from top to bottom in a fresh kernel, is committed clean, and claims only what it computes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pytest

FOLDER = Path(__file__).parent.parent / "notebooks"
NAMES = ["tour", "circuits", "broadcasting_and_forks", "five_broken_networks", "digits"]
every_notebook = pytest.mark.parametrize("name", NAMES)


def read(name: str) -> Any:
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def execute(name: str) -> Any:
    """The notebook with its outputs, run by a process of its own: the client leaves event loops behind."""
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--ExecutePreprocessor.timeout=120", "--stdout", f"{name}.ipynb"]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return nbformat.reads(done.stdout, as_version=4)


@cache
def executions() -> dict[str, Future[Any]]:
    """All notebooks, started two at a time when the first is asked for."""
    pool = ThreadPoolExecutor(2)
    started = {name: pool.submit(execute, name) for name in NAMES}
    pool.shutdown(wait=False)
    return started


def executed(name: str) -> Any:
    return executions()[name].result()


def cell(name: str, identifier: str) -> Any:
    return next(c for c in executed(name).cells if c.id == identifier)


def printed(name: str, identifier: str) -> str:
    return "".join(o.text for o in cell(name, identifier).outputs if o.output_type == "stream" and o.name == "stdout")


def shown(name: str, identifier: str) -> dict[str, str]:
    """The mime bundle of the cell's value."""
    (output,) = (o for o in cell(name, identifier).outputs if o.output_type in {"execute_result", "display_data"})
    return dict(output.data)


def prose(name: str) -> str:
    return "\n".join(c.source for c in read(name).cells if c.cell_type == "markdown")


def test_the_list_of_notebooks_is_complete():
    assert sorted(NAMES) == sorted(path.stem for path in FOLDER.glob("*.ipynb"))


@every_notebook
def test_a_notebook_is_committed_without_outputs_and_with_stable_ids(name):
    text = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    book = json.loads(text)
    nbformat.validate(nbformat.from_dict(book))
    assert all(c["outputs"] == [] and c["execution_count"] is None for c in book["cells"] if c["cell_type"] == "code")
    assert all(re.fullmatch(r"[a-z][a-z0-9-]*", c["id"]) for c in book["cells"])
    assert all(c["metadata"] == {} for c in book["cells"])
    assert text == json.dumps(book, indent=1, ensure_ascii=False) + "\n"


@every_notebook
def test_a_notebook_says_what_you_will_be_able_to_do_asks_first_and_is_short(name):
    text = prose(name)
    assert re.search(r"can\n\n?#?\s*\n?- ", text)
    assert text.count("**Predict") >= 3
    assert len(text.split()) < 1500


@every_notebook
def test_the_links_of_a_notebook_lead_somewhere(name):
    links = re.findall(r"\]\(([^)]+)\)", prose(name))
    assert [link for link in links if "://" not in link and not (FOLDER / link).exists()] == []


@every_notebook
def test_a_notebook_runs_without_an_error_or_a_warning(name):
    outputs = [o for c in executed(name).cells if c.cell_type == "code" for o in c.outputs]
    assert [o for o in outputs if o.output_type == "error"] == []
    assert [o.text for o in outputs if o.output_type == "stream" and o.name == "stderr"] == []


@every_notebook
def test_a_record_at_the_end_of_a_cell_becomes_the_debugger_with_text_beside_it(name):
    found = 0
    for c in executed(name).cells:
        if c.cell_type == "code" and re.search(r"\.backward\(\)\s*$", c.source):
            (output,) = (o for o in c.outputs if o.output_type == "execute_result")
            assert "<iframe" in output.data["text/html"]
            assert "step" in output.data["text/plain"]
            found += 1
    assert found or name != "tour"


def test_the_tour_reads_two_shares_and_their_running_sum_at_the_fork():
    rows = printed("tour", "fork-record").splitlines()
    assert len(rows) == 2
    assert re.search(r"share\s+1\s+running sum\s+1$", rows[0])
    assert re.search(r"share\s+12\s+running sum\s+13$", rows[1])


def test_the_tours_check_judges_the_smooth_pass_right_and_does_not_judge_the_tie():
    assert shown("tour", "check-smooth")["text/plain"] == "'ok'"
    assert "nonsmooth" in shown("tour", "check")["text/plain"]


def test_the_circuit_lessons_gradients_agree_with_the_ones_written_by_hand():
    for identifier in ("circuit-compare", "staged-by-hand"):
        text = shown("circuits", identifier)["text/plain"]
        assert "exact" in text or "close" in text
        assert "different" not in text
    assert "the one that went missing" in printed("circuits", "mistake-found")


def test_the_broadcasting_lesson_sums_the_axes_of_the_rule():
    rows = printed("broadcasting_and_forks", "shapes").splitlines()[1:]
    summed = [re.findall(r"\(.*?\)", row)[2:] for row in rows]
    assert summed == [["(0,)", "()"], ["(0,)", "()"], ["(1,)", "()"], ["(0, 1)", "()"], ["(0, 2)", "(1,)"]]


def test_the_broadcasting_lesson_finds_the_trap_and_the_forgotten_zero_grad():
    assert "broadcast" in printed("broadcasting_and_forks", "trap-found")
    assert "zero_grad" in printed("broadcasting_and_forks", "twice-found")


def test_the_digits_network_reads_nine_of_ten_digits_that_it_never_saw():
    accuracy = re.search(r"never seen: ([\d.]+)%", printed("digits", "training"))
    assert accuracy is not None
    assert float(accuracy[1]) > 90


def test_every_parameter_of_the_digits_network_is_checked_and_right():
    rows = printed("digits", "check-parameters").splitlines()
    assert [row.split(":")[0] for row in rows] == ["W1", "b1", "W2", "b2"]
    assert all("mismatch" not in row and "'ok'" in row for row in rows)


def test_the_broken_networks_are_solved_by_what_the_debugger_finds():
    name = "five_broken_networks"
    assert "dead (backward, relu): 8 of 8 units" in printed(name, "dead-found")
    assert "double-broadcast (forward, sub)" in printed(name, "shape")
    assert "Call w.zero_grad() before backward" in printed(name, "stale")
    assert "nan (backward, sqrt): Born here" in printed(name, "nan")
    assert "stopped at node" in printed(name, "nan-stopped")
    assert "The backward rule of softsign for operand x is wrong" in printed(name, "rule-blamed")
