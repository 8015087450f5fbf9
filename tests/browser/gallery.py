"""Every pane and picture in every palette, to be looked at: ``python tests/browser/gallery.py gallery`` writes a folder; open its ``index.html``.

The panes are photographs of the real stepper in Chromium; the pictures beside them are what ``to_svg`` and the plots give.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from browser.conftest import FLAGS
from browser.scenes import SCENES, Scene
from conftest import find_chromium
from tensorviz.views.text import xml
from tensorviz.widgets.state import THEMES
from views import gallery

PALETTES = tuple(theme for theme in THEMES if theme != "auto")
WIDTHS = (800, 1920)
"""Besides the scene's own: beside a file browser, and a large screen."""
RESPONSIVE = ("unbroadcast", "fork", "attention", "network")
"""Scenes that are shown at other widths, too."""

STYLE = """
body{margin:0 auto;padding:24px;max-width:1960px;font:16px/1.45 sans-serif;background:#eef0f2;color:#16191d}
nav ol{columns:3 260px;padding-left:24px}a{color:#0a5796}h2{margin:40px 0 4px;font-size:22px}p{margin:0 0 10px;max-width:72ch}
.row{display:flex;flex-wrap:wrap;gap:16px}figure{margin:0;flex:1 1 560px;max-width:960px}
img{display:block;width:100%;border:1px solid #ccd2d8}figcaption{margin:4px 2px;color:#4d5761;font-size:14px}
"""


def build(folder: Path, *, scenes: Iterable[Scene] = SCENES, palettes: tuple[str, ...] = PALETTES, pictures: bool = True) -> Path:
    """Photograph the scenes and write the page with its contents; gives the page."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), headless=True, args=FLAGS)
        return write(folder, browser, scenes=scenes, palettes=palettes, pictures=pictures)


def write(folder: Path, browser: Browser, *, scenes: Iterable[Scene], palettes: tuple[str, ...], pictures: bool) -> Path:
    """The same with a browser that is open."""
    folder.mkdir(parents=True, exist_ok=True)
    contents, sections = [], []
    for scene in scenes:
        shots = [(photograph(folder, browser, scene, palette), palette) for palette in palettes]
        if scene.name in RESPONSIVE:
            shots += [(photograph(folder, browser, scene, palettes[0], width), f"{palettes[0]}, {width} px wide") for width in WIDTHS]
        figures = "".join(
            f'<figure><a href="{file}"><img loading="lazy" src="{file}" alt="{xml(scene.says)}: {what}"></a><figcaption>{what}</figcaption></figure>'
            for file, what in shots
        )
        contents.append(f'<li><a href="#{scene.name}">{scene.title}</a></li>')
        sections.append(f'<section id="{scene.name}"><h2>{scene.title}</h2><p>{xml(scene.says)}.</p><div class="row">{figures}</div></section>')
    if pictures:
        gallery.build(folder / "pictures.html")
        contents += [
            f'<li><a href="pictures.html#{name}">{xml((make.__doc__ or name).strip().rstrip(".").replace("`", ""))} (stills, film, animation, plots, formulas)</a></li>'
            for name, make in gallery.TRACES.items()
        ]
    page = folder / "index.html"
    page.write_text(
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>tensorviz gallery</title><style>{STYLE}</style>'
        f"<h1>Every pane and picture</h1><p>Palettes of the stepper: {', '.join(palettes)}. In pictures “colorblind” has the colours of “light”.</p>"
        f"<nav><ol>{''.join(contents)}</ol></nav>{''.join(sections)}</html>\n",
        "utf-8",
    )
    return page


def photograph(folder: Path, browser: Browser, scene: Scene, palette: str, width: int | None = None) -> str:
    """One picture of a scene; gives the name of its file in the folder."""
    name = f"{scene.name}-{palette}{f'-{width}' if width else ''}.png"
    wide, high = scene.size
    dark = palette == "dark"
    context = browser.new_context(
        viewport={"width": width or wide, "height": high}, offline=True, reduced_motion="reduce", color_scheme="dark" if dark else "light"
    )
    try:
        page = context.new_page()
        scene.open(page, folder, palette)
        page.screenshot(path=folder / name, full_page=True)
    finally:
        context.close()
    (folder / "scene.html").unlink()
    return name


def main(words: Sequence[str] | None = None) -> None:
    names = {scene.name: scene for scene in SCENES}
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0].replace("``", ""))
    parser.add_argument("folder", nargs="?", type=Path, default=Path("gallery"), help="where the page and its pictures go (gallery)")
    parser.add_argument("--scenes", nargs="+", choices=names, default=list(names), metavar="SCENE", help=f"of {', '.join(names)}")
    parser.add_argument("--palettes", nargs="+", choices=PALETTES, default=PALETTES, metavar="PALETTE", help=f"of {', '.join(PALETTES)}")
    parser.add_argument("--no-pictures", dest="pictures", action="store_false", help="the panes alone, without stills, films and plots")
    asked = parser.parse_args(words)
    print(build(asked.folder, scenes=[names[name] for name in asked.scenes], palettes=tuple(asked.palettes), pictures=asked.pictures))


if __name__ == "__main__":
    main()
