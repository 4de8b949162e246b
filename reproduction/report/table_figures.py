"""Figures of tables: our values in both columns next to the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reproduction.report.line_figures import finish_figure, make_figure, set_log_ticks
from reproduction.report.points import Point
from reproduction.report.style import COLUMN_COLORS, PAPER_COLOR

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAPER = "paper"

_STYLES: dict[str, dict[str, Any]] = {
    PAPER: {"color": PAPER_COLOR, "marker": "s", "linestyle": "--"},
    "as published": {"color": COLUMN_COLORS["as published"], "marker": "o", "linestyle": "-"},
    "bitfold": {"color": COLUMN_COLORS["bitfold"], "marker": "D", "linestyle": "-"},
}
_SHIFTS = {PAPER: -0.22, "as published": 0.0, "bitfold": 0.22}


class Series(NamedTuple):
    """Values by row or position: the paper's, or those of a column."""

    name: str
    points: Sequence[Point]


def draw_size_curves(
    heading: str, panels: Mapping[str, Sequence[Series]], y_label: str, note: str
) -> Figure:
    """Draw values against the size of the base set, one panel per data set."""
    figure = make_figure(1.4 + 4.1 * len(panels), 3.6, layout="constrained")
    grid = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, (name, series) in zip(grid, panels.items(), strict=True):
        for own in series:
            _draw_curve(axes, own)
        sizes = sorted({point.x for own in series for point in own.points})
        axes.set_xscale("log")
        axes.set_xticks(sizes, [_label_size(m, sizes) for m in sizes], rotation=45, fontsize=8)
        axes.minorticks_off()
        axes.set_xlabel("base points m", fontsize=9)
        axes.set_ylabel(y_label, fontsize=9)
        axes.set_title(name, fontsize=9.5)
        _tidy(axes)
    finish_figure(figure, heading, note)
    return figure


def _label_size(size: float, sizes: Sequence[float]) -> str:
    """Return the label of a tick; empty where labels would touch on the logarithmic axis."""
    after = [other for other in sizes if other > size]
    return f"{size:,.0f}" if not after or after[0] / size > 1.3 else ""


def _draw_curve(axes: Axes, series: Series) -> None:
    if not series.points:
        return
    x, y, deviation = zip(*(point[:3] for point in series.points), strict=True)
    bars = {"yerr": deviation} if any(deviation) else {}
    axes.errorbar(x, y, **bars, label=series.name, markersize=4.2, linewidth=1.3, capsize=2,
                  elinewidth=0.8, **_STYLES[series.name])  # fmt: skip


def draw_rows(
    heading: str,
    panels: Mapping[str, Sequence[Series]],
    labels: Sequence[str],
    x_labels: Sequence[str],
    note: str,
    *,
    is_log: bool = False,
) -> Figure:
    """Draw one row per label and one panel per entry; each series has one marker per row."""
    height = 1.2 + 0.36 * len(labels)
    figure = make_figure(1.8 + 2.6 * len(panels), height, layout="constrained")
    grid = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for axes, (name, series), x_label in zip(grid, panels.items(), x_labels, strict=True):
        for own in series:
            _draw_markers(axes, own)
        axes.set_title(name, fontsize=9.5)
        axes.set_xlabel(x_label, fontsize=9)
        if is_log:
            axes.set_xscale("log")
            set_log_ticks(axes.xaxis)
        _tidy(axes)
    grid[0].set_yticks(range(len(labels)), labels, fontsize=8.5)
    grid[0].set_ylim(len(labels) - 0.5, -0.5)
    finish_figure(figure, heading, note)
    return figure


def _draw_markers(axes: Axes, series: Series) -> None:
    if not series.points:
        return
    rows, means, deviations = np.array([point[:3] for point in series.points]).T
    style = {**_STYLES[series.name], "linestyle": "none"}
    # A series without any deviation has no bars, and its entry in the legend has none either.
    bars = {"xerr": deviations} if any(deviations) else {}
    axes.errorbar(means, rows + _SHIFTS[series.name], **bars, label=series.name,
                  markersize=4.5, capsize=2, elinewidth=0.8, **style)  # fmt: skip


def _tidy(axes: Axes) -> None:
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
