"""Shift-invariant kernel LSH: random waves whose bits agree as often as a Gaussian kernel says."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from bitfold import _validation
from bitfold._threads import map_blocks
from bitfold._types import Float64Array, ProgressCallback, Seed
from bitfold.hashers.base.periodic import PeriodicHasher
from bitfold.io.rows import Rows

NEIGHBOR = 50
"""The neighbor whose mean distance is the scale of a neighborhood."""

SAMPLE = 10_000
"""Rows among which that neighbor is looked for."""

WITNESSES = 400
"""Rows whose distances are averaged."""

LONGEST = 1e30
"""A scale beyond this, or below its inverse, leaves frequencies that float32 cannot hold."""

_BATCH = 16
"""Witnesses measured together: their distances are held for every row of the sample."""


def neighbor_distance(rows: Rows, rng: np.random.Generator, p: int = 2) -> float:
    """Mean distance to the 50th nearest neighbor in a sample, in the p-norm; 1 if that is 0."""
    sample = rows.sample(SAMPLE, rng)
    witnesses = sample[rng.permutation(len(sample))[:WITNESSES]]
    # Its own first neighbor is the witness itself.
    rank = min(NEIGHBOR, len(sample) - 1)
    metric = {1: "cityblock", 2: "euclidean"}[p]

    def of_batch(start: int) -> Float64Array:
        distances = cdist(witnesses[start : start + _BATCH], sample, metric)
        ranked: Float64Array = np.partition(distances, rank, axis=1)[:, rank]
        return ranked

    starts = range(0, len(witnesses), _BATCH)
    mean = float(np.concatenate(list(map_blocks(of_batch, starts))).mean())
    return mean if mean >= 1 / LONGEST else 1.0


def scale(value: Any, name: str, owner: str) -> float:
    """Check a length that waves are measured in."""
    length = _validation.check_positive(value, name, owner)
    if not 1 / LONGEST <= length <= LONGEST:
        _validation.raise_invalid(name, owner, "between 1e-30 and 1e30", value)
    return length


class Waves(NamedTuple):
    """cos(w·x + b) + t, one wave a row."""

    frequencies: Float64Array
    phases: Float64Array
    offsets: Float64Array


def random_waves(n_bits: int, n_features: int, bandwidth: float, rng: np.random.Generator) -> Waves:
    """Draw w from N(0, I/σ²), b from U[0, 2π] and t from U[-1, 1] (Sec. 2)."""
    return Waves(
        rng.standard_normal((n_bits, n_features)) / bandwidth,
        rng.uniform(0, 2 * np.pi, n_bits),
        rng.uniform(-1, 1, n_bits),
    )


class SKLSH(PeriodicHasher):
    """Random waves: how often two codes differ depends on the Gaussian kernel alone.

    The share of differing bits grows with the distance from 0 and levels off near 4/π² where the
    kernel exp(-d²/2σ²) is all but 0. So the codes tell near from far at the scale σ, and nothing
    beyond it.

    Parameters
    ----------
    n_bits
        Length of the codes.
    bandwidth
        σ of the kernel. None is the mean distance to the 50th nearest neighbor among 10,000
        random rows, as the authors have it.
    random_state
        Seed or generator.

    Attributes
    ----------
    bandwidth_
        The σ in use.

    References
    ----------
    Raginsky and Lazebnik, *Locality-sensitive binary codes from shift-invariant kernels*,
    NIPS 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> SKLSH(n_bits=32, random_state=0).fit(X).encode(X)
    Codes(1797 x 32 bits)
    """

    _fitted_scalars: ClassVar[dict[str, type]] = {
        **PeriodicHasher._fitted_scalars,
        "bandwidth_": float,
    }

    bandwidth_: float

    def __init__(
        self,
        n_bits: int = 64,
        *,
        bandwidth: float | None = None,
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.bandwidth = bandwidth
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        n_bits = _validation.check_integer(self.n_bits, "n_bits", rows.owner, low=1)
        for_waves, for_sample = _validation.spawn_generators(self.random_state, 2)
        if self.bandwidth is None:
            bandwidth = neighbor_distance(rows, for_sample)
            progress("bandwidth", 1, 1)
        else:
            bandwidth = scale(self.bandwidth, "bandwidth", rows.owner)
        waves = random_waves(n_bits, rows.n_features, bandwidth, for_waves)
        fitted = self._fitted_waves(waves.frequencies, waves.phases, -waves.offsets)
        return fitted | {"bandwidth_": bandwidth}

    def _check_fitted_state(self) -> None:
        scale(self.bandwidth_, "bandwidth_", type(self).__name__)
