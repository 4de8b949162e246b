"""Figures of the theory pages."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from PIL import Image
from reproduction.theory import plane

from reproduction import theory

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [page for page in sorted((DOCS / "theory").glob("*.md")) if page.stem != "slips"]


def list_images(page: Path) -> list[str]:
    """Return the images of a page."""
    return re.findall(r"!\[[^\]]+\]\((\S+)\)", page.read_text("utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_show_small_figures(page: Path) -> None:
    assert list_images(page)
    for link in list_images(page):
        file = (page.parent / link).resolve()
        assert file.parent == DOCS / "images" / "theory"
        assert file.stem in theory.FIGURES
        assert file.stat().st_size < 80_000


def test_every_figure_is_shown() -> None:
    names = [Path(link).stem for page in PAGES for link in list_images(page)]
    assert sorted(names) == sorted(theory.FIGURES)


@pytest.mark.parametrize("name", theory.FIGURES)
def test_figures_are_drawn(name: str, tmp_path: Path) -> None:
    theory.save_figure(name, tmp_path / f"{name}.png")
    with Image.open(tmp_path / f"{name}.png") as image:
        colors = image.convert("RGB").getcolors(1 << 24)
    assert colors is not None
    assert len(colors) > 16  # more than a frame and a title


def test_counted_links_rarely_jump() -> None:
    by_distance, counted = plane.draw_graphs().axes
    shares = []
    for axes in (by_distance, counted):
        (links,) = (part for part in axes.collections if isinstance(part, LineCollection))
        colors = np.asarray(links.get_colors())
        is_jump = colors[:, 0] > colors[:, 2]  # red, not gray
        # A line's width is the root of its weight.
        weights = np.asarray(links.get_linewidth()) ** 2
        shares.append(weights[is_jump].sum() / weights.sum())
    assert 0 < shares[1] < shares[0]


def test_prototype_error_is_below_its_bound() -> None:
    bound, error = plane.draw_base_sets().axes[3].lines
    assert (np.asarray(error.get_ydata()) < np.asarray(bound.get_ydata())).all()
