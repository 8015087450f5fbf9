"""A Pyodide distribution for tests: its core from npm, the pure-Python wheels that a kernel starts with from the package index. NumPy is on neither."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path

from jupyterlite_pyodide_kernel.constants import PYODIDE_PYTHON_VERSION, PYODIDE_VERSION

STARTS_WITH = ("micropip", "ipython", "jedi", "traitlets", "typing-extensions")


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def make(folder: Path) -> Path:
    """The folder ``pyodide`` in ``folder``, with a lock file whose entries for the wheels beside it name these. Gives its path."""
    packed = subprocess.run(["npm", "pack", "--silent", f"pyodide@{PYODIDE_VERSION}"], cwd=folder, capture_output=True, text=True, check=True)
    with tarfile.open(folder / packed.stdout.strip().splitlines()[-1]) as archive:
        archive.extractall(folder, filter="data")
    made = (folder / "package").rename(folder / "pyodide")
    lock = json.loads((made / "pyodide-lock.json").read_text())
    packages = {canonical(name): entry for name, entry in lock["packages"].items()}
    wanted, left = set(), list(STARTS_WITH)
    while left:
        name = canonical(left.pop())
        if name not in wanted and packages[name]["file_name"].endswith("none-any.whl"):
            wanted.add(name)
            left += packages[name]["depends"]
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--python-version", PYODIDE_PYTHON_VERSION]
    exact = [f"{name}=={packages[name]['version']}" for name in sorted(wanted)]
    subprocess.run([*pip, "--dest", str(made), *exact], capture_output=True, check=True)
    for wheel in made.glob("*.whl"):
        entry = packages[canonical(wheel.name.split("-")[0])]
        entry["file_name"] = wheel.name
        entry["sha256"] = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (made / "pyodide-lock.json").write_text(json.dumps(lock))
    return made
