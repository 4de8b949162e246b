"""Binary reconstructive embeddings: bits whose Hamming distances are the data's own."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._kernels.reconstruction import sweep_bit
from bitfold._threads import serial_blas
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

NEAR = 0.05
"""Part of the sample that is paired with a row for being nearest to it; as many more at random."""


class Pairs(NamedTuple):
    """Pairs of rows, each listed at both, and the distances that are to be reconstructed.

    Those of row i are ``others[starts[i]:starts[i + 1]]``.
    """

    starts: Int64Array
    others: Int64Array
    targets: Float64Array


class Reconstruction(NamedTuple):
    """Coefficients, one row a bit, and the mean squared error at first and after each sweep."""

    coefficients: Float64Array
    objectives: list[float]


def distances(unit: Float64Array) -> Float64Array:
    """Return the targets: |x - x'|² / 4 of rows of length 1, which like those of bits end at 1."""
    squares = (unit * unit).sum(axis=1)
    d: Float64Array = (squares[:, None] + squares - 2 * unit @ unit.T) / 4
    return d


def training_pairs(d: Float64Array, n_near: int, n_random: int, rng: np.random.Generator) -> Pairs:
    """Pair each row with its nearest and with random others."""
    n = len(d)
    apart = d.copy()
    np.fill_diagonal(apart, np.inf)
    near = np.argsort(apart, axis=1, kind="stable")[:, :n_near]
    paired = np.zeros((n, n), bool)
    for chosen in (near, rng.integers(n, size=(n, n_random))):
        np.put_along_axis(paired, chosen, True, axis=1)
    paired |= paired.T
    np.fill_diagonal(paired, False)
    starts = np.concatenate([[0], paired.sum(axis=1).cumsum()]).astype(np.int64)
    return Pairs(starts, np.nonzero(paired)[1].astype(np.int64), d[paired])


def errors(bits: BoolArray, pairs: Pairs) -> Float64Array:
    """Return targets less Hamming distances, as parts of the number of bits, one row a bit."""
    rows = np.repeat(np.arange(bits.shape[1]), np.diff(pairs.starts))
    apart = np.zeros(len(pairs.others))
    for bit in bits:
        apart += bit[rows] != bit[pairs.others]
    left: Float64Array = pairs.targets - apart / len(bits)
    return left


def reconstruct(
    K: Float64Array,
    pairs: Pairs,
    members: Int64Array,
    coefficients: Float64Array,
    max_iter: int,
    *,
    on_step: StepCallback | None = None,
) -> Reconstruction:
    """Lower the squared errors, one coefficient at a time, each as far as it goes.

    Parameters
    ----------
    K
        Kernels of the sample's rows.
    pairs
        What to reconstruct.
    members
        Rows that each bit's kernels are taken to, (bits, coefficients).
    coefficients
        Where to start from, (bits, coefficients).
    max_iter
        Sweeps over all coefficients.
    on_step
        Called with (done, total) as the work goes on.
    """
    W = coefficients.copy()
    bits = np.array([w @ K[chosen] > 0 for w, chosen in zip(W, members, strict=True)])
    left = errors(bits, pairs)
    objectives = [float(np.mean(left * left))]
    for step in range(max_iter):
        for bit, chosen in enumerate(members):
            sweep_bit(W[bit], K[chosen], left, pairs.starts, pairs.others, 1 / len(W))
            if on_step:
                on_step(step * len(W) + bit + 1, max_iter * len(W))
        objectives.append(float(np.mean(left * left)))
    return Reconstruction(W, objectives)


class BRE(LinearHasher):
    """Binary reconstructive embeddings.

    A bit is the sign of a weighted sum of inner products with a few rows. The weights are learned
    one by one, for Hamming distances to be those of the rows' directions from the mean.

    Parameters
    ----------
    n_bits
        Length of the codes.
    n_samples
        Rows to learn from; all of them when there are less.
    n_anchors
        Rows of the sample that each bit is made of.
    max_iter
        Sweeps over all weights.
    random_state
        Seed or generator.

    Notes
    -----
    The kernel is linear, so that a bit is one inner product; on MNIST a Gaussian one gives codes
    no better. The paper's distance |x - x'|² / 2 goes to 2 for rows about their mean, which no part
    of the bits can be: it is halved.

    References
    ----------
    Kulis and Darrell, *Learning to hash with binary reconstructive embeddings*, NIPS 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
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
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.n_samples = n_samples
        self.n_anchors = n_anchors
        self.max_iter = max_iter
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        owner = rows.owner
        n_bits = _validation.check_integer(self.n_bits, "n_bits", owner, low=1)
        n_samples = _validation.check_integer(self.n_samples, "n_samples", owner, low=2)
        n_anchors = _validation.check_integer(self.n_anchors, "n_anchors", owner, low=1)
        max_iter = _validation.check_integer(self.max_iter, "max_iter", owner, low=0)
        for_sample, for_pairs, for_anchors, for_start = _validation.spawn_generators(
            self.random_state, 4
        )
        unit = unit_rows(rows.sample(n_samples, for_sample)).astype(np.float64)
        n = len(unit)
        n_near = min(max(1, round(NEAR * n)), n - 1)
        each = min(n_anchors, n)
        members = np.array([for_anchors.choice(n, each, replace=False) for _ in range(n_bits)])
        start = for_start.standard_normal((n_bits, each))
        with serial_blas():
            pairs = training_pairs(distances(unit), n_near, n_near, for_pairs)
            report = partial(progress, "sweeps")
            W, _ = reconstruct(unit @ unit.T, pairs, members, start, max_iter, on_step=report)
            directions = np.array([w @ unit[m] for w, m in zip(W, members, strict=True)])
        lengths = np.linalg.norm(directions, axis=1, keepdims=True)
        return self._fitted_hyperplanes(directions / np.where(lengths > 0, lengths, 1))
