"""GIST-960-CIFAR: views of images, and their descriptors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from reproduction.data.cifar10 import load_images
from reproduction.data.gist_cifar import cut_patches, draw_views, load_few_images, load_gist_cifar
from tests.reproduction.data.jpeg_copy import IMAGES, N_IMAGES, RNG, to_jpeg, write_copy

from bitfold.errors import ParameterError
from bitfold.features import color_gist
from reproduction.data import gist_cifar


def test_patches_are_cut_at_their_positions() -> None:
    images = RNG.integers(0, 256, (10, 32, 32, 3)).astype(np.uint8)
    numbers = RNG.integers(0, 2 * 81, 10)
    patches = cut_patches(images, numbers)
    for i, number in enumerate(numbers):
        mirrored, position = divmod(int(number), 81)
        y, x = divmod(position, 9)
        expected = images[i, y : y + 24, x : x + 24]
        assert np.array_equal(patches[i], expected[:, ::-1] if mirrored else expected)


@pytest.mark.parametrize("n_rows", [20, 50, 20 * 163])
def test_views_are_distinct_and_queries_are_other_images(n_rows: int) -> None:
    views = draw_views(24, n_rows, 4, seed=1)
    assert len(views.image) == len(views.view) == n_rows + 4
    assert (views.view[:4] == 0).all()
    assert set(views.image[:4].tolist()).isdisjoint(views.image[4:].tolist())
    pairs = np.stack([views.image[4:], views.view[4:]], axis=1)
    assert len(np.unique(pairs, axis=0)) == n_rows
    # Every image is in the database as a whole, and not at the beginning only.
    whole = np.flatnonzero(views.view[4:] == 0)
    assert len(whole) == 20
    assert n_rows == 20 or whole.max() > 30
    assert views.view.max() <= 162


def test_patches_as_a_data_set(copy_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_copy(copy_path, to_jpeg(IMAGES))
    images, labels, _ = load_images()
    monkeypatch.setattr(gist_cifar, "_ROWS_PER_BLOCK", 16)
    reports: list[tuple[str, int, int]] = []
    data = load_gist_cifar(50, 4, 1, progress=lambda *x: reports.append(x))
    assert data.name == "GIST-960-CIFAR"
    assert reports == [("GIST", done, 54) for done in (16, 32, 48, 54)]
    assert isinstance(data.database, np.memmap)
    assert (data.database.shape, data.queries.shape) == ((50, 960), (4, 960))
    views = draw_views(N_IMAGES, 50, 4, 1)
    for row in (0, 11, 49):
        image, view = views.image[4 + row], views.view[4 + row]
        cut = images[[image]]
        cut = cut_patches(cut, np.array([view - 1])) if view else cut
        assert np.allclose(data.database[row], color_gist(cut), atol=1e-5)
        assert data.labels[row] == labels[image]
    monkeypatch.setattr(gist_cifar, "color_gist", None)
    assert np.array_equal(load_gist_cifar(50, 4, 1).database, data.database)
    for n_rows in (19, 20 * 163 + 1):
        with pytest.raises(ParameterError, match=f"n_rows .*{n_rows}"):
            load_gist_cifar(n_rows, 4)


def test_few_images_are_whole(copy_path: Path) -> None:
    write_copy(copy_path, to_jpeg(IMAGES))
    data = load_few_images(10, 4)
    assert data.name == "GIST-960-CIFAR"
    assert (data.database.shape, data.queries.shape) == ((10, 960), (4, 960))
