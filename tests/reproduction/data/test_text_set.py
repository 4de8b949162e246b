"""The text set: made from a package list, and loaded with its split."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from reproduction.data.loader import LOADERS
from reproduction.data.text_set import (
    DESCRIPTIONS_FILE,
    FOLDER,
    VECTORS_FILE,
    embed_sentences,
    load_text,
    make_text_set,
    read_descriptions,
    read_text_set,
)

from bitfold.errors import DataError, FormatError, MissingDataError
from bitfold.io.download import find_file

PACKAGES = [
    ("2048", "games", "Slide and add puzzle game for text mode"),
    ("7zip", "utils", "7-Zip file archiver with a high compression ratio"),
    ("bsdgames", "games", "collection of classic textual Unix games"),
    ("zip", "utils", "Archiver for .zip files"),
]


def write_list(path: Path, packages: list[tuple[str, str, str]]) -> Path:
    entries = (f"Package: {n}\nSection: {s}\nDescription: {d}\n\n" for n, s, d in packages)
    path.write_text("".join(entries), encoding="utf-8")
    return path


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    return write_list(tmp_path / "Packages", PACKAGES)


def test_files_have_the_layout_of_the_text_set(packages: Path, tmp_path: Path) -> None:
    path = make_text_set([packages], tmp_path / "new" / "text")
    text = read_text_set(path)
    assert path == tmp_path / "new" / "text" / VECTORS_FILE
    assert text.names.tolist() == ["games", "utils"]
    assert text.labels.dtype == np.uint8
    assert text.labels.tolist() == [0, 1, 0, 1]
    assert text.vectors.dtype == np.float16
    assert text.vectors.shape == (4, 256)
    np.testing.assert_allclose(np.linalg.norm(text.vectors.astype(float), axis=1), 1, atol=1e-3)
    found = read_descriptions(path.with_name(DESCRIPTIONS_FILE))
    assert found == [(name, description) for name, _, description in PACKAGES]


def test_vectors_depend_on_the_words(packages: Path, tmp_path: Path) -> None:
    X = read_text_set(make_text_set([packages], tmp_path)).vectors.astype(np.float32)
    similarity = X @ X.T - np.eye(4)
    assert similarity.argmax(axis=1).tolist() == [2, 3, 0, 1]


def test_same_lists_give_the_same_files(packages: Path, tmp_path: Path) -> None:
    folders = [make_text_set([packages], tmp_path / name).parent for name in ("a", "b")]
    for name in (VECTORS_FILE, DESCRIPTIONS_FILE):
        first, second = ((folder / name).read_bytes() for folder in folders)
        assert first == second


def test_later_lists_replace_packages(packages: Path, tmp_path: Path) -> None:
    update = write_list(tmp_path / "Updates", [("zip", "utils", "Archiver, now maintained")])
    path = make_text_set([packages, update], tmp_path)
    assert read_descriptions(path.with_name(DESCRIPTIONS_FILE))[-1][1] == "Archiver, now maintained"


def test_too_many_sections_are_rejected(tmp_path: Path) -> None:
    rows = [(f"p{i}", f"s{i}", f"package {i}") for i in range(257)]
    with pytest.raises(DataError, match="257 sections"):
        make_text_set([write_list(tmp_path / "Packages", rows)], tmp_path)


def test_split_is_random(packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITFOLD_DATA", str(tmp_path))
    text = read_text_set(make_text_set([packages], tmp_path / FOLDER))
    data = LOADERS["text"](n_queries=1)
    order = np.random.default_rng(0).permutation(4)
    assert data.database.dtype == np.float32
    np.testing.assert_array_equal(data.queries, text.vectors[order[:1]])
    np.testing.assert_array_equal(data.database, text.vectors[order[1:]])
    np.testing.assert_array_equal(data.labels, text.labels[order[1:]])


def test_missing_and_damaged_files_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BITFOLD_DATA", str(tmp_path))
    monkeypatch.setenv("BITFOLD_CACHE", str(tmp_path / "cache"))
    with pytest.raises(MissingDataError, match=r"text/debian\.npz"):
        load_text()
    path = tmp_path / FOLDER / VECTORS_FILE
    path.parent.mkdir()
    np.savez(path, vectors=np.zeros((3, 2)), labels=np.zeros(2, np.uint8), names=["a"])
    with pytest.raises(FormatError, match="3 vectors, but 2 labels"):
        load_text(1)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(FormatError, match=r"debian\.npz"):
        load_text(1)


def find_real_data() -> Path:
    path = find_file([FOLDER], [VECTORS_FILE])
    if path is None:
        pytest.skip(f"needs real data: {FOLDER}/{VECTORS_FILE} in BITFOLD_DATA")
    return path


def test_real_split() -> None:
    labels = read_text_set(find_real_data()).labels
    order = np.random.default_rng(0).permutation(len(labels))
    data = load_text()
    assert data.database.shape == (len(labels) - 1000, 256)
    np.testing.assert_array_equal(data.query_labels, labels[order[:1000]])


def test_real_descriptions_have_the_vectors_that_are_stored() -> None:
    path = find_real_data()
    rows = np.random.default_rng(0).choice(len(read_text_set(path).labels), 500, replace=False)
    descriptions = [d for _, d in read_descriptions(path.with_name(DESCRIPTIONS_FILE))]
    vectors = embed_sentences([descriptions[row] for row in rows])
    stored = read_text_set(path).vectors[rows].astype(np.float32)
    np.testing.assert_allclose(vectors, stored, atol=2.5e-4)  # float16 below 0.5
