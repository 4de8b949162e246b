"""LSH for p-norms: projections from a p-stable distribution, divided into buckets."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from bitfold import _validation
from bitfold._types import ProgressCallback, Seed
from bitfold.hashers.base.periodic import PeriodicHasher
from bitfold.hashers.sklsh import check_length, learn_neighbor_distance
from bitfold.io.rows import Rows

NEIGHBOR_DISTANCES_PER_WIDTH = 4
"""Default width of a bucket in distances to a near neighbor, as in the authors' E2LSH."""


class PStableLSH(PeriodicHasher):
    """The parity of the bucket that a random projection falls into.

    The hash of the paper is the number of the bucket, ⌊(a·x + b) / width⌋. A code keeps one bit of
    it: whether it is odd. Points in the same bucket agree, points in adjacent buckets differ, and
    distant points agree half of the time. The fraction of different bits is proportional to the
    distance in the p-norm while that is much smaller than the width, and then approaches 1/2.

    Parameters
    ----------
    n_bits
        Length of the codes.
    p
        Norm of the distances: 2 (normal projections) or 1 (Cauchy projections).
    width
        Width of a bucket. None uses 4 times the mean distance to the 50th nearest neighbor among
        10,000 random rows.
    normalize
        Whether to scale rows to unit length, for data that are compared by cosine.
    random_state
        Seed or generator.

    Attributes
    ----------
    width_
        The width in use.
    frequencies_
        Frequencies of the waves, one row per bit.
    phases_
        Phase of each wave at ``center_``.
    thresholds_
        Height above which the wave of a bit makes it 1: 0.

    References
    ----------
    Datar et al., *Locality-sensitive hashing scheme based on p-stable distributions*, SCG 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bitfold.hashers import PStableLSH
    >>> X = load_digits().data
    >>> PStableLSH(n_bits=32, random_state=0).fit(X).encode(X)
    Codes(1797 x 32 bits)
    """

    _fitted_scalars: ClassVar[dict[str, type]] = {**PeriodicHasher._fitted_scalars, "width_": float}

    width_: float

    def __init__(
        self,
        n_bits: int = 64,
        *,
        p: int = 2,
        width: float | None = None,
        normalize: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.p = p
        self.width = width
        self.normalize = normalize
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        n_bits = _validation.check_integer(self.n_bits, "n_bits", rows.owner, low=1)
        p = int(_validation.check_choice(self.p, "p", rows.owner, (1, 2)))
        bucket_rng, sample_rng = _validation.spawn_generators(self.random_state, 2)
        if self.width is None:
            width = NEIGHBOR_DISTANCES_PER_WIDTH * learn_neighbor_distance(rows, sample_rng, p)
            progress("width", 1, 1)
        else:
            width = check_length(self.width, "width", rows.owner)
        # The buckets ⌊(a·x + b) / width⌋, with a from the p-stable distribution.
        draw = bucket_rng.standard_normal if p == 2 else bucket_rng.standard_cauchy
        directions = draw((n_bits, rows.n_features))
        offsets = bucket_rng.uniform(0, width, n_bits)
        # The number u of a bucket is odd where sin(πu) < 0, which is where cos(πu + π/2) > 0.
        frequency = np.pi / width
        waves = self._fitted_waves(frequency * directions, frequency * offsets + np.pi / 2)
        return waves | {"width_": width}

    def _check_fitted_state(self) -> None:
        check_length(self.width_, "width_", type(self).__name__)
