"""A folder of notebooks becomes pages that need nothing."""

from __future__ import annotations

import re
import shutil
import sys

import nbformat
import pytest

from tensorviz.cli import main
from tensorviz.errors import SiteError
from tensorviz.site.build import build_site
from tensorviz.site.course import read_course
from tensorviz.site.export import body_of

STEPPER = "import tensorviz as tv\nx = tv.tensor(3.0, requires_grad=True)\ny = x * x\ny.backward()"


def lesson(folder, name, text, *cells):
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text), *map(nbformat.v4.new_code_cell, cells)])
    nbformat.write(book, folder / f"{name}.ipynb")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("site") / "lessons"
    (made / "data").mkdir(parents=True)
    (made / "data" / "numbers.csv").write_text("1,2\n")
    lesson(
        made,
        "squares",
        "# Squares & $x^2$\n\nAfter this you can\n\n- square\n\nMore. See [sums](sums.ipynb), [numbers](data/numbers.csv), [above](#squares).\n\n$$\\frac{a}{b}$$",
        STEPPER,
    )
    lesson(made, "sums", "# Sums\n\nAdd <b>up</b>.", "open('data/numbers.csv').read()")
    (made / "course.toml").write_text('title = "A course"\nopening = "Read *on*."\n[[part]]\ntitle = "All"\nlessons = ["squares", "sums"]\n')
    return made


@pytest.fixture(scope="module")
def site(folder, tmp_path_factory):
    told, target = [], tmp_path_factory.mktemp("site") / "out"
    build_site(folder, target, progress=told.append)
    assert [line.split()[:2] for line in told] == [["1/2", "squares.html"], ["2/2", "sums.html"]]
    return target


def test_the_pages_hold_the_lessons_in_order_and_load_nothing(site):
    index, squares, sums = ((site / name).read_text(encoding="utf-8") for name in ("index.html", "squares.html", "sums.html"))
    assert index.index("squares.html") < index.index("sums.html")
    assert "<li>square</li>" in index and "<em>on</em>" in index
    assert '<a rel="next" href="sums.html">' in squares and '<a rel="prev" href="squares.html">' in sums
    assert 'href="notebooks/data/numbers.csv"' in squares and 'href="#squares"' in squares
    assert "<mfrac>" in squares and 'href="sums.html">sums</a>' in squares
    assert "1,2" in sums
    for page in (index, squares, sums):
        addresses = re.findall(r"""(?:src|href)=["']?(?!data:)([a-z]+://[^"'> ]+)""", page)
        assert addresses == []


def test_titles_are_set_as_markdown(site):
    index, sums = ((site / name).read_text(encoding="utf-8") for name in ("index.html", "sums.html"))
    assert "<strong>Squares &amp; <math" in index
    assert "$" not in index
    assert "</span> Squares &amp; <math" in sums
    assert "<title>Squares &amp; x^2 · A course</title>" in (site / "squares.html").read_text(encoding="utf-8")


def test_the_notebooks_can_be_downloaded_with_what_they_read(site, folder):
    assert (site / "notebooks" / "squares.ipynb").read_bytes() == (folder / "squares.ipynb").read_bytes()
    assert (site / "notebooks" / "data" / "numbers.csv").is_file()


def test_a_site_is_built_again_over_an_older_one_and_leaves_what_is_not_its_own(folder, site, capsys):
    (site / "CNAME").write_text("example.org")
    assert main(["site", str(folder), "-o", str(site)]) == 0
    assert (site / "CNAME").is_file()


def test_a_widget_is_shown_as_what_stands_beside_it_and_hidden_code_is_hidden():
    widget = {"application/vnd.jupyter.widget-view+json": {"model_id": "x"}, "text/html": "<b>asked</b>", "text/plain": "asked"}
    cell = nbformat.v4.new_code_cell("secret = 1", outputs=[nbformat.v4.new_output("display_data", widget)])
    cell.metadata["jupyter"] = {"source_hidden": True}
    book = nbformat.v4.new_notebook(cells=[cell, nbformat.v4.new_code_cell("seen = 2")], metadata={"widgets": {"state": {"x": 1}}})
    page = body_of(book)
    assert "<b>asked</b>" in page and "<script" not in page
    assert "seen" in page and "secret" not in page
    assert book.cells[0].outputs[0].data == widget, "the notebook stays as it is"


def test_without_a_table_all_notebooks_come_in_order_of_their_names(folder, tmp_path):
    for path in sorted(folder.glob("*.ipynb"), reverse=True):
        shutil.copy(path, tmp_path)
    assert [one.name for one in read_course(tmp_path).lessons] == ["squares", "sums"]


def test_a_lesson_that_raises_is_told_with_its_cell(tmp_path):
    lesson(tmp_path, "broken", "# Broken", "ratio = 1 / 0")
    with pytest.raises(SiteError, match=r"(?s)broken.ipynb does not run to its end.*ratio = 1 / 0.*ZeroDivisionError"):
        build_site(tmp_path, tmp_path / "out")


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (None, "holds no notebook"),
        ('title = "x"\n[[part]]\ntitle = "y"\nlessons = ["gone"]', "there is no notebook .*gone.ipynb"),
        ("title = ", r"course\.toml: .*it needs a title and \[\[part\]\] tables"),
        ('title = "x"', r"course\.toml: .*part.*it needs a title"),
    ],
)
def test_a_folder_that_is_no_course_is_refused(tmp_path, capsys, table, told):
    if table is not None:
        (tmp_path / "course.toml").write_text(table)
    assert main(["site", str(tmp_path), "-o", str(tmp_path / "out")]) == 2
    assert re.search(told, capsys.readouterr().err)


def test_without_the_extra_the_command_that_brings_it_is_told(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "nbconvert.exporters", None)
    assert main(["site", str(folder), "-o", str(tmp_path / "out")]) == 2
    assert "pip install 'tensorviz-backward[site]'" in capsys.readouterr().err


def test_every_lesson_of_the_project_is_in_its_course(request):
    notebooks = request.config.rootpath / "notebooks"
    assert {one.path.name for one in read_course(notebooks).lessons} == {path.name for path in notebooks.glob("*.ipynb")}


def test_every_heading_of_a_lesson_can_be_linked_to_by_its_words(tmp_path):
    lesson(tmp_path, "long", "# Long\n\n## 1. What is *summed*\n\n## What is summed\n\n## $x$", "1 + 1")
    build_site(tmp_path, tmp_path / "out")
    page = (tmp_path / "out" / "long.html").read_text(encoding="utf-8")
    assert re.findall(r'<h\d id="([^"]*)"', page) == ["long", "what-is-summed", "what-is-summed-2", "x"]
