"""One chart per data set: quality by bytes per vector."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from reproduction.which_code.measure import HAMMING
from reproduction.which_code.summary import CodeRow, list_unlabeled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANELS = (
    ("precision_10", "P@10, percent: same label as the query"),
    ("recall_10", "recall@10, percent: exact neighbors found"),
)

_COLORS = {
    "DualHasher": "#d62728", "IMH": "#ff7f0e", "ITQ": "#1f77b4", "LSH": "#7f7f7f",
    "sign bits": "#8c564b", "PQ16x8": "#2ca02c", "PCA64,RaBitQ": "#9467bd", "RaBitQ": "#17becf",
}  # fmt: skip
_MARKERS = {64: "s", 128: "o", 0: "D"}
"""Shapes by code length."""


def write_chart(rows: Sequence[CodeRow], title: str, path: Path) -> Path:
    """Draw the chart of a data set, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draw_chart(rows, title).savefig(path, dpi=130)
    return path


def draw_chart(rows: Sequence[CodeRow], title: str) -> Figure:
    """Draw precision and recall by bytes; the background is white in both color schemes."""
    figure = Figure(figsize=(10, 4.2), layout="constrained", facecolor="white")
    shown = list_unlabeled(rows)
    panels = figure.subplots(1, len(PANELS))
    for axes, (measure, label) in zip(panels, PANELS, strict=True):
        _draw_panel(axes, shown, measure)
        axes.set_title(label, fontsize=10)
    handles = {h.get_label(): h for axes in panels for h in axes.get_legend_handles_labels()[0]}
    figure.legend(handles=list(handles.values()), loc="outside right center", fontsize=8)
    figure.suptitle(title, fontsize=11)
    return figure


def _draw_panel(axes: Axes, rows: Sequence[CodeRow], measure: str) -> None:
    for row in rows:
        if row.is_exact:
            axes.axhline(row.values[measure], color="#444444", ls="--", label="exact vectors")
        else:
            axes.plot(row.n_bytes, row.values[measure], **_style(row))
    sizes = sorted({row.n_bytes for row in rows if not row.is_exact})
    axes.set_xscale("log", base=2)
    axes.set_xticks(_thin_out(sizes))
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("bytes per vector")
    axes.grid(alpha=0.3)


def _style(row: CodeRow) -> dict[str, Any]:
    """Return color by method, shape by length; markers of Hamming rankings are hollow."""
    color, is_hollow = _COLORS[row.contender.method], row.ranking == HAMMING
    return {
        "color": color,
        "marker": _MARKERS[row.contender.n_bits],
        "markerfacecolor": "white" if is_hollow else color,
        "markersize": 8,
        "ls": "",
        "label": row.title.replace("`", ""),
    }


def _thin_out(sizes: Sequence[int]) -> list[int]:
    """Leave out sizes whose labels would overlap on a logarithmic axis."""
    kept: list[int] = []
    for size in sizes:
        if not kept or size >= 1.2 * kept[-1]:
            kept.append(size)
    return kept
