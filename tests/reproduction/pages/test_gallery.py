"""The gallery: a paragraph and a picture of each method."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from reproduction.gallery import SHOWN, about, draw, learned, reference, spirals
from reproduction.methods import make

from bitfold import hashers


@pytest.mark.parametrize("name", SHOWN)
def test_every_method_is_told_in_words(name: str) -> None:
    assert len(about(name).split()) > 20
    assert reference(name)[-5:-1].isdigit() or "Sec." in reference(name)


def test_every_hasher_is_shown() -> None:
    public = {getattr(hashers, name) for name in hashers.__all__}
    kinds = {kind for kind in public if inspect.isclass(kind) and not inspect.isabstract(kind)}
    assert {type(make(name, 4, 0, {})) for name in SHOWN} == kinds


@pytest.mark.parametrize("name", ["PCAH", "AGH-2"])
def test_the_picture_is_colored_by_the_first_bits(name: str) -> None:
    plane = spirals(400)
    image = draw(name, plane).axes[0].images[0]
    cells = np.asarray(image.get_array())
    left, right, bottom, top = image.get_extent()
    side = np.linspace(left, right, cells.shape[1])
    row, column = 100, 300
    point = [[side[column], np.linspace(bottom, top, cells.shape[0])[row]]]
    bits = learned(name, plane).transform(point)[0, :3]
    assert cells[row, column] == bits @ (1 << np.arange(len(bits)))
    assert len(np.unique(cells)) >= 4


def test_spirals_are_near_in_the_plane_but_apart_on_the_curve() -> None:
    points, curves = spirals(400, noise=0)
    assert set(curves) == {0, 1, 2, 3}
    radius = np.linalg.norm(points, axis=1)
    angle = np.arctan2(points[:, 1], points[:, 0]) - 1.3 * np.pi * radius - np.pi / 2 * curves
    np.testing.assert_allclose(np.cos(angle), 1)
