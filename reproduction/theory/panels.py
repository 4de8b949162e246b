"""Rows of panels in one style, and points in them."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from numpy.typing import NDArray

Points = NDArray[np.floating[Any]]

INK, FAINT, STRONG = "#222222", "#c4c4c4", "#d62728"
ARMS = ListedColormap(["#1f77b4", "#ff7f0e", "#2ca02c", "#9467bd"])

STYLE: dict[Any, Any] = {
    "axes.labelsize": 8, "axes.titlesize": 8.5, "legend.fontsize": 7.5, "xtick.labelsize": 7,
    "ytick.labelsize": 7,
}  # fmt: skip


def panels(n: int, width: float = 2.4, square: int | None = None) -> tuple[Figure, Any]:
    """Return a row of panels; the first ``square`` (by default all) are maps without axes."""
    figure = Figure(figsize=(width * n, 2.7 if width < 3 else 3), layout="constrained")
    axes = figure.subplots(1, n)
    for place, panel in enumerate(axes):
        if square is None or place < square:
            panel.set_aspect("equal")
            panel.set_xticks([])
            panel.set_yticks([])
    return figure, axes


def scatter(
    axes: Axes,
    points: Points,
    arms: NDArray[np.int64] | None,
    title: str | None = None,
    *,
    size: float = 3,
    color: str = FAINT,
) -> None:
    """Draw points of the plane, colored by their arm or alike."""
    x, y = points.T
    if arms is None:
        axes.scatter(x, y, s=size, c=color, linewidths=0, zorder=2)
    else:
        axes.scatter(x, y, s=size, c=arms, cmap=ARMS, linewidths=0, zorder=2)
    if title is not None:
        axes.set_title(title)
