"""A pass as a GIF, for slide programs, which play no animated SVG. Imports the animation and the still image; the renderer and Pillow are loaded when asked for."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from os import PathLike
from typing import Any

import numpy as np

from tensorviz.errors import MissingExtraError
from tensorviz.trace import Array, Trace
from tensorviz.views.animation import OPTIONS, PAUSE, animated
from tensorviz.views.exported import Moving, exported
from tensorviz.views.image import renderer
from tensorviz.views.options import check_values, refuse_unknown
from tensorviz.views.scene import MOST_NODES

RESOLUTION = 1.5
"""Pixels per unit of the picture: a small graph fills a slide, and a pass of twenty steps stays below a megabyte."""
COLOURS = 255
"""Of all frames together; a GIF has 256, and one is left for what did not change since the frame before."""


def to_gif(
    trace: Trace,
    path: str | PathLike[str] | None = None,
    *,
    step: int | None = None,
    steps: str | Sequence[int] = "micro",
    seconds_per_step: float = 0.9,
    palette: str = "light",
    direction: str = "LR",
    engine: str = "auto",
    title: str | None = None,
    scale: float = RESOLUTION,
    legend: bool = True,
    max_nodes: int = MOST_NODES,
    timeout: float = 20.0,
    **unknown: Any,
) -> bytes:
    """The pass as the bytes of a GIF that plays over and over, with a pause at its end; options are those of ``to_animated_svg``, ``scale`` in pixels per unit."""
    refuse_unknown("to_gif", unknown, OPTIONS)
    film = animated("to_gif", trace, step, steps, seconds_per_step, palette, direction, engine, title, 1.0, legend, max_nodes, timeout)
    draw = renderer("to_gif")
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingExtraError("to_gif needs Pillow, which a plain install leaves out: pip install 'tensorviz-backward[image]'") from error
    check_values("to_gif", scale)
    pictures = [np.asarray(Image.open(BytesIO(draw.svg_to_png(film.still(i), scale=scale))).convert("RGB")) for i in range(len(film.chosen) + 1)]
    tints, places = reduced([p.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], dtype=np.uint32) for p in pictures])
    flat = [Image.fromarray(place) for place in places]
    for picture in flat:
        picture.putpalette(tints.tobytes(), "RGB")
    out = BytesIO()
    seconds = [film.seconds] * len(film.chosen) + [PAUSE]
    flat[0].save(out, "GIF", save_all=True, append_images=flat[1:], duration=[round(1000 * s) for s in seconds], loop=0, optimize=False)
    return exported("to_gif", path, Moving(out.getvalue()))


def reduced(frames: Sequence[Array]) -> tuple[Array, list[Array]]:
    """One palette for all frames, and each frame as positions in it. A frame is an array of numbers 0xRRGGBB.

    The colours of areas and lines stay what they are, and text keeps its colour: what gives way are shades at the edges, of which there are many,
    each seldom. They become the nearest colour that is kept.
    """
    found = [np.unique(frame, return_inverse=True, return_counts=True) for frame in frames]
    every, where = np.unique(np.concatenate([colours for colours, _, _ in found]), return_inverse=True)
    seen = np.bincount(where.ravel(), weights=np.concatenate([counts for _, _, counts in found]))
    kept = every[np.argsort(-seen, kind="stable")[:COLOURS]]
    apart = _parts(every)[:, None, :] - _parts(kept)[None, :, :]
    nearest = np.argmin((apart**2).sum(axis=2), axis=1).astype(np.uint8)
    return _parts(kept).astype(np.uint8), [
        nearest[np.searchsorted(every, colours)][inverse].reshape(frame.shape) for frame, (colours, inverse, _) in zip(frames, found, strict=True)
    ]


def _parts(colours: Array) -> Array:
    return np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=-1).astype(np.int32)
