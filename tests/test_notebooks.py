"""Every notebook runs from top to bottom in a fresh kernel, is committed clean, and claims only what it computes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pytest

FOLDER = Path(__file__).parent.parent / "notebooks"
PARTS = {part["title"]: part["lessons"] for part in tomllib.loads((FOLDER / "course.toml").read_text(encoding="utf-8"))["part"]}
NAMES = [name for lessons in PARTS.values() for name in lessons]
LESSONS = [name for title, lessons in PARTS.items() if not title.startswith("Beside the course") for name in lessons]
"""What is taught; the tour and the sitting beside it are for whoever has less time."""
every_notebook = pytest.mark.parametrize("name", NAMES)
every_lesson = pytest.mark.parametrize("name", LESSONS)


def read(name: str) -> Any:
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


EXECUTE = """
import sys
from pathlib import Path
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
target = Path(sys.argv[1])
for name in sys.argv[2:]:
    book = nbformat.read(f"{name}.ipynb", as_version=4)
    try:
        NotebookClient(book, timeout=120, kernel_name="python3", resources={"metadata": {"path": "."}}).execute()
    except CellExecutionError as error:
        (target / f"{name}.txt").write_text(str(error))
    nbformat.write(book, target / f"{name}.ipynb")
"""


def execute(names: list[str], target: str) -> None:
    """Notebooks with their outputs, each by a kernel of its own, all by a process of their own: the client leaves event loops behind."""
    command = [sys.executable, "-c", EXECUTE, target, *names]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@cache
def executions() -> tuple[str, dict[str, Future[None]]]:
    """All notebooks, started in two rows when the first is asked for."""
    target = tempfile.mkdtemp(prefix="notebooks")
    pool = ThreadPoolExecutor(2)
    started = {name: future for row in (NAMES[::2], NAMES[1::2]) for future in [pool.submit(execute, row, target)] for name in row}
    pool.shutdown(wait=False)
    return target, started


@cache
def executed(name: str) -> Any:
    target, started = executions()
    started[name].result()
    told = Path(target) / f"{name}.txt"
    assert not told.is_file(), told.read_text(encoding="utf-8")
    return nbformat.read(Path(target) / f"{name}.ipynb", as_version=4)


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


@every_lesson
def test_a_lesson_has_a_picture_the_debugger_exercises_that_check_themselves_and_a_self_test(name):
    codes = [c for c in read(name).cells if c.cell_type == "code"]
    pictures = [c for c in codes if re.search(r"tv\.draw\(|\.draw\(\)|plt\.show\(\)", c.source)]
    assert pictures
    assert any(
        "<iframe" in output.get("data", {}).get("text/html", "") for c in executed(name).cells if c.cell_type == "code" for output in c.outputs
    )
    assert [c.id for c in codes if c.id.startswith("exercise")]
    assert "<details>" in shown(name, "self-test")["text/html"]


@every_lesson
def test_an_exercise_says_no_until_it_is_done(name):
    for c in executed(name).cells:
        if c.id.startswith("exercise") and c.cell_type == "code":
            (output,) = (o for o in c.outputs if o.output_type == "execute_result")
            assert re.search(r"^False$|returned None|Your code raised|gradients? compared|NO", output.data["text/plain"]), c.id


@every_lesson
def test_a_lesson_leads_to_the_next(name):
    following = [*LESSONS, ""][LESSONS.index(name) + 1]
    assert not following or f"]({following}.ipynb)" in read(name).cells[-1].source


def test_the_teachers_guide_names_every_lesson_in_order_and_its_links_lead_somewhere():
    guide = (FOLDER / "teachers_guide.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| \d+ \| \[(\w+)\]\(\1\.ipynb\)", guide, re.MULTILINE) == LESSONS
    links = re.findall(r"\]\(([^)]+)\)", guide)
    assert [link for link in links if "://" not in link and not (FOLDER / link).exists()] == []
    from tensorviz.teaching.bugs import BUGS

    assert all(f"`{bug}`" in guide for bug in BUGS)


@every_notebook
def test_a_notebook_is_committed_without_outputs_and_with_stable_ids(name):
    text = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    book = json.loads(text)
    nbformat.validate(nbformat.from_dict(book))
    assert all(c["outputs"] == [] and c["execution_count"] is None for c in book["cells"] if c["cell_type"] == "code")
    assert all(re.fullmatch(r"[a-z][a-z0-9-]*", c["id"]) for c in book["cells"])
    hidden = {"jupyter": {"source_hidden": True}}  # the code of a self-test holds its answers
    assert all(c["metadata"] == (hidden if c["id"] == "self-test" else {}) for c in book["cells"])
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


def test_the_gradients_by_hand_agree_with_the_recorded_ones():
    for name, identifier in (("circuits", "circuit-compare"), ("staged_computation", "staged-by-hand")):
        text = shown(name, identifier)["text/plain"]
        assert "exact" in text or "close" in text
        assert "NO" not in text
    assert "the first and the second share together" in printed("staged_computation", "mistake-found")


def test_the_unbroadcast_of_the_hard_pair_is_a_permute_a_reduce_and_a_reshape():
    assert printed("broadcasting", "hard").splitlines()[1] == "b: (5, 3, 4, 1) summed over (0, 2) becomes (3, 1, 1)"
    rows = printed("broadcasting", "primitive-steps").splitlines()
    assert [re.search(r"for (\w): (\w+)", row)[0] for row in rows[:3]] == ["for b: permute", "for b: reduce", "for b: reshape"]
    assert "(0, 2, 1, 3)" in rows[0] and rows[1].endswith("becomes (3, 1).") and "(3, 1) becomes (3, 1, 1)" in rows[2]


def test_the_facts_of_the_primitives_are_steps_to_be_seen():
    assert "positions that come back: [2. 3. 4.]" in printed("movement_and_reduce", "pad")
    assert "inverse  (1, 2, 0)" in printed("movement_and_reduce", "permute")
    assert printed("max_routing", "tie").endswith("gradient [0.  0.5 0.5 0. ]\n")
    assert "[[ 6. 15.]\n [ 6. 15.]]\nrow sums of B [ 6. 15.]" in printed("matmul_from_primitives", "product")
    assert "∂logits unstaged: used 784 times, computed 784 times" in printed("matmul_from_primitives", "counts")
    assert "∂logits staged: computed 1 time, then read 784 times" in printed("matmul_from_primitives", "staged")


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
