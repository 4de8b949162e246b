"""Random maximum margin hashing: each bit is a support vector machine for labels of no meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.svm import SVC

from bitfold import _validation
from bitfold._types import AnyArray, Int64Array, ProgressCallback, Seed
from bitfold.hashers.base.linear import Hyperplane, LinearHasher
from bitfold.io.rows import Rows


def random_labels(n: int, rng: np.random.Generator) -> Int64Array:
    """Draw labels ±1, as many of one as of the other, give or take one."""
    return rng.permutation(np.where(np.arange(n) < n // 2, 1, -1))


def maximum_margin(X: AnyArray, labels: Int64Array, C: float) -> Hyperplane:
    """Return the hyperplane that parts the labels with the widest margin.

    Parameters
    ----------
    X
        Points, one a row.
    labels
        Side of each, 1 or -1.
    C
        Cost of a point on the wrong side of its margin, for points of unit mean square length.
    """
    length = float(np.sqrt(np.mean((X * X).sum(axis=1, dtype=np.float64)))) or 1.0
    machine = SVC(kernel="linear", C=C).fit(X.astype(np.float64) / length, labels)
    w = machine.coef_[0]
    size = float(np.linalg.norm(w)) or 1.0
    return Hyperplane(w / size, -float(machine.intercept_[0]) * length / size)


class RMMH(LinearHasher):
    """Random maximum margin hashing.

    For each bit a few random rows are given random labels, half of them one and half the other,
    and parted by the hyperplane of widest margin: random, but seldom where rows lie close.

    Parameters
    ----------
    n_bits
        Length of the codes.
    n_samples
        Rows that a bit is learned from; all of them when there are less.
    C
        Cost of a row on the wrong side of its margin, for rows of unit mean square length.
    random_state
        Seed or generator.

    References
    ----------
    Joly and Buisson, *Random maximum margin hashing*, CVPR 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
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
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.n_samples = n_samples
        self.C = C
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        owner = rows.owner
        n_bits = _validation.check_integer(self.n_bits, "n_bits", owner, low=1)
        n_samples = _validation.check_integer(self.n_samples, "n_samples", owner, low=2)
        C = _validation.check_positive(self.C, "C", owner)
        for_rows, for_labels = _validation.spawn_generators(self.random_state, 2)
        normals, thresholds = np.empty((n_bits, rows.n_features)), np.empty(n_bits)
        for bit in range(n_bits):
            sample = rows.sample(n_samples, for_rows)
            labels = random_labels(len(sample), for_labels)
            normals[bit], thresholds[bit] = maximum_margin(sample, labels, C)
            progress("bits", bit + 1, n_bits)
        return self._fitted_hyperplanes(normals, thresholds)
