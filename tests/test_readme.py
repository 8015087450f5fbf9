"""The README tells the truth: its commands are single lines that name what exists, its code runs, its picture is ours and current."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import pytest

import tensorviz as tv
from tensorviz.views import plots

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def command(which: str) -> str:
    """The block after a marker; the CI script reads it the same way."""
    block = re.search(rf"<!-- {which} command -->\n```bash\n(.*?)```", README, re.DOTALL)
    assert block is not None
    return block[1]


@pytest.mark.parametrize(("which", "extras"), [("main", {"lab"}), ("test", {"lab", "test"})])
def test_each_command_is_one_line_that_installs_extras_that_exist(which, extras):
    text = command(which)
    assert text.count("\n") == 1
    named = re.search(r'pip install -e "\.\[([\w,]+)\]"', text)
    assert named is not None
    assert set(named[1].split(",")) == extras
    assert extras <= set(PROJECT["optional-dependencies"])


def test_the_main_command_ends_in_the_tour():
    assert (ROOT / command("main").split()[-1]).is_file()
    assert command("main").strip().endswith("notebooks/tour.ipynb")


def test_every_local_link_leads_somewhere():
    links = re.findall(r"\]\(([^)#]+)\)|(?:src|srcset)=\"([^\"]+)\"", README)
    paths = [first or second for first, second in links if "://" not in first + second]
    assert len(paths) > 5
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_code_of_the_readme_runs_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) >= 5
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), namespace)
    assert str(namespace["svg"]).startswith("<svg")
    assert (tmp_path / "pass.tensorviz").is_file()


def test_every_call_that_the_text_names_exists():
    named = {(owner, name) for owner, name in re.findall(r"\b(tv|trace)\.(\w+)", README)}
    assert len(named) > 15
    assert [f"{owner}.{name}" for owner, name in sorted(named) if not hasattr(tv if owner == "tv" else tv.Trace, name)] == []
    drawn = re.findall(r"\bplots\.(\w+)", README)
    assert len(drawn) == 4
    assert [name for name in drawn if not hasattr(plots, name)] == []


PICTURED = """\
import tensorviz as tv

X = tv.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
b = tv.tensor([0.1, 0.2, 0.3], requires_grad=True)
L = ((X + b) ** 2).sum()
trace = L.backward()
"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_picture_at_the_top_is_what_tensorviz_draws_today(theme, request, tmp_path):
    script = tmp_path / "broadcast.py"  # the picture names file and line of every node
    script.write_text(PICTURED, encoding="utf-8")
    drawn = runpy.run_path(str(script))["trace"].to_svg(palette=theme)
    path = ROOT / ".github" / f"broadcast-{theme}.svg"
    if request.config.getoption("redraw"):
        path.write_text(drawn, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == drawn, "run pytest tests/test_readme.py --redraw, and look at the picture"
