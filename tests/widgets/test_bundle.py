"""What is built is built from what is there: the hash of the sources, the generated files, and nothing from elsewhere."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = ROOT / "widgets"
STATIC = ROOT / "tensorviz" / "widgets" / "static"
STEPPER = ("stepper.js", "stepper.css", "host.js")
BUILT = (*STEPPER, "drawing.js")


def source_hash() -> str:
    """As build.mjs computes it: names and contents in one order."""
    names = sorted(p.relative_to(PROJECT).as_posix() for p in (PROJECT / "src").rglob("*") if p.is_file())
    total = hashlib.sha256()
    for name in [*names, "build.mjs", "package-lock.json", "tsconfig.json"]:
        total.update(f"{name}\n".encode() + (PROJECT / name).read_bytes().replace(b"\r\n", b"\n") + b"\n")
    return total.hexdigest()[:12]


@pytest.mark.parametrize("name", BUILT)
def test_the_built_files_are_fresh(name):
    first = (STATIC / name).read_text("utf-8").splitlines()[0]
    assert first == f"/* tensorviz sources {source_hash()} */", "the bundle is stale: run `npm ci && npm run build` in widgets/"


def test_the_generated_sources_are_what_the_generator_prints():
    spec = importlib.util.spec_from_file_location("generate", PROJECT / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, make in module.FILES.items():
        assert (PROJECT / "src" / name).read_text("utf-8") == make(), f"run `python widgets/generate.py` for {name}"


def test_the_bundle_stays_small():
    """A widget stores it once an instance; an output holds it packed, which is what a saved notebook grows by."""
    assert sum((STATIC / name).stat().st_size for name in STEPPER) < 189_200
    assert len(gzip.compress(b"".join((STATIC / name).read_bytes() for name in STEPPER), 9)) < 67_700
    assert (STATIC / "drawing.js").stat().st_size < 2_000


@pytest.mark.parametrize("name", BUILT)
def test_nothing_is_loaded_from_elsewhere(name):
    text = (STATIC / name).read_text("utf-8")
    addresses = set(re.findall(r"https?://[\w./-]+", text))
    assert addresses <= {"http://www.w3.org/2000/svg"}  # a name, not an address


def test_the_sources_write_no_markup_from_data():
    code = "\n".join(p.read_text("utf-8") for p in (PROJECT / "src").rglob("*.ts"))
    assert not re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", code)


def test_no_style_looks_down_the_page():
    """With ``:has()`` a browser asks again at every element that comes or goes, which is a millisecond a step."""
    assert ":has(" not in (STATIC / "stepper.css").read_text("utf-8")


def test_no_formula_is_mathml():
    """Chromium's style sheet for it asks at every element which child it is, so that whatever is taken away restyles all that comes after it."""
    assert "MathML" not in (STATIC / "stepper.js").read_text("utf-8")


def test_the_lock_names_versions_and_hashes_but_no_host():
    lock = json.loads((PROJECT / "package-lock.json").read_text("utf-8"))
    assert not any("resolved" in package for package in lock["packages"].values())
    assert all("integrity" in package for name, package in lock["packages"].items() if name and not package.get("link"))
    versions = json.loads((PROJECT / "package.json").read_text("utf-8"))["devDependencies"].values()
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", v) for v in versions)


def test_no_text_is_smaller_than_twelve_pixels():
    css = "\n".join(p.read_text("utf-8") for p in (PROJECT / "src").rglob("*.css"))
    sizes = [float(s) for s in re.findall(r"font(?:-size)?:[^;]*?(\d+(?:\.\d+)?)px", css)]
    assert sizes
    assert min(sizes) >= 12
