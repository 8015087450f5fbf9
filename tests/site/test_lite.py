"""What a lesson and its settings become for JupyterLite; building and opening the site is for tests/browser/test_lite.py."""

from __future__ import annotations

import importlib.metadata
import zipfile

import nbformat
import pytest

from tensorviz.cli import main
from tensorviz.errors import MissingExtraError
from tensorviz.site import lite
from tensorviz.site.build import build_site


@pytest.fixture
def book():
    cells = [nbformat.v4.new_markdown_cell("# Squares"), nbformat.v4.new_code_cell("3 * 3", outputs=[nbformat.v4.new_output("stream", text="9")])]
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}})


def test_a_lesson_for_the_browser_installs_first_and_trusts_its_outputs(book):
    made = lite.for_browser(book)
    nbformat.validate(made)
    first, heading, code = made["cells"]
    assert first["source"].endswith("%pip install -q tensorviz-backward")
    assert heading == book.cells[0]
    assert code["metadata"]["trusted"] is True and code["outputs"] == book.cells[1].outputs
    assert made["metadata"]["kernelspec"]["name"] == "python"


def test_the_lesson_itself_is_left_as_it_was(book):
    before = nbformat.writes(book)
    lite.for_browser(book)
    assert nbformat.writes(book) == before


def test_what_is_needed_is_followed_to_its_ends_without_what_the_kernel_has(tmp_path):
    wheel = tmp_path / "tensorviz_backward-0.0.0-py3-none-any.whl"
    needs = ("numpy>=1.26", "anywidget>=0.11", "wasmtime>=44; sys_platform != 'emscripten'", 'torch; extra == "bench"')
    with zipfile.ZipFile(wheel, "w") as archive:
        lines = ["Metadata-Version: 2.4", "Name: tensorviz-backward", "Version: 0.0.0", *(f"Requires-Dist: {need}" for need in needs)]
        archive.writestr("tensorviz_backward-0.0.0.dist-info/METADATA", "\n".join(lines))
    assert lite.needed(wheel) == ["anywidget", "comm", "ipywidgets", "jupyterlab-widgets", "psygnal"]


def test_without_the_extra_nothing_runs_and_the_extra_is_named(tmp_path, book, monkeypatch, capsys):
    def none(name):
        raise importlib.metadata.PackageNotFoundError(name)

    nbformat.write(book, tmp_path / "squares.ipynb")
    monkeypatch.setattr(importlib.metadata, "version", none)
    with pytest.raises(MissingExtraError, match=r"pip install 'tensorviz-backward\[lite\]'"):
        build_site(tmp_path, tmp_path / "out", lite=True)
    assert not (tmp_path / "out").exists()
    assert main(["site", str(tmp_path), "-o", str(tmp_path / "out"), "--lite"]) == 2
    assert "jupyterlite" in capsys.readouterr().err


def test_a_pyodide_without_a_jupyterlite_is_refused(tmp_path, book, capsys):
    nbformat.write(book, tmp_path / "squares.ipynb")
    assert main(["site", str(tmp_path), "-o", str(tmp_path / "out"), "--pyodide", "somewhere"]) == 2
    assert "--lite" in capsys.readouterr().err
