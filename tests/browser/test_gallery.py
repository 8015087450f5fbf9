"""The gallery: every scene of the stepper can be photographed in every palette, and the page leads to all of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from browser import gallery
from browser.scenes import SCENES

BY_NAME = {scene.name: scene for scene in SCENES}


def holds(page: Path, names: list[str], palettes: tuple[str, ...]) -> None:
    text = page.read_text("utf-8")
    assert re.findall(r'<li><a href="#([\w-]+)">', text) == names
    assert re.findall(r'<section id="([\w-]+)">', text) == names
    for name in names:
        for palette in palettes:
            assert f'src="{name}-{palette}.png"' in text
    for file in re.findall(r'src="([^"]+)"', text):
        assert (page.parent / file).stat().st_size > 10_000, f"{file} shows nothing"


@pytest.mark.slow
def test_a_scene_is_photographed_in_every_palette_and_listed(browser, tmp_path):
    page = gallery.write(tmp_path, browser, scenes=[BY_NAME["edit"]], palettes=gallery.PALETTES, pictures=False)
    holds(page, ["edit"], gallery.PALETTES)
    assert len({(tmp_path / f"edit-{palette}.png").read_bytes() for palette in gallery.PALETTES}) == len(gallery.PALETTES)


def test_a_part_of_it_can_be_asked_for_and_a_wrong_name_is_answered_with_the_right_ones(monkeypatch, capsys):
    asked = {}
    monkeypatch.setattr(gallery, "build", lambda folder, **options: asked.update(options, folder=folder))
    gallery.main(["looks", "--scenes", "fork", "nan", "--palettes", "dark", "--no-pictures"])
    assert asked == {"folder": Path("looks"), "scenes": [BY_NAME["fork"], BY_NAME["nan"]], "palettes": ("dark",), "pictures": False}
    gallery.main([])
    assert asked == {"folder": Path("gallery"), "scenes": list(SCENES), "palettes": gallery.PALETTES, "pictures": True}
    with pytest.raises(SystemExit):
        gallery.main(["--scenes", "forks"])
    assert "'fork'" in capsys.readouterr().err


def test_the_names_of_scenes_are_their_own_and_each_says_what_one_sees():
    assert len(BY_NAME) == len(SCENES)
    assert all(scene.title and scene.says for scene in SCENES)


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_NAME)
def test_every_scene_can_be_photographed_in_every_palette(browser, tmp_path, name):
    holds(gallery.write(tmp_path, browser, scenes=[BY_NAME[name]], palettes=gallery.PALETTES, pictures=False), [name], gallery.PALETTES)
