"""Figures with one line per method: one column of panels per column of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reproduction.report.points import (
    Position,
    describe_seeds,
    gather_points,
    list_methods,
    select_method,
)
from reproduction.report.style import find_look, sort_methods
from reproduction.shared_types import AnyArray, Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

CHARACTERS_PER_INCH = 16
"""Width of the small print, in which notes are wrapped."""

ACCURACY_TICKS = (50, 60, 70, 80, 85, 90, 92, 94, 95, 96, 97, 98)
MAX_SHORT_RANGE = 100
"""Ratio of the ends of a logarithmic axis up to which more than powers of ten are labeled."""

FLAT = "flat"
"""Entry of a case that is the same at every position, and is drawn as a line across."""


class Measure(NamedTuple):
    """What the vertical axis shows: the name in the records, the label, and the scale.

    ``scale`` is "linear", "log" with everything below ``floor`` at the floor, or "error": the
    logarithm of the distance from 100 %, which separates high accuracies.
    """

    name: str
    label: str
    scale: str = "linear"
    floor: float = 0.0


class Panel(NamedTuple):
    """A panel with one line per method."""

    title: str
    x_label: str
    records: Sequence[Record]
    measure: Measure
    position: Position


def make_figure(width: float, height: float, **options: Any) -> Figure:
    """Return an empty figure; sizes are in inches."""
    # Imported here, so that only drawing needs matplotlib.
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), **options)


def draw_grid(heading: str, rows: Sequence[Sequence[Panel]], note: str = "") -> Figure:
    """Draw rows of panels; the panels of a row share their vertical axis if they measure alike."""
    n_columns = max(map(len, rows))
    figure = make_figure(1.5 + 3.5 * n_columns, 0.9 + 2.7 * len(rows), layout="constrained")
    grid = figure.subplots(len(rows), n_columns, squeeze=False, sharey="row")
    for i, (axes_row, row) in enumerate(zip(grid, rows, strict=True)):
        for j, (axes, panel) in enumerate(zip(axes_row, row, strict=False)):
            # A title that the panel above has already is left out.
            above = rows[i - 1][j].title if i else ""
            _draw_panel(axes, panel._replace(title="" if panel.title == above else panel.title))
        axes_row[0].set_ylabel(row[0].measure.label, fontsize=9)
        if row[0].measure.scale == "log":
            # Not earlier: a limit that is set keeps the axis from growing with the next panel.
            axes_row[0].set_ylim(bottom=0.8 * row[0].measure.floor)
        for axes in axes_row[len(row) :]:
            axes.set_visible(False)
    # What is drawn as a line across has no randomness.
    records = [record for row in rows for panel in row for record in panel.records
               if not record["case"].get(FLAT)]  # fmt: skip
    notes = (explain_error_bars(records), _explain_floors(rows), note)
    finish_figure(figure, heading, " ".join(filter(None, notes)))
    return figure


def _explain_floors(rows: Sequence[Sequence[Panel]]) -> str:
    """Return the sentence that explains the lower ends of logarithmic axes."""
    measures = dict.fromkeys(panel.measure for row in rows for panel in row)
    texts = [f"{m.label.split(' within')[0]} below {m.floor:g}" for m in measures
             if m.scale == "log"]  # fmt: skip
    return f"Logarithmic axes: {' and '.join(texts)} is drawn at the bottom." if texts else ""


def explain_error_bars(records: Sequence[Record]) -> str:
    """Return the sentence that explains the error bars."""
    seeds = describe_seeds(records)
    if seeds == "1 seed":
        return "One seed, without error bars."
    return f"Error bars: sample standard deviation over {seeds}."


def finish_figure(figure: Figure, heading: str, note: str, *, legend: bool = True) -> None:
    """Add the heading above, the legend next to, and the note below the panels."""
    figure.suptitle(heading, x=0.012, ha="left", fontsize=10.5, fontweight="bold")
    wrapped = fill(note, int(CHARACTERS_PER_INCH * figure.get_figwidth()))
    figure.supxlabel(wrapped, x=0.012, ha="left", fontsize=7.5, color="#555555")
    if legend:
        handles, labels = _collect_labels(figure)
        figure.legend(handles, labels, loc="outside right center", fontsize=8.5, frameon=False)


def _draw_panel(axes: Axes, panel: Panel) -> None:
    positions = sorted({panel.position(r) for r in panel.records if not r["case"].get(FLAT)})
    for method in sort_methods(list_methods(panel.records)):
        _draw_method(axes, panel, method, positions)
    _set_scale(axes, panel.measure)
    axes.set_title(panel.title, fontsize=9.5)
    axes.set_xlabel(panel.x_label, fontsize=9)
    axes.set_xticks(positions, [f"{x:g}" for x in positions])
    _tidy(axes)


def _draw_method(axes: Axes, panel: Panel, method: str, positions: Sequence[float]) -> None:
    """Draw the line of a method; IMHs, which has one length, has a dashed line across as well."""
    own = select_method(panel.records, method)
    points = gather_points(own, panel.measure.name, panel.position)
    if not points:
        return
    look = find_look(method).to_options()
    if own[0]["case"].get(FLAT):
        axes.axhline(points[0].mean, label=method, color=look["color"], linewidth=1.2,
                     linestyle=look["linestyle"], zorder=1)  # fmt: skip
        return
    x = np.array([point.x for point in points])
    y, deviation = (np.array([getattr(p, name) for p in points]) for name in ("mean", "deviation"))
    y, deviation = _clip_to_floor(y, deviation, panel.measure)
    if method.startswith("IMHs") and len(points) == 1 < len(positions):
        axes.axhline(y[0], color=look["color"], linewidth=0.9, linestyle="--", zorder=1)
        look["markersize"] = 8
    axes.errorbar(x, y, deviation, label=method, capsize=2, elinewidth=0.8, **look)


def _clip_to_floor(y: AnyArray, deviation: AnyArray, measure: Measure) -> tuple[AnyArray, AnyArray]:
    """Return values and the lengths of error bars below and above, none below the floor."""
    clipped = np.maximum(y, measure.floor) if measure.scale == "log" else y
    below = deviation
    if measure.scale == "log":
        below = np.minimum(deviation, clipped - measure.floor)
    return clipped, np.stack([below, deviation])


def _set_scale(axes: Axes, measure: Measure) -> None:
    if measure.scale == "log":
        axes.set_yscale("log")
        set_log_ticks(axes.yaxis)
    elif measure.scale == "error":
        axes.set_yscale("function", functions=(lambda y: -np.log(np.maximum(100 - y, 0.1)),
                                               lambda z: 100 - np.exp(-z)))  # fmt: skip
        low, high = axes.get_ylim()
        axes.set_yticks([tick for tick in ACCURACY_TICKS if low <= tick <= high])
        axes.minorticks_off()


def set_log_ticks(axis: Axis) -> None:
    """Label the powers of ten of a logarithmic axis, and 2 and 5 times these on a short one."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_minor_formatter(NullFormatter())
    low, high = axis.get_data_interval()
    if low > 0 and high < MAX_SHORT_RANGE * low:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _tidy(axes: Axes) -> None:
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


class Curve(NamedTuple):
    """A curve of a method over the numbers of retrieved items: what is drawn against what.

    ``first`` is the smallest number of retrieved items that is drawn.
    """

    title: str
    x_label: str
    y_label: str
    x_name: str
    y_name: str
    x_scale: str = "log"
    y_scale: str = "linear"
    first: int = 1


FIRST_RECALL = 1000
"""Retrieved items from which recall is drawn; below, the curves of all methods coincide."""

CURVES = (
    Curve("precision", "retrieved items", "precision %", "cutoffs", "precision_at"),
    Curve("recall", "retrieved items", "recall %", "cutoffs", "recall_at", "log", "log",
          FIRST_RECALL),
    Curve("precision and recall", "recall %", "precision %", "recall_at", "precision_at"),
)  # fmt: skip
"""The panels of Fig. 7, and the precision–recall curve that both make."""


def draw_curves(heading: str, groups: Mapping[str, Sequence[Record]]) -> Figure:
    """Draw precision and recall of 64-bit codes: one row of panels per group of records."""
    figure = make_figure(11.8, 0.9 + 2.9 * len(groups), layout="constrained")
    grid = figure.subplots(len(groups), len(CURVES), squeeze=False)
    for axes_row, (name, records) in zip(grid, groups.items(), strict=True):
        for axes, curve in zip(axes_row, CURVES, strict=True):
            draw_curve(axes, records, curve)
            axes.set_title(f"{curve.title}, {name}", fontsize=9.5)
            axes.set_ylabel(curve.y_label, fontsize=9)
            axes.set_xlabel(curve.x_label, fontsize=9)
    everything = [record for records in groups.values() for record in records]
    note = (
        f"Means over {describe_seeds(everything)}. Recall is drawn from {FIRST_RECALL:,} items: it "
        "is proportional to the number of items times their precision, and for fewer items the "
        "curves coincide."
    )
    finish_figure(figure, heading, note)
    return figure


def draw_supplement(heading: str, groups: Mapping[str, Mapping[int, Sequence[Record]]]) -> Figure:
    """Draw precision–recall curves: one row per group, one panel per code length."""
    n_lengths = max(len(by_length) for by_length in groups.values())
    figure = make_figure(1.4 + 2.1 * n_lengths, 0.9 + 2.3 * len(groups), layout="constrained")
    grid = figure.subplots(len(groups), n_lengths, squeeze=False, sharey=True, sharex=True)
    for axes_row, (name, by_length) in zip(grid, groups.items(), strict=True):
        axes_row[0].set_ylabel(f"{name}\nprecision %", fontsize=9)
        for axes, (n_bits, records) in zip(axes_row, by_length.items(), strict=False):
            draw_curve(axes, records, CURVES[2]._replace(x_scale="linear"), marker_size=2.4)
            axes.set_title(f"{n_bits} bits", fontsize=9)
    top = max(axes.dataLim.y1 for axes in grid.flat)
    grid[0, 0].set(xlim=(-2, 102), ylim=(0, 1.04 * top))
    for axes in grid[-1]:
        axes.set_xlabel("recall %", fontsize=9)
    everything = [r for by_length in groups.values() for own in by_length.values() for r in own]
    finish_figure(figure, heading, f"Means over {describe_seeds(everything)}.")
    return figure


def draw_curve(
    axes: Axes, records: Sequence[Record], curve: Curve, marker_size: float = 3.6
) -> None:
    """Draw one line per method over the numbers of retrieved items."""
    for method in sort_methods(list_methods(records)):
        own = [r["result"] for r in select_method(records, method) if "cutoffs" in r["result"]]
        if not own:
            continue
        is_drawn = np.asarray(own[0]["cutoffs"]) >= curve.first
        x, y = (np.mean([result[name] for result in own], axis=0)[is_drawn]
                for name in (curve.x_name, curve.y_name))  # fmt: skip
        look = find_look(method).to_options() | {"markersize": marker_size, "linewidth": 1.1}
        axes.plot(x, y, label=method, **look)
    axes.set_xscale(curve.x_scale)
    if curve.x_scale == "linear":
        axes.xaxis.set_major_formatter("{x:,.0f}")
    if curve.y_scale == "log":
        axes.set_yscale("log")
        set_log_ticks(axes.yaxis)
    else:
        axes.set_ylim(0, 1.04 * axes.dataLim.y1)
    _tidy(axes)


def _collect_labels(figure: Figure) -> tuple[list[Any], list[str]]:
    """Return the labels of all panels, each once."""
    found: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    labels = sort_methods(found)
    return [found[label] for label in labels], labels
