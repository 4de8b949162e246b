"""LSH for a Mahalanobis metric: angles after the map, learned metrics, given metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.utils import get_tags

from bitfold.errors import DataError, ParameterError
from bitfold.hashers import LSH, MahalanobisLSH, load
from bitfold.hashers.mahalanobis import discriminative_metric
from bitfold.metrics import map_scorer

Array = NDArray[Any]
X, y = load_digits(return_X_y=True)
MANY = 20_000
"""Number of bits with which directions average to their metric."""


def random_metric(d: int, seed: int = 0) -> Array:
    root = np.random.default_rng(seed).standard_normal((d, d))
    return root @ root.T


def learned_metric(hasher: MahalanobisLSH) -> Array:
    """Return the mean of w wᵀ, which is A for random normals w = Gᵀr."""
    W = hasher.directions_.astype(np.float64)
    return np.asarray(W.T @ W / len(W))


def assert_metric(hasher: MahalanobisLSH, expected: Array) -> None:
    np.testing.assert_allclose(
        learned_metric(hasher), expected, atol=0.06 * float(np.linalg.norm(expected, 2))
    )


def test_bits_separate_by_the_angle_after_the_map() -> None:
    A = random_metric(5)
    few = np.random.default_rng(1).standard_normal((12, 5))
    hasher = MahalanobisLSH(MANY, metric=A, center=False, random_state=0).fit(few)
    bits = hasher.transform(few)
    separated = (bits[:, None] != bits).mean(axis=2)
    lengths = np.sqrt(np.einsum("ij,jk,ik->i", few, A, few))
    cosines = few @ A @ few.T / np.outer(lengths, lengths)
    expected = np.arccos(np.clip(cosines, -1, 1)) / np.pi
    np.testing.assert_allclose(separated, expected, atol=0.02)


def test_the_identity_gives_the_codes_of_lsh() -> None:
    for center in (True, False):
        ours = MahalanobisLSH(40, metric=np.eye(64), center=center, random_state=0).fit(X)
        plain = LSH(40, center=center, random_state=0).fit(X)
        np.testing.assert_allclose(ours.directions_, plain.directions_, rtol=1e-5)
        assert (ours.transform(X) == plain.transform(X)).mean() > 0.9999


def test_metric_of_labels_is_a_difference_of_inverse_covariances() -> None:
    few, labels = X[:, 20:26], y.copy()
    labels[:100] = -1
    ours = MahalanobisLSH(MANY, regularization=0.2, random_state=0).fit(few, labels)
    kept, classes = few[100:], labels[100:]
    means = np.array([kept[classes == c].mean(axis=0) for c in range(10)])
    within, total = np.cov((kept - means[classes]).T, bias=True), np.cov(kept.T, bias=True)
    ridge = 0.2 * np.trace(total) / 6 * np.eye(6)
    assert_metric(ours, np.linalg.inv(within + ridge) - np.linalg.inv(total + ridge))


def test_metric_of_labels_has_one_direction_less_than_classes() -> None:
    ours = MahalanobisLSH(40, random_state=0).fit(X, y)
    assert np.linalg.matrix_rank(ours.directions_, 1e-4) == 9


def test_metric_has_no_negative_eigenvalues() -> None:
    within, between = random_metric(8), np.outer(np.arange(8), np.arange(8))
    A = discriminative_metric(within, within + between, 1e-3)
    values = np.linalg.eigvalsh(A)
    assert values[0] > -1e-9 * values[-1]
    # The ratio of the likelihoods depends on the only direction in which classes differ.
    assert values[-2] < 1e-6 * values[-1]


def test_metric_of_the_covariance_is_its_inverse() -> None:
    few = X[:, 20:26]
    ours = MahalanobisLSH(MANY, metric="covariance", regularization=1e-6, random_state=0).fit(few)
    assert_metric(ours, np.linalg.inv(np.cov(few.T)))
    # Distances do not change with a linear map of the data, and neither do the angles.
    mapped = few @ random_metric(6)
    again = MahalanobisLSH(MANY, metric="covariance", regularization=1e-9, random_state=0)
    bits, other = ours.transform(few[:60]), again.fit(mapped).transform(mapped[:60])
    apart, other_apart = ((b[:, None] != b).mean(axis=2) for b in (bits, other))
    np.testing.assert_allclose(other_apart, apart, atol=0.03)


def test_strong_regularization_is_lsh() -> None:
    ours = MahalanobisLSH(24, metric="covariance", regularization=1e9, random_state=0).fit(X)
    assert (ours.transform(X) == LSH(24, random_state=0).fit(X).transform(X)).mean() > 0.999


def test_labels_improve_the_codes() -> None:
    half = np.arange(len(y)) % 2 == 0
    scores = [
        map_scorer(hasher.fit(X[half], y[half]), X[~half], y[~half])
        for hasher in (MahalanobisLSH(64, random_state=0), LSH(64, random_state=0))
    ]
    assert scores[0] > scores[1] + 0.15


def test_labels_are_required_only_for_their_metric() -> None:
    required = {
        metric if isinstance(metric, str) else "matrix": get_tags(
            MahalanobisLSH(metric=metric)
        ).target_tags.required
        for metric in ("labels", "covariance", np.eye(3))
    }
    assert required == {"labels": True, "covariance": False, "matrix": False}
    with pytest.raises(DataError, match="labels"):
        MahalanobisLSH().fit(X)
    with pytest.raises(DataError, match="same label"):
        MahalanobisLSH().fit(X[:3], [0, 1, 2])


def test_a_loaded_model_encodes_but_does_not_know_a_given_metric(tmp_path: Path) -> None:
    ours = MahalanobisLSH(24, metric=random_metric(64), random_state=0).fit(X)
    ours.save(tmp_path / "m.bitfold")
    loaded = load(tmp_path / "m.bitfold")
    assert loaded.encode(X) == ours.encode(X)
    with pytest.raises(ParameterError, match=r"metric of MahalanobisLSH .* got None"):
        loaded.fit(X)


@pytest.mark.parametrize(
    ("metric", "requirement"),
    [
        ("euclidean", "one of 'labels', 'covariance'"),
        (None, "a matrix of numbers"),
        ([["a"]], "a matrix of numbers"),
        (np.eye(63), r"shape \(64, 64\)"),
        (np.full((64, 64), np.nan), "finite"),
        (np.tri(64), "symmetric"),
        (-np.eye(64), "negative eigenvalues"),
        (np.zeros((64, 64)), "not zero"),
    ],
)
def test_invalid_metrics_raise(metric: Any, requirement: str) -> None:
    with pytest.raises(ParameterError, match=requirement) as caught:
        MahalanobisLSH(metric=metric).fit(X)
    assert caught.value.name == "metric"


@pytest.mark.parametrize(("name", "value"), [("regularization", 0.0), ("center", "mean")])
def test_invalid_parameters_raise(name: str, value: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        MahalanobisLSH(**{name: value}).fit(X, y)
    assert (caught.value.name, caught.value.owner) == (name, "MahalanobisLSH")
