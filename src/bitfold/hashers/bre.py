"""Binary reconstructive embeddings: Hamming distances that reproduce the distances of the data."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._kernels.reconstruction import sweep_bit
from bitfold._types import (
    BoolArray,
    Float64Array,
    Int64Array,
    ProgressCallback,
    Seed,
    StepCallback,
)
from bitfold.hashers.base.linear import LinearHasher
from bitfold.io.rows import Rows
from bitfold.rotation import unit_rows

NEIGHBOR_FRACTION = 0.05
"""Fraction of the sample that a row is paired with as neighbors, and again at random."""


class TrainingPairs(NamedTuple):
    """Pairs of rows and their target distances; each pair is listed for both of its rows.

    The partners of row i are ``partners[starts[i]:starts[i + 1]]``.
    """

    starts: Int64Array
    partners: Int64Array
    targets: Float64Array


class Reconstruction(NamedTuple):
    """Coefficients, one row per bit, and the mean squared error at the start and per sweep."""

    coefficients: Float64Array
    objectives: list[float]


def target_distances(unit: Float64Array) -> Float64Array:
    """Return |x - x'|² / 4 between rows of length 1; like a fraction of bits, it is at most 1."""
    squares = (unit * unit).sum(axis=1)
    distances: Float64Array = (squares[:, None] + squares - 2 * unit @ unit.T) / 4
    return distances


def draw_training_pairs(
    distances: Float64Array, n_neighbors: int, n_random: int, rng: np.random.Generator
) -> TrainingPairs:
    """Pair each row with its nearest rows and with random rows.

    Parameters
    ----------
    distances
        Target distances between all rows.
    n_neighbors
        Number of nearest rows to pair each row with.
    n_random
        Number of random rows to pair each row with.
    rng
        Generator of the random rows.

    Returns
    -------
    The pairs.
    """
    n = len(distances)
    without_self = distances.copy()
    np.fill_diagonal(without_self, np.inf)
    nearest = np.argsort(without_self, axis=1, kind="stable")[:, :n_neighbors]
    paired = np.zeros((n, n), bool)
    for chosen in (nearest, rng.integers(n, size=(n, n_random))):
        np.put_along_axis(paired, chosen, True, axis=1)
    paired |= paired.T
    np.fill_diagonal(paired, False)
    starts = np.concatenate([[0], paired.sum(axis=1).cumsum()]).astype(np.int64)
    return TrainingPairs(starts, np.nonzero(paired)[1].astype(np.int64), distances[paired])


def reconstruction_errors(bits: BoolArray, pairs: TrainingPairs) -> Float64Array:
    """Return the target of each pair minus its fraction of different bits.

    ``bits`` has one row per bit.
    """
    rows = np.repeat(np.arange(bits.shape[1]), np.diff(pairs.starts))
    n_different = np.zeros(len(pairs.partners))
    for bit in bits:
        n_different += bit[rows] != bit[pairs.partners]
    return pairs.targets - n_different / len(bits)


def reconstruct(
    K: Float64Array,
    pairs: TrainingPairs,
    anchors: Int64Array,
    coefficients: Float64Array,
    max_iter: int,
    *,
    on_step: StepCallback | None = None,
) -> Reconstruction:
    """Minimize the squared errors by coordinate descent, one coefficient at a time.

    Parameters
    ----------
    K
        Kernels between the rows of the sample.
    pairs
        Pairs whose distances are reconstructed.
    anchors
        Rows whose kernels each bit uses, (bits, coefficients).
    coefficients
        Initial coefficients, (bits, coefficients).
    max_iter
        Number of sweeps over all coefficients.
    on_step
        Called with (done, total).

    Returns
    -------
    The coefficients and the objective after each sweep.
    """
    W = coefficients.copy()
    bits = np.array([w @ K[chosen] > 0 for w, chosen in zip(W, anchors, strict=True)])
    errors = reconstruction_errors(bits, pairs)
    objectives = [float(np.mean(errors * errors))]
    for step in range(max_iter):
        for bit, chosen in enumerate(anchors):
            sweep_bit(W[bit], K[chosen], errors, pairs.starts, pairs.partners, 1 / len(W))
            if on_step:
                on_step(step * len(W) + bit + 1, max_iter * len(W))
        objectives.append(float(np.mean(errors * errors)))
    return Reconstruction(W, objectives)


class BRE(LinearHasher):
    """Binary reconstructive embeddings.

    A bit is the sign of a weighted sum of inner products with a few rows. The weights are learned
    one at a time, so that Hamming distances reproduce the distances between the directions of the
    rows as seen from the mean.

    Parameters
    ----------
    n_bits
        Length of the codes.
    n_samples
        Number of random rows to learn from; all rows if there are fewer.
    n_anchors
        Number of rows of the sample that each bit uses.
    max_iter
        Number of sweeps over all weights.
    normalize
        Whether to scale rows to unit length, for data that are compared by cosine.
    random_state
        Seed or generator.

    Attributes
    ----------
    directions_
        Normals of the hyperplanes, one per bit.
    thresholds_
        Offset of each hyperplane along its normal: 0.

    Notes
    -----
    The kernel is linear, so that a bit is one inner product; on MNIST, a Gaussian kernel does not
    give better codes. The distance |x - x'|² / 2 of the paper reaches 2 for rows relative to their
    mean, but a fraction of bits does not exceed 1. It is therefore halved.

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
        n_samples: int = 1000,
        n_anchors: int = 50,
        max_iter: int = 3,
        normalize: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.n_samples = n_samples
        self.n_anchors = n_anchors
        self.max_iter = max_iter
        self.normalize = normalize
        self.random_state = random_state

    @property
    def n_iter_(self) -> int:
        """Number of sweeps; scikit-learn expects it with ``max_iter``."""
        return self.max_iter

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        owner = rows.owner
        n_bits = _validation.check_integer(self.n_bits, "n_bits", owner, low=1)
        n_samples = _validation.check_integer(self.n_samples, "n_samples", owner, low=2)
        n_anchors = _validation.check_integer(self.n_anchors, "n_anchors", owner, low=1)
        max_iter = _validation.check_integer(self.max_iter, "max_iter", owner, low=0)
        sample_rng, pair_rng, anchor_rng, start_rng = _validation.spawn_generators(
            self.random_state, 4
        )
        unit = unit_rows(rows.sample(n_samples, sample_rng)).astype(np.float64)
        n = len(unit)
        n_neighbors = min(max(1, round(NEIGHBOR_FRACTION * n)), n - 1)
        n_anchors = min(n_anchors, n)
        anchors = np.array([anchor_rng.choice(n, n_anchors, replace=False) for _ in range(n_bits)])
        start = start_rng.standard_normal((n_bits, n_anchors))
        report = partial(progress, "sweeps")
        pairs = draw_training_pairs(target_distances(unit), n_neighbors, n_neighbors, pair_rng)
        W, _ = reconstruct(unit @ unit.T, pairs, anchors, start, max_iter, on_step=report)
        directions = np.array([w @ unit[a] for w, a in zip(W, anchors, strict=True)])
        lengths = np.linalg.norm(directions, axis=1, keepdims=True)
        return self._fitted_hyperplanes(directions / np.where(lengths > 0, lengths, 1))
