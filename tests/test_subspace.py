"""The supervised subspace of the base embedding."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import subspace_angles
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from bitfold.errors import DataError, ParameterError, ParameterTypeError
from bitfold.subspace import check_learner, discriminant, project_with_learner

FloatArray = NDArray[np.float32]
Labels = NDArray[np.int64]


def classes(
    n_classes: int = 4, per_class: int = 25, d: int = 6, noise: float = 0.3
) -> tuple[FloatArray, Labels]:
    """Return classes that differ in the first n_classes - 1 directions, with noise in the last."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(n_classes), per_class)
    Y = noise * rng.standard_normal((len(labels), d))
    Y[:, : n_classes - 1] += np.eye(n_classes, n_classes - 1)[labels]
    Y[:, -1] *= 100
    return Y.astype(np.float32), labels


def spread_ratio(Z: FloatArray, labels: Labels) -> float:
    """Return the variance between classes divided by the variance within."""
    means = np.array([Z[labels == label].mean(axis=0) for label in np.unique(labels)])
    within = Z - means[np.searchsorted(np.unique(labels), labels)]
    return float(means.var(axis=0).sum() / within.var(axis=0).sum())


@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_shape_dtype_and_center(n_components: int) -> None:
    Y, labels = classes()
    Z = discriminant(Y, labels, n_components, "test")
    assert Z.shape == (100, n_components)
    assert Z.dtype == np.float32
    assert Z.flags.c_contiguous
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-4)


def test_classes_are_separated() -> None:
    Y, labels = classes()
    assert spread_ratio(discriminant(Y, labels, 3, "test"), labels) > 2
    assert spread_ratio(Y, labels) < 0.2


def test_the_subspace_is_that_of_scikit_learn() -> None:
    Y, labels = classes()
    svd = LinearDiscriminantAnalysis(solver="svd", n_components=3).fit_transform(Y, labels)
    got = discriminant(Y, labels, 3, "test")
    angles = subspace_angles(got.astype(np.float64), svd - svd.mean(axis=0))
    assert np.rad2deg(angles).max() < 0.01


def test_the_length_of_a_direction_is_its_correlation() -> None:
    Y, labels = classes()
    Z = discriminant(Y, labels, 3, "test")
    means = np.array([Z[labels == label].mean(axis=0) for label in range(4)])[labels]
    rho = means.std(axis=0) / Z.std(axis=0)
    np.testing.assert_allclose(Z.std(axis=0), rho, rtol=1e-4)
    assert (np.diff(rho) <= 0).all()
    # Classes that are entirely separate count equally, whatever their distance.
    far = classes(noise=0)[0]
    far[:, 0] *= 1000
    np.testing.assert_allclose(discriminant(far, labels, 3, "test").std(axis=0), 1, rtol=1e-4)


def test_missing_dimensions_give_constant_bits() -> None:
    Y, labels = classes(noise=0)
    Y[:, 1:] = Y[:, :1]
    Z = discriminant(Y, labels, 3, "test")
    assert Z[:, 0].std() > 0.5
    assert not Z[:, 1:].any()


def test_fewer_points_than_dimensions() -> None:
    Y, labels = classes(per_class=3, d=64)
    Z = discriminant(Y, labels, 3, "test")
    assert np.isfinite(Z).all()
    assert spread_ratio(Z, labels) > 1


def test_a_class_of_one_point_is_separated() -> None:
    Y, labels = classes()
    keep = np.flatnonzero((labels != 2) | (np.arange(100) == 50))
    Z = discriminant(Y[keep], labels[keep], 3, "test")
    lone = Z[labels[keep] == 2][0]
    others = Z[labels[keep] != 2]
    assert np.isfinite(Z).all()
    assert np.linalg.norm(others - lone, axis=1).min() > 1


def test_labels_may_be_strings() -> None:
    Y, labels = classes()
    names = np.array(["ant", "bee", "cat", "dog"])[labels]
    np.testing.assert_array_equal(
        discriminant(Y, names, 2, "test"), discriminant(Y, labels, 2, "test")
    )


@pytest.mark.parametrize(
    ("n_dimensions", "n_components", "reason"),
    [(6, 4, "classes - 1 = 3"), (2, 3, "n_components = 2"), (6, 0, "at least 1")],
)
def test_invalid_n_bits(n_dimensions: int, n_components: int, reason: str) -> None:
    Y, labels = classes()
    with pytest.raises(ParameterError, match=reason) as caught:
        discriminant(Y[:, :n_dimensions], labels, n_components, "H")
    assert (caught.value.name, caught.value.owner) == ("n_bits", "H")
    assert caught.value.value == n_components


def test_one_class_is_an_error() -> None:
    Y, labels = classes()
    with pytest.raises(ParameterError, match="at least 2 classes"):
        discriminant(Y, labels * 0, 1, "H")


def project(learner: Any, n_components: int | None = None, seed: int = 0) -> FloatArray:
    Y, labels = classes()
    rng = np.random.default_rng(seed)
    return project_with_learner(Y, labels, learner, n_components, rng, "test")


def test_learner_is_fitted_and_its_result_centered() -> None:
    Y, labels = classes()
    Z = project(LinearDiscriminantAnalysis(), 2)
    expected = LinearDiscriminantAnalysis(n_components=2).fit(Y, labels).transform(Y)
    np.testing.assert_allclose(Z, expected - expected.mean(axis=0), atol=1e-4)
    assert Z.dtype == np.float32


def test_learner_decides_the_number_of_columns_if_it_is_not_given() -> None:
    assert project(LinearDiscriminantAnalysis()).shape == (100, 3)
    assert project(NeighborhoodComponentsAnalysis(n_components=5, max_iter=5)).shape == (100, 5)


def test_learner_is_copied_and_seeded() -> None:
    learner = NeighborhoodComponentsAnalysis(init="random", max_iter=3)
    first, again, other = project(learner, 2), project(learner, 2), project(learner, 2, seed=1)
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert (learner.n_components, learner.random_state) == (None, None)
    assert not hasattr(learner, "components_")
    fixed = NeighborhoodComponentsAnalysis(init="random", max_iter=3, random_state=7)
    np.testing.assert_array_equal(project(fixed, 2), project(fixed, 2, seed=1))


class FewColumns(TransformerMixin, BaseEstimator):
    """A learner without ``n_components``, which returns what it is given."""

    def __init__(self, value: float = 1.0) -> None:
        self.value = value

    def fit(self, X: Any, y: Any) -> Self:
        return self

    def transform(self, X: Any) -> Any:
        return np.full((len(X), 2), self.value)


def test_wrong_number_of_columns_raises() -> None:
    with pytest.raises(ParameterError, match="2, the number of columns that FewColumns") as caught:
        project(FewColumns(), 3)
    assert caught.value.name == "n_bits"
    assert project(FewColumns(), 2).shape == (100, 2)


def test_learner_that_fails_raises() -> None:
    with pytest.raises(DataError, match="LinearDiscriminantAnalysis, the subspace of test"):
        project(LinearDiscriminantAnalysis(), 50)
    with pytest.raises(DataError, match="no finite row per base point"):
        project(FewColumns(np.nan))


@pytest.mark.parametrize("learner", ["lda", LinearDiscriminantAnalysis, 3, np.eye(2)])
def test_learner_must_be_an_estimator(learner: Any) -> None:
    with pytest.raises(ParameterTypeError) as caught:
        check_learner(learner, "subspace", "SupervisedIMH")
    assert caught.value.name == "subspace"
    assert check_learner(PCA(), "subspace", "SupervisedIMH") is not None
