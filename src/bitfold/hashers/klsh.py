"""Kernelized locality-sensitive hashing: random hyperplanes in the feature space of a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from bitfold import _validation
from bitfold._linalg.spectral import inverse_root
from bitfold._types import Float64Array, ProgressCallback, Seed
from bitfold.hashers.base.kernel import KernelHasher, learn_kernel
from bitfold.io.rows import Rows

_RELATIVE_ZERO = 1e-6
"""Eigenvalues below this fraction of the largest are rounding errors of float32 kernels."""


def draw_subsets(n_bits: int, n_anchors: int, size: int, rng: np.random.Generator) -> Float64Array:
    """Draw the indicators e_S of random subsets of the anchors, one per row."""
    chosen = np.zeros((n_bits, n_anchors))
    for row in chosen:
        row[rng.choice(n_anchors, size, replace=False)] = 1
    return chosen


def compute_coefficients(K: Float64Array, subsets: Float64Array) -> Float64Array:
    """Return K^(-1/2) e_S for each subset: a sum of anchors, whitened in the feature space.

    By the central limit theorem the sum is nearly Gaussian, so that the hyperplane is random.

    Parameters
    ----------
    K
        Kernels between the anchors, with zero mean along both axes.
    subsets
        Indicators of the subsets, one per row.

    Returns
    -------
    One row per subset, one column per anchor.
    """
    return subsets @ inverse_root(K, _RELATIVE_ZERO)


class KLSH(KernelHasher):
    """Kernelized locality-sensitive hashing.

    The hyperplanes are random in the feature space of the kernel. Their normals are whitened sums
    of a few anchors, which are nearly Gaussian and can be computed from kernels alone.

    Parameters
    ----------
    n_bits
        Length of the codes.
    n_anchors
        Number of random rows that the kernel is evaluated at; all rows if there are fewer.
    n_subset
        Number of anchors in the sum of a bit; at most half of the anchors are used.
    bandwidth
        σ of the kernel exp(-d²/2σ²); None learns it.
    normalize
        Whether to scale rows to unit length, for data that are compared by cosine.
    random_state
        Seed or generator.

    Attributes
    ----------
    anchors_
        The anchors, relative to ``center_``, one per row.
    bandwidth_
        The σ in use.
    coefficients_
        Weights of the kernels, one row per bit.
    thresholds_
        Value that the weighted sum of each bit must exceed.

    References
    ----------
    Kulis and Grauman, *Kernelized locality-sensitive hashing for scalable image search*, ICCV 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bitfold.hashers import KLSH
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
        normalize: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.n_anchors = n_anchors
        self.n_subset = n_subset
        self.bandwidth = bandwidth
        self.normalize = normalize
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        owner = rows.owner
        n_bits = _validation.check_integer(self.n_bits, "n_bits", owner, low=1)
        n_anchors = _validation.check_integer(self.n_anchors, "n_anchors", owner, low=2)
        n_subset = _validation.check_integer(self.n_subset, "n_subset", owner, low=1)
        anchor_rng, subset_rng = _validation.spawn_generators(self.random_state, 2)
        anchors = rows.sample(n_anchors, anchor_rng)
        sigma, (K, mean) = learn_kernel(self.bandwidth, anchors, anchors, owner)
        # The sum of all anchors is the center, which does not define a direction.
        subsets = draw_subsets(n_bits, len(K), min(n_subset, len(K) // 2), subset_rng)
        A = compute_coefficients(K - K.mean(axis=1, keepdims=True), subsets)
        # Each row of A sums to zero, so that centering the other axis would change nothing.
        return self._fitted_kernels(anchors, sigma, A, A @ mean)
