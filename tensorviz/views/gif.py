"""A pass as a GIF, for slide programs, which play no animated SVG. Imports the animation and the still image; the renderer and Pillow are loaded when asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import BytesIO
from os import PathLike
from typing import Any

import numpy as np

from tensorviz.errors import MissingExtraError
from tensorviz.progress import Progress, teller
from tensorviz.trace import Array, Trace
from tensorviz.views.animation import OPTIONS, PAUSE, animated
from tensorviz.views.drawing_options import DrawingOptions
from tensorviz.views.exported import Moving, exported
from tensorviz.views.image import renderer
from tensorviz.views.options import check_values, refuse_unknown
from tensorviz.views.scene import MOST_NODES
from tensorviz.views.stops import GRANULARITIES, stops

RESOLUTION = 1.5
"""Pixels per unit of the picture: a small graph fills a slide, and a pass of twenty steps stays below a megabyte."""
WIDEST = 1920.0
"""Pixels of a slide."""
MOST_FRAMES = 60
"""Up to which every step has a frame where nothing else is asked for."""
SAMPLES = 5
"""Frames that the common palette is made from."""
COLOURS = 255
"""Of all frames together; a GIF has 256, and one is left for what did not change since the frame before."""


def to_gif(
    trace: Trace,
    path: str | PathLike[str] | None = None,
    *,
    step: int | None = None,
    steps: str | Sequence[int] | None = None,
    seconds_per_step: float = 0.9,
    palette: str = "light",
    direction: str = "LR",
    engine: str = "auto",
    title: str | None = None,
    scale: float | None = None,
    legend: bool = True,
    max_nodes: int = MOST_NODES,
    timeout: float = 20.0,
    progress: Progress | None = None,
    **unknown: Any,
) -> bytes:
    """The pass as the bytes of a GIF that plays over and over, with a pause at its end; options are those of ``to_animated_svg``, and ``progress``.

    ``steps``: None takes every step of a short pass, and of a long one those of each share, or each node: a frame of a large graph takes a second to draw.
    ``progress``: called with (done, total), counted in frames; a bar such as ``tqdm.tqdm()``; or True for one of text on stderr.
    ``scale`` is in pixels per unit; None: so that a small graph fills a slide, and a large one is no wider than it.
    """
    refuse_unknown("to_gif", unknown, (*OPTIONS, "progress"))
    tell = teller("to_gif", progress, "drawn")
    if steps is None:
        steps = next((s for s in GRANULARITIES if len(stops(trace, s, "to_gif")) <= MOST_FRAMES), GRANULARITIES[-1])
    drawing = DrawingOptions(palette, direction, engine, title, 1.0, legend, max_nodes, timeout)
    film = animated("to_gif", trace, step, steps, seconds_per_step, drawing)
    draw = renderer("to_gif")
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingExtraError("to_gif needs Pillow, which a plain install leaves out: pip install 'tensorviz-backward[image]'") from error
    if scale is None:
        scale = min(RESOLUTION, WIDEST / float(re.findall(r' width="([\d.]+)"', film.markup[: film.markup.index(">")])[0]))
    check_values("to_gif", scale)

    count = len(film.chosen) + 1
    drawn = 0

    def picture(frame: int) -> Array:
        """The pixels of a frame as numbers 0xRRGGBB."""
        nonlocal drawn
        parts = np.asarray(Image.open(BytesIO(draw.svg_to_png(film.still(frame), scale=scale))).convert("RGB")).astype(np.uint32)
        found: Array = parts[..., 0] << 16 | parts[..., 1] << 8 | parts[..., 2]
        drawn += 1
        if tell is not None:
            tell(drawn, count)
        return found

    samples = {k: picture(k) for k in sorted({round(i * (count - 1) / (SAMPLES - 1)) for i in range(SAMPLES)})}
    colours = Colours([*samples.values()])
    flat = []
    for k in range(count):  # one by one: together the pixels of a long pass would take gigabytes
        pixels = samples.pop(k) if k in samples else picture(k)
        flat.append(Image.fromarray(colours.places(pixels)))
        flat[-1].putpalette(colours.table, "RGB")
    out = BytesIO()
    seconds = [film.seconds] * len(film.chosen) + [PAUSE]
    flat[0].save(out, "GIF", save_all=True, append_images=flat[1:], duration=[round(1000 * s) for s in seconds], loop=0, optimize=False)
    return exported("to_gif", path, Moving(out.getvalue()))


class Colours:
    """One palette for all frames, made from some of them. A frame is an array of numbers 0xRRGGBB.

    The colours of areas and lines stay what they are, and text keeps its colour: what gives way are shades at the edges, of which there are many,
    each seldom. They become the nearest colour that is kept.
    """

    def __init__(self, frames: Sequence[Array]) -> None:
        found, counts = np.unique(np.concatenate([frame.ravel() for frame in frames]), return_counts=True)
        self._kept = found[np.argsort(-counts, kind="stable")[:COLOURS]]
        self._place = np.full(1 << 24, -1, dtype=np.int16)
        """Of every colour that has been met."""

    @property
    def table(self) -> bytes:
        """Three bytes a colour."""
        return _parts(self._kept).astype(np.uint8).tobytes()

    def places(self, frame: Array) -> Array:
        """The frame as positions in the palette."""
        found = self._place[frame]
        new = np.unique(frame[found < 0])
        if new.size:
            apart = _parts(new)[:, None, :] - _parts(self._kept)[None, :, :]
            self._place[new] = np.argmin((apart**2).sum(axis=2), axis=1)
            found = self._place[frame]
        return found.astype(np.uint8)


def _parts(colours: Array) -> Array:
    return np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=-1).astype(np.int32)
