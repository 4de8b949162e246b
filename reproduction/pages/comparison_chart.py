"""The chart of the comparison: MAP and seconds to fit, one row per method."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from reproduction.pages.comparison_summary import SHOWN_LENGTH, MethodResult, Ranking

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Theme(NamedTuple):
    """Colors of a chart on a page of one color scheme."""

    background: str
    text: str
    faint: str
    unlabeled: str
    labeled: str


THEMES = {
    "": Theme("#ffffff", "#222222", "#d9d9d9", "#1f6fb4", "#d9730d"),
    "-dark": Theme("#1e2129", "#e2e4e9", "#3f4450", "#6cb2ee", "#f0a35c"),
}
"""Themes by the ending of their files; the dark background is that of the pages."""

_ROW_INCHES = 0.225


def write_charts(ranking: Ranking, title: str, path: Path) -> list[Path]:
    """Draw the chart in every theme, and return the paths: ``name.png`` and ``name-dark.png``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    paths = []
    for ending, theme in THEMES.items():
        paths.append(path.with_stem(path.stem + ending))
        draw_chart(ranking, title, theme).savefig(paths[-1], dpi=160)
    return paths


def draw_chart(ranking: Ranking, title: str, theme: Theme) -> Figure:
    """Draw MAP as bars, best method first, and seconds to fit as points in the same rows.

    Without the times of most methods, there are only the bars.
    """
    results = ranking.results
    size = (8, 1.2 + _ROW_INCHES * len(results))
    figure = Figure(figsize=size, facecolor=theme.background)
    figure.set_layout_engine("constrained", w_pad=0.1, h_pad=0.1)
    widths = (1.7, 1) if ranking.is_timed else (1,)
    grid = figure.subplots(1, len(widths), sharey=True, width_ratios=widths, squeeze=False)
    left, *right = grid[0]
    _draw_precision(left, results, theme)
    for axes in right:
        _draw_seconds(axes, results, theme)
    left.set_ylim(len(results) - 0.4, -0.6)
    # The bars become shorter, so that this corner is empty.
    left.legend(loc="lower right", labelcolor=theme.text, frameon=False, fontsize=9.5)
    figure.suptitle(title, color=theme.text, fontsize=11.5, fontweight="bold")
    return figure


def _draw_precision(axes: Axes, results: Sequence[MethodResult], theme: Theme) -> None:
    for label, is_labeled in (("without labels", False), ("with labels", True)):
        rows = [row for row, result in enumerate(results) if result.uses_labels == is_labeled]
        values = [results[row].map for row in rows]
        bars = axes.barh(rows, values, height=0.68, color=_choose_color(is_labeled, theme))
        bars.set_label(label)
        axes.bar_label(bars, fmt="%.1f", padding=3, color=theme.text, fontsize=8.5)
    axes.set_yticks(range(len(results)), [result.title for result in results])
    axes.set_xlim(0, 105)
    # Every bar has its number.
    axes.set_xticks([])
    _style_axes(axes, f"MAP at {SHOWN_LENGTH} bits, percent", theme)


def _draw_seconds(axes: Axes, results: Sequence[MethodResult], theme: Theme) -> None:
    for row, result in enumerate(results):
        if result.fit_seconds is not None:
            color = _choose_color(result.uses_labels, theme)
            axes.plot(result.fit_seconds, row, "o", color=color, markersize=6)
    axes.set_xscale("log")
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.grid(color=theme.faint, linewidth=0.6)
    _style_axes(axes, "seconds to fit, logarithmic", theme)


def _style_axes(axes: Axes, title: str, theme: Theme) -> None:
    axes.set_facecolor(theme.background)
    axes.set_title(title, color=theme.text, fontsize=10, loc="left")
    axes.set_axisbelow(True)
    axes.tick_params(colors=theme.text, labelsize=9, length=0)
    axes.spines[:].set_visible(False)


def _choose_color(uses_labels: bool, theme: Theme) -> str:
    return theme.labeled if uses_labels else theme.unlabeled
