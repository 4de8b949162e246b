"""LSH for the p-norms: projections by a p-stable law, cut into buckets of one width."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._types import Float64Array, ProgressCallback, Seed
from bitfold.hashers.base.periodic import PeriodicHasher
from bitfold.hashers.sklsh import neighbor_distance, scale
from bitfold.io.rows import Rows

WIDTHS = 4
"""Width of a bucket in distances to a near neighbor, as in the authors' E2LSH."""


class Buckets(NamedTuple):
    """⌊(a·x + b) / width⌋, one a row."""

    directions: Float64Array
    offsets: Float64Array


def random_buckets(
    n_bits: int, n_features: int, p: int, width: float, rng: np.random.Generator
) -> Buckets:
    """Draw a from the p-stable law (normal, or Cauchy for p = 1) and b from U[0, width]."""
    draw = rng.standard_normal if p == 2 else rng.standard_cauchy
    return Buckets(draw((n_bits, n_features)), rng.uniform(0, width, n_bits))


class PStableLSH(PeriodicHasher):
    """The parity of the bucket that a random projection falls into.

    The paper's hash is the whole number of the bucket, ⌊(a·x + b) / width⌋; a code keeps one bit
    of it, whether it is odd. Points in one bucket agree, those in neighboring buckets differ, and
    far points agree half the time: the share of differing bits rises in proportion to the
    distance in the p-norm as long as that is well below the width, then levels off at 1/2.

    Parameters
    ----------
    n_bits
        Length of the codes.
    p
        Which norm distances are in: 2 (normal projections) or 1 (Cauchy).
    width
        Width of a bucket. None is 4 times the mean distance to the 50th nearest neighbor among
        10,000 random rows.
    random_state
        Seed or generator.

    Attributes
    ----------
    width_
        The width in use.

    References
    ----------
    Datar et al., *Locality-sensitive hashing scheme based on p-stable distributions*, SCG 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
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
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.p = p
        self.width = width
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        n_bits = _validation.check_integer(self.n_bits, "n_bits", rows.owner, low=1)
        p = int(_validation.check_choice(self.p, "p", rows.owner, (1, 2)))
        for_buckets, for_sample = _validation.spawn_generators(self.random_state, 2)
        if self.width is None:
            width = WIDTHS * neighbor_distance(rows, for_sample, p)
            progress("width", 1, 1)
        else:
            width = scale(self.width, "width", rows.owner)
        buckets = random_buckets(n_bits, rows.n_features, p, width, for_buckets)
        # Bucket numbers u are odd where sin(πu) < 0, which is where cos(πu + π/2) > 0.
        turns = np.pi / width
        waves = self._fitted_waves(turns * buckets.directions, turns * buckets.offsets + np.pi / 2)
        return waves | {"width_": width}

    def _check_fitted_state(self) -> None:
        scale(self.width_, "width_", type(self).__name__)
