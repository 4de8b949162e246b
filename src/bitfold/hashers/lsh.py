"""Locality-sensitive hashing by random hyperplanes."""

from __future__ import annotations

from typing import Any

import numpy as np

from bitfold import _validation
from bitfold._types import Float64Array, ProgressCallback, Seed
from bitfold.hashers.base.linear import LinearHasher
from bitfold.io.rows import Rows


def draw_directions(n_bits: int, n_features: int, rng: np.random.Generator) -> Float64Array:
    """Draw normals with uniformly distributed directions, one per row."""
    return rng.standard_normal((n_bits, n_features))


def pass_through_origin(directions: Float64Array, rows: Rows) -> Float64Array:
    """Return the thresholds of hyperplanes through the origin, not the center, of the rows."""
    # (x - center)·w > -center·w is x·w > 0.
    thresholds: Float64Array = -directions @ rows.center.astype(np.float64)
    return thresholds


class LSH(LinearHasher):
    """Random hyperplanes; only the mean is learned.

    A random hyperplane separates two vectors with the probability angle / π. The Hamming distance
    therefore estimates the angle, more precisely with more bits.

    Parameters
    ----------
    n_bits
        Length of the codes.
    center
        Whether the hyperplanes pass through the mean of the training data. Otherwise they pass
        through the origin, and Hamming distance estimates the angle between the vectors as they
        are.
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
    Charikar, *Similarity estimation techniques from rounding algorithms*, STOC 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bitfold.hashers import LSH
    >>> X = load_digits().data
    >>> LSH(n_bits=32, random_state=0).fit(X).encode(X)
    Codes(1797 x 32 bits)
    """

    def __init__(
        self,
        n_bits: int = 64,
        *,
        center: bool = True,
        normalize: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.center = center
        self.normalize = normalize
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        n_bits = _validation.check_integer(self.n_bits, "n_bits", rows.owner, low=1)
        _validation.check_choice(self.center, "center", rows.owner, (True, False))
        rng = _validation.make_generator(self.random_state)
        W = draw_directions(n_bits, rows.n_features, rng)
        return self._fitted_hyperplanes(W, None if self.center else pass_through_origin(W, rows))
