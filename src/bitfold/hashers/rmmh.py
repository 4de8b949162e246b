"""Random maximum margin hashing: support vector machines for random labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.svm import SVC

from bitfold import _validation
from bitfold._types import AnyArray, Float64Array, Int64Array, ProgressCallback, Seed
from bitfold.hashers.base.kernel import choose_bandwidth, gaussian_kernel
from bitfold.hashers.base.kernelized import KERNELS, KernelizedHasher
from bitfold.hashers.base.linear import Hyperplane
from bitfold.io.rows import Rows


class KernelPlane(NamedTuple):
    """A hyperplane in the feature space of a kernel: a weight per point, and its position."""

    coefficients: Float64Array
    threshold: float


def draw_labels(n: int, rng: np.random.Generator) -> Int64Array:
    """Draw n labels in random order, half of them 1 and half of them -1 (one more if n is odd)."""
    return rng.permutation(np.where(np.arange(n) < n // 2, 1, -1))


def maximize_margin(X: AnyArray, labels: Int64Array, C: float) -> Hyperplane:
    """Return the hyperplane that separates the labels with the widest margin.

    Parameters
    ----------
    X
        Points, one per row.
    labels
        Side of each point: 1 or -1.
    C
        Penalty of points on the wrong side of their margin, for points of unit mean squared
        length.

    Returns
    -------
    The hyperplane, with a unit normal.
    """
    length = float(np.sqrt(np.mean((X * X).sum(axis=1, dtype=np.float64)))) or 1.0
    machine = SVC(kernel="linear", C=C).fit(X.astype(np.float64) / length, labels)
    w = machine.coef_[0]
    norm = float(np.linalg.norm(w)) or 1.0
    return Hyperplane(w / norm, -float(machine.intercept_[0]) * length / norm)


def maximize_kernel_margin(K: AnyArray, labels: Int64Array, C: float) -> KernelPlane:
    """Return the hyperplane of the feature space that separates the labels with the widest margin.

    Parameters
    ----------
    K
        Kernels between all points.
    labels
        Side of each point: 1 or -1.
    C
        Penalty of points on the wrong side of their margin.

    Returns
    -------
    The hyperplane, with a unit normal.
    """
    K = K.astype(np.float64)
    machine = SVC(kernel="precomputed", C=C).fit(K, labels)
    a = np.zeros(len(K))
    a[machine.support_] = machine.dual_coef_[0]
    norm = float(np.sqrt(max(float(a @ K @ a), 0.0))) or 1.0
    return KernelPlane(a / norm, -float(machine.intercept_[0]) / norm)


class RMMH(KernelizedHasher):
    """Random maximum margin hashing.

    For each bit, a few random rows get random labels, half of them one and half of them the other.
    The bit is the hyperplane that separates them with the widest margin: random, but rarely
    between rows that are close together.

    Parameters
    ----------
    n_bits
        Length of the codes.
    kernel
        ``"linear"``: hyperplanes between the rows themselves, which are the fastest to evaluate.
        ``"rbf"``: hyperplanes in the feature space of the kernel exp(-d²/2σ²), as in the
        original.
    n_samples
        Number of rows per bit; all rows if there are fewer.
    n_anchors
        With the kernel ``"rbf"``, number of random rows that the rows of all bits are drawn from;
        all rows if there are fewer. The kernel is evaluated at each of them.
    bandwidth
        σ of the kernel ``"rbf"``; None uses the root mean squared distance of the anchors.
    C
        Penalty of rows on the wrong side of their margin, for rows of unit mean squared length.
    normalize
        Whether to scale rows to unit length, for data that are compared by cosine.
    random_state
        Seed or generator.

    Attributes
    ----------
    directions_
        Normals of the hyperplanes, one per bit; None with the kernel ``"rbf"``.
    anchors_
        The anchors, relative to ``center_``, one per row; None with the linear kernel.
    coefficients_
        Weights of the kernels, one row per bit; None with the linear kernel.
    bandwidth_
        The σ in use; 0 with the linear kernel.
    thresholds_
        Offset of each hyperplane along its normal.

    Notes
    -----
    The original draws the rows of each bit from all rows, so that a code of b bits takes b times
    ``n_samples`` kernels. With common anchors the cost does not grow with the length of the codes.

    References
    ----------
    Joly and Buisson, *Random maximum margin hashing*, CVPR 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bitfold.hashers import RMMH
    >>> X = load_digits().data
    >>> RMMH(n_bits=32, random_state=0).fit(X).encode(X)
    Codes(1797 x 32 bits)
    """

    def __init__(
        self,
        n_bits: int = 64,
        *,
        kernel: str = "linear",
        n_samples: int = 32,
        n_anchors: int = 1000,
        bandwidth: float | None = None,
        C: float = 1.0,
        normalize: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.kernel = kernel
        self.n_samples = n_samples
        self.n_anchors = n_anchors
        self.bandwidth = bandwidth
        self.C = C
        self.normalize = normalize
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        owner = rows.owner
        n_bits = _validation.check_integer(self.n_bits, "n_bits", owner, low=1)
        n_samples = _validation.check_integer(self.n_samples, "n_samples", owner, low=2)
        n_anchors = _validation.check_integer(self.n_anchors, "n_anchors", owner, low=2)
        C = _validation.check_positive(self.C, "C", owner)
        kernel = _validation.check_choice(self.kernel, "kernel", owner, KERNELS)
        if kernel == "rbf":
            return self._learn_kernels(rows, n_bits, (n_samples, n_anchors), C, progress)
        sample_rng, label_rng = _validation.spawn_generators(self.random_state, 2)
        directions, thresholds = np.empty((n_bits, rows.n_features)), np.empty(n_bits)
        for bit in range(n_bits):
            sample = rows.sample(n_samples, sample_rng)
            labels = draw_labels(len(sample), label_rng)
            directions[bit], thresholds[bit] = maximize_margin(sample, labels, C)
            progress("bits", bit + 1, n_bits)
        return self._fitted_hyperplanes(directions, thresholds)

    def _learn_kernels(
        self, rows: Rows, n_bits: int, sizes: tuple[int, int], C: float, progress: ProgressCallback
    ) -> dict[str, Any]:
        """Learn hyperplanes in the feature space; ``sizes`` are those of a sample and of all."""
        n_samples, n_anchors = sizes
        anchor_rng, sample_rng, label_rng = _validation.spawn_generators(self.random_state, 3)
        anchors = rows.sample(n_anchors, anchor_rng)
        sigma = choose_bandwidth(self.bandwidth, anchors, anchors, rows.owner)
        coefficients, thresholds = np.zeros((n_bits, len(anchors))), np.empty(n_bits)
        for bit in range(n_bits):
            chosen = sample_rng.choice(len(anchors), min(n_samples, len(anchors)), replace=False)
            K = gaussian_kernel(anchors[chosen], anchors[chosen], sigma)
            labels = draw_labels(len(chosen), label_rng)
            coefficients[bit, chosen], thresholds[bit] = maximize_kernel_margin(K, labels, C)
            progress("bits", bit + 1, n_bits)
        return self._fitted_kernels(anchors, sigma, coefficients, thresholds)
