"""Supervised hashing with kernels: inner products of codes that reproduce equality of labels."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._linalg.spectral import largest_eigenvectors, signs, whiten_columns
from bitfold._types import Float64Array, Int64Array, ProgressCallback, Seed, StepCallback
from bitfold.errors import DataError
from bitfold.hashers._labels import SupervisedMixin, find_labeled_rows
from bitfold.hashers.base.kernel import KernelHasher, learn_kernel
from bitfold.io.rows import Rows

MAX_STEPS = 500
"""Maximum number of gradient steps per bit; a few dozen are usually enough."""

_MIN_GAIN = 1e-3
"""The descent of a bit ends when the relative gain of a step is smaller than this."""

_RELATIVE_ZERO = 1e-7
"""Eigenvalues below this fraction of the largest are treated as zero."""

_MIN_DISTINCT_ROWS = 3
"""Kernels of two different rows have one direction, which gives every bit the same hyperplane."""

_TINY = 1e-12


class SupervisedBits(NamedTuple):
    """Coefficients, one row per bit, and |b S - Σ h hᵀ|² at the start and after each bit."""

    coefficients: Float64Array
    objectives: list[float]


class Residual:
    """The matrix R = b S - Σ h hᵀ, where S is 1 for pairs of the same class and -1 for others.

    It is never formed: S = 2 Y Yᵀ - 1 1ᵀ for the class indicators Y, and each bit h subtracts a
    matrix of rank one.

    Parameters
    ----------
    classes
        Class of each row: 0, 1, ...
    n_bits
        b.
    """

    def __init__(self, classes: Int64Array, n_bits: int) -> None:
        self.classes = classes
        self.n_bits = n_bits
        self.bits = np.empty((0, len(classes)))
        self.sq_norm = (float(n_bits) * len(classes)) ** 2

    def multiply(self, v: Float64Array) -> Float64Array:
        """Return R v."""
        class_sums = np.bincount(self.classes, v)
        S_v = 2 * class_sums[self.classes] - v.sum()
        product: Float64Array = self.n_bits * S_v - (self.bits @ v) @ self.bits
        return product

    def measure_fit(self, v: Float64Array) -> float:
        """Return vᵀ R v, which is larger the more of the residual a bit v explains."""
        return float(v @ self.multiply(v))

    def project(self, K: Float64Array) -> Float64Array:
        """Return Kᵀ R K."""
        class_sums = np.zeros((self.classes.max() + 1, K.shape[1]))
        np.add.at(class_sums, self.classes, K)
        total = class_sums.sum(axis=0)
        explained = self.bits @ K
        S_K = 2 * class_sums.T @ class_sums - np.outer(total, total)
        return self.n_bits * S_K - explained.T @ explained

    def subtract(self, h: Float64Array) -> None:
        """Subtract h hᵀ for a bit h, 1 or -1 for each row."""
        # |R - h hᵀ|² = |R|² - 2 hᵀRh + |h|⁴ for the R before this bit.
        self.sq_norm += len(h) ** 2 - 2 * self.measure_fit(h)
        self.bits = np.vstack([self.bits, h])


def smooth_sign(x: Float64Array) -> Float64Array:
    """Return φ(x) = 2 / (1 + exp(-x)) - 1."""
    return np.tanh(x / 2)


def smooth_loss(a: Float64Array, K: Float64Array, residual: Residual) -> tuple[float, Float64Array]:
    """Return -φ(Ka)ᵀ R φ(Ka) and its gradient."""
    phi = smooth_sign(K @ a)
    product = residual.multiply(phi)
    return -float(phi @ product), -((1 - phi * phi) * product) @ K


def descend(
    a: Float64Array, K: Float64Array, residual: Residual, max_steps: int = MAX_STEPS
) -> Float64Array:
    """Minimize the smooth loss from a start by Nesterov's accelerated gradient descent."""
    loss, gradient = smooth_loss(a, K, residual)
    ahead, momentum = a, 1.0
    step = 1 / max(float(np.linalg.norm(gradient)), _TINY)
    for _ in range(max_steps):
        following, following_loss, step = _step_downhill(ahead, K, residual, 2 * step)
        if following_loss >= loss:
            if momentum == 1:
                break
            # Momentum has overshot: continue with a plain step from the best point so far.
            ahead, momentum = a, 1.0
            continue
        gain, before = loss - following_loss, a
        a, loss = following, following_loss
        if gain < _MIN_GAIN * abs(loss):
            break
        next_momentum = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = a + (momentum - 1) / next_momentum * (a - before)
        momentum = next_momentum
    return a


def _step_downhill(
    a: Float64Array, K: Float64Array, residual: Residual, step: float
) -> tuple[Float64Array, float, float]:
    """Take a gradient step, halved until it decreases enough; return point, loss and step."""
    loss, gradient = smooth_loss(a, K, residual)
    sq_slope = float(gradient @ gradient)
    while True:
        following = a - step * gradient
        following_loss, _ = smooth_loss(following, K, residual)
        if following_loss <= loss - step * sq_slope / 2 or step * step * sq_slope < _TINY:
            return following, following_loss, step
        step /= 2


def learn_bits(
    K: Float64Array, classes: Int64Array, n_bits: int, *, on_step: StepCallback | None = None
) -> SupervisedBits:
    """Learn the coefficients bit by bit, each from what the bits before it do not explain.

    Parameters
    ----------
    K
        Kernels of labeled rows with zero mean per anchor, (rows, anchors).
    classes
        Class of each row: 0, 1, ...
    n_bits
        Number of bits.
    on_step
        Called with (done, total).

    Returns
    -------
    The coefficients and the objective after each bit.
    """
    # The generalized eigenvectors of (KᵀRK, KᵀK) are W times the plain ones of ZᵀRZ, and all
    # directions of Z have the same length for the descent.
    W = whiten_columns(K, _RELATIVE_ZERO)
    Z = K @ W
    residual = Residual(classes, n_bits)
    projected = residual.project(Z)
    coefficients, objectives = np.empty((n_bits, len(W))), [residual.sq_norm]
    for bit in range(n_bits):
        start = largest_eigenvectors(projected, 1).vectors[:, 0]
        candidates = (start, descend(start, Z, residual))
        # The smooth loss is not the true one: the start may be better than the end.
        v = max(candidates, key=lambda v: residual.measure_fit(signs(Z @ v)))
        h = signs(Z @ v)
        residual.subtract(h)
        explained = h @ Z
        projected -= np.outer(explained, explained)
        coefficients[bit] = W @ (v / np.linalg.norm(v))
        objectives.append(residual.sq_norm)
        if on_step:
            on_step(bit + 1, n_bits)
    return SupervisedBits(coefficients, objectives)


class KSH(SupervisedMixin, KernelHasher):
    """Supervised hashing with kernels.

    Bits are learned greedily, so that the inner product of two codes says whether their rows have
    the same label. Each bit starts at an eigenvector and is improved by gradient descent with a
    smooth sign. Rows labeled -1 serve only as anchors.

    Parameters
    ----------
    n_bits
        Length of the codes.
    n_anchors
        Number of random rows that the kernel is evaluated at; all rows if there are fewer.
    n_samples
        Number of labeled rows to learn from; all labeled rows if there are fewer.
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
    Liu et al., *Supervised hashing with kernels*, CVPR 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bitfold.hashers import KSH
    >>> X, y = load_digits(return_X_y=True)
    >>> KSH(n_bits=32, random_state=0).fit(X, y).encode(X)
    Codes(1797 x 32 bits)
    """

    def __init__(
        self,
        n_bits: int = 64,
        *,
        n_anchors: int = 300,
        n_samples: int = 2000,
        bandwidth: float | None = None,
        normalize: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.n_anchors = n_anchors
        self.n_samples = n_samples
        self.bandwidth = bandwidth
        self.normalize = normalize
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        owner = rows.owner
        n_bits = _validation.check_integer(self.n_bits, "n_bits", owner, low=1)
        n_anchors = _validation.check_integer(self.n_anchors, "n_anchors", owner, low=1)
        n_samples = _validation.check_integer(self.n_samples, "n_samples", owner, low=2)
        labeled = find_labeled_rows(y, len(rows), owner)
        anchor_rng, sample_rng = _validation.spawn_generators(self.random_state, 2)
        anchors = rows.sample(n_anchors, anchor_rng)
        chosen = labeled.sample(n_samples, sample_rng)
        sample = rows.take(chosen.rows)
        if len(np.unique(sample, axis=0)) < _MIN_DISTINCT_ROWS:
            raise DataError(
                f"{owner} needs at least {_MIN_DISTINCT_ROWS} different rows with a label; "
                f"add rows, or remove duplicates."
            )
        sigma, (K, mean) = learn_kernel(self.bandwidth, sample, anchors, owner)
        A, _ = learn_bits(K, chosen.classes, n_bits, on_step=partial(progress, "bits"))
        return self._fitted_kernels(anchors, sigma, A, A @ mean)
