"""Spectral hashing: the slowest standing waves along principal directions."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._linalg.principal import principal_directions
from bitfold._types import Float32Array, Float64Array, IntpArray, ProgressCallback
from bitfold.errors import DataError
from bitfold.hashers.base.periodic import PeriodicHasher
from bitfold.io.rows import Rows, block_length

_MAX_FLOAT32 = float(np.finfo(np.float32).max)


class Extent(NamedTuple):
    """The smallest and the largest coordinate of the data along each direction."""

    low: Float64Array
    high: Float64Array


class Modes(NamedTuple):
    """Waves, slowest first: the index of the direction of each, and its angular frequency."""

    directions: IntpArray
    frequencies: Float64Array


def measure_extent(rows: Rows, directions: Float64Array) -> Extent:
    """Return the extent of the rows along each direction, in one pass.

    Parameters
    ----------
    rows
        All rows.
    directions
        One direction per row.

    Returns
    -------
    The extent.
    """
    W = np.ascontiguousarray(directions.T, np.float32)
    step = block_length(rows.n_features)

    def measure_block(values: Float32Array, start: int) -> tuple[Float32Array, Float32Array]:
        projected = values @ W
        return projected.min(axis=0), projected.max(axis=0)

    ends = [end for _, end in rows.map(measure_block, step)]
    low = np.min([low for low, _ in ends], axis=0)
    high = np.max([high for _, high in ends], axis=0)
    return Extent(low.astype(np.float64), high.astype(np.float64))


def select_modes(ranges: Float64Array, n_bits: int) -> Modes:
    """Return the n_bits smallest frequencies jπ / range, j = 1, 2, ..., of all directions.

    They belong to the eigenfunctions cos(jπ(u - a) / (b - a)) of the Laplacian of a uniform box
    that vary in one direction only. As in the paper, outer products of them are left out.

    Parameters
    ----------
    ranges
        Length of the box along each direction.
    n_bits
        Number of frequencies.

    Returns
    -------
    The modes, slowest first.
    """
    with np.errstate(divide="ignore"):
        slowest = np.pi / ranges
    # Each direction contributes at most n_bits of the n_bits smallest frequencies.
    frequencies = np.outer(slowest, np.arange(1, n_bits + 1)).ravel()
    chosen = np.argsort(frequencies, kind="stable")[:n_bits]
    return Modes(chosen // n_bits, frequencies[chosen])


class SH(PeriodicHasher):
    """Spectral hashing: a bit is the sign of a wave along a principal direction.

    For data distributed uniformly over a box, the smoothest balanced and uncorrelated bits are the
    signs of standing waves along its sides. The slowest waves are used, several of them along a
    long side.

    Parameters
    ----------
    n_bits
        Length of the codes. There is no limit, but faster and faster waves add less and less.
    normalize
        Whether to scale rows to unit length, for data that are compared by cosine.

    Attributes
    ----------
    eigenvalues_
        Squared frequency of the wave of each bit relative to that of the first, ascending. In the
        limit of close neighbors, the eigenvalues of the Laplacian are proportional to it.
    frequencies_
        Frequencies of the waves, one row per bit.
    phases_
        Phase of each wave at ``center_``.
    thresholds_
        Height above which the wave of a bit makes it 1: 0.

    References
    ----------
    Weiss, Torralba and Fergus, *Spectral hashing*, NIPS 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bitfold.hashers import SH
    >>> X = load_digits().data
    >>> SH(n_bits=32).fit(X).encode(X)
    Codes(1797 x 32 bits)
    """

    _fitted_arrays: ClassVar[dict[str, tuple[str, ...]]] = {
        **PeriodicHasher._fitted_arrays,
        "eigenvalues_": ("n_bits_",),
    }

    eigenvalues_: Float32Array

    def __init__(self, n_bits: int = 64, *, normalize: bool = False) -> None:
        self.n_bits = n_bits
        self.normalize = normalize

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        n_bits = _validation.check_integer(self.n_bits, "n_bits", rows.owner, low=1)
        directions = principal_directions(rows, min(n_bits, rows.n_features))
        progress("principal directions", 1, 1)
        low, high = measure_extent(rows, directions)
        chosen, omega = select_modes(high - low, n_bits)
        if not omega[-1] < _MAX_FLOAT32:
            raise DataError(
                f"All rows of X are equal; {rows.owner} needs at least 2 different ones."
            )
        waves = self._fitted_waves(omega[:, None] * directions[chosen], -omega * low[chosen])
        return waves | {"eigenvalues_": np.square(omega / omega[0]).astype(np.float32)}
