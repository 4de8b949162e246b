"""Measured quality: exact neighbors as found by brute force, and never good at low recall."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from tests.explorer.conftest import items_of

import bitfold as bf
from bitfold.evaluation import References, TopQuality
from bitfold.explorer import quality
from bitfold.explorer.item_vectors import ItemVectors
from bitfold.explorer.opening import ItemSources, open_models
from bitfold.hashers import LSH
from bitfold.metrics import closest_neighbors


@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_neighbors_are_exact(monkeypatch: pytest.MonkeyPatch, metric: str) -> None:
    monkeypatch.setattr(quality, "_ROWS_PER_BLOCK", 70)
    X = np.random.default_rng(0).normal(size=(300, 8)).astype(np.float32)
    rows = np.arange(0, 300, 2)
    vectors = ItemVectors.from_array(X, metric, np.arange(300))
    found = quality._find_neighbors(vectors, rows, X[1:9:2], 20)
    wanted = closest_neighbors(X, X[1:9:2], k=20, rows=rows, metric=metric)
    np.testing.assert_array_equal(found, wanted)


def test_codes_of_the_right_kind_without_the_neighbors_are_not_good(tmp_path: Path) -> None:
    """Three wide clusters, and codes that only say which one: perfect labels, poor neighbors."""
    rng = np.random.default_rng(0)
    labels = np.arange(1500) % 3
    X = (rng.normal(size=(1500, 12)) + 60 * np.eye(3, 12)[labels]).astype(np.float32)
    hasher = LSH(4, random_state=3).fit(X)
    hasher.save(tmp_path / "m.bitfold")
    index = bf.HammingIndex(4)
    index.add(hasher.encode(X))
    index.save(tmp_path / "m.index")
    np.save(tmp_path / "y.npy", labels)
    [opened] = open_models([tmp_path / "m.index"], [tmp_path / "m.bitfold"])
    items = items_of(opened, ItemSources(vectors=X, label=str(tmp_path / "y.npy")))
    measured = quality.measure_quality(opened.model, items)
    assert measured is not None
    assert measured.quality.precision_10 == pytest.approx(1, abs=0.02)
    assert measured.quality.recall_10 < 0.1
    assert measured.verdict.grade != "good" and "recall@10" in measured.verdict.text


def test_a_good_verdict_by_labels_tells_the_recall() -> None:
    chance, exact = TopQuality(0.01, 0.04, 0.1, 0.1), TopQuality(1.0, 1.0, 1.0, 0.9)
    references = References(exact, chance, chance, "ITQ")
    model, vectors = Mock(), Mock()
    model.distinct.n_bytes, vectors.width, vectors.kept.values.dtype.itemsize = 8, 64, 4
    for recall, is_reported in ((0.3, True), (0.6, False)):
        verdict = quality._judge(model, vectors, TopQuality(recall, 0.7, 0.8, 0.9), references)
        assert verdict.grade == "good"
        assert (f"recall@10 is {recall:.2f}" in verdict.text) == is_reported
