"""How labeled data scatter: class means, and the covariance between and within classes."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_array

from bitfold._linalg.principal import covariance
from bitfold.hashers._labels import Labeled
from bitfold.io.rows import Rows, block_length

FloatArray = NDArray[np.float32]
RealArray = NDArray[np.float64]


class Scatter(NamedTuple):
    """Means of the classes, one a row, relative to the rows' center; covariance of all."""

    sizes: NDArray[np.int64]
    means: RealArray
    covariance: RealArray

    @property
    def shares(self) -> RealArray:
        """Share of each class in the labeled rows."""
        shares: RealArray = self.sizes / self.sizes.sum()
        return shares

    @property
    def mean(self) -> RealArray:
        """Mean of the labeled rows, relative to the rows' center."""
        return self.shares @ self.means

    def about_class_means(self, weights: RealArray) -> RealArray:
        """Sum of the outer products of class means (less the mean of all), weighted."""
        means = self.means - self.mean
        return (means.T * weights) @ means

    @property
    def within(self) -> RealArray:
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


def _class_sums(rows: Rows, known: Labeled) -> RealArray:
    step = block_length(rows.n_features)

    def of_block(values: FloatArray, start: int) -> RealArray:
        first, last = np.searchsorted(known.rows, (start, start + step))
        members = known.rows[first:last] - start
        classes = known.classes[first:last]
        indicator = csr_array(
            (np.ones(len(members)), (classes, members)), shape=(known.n_classes, len(values))
        )
        sums: RealArray = indicator @ values.astype(np.float64)
        return sums

    total = np.zeros((known.n_classes, rows.n_features))
    for _, part in rows.map(of_block, step):
        total += part
    return total


def whitening(covariance: RealArray, ridge: float) -> RealArray:
    """Return W, one direction a column, for which Wᵀ (C + ridge·mean variance) W is the identity.

    Rounding may leave C with eigenvalues below zero, where a Cholesky factor would fail.
    """
    values, vectors = eigh(covariance)
    floor = ridge * max(float(values.mean()), _TINY)
    whitened: RealArray = vectors / np.sqrt(np.maximum(values, 0) + floor)
    return whitened


_TINY = float(np.finfo(np.float32).tiny)
