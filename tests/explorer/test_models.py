"""Buckets, statistics and maps of models, for many kinds of indexes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bitfold as bf
from bitfold.embedding import TSNE
from bitfold.errors import ModelMismatchError
from bitfold.explorer import plane_map
from bitfold.explorer.items import ItemLabels, Items
from bitfold.explorer.models import IndexedModel
from bitfold.explorer.plane_map import compute_map
from bitfold.explorer.queries import NotFoundError
from bitfold.explorer.statistics import compute_statistics, correlations
from bitfold.explorer.workspace import Workspace, prepare_workspace
from bitfold.hashers import LSH


def coded(
    folder: Path, X: np.ndarray, ids: np.ndarray | None = None, n_bits: int = 8
) -> IndexedModel:
    """Index vectors by LSH."""
    hasher = LSH(n_bits, random_state=0).fit(np.random.default_rng(0).normal(size=(50, X.shape[1])))
    hasher.save(folder / "m.bitfold")
    index = bf.HammingIndex(n_bits)
    index.add(hasher.encode(X), ids)
    index.save(folder / "m.index")
    return IndexedModel.open(folder / "m.index", folder / "m.bitfold", "m")


def shown(model: IndexedModel, items: Items | None = None) -> Workspace:
    return prepare_workspace(
        [model], items or Items(), 100, lambda name: lambda stage, done, total: None
    )


def vectors(n: int) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(n, 6))


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 40])
def test_index_of_any_size(tmp_path: Path, n: int) -> None:
    there = shown(coded(tmp_path, vectors(n)), Items(vectors(n)))
    query, model = there.query("item:0"), there.view(0)
    assert there.nearest(query, model, 10).ids.shape == (1, min(10, n - 1))
    assert there.exact(query, 10).ids.shape == (1, min(10, n - 1))
    assert there.count_within(query, model).within[-1] == n - 1
    assert model.map.points.shape == (n, 2) and np.isfinite(model.map.points).all()


def test_equal_codes_and_any_ids(tmp_path: Path) -> None:
    ids = np.array([-5, 1 << 60, 7, 8, 9])
    there = shown(coded(tmp_path, np.ones((5, 6)), ids))
    model = there.view(0)
    found = there.nearest(there.query(f"item:{1 << 60}"), model, 10)
    assert found.ids.tolist() == [[-5, 7, 8, 9]]
    assert model.statistics.n_distinct == 1 and model.statistics.entropy == 0
    assert model.statistics.findings[0].level == "bad"
    with pytest.raises(NotFoundError, match="Item 6 "):
        there.query("item:6")


def test_removed_items_and_several_segments(tmp_path: Path) -> None:
    coded(tmp_path, vectors(40))
    hasher = bf.load(tmp_path / "m.bitfold")
    with bf.HammingIndex.open(tmp_path / "m.index", mode="a") as index:
        index.remove([3, 5])
        index.add(hasher.encode(vectors(4)))
    model = IndexedModel.open(tmp_path / "m.index", tmp_path / "m.bitfold", "m")
    assert model.ids.tolist() == [i for i in range(44) if i not in (3, 5)]
    assert model.sizes.sum() == 42 and 3 not in model and 43 in model
    there = shown(model, Items(vectors(44)))
    rows = there.exact(there.query("item:4"), 41).ids[0]
    assert sorted(rows.tolist()) == [i for i in range(44) if i not in (3, 4, 5)]
    # A removed item has no code in the index, but its vector gives it one.
    assert there.nearest(there.query("item:3"), there.view(0), 5).ids.shape == (1, 5)


def test_vectors_that_are_not_finite_are_rejected(tmp_path: Path) -> None:
    X = vectors(30)
    X[7, 1] = np.nan
    with pytest.raises(ValueError, match=r"vectors of the items must be finite, got NaN in row 7"):
        shown(coded(tmp_path, vectors(30)), Items(X))


def test_model_with_another_code_length_is_rejected(tmp_path: Path) -> None:
    coded(tmp_path, vectors(3), n_bits=12)
    bf.HammingIndex(24).save(tmp_path / "m.index")
    with pytest.raises(ModelMismatchError, match=r"24 bits.* 12 bits"):
        IndexedModel.open(tmp_path / "m.index", tmp_path / "m.bitfold", "m")


def test_another_model_is_rejected(tmp_path: Path) -> None:
    coded(tmp_path, vectors(30))
    LSH(8, random_state=1).fit(vectors(30)).save(tmp_path / "m.bitfold")
    with pytest.raises(ModelMismatchError):
        IndexedModel.open(tmp_path / "m.index", tmp_path / "m.bitfold", "m")


def test_empty_index_is_rejected(tmp_path: Path) -> None:
    coded(tmp_path, vectors(3))
    bf.HammingIndex(8).save(tmp_path / "m.index")
    with pytest.raises(ValueError, match="empty"):
        IndexedModel.open(tmp_path / "m.index", tmp_path / "m.bitfold", "m")


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
    coded(tmp_path, vectors(3), n_bits=bits.shape[1])
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


def test_map_is_cached_and_a_damaged_one_is_recomputed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BITFOLD_CACHE", str(tmp_path / "cache"))
    model = coded(tmp_path, vectors(200))
    steps: list[tuple[int, int]] = []

    def points() -> np.ndarray:
        steps.clear()
        return compute_map(
            model, Items(vectors(200)), 100, 0, lambda *step: steps.append(step)
        ).points

    first = points()
    assert steps
    np.testing.assert_array_equal(points(), first)
    assert not steps
    (kept,) = (tmp_path / "cache" / "explorer").iterdir()
    kept.write_bytes(kept.read_bytes()[:-8])
    np.testing.assert_array_equal(points(), first)
    assert steps
    # Without a writable cache, the map is computed each time.
    monkeypatch.setenv("BITFOLD_CACHE", str(kept))
    np.testing.assert_array_equal(points(), first)


def test_many_points_are_placed_by_induction_from_anchors(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(3), 60)
    points = (10 * np.eye(3, 6)[group] + rng.normal(size=(180, 6))).astype(np.float32)
    placed: list[int] = []

    class Counted(TSNE):
        def embed(self, base: Any, n_components: int, **options: Any) -> Any:
            placed.append(len(base))
            return super().embed(base, n_components, **options)

    monkeypatch.setattr(plane_map, "TSNE", Counted)
    monkeypatch.setattr(plane_map, "N_ANCHORS", 45)
    positions = plane_map._embed(points, lambda done, total: None)
    assert placed == [45]
    centers = np.stack([positions[group == i].mean(axis=0) for i in range(3)])
    nearest = np.linalg.norm(positions[:, None] - centers, axis=2).argmin(axis=1)
    assert (nearest == group).all()


def test_items_are_near_their_base_points_on_the_map(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(200, 6)), rng.normal(size=(200, 6)) + 30])
    hasher = bf.IMH(8, base=bf.KMeansBase(40), random_state=0).fit(X)
    hasher.save(tmp_path / "i.bitfold")
    index = bf.HammingIndex(8)
    index.add(hasher.encode(X))
    index.save(tmp_path / "i.index")
    model = IndexedModel.open(tmp_path / "i.index", tmp_path / "i.bitfold", "i")
    sides = ItemLabels.from_values(np.repeat([0, 1], 200))
    for given in (X, None):  # by vectors, and by codes alone
        drawn = compute_map(model, Items(given, sides), 400, 0, lambda *step: None)
        assert len(drawn.base) == 40
        truth = hasher.base_points_.mean(axis=1) > 15
        assert np.mean(drawn.base_labels == truth) == 1
        centers = [drawn.points[drawn.ids // 200 == side].mean(axis=0) for side in (0, 1)]
        nearer = np.linalg.norm(drawn.points[:, None] - np.array(centers), axis=2).argmin(axis=1)
        assert np.mean(nearer == drawn.ids // 200) > 0.95
