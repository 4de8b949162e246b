"""Binary reconstructive embeddings: Hamming distances that reproduce the distances of the data."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._types import Float32Array, Float64Array, ProgressCallback, Seed
from bitfold.hashers._iterations import IterativeMixin
from bitfold.hashers._reconstruction import learn_weights
from bitfold.hashers.base.kernel import choose_bandwidth, gaussian_kernel
from bitfold.hashers.base.kernelized import KERNELS, KernelizedHasher
from bitfold.io.rows import Rows
from bitfold.rotation import unit_rows

_ROUNDING = 1e-6
"""Squared lengths up to this are rounding errors of float32 kernels."""


class UnitKernel(NamedTuple):
    """Kernels between rows of length 1 in the feature space, as seen from the mean.

    ``scales`` are the lengths before they were scaled, ``column_means`` the means of the kernels
    before they were centered.
    """

    values: Float64Array
    scales: Float64Array
    column_means: Float64Array


def normalize_kernel(K: Float32Array) -> UnitKernel:
    """Center a kernel in the feature space, and scale all rows to length 1 there.

    Parameters
    ----------
    K
        Kernels between all rows.

    Returns
    -------
    The kernels of the scaled rows. A row at the mean remains zero.
    """
    means = K.mean(axis=0, dtype=np.float64)
    centered = K - means
    centered -= centered.mean(axis=1, keepdims=True)
    squares = centered.diagonal().copy()
    scales = np.sqrt(np.where(squares > _ROUNDING, squares, np.inf))
    return UnitKernel(centered / scales / scales[:, None], scales, means)


class BRE(IterativeMixin, KernelizedHasher):
    """Binary reconstructive embeddings.

    A bit is the sign of a weighted sum of kernels with a few rows. The weights are learned one at
    a time, so that Hamming distances reproduce the distances between the directions of the rows
    as seen from the mean, in the feature space of the kernel.

    Parameters
    ----------
    n_bits
        Length of the codes.
    kernel
        ``"linear"``: inner products, so that a bit is one inner product. ``"rbf"``:
        exp(-d²/2σ²), evaluated at all rows of the sample.
    n_samples
        Number of random rows to learn from; all rows if there are fewer.
    n_anchors
        Number of rows of the sample that each bit uses.
    bandwidth
        σ of the kernel ``"rbf"``; None uses the root mean squared distance of the sample.
    max_iter
        Number of sweeps over all weights.
    normalize
        Whether to scale rows to unit length, for data that are compared by cosine.
    random_state
        Seed or generator.

    Attributes
    ----------
    directions_
        Normals of the hyperplanes, one per bit; None with the kernel ``"rbf"``.
    anchors_
        The sample, relative to ``center_``, one row per anchor; None with the linear kernel.
    coefficients_
        Weights of the kernels, one row per bit; None with the linear kernel.
    bandwidth_
        The σ in use; 0 with the linear kernel.
    thresholds_
        Offset of each hyperplane along its normal: 0 with the linear kernel.

    Notes
    -----
    The distance |x - x'|² / 2 of the paper reaches 2 for rows relative to their mean, but a
    fraction of bits does not exceed 1. It is therefore halved.

    References
    ----------
    Kulis and Darrell, *Learning to hash with binary reconstructive embeddings*, NIPS 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bitfold.hashers import BRE
    >>> X = load_digits().data
    >>> BRE(n_bits=32, n_samples=300, random_state=0).fit(X).encode(X)
    Codes(1797 x 32 bits)
    """

    def __init__(
        self,
        n_bits: int = 64,
        *,
        kernel: str = "linear",
        n_samples: int = 1000,
        n_anchors: int = 50,
        bandwidth: float | None = None,
        max_iter: int = 3,
        normalize: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.kernel = kernel
        self.n_samples = n_samples
        self.n_anchors = n_anchors
        self.bandwidth = bandwidth
        self.max_iter = max_iter
        self.normalize = normalize
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        owner = rows.owner
        n_bits = _validation.check_integer(self.n_bits, "n_bits", owner, low=1)
        n_samples = _validation.check_integer(self.n_samples, "n_samples", owner, low=2)
        n_anchors = _validation.check_integer(self.n_anchors, "n_anchors", owner, low=1)
        max_iter = _validation.check_integer(self.max_iter, "max_iter", owner, low=0)
        kernel = _validation.check_choice(self.kernel, "kernel", owner, KERNELS)
        sample_rng, *rngs = _validation.spawn_generators(self.random_state, 4)
        sample = rows.sample(n_samples, sample_rng)
        report = partial(progress, "sweeps")
        if kernel == "linear":
            unit = unit_rows(sample).astype(np.float64)
            W = learn_weights(unit @ unit.T, (n_bits, n_anchors), max_iter, rngs, report)
            directions = W @ unit
            lengths = np.linalg.norm(directions, axis=1, keepdims=True)
            return self._fitted_hyperplanes(directions / np.where(lengths > 0, lengths, 1))
        sigma = choose_bandwidth(self.bandwidth, sample, sample, owner)
        K = normalize_kernel(gaussian_kernel(sample, sample, sigma))
        W = learn_weights(K.values, (n_bits, n_anchors), max_iter, rngs, report) / K.scales
        # The mean in the feature space is subtracted from the normal ...
        A = W - W.mean(axis=1, keepdims=True)
        # ... and from the row that is hashed.
        return self._fitted_kernels(sample, sigma, A, A @ K.column_means)
