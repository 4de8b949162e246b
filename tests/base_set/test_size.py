"""The number of base points follows from the size and the distribution of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bitfold.base_set import KMeansBase, automatic_size, measure_noise, size
from bitfold.base_set.size import neighborhood_recall
from bitfold.errors import ParameterError
from bitfold.io.rows import Rows


def gaussian(n: int, d: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)


def clusters(n: int, n_clusters: int) -> Any:
    rng = np.random.default_rng(0)
    centers = 30 * rng.standard_normal((n_clusters, 16))
    return (centers[rng.integers(0, n_clusters, n)] + gaussian(n, 16)).astype(np.float32)


@pytest.mark.parametrize(("n", "m"), [(2, 2), (300, 300), (400, 400), (401, 400), (4999, 400)])
def test_small_data_are_not_measured(n: int, m: int) -> None:
    found = automatic_size(gaussian(n, 5))
    assert found.n_base_points == m
    assert f"{n:,} rows" in found.reason


def test_a_curve_needs_fewer_base_points_than_noise() -> None:
    t = np.random.default_rng(0).random(40_000)
    curve = np.stack([np.cos(7 * t), np.sin(7 * t), t], axis=1)
    noise = gaussian(40_000, 40)
    assert automatic_size(curve, 0).n_base_points == 500
    assert automatic_size(noise, 0).n_base_points == 4000


def test_each_base_point_has_ten_rows() -> None:
    assert automatic_size(gaussian(12_000, 40), 0).n_base_points <= 1000
    assert automatic_size(gaussian(6_000, 40), 0) == (
        500,
        "the largest with 10 rows per base point",
    )


@pytest.mark.parametrize(("n", "m"), [(9_000, 900), (16_000, 1600), (45_000, 4000)])
def test_noise_has_the_largest_size_that_the_rows_allow(n: int, m: int) -> None:
    assert automatic_size(gaussian(n, 40), 0).n_base_points == m


def test_a_smaller_step_needs_a_smaller_gain() -> None:
    assert size._is_worthwhile([1000, 2000], [0.5, 0.5 * 1.041])
    assert not size._is_worthwhile([1000, 2000], [0.5, 0.5 * 1.039])
    assert size._is_worthwhile([1000, 1414], [0.5, 0.5 * 1.021])


def test_the_number_of_rows_hardly_matters() -> None:
    X = gaussian(200_000, 30)
    few, many = automatic_size(X[:50_000], 0), automatic_size(X, 0)
    assert few.n_base_points == many.n_base_points == 4000


def test_the_cost_does_not_grow_with_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    take = Rows.take

    def record(rows: Rows, indices: np.ndarray) -> np.ndarray:
        taken.append(len(indices))
        return take(rows, indices)

    monkeypatch.setattr(Rows, "take", record)
    for n in (50_000, 100_000):
        automatic_size(gaussian(n, 8), 0)
    assert taken == [size.N_HELD_OUT + size.SIZES[-1]] * 2


def test_the_seed_determines_the_size() -> None:
    X = clusters(30_000, 20)
    assert automatic_size(X, 3) == automatic_size(X, 3)
    assert KMeansBase().size(X, rng=3) == automatic_size(Rows(X, np.zeros(16, np.float32), "x"), 3)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([0.2], "500 base points (the largest with 10 rows per base point)."),
        ([0.2, 0.3], "1,000 base points (500 find 33 % fewer of the neighbors of held-out rows)."),
        (
            [0.2, 0.3, 0.306],
            "1,000 base points (2,000 find only 2 % more of the neighbors of held-out rows).",
        ),
        (
            [0.2, 0.3, 0.29],
            "1,000 base points (2,000 find no more of the neighbors of held-out rows).",
        ),
        ([0.0, 0.0], "500 base points (1,000 find no more of the neighbors of held-out rows)."),
    ],
)
def test_the_reason_is_one_sentence(found: list[float], expected: str) -> None:
    n, reason = size._choose_size([500, 1000, 2000], found)
    assert f"{n:,} base points ({reason})." == expected


def test_recall_agrees_with_a_loop() -> None:
    points, base = gaussian(60, 3), gaussian(20, 3, seed=1)
    d = ((points[:, None] - base) ** 2).sum(axis=2)
    weights = np.zeros(d.shape)
    nearest = np.argsort(d, axis=1)[:, :5]
    excess = np.take_along_axis(d, nearest, 1) - d.min(axis=1, keepdims=True)
    np.put_along_axis(weights, nearest, np.exp(-excess / excess.mean()), 1)
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    exact = ((points[:, None] - points) ** 2).sum(axis=2)
    n_found = 0
    for i in range(60):
        order = [j for j in np.argsort(exact[i], kind="stable") if j != i][:10]
        close = [j for j in np.argsort(-weights @ weights[i], kind="stable") if j != i][:10]
        n_found += len(set(order) & {j for j in close if weights[i] @ weights[j] > 0})
    assert neighborhood_recall(points, base) == pytest.approx(n_found / 600, abs=0.005)


def test_duplicates_do_not_break_the_measurement() -> None:
    X = np.repeat(gaussian(20, 4), 1000, axis=0)
    assert automatic_size(X, 0).n_base_points >= 500


def test_noise_is_the_distance_to_the_nearest_row_relative_to_the_variance() -> None:
    assert measure_noise(np.repeat(gaussian(5, 4), 400, axis=0), 0) == pytest.approx(0, abs=1e-6)
    assert measure_noise(np.ones((10, 3)), 0) == 0
    assert 0.8 < measure_noise(gaussian(9000, 60), 0) < 1.2
    few, many = measure_noise(gaussian(1000, 12), 0), measure_noise(gaussian(8000, 12), 0)
    assert few == pytest.approx(many, rel=0.1)
    assert measure_noise([[0.0], [1.0]], 0) >= 0


def test_other_strings_raise() -> None:
    with pytest.raises(ParameterError, match="n_base_points"):
        KMeansBase("many").size(gaussian(10, 2))
