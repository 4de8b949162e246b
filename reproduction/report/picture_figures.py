"""Figures of images: what was retrieved, and the embedding in the plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from reproduction.image_encoding import decode_array
from reproduction.report.line_figures import finish_figure, make_figure
from reproduction.report.style import DIGIT_COLORS
from reproduction.shared_types import AnyArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CIFAR_CLASSES = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip
"""Names of the classes of CIFAR-10."""

WRONG_COLOR = "#e4002b"
"""Color of the frames around hits of another class."""

RED_NOTE = "Red frames: hits of another class."

PLANE_SIZE = 1200
"""Records of Fig. 5 have positions from 0 to this number."""

_GAP = 0.06
"""Space around a tile."""


def draw_digits(heading: str, rows: Mapping[str, Mapping[str, Any]], note: str) -> Figure:
    """Draw Fig. 2: one row of blocks per column of the report, one block per distance."""
    figure = make_figure(12.4, 0.7 + 1.5 * len(rows), layout="constrained")
    n_blocks = max(map(len, rows.values()))
    ratios = [1.1] + [10.0] * n_blocks
    grid = figure.subplots(len(rows), 1 + n_blocks, squeeze=False, width_ratios=ratios)
    for axes_row, (name, blocks) in zip(grid, rows.items(), strict=True):
        first = decode_array(next(iter(blocks.values()))["tiles"])
        _draw_tiles(axes_row[0], first[:, :1], None)
        axes_row[0].set_title("query", fontsize=8.5)
        axes_row[0].set_ylabel(name, fontsize=9)
        for axes, (title, block) in zip(axes_row[1:], blocks.items(), strict=True):
            _draw_tiles(axes, decode_array(block["tiles"])[:, 1:], block["relevant"])
            axes.set_title(f"{title}: {block['share']:.1f} % correct", fontsize=8.5)
    finish_figure(figure, heading, f"{RED_NOTE} {note}", legend=False)
    return figure


def draw_retrieved(heading: str, results: Sequence[tuple[str, dict[str, Any]]]) -> Figure:
    """Draw Fig. 8: one block per query, one line of hits per method."""
    tiles = [decode_array(result["tiles"]) for _, result in results]
    n_queries, n_rows = len(tiles[0]), len(results)
    n_wide = 2
    n_high = -(-n_queries // n_wide)
    figure = make_figure(11.4, 0.8 + n_high * (0.55 + 0.36 * n_rows), layout="constrained")
    grid = figure.subplots(n_high, n_wide, squeeze=False)
    for query, axes in enumerate(grid.flat):
        if query >= n_queries:
            axes.set_visible(False)
            continue
        hits = np.stack([own[query, 1:] for own in tiles])
        relevant = [result["relevant"][query] for _, result in results]
        _draw_tiles(axes, hits, relevant)
        names = [f"{name}  {sum(own)}" for (name, _), own in zip(results, relevant, strict=True)]
        axes.set_yticks(np.arange(n_rows) + 0.5, names, fontsize=8.5)
        _add_query(axes, tiles[0][query, 0], _name_class(results[0][1], query), n_rows)
    finish_figure(
        figure, heading, f"{RED_NOTE} Numbers: hits of the query's class among ten.", legend=False
    )
    return figure


def _name_class(result: Mapping[str, Any], query: int) -> str:
    return CIFAR_CLASSES[result["classes"][query]] if "classes" in result else ""


def _add_query(axes: Axes, tile: AnyArray, name: str, n_rows: int) -> None:
    """Draw the query above its hits, with the name of its class."""
    _show(axes, tile, 0, -1.55, 1.4)
    axes.text(1.65, -0.8, f"query: {name}", fontsize=10, fontweight="bold", va="center")
    axes.set_ylim(n_rows + _GAP, -1.65)


def _draw_tiles(axes: Axes, tiles: AnyArray, relevant: Sequence[Sequence[bool]] | None) -> None:
    """Draw tiles in rows and columns, with a frame around those that are not relevant."""
    from matplotlib.patches import Rectangle

    n_rows, n_columns = tiles.shape[:2]
    for row, column in np.ndindex(n_rows, n_columns):
        _show(axes, tiles[row, column], column, row, 1)
        if relevant is not None and not relevant[row][column]:
            place, size = (column + _GAP / 2, row + _GAP / 2), 1 - _GAP
            frame = Rectangle(place, size, size, fill=False, color=WRONG_COLOR, linewidth=1.3)
            axes.add_patch(frame)
    axes.set(
        xlim=(-_GAP, n_columns + _GAP),
        ylim=(n_rows + _GAP, -_GAP),
        aspect="equal",
        xticks=[],
        yticks=[],
    )
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)


def _show(axes: Axes, tile: AnyArray, left: float, top: float, size: float) -> None:
    extent = (left + _GAP, left + size - _GAP, top + size - _GAP, top + _GAP)
    colors = "gray_r" if tile.ndim == 2 else None
    axes.imshow(tile, cmap=colors, interpolation="nearest", extent=extent)


def draw_plane(heading: str, rows: Mapping[str, dict[str, Any]]) -> Figure:
    """Draw Fig. 5: the base set and all rows in the plane, one row of panels per column."""
    figure = make_figure(9.6, 0.8 + 4.3 * len(rows), layout="constrained")
    grid = figure.subplots(len(rows), 2, squeeze=False)
    for (left, right), (name, result) in zip(grid, rows.items(), strict=True):
        _draw_base_points(left, result)
        left.set_title(f"{name}: base set, {result['base']['shape'][1]} points", fontsize=9.5)
        _draw_all_points(right, result)
        n_points, share = result["labels"]["shape"][0], result.get("share")
        text = "" if share is None else f"; {share:.1f} % next to their own digit"
        right.set_title(f"{name}: all {n_points:,} digits{text}", fontsize=9.5)
        for axes in (left, right):
            # Both show the same part of the plane.
            axes.set(xticks=[], yticks=[], xlim=(0, PLANE_SIZE), ylim=(0, PLANE_SIZE))
            axes.spines[:].set_color("#bbbbbb")
    note = ("A base point has the color of most of its digits. Percentages: digits whose nearest "
            "base point in the plane has the color of their own digit.")  # fmt: skip
    finish_figure(figure, heading, note, legend=False)
    figure.legend(handles=_make_digit_handles(), loc="outside right center", title="digit",
                  fontsize=9, frameon=False)  # fmt: skip
    return figure


def _draw_base_points(axes: Axes, result: Mapping[str, Any]) -> None:
    points = decode_array(result["base"]).astype(float)
    labels = decode_array(result["base_labels"]) if "base_labels" in result else None
    colors = "#333333" if labels is None else [DIGIT_COLORS[label] for label in labels]
    axes.scatter(points[0], points[1], s=16, c=colors, linewidths=0)


def _draw_all_points(axes: Axes, result: Mapping[str, Any]) -> None:
    points, labels = (decode_array(result[name]) for name in ("points", "labels"))
    # The points are sorted by class; drawn in that order, the last class would cover the others.
    mixed = np.random.default_rng(0).permutation(len(labels))
    colors = np.array(DIGIT_COLORS)[labels[mixed]]
    x, y = points[:, mixed].astype(float)
    axes.scatter(x, y, s=0.7, c=colors, linewidths=0, rasterized=True)


def _make_digit_handles() -> list[Any]:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], linestyle="none", marker="o", markersize=6, color=color, label=str(digit))
        for digit, color in enumerate(DIGIT_COLORS)
    ]
