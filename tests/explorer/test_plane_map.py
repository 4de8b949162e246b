"""The map: cached points, placement by induction, and labels of base points."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from tests.explorer.conftest import index_vectors, items_of, random_vectors

import bitfold as bf
from bitfold.base_set import RandomBase
from bitfold.explorer.opening import ItemSources, open_models
from bitfold.explorer.plane_map import MapBox, MapPlacement, compute_map
from bitfold.hashers import IMH


def test_map_is_cached_and_a_damaged_one_is_recomputed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BITFOLD_CACHE", str(tmp_path / "cache"))
    opened = index_vectors(tmp_path, random_vectors(200))
    items = items_of(opened, ItemSources(vectors=random_vectors(200)))
    stages: list[str] = []

    def points() -> np.ndarray:
        stages.clear()
        return compute_map(
            opened.model, items, lambda stage, done, total: stages.append(stage)
        ).points

    first = points()
    assert set(stages) == {"map of the anchors", "map of the items"}
    np.testing.assert_array_equal(points(), first)
    assert not stages
    kept = list((tmp_path / "cache" / "explorer").iterdir())
    assert len(kept) == 2
    for file in kept:
        file.write_bytes(file.read_bytes()[:-8])
    np.testing.assert_array_equal(points(), first)
    assert stages
    # Without a writable cache, the map is computed each time.
    monkeypatch.setenv("BITFOLD_CACHE", str(kept[0]))
    np.testing.assert_array_equal(points(), first)


def test_other_vectors_have_another_map(tmp_path: Path) -> None:
    opened = index_vectors(tmp_path, random_vectors(50))
    digests = {
        compute_map(
            opened.model, items_of(opened, ItemSources(vectors=X)), lambda *step: None
        ).digest
        for X in (random_vectors(50), -random_vectors(50), None)
    }
    assert len(digests) == 3


def test_items_are_near_their_base_points_on_the_map(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(200, 6)), rng.normal(size=(200, 6)) + 30])
    hasher = bf.IMH(8, base=bf.KMeansBase(40), random_state=0).fit(X)
    hasher.save(tmp_path / "i.bitfold")
    index = bf.HammingIndex(8)
    index.add(hasher.encode(X))
    index.save(tmp_path / "i.index")
    [opened] = open_models([tmp_path / "i.index"], [tmp_path / "i.bitfold"])
    side = np.repeat([0, 1], 200)
    np.save(tmp_path / "y.npy", side)
    for given in (X, None):  # by vectors, and by codes alone
        items = items_of(opened, ItemSources(vectors=given, label=str(tmp_path / "y.npy")))
        shown = compute_map(opened.model, items, lambda *step: None)
        assert len(shown.base) == 40 and shown.base.min() >= 0 and shown.base.max() <= 1
        truth = hasher.base_points_.mean(axis=1) > 15
        assert np.mean(shown.base_labels == truth) == 1
        points = shown.points / 65535
        centers = np.array([points[side == each].mean(axis=0) for each in (0, 1)])
        nearer = np.linalg.norm(points[:, None] - centers, axis=2).argmin(axis=1)
        assert np.mean(nearer == side) > 0.95
        located = shown.locate(None if given is None else X[7], opened.model.codes([7]))
        assert located == pytest.approx(points[7].tolist(), abs=1e-3)


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9])
def test_few_items_have_a_map(tmp_path: Path, n: int) -> None:
    opened = index_vectors(tmp_path, random_vectors(n))
    for X in (random_vectors(n), None):
        items = items_of(opened, ItemSources(vectors=X))
        assert compute_map(opened.model, items, lambda *step: None).points.shape == (n, 2)


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


def test_a_box_is_square_and_contains_all() -> None:
    positions = np.array([[-3.0, 1.0], [5.0, 2.0]], np.float32)
    scaled = MapBox.around(positions).scale(positions)
    assert scaled.min() > 0 and scaled.max() < 1
    assert (scaled[1] - scaled[0]).tolist() == pytest.approx([8 / 8.48, 1 / 8.48], rel=1e-4)
