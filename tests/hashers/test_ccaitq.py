"""CCA-ITQ: canonical correlations against the formula of the authors, and rotated bits."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.cross_decomposition import CCA
from sklearn.datasets import load_digits

from bitfold._linalg.scatter import Scatter, measure_scatter
from bitfold.errors import ParameterError
from bitfold.hashers import CCAITQ, ITQ
from bitfold.hashers._labels import find_labeled_rows
from bitfold.hashers.ccaitq import correlate_with_classes, scale_directions
from bitfold.io.rows import Rows
from bitfold.metrics import map_scorer
from bitfold.rotation import itq

X, Y = load_digits(return_X_y=True)


def scatter_of(X: NDArray[Any], y: NDArray[Any]) -> Scatter:
    labeled = find_labeled_rows(y, len(X), "test")
    return measure_scatter(Rows.centered(X, "test"), labeled.rows, labeled.classes)


class Oracle(NamedTuple):
    """Directions as columns and descending correlations, as in the code of the authors."""

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
def test_directions_and_correlations_solve_the_problem_of_the_paper(regularization: float) -> None:
    found = correlate_with_classes(scatter_of(X, Y), regularization)
    oracle = authors(X, Y, regularization, 9)
    assert (np.diff(found.correlations) <= 0).all()
    np.testing.assert_allclose(found.correlations[:9], oracle.correlations, rtol=1e-4)
    turned = np.sign((found.directions[:9] * oracle.directions.T).sum(axis=1))
    ours = turned[:, None] * found.directions[:9]
    np.testing.assert_allclose(ours, oracle.directions.T, atol=2e-3 * np.abs(ours).max())


def test_correlations_agree_with_scikit_learn() -> None:
    indicators = (Y[:, None] == np.arange(10)).astype(float)
    reference = CCA(n_components=3, max_iter=5000).fit(X, indicators)
    a, b = reference.transform(X, indicators)
    theirs = [np.corrcoef(a[:, j], b[:, j])[0, 1] for j in range(3)]
    np.testing.assert_allclose(
        correlate_with_classes(scatter_of(X, Y), 1e-6).correlations[:3], theirs, atol=1e-3
    )


def test_number_of_correlations_is_classes_minus_one() -> None:
    for y, rank in ((Y, 9), (Y % 3, 2), (Y % 2, 1)):
        correlations = correlate_with_classes(scatter_of(X, y), 1e-4).correlations
        assert (correlations[:rank] > 0.1).all()
        assert (correlations[rank:] < 1e-6).all()


def test_more_classes_than_features() -> None:
    found = correlate_with_classes(scatter_of(X[:, 20:23], Y), 1e-4)
    assert found.directions.shape == (3, 3)
    oracle = authors(X[:, 20:23], Y, 1e-4, 3)
    np.testing.assert_allclose(found.correlations, oracle.correlations, rtol=1e-4)


def test_missing_directions_are_zero() -> None:
    found = correlate_with_classes(scatter_of(X, Y), 1e-4)
    scaled = scale_directions(found, 24)
    np.testing.assert_array_equal(scaled[:10], found.correlations[:, None] * found.directions)
    assert not scaled[10:].any()
    np.testing.assert_array_equal(scale_directions(found, 4), scaled[:4])


@pytest.mark.parametrize("n_bits", [4, 9, 32])
def test_bits_are_a_rotation_of_the_scaled_directions(n_bits: int) -> None:
    hasher = CCAITQ(n_bits, random_state=0).fit(X, Y)
    scaled = scale_directions(correlate_with_classes(scatter_of(X, Y), 1e-4), n_bits)
    # A rotation does not change the Gram matrix.
    gram = scaled.T @ scaled
    np.testing.assert_allclose(
        hasher.directions_.T @ hasher.directions_, gram, atol=1e-5 * np.abs(gram).max()
    )
    assert hasher.directions_.shape == (n_bits, 64)


def test_rotation_reduces_the_loss() -> None:
    ours = CCAITQ(16, random_state=0).fit(X, Y)
    scaled = scale_directions(correlate_with_classes(scatter_of(X, Y), 1e-4), 16)
    V = ((X - X.mean(axis=0)) @ scaled.T).astype(np.float32)
    losses = itq(V, np.random.default_rng(0)).losses
    reals = ours.embed(X)
    reals /= np.sqrt(np.mean(reals**2))
    loss = np.mean((np.abs(reals) - 1) ** 2)
    # The rotation has another start, but nearly the same gain.
    assert losses[0] - loss > 0.8 * (losses[0] - losses[-1])


def test_unlabeled_rows_are_ignored() -> None:
    unlabeled = np.random.default_rng(0).normal(100, 50, (300, 64))
    order = np.random.default_rng(1).permutation(len(X) + 300)
    mixed = np.concatenate([X, unlabeled])[order]
    labels = np.concatenate([Y, np.full(300, -1)])[order]
    clean = labels != -1
    partly = CCAITQ(16, max_iter=3, random_state=0).fit(mixed, labels)
    wholly = CCAITQ(16, max_iter=3, random_state=0).fit(mixed[clean], labels[clean])
    scale = np.abs(wholly.embed(X)).mean()
    np.testing.assert_allclose(partly.embed(X), wholly.embed(X), atol=1e-2 * scale)
    np.testing.assert_allclose(partly.embed(X).mean(axis=0), 0, atol=1e-3 * scale)


def test_labels_improve_retrieval() -> None:
    train, test = slice(0, 1200), slice(1200, None)
    guided = CCAITQ(16, random_state=0).fit(X[train], Y[train])
    blind = ITQ(16, random_state=0).fit(X[train])
    assert map_scorer(guided, X[test], Y[test]) > map_scorer(blind, X[test], Y[test]) + 0.1


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_scale_of_the_data_does_not_matter(scale: float) -> None:
    ours, theirs = (
        correlate_with_classes(scatter_of(X, Y), 1e-2),
        correlate_with_classes(scatter_of(scale * X, Y), 1e-2),
    )
    np.testing.assert_allclose(theirs.correlations[:9], ours.correlations[:9], rtol=1e-4)


@pytest.mark.parametrize(
    ("name", "value"), [("n_bits", 65), ("regularization", 0), ("max_iter", -1)]
)
def test_invalid_parameters_raise(name: str, value: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        CCAITQ(**{name: value}).fit(X, Y)
    assert (caught.value.name, caught.value.owner) == (name, "CCAITQ")
