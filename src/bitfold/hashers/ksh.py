"""Supervised hashing with kernels: bits whose products are the labels' likeness."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._linalg.spectral import largest_eigenvectors, signs, whiten_columns
from bitfold._threads import serial_blas
from bitfold._types import Float64Array, Int64Array, ProgressCallback, Seed, StepCallback
from bitfold.hashers._labels import SupervisedMixin, labeled
from bitfold.hashers.base.kernel import KernelHasher, bandwidth_for, centered_kernel, kernel
from bitfold.io.rows import Rows

N_ITER = 500
"""Most steps of the descent of a bit; a few dozen are the rule."""

_STALLED = 1e-3
"""Relative gain of a step from which on the descent of a bit is over."""

_NULL = 1e-7
"""Directions in which the kernel varies by less than this part of the most are rounding."""

_TINY = 1e-12


class Bits(NamedTuple):
    """Coefficients, one row a bit, and |b S - Σ h hᵀ|² before the first bit and after each."""

    coefficients: Float64Array
    objectives: list[float]


class Residue:
    """R = b S - Σ h hᵀ, S being 1 for a pair of one class and -1 for others.

    Never written out: S = 2 Y Yᵀ - 1 1ᵀ for the indicators Y of the classes, and each bit adds a
    rank of one.

    Parameters
    ----------
    classes
        Class of each row, 0, 1, ...
    n_bits
        b.
    """

    def __init__(self, classes: Int64Array, n_bits: int) -> None:
        self.classes = classes
        self.n_bits = n_bits
        self.bits = np.empty((0, len(classes)))
        self.square = (float(n_bits) * len(classes)) ** 2

    def times(self, v: Float64Array) -> Float64Array:
        """R v."""
        of_class = np.bincount(self.classes, v)
        S_v = 2 * of_class[self.classes] - v.sum()
        product: Float64Array = self.n_bits * S_v - (self.bits @ v) @ self.bits
        return product

    def fit(self, v: Float64Array) -> float:
        """vᵀ R v: how much of the residue a bit explains."""
        return float(v @ self.times(v))

    def between(self, K: Float64Array) -> Float64Array:
        """Kᵀ R K."""
        of_class = np.zeros((self.classes.max() + 1, K.shape[1]))
        np.add.at(of_class, self.classes, K)
        total = of_class.sum(axis=0)
        explained = self.bits @ K
        S_K = 2 * of_class.T @ of_class - np.outer(total, total)
        product: Float64Array = self.n_bits * S_K - explained.T @ explained
        return product

    def subtract(self, h: Float64Array) -> None:
        """Take away a bit, ±1 of each row."""
        # |R - h hᵀ|² = |R|² - 2 hᵀRh + |h|⁴, before R changes.
        self.square += len(h) ** 2 - 2 * self.fit(h)
        self.bits = np.vstack([self.bits, h])


def smooth_sign(x: Float64Array) -> Float64Array:
    """φ(x) = 2 / (1 + exp(-x)) - 1."""
    phi: Float64Array = np.tanh(x / 2)
    return phi


def smooth_loss(a: Float64Array, K: Float64Array, residue: Residue) -> tuple[float, Float64Array]:
    """Return -φ(Ka)ᵀ R φ(Ka) and its gradient."""
    phi = smooth_sign(K @ a)
    product = residue.times(phi)
    return -float(phi @ product), -((1 - phi * phi) * product) @ K


def descend(
    a: Float64Array, K: Float64Array, residue: Residue, max_iter: int = N_ITER
) -> Float64Array:
    """Lower the smooth loss from a start, by Nesterov's accelerated gradient."""
    loss, slope = smooth_loss(a, K, residue)
    ahead, momentum = a, 1.0
    step = 1 / max(float(np.linalg.norm(slope)), _TINY)
    for _ in range(max_iter):
        following, reached, step = _downhill(ahead, K, residue, 2 * step)
        if reached >= loss:
            if momentum == 1:
                break
            # Overshot: the next step is a plain one, from the best point so far.
            ahead, momentum = a, 1.0
            continue
        gain, before = loss - reached, a
        a, loss = following, reached
        if gain < _STALLED * abs(loss):
            break
        faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = a + (momentum - 1) / faster * (a - before)
        momentum = faster
    return a


def _downhill(
    a: Float64Array, K: Float64Array, residue: Residue, step: float
) -> tuple[Float64Array, float, float]:
    """Go down the slope, no further than it holds; return the point, its loss and the step."""
    loss, slope = smooth_loss(a, K, residue)
    steepness = float(slope @ slope)
    while True:
        following = a - step * slope
        reached, _ = smooth_loss(following, K, residue)
        if reached <= loss - step * steepness / 2 or step * step * steepness < _TINY:
            return following, reached, step
        step /= 2


def supervised_bits(
    K: Float64Array, classes: Int64Array, n_bits: int, *, on_step: StepCallback | None = None
) -> Bits:
    """Learn the coefficients, bit by bit, each for what the bits before it leave unexplained.

    Parameters
    ----------
    K
        Centered kernels of labeled rows (rows, anchors).
    classes
        Class of each row, 0, 1, ...
    n_bits
        Number of bits.
    on_step
        Called with (done, total) as the work goes on.
    """
    W = whiten_columns(K, _NULL)
    Z = K @ W
    residue = Residue(classes, n_bits)
    between = residue.between(Z)
    coefficients, objectives = np.empty((n_bits, len(W))), [residue.square]
    for bit in range(n_bits):
        start = largest_eigenvectors(between, 1).vectors[:, 0]
        ends = (start, descend(start, Z, residue))
        # The smooth loss is not the true one: the start is kept where it was the better.
        fits = [residue.fit(signs(Z @ v)) for v in ends]
        v = ends[int(np.argmax(fits))]
        h = signs(Z @ v)
        residue.subtract(h)
        explained = h @ Z
        between -= np.outer(explained, explained)
        coefficients[bit] = W @ (v / np.linalg.norm(v))
        objectives.append(residue.square)
        if on_step:
            on_step(bit + 1, n_bits)
    return Bits(coefficients, objectives)


class KSH(SupervisedMixin, KernelHasher):
    """Supervised hashing with kernels.

    Bits are learned greedily, for the inner products of codes to say which rows share a label: an
    eigenvector is the start, a descent on a smooth sign the rest.

    Parameters
    ----------
    n_bits
        Length of the codes.
    n_anchors
        Random rows that the kernel is taken to; all rows when there are less.
    n_samples
        Labeled rows to learn from; all of them when there are less. Others only serve as anchors.
    bandwidth
        σ of the kernel exp(-d²/2σ²); None learns it.
    random_state
        Seed or generator.

    References
    ----------
    Liu et al., *Supervised hashing with kernels*, CVPR 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
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
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.n_anchors = n_anchors
        self.n_samples = n_samples
        self.bandwidth = bandwidth
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        owner = rows.owner
        n_bits = _validation.check_integer(self.n_bits, "n_bits", owner, low=1)
        n_anchors = _validation.check_integer(self.n_anchors, "n_anchors", owner, low=1)
        n_samples = _validation.check_integer(self.n_samples, "n_samples", owner, low=2)
        known = labeled(y, len(rows), owner)
        for_anchors, for_sample = _validation.spawn_generators(self.random_state, 2)
        anchors = rows.sample(n_anchors, for_anchors)
        part = known.sample(n_samples, for_sample)
        sample = rows.take(part.rows)
        sigma = bandwidth_for(self.bandwidth, sample, anchors, owner)
        K, mean = centered_kernel(kernel(sample, anchors, sigma), owner)
        # Many small products: threads would wait for each other, and round differently.
        with serial_blas():
            A, _ = supervised_bits(K, part.classes, n_bits, on_step=partial(progress, "bits"))
        return self._fitted_kernels(anchors, sigma, A, A @ mean)
