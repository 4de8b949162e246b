"""Points on curved sheets, to see whether a hasher follows them."""

from __future__ import annotations

import numbers
from typing import NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._types import AnyArray, Float64Array
from bitfold.datasets._base import Dataset, split

_N_WAVES = 256
"""Random waves a coordinate is the sum of."""

_LENGTH_SCALE = 0.3
"""How far one walks on a sheet of side 1 until a coordinate has forgotten where it was."""

_ROWS = 4096

_OWN = 0.5
"""Share of a sheet's shape that is its class's own; the rest is common to all."""


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
    """Points on curved sheets that run alongside each other, one for each class.

    A point has ``n_dims`` coordinates on its class's sheet, uniform in [0, 1]. Each of its
    features is a smooth random function of them (a Gaussian process with a Gaussian kernel, drawn
    by random Fourier features), half of it common to all classes and half the class's own; each
    class is then centered. So the sheets bend several times through the same part of space: classes
    share their mean and nearly their spread, and no hyperplane and no ball around a center tells
    them apart, but nearest neighbors do. More ``n_features`` keep the sheets farther apart, more
    ``n_dims`` need more points.

    Parameters
    ----------
    n
        How many points, queries included.
    n_features
        Dimensions of the space, 10 to 64 or so.
    n_dims
        Dimensions of a sheet.
    n_classes
        How many sheets; all have as many points, give or take one.
    noise
        Standard deviation of Gaussian noise, where that of a feature is about 1.
    n_queries
        How many points to set aside as queries.
    seed
        Seed of the sheets, the points and the split.

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
    for_sheets, for_points, for_noise = np.random.default_rng(seed).spawn(3)
    labels = np.arange(n) % n_classes
    places = for_points.random((n, n_dims))
    X = on_sheets(places, labels, n_features, for_sheets)
    X += noise * for_noise.standard_normal(X.shape)
    return split(X.astype(np.float32), labels, n_queries, seed, "manifold")


def on_sheets(
    places: Float64Array, labels: AnyArray, n_features: int, rng: np.random.Generator
) -> Float64Array:
    """Map places on sheets into space, the sheet of each class around the origin."""
    n_dims = places.shape[1]
    X: Float64Array = np.sqrt(1 - _OWN) * Smooth.drawn(n_dims, n_features, rng)(places)
    for label in range(int(labels.max()) + 1):
        own = Smooth.drawn(n_dims, n_features, rng)
        X[labels == label] += np.sqrt(_OWN) * own(places[labels == label])
        # Without this a class could be told by its mean alone.
        X[labels == label] -= X[labels == label].mean(axis=0)
    return X


class Smooth(NamedTuple):
    """Smooth random functions of a place, one a feature: sums of waves of random frequencies."""

    frequencies: Float64Array
    phases: Float64Array
    weights: Float64Array

    @classmethod
    def drawn(cls, n_dims: int, n_features: int, rng: np.random.Generator) -> Smooth:
        """Draw functions from a Gaussian process of mean 0 and variance 1."""
        return cls(
            rng.standard_normal((n_dims, _N_WAVES)) / _LENGTH_SCALE,
            rng.uniform(0, 2 * np.pi, _N_WAVES),
            rng.standard_normal((_N_WAVES, n_features)) * np.sqrt(2 / _N_WAVES),
        )

    def __call__(self, places: Float64Array) -> Float64Array:
        """Return the values at places, (n, n_features)."""
        out = np.empty((len(places), self.weights.shape[1]))
        for start in range(0, len(places), _ROWS):
            block = places[start : start + _ROWS]
            waves = np.cos(block @ self.frequencies + self.phases)
            out[start : start + len(block)] = waves @ self.weights
        return out
