"""CCA-ITQ: the canonical correlations, against the authors' formula, and what bits become of."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.cross_decomposition import CCA
from sklearn.datasets import load_digits

from bitfold._linalg.scatter import Scatter, measure_scatter
from bitfold.hashers import CCAITQ, ITQ
from bitfold.hashers._labels import find_labeled_rows
from bitfold.hashers.ccaitq import cca, scaled_directions
from bitfold.io.rows import Rows
from bitfold.metrics import map_scorer
from bitfold.rotation import itq

X, Y = load_digits(return_X_y=True)


def measured(X: NDArray[Any], y: NDArray[Any]) -> Scatter:
    return scatter(Rows.centered(X, "test"), find_labeled_rows(y, len(X), "test"))


class Oracle(NamedTuple):
    """What the authors' code gives: directions as columns, and correlations, falling."""

    directions: NDArray[np.float64]
    correlations: NDArray[np.float64]


def authors(X: NDArray[Any], y: NDArray[Any], regularization: float, n: int) -> Oracle:
    """Solve Cxy (Cyy + ρI)⁻¹ Cyx w = r² (Cxx + ρI) w, with one ρ for each side."""
    indicators = (y[:, None] == np.unique(y)).astype(float)
    C = np.cov(np.hstack([X, indicators]).T, bias=True)
    d = X.shape[1]
    Cxx, Cxy, Cyy = C[:d, :d], C[:d, d:], C[d:, d:]
    Cxx = Cxx + regularization * np.trace(Cxx) / len(Cxx) * np.eye(len(Cxx))
    Cyy = Cyy + regularization * np.trace(Cyy) / len(Cyy) * np.eye(len(Cyy))
    values, vectors = eigh(Cxy @ np.linalg.solve(Cyy, Cxy.T), Cxx)
    return Oracle(vectors[:, ::-1][:, :n], np.sqrt(np.maximum(values[::-1][:n], 0)))


@pytest.mark.parametrize("regularization", [1e-4, 0.1])
def test_directions_and_correlations_are_those_of_the_papers_problem(regularization: float) -> None:
    found = cca(measured(X, Y), regularization)
    oracle = authors(X, Y, regularization, 9)
    assert (np.diff(found.correlations) <= 0).all()
    np.testing.assert_allclose(found.correlations[:9], oracle.correlations, rtol=1e-4)
    turned = np.sign((found.directions[:9] * oracle.directions.T).sum(axis=1))
    ours = turned[:, None] * found.directions[:9]
    np.testing.assert_allclose(ours, oracle.directions.T, atol=2e-3 * np.abs(ours).max())


def test_correlations_are_those_of_scikit_learn() -> None:
    indicators = (Y[:, None] == np.arange(10)).astype(float)
    reference = CCA(n_components=3, max_iter=5000).fit(X, indicators)
    a, b = reference.transform(X, indicators)
    theirs = [np.corrcoef(a[:, j], b[:, j])[0, 1] for j in range(3)]
    np.testing.assert_allclose(cca(measured(X, Y), 1e-6).correlations[:3], theirs, atol=1e-3)


def test_no_more_correlates_than_classes_less_one() -> None:
    for y, rank in ((Y, 9), (Y % 3, 2), (Y % 2, 1)):
        correlations = cca(measured(X, y), 1e-4).correlations
        assert (correlations[:rank] > 0.1).all()
        assert (correlations[rank:] < 1e-6).all()


def test_more_classes_than_features_correlate_with_every_feature() -> None:
    found = cca(measured(X[:, 20:23], Y), 1e-4)
    assert found.directions.shape == (3, 3)
    oracle = authors(X[:, 20:23], Y, 1e-4, 3)
    np.testing.assert_allclose(found.correlations, oracle.correlations, rtol=1e-4)


def test_scaled_directions_end_in_zeros() -> None:
    found = cca(measured(X, Y), 1e-4)
    scaled = scaled_directions(found, 24)
    np.testing.assert_array_equal(scaled[:10], found.correlations[:, None] * found.directions)
    assert not scaled[10:].any()
    np.testing.assert_array_equal(scaled_directions(found, 4), scaled[:4])


@pytest.mark.parametrize("n_bits", [4, 9, 32])
def test_bits_are_a_rotation_of_the_scaled_directions(n_bits: int) -> None:
    hasher = CCAITQ(n_bits, random_state=0).fit(X, Y)
    scaled = scaled_directions(cca(measured(X, Y), 1e-4), n_bits)
    # A rotation leaves the Gram matrix as it was, and directions of its own choice do not.
    gram = scaled.T @ scaled
    np.testing.assert_allclose(
        hasher.directions_.T @ hasher.directions_, gram, atol=1e-5 * np.abs(gram).max()
    )
    assert hasher.directions_.shape == (n_bits, 64)


def test_the_rotation_is_the_learned_one() -> None:
    ours = CCAITQ(16, random_state=0).fit(X, Y)
    scaled = scaled_directions(cca(measured(X, Y), 1e-4), 16)
    V = ((X - X.mean(axis=0)) @ scaled.T).astype(np.float32)
    losses = itq(V, np.random.default_rng(0)).losses
    reals = ours.embed(X)
    reals /= np.sqrt(np.mean(reals**2))
    loss = np.mean((np.abs(reals) - 1) ** 2)
    # From another start, but as far below the first loss as to be no accident.
    assert losses[0] - loss > 0.8 * (losses[0] - losses[-1])


def test_unlabeled_rows_are_left_out() -> None:
    strangers = np.random.default_rng(0).normal(100, 50, (300, 64))
    order = np.random.default_rng(1).permutation(len(X) + 300)
    mixed = np.concatenate([X, strangers])[order]
    labels = np.concatenate([Y, np.full(300, -1)])[order]
    clean = labels != -1
    partly = CCAITQ(16, max_iter=3, random_state=0).fit(mixed, labels)
    wholly = CCAITQ(16, max_iter=3, random_state=0).fit(mixed[clean], labels[clean])
    scale = np.abs(wholly.embed(X)).mean()
    np.testing.assert_allclose(partly.embed(X), wholly.embed(X), atol=1e-2 * scale)
    np.testing.assert_allclose(partly.embed(X).mean(axis=0), 0, atol=1e-3 * scale)


def test_labels_help() -> None:
    train, test = slice(0, 1200), slice(1200, None)
    guided = CCAITQ(16, random_state=0).fit(X[train], Y[train])
    blind = ITQ(16, random_state=0).fit(X[train])
    assert map_scorer(guided, X[test], Y[test]) > map_scorer(blind, X[test], Y[test]) + 0.1


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_unit_of_length_does_not_matter(scale: float) -> None:
    ours, theirs = cca(measured(X, Y), 1e-2), cca(measured(scale * X, Y), 1e-2)
    np.testing.assert_allclose(theirs.correlations[:9], ours.correlations[:9], rtol=1e-4)


def many() -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows for several blocks, some of them unlabeled and all far from the origin."""
    rows = np.concatenate([X + shift for shift in (1000.0, 1000.3, 1000.7)])
    return rows, np.where(np.arange(len(rows)) % 7 == 3, -1, np.tile(Y, 3))


def test_scatter_is_what_it_says() -> None:
    rows, y = many()
    found, clean = measured(rows, y), y != -1
    center = Rows.centered(rows, "test").center.astype(np.float64)
    means = np.stack([rows[y == label].mean(axis=0) for label in range(10)])
    within = sum(
        np.mean(y[clean] == label) * np.cov(rows[y == label].T, bias=True) for label in range(10)
    )
    np.testing.assert_array_equal(found.sizes, [np.sum(y == label) for label in range(10)])
    np.testing.assert_allclose(found.shares, found.sizes / clean.sum())
    np.testing.assert_allclose(found.means + center, means, atol=1e-3)
    np.testing.assert_allclose(found.mean + center, rows[clean].mean(axis=0), atol=1e-3)
    np.testing.assert_allclose(found.covariance, np.cov(rows[clean].T, bias=True), atol=1e-3)
    np.testing.assert_allclose(found.within, within, atol=1e-3)


def test_whitening_whitens_even_what_is_flat() -> None:
    covariance = np.cov(X[:40].T, bias=True)
    assert np.linalg.matrix_rank(covariance) < 64
    ridge = 1e-3 * np.trace(covariance) / 64 * np.eye(64)
    W = whiten_covariance(covariance, 1e-3)
    np.testing.assert_allclose(W.T @ (covariance + ridge) @ W, np.eye(64), atol=1e-9)
    assert np.isfinite(whiten_covariance(np.zeros((3, 3)), 1e-3)).all()


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"n_bits": 65}, "n_bits of CCAITQ must be at most n_features=64, got 65."),
        (
            {"regularization": 0},
            "regularization of CCAITQ must be a finite number above 0, got 0.",
        ),
        ({"max_iter": -1}, "max_iter of CCAITQ must be at least 0, got -1."),
    ],
)
def test_a_wrong_parameter_is_named(params: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(says)}$"):
        CCAITQ(**params).fit(X, Y)
