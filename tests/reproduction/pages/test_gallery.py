"""The gallery: a description and an image of each method."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest
from reproduction.experiments.methods import make_hasher
from reproduction.pages.gallery import (
    GALLERY_METHODS,
    describe_method,
    draw_method,
    find_reference,
    fit_method,
    make_spirals,
    write_page,
)

from bitfold import hashers

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("name", GALLERY_METHODS)
def test_methods_are_described(name: str) -> None:
    assert len(describe_method(name).split()) > 20
    assert find_reference(name)[-5:-1].isdigit() or "Sec." in find_reference(name)


def test_every_hasher_is_in_the_gallery() -> None:
    public = {getattr(hashers, name) for name in hashers.__all__}
    kinds = {kind for kind in public if inspect.isclass(kind) and not inspect.isabstract(kind)}
    shown = {type(make_hasher(name, 4, 0, {})) for name in GALLERY_METHODS}
    assert shown == kinds - {hashers.DualHasher}  # which combines two others


@pytest.mark.parametrize("name", ["PCAH", "AGH-2"])
def test_colors_are_the_first_bits(name: str) -> None:
    spirals = make_spirals(400)
    image = draw_method(name, spirals).axes[0].images[0]
    cells = np.asarray(image.get_array())
    left, right, bottom, top = image.get_extent()
    side = np.linspace(left, right, cells.shape[1])
    row, column = 100, 300
    point = [[side[column], np.linspace(bottom, top, cells.shape[0])[row]]]
    bits = fit_method(name, spirals).transform(point)[0, :3]
    assert cells[row, column] == bits @ (1 << np.arange(len(bits)))
    assert len(np.unique(cells)) >= 4


def test_points_are_on_spirals() -> None:
    points, arms = make_spirals(400, noise=0)
    assert set(arms) == {0, 1, 2, 3}
    radius = np.linalg.norm(points, axis=1)
    angle = np.arctan2(points[:, 1], points[:, 0]) - 1.3 * np.pi * radius - np.pi / 2 * arms
    np.testing.assert_allclose(np.cos(angle), 1)


def test_page_of_the_docs_is_up_to_date(tmp_path: Path) -> None:
    expected = write_page(tmp_path).read_text("utf-8")
    assert (DOCS / "gallery.md").read_text("utf-8") == expected
