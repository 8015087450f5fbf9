"""The pass as a GIF: a frame for each step and one for the end, in the colours of the palette."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pytest

from tensorviz.errors import MissingExtraError, OptionTypeError
from tensorviz.views.animation import PAUSE, animated
from tensorviz.views.drawing_options import DrawingOptions
from tensorviz.views.gif import COLOURS, Colours, to_gif
from tensorviz.views.stops import stops
from tensorviz.widgets.drawing import draw
from views import circuits

pytest.importorskip("vl_convert")
Image = pytest.importorskip("PIL.Image")


def opened(gif: bytes):
    return Image.open(io.BytesIO(gif))


def test_it_plays_every_step_then_the_end_over_and_over(tmp_path: Path):
    trace = circuits.broadcast()
    film = opened(trace.to_gif(tmp_path / "a.gif", scale=0.5, seconds_per_step=0.4))
    assert film.n_frames == len(trace) + 1 and film.info["loop"] == 0
    lasts = []
    for k in range(film.n_frames):
        film.seek(k)
        lasts.append(film.info["duration"])
    assert lasts == [400] * len(trace) + [1000 * PAUSE]
    assert (tmp_path / "a.gif").read_bytes()[:6] == b"GIF89a"


@pytest.mark.parametrize(("palette", "paper"), [("light", (255, 255, 255)), ("dark", (21, 24, 28))])
def test_its_paper_is_that_of_the_page_around_it(palette: str, paper: tuple[int, int, int]):
    film = opened(circuits.broadcast().to_gif(steps=[0, 5], palette=palette, scale=0.5))
    for k in range(film.n_frames):
        film.seek(k)
        assert film.convert("RGB").getpixel((1, 1)) == paper


def test_a_still_of_the_film_holds_what_is_seen_then_and_no_motion():
    trace = circuits.broadcast()
    film = animated("to_gif", trace, None, [0, 4], 0.9, DrawingOptions("light", "LR", "auto", None, 1.0, True, 100, 20.0))
    first, last = film.still(0), film.still(2)
    assert "animation" not in first and "@" not in first
    assert 'transform="scale(0.5,1)"' in first and 'transform="scale(1,1)"' in last
    assert first.count('visibility="hidden"') and first != last


def test_of_too_many_colours_those_that_are_seen_most_stay_what_they_are():
    many = np.arange(400, dtype=np.uint32).repeat(2).reshape(20, 40)
    frame = np.vstack([np.full((20, 40), 0xFFFFFF, dtype=np.uint32), many])
    colours = Colours([frame])
    places, tints = colours.places(frame), np.frombuffer(colours.table, np.uint8).reshape(-1, 3)
    assert len(tints) == COLOURS and places.dtype == np.uint8 and places.shape == frame.shape
    assert tints[places[0, 0]].tolist() == [255, 255, 255]
    assert np.abs(tints[places].astype(int) - np.stack([frame >> 16, frame >> 8 & 255, frame & 255], -1).astype(int)).max() <= 150


def test_a_wide_graph_becomes_no_wider_than_a_slide_and_a_long_pass_has_fewer_frames(monkeypatch: pytest.MonkeyPatch):
    trace = circuits.broadcast()
    monkeypatch.setattr("tensorviz.views.gif.WIDEST", 300.0)
    monkeypatch.setattr("tensorviz.views.gif.MOST_FRAMES", len(trace) - 1)
    film = opened(trace.to_gif())
    assert abs(film.size[0] - 300) <= 1
    assert film.n_frames == len(stops(trace, "share")) + 1


def test_a_notebook_plays_it_and_a_drawing_has_it_too():
    gif = draw(circuits.broadcast(), palette="dark").to_gif(step=1, scale=0.5)
    assert gif._repr_mimebundle_()["image/gif"].startswith("R0lGOD")
    assert repr(gif).startswith("<GIF animation of ")
    assert opened(gif).convert("RGB").getpixel((1, 1)) == (21, 24, 28)


def test_it_tells_how_far_it_is_frame_by_frame(capsys: pytest.CaptureFixture[str]):
    told: list[tuple[int, int]] = []
    film = opened(circuits.broadcast().to_gif(scale=0.3, progress=lambda done, total: told.append((done, total))))
    assert told == [(k, film.n_frames) for k in range(1, film.n_frames + 1)]
    draw(circuits.broadcast()).to_gif(steps=[0], scale=0.3, progress=True)
    assert "drawn 100% |####################| 2/2 [" in capsys.readouterr().err
    with pytest.raises(TypeError, match="to_gif: progress must be a function, got 3"):
        to_gif(circuits.broadcast(), progress=3)  # type: ignore[arg-type]


def test_what_is_wrong_or_missing_is_said_with_what_to_do(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(OptionTypeError, match="to_gif has no option 'fps'; it has step, steps, seconds_per_step"):
        to_gif(circuits.broadcast(), fps=2)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tensorviz-backward\[image\]'"):
        to_gif(circuits.broadcast())
