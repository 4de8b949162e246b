"""``bitfold explore``: its arguments; the page is tested with the explorer."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.helpers import LABELS, Run, X, assert_fails

import bitfold as bf
from bitfold.cli.explore import ItemFiles, _load, _make_names, _open_models
from bitfold.errors import DataError
from bitfold.hashers import LSH


def test_names_of_models() -> None:
    assert _make_names([Path("a/x.bitfold"), Path("b/y.bitfold")]) == ["x", "y"]
    paths = [Path("a/m.bitfold"), Path("b/m.bitfold")]
    assert _make_names(paths) == ["a/m.bitfold", "b/m.bitfold"]


def test_one_model_per_index(warm: Run, files: Path) -> None:
    index, model = str(files / "my.index"), str(files / "m.bitfold")
    assert_fails(warm("explore", index, index, "--model", model), "2 indexes and 1 models", 2)
    assert_fails(warm("explore", "missing.index", "--model", model), "missing.index", 2)


def test_a_collection_brings_its_model_vectors_and_metadata(tmp_path: Path) -> None:
    path, ids = tmp_path / "digits.bitfold", [f"d{i}" for i in range(300)]
    hasher = LSH(16, random_state=0).fit(X[:300])
    metadata = {"digit": LABELS[:300], "title": [f"Digit {label}" for label in LABELS[:300]]}
    with bf.Collection.create(path, X[:300], hasher=hasher, ids=ids, metadata=metadata) as c:
        c.remove(["d0"])
    files = ItemFiles(None, None, None, None, "digit", "title")
    workspace = _load([path], [], files, sample=20)
    view = workspace.views[0]
    assert (view.model.name, len(view.model.ids)) == ("digits", 299)
    item = workspace.items.describe(0)
    assert (item.text, item.label) == (f"Digit {LABELS[1]}", LABELS[1])
    hits = workspace.exact(workspace.query("item:0"), 3)
    assert hits.ids.shape == (1, 3)
    plain = _load([path], [], ItemFiles(None, None, None, None, None, None), sample=20)
    assert plain.items.text_of(0) == "d1"


def test_a_collection_without_codes(tmp_path: Path) -> None:
    bf.Collection.create(tmp_path / "c", X[:5]).close()
    with pytest.raises(DataError, match="too few items"):
        _open_models([tmp_path / "c"], [])
