"""``bitfold explore``: its arguments; the page is tested with the explorer."""

from __future__ import annotations

from pathlib import Path

from tests.cli.helpers import LABELS, Run, X, assert_fails

import bitfold as bf
from bitfold.cli.explore import _open, _prepare
from bitfold.explorer.opening import ItemSources
from bitfold.hashers import LSH


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
    opened, items = _open([path], [], ItemSources(label="digit", text="title"))
    workspace = _prepare(opened, items, lambda stage, done, total: None)
    view = workspace.views[0]
    assert (view.model.name, view.model.n_rows) == ("digits", 299)
    [item] = workspace.items.describe([0])
    assert (item.id, item.text, item.label) == ("d1", f"Digit {LABELS[1]}", LABELS[1])
    assert view.vectors is not None and view.vectors.n_rows == 299
