"""Synthetic classes on curved sheets, to test whether a hasher follows a manifold."""

from __future__ import annotations

import numbers
from typing import NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._types import AnyArray, Float64Array
from bitfold.datasets.dataset import Dataset, split_dataset

_N_WAVES = 256
"""Random waves that are added up for each feature."""

_LENGTH_SCALE = 0.3
"""Distance on a sheet of side 1 beyond which the values of a feature are nearly independent."""

_POINTS_PER_BLOCK = 4096

_CLASS_SHARE = 0.5
"""Share of a sheet's shape that belongs to its class alone; the rest is common to all."""


def manifold(
    n: int = 10_000,
    n_features: int = 32,
    *,
    n_dims: int = 2,
    n_classes: int = 10,
    noise: float = 0.05,
    n_queries: int = 500,
    seed: int = 0,
) -> Dataset:
    """Generate points on curved sheets that run alongside each other, one sheet per class.

    A point has ``n_dims`` coordinates on the sheet of its class, uniform in [0, 1]. Each feature is
    a smooth random function of them (a Gaussian process with a Gaussian kernel, approximated by
    random Fourier features), half of it common to all classes and half specific to the class; each
    class is centered afterward. The sheets bend several times through the same part of space:
    classes share their mean and nearly their covariance, so that neither hyperplanes nor balls
    separate them, but nearest neighbors do. More ``n_features`` keep the sheets farther apart; more
    ``n_dims`` need more points.

    Parameters
    ----------
    n
        Number of points, including the queries.
    n_features
        Dimensions of the space, about 10 to 64.
    n_dims
        Dimensions of each sheet.
    n_classes
        Number of sheets; their numbers of points differ by at most one.
    noise
        Standard deviation of Gaussian noise; that of a feature is about 1.
    n_queries
        Number of queries, chosen at random.
    seed
        Seed of the sheets, the points and the split.

    Returns
    -------
    The data set, with labels.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    References
    ----------
    A. Rahimi and B. Recht, *Random features for large-scale kernel machines*, NIPS 2007.

    Examples
    --------
    >>> manifold(1000, n_queries=100)
    Dataset(manifold: 900 x 32, 100 queries)
    """
    for value, name, low in [(n, "n", 2), (n_features, "n_features", 1), (n_dims, "n_dims", 1)]:
        _validation.check_integer(value, name, "manifold", low=low)
    _validation.check_integer(n_classes, "n_classes", "manifold", low=1, high=n, why=f"n={n}")
    _validation.check_integer(seed, "seed", "manifold", low=0)
    if not isinstance(noise, numbers.Real) or not 0 <= noise < np.inf:
        _validation.raise_invalid("noise", "manifold", "a finite number of at least 0", noise)
    sheet_rng, point_rng, noise_rng = np.random.default_rng(seed).spawn(3)
    labels = np.arange(n) % n_classes
    coordinates = point_rng.random((n, n_dims))
    X = map_to_sheets(coordinates, labels, n_features, sheet_rng)
    X += noise * noise_rng.standard_normal(X.shape)
    return split_dataset(X.astype(np.float32), labels, n_queries, seed, "manifold")


def map_to_sheets(
    coordinates: Float64Array, labels: AnyArray, n_features: int, rng: np.random.Generator
) -> Float64Array:
    """Map coordinates on sheets into space; the sheet of each class is centered."""
    n_dims = coordinates.shape[1]
    common = SmoothFunctions.draw(n_dims, n_features, rng)
    X: Float64Array = np.sqrt(1 - _CLASS_SHARE) * common(coordinates)
    for label in range(int(labels.max()) + 1):
        is_class = labels == label
        own = SmoothFunctions.draw(n_dims, n_features, rng)
        X[is_class] += np.sqrt(_CLASS_SHARE) * own(coordinates[is_class])
        # Otherwise the means alone would separate the classes.
        X[is_class] -= X[is_class].mean(axis=0)
    return X


class SmoothFunctions(NamedTuple):
    """Smooth random functions, one per feature: sums of waves of random frequencies."""

    frequencies: Float64Array
    phases: Float64Array
    weights: Float64Array

    @classmethod
    def draw(cls, n_dims: int, n_features: int, rng: np.random.Generator) -> SmoothFunctions:
        """Draw functions from a Gaussian process with mean 0 and variance 1."""
        return cls(
            rng.standard_normal((n_dims, _N_WAVES)) / _LENGTH_SCALE,
            rng.uniform(0, 2 * np.pi, _N_WAVES),
            rng.standard_normal((_N_WAVES, n_features)) * np.sqrt(2 / _N_WAVES),
        )

    def __call__(self, coordinates: Float64Array) -> Float64Array:
        """Return the values at the given coordinates, (n, n_features)."""
        out = np.empty((len(coordinates), self.weights.shape[1]))
        for start in range(0, len(coordinates), _POINTS_PER_BLOCK):
            block = coordinates[start : start + _POINTS_PER_BLOCK]
            waves = np.cos(block @ self.frequencies + self.phases)
            out[start : start + len(block)] = waves @ self.weights
        return out
