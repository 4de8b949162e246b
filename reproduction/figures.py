"""Figures, from records alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reproduction.packing import unpack
from reproduction.records import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Place = Callable[[Record], float]
"""Where on the horizontal axis a record belongs."""

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


class Beside(NamedTuple):
    """A mean and its deviation, and the paper's."""

    label: str
    ours: tuple[float, float]
    paper: tuple[float, float]


def blank(width: float, height: float, **options: Any) -> Figure:
    """Return an empty figure, in inches."""
    # Here alone, so that nothing but drawing needs matplotlib.
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), **options)


def n_bits(record: Record) -> float:
    """Code length."""
    return float(record["case"]["n_bits"])


def option(name: str) -> Place:
    """Value of a setting, such as the size of the base set."""
    return lambda record: float(dict(record["case"]["options"])[name])


def methods(records: Iterable[Record]) -> list[str]:
    """Methods in the order they come."""
    return list(dict.fromkeys(record["case"]["method"] for record in records))


def points(records: Iterable[Record], measure: str, place: Place) -> list[Point]:
    """Gather one method's records by their place."""
    by_place: dict[float, list[float]] = {}
    for record in records:
        if measure in record["result"]:
            by_place.setdefault(place(record), []).append(record["result"][measure])
    return [
        Point(x, float(np.mean(values)), float(np.std(values)))
        for x, values in sorted(by_place.items())
    ]


def lines(
    axes: Axes, records: Sequence[Record], measure: str, place: Place, style: dict[str, int]
) -> None:
    """Draw a line a method, with the deviation over seeds."""
    for method in methods(records):
        own = points((r for r in records if r["case"]["method"] == method), measure, place)
        if not own:
            continue
        x, y, deviation = map(np.array, zip(*own, strict=True))
        i = style.setdefault(method, len(style))
        axes.errorbar(
            x, y, deviation, label=method, color=_COLORS[i % 12], marker=_MARKERS[i % 12],
            markersize=4, linewidth=1.2, capsize=2,
        )  # fmt: skip


def panels(parts: Sequence[tuple[str, str, Sequence[Record], str, Place]]) -> Figure:
    """Draw panels side by side: (title, name of the x axis, records, measure, place) each."""
    figure = blank(4.6 * len(parts) + 1.2, 3.6, layout="constrained")
    style: dict[str, int] = {}
    for axes, (title, along, records, measure, place) in zip(
        np.atleast_1d(figure.subplots(1, len(parts))), parts, strict=True
    ):
        lines(axes, records, measure, place, style)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel(along)
        axes.set_xticks(sorted({place(record) for record in records}))
        axes.grid(alpha=0.3)
    _legend(figure)
    return figure


def against_paper(
    ours: Sequence[Point], paper: Sequence[tuple[float, float]], along: str, title: str
) -> Figure:
    """Draw one curve, and the paper's."""
    figure = blank(6.2, 3.6, layout="constrained")
    axes = figure.subplots()
    x, y, deviation = map(np.array, zip(*ours, strict=True))
    axes.errorbar(x, y, deviation, label="here", color=_COLORS[0], marker="o", markersize=4,
                  linewidth=1.2, capsize=2)  # fmt: skip
    axes.plot(*zip(*paper, strict=True), label="paper", color=_GRAY, marker="s", markersize=4,
              linewidth=1.2, linestyle="--")  # fmt: skip
    axes.set_xscale("log")
    axes.set_xticks(x, [f"{m:,.0f}" for m in x], rotation=45, fontsize=8)
    axes.minorticks_off()
    axes.set_xlabel(along)
    axes.set_title(title, fontsize=10)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    return figure


def beside_panels(groups: Mapping[str, Sequence[Beside]], title: str) -> Figure:
    """Draw a panel a group: what came out here and the paper's, side by side, with deviations."""
    figure = blank(1.2 + 2.7 * len(groups), 3.4, layout="constrained")
    all_axes = np.atleast_1d(figure.subplots(1, len(groups), sharey=True))
    for axes, (name, rows) in zip(all_axes, groups.items(), strict=True):
        places = np.arange(len(rows))
        for shift, label, color in ((-0.15, "here", _COLORS[0]), (0.15, "paper", _GRAY)):
            pairs = [row.ours if label == "here" else row.paper for row in rows]
            means, deviations = map(np.array, zip(*pairs, strict=True))
            axes.errorbar(places + shift, means, deviations, label=label, color=color, fmt="o",
                          markersize=4, capsize=2)  # fmt: skip
        axes.set_xticks(places, [row.label for row in rows], rotation=90, fontsize=7)
        axes.set_title(name, fontsize=10)
        axes.grid(alpha=0.3)
    all_axes[0].set_ylabel(title)
    _legend(figure)
    return figure


def time_dots(times: Mapping[str, tuple[float, float]], along: str) -> Figure:
    """Draw times here and in the paper, a line a method."""
    figure = blank(6.2, 0.6 + 0.3 * len(times), layout="constrained")
    axes = figure.subplots()
    ours, theirs = zip(*times.values(), strict=True)
    rows = np.arange(len(times))
    axes.hlines(rows, ours, theirs, color="#cccccc", zorder=1)
    axes.scatter(ours, rows, color=_COLORS[0], label="here", zorder=2, s=24)
    axes.scatter(theirs, rows, color=_GRAY, label="paper", zorder=2, s=24, marker="s")
    axes.set_yticks(rows, list(times))
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel(along)
    axes.grid(alpha=0.3, axis="x")
    _legend(figure)
    return figure


def curve_panels(records: Sequence[Record]) -> Figure:
    """Draw precision and recall against the number of retrieved items."""
    figure = blank(10.4, 3.6, layout="constrained")
    style: dict[str, int] = {}
    for axes, name in zip(figure.subplots(1, 2), ("precision", "recall"), strict=True):
        for method in methods(records):
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
    _legend(figure)
    return figure


def strips(rows: Sequence[tuple[str, dict[str, Any]]]) -> Figure:
    """Draw retrieved pictures: one band a method, one line a query, wrong ones framed in red."""
    n_queries, n_tiles = rows[0][1]["tiles"]["shape"][:2]
    columns = 2 if len(rows) > 1 else 1
    lines = -(-len(rows) // columns)
    figure = blank(columns * 0.44 * n_tiles, lines * (0.44 * n_queries + 0.4))
    bands = figure.subfigures(lines, columns, squeeze=False)
    for band, (name, result) in zip(bands.flat, rows, strict=False):
        band.suptitle(name, fontsize=9)
        _mosaic(
            band.add_axes((0.02, 0.02, 0.96, 0.84)), unpack(result["tiles"]), result["relevant"]
        )
    return figure


def plane_panels(result: dict[str, Any]) -> Figure:
    """Draw the base set's embedding, and that of all data colored by label."""
    base, all_points, labels = (unpack(result[name]) for name in ("base", "points", "labels"))
    figure = blank(9.2, 4.6, layout="constrained")
    left, right = figure.subplots(1, 2)
    left.scatter(*base.astype(float), s=8, c="#333333", linewidths=0)
    left.set_title(f"base set, {base.shape[1]} points", fontsize=10)
    # They are kept class by class; drawn so, the last class would cover the others.
    mixed = np.random.default_rng(0).permutation(len(labels))
    x, y = all_points[:, mixed].astype(float)
    right.scatter(x, y, s=0.6, c=labels[mixed], cmap="tab10", linewidths=0, rasterized=True)
    right.set_title(f"all {len(labels):,} points, by induction", fontsize=10)
    for axes in (left, right):
        axes.set_xticks([])
        axes.set_yticks([])
    return figure


def _mosaic(axes: Axes, tiles: NDArray[np.uint8], relevant: list[list[bool]]) -> None:
    """Draw tiles in rows and columns, those that are not relevant framed in red."""
    for q, t in np.ndindex(tiles.shape[:2]):
        # A gap sets the query, the first of its row, apart.
        left, bottom = t + 0.3 * (t > 0), -q
        extent = (left + 0.05, left + 0.95, bottom + 0.05, bottom + 0.95)
        colors = "gray_r" if tiles[q, t].ndim == 2 else None
        axes.imshow(tiles[q, t], cmap=colors, interpolation="nearest", extent=extent)
        if t and not relevant[q][t - 1]:
            frame = ((left + 0.03, bottom + 0.03), 0.94, 0.94)
            axes.add_patch(_rectangle(*frame, fill=False, color="#d62728", linewidth=1.5))
    axes.set_xlim(0, tiles.shape[1] + 0.3)
    axes.set_ylim(1 - len(tiles), 1)
    axes.set_axis_off()


def _rectangle(*place: Any, **options: Any) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(*place, **options)


def _legend(figure: Figure) -> None:
    figure.legend(*_all_labels(figure), loc="outside right center", fontsize=8, frameon=False)


def _all_labels(figure: Figure) -> tuple[list[Any], list[str]]:
    """Every label once, whichever panel has it."""
    found: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return list(found.values()), list(found)
