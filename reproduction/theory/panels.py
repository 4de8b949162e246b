"""Rows of panels in one style, and points in them."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from reproduction.shared_types import AnyArray, Int64Array

BLACK, LIGHT_GRAY, RED = "#222222", "#c4c4c4", "#d62728"
ARM_COLORS = ListedColormap(["#1f77b4", "#ff7f0e", "#2ca02c", "#9467bd"])

STYLE: dict[Any, Any] = {
    "axes.labelsize": 8, "axes.titlesize": 8.5, "legend.fontsize": 7.5, "xtick.labelsize": 7,
    "ytick.labelsize": 7,
}  # fmt: skip


def make_panels(n: int, width: float = 2.4, n_maps: int | None = None) -> tuple[Figure, Any]:
    """Return a figure with a row of panels.

    Parameters
    ----------
    n
        Number of panels.
    width
        Width of each in inches.
    n_maps
        The first ones are maps with equal scales and without axes; None for all.

    Returns
    -------
    The figure and its panels.
    """
    figure = Figure(figsize=(width * n, 2.7 if width < 3 else 3), layout="constrained")
    axes = figure.subplots(1, n)
    for panel in axes[:n_maps]:
        panel.set_aspect("equal")
        panel.set_xticks([])
        panel.set_yticks([])
    return figure, axes


def draw_points(
    axes: Axes,
    points: AnyArray,
    arms: Int64Array | None,
    title: str | None = None,
    *,
    size: float = 3,
    color: str = LIGHT_GRAY,
) -> None:
    """Draw points of the plane, colored by their arm or all in one color."""
    x, y = points.T
    if arms is None:
        axes.scatter(x, y, s=size, c=color, linewidths=0, zorder=2)
    else:
        axes.scatter(x, y, s=size, c=arms, cmap=ARM_COLORS, linewidths=0, zorder=2)
    if title is not None:
        axes.set_title(title)
