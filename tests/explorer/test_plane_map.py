"""The map: cached positions, placement by induction, and labels of base points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from tests.explorer.conftest import index_vectors, random_vectors

import bitfold as bf
from bitfold.base_set import RandomBase
from bitfold.embedding import TSNE
from bitfold.explorer import plane_map
from bitfold.explorer.items import ItemLabels, Items
from bitfold.explorer.models import IndexedModel
from bitfold.explorer.plane_map import MapPlacement, compute_map
from bitfold.hashers import IMH


def test_map_is_cached_and_a_damaged_one_is_recomputed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BITFOLD_CACHE", str(tmp_path / "cache"))
    model = index_vectors(tmp_path, random_vectors(200))
    steps: list[tuple[int, int]] = []

    def points() -> np.ndarray:
        steps.clear()
        return compute_map(
            model, Items(random_vectors(200)), 100, 0, lambda *step: steps.append(step)
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


@pytest.mark.parametrize("normalize", [False, True])
def test_lengths_matter_unless_the_hasher_scales_rows(normalize: bool) -> None:
    X = load_digits().data[:200]
    hasher = IMH(8, base=RandomBase(20), embedding="pca", normalize=normalize, random_state=0).fit(
        X
    )
    positions = np.random.default_rng(0).standard_normal((20, 2)).astype(np.float32)
    placement = MapPlacement(hasher.nearest_base_points, positions, hasher.bandwidth_, hasher)
    codes = hasher.encode(X)
    near, far = placement.place(X, codes), placement.place(4 * X, codes)
    assert near is not None
    assert far is not None
    assert near.shape == (200, 2)
    assert np.array_equal(near, far) == normalize
    assert placement.place(None, codes) is None
