"""Images: how files are assigned to items, and which arrays are accepted."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from bitfold.explorer.decoding import InvalidImageError, decode_image
from bitfold.explorer.images import (
    MAX_SIDE,
    ImageArray,
    ImageFolder,
    open_images,
    open_images_by_id,
)

IDS = np.arange(12)
NAMES = list(map(str, IDS))


def fill(folder: Path, *names: str) -> Path:
    for shade, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (4, 4), shade).save(folder / name)
    return folder


def shades(path: Path, ids: Any) -> dict[int, int]:
    """Return the file of each item, identified by its shade."""
    ascending = sorted(ids)
    images = open_images(path, list(map(str, ascending)), np.array(ascending))
    assert isinstance(images, ImageFolder)
    rows = [row for row in range(len(ascending)) if row in images]
    pixels = {ascending[row]: images.load(row).getpixel((0, 0)) for row in rows}
    return {item: pixel[0] for item, pixel in pixels.items() if isinstance(pixel, tuple)}


def test_files_named_by_id(tmp_path: Path) -> None:
    fill(tmp_path, "10.png", "2.png", "sub/7.png")
    assert shades(tmp_path, range(12)) == {10: 0, 2: 1, 7: 2}
    assert 3 not in open_images(tmp_path, NAMES, IDS)


def test_folder_may_have_more_images_than_the_index(tmp_path: Path) -> None:
    fill(tmp_path, *(f"{i}.png" for i in range(6)))
    assert shades(tmp_path, [4, 2]) == {4: 4, 2: 2}


def test_other_names_are_assigned_in_order(tmp_path: Path) -> None:
    fill(tmp_path, "a.png", "c.png", "b.png")
    (tmp_path / "notes.txt").write_text("not an image", encoding="utf-8")
    (tmp_path / ".hidden.png").write_bytes(b"")
    assert shades(tmp_path, [100, 7, 300]) == {7: 0, 100: 2, 300: 1}


def test_numbers_other_than_ids_are_assigned_by_value(tmp_path: Path) -> None:
    fill(tmp_path, *(f"{i}.png" for i in range(1, 13)))
    assert shades(tmp_path, range(12)) == {i: i for i in range(12)}


@pytest.mark.parametrize("names", [("a.png", "b.png"), ()])
def test_too_few_images_are_rejected(tmp_path: Path, names: tuple[str, ...]) -> None:
    fill(tmp_path, *names)
    with pytest.raises(ValueError, match=r"2 images|no images"):
        open_images(tmp_path, NAMES, IDS)


@pytest.mark.parametrize("shape", [(12, 5, 6), (12, 5, 6, 1), (12, 5, 6, 3), (12, 5, 6, 4)])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.int64, bool])
def test_array_of_any_shape_and_dtype(tmp_path: Path, shape: tuple[int, ...], dtype: Any) -> None:
    np.save(tmp_path / "a.npy", np.arange(np.prod(shape)).reshape(shape).astype(dtype))
    image = open_images(tmp_path / "a.npy", NAMES, IDS).load(11)
    assert image.size == (6, 5)
    assert decode_image(open_images(tmp_path / "a.npy", NAMES, IDS).png(11)).size == (6, 5)


def test_range_of_an_array_becomes_black_to_white(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", np.linspace(0, 16, 12 * 64).reshape(12, 64))
    images = open_images(tmp_path / "a.npz", NAMES, IDS)
    assert isinstance(images, ImageArray)
    assert np.asarray(images.load(0)).min() == 0
    assert np.asarray(images.load(11)).max() == 255


BAD_ARRAYS: dict[str, tuple[Any, str]] = {
    "too few": (np.zeros((3, 4, 4)), "3 images"),
    "no images": (np.zeros((12, 7)), "must hold images"),
    "two channels": (np.zeros((12, 4, 4, 2)), "must hold images"),
    "text": (np.full((12, 4, 4), "x"), "must hold images"),
    "huge": (np.broadcast_to(np.uint8(0), (1, 8000, 8000)), "at most 50 million pixels"),
}


@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_other_arrays_are_rejected(tmp_path: Path, name: str) -> None:
    array, part = BAD_ARRAYS[name]
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(ValueError, match=re.escape(part)):
        open_images(tmp_path / "a.npy", NAMES, IDS)


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
@pytest.mark.parametrize("content", [b"", b"junk", pickle.dumps([1])])
def test_other_files_are_rejected(tmp_path: Path, content: bytes, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="an array of images"):
        open_images(path, NAMES, IDS)


def test_large_images_are_reduced() -> None:
    images = ImageArray(np.zeros((1, 900, 300), np.uint8))
    small = decode_image(images.png(0))
    assert small.size == (MAX_SIDE // 3, MAX_SIDE)


def test_damaged_image_is_explained(tmp_path: Path) -> None:
    (tmp_path / "0.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(InvalidImageError, match="image"):
        open_images(tmp_path, ["0"], np.arange(1)).png(0)


def test_images_by_id(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    fill(tmp_path / "folder", "10.png", "2.png")
    folder = open_images_by_id(tmp_path / "folder", np.array([10, 2, 3]))
    assert 10 in folder and 2 in folder and 3 not in folder
    np.save(tmp_path / "a.npy", np.arange(48, dtype=np.uint8).reshape(12, 2, 2))
    array = open_images_by_id(tmp_path / "a.npy", np.array([11, 4]))
    assert np.asarray(array.load(11)).tolist() == [[44, 45], [46, 47]]
