"""Plots with matplotlib: gradient norms through a pass, one share as a heat map, the error of finite differences. Imports trace and other views only.

Each takes an ``ax`` and returns it; without one a new figure is made. matplotlib is loaded when a plot is asked for.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tensorviz.arguments import element, flag, is_list, number, one_of, shown
from tensorviz.axes import in_words
from tensorviz.errors import DTypeError, IndexingError, MissingExtraError, OptionError, OptionTypeError
from tensorviz.trace import Array, Share, Trace, TraceNode
from tensorviz.views import format as fmt
from tensorviz.views import text
from tensorviz.views.captions import title as title_of
from tensorviz.views.labels import grid
from tensorviz.views.palette import MOST, STEEPNESS, Tokens, mix
from tensorviz.views.palette import palette as tokens_of
from tensorviz.views.paragraph import wrap
from tensorviz.views.scale import scale_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LINES = 6
"""Leaves that have a line each in a plot of many passes."""
_DASHES: tuple[Any, ...] = ("-", (0, (4, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (8, 3)))
MOST_NAMES = 40
"""Nodes that are named under an axis; of more, every second or third is."""
DECADES = 6
"""Of the log scale, as in the stepper: what is a millionth of the largest has no colour left."""
MOST_NUMBERS = 100
"""Cells in which numbers are printed, where there is room for them."""
WIDEST, HIGHEST = 14.0, 10.0
"""Inches of a figure of our own."""
MARGINS = 1.8, 1.2
"""Inches of it that a heat map leaves to its words and its scale."""
LEAST_ROW = 0.25
"""Inches in which a line of numbers can be read."""
BAR = 0.14
"""Inches across the scale beside a heat map."""
FLAT = 0.9
"""Inches of height below which the numbers of a scale would touch, so that it lies below the map."""
FAINT = 0.05
"""Of the full colour: where no cell has more, nothing is seen."""
ARRAYS = ("value", "local", "total")
TICK, TITLE, GAP = 10.0, 11.0, 6.0
"""Points of the letters under an axis and of a title, and between two names under an axis."""
PAD = 0.1
"""Inches around what stands in a figure."""
STEPS = tuple(10.0 ** (k / 2) for k in range(-32, 1))
"""Half decades from 1e-16 to 1."""


def gradient_norms(trace: Trace, ax: Axes | None = None, *, palette: str = "light") -> Axes:
    """The norm of every node's gradient, in the order in which the pass completes them, on a log scale.

    Forks are marked with the number of shares that were added, nodes whose share was summed over broadcast axes with those axes. A gradient that is
    zero throughout stands at the bottom, one without a finite entry at the top; entries that are NaN or infinite are left out of the norm and said.

    Raises
    ------
    ValueError
        For a trace without steps, and for a palette that does not exist.
    MissingExtraError
        Without matplotlib.

    """
    tokens = tokens_of(palette, "gradient_norms")
    _check_trace("gradient_norms", trace)
    order = _completed(trace)
    if not order:
        raise OptionError("this trace has no steps: backward has not been called")
    ax = _axes("gradient_norms", ax, tokens, (max(6.4, min(16.0, 1.5 + 0.42 * len(order))), 4.2))
    nodes = [trace.nodes[i] for i in order]
    arrays = [np.asarray(node.cotangent) for node in nodes]
    norms = np.array([fmt.norm(array) for array in arrays])
    strange = np.array([bool(fmt.specials(array)) for array in arrays])
    usable = norms > 0
    low, high = (norms[usable].min(), norms[usable].max()) if usable.any() else (0.1, 1.0)
    floor, roof = low / 10, high * 10
    shown = np.where(usable, norms, np.where(strange, roof, floor))
    x = np.arange(len(order))
    ax.set_yscale("log")
    ax.plot(x, np.where(usable, norms, np.nan), color=tokens["gline"], linewidth=1.2, linestyle=(0, (4, 2)), zorder=2)
    kinds = (
        ("op", "o", "result of an op"),
        ("leaf", "s", "leaf"),
        ("parameter", "H", "parameter"),
        ("detached", "D", "detached"),
        ("constant", "s", "constant"),
    )
    for kind, marker, word in kinds:
        mine = np.array([node.kind == kind for node in nodes]) & ~strange
        if mine.any():
            # A small hexagon looks like a circle, so parameters are filled.
            inside = tokens["gline" if kind == "parameter" else "done"]
            ax.scatter(x[mine], shown[mine], 54, inside, marker=marker, edgecolors=tokens["gline"], linewidths=1.6, zorder=4, label=word)
    if strange.any():
        ax.scatter(x[strange], shown[strange], 60, tokens["err"], marker="X", linewidths=0, zorder=4, label="holds NaN or infinity")
    for i, node in enumerate(nodes):
        words = _marks(node, arrays[i], usable[i])
        if words:
            bold = tokens["err"] if strange[i] else tokens["ink"]
            ground = {"facecolor": tokens["bg"], "edgecolor": "none", "alpha": 0.85, "pad": 1.0}  # the line goes on behind the words
            up, lean = _roomier(shown, i)
            offset, side = (5 * lean, 9 if up else -9), "bottom" if up else "top"
            ax.annotate(
                "\n".join(words),
                (x[i], shown[i]),
                offset,
                textcoords="offset points",
                ha=_TOWARDS[lean],
                va=side,
                fontsize=9,
                color=bold,
                bbox=ground,
            )
    zero, nowhere = ~usable & ~strange, ~usable & strange
    for end, some in ((floor, zero), (roof, nowhere)):
        if some.any():  # a line, since no height there is a norm
            ax.axhline(end, color=tokens["hair2"], linewidth=0.8, linestyle=":", zorder=1)
    ax.set_ylim((floor if zero.any() else low) / 3, roof * (4 if nowhere.any() else 1))
    every = max(1, math.ceil(len(order) / MOST_NAMES))
    names = [_name(node) for node in nodes[::every]]
    turned = len(order) > 8 or _crowded(names, 72 * _room(ax)[0] / len(names))
    ax.set_xticks(x[::every], names, rotation=60 if turned else 0, ha="right" if turned else "center")
    ax.set_xlim(-0.6, len(order) - 0.4)
    ax.set_ylabel("norm of the gradient, ‖∂‖")
    ax.set_xlabel("nodes in the order in which their gradients are complete")
    _legend(ax, tokens)
    return ax


def training(history: Any, ax: Axes | None = None, *, palette: str = "light") -> Axes:
    """The value and the norms of the gradients over the passes of a ``tv.history()``, both on log scales where they are positive.

    Up to six leaves have a line each; of more the range of all is filled, with the lines of the largest and of the smallest at the end. The first
    pass with a NaN or an infinity is marked.

    Raises
    ------
    TypeError, ValueError
        For what is no history, one without passes, and a palette that does not exist.
    MissingExtraError
        Without matplotlib.

    """
    tokens = tokens_of(palette, "training")
    if not all(hasattr(history, name) for name in ("rows", "values", "names", "bad")):
        raise DTypeError(f"training: history must be what tv.history() gives, got {shown(history)}")
    if not history.rows:
        raise OptionError("training: no pass was made in the block of this history")
    ax = _axes("training", ax, tokens, (8.0, 4.2))
    x = np.array([row.number for row in history.rows])
    norms = {name: np.where(np.isfinite(history[name]) & (history[name] > 0), history[name], np.nan) for name in history.names}
    if norms:
        ax.set_yscale("log")
    lines = list(norms.items())
    if len(lines) > MOST_LINES:
        every = np.array([line for _, line in lines])
        full = ~np.isnan(every).all(axis=0)
        low, high = (np.full(len(x), np.nan) for _ in range(2))
        low[full], high[full] = np.nanmin(every[:, full], axis=0), np.nanmax(every[:, full], axis=0)
        ax.fill_between(x, low, high, color=tokens["gline"], alpha=0.15, linewidth=0, label=f"‖∂‖ of all {len(lines)} leaves")
        last = int(np.flatnonzero(full)[-1]) if full.any() else 0
        ordered = sorted((pair for pair in lines if not np.isnan(pair[1][last])), key=lambda pair: pair[1][last])
        lines = [ordered[-1], ordered[0]] if len(ordered) > 1 else ordered
    for (name, line), dashes in zip(lines, itertools.cycle(_DASHES)):
        ax.plot(x, line, color=tokens["gline"], linestyle=dashes, linewidth=1.4, marker="o" if len(x) == 1 else "", label=f"‖∂{text.cut(name, 30)}‖")
    right = ax.twinx()
    right.tick_params(colors=tokens["val"], which="both")
    for spine in right.spines.values():
        spine.set_visible(False)
    values = np.where(np.isfinite(history.values), history.values, np.nan)
    if (values[~np.isnan(values)] > 0).all() and not np.isnan(values).all():
        right.set_yscale("log")
    right.plot(x, values, color=tokens["val"], linewidth=2.2, marker="o" if len(x) == 1 else "", label="value")
    right.set_ylabel("value of the root", color=tokens["val"])
    if history.bad is not None:
        ax.axvline(history.bad, color=tokens["err"], linewidth=1.2)
        near_end = history.bad - x[0] > (x[-1] - x[0]) / 2
        ax.annotate(
            f"pass {history.bad}: NaN or infinity",
            (history.bad, 1),
            (-6 if near_end else 6, -12),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="right" if near_end else "left",
            color=tokens["err"],
            bbox={"facecolor": tokens["bg"], "edgecolor": "none", "alpha": 0.85, "pad": 1.0},
        )
    room = max(0.5, 0.02 * (x[-1] - x[0]))
    ax.set_xlim(x[0] - room, x[-1] + room)
    ax.set_xlabel("pass")
    ax.set_ylabel("norm of the gradient, ‖∂‖")
    handles = [*ax.get_legend_handles_labels()[0], *right.get_legend_handles_labels()[0]]
    right.legend(handles=handles, frameon=False, fontsize=9, labelcolor=tokens["ink2"], loc="best")
    return ax


def share_heatmap(
    trace: Trace,
    key: Any,
    share: int = 0,
    ax: Axes | None = None,
    *,
    array: str = "value",
    palette: str = "light",
    colorbar: bool = True,
    log: bool = False,
) -> Axes:
    """One share of a node's gradient as a heat map, coloured as in the pictures: diverging, the same scale for the whole pass, steep near zero.

    ``share`` is its position in ``trace.node(key).shares``. ``array`` is ``"value"`` (the share as it arrives), ``"local"`` (before broadcast axes are
    summed) or ``"total"`` (the running sum after it). The last axis runs to the right, all others downwards. ``log`` spreads the colours over six powers
    of ten, as the stepper's log scale does: for shares that are small beside the largest gradient of the pass.

    Raises
    ------
    ValueError, IndexError, KeyError
        For an array, a share or a node that does not exist; the message says what there is.
    MissingExtraError
        Without matplotlib.

    """
    tokens = tokens_of(palette, "share_heatmap")
    _check_trace("share_heatmap", trace)
    one_of("share_heatmap", "array", array, ARRAYS)
    flag("share_heatmap", "colorbar", colorbar)
    flag("share_heatmap", "log", log)
    node = trace.node(key)
    found = _share(node, share)
    values = np.asarray(getattr(found, array), dtype=np.float64)
    if not values.size:
        raise OptionError(f"share {share} of {title_of(node)} is empty: shape {fmt.shape(values.shape)}")
    table = values.reshape(grid(values.shape))
    rows, cols = table.shape
    words = fmt.cells(values) if table.size <= MOST_NUMBERS else []
    # Inches of a cell: as wide as the longest number in it, in letters of 10 points that are 0.602 of that wide.
    _check_axes("share_heatmap", ax)
    room = _room(ax)
    wide, high = max(0.62, 0.16 + 0.0836 * max(map(len, words), default=0)), min(0.42, room[1] / rows)
    numbers = bool(words) and wide * cols <= room[0] and high >= LEAST_ROW
    aspect: float | Literal["auto"] = high / wide if numbers else "auto" if max(rows, cols) > 6 * min(rows, cols) else 1.0
    # Inches of the map; of a long one without numbers the cells are as high or wide as there is room.
    across = room[0] if ax is not None else max(1.8, min(room[0], (wide if numbers else 0.42) * cols))
    down = max(1.2, min(room[1], 0.42 * rows)) if aspect == "auto" else min(room[1], across * rows / cols * float(aspect))
    flat = down < FLAT
    size = (across + MARGINS[0], down * (across + 1.2) / across + 1.8) if flat else (across + MARGINS[0], down + MARGINS[1])
    ax = _axes("share_heatmap", ax, tokens, size, compress=True)
    from matplotlib.colors import AsinhNorm, LinearSegmentedColormap, SymLogNorm

    strength = MOST if numbers else 1.0
    ends = [mix(tokens["gneg"], tokens["cell0"], strength), tokens["cell0"], mix(tokens["gpos"], tokens["cell0"], strength)]
    colours = LinearSegmentedColormap.from_list("gradient", ends).with_extremes(bad=tokens["errbg"] if numbers else tokens["err"])
    most = scale_of(trace).gradient or 1.0
    scale = SymLogNorm(most / 10**DECADES, vmin=-most, vmax=most) if log else AsinhNorm(most / STEEPNESS, vmin=-most, vmax=most)
    image = ax.imshow(
        np.ma.masked_invalid(table),
        cmap=colours,
        norm=scale,
        aspect=aspect,
    )
    if numbers:
        _print(ax, table, words, tokens)
    for spine in ax.spines.values():
        spine.set_visible(True)  # or a cell of zero would have no border
    ax.set_xticks([] if not values.ndim else range(cols) if cols <= 16 else range(0, cols, math.ceil(cols / 12)))
    ax.set_yticks([] if values.ndim < 2 else range(rows) if rows <= 16 else range(0, rows, math.ceil(rows / 12)))
    if values.ndim:
        ax.set_xlabel(f"axis {values.ndim - 1}")
    if values.ndim > 1:
        ax.set_ylabel("axis 0" if values.ndim == 2 else f"axes 0 to {values.ndim - 2}, in row-major order")
    peak = float(np.abs(table[np.isfinite(table)]).max(initial=0.0))
    faint = not (numbers or log) and 0 < math.asinh(STEEPNESS * peak / most) < FAINT * math.asinh(STEEPNESS)
    hint = f"\nat most {fmt.number(peak)} where the pass has {fmt.number(most)}: log=True shows it" if faint else ""
    _title(ax, _told(trace, node, found, share, array) + hint, tokens)
    if colorbar:
        inner = most / (10 ** (DECADES / 2) if log else 10)
        _colorbar(ax, image, [-most, -inner, 0, inner, most], tokens, flat)
    return ax


def error_curve(
    trace: Trace,
    key: Any,
    index: Sequence[int] | None = None,
    ax: Axes | None = None,
    *,
    steps: Sequence[float] | None = None,
    palette: str = "light",
) -> Axes:
    """The relative error of central differences against their step ``h``, for one element of a node's gradient; both axes are logarithmic.

    Small steps drown in round-off, which falls with 1/h, large ones in the curvature, which rises with h²: the valley between is where a check can
    judge. The recorded graph is replayed with the element moved by h, in float64. ``index`` is the element, by default the one with the largest
    gradient; ``steps`` are the values of h, by default half decades from 1e-16 to 1 times max(1, abs(x)).

    Raises
    ------
    ValueError, IndexError, KeyError
        For a node without a gradient, an element or a step that does not exist, and a trace with several roots.
    MissingExtraError
        Without matplotlib.

    """
    tokens = tokens_of(palette, "error_curve")
    _check_trace("error_curve", trace)
    node = trace.node(key)
    place, analytic, x = _element(trace, node, index)
    listed: Any = steps
    if steps is not None and not is_list(listed):
        raise OptionTypeError(f"error_curve: steps must be positive finite numbers, at least one, got {shown(steps)}")
    given = [h * max(1.0, abs(x)) for h in STEPS] if steps is None else [number("error_curve", "a step", h, above=0, finite=True) for h in listed]
    if not given:
        raise OptionError("error_curve: steps must be positive finite numbers, at least one, got none")
    ax = _axes("error_curve", ax, tokens, (6.8, 4.4))
    errors = differences(trace, node, place, analytic, given)
    h = np.array(given)
    exact, wild = errors == 0, ~np.isfinite(errors)
    floor = 10.0 ** math.floor(min([-17.0, *np.log10(errors[~exact & ~wild])]))
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.plot(
        h,
        np.where(exact | wild, np.nan, errors),
        color=tokens["gline"],
        linewidth=1.8,
        marker="o",
        markersize=4.5,
        label="_" if (exact | wild).all() else "|a − n| / max(|a|, |n|)",
    )
    if exact.any():
        ax.scatter(h[exact], np.full(exact.sum(), floor), 40, tokens["gline"], marker="v", label="no difference at all")
    if wild.any():
        ax.scatter(h[wild], np.full(wild.sum(), 2.0), 40, tokens["err"], marker="X", label="NaN or infinity")
    usable = ~wild
    if usable.any() and np.ptp(errors[usable]) > 0:
        best = _valley(np.where(usable, errors, np.inf))
        right = 2 * np.log10(h[best]) > np.log10(h.min()) + np.log10(h.max())  # beyond the middle, the words stand before the line
        ax.axvline(h[best], color=tokens["nowink"], linewidth=1, linestyle=(0, (2, 2)))
        ax.annotate(
            f"best h = {fmt.number(float(h[best]), 2)}",
            (float(h[best]), 1.0),
            (-6 if right else 6, -4),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="right" if right else "left",
            va="top",
            color=tokens["nowink"],
            fontsize=10,
        )
    ax.axhline(1e-3, color=tokens["ok"], linewidth=1, linestyle=(0, (6, 3)), label="rtol of a check, 1e−3")
    ax.set_ylim(floor / 3, 100)  # an error is 2 at most; above it there is room for words
    ax.set_yticks(10.0 ** np.arange(0, math.log10(floor), -2))
    ax.set_xlabel("step h")
    ax.set_ylabel("relative error")
    entry = f"[{', '.join(map(str, place))}]" if place else ""
    _title(ax, f"∂{_name(node)}{entry} = {fmt.number(analytic)} against central differences", tokens)
    # Round-off is large at the left, so below it there is room, unless exact steps stand there.
    _legend(ax, tokens, "best" if exact.any() else "lower left")
    return ax


def differences(trace: Trace, node: TraceNode, place: tuple[int, ...], analytic: float, steps: Sequence[float]) -> Array:
    """Per step h the relative error of (f(x + h) - f(x - h)) / 2h, where f is the root weighted with its seed.

    The moves are those that floating point makes of x + h and x - h. NaN where the result is not finite.
    """
    seed = next(step.after for step in trace.data.steps if step.kind == "seed")
    weights = np.ones(trace.nodes[trace.roots[0]].shape) if seed is None else np.asarray(seed, dtype=np.float64)
    base = np.array(node.value, dtype=np.float64)
    out = []
    with np.errstate(all="ignore"):
        for h in steps:
            moved = []
            for to in (base[place] + h, base[place] - h):
                value = base.copy()
                value[place] = to
                moved.append((to, float((np.asarray(trace.replay({node.id: value}, dtype=np.float64)) * weights).sum())))
            (right, up), (left, down) = moved
            numeric = (up - down) / (right - left) if right != left else 0.0
            top = max(abs(analytic), abs(numeric))
            out.append(abs(analytic - numeric) / top if top else 0.0)
    return np.array(out)


def _valley(errors: Array) -> int:
    """The smallest error at or beside where it is small with both of its neighbours, so that a lucky zero among round-off is not taken for the best; of several the middle.

    >>> _valley(np.array([1.0, 0.0, 1.0, 0.1, 0.1, 0.1, 1.0])), _valley(np.array([1.0, 0.3, 0.2, 0.1, 0.5, 1.0]))
    (4, 3)
    """
    around = np.concatenate([errors[:1], errors, errors[-1:]])
    worst = np.maximum(np.maximum(around[:-2], around[1:-1]), around[2:])
    least = np.flatnonzero(worst == worst.min())
    middle = int(least[len(least) // 2])
    return min((middle, *(i for i in (middle - 1, middle + 1) if 0 <= i < len(errors))), key=errors.__getitem__)


# ---- what is drawn -----------------------------------------------------------------------------------------------


def _check_trace(function: str, trace: Any) -> None:
    if not isinstance(trace, Trace):
        raise DTypeError(f"{function} takes a Trace (what backward() returns), got {shown(trace)}")


def _completed(trace: Trace) -> list[int]:
    """Nodes that got a gradient, in the order in which their last share (or the seed) arrived."""
    last: dict[int, int] = {}
    for k, step in enumerate(trace.data.steps):
        if step.kind in ("seed", "accumulate"):
            last[step.node] = k
    return [i for i in sorted(last, key=last.__getitem__) if trace.nodes[i].cotangent is not None]


_TOWARDS = {-1: "left", 0: "center", 1: "right"}
"""How words end that keep away from a point to the left, from none, from one to the right."""


def _roomier(heights: Array, i: int) -> tuple[bool, int]:
    """Whether the points beside one leave its words more room above it than below, on a log scale; and which of the two stands on that side.

    >>> _roomier(np.array([1.0, 2.0, 8.0]), 1)
    (True, 1)
    """
    here = heights[i]
    others = {side: heights[i + side] for side in (-1, 1) if 0 <= i + side < len(heights)}
    above, below = ({side: h for side, h in others.items() if higher(h, here)} for higher in (np.greater, np.less))
    up = not above or (bool(below) and min(above.values()) / here >= here / max(below.values()))
    return up, sum(above if up else below)


def _crowded(names: Sequence[str], room: float) -> bool:
    """Whether two neighbours under an axis would touch where each has so many points for itself."""
    return any((text.letters(a) + text.letters(b)) / 2 * TICK + GAP > room for a, b in itertools.pairwise(names))


def _marks(node: TraceNode, array: Array, usable: bool) -> list[str]:
    words = []
    if fmt.specials(array):
        words.append(fmt.specials(array))
    elif not usable:
        words.append("0")
    summed = dict.fromkeys(in_words(share.summed_axes) for share in node.shares if share.summed_axes)
    words += [f"Σ {axes}" for axes in summed]
    if len(node.shares) > 1:
        words.append(f"Σ {len(node.shares)} shares")
    return words


def _name(node: TraceNode) -> str:
    title = title_of(node)
    return text.cut(title, round(16 * len(title) / max(1.0, text.units(title)))).replace("$", r"\$")


def _share(node: TraceNode, position: Any) -> Share:
    if isinstance(position, bool) or not isinstance(position, (int, np.integer)):
        raise DTypeError(f"share_heatmap: share must be an int, got {shown(position)}")
    if not node.shares:
        raise IndexingError(f"{title_of(node)} received no share")
    if not -len(node.shares) <= position < len(node.shares):
        raise IndexingError(
            f"{title_of(node)} received {fmt.counted(len(node.shares), 'share')}, 0 to {len(node.shares) - 1}; there is no share {position}"
        )
    return node.shares[position]


def _told(trace: Trace, node: TraceNode, share: Share, position: int, array: str) -> str:
    sender = _name(trace.nodes[share.consumer])
    which = f"share {position % len(node.shares) + 1} of {len(node.shares)}" if len(node.shares) > 1 else "only share"
    what = {
        "value": which,
        "local": f"{which}, before {_summed(share)}" if share.summed_axes else which,
        "total": f"sum after {which}",
    }
    return f"∂{_name(node)}: {what[array]}, from {sender}"


def _summed(share: Share) -> str:
    """In one piece where a title is broken."""
    return f"Σ {in_words(share.summed_axes)}".replace(" ", "\xa0")


def _print(ax: Axes, table: Array, words: Sequence[str], tokens: Tokens) -> None:
    for i, word in enumerate(words):
        row, col = divmod(i, table.shape[1])
        x = float(table[row, col])
        colour = tokens["err"] if math.isnan(x) else tokens["ink"] if math.isinf(x) else tokens["ink2"] if x == 0 else tokens["gradink"]
        ax.text(col, row, word, ha="center", va="center", color=colour, fontsize=10, family="monospace", weight="normal" if x == 0 else "bold")


def _element(trace: Trace, node: TraceNode, index: Sequence[int] | None) -> tuple[tuple[int, ...], float, float]:
    if len(trace.roots) != 1:
        raise OptionError(f"the curve is drawn for one root, and this trace has {len(trace.roots)}")
    if node.cotangent is None:
        raise OptionError(f"{title_of(node)} has no gradient to compare with")
    if index is None:
        sizes = np.abs(np.where(np.isfinite(node.cotangent), node.cotangent, 0.0))
        if not sizes.size:
            raise OptionError(f"{title_of(node)} is empty: shape {fmt.shape(node.shape)}")
        place = tuple(int(i) for i in np.unravel_index(int(sizes.argmax()), node.shape))
    else:
        place = element(f"error_curve of {title_of(node)}", index, node.shape)
    return place, float(node.cotangent[place]), float(node.value[place])


# ---- matplotlib --------------------------------------------------------------------------------------------------


def _axes(where: str, ax: Axes | None, tokens: Tokens, size: tuple[float, float], *, compress: bool = False) -> Axes:
    """The axes that were given, or those of a new figure, in the colours of the palette; ``compress`` where they keep their shape."""
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise MissingExtraError("plots need matplotlib, which a plain install leaves out: pip install 'tensorviz-backward[lab]'") from error
    _check_axes(where, ax)
    if ax is None:
        from matplotlib.layout_engine import ConstrainedLayoutEngine

        figure, ax = plt.subplots(figsize=size, layout=ConstrainedLayoutEngine(w_pad=PAD, h_pad=PAD, compress=compress))
        figure.set_facecolor(tokens["bg"])
    ax.set_facecolor(tokens["bg"])
    for side, spine in ax.spines.items():
        spine.set_color(tokens["hair2"])
        spine.set_visible(side in ("left", "bottom"))
    ax.tick_params(colors=tokens["ink2"], which="both")
    ax.xaxis.label.set_color(tokens["ink2"])
    ax.yaxis.label.set_color(tokens["ink2"])
    return ax


def _check_axes(where: str, ax: Any) -> None:
    if ax is not None and not hasattr(ax, "set_facecolor"):
        raise DTypeError(f"{where}: ax must be matplotlib axes or None, got {shown(ax)}")


def _room(ax: Axes | None) -> tuple[float, float]:
    """Inches that there are for a plot: of the axes that were given, else of the largest figure of our own."""
    if ax is None:
        return WIDEST - MARGINS[0], HIGHEST - MARGINS[1]
    box = ax.get_window_extent()
    return box.width / ax.figure.dpi, box.height / ax.figure.dpi


def _title(ax: Axes, words: str, tokens: Tokens) -> None:
    """In as many lines as the width asks for: matplotlib makes no room for a title at the sides."""
    width = _room(ax)[0] * 72
    lines = [part for line in words.split("\n") for part in wrap(line, width, TITLE)]
    ax.set_title("\n".join(lines), color=tokens["ink"], fontsize=TITLE)


def _colorbar(ax: Axes, image: Any, ticks: list[float], tokens: Tokens, flat: bool) -> None:
    """The scale of a heat map, beside it and as high; below a ``flat`` one, as wide, where its numbers would touch."""
    (rows, cols), (width, height), aspect = image.get_array().shape, _room(ax), ax.get_aspect()
    if aspect != "auto":
        shape = rows / cols * float(aspect)
        width, height = min(width, height / shape), min(height, width * shape)
    along, across = (width, height) if flat else (height, width)
    words = [fmt.number(t) for t in ticks]
    if flat and max(map(text.letters, words)) * TICK + GAP > 72 * width / len(ticks):
        ticks, words = ticks[::2], words[::2]
    # The map may grow until it fills the figure, and a scale that is asked to be too slender is as long as the map and thinner.
    bar = ax.figure.colorbar(image, ax=ax, location="bottom" if flat else "right", fraction=min(0.5, 1.5 * BAR / across), aspect=1.3 * along / BAR)
    bar.ax.minorticks_off()
    bar.set_ticks(ticks, labels=words)
    bar.ax.tick_params(colors=tokens["ink2"])
    bar.outline.set_edgecolor(tokens["hair2"])


def _legend(ax: Axes, tokens: Tokens, where: Literal["best", "lower left"] = "best") -> None:
    found = ax.legend(frameon=False, fontsize=9, labelcolor=tokens["ink2"], loc=where)
    found.set_zorder(1)
