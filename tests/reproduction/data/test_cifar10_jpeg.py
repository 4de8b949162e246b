"""The JPEG copy of CIFAR-10, in miniature, and the patches of its images."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from reproduction.cifar10_jpeg import (
    cut_patches,
    draw_views,
    load_cifar10_jpeg,
    load_cifar10_patches,
    load_jpeg_images,
    split_jpeg_images,
)

from bitfold.errors import FormatError, MissingDataError, ParameterError
from bitfold.features import color_gist
from reproduction import cifar10_jpeg

RNG = np.random.default_rng(0)
N = 24
FLAT = np.repeat(np.repeat(RNG.integers(0, 256, (N, 2, 2, 3)), 16, 1), 16, 2).astype(np.uint8)
LABELS = (np.arange(N) * 7 % 10).astype(np.uint8)


def to_jpeg(images: NDArray[np.uint8]) -> list[bytes]:
    contents = []
    for image in images:
        file = io.BytesIO()
        Image.fromarray(image).save(file, "JPEG", quality=95)
        contents.append(file.getvalue())
    return contents


def write_copy(path: Path, contents: list[bytes], **changed: Any) -> None:
    arrays = {
        "data": np.frombuffer(b"".join(contents), np.uint8),
        "offsets": np.cumsum([0, *map(len, contents)]),
        "labels": LABELS[: len(contents)],
    }
    np.savez(path, **(arrays | changed))


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BITFOLD_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("BITFOLD_CACHE", str(tmp_path / "cache"))
    (tmp_path / "data" / "cifar10").mkdir(parents=True)
    return tmp_path / "data" / "cifar10" / "cifar10-jpeg.npz"


def test_images_are_nearly_the_originals(path: Path) -> None:
    write_copy(path, to_jpeg(FLAT))
    images, labels, _ = load_jpeg_images()
    assert np.abs(images.astype(int) - FLAT).mean() < 6
    assert np.array_equal(labels, LABELS)
    data, split = load_cifar10_jpeg(4, 1, features="pixels"), split_jpeg_images(4, 1)
    assert data.name == "CIFAR-10 pixels"
    assert np.array_equal(data.database, split.database.reshape(N - 4, -1))
    assert np.array_equal(data.queries, split.queries.reshape(4, -1))


def test_missing_copy_is_reported(path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"cifar10/cifar10-jpeg\.npz"):
        load_cifar10_jpeg()


@pytest.mark.parametrize("wrong", ["size", "no image", "offsets", "labels", "text"])
def test_invalid_copy_is_rejected(wrong: str, path: Path) -> None:
    valid = to_jpeg(FLAT[:3])
    if wrong == "size":
        write_copy(path, [valid[0], *to_jpeg(RNG.integers(0, 9, (1, 32, 1, 3), np.uint8))])
    elif wrong == "no image":
        write_copy(path, [valid[0], b"hello"])
    elif wrong == "offsets":
        write_copy(path, valid, offsets=np.array([0, 900, 100, 50]))
    elif wrong == "labels":
        write_copy(path, valid, labels=LABELS[:2])
    else:
        path.write_bytes(b"hello")
    with pytest.raises(FormatError, match=r"cifar10-jpeg\.npz"):
        load_cifar10_jpeg(1)


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


def test_patches_as_a_data_set(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_copy(path, to_jpeg(FLAT))
    images, labels, _ = load_jpeg_images()
    monkeypatch.setattr(cifar10_jpeg, "_ROWS_PER_BLOCK", 16)
    reports: list[tuple[str, int, int]] = []
    data = load_cifar10_patches(50, 4, 1, progress=lambda *x: reports.append(x))
    assert data.name == "GIST-960-CIFAR"
    assert reports == [("GIST", done, 54) for done in (16, 32, 48, 54)]
    assert isinstance(data.database, np.memmap)
    assert (data.database.shape, data.queries.shape) == ((50, 960), (4, 960))
    views = draw_views(N, 50, 4, 1)
    for row in (0, 11, 49):
        image, view = views.image[4 + row], views.view[4 + row]
        cut = images[[image]]
        cut = cut_patches(cut, np.array([view - 1])) if view else cut
        assert np.allclose(data.database[row], color_gist(cut), atol=1e-5)
        assert data.labels[row] == labels[image]
    monkeypatch.setattr(cifar10_jpeg, "color_gist", None)
    assert np.array_equal(load_cifar10_patches(50, 4, 1).database, data.database)
    for n_rows in (19, 20 * 163 + 1):
        with pytest.raises(ParameterError, match=f"n_rows .*{n_rows}"):
            load_cifar10_patches(n_rows, 4)
