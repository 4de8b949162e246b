"""One figure: quality by number of coarse bits, a row of panels per data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from matplotlib.figure import Figure

from reproduction.kind_and_order.cases import SPLITS
from reproduction.kind_and_order.summary import Fit, Values, list_measures, list_splits
from reproduction.kind_and_order.tables import HEADS
from reproduction.which_code.measure import ASYMMETRIC, HAMMING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MEASURES = ("map", "precision_10", "precision_100", "recall_10")
_COLORS = {128: "#d62728", 64: "#1f77b4"}


class Curves(NamedTuple):
    """The fits of a data set, and the quality of its exact vectors."""

    fits: Sequence[Fit]
    exact: Values


def write_chart(curves: Mapping[str, Curves], path: Path) -> Path:
    """Draw the figure, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draw_chart(curves).savefig(path, dpi=110)
    return path


def draw_chart(curves: Mapping[str, Curves]) -> Figure:
    """Draw all data sets by name; the background is white in both color schemes."""
    size = (12, 0.8 + 2.6 * len(curves))
    figure = Figure(figsize=size, layout="constrained", facecolor="white")
    panels = figure.subplots(len(curves), len(_MEASURES), squeeze=False)
    for row, (name, drawn) in zip(panels, curves.items(), strict=True):
        for axes, measure in zip(row, _MEASURES, strict=True):
            if measure in list_measures(drawn.fits):
                _draw_panel(axes, drawn, measure)
                axes.set_title(f"{name}: {HEADS[measure]}, percent", fontsize=9)
            else:
                axes.set_axis_off()
    handles = {h.get_label(): h for a in figure.axes for h in a.get_legend_handles_labels()[0]}
    figure.legend(handles=list(handles.values()), loc="outside upper center", ncols=5, fontsize=9)
    return figure


def _draw_panel(axes: Axes, curves: Curves, measure: str) -> None:
    for n_bits, color in _COLORS.items():
        fits = list_splits(curves.fits, n_bits)
        x = [fit.setting.n_coarse_bits for fit in fits]
        for ranking, style in ((ASYMMETRIC, "o-"), (HAMMING, "o:")):
            y = [fit.find_values(n_bits, ranking)[measure] for fit in fits]
            fill = color if ranking == ASYMMETRIC else "white"
            label = f"{n_bits} bits, {ranking}"
            axes.plot(x, y, style, color=color, markerfacecolor=fill, markersize=5, label=label)
    if measure in curves.exact and measure != "recall_10":
        axes.axhline(curves.exact[measure], color="#444444", ls="--", label="exact vectors")
    axes.set_xticks(sorted({n for splits in SPLITS.values() for n in splits}))
    axes.set_xlabel("coarse bits", fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.3)
