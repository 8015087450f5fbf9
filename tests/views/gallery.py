"""One page with every picture in every palette, to be looked at: ``python tests/views/gallery.py gallery.html``."""

from __future__ import annotations

import base64
import html
import io
import sys
from collections.abc import Callable
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

import tensorviz as tv
from tensorviz.trace import Trace
from tensorviz.views.formulas import formula
from tensorviz.views.mathml import mathml
from tensorviz.views.palette import PALETTES


def broadcast() -> Trace:
    """``((X + b) ** 2).sum()``: b is copied down the rows of X."""
    X = tv.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True, name="X")
    b = tv.tensor([0.1, 0.2, 0.3], requires_grad=True, name="b")
    L = ((X + b) ** 2).sum()
    return L.backward()


def staged() -> Trace:
    """A staged expression at (3, -4): x is used three times, y twice."""
    x, y = tv.tensor(3.0, requires_grad=True, name="x"), tv.tensor(-4.0, requires_grad=True, name="y")
    sigy = tv.sigmoid(y)
    num = x + sigy
    sigx = tv.sigmoid(x)
    xpy = x + y
    xpysqr = xpy**2
    den = sigx + xpysqr
    invden = 1.0 / den
    f = num * invden
    return f.backward()


def tie() -> Trace:
    """A maximum over rows, with a tie in the first and an infinity in the second."""
    A = tv.tensor([[0.2, 1.5, 1.5, -0.3], [-np.inf, 0.7, 2.1, 0.4], [3.0, -1.2, 0.8, 2.9]], requires_grad=True, name="A")
    w = tv.tensor([1.0, -2.0, 0.5], requires_grad=True, name="w")
    m = A.max(axis=1)
    L = w @ m
    return L.backward()


def attention() -> Trace:
    """One head of attention over four positions."""
    draw = np.random.default_rng(0)
    x = tv.tensor(draw.normal(size=(4, 3)).round(1), name="x")
    Wq, Wk, Wv = (tv.tensor(draw.normal(size=(3, 2)).round(1), requires_grad=True, name=name) for name in ("Wq", "Wk", "Wv"))
    with tv.scope("attention"):
        Q, K, V = x @ Wq, x @ Wk, x @ Wv
        S = Q @ K.T / np.sqrt(2)
        P = tv.softmax(S, axis=1)
        O = P @ V
    loss = (O**2).mean()
    return loss.backward()


def born() -> Trace:
    """An overflow, NaN from two infinities, and the slope of sqrt at 0."""
    a, z = tv.tensor([1e200, 2.0], requires_grad=True, name="a"), tv.tensor([0.0, 4.0], requires_grad=True, name="z")
    with np.errstate(all="ignore"):
        sq = a * a
        r, s = sq - sq, np.sqrt(z)
        L = (r + s).sum()
        return L.backward()


def cut() -> Trace:
    """A value that is detached, and a gradient that is zero throughout."""
    x, dead = tv.tensor([1.0, -2.0], requires_grad=True, name="x"), tv.tensor([-1.0, -3.0], requires_grad=True, name="dead")
    u = x.detach()
    z = (x * u + tv.relu(dead)).sum()
    return z.backward()


def layers() -> Trace:
    """A net of twelve layers in scopes, which are collapsed."""
    draw = np.random.default_rng(1)
    h: Any = tv.tensor(draw.normal(size=(8, 16)), name="data")
    for i in range(12):
        with tv.scope(f"layer{i}"):
            W = tv.tensor(draw.normal(size=(16, 16)) / 4, requires_grad=True, name=f"W{i}")
            c = tv.tensor(np.zeros(16), requires_grad=True, name=f"c{i}")
            h = tv.relu(h @ W + c)
    loss = (h**2).mean()
    return loss.backward()


TRACES: dict[str, Callable[[], Trace]] = {f.__name__: f for f in (broadcast, staged, tie, attention, born, cut, layers)}


def pictures(name: str, trace: Trace, palette: str) -> dict[str, str]:
    """Title and markup of every picture of one trace in one palette."""
    last = len(trace.steps) - 1
    found = {
        "whole pass": trace.to_svg(palette=palette),
        f"after step {last // 2}": trace.to_svg(step=last // 2, palette=palette),
        "downwards": trace.to_svg(direction="TB", palette=palette),
        "film": trace.to_svg(steps=sorted({0, last // 4, last // 2, 3 * last // 4, last}), palette=palette),
        "animation": trace.to_animated_svg(palette=palette),
    }
    if name in ("attention", "layers"):
        del found["downwards"]
    return found


def plotted(trace: Trace, palette: str) -> dict[str, str]:
    """The plots, where matplotlib is installed."""
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        return {}
    from tensorviz.views import plots

    plt.switch_backend("Agg")
    key = next(n.id for n in trace.nodes if n.is_leaf and n.shares)
    found = {}
    for title, draw in (
        ("gradient norms", lambda: plots.gradient_norms(trace, palette=palette)),
        ("a share", lambda: plots.share_heatmap(trace, key, palette=palette, log=trace.node(key).value.size > plots.MOST_NUMBERS)),
        ("error of differences", lambda: plots.error_curve(trace, key, palette=palette)),
    ):
        ax = draw()
        file = io.BytesIO()
        ax.figure.savefig(file, dpi=96)  # type: ignore[union-attr]
        plt.close(ax.figure)  # type: ignore[arg-type]
        found[title] = f'<img alt="{title}" src="data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}">'
    return found


STYLE = """
body{margin:24px;font:16px/1.4 sans-serif;background:#eef0f2;color:#16191d}
.row{align-items:flex-start}section{margin:0 0 32px}h2{margin:32px 0 8px}h3{margin:16px 0 6px;font-size:15px;font-weight:600}
figure{margin:0 0 12px;overflow-x:auto;border:1px solid #ccd2d8;background:#fff;width:fit-content;max-width:100%}
figure>*{display:block}.row{display:flex;flex-wrap:wrap;gap:12px}math{margin:6px 12px}.tv-gradient{color:#b23a00}.tv-value{color:#0a5796}
"""


def build(
    path: str | PathLike[str], *, palettes: tuple[str, ...] = tuple(PALETTES), traces: tuple[str, ...] = tuple(TRACES), plots: bool = True
) -> str:
    """Write the page and give its text: for every trace and palette the stills, a film, an animation, plots and formulas."""
    out = []
    for name in traces:
        trace = TRACES[name]()
        out.append(f'<h2 id="{name}">{html.escape((TRACES[name].__doc__ or name).strip())}</h2>')
        for palette in palettes:
            out.append(f'<section data-trace="{name}" data-palette="{palette}"><h3>{palette}</h3>')
            for title, markup in pictures(name, trace, palette).items():
                out.append(f'<figure title="{html.escape(title)}">{markup}</figure>')
            if plots:
                shown = "".join(f'<figure title="{title}">{markup}</figure>' for title, markup in plotted(trace, palette).items())
                out.append(f'<div class="row">{shown}</div>')
            out.append("</section>")
        shares = [formula(trace, share) for node in trace.nodes for share in node.shares][:12]
        out.append(f'<h3>formulas</h3><figure title="formulas">{"".join(mathml(f) + mathml(f, numbers=True) for f in shares)}</figure>')
    page = f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>tensorviz pictures</title><style>{STYLE}</style>\n{"".join(out)}</html>\n'
    Path(fspath(path)).write_text(page, encoding="utf-8", newline="\n")
    return page


if __name__ == "__main__":
    target = sys.argv[1] if len(sys.argv) > 1 else "gallery.html"
    print(f"{target}: {len(build(target)):,} characters")
