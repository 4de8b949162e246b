"""Kernel hash functions: a bit is the sign of a weighted sum of kernels to some anchors."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._kernels import products
from bitfold._threads import borrow_buffer
from bitfold._types import AnyArray, Float32Array, Float64Array
from bitfold.hashers.base.hasher import Hasher


class CenteredKernel(NamedTuple):
    """Kernels of rows (rows, anchors) about their mean, and the mean."""

    values: Float64Array
    mean: Float64Array


class KernelHasher(Hasher):
    """Bit b of x is whether Σ_j A_bj κ(x, a_j) exceeds a threshold, κ = exp(-d²/2σ²).

    A subclass chooses the anchors and learns the coefficients A in ``_learn``, and returns
    ``_fitted_kernels(anchors, bandwidth, coefficients, thresholds)``.

    Attributes
    ----------
    anchors_
        The points a_j, relative to ``center_``.
    bandwidth_
        σ of the kernel.
    coefficients_
        A, one row a bit.
    thresholds_
        What the weighted sum has to exceed; centering the kernel lands here.
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
        room = borrow_buffer("products", (len(values), len(self.anchors_)))
        K = kernel(values, self.anchors_, self.bandwidth_, room)
        out = np.empty((len(values), self.n_bits_), np.float32)
        products.dots(K, self.coefficients_, out)
        return out - self.thresholds_

    def _check_fitted_state(self) -> None:
        _validation.check_bandwidth(self.bandwidth_, "bandwidth_", type(self).__name__)


def kernel(
    rows: Float32Array, anchors: Float32Array, bandwidth: float, out: Float32Array | None = None
) -> Float32Array:
    """κ of each row and each anchor, (rows, anchors); each row by itself, bit for bit."""
    if out is None:
        out = np.empty((len(rows), len(anchors)), np.float32)
    products.sq_distances(rows, anchors, out)
    # Divided twice: the square of a tiny or a huge σ is no number in float32.
    with np.errstate(over="ignore"):
        out /= np.float32(-bandwidth)
        out /= np.float32(2 * bandwidth)
    kappa: Float32Array = np.exp(out, out=out)
    return kappa


def learn_bandwidth(rows: Float32Array, anchors: Float32Array) -> float:
    """σ of the kernel: σ² is the mean squared distance of rows and anchors.

    As in the code that came with *Supervised hashing with kernels*, and others since.
    """
    sq = np.empty((len(rows), len(anchors)), np.float32)
    products.sq_distances(rows, anchors, sq)
    sigma = float(np.sqrt(sq.mean(dtype=np.float64)))
    return sigma if sigma > 0 else 1.0


def bandwidth_for(
    asked: float | None, rows: Float32Array, anchors: Float32Array, owner: str
) -> float:
    """Check the σ that was asked for; None learns it."""
    if asked is None:
        return learn_bandwidth(rows, anchors)
    return _validation.check_bandwidth(asked, "bandwidth", owner)


_LEVEL = 1e-6
"""Differences of kernels up to this are float32's rounding."""


def centered_kernel(K: Float32Array, owner: str) -> CenteredKernel:
    """Take the mean off each anchor's kernels, one a column; refuse those that tell no rows apart.

    That is what is left of data whose rows are all the same.
    """
    mean = K.mean(axis=0, dtype=np.float64)
    centered = K - mean
    if np.abs(centered).max() <= _LEVEL:
        _validation.raise_invalid(
            "X", owner, "rows that differ under the kernel", "rows that are all alike"
        )
    return CenteredKernel(centered, mean)
