"""Random maximum margin hashing: support vector machines for random labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.svm import SVC

from bitfold import _validation
from bitfold._types import AnyArray, Int64Array, ProgressCallback, Seed
from bitfold.hashers.base.linear import Hyperplane, LinearHasher
from bitfold.io.rows import Rows


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


class RMMH(LinearHasher):
    """Random maximum margin hashing.

    For each bit, a few random rows get random labels, half of them one and half of them the other.
    The bit is the hyperplane that separates them with the widest margin: random, but rarely
    between rows that are close together.

    Parameters
    ----------
    n_bits
        Length of the codes.
    n_samples
        Number of rows per bit; all rows if there are fewer.
    C
        Penalty of rows on the wrong side of their margin, for rows of unit mean squared length.
    normalize
        Whether to scale rows to unit length, for data that are compared by cosine.
    random_state
        Seed or generator.

    Attributes
    ----------
    directions_
        Normals of the hyperplanes, one per bit.
    thresholds_
        Offset of each hyperplane along its normal.

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
        n_samples: int = 32,
        C: float = 1.0,
        normalize: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.n_samples = n_samples
        self.C = C
        self.normalize = normalize
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        owner = rows.owner
        n_bits = _validation.check_integer(self.n_bits, "n_bits", owner, low=1)
        n_samples = _validation.check_integer(self.n_samples, "n_samples", owner, low=2)
        C = _validation.check_positive(self.C, "C", owner)
        sample_rng, label_rng = _validation.spawn_generators(self.random_state, 2)
        directions, thresholds = np.empty((n_bits, rows.n_features)), np.empty(n_bits)
        for bit in range(n_bits):
            sample = rows.sample(n_samples, sample_rng)
            labels = draw_labels(len(sample), label_rng)
            directions[bit], thresholds[bit] = maximize_margin(sample, labels, C)
            progress("bits", bit + 1, n_bits)
        return self._fitted_hyperplanes(directions, thresholds)
