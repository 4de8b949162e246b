"""Figures, drawn from records alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reproduction.image_encoding import decode_array
from reproduction.shared_types import Record, UInt8Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Position = Callable[[Record], float]
"""Returns the position of a record on the horizontal axis."""

_COLORS = [
    "#d62728", "#1f77b4", "#2ca02c", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22",
    "#17becf", "#ff7f0e", "#393b79", "#637939",
]  # fmt: skip
_MARKERS = "os^Dv<>pPX*h"
_GRAY = "#555555"


class Point(NamedTuple):
    """Mean and standard deviation of a measure over the seeds of one setting."""

    x: float
    mean: float
    deviation: float


class LabeledPair(NamedTuple):
    """Our mean and deviation, and the paper's."""

    label: str
    ours: tuple[float, float]
    paper: tuple[float, float]


def make_figure(width: float, height: float, **options: Any) -> Figure:
    """Return an empty figure; sizes are in inches."""
    # Imported here, so that only drawing needs matplotlib.
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), **options)


def get_n_bits(record: Record) -> float:
    """Return the code length."""
    return float(record["case"]["n_bits"])


def option_getter(name: str) -> Position:
    """Return a function that returns a setting, such as the size of the base set."""
    return lambda record: float(dict(record["case"]["options"])[name])


def list_methods(records: Iterable[Record]) -> list[str]:
    """Return the methods in the order in which they appear."""
    return list(dict.fromkeys(record["case"]["method"] for record in records))


def gather_points(records: Iterable[Record], measure: str, position: Position) -> list[Point]:
    """Return means and deviations of the records of one method, by their position."""
    groups: dict[float, list[float]] = {}
    for record in records:
        if measure in record["result"]:
            groups.setdefault(position(record), []).append(record["result"][measure])
    return [
        Point(x, float(np.mean(values)), float(np.std(values)))
        for x, values in sorted(groups.items())
    ]


def draw_lines(
    axes: Axes, records: Sequence[Record], measure: str, position: Position, style: dict[str, int]
) -> None:
    """Draw one line per method, with the deviation over seeds."""
    for method in list_methods(records):
        own = gather_points(
            (r for r in records if r["case"]["method"] == method), measure, position
        )
        if not own:
            continue
        x, y, deviation = map(np.array, zip(*own, strict=True))
        i = style.setdefault(method, len(style))
        axes.errorbar(
            x, y, deviation, label=method, color=_COLORS[i % 12], marker=_MARKERS[i % 12],
            markersize=4, linewidth=1.2, capsize=2,
        )  # fmt: skip


class Panel(NamedTuple):
    """A panel with one line per method."""

    title: str
    x_label: str
    records: Sequence[Record]
    measure: str
    position: Position


def draw_panels(panels: Sequence[Panel]) -> Figure:
    """Draw panels side by side."""
    figure = make_figure(4.6 * len(panels) + 1.2, 3.6, layout="constrained")
    style: dict[str, int] = {}
    all_axes = np.atleast_1d(figure.subplots(1, len(panels)))
    for axes, panel in zip(all_axes, panels, strict=True):
        draw_lines(axes, panel.records, panel.measure, panel.position, style)
        axes.set_title(panel.title, fontsize=10)
        axes.set_xlabel(panel.x_label)
        axes.set_xticks(sorted({panel.position(record) for record in panel.records}))
        axes.grid(alpha=0.3)
    _add_legend(figure)
    return figure


def draw_two_curves(
    ours: Sequence[Point], paper: Sequence[tuple[float, float]], x_label: str, title: str
) -> Figure:
    """Draw our curve and the paper's."""
    figure = make_figure(6.2, 3.6, layout="constrained")
    axes = figure.subplots()
    x, y, deviation = map(np.array, zip(*ours, strict=True))
    axes.errorbar(x, y, deviation, label="here", color=_COLORS[0], marker="o", markersize=4,
                  linewidth=1.2, capsize=2)  # fmt: skip
    axes.plot(*zip(*paper, strict=True), label="paper", color=_GRAY, marker="s", markersize=4,
              linewidth=1.2, linestyle="--")  # fmt: skip
    axes.set_xscale("log")
    axes.set_xticks(x, [f"{m:,.0f}" for m in x], rotation=45, fontsize=8)
    axes.minorticks_off()
    axes.set_xlabel(x_label)
    axes.set_title(title, fontsize=10)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    return figure


def draw_pairs(groups: Mapping[str, Sequence[LabeledPair]], title: str) -> Figure:
    """Draw one panel per group: our values and the paper's side by side, with deviations."""
    figure = make_figure(1.2 + 2.7 * len(groups), 3.4, layout="constrained")
    all_axes = np.atleast_1d(figure.subplots(1, len(groups), sharey=True))
    for axes, (name, rows) in zip(all_axes, groups.items(), strict=True):
        positions = np.arange(len(rows))
        for shift, label, color in ((-0.15, "here", _COLORS[0]), (0.15, "paper", _GRAY)):
            pairs = [row.ours if label == "here" else row.paper for row in rows]
            means, deviations = map(np.array, zip(*pairs, strict=True))
            axes.errorbar(positions + shift, means, deviations, label=label, color=color, fmt="o",
                          markersize=4, capsize=2)  # fmt: skip
        axes.set_xticks(positions, [row.label for row in rows], rotation=90, fontsize=7)
        axes.set_title(name, fontsize=10)
        axes.grid(alpha=0.3)
    all_axes[0].set_ylabel(title)
    _add_legend(figure)
    return figure


def draw_times(times: Mapping[str, tuple[float, float]], x_label: str) -> Figure:
    """Draw our times and the paper's, one line per method."""
    figure = make_figure(6.2, 0.6 + 0.3 * len(times), layout="constrained")
    axes = figure.subplots()
    ours, theirs = zip(*times.values(), strict=True)
    rows = np.arange(len(times))
    axes.hlines(rows, ours, theirs, color="#cccccc", zorder=1)
    axes.scatter(ours, rows, color=_COLORS[0], label="here", zorder=2, s=24)
    axes.scatter(theirs, rows, color=_GRAY, label="paper", zorder=2, s=24, marker="s")
    axes.set_yticks(rows, list(times))
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel(x_label)
    axes.grid(alpha=0.3, axis="x")
    _add_legend(figure)
    return figure


def draw_curves(records: Sequence[Record]) -> Figure:
    """Draw precision and recall against the number of retrieved items."""
    figure = make_figure(10.4, 3.6, layout="constrained")
    style: dict[str, int] = {}
    for axes, name in zip(figure.subplots(1, 2), ("precision", "recall"), strict=True):
        for method in list_methods(records):
            own = [r["result"] for r in records if r["case"]["method"] == method]
            own = [result for result in own if "cutoffs" in result]
            if not own:
                continue
            i = style.setdefault(method, len(style))
            values = np.mean([result[f"{name}_at"] for result in own], axis=0)
            axes.plot(own[0]["cutoffs"], values, label=method, color=_COLORS[i % 12])
        axes.set_xscale("log")
        axes.set_xlabel("retrieved items")
        axes.set_title(f"{name} %", fontsize=10)
        axes.grid(alpha=0.3)
    _add_legend(figure)
    return figure


def draw_retrieved(results: Sequence[tuple[str, dict[str, Any]]]) -> Figure:
    """Draw retrieved images: one block per method, one line per query, wrong ones in red."""
    n_queries, n_tiles = results[0][1]["tiles"]["shape"][:2]
    n_columns = 2 if len(results) > 1 else 1
    n_rows = -(-len(results) // n_columns)
    figure = make_figure(n_columns * 0.44 * n_tiles, n_rows * (0.44 * n_queries + 0.4))
    blocks = figure.subfigures(n_rows, n_columns, squeeze=False)
    for block, (name, result) in zip(blocks.flat, results, strict=False):
        block.suptitle(name, fontsize=9)
        axes = block.add_axes((0.02, 0.02, 0.96, 0.84))
        _draw_tiles(axes, decode_array(result["tiles"]), result["relevant"])
    return figure


def draw_plane(result: dict[str, Any]) -> Figure:
    """Draw the embeddings of the base set and of all rows, colored by label."""
    base, all_points, labels = (decode_array(result[name]) for name in ("base", "points", "labels"))
    figure = make_figure(9.2, 4.6, layout="constrained")
    left, right = figure.subplots(1, 2)
    left.scatter(*base.astype(float), s=8, c="#333333", linewidths=0)
    left.set_title(f"base set, {base.shape[1]} points", fontsize=10)
    # The points are sorted by class; drawn in that order, the last class would cover the others.
    mixed = np.random.default_rng(0).permutation(len(labels))
    x, y = all_points[:, mixed].astype(float)
    right.scatter(x, y, s=0.6, c=labels[mixed], cmap="tab10", linewidths=0, rasterized=True)
    right.set_title(f"all {len(labels):,} points, by induction", fontsize=10)
    for axes in (left, right):
        axes.set_xticks([])
        axes.set_yticks([])
    return figure


def _draw_tiles(axes: Axes, tiles: UInt8Array, relevant: list[list[bool]]) -> None:
    """Draw tiles in rows and columns, with a red frame around those that are not relevant."""
    for q, t in np.ndindex(tiles.shape[:2]):
        # A gap separates the query, the first of its row, from the hits.
        left, bottom = t + 0.3 * (t > 0), -q
        extent = (left + 0.05, left + 0.95, bottom + 0.05, bottom + 0.95)
        colors = "gray_r" if tiles[q, t].ndim == 2 else None
        axes.imshow(tiles[q, t], cmap=colors, interpolation="nearest", extent=extent)
        if t and not relevant[q][t - 1]:
            frame = ((left + 0.03, bottom + 0.03), 0.94, 0.94)
            axes.add_patch(_make_rectangle(*frame, fill=False, color="#d62728", linewidth=1.5))
    axes.set_xlim(0, tiles.shape[1] + 0.3)
    axes.set_ylim(1 - len(tiles), 1)
    axes.set_axis_off()


def _make_rectangle(*position: Any, **options: Any) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(*position, **options)


def _add_legend(figure: Figure) -> None:
    figure.legend(*_collect_labels(figure), loc="outside right center", fontsize=8, frameon=False)


def _collect_labels(figure: Figure) -> tuple[list[Any], list[str]]:
    """Return the labels of all panels, each once."""
    found: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return list(found.values()), list(found)
