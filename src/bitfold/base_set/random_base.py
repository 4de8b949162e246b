"""Random training rows as base points."""

from __future__ import annotations

import numpy as np

from bitfold._types import Float32Array, StepCallback
from bitfold.base_set.base import BaseStrategy, first_distinct


class RandomBase(BaseStrategy):
    """Random distinct training rows.

    Parameters
    ----------
    n_base_points
        Number of base points, or "auto".

    Examples
    --------
    >>> RandomBase(2).choose([[0.0], [1.0], [2.0]], rng=0).points.shape
    (2, 1)
    """

    def _choose(
        self, sample: Float32Array, m: int, rng: np.random.Generator, on_step: StepCallback | None
    ) -> Float32Array:
        return sample[first_distinct(sample, rng.permutation(len(sample)), m)]
