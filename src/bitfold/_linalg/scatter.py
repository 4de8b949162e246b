"""Class means, and the covariance of labeled rows between and within classes."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from bitfold._linalg.principal import covariance
from bitfold._types import Float32Array, Float64Array, Int64Array
from bitfold.io.rows import Rows, block_length


class Scatter(NamedTuple):
    """Class sizes, class means relative to the center of the rows, and the total covariance."""

    sizes: Int64Array
    means: Float64Array
    covariance: Float64Array

    @property
    def shares(self) -> Float64Array:
        """Fraction of the labeled rows in each class."""
        shares: Float64Array = self.sizes / self.sizes.sum()
        return shares

    @property
    def mean(self) -> Float64Array:
        """Mean of the labeled rows, relative to the center of the rows."""
        return self.shares @ self.means

    def between(self, weights: Float64Array) -> Float64Array:
        """Return the weighted sum of the outer products of class means minus the mean."""
        means = self.means - self.mean
        return (means.T * weights) @ means

    @property
    def within(self) -> Float64Array:
        """Covariance around the class means."""
        return self.covariance - self.between(self.shares)


def measure_scatter(rows: Rows, members: Int64Array, classes: Int64Array) -> Scatter:
    """Measure the scatter of labeled rows, block by block.

    Parameters
    ----------
    rows
        All rows.
    members
        Numbers of the labeled rows, ascending.
    classes
        Class of each labeled row: 0, 1, ..., none of them empty.

    Returns
    -------
    The scatter.
    """
    sizes = np.bincount(classes)
    sums = _sum_classes(rows, members, classes)
    # Unlabeled rows have moved the center; the labeled rows cancel less around their own mean.
    mean = rows.center + sums.sum(axis=0) / sizes.sum()
    labeled = replace(rows, center=mean.astype(np.float32))
    return Scatter(sizes, sums / sizes[:, None], covariance(labeled, members))


def _sum_classes(rows: Rows, members: Int64Array, classes: Int64Array) -> Float64Array:
    """Return the sum of the rows of each class."""
    step, n_classes = block_length(rows.n_features), int(classes.max()) + 1

    def sum_block(values: Float32Array, start: int) -> Float64Array:
        first, last = np.searchsorted(members, (start, start + step))
        own, label = members[first:last] - start, classes[first:last]
        indicator = csr_array((np.ones(len(own)), (label, own)), shape=(n_classes, len(values)))
        sums: Float64Array = indicator @ values.astype(np.float64)
        return sums

    total = np.zeros((n_classes, rows.n_features))
    for _, part in rows.map(sum_block, step):
        total += part
    return total
