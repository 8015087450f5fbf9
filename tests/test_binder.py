"""What Binder builds is what the project's own files say, and the badge opens the tour."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import yaml

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def lines(name: str) -> list[str]:
    text = (ROOT / "binder" / name).read_text(encoding="utf-8")
    return [line for raw in text.splitlines() if (line := raw.split("#")[0].strip())]


def test_binder_installs_the_project_with_the_extra_that_the_main_command_uses():
    assert lines("requirements.txt") == [".[lab]"]
    assert "lab" in PROJECT["optional-dependencies"]
    assert ".[lab]" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_binder_runs_a_python_that_the_project_supports():
    # Without runtime.txt its default Python is older than what we require.
    (runtime,) = lines("runtime.txt")
    wanted = tuple(map(int, runtime.removeprefix("python-").split(".")))
    oldest = tuple(map(int, PROJECT["requires-python"].removeprefix(">=").split(".")))
    assert wanted >= oldest
    assert f"Programming Language :: Python :: {wanted[0]}.{wanted[1]}" in PROJECT["classifiers"]


def test_binder_needs_no_system_packages():
    # Of what lies there Binder reads two files; it would build a Dockerfile instead, if one had that name.
    ours = {"CLASSROOM.md", "classroom.txt", "classroom.yaml", "classroom.Dockerfile"}
    assert {path.name for path in (ROOT / "binder").iterdir()} - ours == {"requirements.txt", "runtime.txt"}


def test_a_hub_installs_what_binder_installs_and_what_brings_the_lessons():
    name = PROJECT["name"]
    project, puller = lines("classroom.txt")
    assert project.startswith(f"{name}[lab] @ git+https://") and puller == "nbgitpuller"
    image = (ROOT / "binder" / "classroom.Dockerfile").read_text(encoding="utf-8")
    assert "/tmp/tensorviz[lab]" in image and "nbgitpuller" in image
    recipe = (ROOT / "binder" / "CLASSROOM.md").read_text(encoding="utf-8")
    assert "binder/classroom.txt" in recipe and "binder/classroom.Dockerfile" in recipe and "classroom.yaml" in recipe


def test_both_hubs_give_a_student_the_same_limits():
    values = yaml.safe_load((ROOT / "binder" / "classroom.yaml").read_text(encoding="utf-8"))["singleuser"]
    recipe = (ROOT / "binder" / "CLASSROOM.md").read_text(encoding="utf-8")
    assert f"limits.memory {values['memory']['limit']}\n" in recipe
    assert f"limits.cpu {values['cpu']['limit']}\n" in recipe
    assert values["lifecycleHooks"]["postStart"]["exec"]["command"][0] == "gitpuller"


def test_the_link_for_students_opens_a_lesson_of_the_repository():
    recipe = (ROOT / "binder" / "CLASSROOM.md").read_text(encoding="utf-8")
    (link,) = re.findall(r"https://HUB/\S+", recipe)
    asked = parse_qs(urlsplit(link).query)
    folder = asked["repo"][0].rsplit("/", 1)[1]
    opens = asked["urlpath"][0]
    assert opens.startswith(f"lab/tree/{folder}/")
    assert (ROOT / opens.removeprefix(f"lab/tree/{folder}/")).is_file()


def test_the_lab_extra_admits_the_jupyterlab_of_binders_own_image():
    # repo2docker's base environment carries JupyterLab 4.4; a stricter floor would install a second one.
    (floor,) = (d for d in PROJECT["optional-dependencies"]["lab"] if d.startswith("jupyterlab>="))
    assert re.match(r"jupyterlab>=4\.[0-4]\b", floor)


def test_the_badge_opens_the_tour():
    link = re.search(r"https://mybinder\.org/v2/gh/[^)\s\"]+", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert link is not None
    opens = parse_qs(urlsplit(link[0]).query)["urlpath"][0]
    assert opens.startswith("lab/tree/")
    assert (ROOT / opens.removeprefix("lab/tree/")).is_file()
