"""Kernelized locality-sensitive hashing: random hyperplanes in the kernel's own space."""

from __future__ import annotations

from typing import Any

import numpy as np

from bitfold import _validation
from bitfold._linalg.spectral import inverse_root
from bitfold._threads import serial_blas
from bitfold._types import Float64Array, ProgressCallback, Seed
from bitfold.hashers.base.kernel import KernelHasher, bandwidth_for, centered_kernel, kernel
from bitfold.io.rows import Rows

_NULL = 1e-6
"""Eigenvalues below this part of the largest are rounding: kernels are float32."""


def subsets(n_bits: int, n: int, size: int, rng: np.random.Generator) -> Float64Array:
    """Draw the indicators e_S of random subsets of n things, one a row."""
    chosen = np.zeros((n_bits, n))
    for row in chosen:
        row[rng.choice(n, size, replace=False)] = 1
    return chosen


def random_coefficients(K: Float64Array, chosen: Float64Array) -> Float64Array:
    """Return w = K^(-1/2) e_S, one row a subset: a sum of anchors, whitened in the kernel's space.

    By the central limit theorem the sum is about Gaussian, so that the hyperplane is random.

    Parameters
    ----------
    K
        Kernels between the anchors, centered both ways.
    chosen
        Indicators of the subsets, one a row.
    """
    coefficients: Float64Array = chosen @ inverse_root(K, _NULL)
    return coefficients


class KLSH(KernelHasher):
    """Kernelized locality-sensitive hashing.

    Random hyperplanes in the space of the kernel. Their normals are sums of a few anchors,
    whitened: about Gaussian, and known by kernels alone.

    Parameters
    ----------
    n_bits
        Length of the codes.
    n_anchors
        Random rows that the kernel is taken to; all rows when there are less.
    n_subset
        Anchors that are summed for a bit; half of them when there are less than twice as many.
    bandwidth
        σ of the kernel exp(-d²/2σ²); None learns it.
    random_state
        Seed or generator.

    References
    ----------
    Kulis and Grauman, *Kernelized locality-sensitive hashing for scalable image search*, ICCV 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> KLSH(n_bits=32, random_state=0).fit(X).encode(X)
    Codes(1797 x 32 bits)
    """

    def __init__(
        self,
        n_bits: int = 64,
        *,
        n_anchors: int = 300,
        n_subset: int = 30,
        bandwidth: float | None = None,
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.n_anchors = n_anchors
        self.n_subset = n_subset
        self.bandwidth = bandwidth
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        owner = rows.owner
        n_bits = _validation.check_integer(self.n_bits, "n_bits", owner, low=1)
        n_anchors = _validation.check_integer(self.n_anchors, "n_anchors", owner, low=2)
        subset = _validation.check_integer(self.n_subset, "n_subset", owner, low=1)
        for_anchors, for_subsets = _validation.spawn_generators(self.random_state, 2)
        anchors = rows.sample(n_anchors, for_anchors)
        sigma = bandwidth_for(self.bandwidth, anchors, anchors, owner)
        K, mean = centered_kernel(kernel(anchors, anchors, sigma), owner)
        # All of them would sum to the center, which is no direction.
        chosen = subsets(n_bits, len(K), min(subset, len(K) // 2), for_subsets)
        with serial_blas():
            A = random_coefficients(K - K.mean(axis=1, keepdims=True), chosen)
        # A sums to zero, as centered kernels know no constant: the other half of centering is done.
        return self._fitted_kernels(anchors, sigma, A, A @ mean)
