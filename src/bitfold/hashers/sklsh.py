"""Shift-invariant kernel LSH: random waves whose codes depend on a Gaussian kernel."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from bitfold import _validation
from bitfold._threads import map_blocks
from bitfold._types import Float64Array, ProgressCallback, Seed
from bitfold.hashers.base.periodic import PeriodicHasher
from bitfold.io.rows import Rows

NEIGHBOR_RANK = 50
"""Rank of the neighbor whose mean distance is the scale of a neighborhood."""

N_SAMPLE_ROWS = 10_000
"""Number of rows among which neighbors are searched."""

N_QUERY_ROWS = 400
"""Number of rows whose neighbor distances are averaged."""

MAX_LENGTH = 1e30
"""With a longer scale, or one below its inverse, frequencies do not fit into float32."""

_BATCH_ROWS = 16
"""Number of queries measured together; their distances to all sampled rows are in memory."""


def learn_neighbor_distance(rows: Rows, rng: np.random.Generator, p: int = 2) -> float:
    """Return the mean distance to the 50th nearest neighbor in a sample, or 1 if that is 0.

    Parameters
    ----------
    rows
        All rows.
    rng
        Generator of the sample.
    p
        Norm: 1 or 2.

    Returns
    -------
    The mean distance.
    """
    sample = rows.sample(N_SAMPLE_ROWS, rng)
    queries = sample[rng.permutation(len(sample))[:N_QUERY_ROWS]]
    # The nearest row of a query is the query itself.
    rank = min(NEIGHBOR_RANK, len(sample) - 1)
    metric = {1: "cityblock", 2: "euclidean"}[p]

    def measure_batch(start: int) -> Float64Array:
        distances = cdist(queries[start : start + _BATCH_ROWS], sample, metric)
        return np.partition(distances, rank, axis=1)[:, rank]

    starts = range(0, len(queries), _BATCH_ROWS)
    mean = float(np.concatenate(list(map_blocks(measure_batch, starts))).mean())
    return mean if mean >= 1 / MAX_LENGTH else 1.0


def check_length(value: Any, name: str, owner: str) -> float:
    """Return a length that frequencies are relative to; raise unless it is within 1e±30."""
    length = _validation.check_positive(value, name, owner)
    if not 1 / MAX_LENGTH <= length <= MAX_LENGTH:
        _validation.raise_invalid(name, owner, "between 1e-30 and 1e30", value)
    return length


class SKLSH(PeriodicHasher):
    """Random waves: the expected Hamming distance depends on a Gaussian kernel alone.

    The fraction of different bits grows with the distance and approaches 4/π² where the kernel
    exp(-d²/2σ²) is nearly 0. The codes distinguish distances up to about σ, and none beyond.

    Parameters
    ----------
    n_bits
        Length of the codes.
    bandwidth
        σ of the kernel. None uses the mean distance to the 50th nearest neighbor among 10,000
        random rows, as the authors do.
    normalize
        Whether to scale rows to unit length, for data that are compared by cosine.
    random_state
        Seed or generator.

    Attributes
    ----------
    bandwidth_
        The σ in use.
    frequencies_
        Frequencies of the waves, one row per bit.
    phases_
        Phase of each wave at ``center_``.
    thresholds_
        Height above which the wave of a bit makes it 1.

    References
    ----------
    Raginsky and Lazebnik, *Locality-sensitive binary codes from shift-invariant kernels*,
    NIPS 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bitfold.hashers import SKLSH
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
        normalize: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.bandwidth = bandwidth
        self.normalize = normalize
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        n_bits = _validation.check_integer(self.n_bits, "n_bits", rows.owner, low=1)
        wave_rng, sample_rng = _validation.spawn_generators(self.random_state, 2)
        if self.bandwidth is None:
            bandwidth = learn_neighbor_distance(rows, sample_rng)
            progress("bandwidth", 1, 1)
        else:
            bandwidth = check_length(self.bandwidth, "bandwidth", rows.owner)
        # The waves cos(w·x + b) + t, with w from N(0, I/σ²), b from U[0, 2π] and t from U[-1, 1].
        frequencies = wave_rng.standard_normal((n_bits, rows.n_features)) / bandwidth
        phases = wave_rng.uniform(0, 2 * np.pi, n_bits)
        offsets = wave_rng.uniform(-1, 1, n_bits)
        return self._fitted_waves(frequencies, phases, -offsets) | {"bandwidth_": bandwidth}

    def _check_fitted_state(self) -> None:
        check_length(self.bandwidth_, "bandwidth_", type(self).__name__)
