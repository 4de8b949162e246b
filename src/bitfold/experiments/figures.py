"""Figures, from records alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from bitfold.experiments.pictures import unpack
from bitfold.experiments.records import Record

Place = Callable[[Record], float]
"""Where on the horizontal axis a record belongs."""

_COLOURS = [
    "#d62728", "#1f77b4", "#2ca02c", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22",
    "#17becf", "#ff7f0e", "#393b79", "#637939",
]  # fmt: skip
_MARKERS = "os^Dv<>pPX*h"


class Point(NamedTuple):
    """Mean and standard deviation of a measure over the seeds of one setting."""

    x: float
    mean: float
    deviation: float


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
            x, y, deviation, label=method, color=_COLOURS[i % 12], marker=_MARKERS[i % 12],
            markersize=4, linewidth=1.2, capsize=2,
        )  # fmt: skip


def panels(
    parts: Sequence[tuple[str, str, Sequence[Record], str, Place]], *, log: bool = False
) -> Figure:
    """Draw panels side by side: (title, name of the x axis, records, measure, place) each."""
    figure = Figure(figsize=(4.6 * len(parts), 3.6), layout="constrained")
    style: dict[str, int] = {}
    for axes, (title, along, records, measure, place) in zip(
        np.atleast_1d(figure.subplots(1, len(parts))), parts, strict=True
    ):
        lines(axes, records, measure, place, style)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel(along)
        axes.grid(alpha=0.3)
        if log:
            axes.set_xscale("log")
    figure.legend(*_all_labels(figure), loc="outside right center", fontsize=8)
    return figure


def curve_panels(records: Sequence[Record]) -> Figure:
    """Draw precision and recall against the number of retrieved items."""
    figure = Figure(figsize=(9.2, 3.6), layout="constrained")
    style: dict[str, int] = {}
    for axes, name in zip(figure.subplots(1, 2), ("precision", "recall"), strict=True):
        for method in methods(records):
            own = [r["result"] for r in records if r["case"]["method"] == method]
            own = [result for result in own if "cutoffs" in result]
            if not own:
                continue
            i = style.setdefault(method, len(style))
            values = np.mean([result[f"{name}_at"] for result in own], axis=0)
            axes.plot(own[0]["cutoffs"], values, label=method, color=_COLOURS[i % 12])
        axes.set_xscale("log")
        axes.set_xlabel("retrieved items")
        axes.set_title(f"{name} %", fontsize=10)
        axes.grid(alpha=0.3)
    figure.legend(*_all_labels(figure), loc="outside right center", fontsize=8)
    return figure


def strips(rows: Sequence[tuple[str, dict[str, Any]]]) -> Figure:
    """Draw retrieved pictures: one band a method, one line a query, wrong ones framed in red."""
    n_queries, n_tiles = rows[0][1]["tiles"]["shape"][:2]
    figure = Figure(figsize=(0.42 * n_tiles + 1.4, 0.42 * n_queries * len(rows) + 0.3 * len(rows)))
    bands = figure.subfigures(len(rows), 1, squeeze=False)
    for band, (name, result) in zip(bands[:, 0], rows, strict=True):
        tiles = unpack(result["tiles"])
        band.suptitle(name, fontsize=8, x=0.01, ha="left")
        grid = band.subplots(n_queries, n_tiles, squeeze=False, gridspec_kw={"wspace": 0.05})
        for q in range(n_queries):
            for t in range(n_tiles):
                right = t == 0 or result["relevant"][q][t - 1]
                _tile(grid[q, t], tiles[q, t], None if right else "#d62728")
    return figure


def plane_panels(result: dict[str, Any]) -> Figure:
    """Draw the base set's embedding, and that of all data coloured by label."""
    base, all_points, labels = (unpack(result[name]) for name in ("base", "points", "labels"))
    figure = Figure(figsize=(9.2, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.scatter(*base.T.astype(float), s=8, c="#333333", linewidths=0)
    left.set_title(f"base set, {len(base)} points", fontsize=10)
    right.scatter(
        *all_points.T.astype(float), s=0.6, c=labels, cmap="tab10", linewidths=0, rasterized=True
    )
    right.set_title(f"all {len(all_points):,} points, by induction", fontsize=10)
    for axes in (left, right):
        axes.set_xticks([])
        axes.set_yticks([])
    return figure


def _tile(axes: Axes, picture: NDArray[np.uint8], frame: str | None) -> None:
    axes.imshow(picture, cmap="gray_r" if picture.ndim == 2 else None, interpolation="nearest")
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(frame is not None)
        spine.set_color(frame)
        spine.set_linewidth(1.5)


def _all_labels(figure: Figure) -> tuple[list[Any], list[str]]:
    """Every label once, whichever panel has it."""
    found: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return list(found.values()), list(found)
