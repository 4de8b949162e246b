"""Ridge regression on the kernels of rows and anchors.

It needs only sums of products of kernels, so that kernels are computed block by block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from bitfold import _validation
from bitfold._types import Float32Array, Float64Array, Int64Array
from bitfold.errors import DataError
from bitfold.hashers._labels import LabeledRows
from bitfold.hashers.base.kernel import gaussian_kernel, root_mean_sq_distance
from bitfold.io.rows import Rows

WIDTHS = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4)
"""Bandwidths that are tried, relative to the root mean squared distance of rows and anchors."""

N_TRIAL_ROWS = 6000
"""Number of labeled rows that the bandwidth is learned from; a third of them is held out."""

_MIN_VARIANCE = 1e-12
"""Variance of kernels up to which they are equal, except for rounding errors of float32."""


class Anchors(NamedTuple):
    """The points and the bandwidth of the kernels, and an estimate of the mean kernels.

    Kernels are taken relative to that estimate, because sums of products of float32 lose digits
    far from zero.
    """

    points: Float32Array
    bandwidth: float
    mean: Float32Array

    def compute_kernels(self, values: Float32Array) -> Float32Array:
        """Return the kernels of rows and anchors minus the estimated mean, (rows, anchors)."""
        K = gaussian_kernel(values, self.points, self.bandwidth)
        K -= self.mean
        return K


class Ridge(NamedTuple):
    """The factored matrix KᵀK + ridge of centered kernels, and the mean that was subtracted."""

    factor: tuple[Float64Array, bool]
    mean: Float64Array
    n_rows: int

    def solve(self, products: Float64Array, totals: Float64Array) -> LinearFit:
        """Regress targets on kernels, with an intercept.

        Parameters
        ----------
        products
            Sum of the products of kernels and targets, (anchors, targets).
        totals
            Sum of the targets.

        Returns
        -------
        The fit.
        """
        coefficients = cho_solve(self.factor, products - np.outer(self.mean, totals))
        return LinearFit(coefficients, totals / self.n_rows - self.mean @ coefficients)


class LinearFit(NamedTuple):
    """Coefficients, (anchors, targets), and intercepts."""

    coefficients: Float64Array
    intercepts: Float64Array

    def predict(self, K: Float32Array) -> Float32Array:
        """Return the prediction for kernels relative to the estimated mean."""
        predicted: Float32Array = K @ self.coefficients.astype(np.float32)
        predicted += self.intercepts.astype(np.float32)
        return predicted


def factor_ridge(gram: Float64Array, total: Float64Array, n: int, regularization: float) -> Ridge:
    """Return the regression on n rows of kernels.

    ``gram`` is the sum of the products of kernels, ``total`` the sum of kernels; the
    ``regularization`` is in units of their mean variance.

    Raises
    ------
    LinAlgError
        If the regularization is so small that rounding errors make the problem singular.
    """
    mean = total / n
    gram = gram - n * np.outer(mean, mean)
    variance = max(float(np.trace(gram)) / len(gram), n * _MIN_VARIANCE)
    gram[np.diag_indices(len(gram))] += regularization * variance
    return Ridge(cho_factor(gram, lower=True, overwrite_a=True), mean, n)


def choose_anchors(
    rows: Rows,
    labeled: LabeledRows,
    n_anchors: int,
    bandwidth: float | None,
    regularization: float,
    rng: np.random.Generator,
) -> Anchors:
    """Draw anchors from all rows, and learn the bandwidth from labeled rows if it is None.

    Parameters
    ----------
    rows, labeled
        All rows, and those with a label.
    n_anchors
        Number of anchors; all rows if there are fewer.
    bandwidth
        σ of the kernel exp(-d²/2σ²), or None.
    regularization
        Added to the variances of the kernels, in units of their mean.
    rng
        Generator.

    Returns
    -------
    The anchors.

    Raises
    ------
    DataError
        If all labeled rows have the same kernels.
    """
    points = rows.sample(n_anchors, rng)
    trial = labeled.sample(N_TRIAL_ROWS, rng)
    sample = rows.take(trial.rows)
    if bandwidth is None:
        sigma = learn_bandwidth(sample, trial.classes, points, regularization, rng)
    else:
        sigma = _validation.check_bandwidth(bandwidth, "bandwidth", rows.owner)
    K = gaussian_kernel(sample, points, sigma)
    if K.var(axis=0, dtype=np.float64).max() <= _MIN_VARIANCE:
        raise DataError(f"X of {rows.owner} has rows that are all equal under the kernel.")
    return Anchors(points, sigma, K.mean(axis=0, dtype=np.float64).astype(np.float32))


def learn_bandwidth(
    sample: Float32Array,
    classes: Int64Array,
    anchors: Float32Array,
    regularization: float,
    rng: np.random.Generator,
) -> float:
    """Return the bandwidth at which regression predicts the classes of held-out rows best."""
    scale = root_mean_sq_distance(sample, anchors)
    order = rng.permutation(len(sample))
    held_out, kept = order[: len(order) // 3], order[len(order) // 3 :]
    if not len(held_out):
        return scale / 2
    targets = np.eye(int(classes.max()) + 1, dtype=np.float32)[classes]
    errors = []
    for width in WIDTHS:
        K = gaussian_kernel(sample, anchors, width * scale)
        try:
            predicted = _predict_held_out(K, targets, kept, held_out, regularization)
        except LinAlgError:  # wide kernels are nearly equal
            errors.append(np.inf)
        else:
            errors.append(float(np.mean((targets[held_out] - predicted) ** 2)))
    return float(WIDTHS[int(np.argmin(errors))] * scale)


def _predict_held_out(
    K: Float32Array,
    targets: Float32Array,
    kept: Int64Array,
    held_out: Int64Array,
    regularization: float,
) -> Float32Array:
    """Return what regression on the kept rows predicts for the others."""
    K = K - K[kept].mean(axis=0, dtype=np.float64).astype(np.float32)
    own, wanted = K[kept], targets[kept]
    gram = (own.T @ own).astype(np.float64)
    ridge = factor_ridge(gram, own.sum(axis=0, dtype=np.float64), len(own), regularization)
    products = (own.T @ wanted).astype(np.float64)
    return ridge.solve(products, wanted.sum(axis=0, dtype=np.float64)).predict(K[held_out])
