"""The lessons as a JupyterLite site: they open with their outputs, and the student edits and runs them in the browser. Imports the course and errors."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tensorviz.errors import MissingExtraError, SiteError
from tensorviz.site.course import Course, data_folders

NAME = "tensorviz-backward"
BROUGHT = frozenset({"numpy", "ipython", "traitlets", "typing-extensions", "widgetsnbextension"})
"""What a JupyterLite kernel has already: all from Pyodide's distribution but the last, for which the kernel carries a stand-in."""
BROWSER = {"sys_platform": "emscripten", "platform_system": "Emscripten", "platform_machine": "wasm32", "os_name": "posix", "extra": ""}
"""The markers by which requirements tell a browser from other places."""
KERNEL = "jupyterlite-pyodide-kernel"
APPS = ("lab", "notebooks", "tree")
INSTALL = f"# Python in the browser starts empty: this brings the package, from this site.\n%pip install -q {NAME}"


def build_lite(
    course: Course,
    books: Mapping[str, Any],
    target: Path,
    *,
    pyodide: str | None = None,
    wheels: Path | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> None:
    """Write a JupyterLite site of lessons that have run: ``books`` maps their names to notebooks with outputs.

    The site holds JupyterLab, Notebook and the wheels of this package and of what it needs; a page asks its own host for them. Python itself and NumPy
    come with Pyodide: from its makers' network, or, with ``pyodide``, from a copy of its distribution (a folder, an archive or its address) that becomes
    part of the site. ``wheels`` is a folder of wheels to use instead of building and fetching them.

    Raises :class:`MissingExtraError` without the extra ``lite``, :class:`SiteError` where pip or JupyterLite fail, with what they said.
    """
    extension = kernel_extension()
    with TemporaryDirectory(prefix="tensorviz-lite-") as place:
        stage = Path(place)
        for name, book in books.items():
            _write(stage / "content" / f"{name}.ipynb", for_browser(book))
        for folder in data_folders(course.folder, target):
            shutil.copytree(folder, stage / "content" / folder.name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        _write(stage / "jupyter-lite.json", settings(course.title))
        (stage / "pypi").mkdir()
        if wheels is None:
            progress("wheels of the package and of what it needs")
            fetch_wheels(stage / "pypi")
        else:
            for wheel in wheels.glob("*.whl"):
                shutil.copy(wheel, stage / "pypi")
        config: dict[str, Any] = {
            "lite_dir": str(stage),
            "output_dir": str(target.resolve()),
            "contents": ["content"],
            "apps": list(APPS),
            "no_sourcemaps": True,
            "no_libarchive": True,
            # not whatever else is installed where the site is built: its own kernel and what shows widgets, no more
            "ignore_sys_prefix": True,
            "federated_extensions": [str(part) for part in (extension, *_front_ends(stage / "pypi"))],
        }
        command = [sys.executable, "-m", "jupyterlite_core", "build", "--config", str(stage / "build.json")]
        if pyodide is not None and Path(pyodide).is_dir():
            shutil.copytree(pyodide, stage / "static" / "pyodide")
        elif pyodide is not None:
            command += ["--pyodide", pyodide]
        _write(stage / "build.json", {"LiteBuildConfig": config})
        progress("JupyterLite")
        _run(command, "jupyter lite build", stage)


def for_browser(book: Any) -> Any:
    """A notebook that has run, as JupyterLite should open it: outputs trusted, the package installed first, the kernel that is there."""
    made = deepcopy(book)
    for cell in made["cells"]:
        if cell["cell_type"] == "code":
            # there is no signature to check in a browser: without this the steppers stay lists of steps until run
            cell["metadata"]["trusted"] = True
    first: dict[str, Any] = {
        "cell_type": "code",
        "id": "install",
        "metadata": {"trusted": True},
        "execution_count": None,
        "outputs": [],
        "source": INSTALL,
    }
    made["cells"].insert(0, first)
    made["metadata"]["kernelspec"] = {"name": "python", "display_name": "Python (Pyodide)", "language": "python"}
    return made


def settings(title: str) -> dict[str, Any]:
    """The site's ``jupyter-lite.json``. What a lesson installs comes from the site or from Pyodide, and from no third place."""
    plugins = {"@jupyterlite/pyodide-kernel-extension:kernel": {"disablePyPIFallback": True}}
    return {"jupyter-lite-schema-version": 0, "jupyter-config-data": {"appName": title, "litePluginSettings": plugins}}


def fetch_wheels(folder: Path) -> None:
    """Put the wheels of this package and of what it needs in a browser into a folder, at the versions that are installed here.

    In a checkout the package is built from it. Raises :class:`SiteError` with pip's words, as where one of them exists only for some platforms.
    """
    root = Path(__file__).parents[2]
    source = str(root) if _is_checkout(root) else f"{NAME}=={importlib.metadata.version(NAME)}"
    _pip("wheel", "--no-deps", "--wheel-dir", str(folder), source)
    (own,) = folder.glob("tensorviz_backward-*.whl")
    pure = ["--only-binary=:all:", "--platform", "any", "--implementation", "py", "--abi", "none"]
    _pip("download", "--no-deps", *pure, "--dest", str(folder), *(f"{name}=={importlib.metadata.version(name)}" for name in needed(own)))


def needed(wheel: Path) -> list[str]:
    """The distributions that a wheel needs in a browser and that are not there yet."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    (own,) = importlib.metadata.distributions(path=[str(wheel)])
    found: set[str] = set()
    left = [own]
    while left:
        for line in left.pop().requires or ():
            requirement = Requirement(line)
            name = canonicalize_name(requirement.name)
            if name not in found | BROUGHT and (requirement.marker is None or requirement.marker.evaluate(BROWSER)):
                found.add(name)
                left.append(importlib.metadata.distribution(name))
    return sorted(found)


def _is_checkout(root: Path) -> bool:
    try:
        return bool(tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["name"] == NAME)
    except (OSError, KeyError, tomllib.TOMLDecodeError):
        return False


def kernel_extension() -> Path:
    """Where the browser's half of the kernel lies."""
    try:
        importlib.metadata.version("jupyterlite-core")
        files = importlib.metadata.files(KERNEL) or ()
        package = next(file for file in files if file.as_posix().endswith("@jupyterlite/pyodide-kernel-extension/package.json"))
    except (importlib.metadata.PackageNotFoundError, StopIteration):
        raise MissingExtraError(
            f"a JupyterLite site needs jupyterlite-core and {KERNEL}, which a plain install leaves out: pip install '{NAME}[lite]'"
        ) from None
    return Path(str(package.locate())).resolve().parent


def _front_ends(folder: Path) -> list[Path]:
    """The wheels that carry something for JupyterLab: what shows widgets."""
    return sorted(wheel for wheel in folder.glob("*.whl") if wheel.name.startswith(("jupyterlab_widgets-", "anywidget-")))


def _pip(*arguments: str) -> None:
    _run([sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments], f"pip {arguments[0]}", None)


def _run(command: list[str], what: str, where: Path | None) -> None:
    done = subprocess.run(  # noqa: S603 - this Python, with arguments of ours
        command, cwd=where, capture_output=True, text=True, check=False, env=os.environ | {"PIP_QUIET": "1"}
    )
    if done.returncode:
        said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-20:])
        raise SiteError(f"{what} ended with status {done.returncode}:\n{said}")


def _write(path: Path, what: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(what, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
