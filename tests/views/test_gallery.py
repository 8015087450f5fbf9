"""The gallery builds: every picture of every trace, and they can stand on one page together."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tensorviz.views.palette import PALETTES
from views import gallery


def test_the_page_holds_every_picture_in_every_palette(tmp_path: Path) -> None:
    page = gallery.build(tmp_path / "gallery.html", traces=("broadcast", "tie"), plots=False)
    assert (tmp_path / "gallery.html").read_text(encoding="utf-8") == page
    for name in ("broadcast", "tie"):
        for palette in PALETTES:
            section = page.split(f'<section data-trace="{name}" data-palette="{palette}">')[1].split("</section>")[0]
            assert re.findall(r'<figure title="([^"]*)"', section) == ["whole pass", section_step(section), "downwards", "film", "animation"]
            assert section.count("<svg ") == 5


def section_step(section: str) -> str:
    found = re.search(r'title="(after step \d+)"', section)
    assert found
    return found[1]


def test_pictures_on_one_page_do_not_meet(tmp_path: Path) -> None:
    page = gallery.build(tmp_path / "gallery.html", palettes=("light", "dark"), traces=("broadcast", "cut"), plots=False)
    names = re.findall(r"@keyframes (\w+)", page)
    assert names
    assert len(names) == len(set(names))


@pytest.mark.slow
@pytest.mark.parametrize("name", gallery.TRACES)
def test_every_trace_is_in_it_with_its_plots(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    page = gallery.build(tmp_path / "gallery.html", traces=(name,), palettes=("dark",))
    assert page.count("data:image/png") == 3
    assert page.count("<math ") >= 1
    assert "http" not in page.replace("http://www.w3.org/", "")
