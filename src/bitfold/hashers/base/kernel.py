"""Kernel hash functions: a bit is the sign of a weighted sum of kernels with anchors."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._kernels import functions, products
from bitfold._threads import borrow_buffer
from bitfold._types import AnyArray, Float32Array, Float64Array
from bitfold.errors import DataError
from bitfold.hashers.base.hasher import Hasher

_ROUNDING = 1e-6
"""Differences of kernels up to this are rounding errors of float32."""


class CenteredKernel(NamedTuple):
    """Kernels minus their mean over the rows, (rows, anchors), and the mean."""

    values: Float64Array
    mean: Float64Array


class KernelHasher(Hasher):
    """Bit b of x is 1 if Σ_j A_bj κ(x, a_j) exceeds a threshold, with κ = exp(-d²/2σ²).

    A subclass chooses the anchors and learns the coefficients A in ``_learn``, and returns
    ``_fitted_kernels(anchors, bandwidth, coefficients, thresholds)``.

    Attributes
    ----------
    n_bits_
        Length of the codes.
    anchors_
        The points a_j, relative to ``center_``, one per row.
    bandwidth_
        σ of the kernel.
    coefficients_
        A, one row per bit.
    thresholds_
        The values that the weighted sums must exceed, including the mean of a centered kernel.

    Examples
    --------
    >>> class Nearby(KernelHasher):
    ...     def _learn(self, rows, y, progress):
    ...         anchors = rows.block(0, 2)
    ...         return self._fitted_kernels(anchors, 1.0, np.eye(2), [0.5, 0.5])
    >>> X = [[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]]
    >>> Nearby().fit(X).transform(X).tolist()
    [[1, 0], [0, 1], [0, 0]]
    """

    _fitted_arrays: ClassVar[dict[str, tuple[str, ...]]] = {
        **Hasher._fitted_arrays,
        "anchors_": ("n_anchors", "n_features_in_"),
        "coefficients_": ("n_bits_", "n_anchors"),
        "thresholds_": ("n_bits_",),
    }
    _fitted_scalars: ClassVar[dict[str, type]] = {**Hasher._fitted_scalars, "bandwidth_": float}

    anchors_: Float32Array
    bandwidth_: float
    coefficients_: Float32Array
    thresholds_: Float32Array

    @property
    def _floats_per_row(self) -> int:
        return max(len(self.anchors_), self.n_bits_)

    @staticmethod
    def _fitted_kernels(
        anchors: Float32Array, bandwidth: float, coefficients: AnyArray, thresholds: AnyArray
    ) -> dict[str, Any]:
        """Return the fitted attributes of kernel functions, one per row of the coefficients."""
        return {
            "n_bits_": len(coefficients),
            "anchors_": np.ascontiguousarray(anchors),
            "bandwidth_": bandwidth,
            "coefficients_": np.ascontiguousarray(coefficients, np.float32),
            "thresholds_": np.ascontiguousarray(thresholds, np.float32),
        }

    def _embed_block(self, values: Float32Array) -> Float32Array:
        functions = self.anchors_, self.bandwidth_, self.coefficients_, self.thresholds_
        return sum_kernels(values, *functions)

    def _check_fitted_state(self) -> None:
        _validation.check_bandwidth(self.bandwidth_, "bandwidth_", type(self).__name__)


def sum_kernels(
    values: Float32Array,
    anchors: Float32Array,
    bandwidth: float,
    coefficients: Float32Array,
    thresholds: Float32Array,
) -> Float32Array:
    """Return the weighted sums of kernels minus the thresholds, (rows, bits).

    Those of a row depend on that row alone, bit for bit.
    """
    buffer = borrow_buffer("products", (len(values), len(anchors)))
    K = gaussian_kernel(values, anchors, bandwidth, buffer)
    out = np.empty((len(values), len(coefficients)), np.float32)
    products.dots(K, coefficients, out)
    return out - thresholds


def gaussian_kernel(
    rows: Float32Array, anchors: Float32Array, bandwidth: float, out: Float32Array | None = None
) -> Float32Array:
    """Return κ of each row and each anchor, (rows, anchors).

    The kernels of a row depend on that row alone, bit for bit.
    """
    if out is None:
        out = np.empty((len(rows), len(anchors)), np.float32)
    products.sq_distances(rows, anchors, out)
    functions.gaussians(out, bandwidth)
    return out


def choose_bandwidth(
    bandwidth: float | None, rows: Float32Array, anchors: Float32Array, owner: str
) -> float:
    """Check a bandwidth; None learns it."""
    if bandwidth is None:
        return root_mean_sq_distance(rows, anchors)
    return _validation.check_bandwidth(bandwidth, "bandwidth", owner)


def learn_kernel(
    bandwidth: float | None, rows: Float32Array, anchors: Float32Array, owner: str
) -> tuple[float, CenteredKernel]:
    """Return the bandwidth, and the centered kernels between rows and anchors."""
    sigma = choose_bandwidth(bandwidth, rows, anchors, owner)
    return sigma, center_kernel(gaussian_kernel(rows, anchors, sigma), owner)


def root_mean_sq_distance(rows: Float32Array, anchors: Float32Array) -> float:
    """Return the default σ: the root mean squared distance of rows and anchors.

    It is that of the code published with *Supervised hashing with kernels*.
    """
    sq_distances = np.empty((len(rows), len(anchors)), np.float32)
    products.sq_distances(rows, anchors, sq_distances)
    sigma = float(np.sqrt(sq_distances.mean(dtype=np.float64)))
    return sigma if sigma > 0 else 1.0


def center_kernel(K: Float32Array, owner: str) -> CenteredKernel:
    """Subtract the mean of each column; raise if all rows are equal under the kernel."""
    mean = K.mean(axis=0, dtype=np.float64)
    centered = K - mean
    if np.abs(centered).max() <= _ROUNDING:
        raise DataError(f"X of {owner} has rows that are all equal under the kernel.")
    return CenteredKernel(centered, mean)
