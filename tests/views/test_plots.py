"""Plots: what stands in the axes, that given axes are used, and what is said where there is nothing to plot."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensorviz as tv
from tensorviz.errors import MissingExtraError
from tensorviz.trace import Trace
from tensorviz.views import plots
from tensorviz.views.palette import PALETTES, contrast
from views import circuits

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def _no_windows() -> Iterator[None]:
    from matplotlib import pyplot as plt

    plt.switch_backend("Agg")
    yield
    plt.close("all")


def names(axis: object) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels()]  # type: ignore[attr-defined]


def written(ax: object) -> list[str]:
    return [t.get_text() for t in ax.texts]  # type: ignore[attr-defined]


# ---- norms -------------------------------------------------------------------------------------------------------


def test_norms_stand_in_the_order_of_the_pass() -> None:
    ax = plots.gradient_norms(circuits.broadcast())
    # L = sum((X + b) ** 2); the names of unnamed ops are the expressions of their source
    assert names(ax.xaxis)[0] == "L"
    assert names(ax.xaxis)[-2:] == ["X", "b"]
    line = ax.lines[0].get_ydata()
    g = 2 * np.array([[1.1, 2.2, 3.3], [4.1, 5.2, 6.3]])
    assert np.allclose(line, [1.0, np.sqrt(6), np.linalg.norm(g), np.linalg.norm(g), np.linalg.norm(g.sum(0))])
    assert ax.get_yscale() == "log"
    assert "Σ axis 0" in written(ax)


def test_forks_say_how_many_shares_were_added() -> None:
    ax = plots.gradient_norms(circuits.staged())
    assert "Σ 3 shares" in written(ax)
    assert "Σ 2 shares" in written(ax)


@pytest.mark.parametrize(("weights", "side"), [([[1.0, 2.0], [1.0, 2.0]], "bottom"), ([[1.0, 2.0], [-1.0, -1.9]], "top")])
def test_words_stand_above_or_below_their_point_where_the_one_beside_it_is_not(weights: list[list[float]], side: str) -> None:
    X = tv.tensor(np.ones((2, 2)), requires_grad=True, name="X")
    b = tv.tensor(np.ones(2), requires_grad=True, name="b")
    ax = plots.gradient_norms(((X + b) * weights).sum().backward())
    assert names(ax.xaxis)[-2:] == ["X", "b"]  # the gradient of b is 2.2 or 0.03 times that of X
    assert [(t.get_text(), t.get_va()) for t in ax.texts] == [("Σ axis 0", side)]


def test_no_words_cover_a_point_where_points_are_many() -> None:
    draw = np.random.default_rng(1)
    h: Any = tv.tensor(draw.normal(size=(8, 16)), name="data")
    for i in range(12):
        W = tv.tensor(draw.normal(size=(16, 16)) / 4, requires_grad=True, name=f"W{i}")
        h = tv.relu(h @ W + tv.tensor(np.zeros(16), requires_grad=True, name=f"c{i}"))
    ax = plots.gradient_norms((h**2).mean().backward())
    ax.figure.canvas.draw()
    points = np.concatenate([ax.transData.transform(some.get_offsets()) for some in ax.collections])
    extents = [word.get_window_extent() for word in ax.texts]
    assert len(extents) == 12
    assert not any(e.x0 < x < e.x1 and e.y0 < y < e.y1 for e in extents for x, y in points)


def test_zero_and_nan_gradients_are_marked_not_lost() -> None:
    t = circuits.Tape()
    x, y = t.leaf([1.0, 2.0], "x"), t.leaf([np.nan, 2.0], "y")
    t.sum(t.add(t.mul(x, t.constant(np.zeros(2))), t.mul(y, y)), "s")
    ax = plots.gradient_norms(t.record())
    assert any(word.startswith("1 NaN") for word in written(ax))
    assert "0" in written(ax)
    assert [t.get_text() for t in ax.get_legend().get_texts()].count("holds NaN or infinity") == 1


def test_a_gradient_without_a_finite_entry_stands_on_a_line_of_its_own() -> None:
    x = tv.tensor([0.0], requires_grad=True, name="x")
    with np.errstate(all="ignore"):
        trace = np.sqrt(x).sum().backward()
    ax = plots.gradient_norms(trace)
    (line,) = (line for line in ax.lines if line.get_linestyle() == ":")
    marked = [tuple(some.get_offsets()[0]) for some in ax.collections if some.get_label() == "holds NaN or infinity"]
    assert [y for _, y in marked] == list(line.get_ydata())[:1]


def test_parameters_are_told_from_ops_by_more_than_a_hexagon_that_looks_like_a_circle() -> None:
    from matplotlib.colors import to_hex

    layer = tv.nn.Linear(2, 2)
    ax = plots.gradient_norms(layer(tv.tensor(np.ones((3, 2)), requires_grad=True)).sum().backward())
    inside = {some.get_label(): to_hex(some.get_facecolor()[0]) for some in ax.collections}
    assert inside["parameter"] == PALETTES["light"]["gline"] != inside["result of an op"]


def test_norms_of_one_size_have_the_axes_for_themselves() -> None:
    low, high = plots.gradient_norms(circuits.staged()).get_ylim()
    assert 100 < high / low < 1000  # the norms lie between 0.5 and 3


def test_of_many_nodes_every_few_are_named() -> None:
    ax = plots.gradient_norms(circuits.chain(200))
    assert 20 <= len(names(ax.xaxis)) <= plots.MOST_NAMES


@pytest.mark.parametrize("letters", ["a_name_that_is_long", "权重矩阵偏置向量梯度下降学习率"])
def test_long_names_under_the_axis_are_turned_rather_than_on_top_of_each_other(letters: str) -> None:
    found: Any = tv.tensor(2.0, requires_grad=True, name=f"0{letters}")
    for k in range(1, 6):
        found = found * tv.tensor(2.0, requires_grad=True, name=f"{k}{letters}")
    assert {t.get_rotation() for t in plots.gradient_norms(found.backward()).get_xticklabels()} == {60.0}
    assert {t.get_rotation() for t in plots.gradient_norms(circuits.broadcast()).get_xticklabels()} == {0.0}


def test_a_forward_record_has_no_norms() -> None:
    with pytest.raises(ValueError, match="backward has not been called"):
        plots.gradient_norms(circuits.broadcast(forward_only=True))


# ---- heat maps ---------------------------------------------------------------------------------------------------


def test_a_share_is_printed_cell_by_cell() -> None:
    ax = plots.share_heatmap(circuits.routed(), "A")
    assert [word.strip("\xa0") for word in written(ax)] == ["0", "0.5", "0.5", "0", "0", "0", "−2.0", "0", "0.5", "0", "0", "0"]
    assert ax.get_title() == "∂A: only share, from m"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("axis 1", "axis 0")


def test_no_number_of_a_heat_map_touches_the_next_one() -> None:
    import tensorviz as tv

    x = tv.tensor([[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8], [0.9, 1.0, 1.1, 1.2]], requires_grad=True, name="x")
    ax = plots.share_heatmap((x * np.linspace(-0.01234, 0.0987, 12).reshape(3, 4)).sum().backward(), "x")
    ax.figure.canvas.draw()
    extents = [word.get_window_extent() for word in ax.texts]
    assert len(extents) == 12
    assert all(a.x1 < b.x0 for k, (a, b) in enumerate(itertools.pairwise(extents)) if k % 4 != 3)
    assert all(a.y0 > b.y1 for a, b in zip(extents, extents[4:], strict=False))


@pytest.mark.parametrize("shape", [(24,), (40, 2), (4, 25)])
def test_where_numbers_would_not_fit_the_colours_say_it_alone(shape: tuple[int, ...]) -> None:
    x = tv.tensor(np.ones(shape), requires_grad=True, name="x")
    ax = plots.share_heatmap((x * np.linspace(-1.234e-9, 9.87e-7, x.size).reshape(shape)).sum().backward(), "x")
    assert x.size <= plots.MOST_NUMBERS
    assert not written(ax)


def test_numbers_fit_the_axes_that_were_given_or_are_left_out() -> None:
    from matplotlib import pyplot as plt

    x = tv.tensor(np.ones((2, 8)), requires_grad=True, name="x")
    trace = (x * np.linspace(-0.01234, 0.0987, 16).reshape(2, 8)).sum().backward()
    assert len(written(plots.share_heatmap(trace, "x"))) == 16
    _, (left, _) = plt.subplots(1, 2)
    assert not written(plots.share_heatmap(trace, "x", ax=left))


SHAPES: list[tuple[int, ...]] = [(), (2,), (6,), (2, 3), (3, 2), (2, 1, 3, 1, 2), (30, 1), (16, 16), (2, 30)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("array", ["local", "value"])
def test_title_and_scale_stay_inside_and_the_scale_is_as_long_as_the_map(shape: tuple[int, ...], array: str) -> None:
    x = tv.tensor(np.full(shape, 0.123456), requires_grad=True, name="a_name_that_is_long")
    ax = plots.share_heatmap((x * np.ones((2, *shape)) * -0.1234).sum().backward(), 0, array=array)
    figure = ax.figure
    figure.canvas.draw()
    assert not ax.title.get_window_extent().x0 < 0 and ax.title.get_window_extent().x1 <= figure.bbox.x1
    (scale,) = (other for other in figure.axes if other is not ax)
    lying = scale.get_window_extent().width > scale.get_window_extent().height
    here, there = (list(a.get_window_extent().intervalx if lying else a.get_window_extent().intervaly) for a in (ax, scale))
    assert here == pytest.approx(there, abs=0.1 * (here[1] - here[0]))
    words = [w.get_window_extent() for w in (scale.get_xticklabels() if lying else scale.get_yticklabels())]
    assert len(words) >= 3
    assert not any(a.overlaps(b) for a, b in itertools.pairwise(words))
    assert all(figure.bbox.x0 <= w.x0 and w.x1 <= figure.bbox.x1 for w in words)


def test_where_a_share_is_too_small_to_be_seen_the_title_says_how_it_is() -> None:
    import tensorviz as tv

    x = tv.tensor(np.ones((16, 16)), requires_grad=True, name="x")
    trace = (x * 1e-4).sum().backward()
    assert plots.share_heatmap(trace, "x").get_title() == "∂x: only share, from x * 1e-4\nat most 0.0001 where the pass has 1: log=True shows it"
    assert "log=True" not in plots.share_heatmap(trace, "x", log=True).get_title()
    assert "log=True" not in plots.share_heatmap((x * 0.5).sum().backward(), "x").get_title()


def test_before_the_sum_over_broadcast_axes_it_has_the_result_s_shape() -> None:
    trace = circuits.broadcast()
    assert plots.share_heatmap(trace, "b", array="local").images[0].get_array().shape == (2, 3)
    assert plots.share_heatmap(trace, "b").images[0].get_array().shape == (1, 3)


def test_the_scale_is_the_one_of_the_pictures() -> None:
    from tensorviz.views.palette import tint
    from tensorviz.views.scale import scale_of

    trace = circuits.broadcast()
    image = plots.share_heatmap(trace, "X", colorbar=False).images[0]
    most = scale_of(trace).gradient
    assert image.norm.vmax == most == -image.norm.vmin
    for x in (0.0, most / 8, most):
        assert abs(2 * float(image.norm(x)) - 1 - 2 * tint(x, most)) < 0.011  # tints are whole hundredths


def test_on_the_log_scale_each_power_of_ten_is_one_step_and_a_small_share_is_seen() -> None:
    x = tv.tensor(np.full((20, 20), 1e-3), requires_grad=True, name="x")
    y = tv.tensor(2.0, requires_grad=True, name="y")
    trace = (x.sum() * 1e-3 + y * 10.0).backward()
    plain, log = (plots.share_heatmap(trace, "x", log=log).images[0] for log in (False, True))
    assert plain.norm.vmax == log.norm.vmax == 10.0
    assert float(plain.norm(1e-3)) - 0.5 < 0.01
    steps = [float(log.norm(10.0 ** (1 - k))) - 0.5 for k in range(5)]
    assert steps[0] == 0.5
    assert np.ptp(np.diff(steps)) < 0.01
    assert steps[4] > 0.1 > float(plain.norm(1e-3)) - 0.5


def test_nan_cells_say_so() -> None:
    x = tv.tensor([0.0, 1.0, -1.0], requires_grad=True, name="x")
    with np.errstate(all="ignore"):
        trace = (np.sqrt(x) * x).sum().backward()
    ax = plots.share_heatmap(trace, "x", 0)
    assert "NaN" in written(ax)
    assert ax.images[0].get_array().mask.tolist() == [[False, False, True]]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("x", 2), IndexError, "x received 2 shares, 0 to 1; there is no share 2"),
        (("x", "first"), TypeError, "share_heatmap: share must be an int, got 'first'"),
        (("nowhere",), KeyError, "'nowhere' is not in the trace"),
    ],
)
def test_a_wrong_share_says_what_there_is(arguments: tuple[object, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        plots.share_heatmap(circuits.squared(), *arguments)  # type: ignore[arg-type]


def test_a_wrong_array_and_palette_say_what_there_is() -> None:
    with pytest.raises(ValueError, match="'value', 'local', 'total'"):
        plots.share_heatmap(circuits.squared(), "x", array="sum")
    with pytest.raises(ValueError, match="palette must be one of"):
        plots.share_heatmap(circuits.squared(), "x", palette="viridis")


# ---- error against step ------------------------------------------------------------------------------------------


def cube() -> Trace:
    x = tv.tensor([2.0, 3.0], requires_grad=True, name="x")
    return (x * x * x).sum().backward()


def test_the_error_is_that_of_central_differences() -> None:
    trace = cube()
    # ((x + h)^3 - (x - h)^3) / 2h = 3 x^2 + h^2 exactly, so at x = 3 and h = 1 the error is 1 / 28, at h = 0.5 it is 0.25 / 27.25
    found = plots.differences(trace, trace.node("x"), (1,), 27.0, [1.0, 0.5])
    assert np.allclose(found, [1 / 28, 0.25 / 27.25], rtol=1e-12)


def test_the_largest_gradient_is_looked_at_unless_another_is_named() -> None:
    trace = cube()
    assert plots.error_curve(trace, "x").get_title().startswith("∂x[1] = 27 ")
    assert plots.error_curve(trace, "x", [0]).get_title().startswith("∂x[0] = 12 ")
    assert plots.error_curve(trace, "x", [-1]).get_title().startswith("∂x[1] = 27 ")


def test_the_valley_lies_between_round_off_and_curvature() -> None:
    ax = plots.error_curve(cube(), "x")
    h, error = (np.asarray(d, dtype=float) for d in ax.lines[0].get_data())
    best = h[np.nanargmin(error)]
    assert 1e-7 < best < 1e-3
    assert error[-1] > 0.01
    assert np.nanmax(error[h < 1e-14]) > 1e-4
    assert any(word.startswith("best h = ") for word in written(ax))


def test_the_best_step_is_the_lowest_point_of_the_valley() -> None:
    # Three errors of about the same size: the middle one is the best of its neighbourhood and the highest of the three.
    errors = np.array([1e-2, 1e-6, 5e-11, 1e-10, 3e-11, 2e-10, 1e-6])
    assert plots._valley(errors) == 4
    assert plots._valley(np.array([1e-2, 0.0, 1e-3, 1e-8, 1e-9, 1e-8, 1e-3])) == 4  # a lucky zero among round-off


def test_where_every_step_is_as_good_none_is_called_the_best() -> None:
    x = tv.tensor([1.0, 2.0], requires_grad=True, name="x")
    with np.errstate(all="ignore"):
        ax = plots.error_curve((np.sqrt(x - 1.0)).sum().backward(), "x", [0])
    assert not any(word.startswith("best h") for word in written(ax))
    assert "|a − n| / max(|a|, |n|)" not in [t.get_text() for t in ax.get_legend().get_texts()]


def test_no_point_of_the_curve_stands_under_its_legend() -> None:
    rng = np.random.default_rng(0)
    T = tv.tensor(rng.normal(size=(2, 1, 3, 1, 2)), requires_grad=True, name="T")
    M = tv.tensor(rng.normal(size=(1, 2, 1, 2, 2)).round(1), requires_grad=True, name="M")
    ax = plots.error_curve(((T * M + np.ones(2)) ** 3).mean().backward(), "T")
    ax.figure.canvas.draw()
    box = ax.get_legend().get_window_extent()
    assert not any(box.contains(*p) for p in ax.transData.transform(np.column_stack(ax.lines[0].get_data())))
    assert box.y1 < ax.transData.transform((1.0, 1e-8))[1]


def test_the_words_of_the_best_step_stand_above_the_curve() -> None:
    trace = (tv.tensor(1e-13, requires_grad=True, name="x") * 1e-13 + 1.0).tanh().backward()
    ax = plots.error_curve(trace, 0)
    ax.figure.canvas.draw()
    (said,) = (text for text in ax.texts if text.get_text().startswith("best h"))
    assert said.get_window_extent().y0 > ax.transData.transform((1.0, 2.0))[1]


def test_where_the_best_step_is_the_largest_its_words_stay_inside() -> None:
    x = tv.tensor([1.0, 2.0], requires_grad=True, name="x")
    ax = plots.error_curve((x * x).sum().backward(), "x")
    ax.figure.canvas.draw()
    (said,) = (text for text in ax.texts if text.get_text().startswith("best h"))
    assert said.get_window_extent().x1 <= ax.figure.bbox.x1


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"index": [2]}, IndexError, "error_curve of x: there is no element [2] in shape (2,)"),
        ({"index": [0, 0]}, IndexError, "no element [0, 0]"),
        ({"steps": []}, ValueError, "steps must be positive finite numbers, at least one, got none"),
        ({"steps": [0.0]}, ValueError, "a step must be a finite number above 0, got 0.0"),
        ({"steps": 3}, TypeError, "steps must be positive finite numbers, at least one, got 3"),
    ],
)
def test_a_wrong_element_or_step_is_refused(options: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        plots.error_curve(cube(), "x", **options)  # type: ignore[arg-type]


def test_what_has_no_gradient_has_no_curve() -> None:
    x, c = tv.tensor(2.0, requires_grad=True, name="x"), tv.tensor(3.0, name="c")
    with pytest.raises(ValueError, match="c has no gradient to compare with"):
        plots.error_curve((x * c).backward(), "c")


# ---- axes and colours --------------------------------------------------------------------------------------------

DRAWN = {
    "norms": lambda trace, **how: plots.gradient_norms(trace, **how),
    "heatmap": lambda trace, **how: plots.share_heatmap(trace, "x", **how),
    "curve": lambda trace, **how: plots.error_curve(trace, "x", **how),
}


@pytest.mark.parametrize("kind", DRAWN)
def test_given_axes_are_used_and_returned(kind: str) -> None:
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2)
    assert DRAWN[kind](cube(), ax=right) is right
    assert plt.get_fignums() == [figure.number]
    assert not left.lines and not left.images


@pytest.mark.parametrize("palette", PALETTES)
@pytest.mark.parametrize("kind", DRAWN)
def test_colours_are_those_of_the_palette_and_can_be_read(kind: str, palette: str, tmp_path) -> None:
    ax = DRAWN[kind](cube(), palette=palette)
    paper = PALETTES[palette]["bg"]
    assert matplotlib.colors.to_hex(ax.get_facecolor()) == paper
    for words in [*ax.get_xticklabels(), *ax.get_yticklabels(), ax.xaxis.label, ax.title]:
        if words.get_text():
            assert contrast(matplotlib.colors.to_hex(words.get_color()), paper) >= 4.5
    for scale in (other for other in ax.figure.axes if other is not ax):
        for mark in scale.yaxis.get_majorticklines() + scale.xaxis.get_majorticklines():
            assert contrast(matplotlib.colors.to_hex(mark.get_color()), paper) >= 4.5
    ax.figure.savefig(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 4000


def test_names_with_dollars_are_no_mathematics(tmp_path) -> None:
    trace = circuits.squared(name="$a_{b")
    ax = plots.gradient_norms(trace)
    ax.figure.savefig(tmp_path / "plot.png")
    assert r"\$a_{b" in names(ax.xaxis)


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'tensorviz-backward[lab]'")):
        plots.gradient_norms(circuits.squared())
