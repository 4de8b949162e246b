"""Pictures: which file shows which item, and what an array may hold."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from bitfold.explorer.images import SIDE, Folder, NoPicture, Stack, decode, read_album

IDS = np.arange(12)


def fill(folder: Path, *names: str) -> Path:
    for shade, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (4, 4), shade).save(folder / name)
    return folder


def shades(path: Path, ids: Any) -> dict[int, int]:
    """Which item is shown by which file, told by its shade."""
    album = read_album(path, np.array(ids))
    assert isinstance(album, Folder)
    pixels = {item: album.load(item).getpixel((0, 0)) for item in ids if item in album}
    return {item: pixel[0] for item, pixel in pixels.items() if isinstance(pixel, tuple)}


def test_files_named_by_id_belong_to_it(tmp_path: Path) -> None:
    fill(tmp_path, "10.png", "2.png", "sub/7.png")
    assert shades(tmp_path, range(12)) == {10: 0, 2: 1, 7: 2}
    assert 3 not in read_album(tmp_path, IDS)


def test_a_folder_may_have_more_than_the_index(tmp_path: Path) -> None:
    fill(tmp_path, *(f"{i}.png" for i in range(6)))
    assert shades(tmp_path, [4, 2]) == {4: 4, 2: 2}


def test_other_names_go_by_their_order(tmp_path: Path) -> None:
    fill(tmp_path, "a.png", "c.png", "b.png")
    (tmp_path / "notes.txt").write_text("no picture", encoding="utf-8")
    (tmp_path / ".hidden.png").write_bytes(b"")
    assert shades(tmp_path, [100, 7, 300]) == {7: 0, 100: 2, 300: 1}


def test_numbers_that_are_no_ids_go_by_their_value(tmp_path: Path) -> None:
    fill(tmp_path, *(f"{i}.png" for i in range(1, 13)))
    assert shades(tmp_path, range(12)) == {i: i for i in range(12)}


@pytest.mark.parametrize("names", [("a.png", "b.png"), ()])
def test_too_few_pictures_are_refused(tmp_path: Path, names: tuple[str, ...]) -> None:
    fill(tmp_path, *names)
    with pytest.raises(ValueError, match=r"must (be named by id|hold pictures).*got (2|none)\.$"):
        read_album(tmp_path, IDS)


@pytest.mark.parametrize("shape", [(12, 5, 6), (12, 5, 6, 1), (12, 5, 6, 3), (12, 5, 6, 4)])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.int64, bool])
def test_arrays_of_any_kind_are_drawn(tmp_path: Path, shape: tuple[int, ...], dtype: Any) -> None:
    np.save(tmp_path / "a.npy", np.arange(np.prod(shape)).reshape(shape).astype(dtype))
    image = read_album(tmp_path / "a.npy", IDS).load(11)
    assert image.size == (6, 5)
    assert decode(read_album(tmp_path / "a.npy", IDS).png(11)).size == (6, 5)


def test_the_range_of_an_array_becomes_black_to_white(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", np.linspace(0, 16, 12 * 64).reshape(12, 64))
    album = read_album(tmp_path / "a.npz", IDS)
    assert isinstance(album, Stack)
    assert np.asarray(album.load(0)).min() == 0
    assert np.asarray(album.load(11)).max() == 255


BAD_ARRAYS: dict[str, tuple[Any, str]] = {
    "too few": (np.zeros((3, 4, 4)), "a picture for every id of the index up to 11, got 3."),
    "no pictures": (np.zeros((12, 7)), "must hold pictures (n, height, width[, 3]), got"),
    "two channels": (np.zeros((12, 4, 4, 2)), "must hold pictures"),
    "text": (np.full((12, 4, 4), "x"), "must hold pictures"),
    "huge": (np.broadcast_to(np.uint8(0), (1, 8000, 8000)), "at most 50 million pixels"),
}


@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_other_arrays_are_refused(tmp_path: Path, name: str) -> None:
    array, sentence = BAD_ARRAYS[name]
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(ValueError, match=re.escape(sentence)):
        read_album(tmp_path / "a.npy", IDS)


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
@pytest.mark.parametrize("content", [b"", b"junk", pickle.dumps([1])])
def test_other_files_are_refused(tmp_path: Path, content: bytes, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"must be an array of pictures, got something else\.$"):
        read_album(path, IDS)


def test_large_pictures_are_made_small() -> None:
    album = Stack(np.zeros((1, 900, 300), np.uint8))
    small = decode(album.png(0))
    assert small.size == (SIDE // 3, SIDE)


def test_a_damaged_file_of_a_folder_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "0.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(NoPicture, match="picture must be"):
        read_album(tmp_path, np.arange(1)).png(0)
