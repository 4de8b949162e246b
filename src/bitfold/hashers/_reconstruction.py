"""Binary reconstruction: bits whose Hamming distances reproduce given distances of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bitfold._kernels.reconstruction import sweep_bit
from bitfold._types import BoolArray, Float64Array, Int64Array, StepCallback

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


def target_distances(K: Float64Array) -> Float64Array:
    """Return |x - x'|² / 4 between rows of length 1; like a fraction of bits, it is at most 1.

    ``K`` are the inner products of the rows.
    """
    squares = K.diagonal()
    distances: Float64Array = (squares[:, None] + squares - 2 * K) / 4
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


def learn_weights(
    K: Float64Array,
    shape: tuple[int, int],
    max_iter: int,
    rngs: Sequence[np.random.Generator],
    on_step: StepCallback | None = None,
) -> Float64Array:
    """Draw pairs and anchors, and learn the weight of each row in each bit.

    Parameters
    ----------
    K
        Kernels between all rows, which have length 1.
    shape
        Number of bits, and of anchors per bit; all rows if there are fewer.
    max_iter
        Number of sweeps over all weights.
    rngs
        Generators of the pairs, of the anchors, and of the initial weights.
    on_step
        Called with (done, total).

    Returns
    -------
    One row per bit, one column per row; 0 for rows that are not anchors of the bit.
    """
    n, (n_bits, n_anchors) = len(K), shape
    pair_rng, anchor_rng, start_rng = rngs
    n_neighbors = min(max(1, round(NEIGHBOR_FRACTION * n)), n - 1)
    n_anchors = min(n_anchors, n)
    anchors = np.array([anchor_rng.choice(n, n_anchors, replace=False) for _ in range(n_bits)])
    start = start_rng.standard_normal((n_bits, n_anchors))
    pairs = draw_training_pairs(target_distances(K), n_neighbors, n_neighbors, pair_rng)
    found, _ = reconstruct(K, pairs, anchors, start, max_iter, on_step=on_step)
    W = np.zeros((n_bits, n))
    np.put_along_axis(W, anchors, found, axis=1)
    return W
