"""Figures of the theory pages: one per step of the method, drawn from results of bitfold."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure
from PIL import Image

from reproduction.theory.digits import (
    draw_embeddings,
    draw_metrics,
    draw_rotation,
    draw_search,
    draw_supervised,
)
from reproduction.theory.panels import STYLE
from reproduction.theory.plane import draw_base_sets, draw_graphs, draw_induction, draw_path

FIGURES: dict[str, Callable[[], Figure]] = {
    "path": draw_path,
    "base-set": draw_base_sets,
    "graph": draw_graphs,
    "embeddings": draw_embeddings,
    "induction": draw_induction,
    "rotation": draw_rotation,
    "search": draw_search,
    "supervised": draw_supervised,
    "metrics": draw_metrics,
}
"""Figures by the names of their files."""


def save_figure(name: str, path: Path) -> None:
    """Draw one figure, and save it with a palette of 256 colors."""
    with rc_context(STYLE):
        figure = FIGURES[name]()
        raw = io.BytesIO()
        figure.savefig(raw, dpi=110)
    Image.open(raw).convert("RGB").quantize(256, kmeans=2).save(path, optimize=True)


def draw_figures(docs: Path) -> Path:
    """Draw all figures, and return their folder."""
    folder = docs / "images" / "theory"
    folder.mkdir(parents=True, exist_ok=True)
    for name in FIGURES:
        save_figure(name, folder / f"{name}.png")
    return folder
