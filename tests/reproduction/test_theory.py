"""The theory's pictures: all that the pages show, drawn from what the library computes."""

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
PAGES = sorted((DOCS / "theory").glob("*.md"))


def shown(page: Path) -> list[str]:
    """Return the pictures that a page shows."""
    return re.findall(r"!\[[^\]]+\]\((\S+)\)", page.read_text("utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_shows_a_picture_that_is_drawn_and_small(page: Path) -> None:
    assert shown(page)
    for link in shown(page):
        file = (page.parent / link).resolve()
        assert file.parent == DOCS / "images" / "theory"
        assert file.stem in theory.PICTURES
        assert file.stat().st_size < 80_000


def test_every_picture_is_shown() -> None:
    names = [Path(link).stem for page in PAGES for link in shown(page)]
    assert sorted(names) == sorted(theory.PICTURES)


@pytest.mark.parametrize("name", theory.PICTURES)
def test_every_picture_is_drawn(name: str, tmp_path: Path) -> None:
    theory.save(name, tmp_path / f"{name}.png")
    with Image.open(tmp_path / f"{name}.png") as picture:
        colors = picture.convert("RGB").getcolors(1 << 24)
    assert colors is not None
    assert len(colors) > 16  # more than a frame and a title


def test_counted_links_jump_less() -> None:
    by_distance, counted = plane.affinity_graph().axes
    shares = []
    for axes in (by_distance, counted):
        (links,) = (part for part in axes.collections if isinstance(part, LineCollection))
        colors = np.asarray(links.get_colors())
        jumps = colors[:, 0] > colors[:, 2]  # red, not gray
        # A line's width is the root of its weight.
        weights = np.asarray(links.get_linewidth()) ** 2
        shares.append(weights[jumps].sum() / weights.sum())
    assert 0 < shares[1] < shares[0]


def test_the_error_of_the_prototype_stays_below_its_bound() -> None:
    bound, error = plane.base_set().axes[3].lines
    assert (np.asarray(error.get_ydata()) < np.asarray(bound.get_ydata())).all()
