"""How labeled data scatter: class means, and the covariance between and within classes."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array

from bitfold._linalg.principal import covariance
from bitfold._types import Float32Array, Float64Array, Int64Array
from bitfold.hashers._labels import Labeled
from bitfold.io.rows import Rows, block_length


class Scatter(NamedTuple):
    """Means of the classes, one a row, relative to the rows' center; covariance of all."""

    sizes: Int64Array
    means: Float64Array
    covariance: Float64Array

    @property
    def shares(self) -> Float64Array:
        """Share of each class in the labeled rows."""
        shares: Float64Array = self.sizes / self.sizes.sum()
        return shares

    @property
    def mean(self) -> Float64Array:
        """Mean of the labeled rows, relative to the rows' center."""
        return self.shares @ self.means

    def about_class_means(self, weights: Float64Array) -> Float64Array:
        """Sum of the outer products of class means (less the mean of all), weighted."""
        means = self.means - self.mean
        return (means.T * weights) @ means

    @property
    def within(self) -> Float64Array:
        """Covariance about the class means."""
        return self.covariance - self.about_class_means(self.shares)


def scatter(rows: Rows, known: Labeled) -> Scatter:
    """Measure the labeled rows, block by block."""
    sizes = np.bincount(known.classes, minlength=known.n_classes)
    sums = _class_sums(rows, known)
    # Unlabeled rows have drawn the center to them; about their own mean the rest cancel less.
    mean = rows.center + sums.sum(axis=0) / sizes.sum()
    about = replace(rows, center=mean.astype(np.float32))
    return Scatter(sizes, sums / sizes[:, None], covariance(about, known.rows))


def _class_sums(rows: Rows, known: Labeled) -> Float64Array:
    step = block_length(rows.n_features)

    def of_block(values: Float32Array, start: int) -> Float64Array:
        first, last = np.searchsorted(known.rows, (start, start + step))
        members = known.rows[first:last] - start
        classes = known.classes[first:last]
        indicator = csr_array(
            (np.ones(len(members)), (classes, members)), shape=(known.n_classes, len(values))
        )
        sums: Float64Array = indicator @ values.astype(np.float64)
        return sums

    total = np.zeros((known.n_classes, rows.n_features))
    for _, part in rows.map(of_block, step):
        total += part
    return total


def whitening(covariance: Float64Array, ridge: float) -> Float64Array:
    """Return W, one direction a column, for which Wᵀ (C + ridge·mean variance) W is the identity.

    Rounding may leave C with eigenvalues below zero, where a Cholesky factor would fail.
    """
    values, vectors = eigh(covariance)
    floor = ridge * max(float(values.mean()), _TINY)
    whitened: Float64Array = vectors / np.sqrt(np.maximum(values, 0) + floor)
    return whitened


_TINY = float(np.finfo(np.float32).tiny)
