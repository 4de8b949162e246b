"""Bit statistics: correlations, and findings about problems."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.explorer.conftest import index_vectors, random_vectors

import bitfold as bf
from bitfold.explorer.items import ItemLabels, Items
from bitfold.explorer.models import IndexedModel
from bitfold.explorer.statistics import compute_statistics, correlations


def test_correlations_equal_those_of_numpy() -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (50, 5), np.uint8)
    counts = rng.integers(1, 9, 50)
    balance, matrix = correlations(bits, counts.astype(float))
    repeated = np.repeat(bits, counts, axis=0)
    np.testing.assert_allclose(balance, repeated.mean(axis=0))
    np.testing.assert_allclose(matrix, np.corrcoef(repeated.T), atol=1e-12)
    bits[:, 0] = 1
    assert not correlations(bits, counts.astype(float))[1][0].any()


def levels(bits: np.ndarray, tmp_path: Path, labels: np.ndarray | None = None) -> dict[str, str]:
    """Return the findings about an index of these bits: sentence and level."""
    index_vectors(tmp_path, random_vectors(3), n_bits=bits.shape[1])
    index = bf.HammingIndex(bits.shape[1])
    index.add(bf.Codes.from_bits(bits))
    index.save(tmp_path / "m.index")
    model = IndexedModel.open(tmp_path / "m.index", tmp_path / "m.bitfold", "m")
    items = Items(labels=None if labels is None else ItemLabels.from_values(labels))
    return {
        finding.sentence: finding.level for finding in compute_statistics(model, items).findings
    }


def test_findings_name_the_problems_of_a_model(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    good = rng.integers(0, 2, (4000, 10), np.uint8)
    assert list(levels(good, tmp_path).values()) == ["good"]
    constant = good.copy()
    constant[:, [2, 7]] = 0
    assert levels(constant, tmp_path) == {
        "2 of 10 bits are the same for nearly all items: 2, 7.": "bad"
    }
    repeated = good.copy()
    repeated[:, 4] = 1 - repeated[:, 1]
    assert levels(repeated, tmp_path) == {
        "1 of 10 bits repeat or negate an earlier one: 4.": "fair"
    }
    crowded = good.copy()
    crowded[:2400] = crowded[0]
    assert "bad" in levels(crowded, tmp_path).values()


def test_finding_about_the_labels_of_neighbors(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (1000, 12), np.uint8)
    by_chance = levels(bits, tmp_path, rng.integers(0, 5, 1000))
    assert next(iter(by_chance.values())) == "bad"
    informed = levels(bits, tmp_path, bits[:, :2] @ [1, 2] + 2 * bits[:, 2] * bits[:, 3])
    assert next(iter(informed.values())) == "good"
