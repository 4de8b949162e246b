"""Opening collections, indexes and files: roles of columns, and clear errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.explorer.conftest import index_vectors, items_of, random_vectors

import bitfold as bf
from bitfold.errors import DataError
from bitfold.explorer.opening import ItemSources, make_names, open_models
from bitfold.hashers import LSH

X = np.random.default_rng(0).normal(size=(60, 6)).astype(np.float32)


def collect(path: Path, **options: object) -> Path:
    hasher = LSH(8, random_state=0).fit(X)
    bf.Collection.create(path, X, hasher=hasher, **options).close()  # type: ignore[arg-type]
    return path


def test_names_of_models() -> None:
    assert make_names([Path("a/x.bitfold"), Path("b/y.bitfold")]) == ["x", "y"]
    paths = [Path("a/m.bitfold"), Path("b/m.bitfold")]
    assert make_names(paths) == ["a/m.bitfold", "b/m.bitfold"]


def test_columns_get_roles(tmp_path: Path) -> None:
    metadata = {
        "Category": ["a", "b"] * 30,
        "caption": ["a text of some length"] * 60,
        "file": [f"{i}.png" for i in range(60)],
    }
    path = collect(tmp_path / "c", metadata=metadata)
    Image.new("L", (4, 4)).save(tmp_path / "3.png")
    items = items_of(open_models([path], [])[0], ItemSources(image="file"))
    assert (items.text_column, items.label_column) == ("caption", "Category")
    assert items.image_column == "file" and items.images is not None
    assert items.images.load(3).size == (4, 4)
    with pytest.raises(FileNotFoundError, match=r"4\.png"):
        items.images.load(4)
    with pytest.raises(DataError, match=r"'Category', 'caption', 'file'"):
        items_of(open_models([path], [])[0], ItemSources(text="title"))


def test_a_folder_of_images_is_named_by_any_id(tmp_path: Path) -> None:
    path = collect(tmp_path / "c", ids=[f"cat {i}" for i in range(60)])
    (tmp_path / "pictures").mkdir()
    Image.new("L", (2, 2), 7).save(tmp_path / "pictures" / "cat 5.png")
    sources = ItemSources(image=str(tmp_path / "pictures"))
    images = items_of(open_models([path], [])[0], sources).images
    assert images is not None and 5 in images and 4 not in images


def test_two_models_need_the_same_items(tmp_path: Path) -> None:
    first = collect(tmp_path / "a")
    index_vectors(tmp_path, X)
    opened = open_models([first, tmp_path / "m.index"], [tmp_path / "m.bitfold"])
    assert [each.model.name for each in opened] == ["a", "m"]
    index_vectors(tmp_path, random_vectors(59))
    with pytest.raises(DataError, match="different items"):
        open_models([first, tmp_path / "m.index"], [tmp_path / "m.bitfold"])


def test_a_collection_without_codes(tmp_path: Path) -> None:
    bf.Collection.create(tmp_path / "c", X[:5]).close()
    with pytest.raises(DataError, match="too few items"):
        open_models([tmp_path / "c"], [])
