"""Write figures as PNG and SVG, the same bytes for the same records."""

from __future__ import annotations

import io
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bitfold.io.atomic import replace_atomically
from reproduction.image_encoding import reduce_colors, reduce_inline_colors
from reproduction.shared_types import Float64Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 150
FONTS = ["DejaVu Sans"]

STEPS = 100_003
"""Steps of a position; a prime, because a decimal fraction could lie just between two steps."""


def write_figure(
    folder: Path, stem: str, figure: Figure, alt: str, *, has_photos: bool = False
) -> str:
    """Write a figure to files, and return its HTML.

    Parameters
    ----------
    folder, stem
        Where to write, and the name without its ending.
    figure
        The figure.
    alt
        What the figure shows, for those who do not see it.
    has_photos
        Whether all colors are kept; otherwise a palette makes the files smaller.
    """
    from matplotlib import rc_context

    # With a fixed salt and no date the same records give the same bytes.
    with rc_context({"svg.hashsalt": "bitfold", "font.sans-serif": FONTS}):
        # Arranged once; otherwise every file would repeat it, which takes most of the time.
        figure.draw_without_rendering()
        figure.set_layout_engine(None)
        _round_positions(figure)
        svg = _save_figure(figure, format="svg", metadata={"Date": None}, dpi=DPI)
        png = _save_figure(figure, format="png", dpi=DPI)
    if not has_photos:
        svg, png = reduce_inline_colors(svg), reduce_colors(png)
    for suffix, content in ((".svg", svg), (".png", png)):
        with replace_atomically(folder / f"{stem}{suffix}") as file:
            file.write(content)
    return (
        f'<figure><img src="{stem}.png" alt="{escape(alt)}" loading="lazy">'
        f'<figcaption><a href="{stem}.png">PNG</a> · <a href="{stem}.svg">SVG</a>'
        "</figcaption></figure>"
    )


def _round_positions(figure: Figure) -> None:
    """Round what the layout engine computed; its last digits depend on memory addresses."""
    for axes in figure.axes:
        x, y, width, height = _round(axes.get_position(original=True).bounds)
        axes.set_position((x, y, width, height), which="original")
    for text in figure.texts:
        x, y = _round(text.get_position())
        text.set_position((x, y))


def _round(numbers: tuple[float, ...]) -> Float64Array:
    return np.round(np.multiply(numbers, STEPS)) / STEPS


def _save_figure(figure: Figure, **options: Any) -> bytes:
    content = io.BytesIO()
    figure.savefig(content, **options)
    return content.getvalue()
