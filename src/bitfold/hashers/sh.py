"""Spectral hashing: the slowest waves between the ends of the data, along principal directions."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._linalg.principal import principal_directions
from bitfold._types import Float32Array, Float64Array, IntpArray, ProgressCallback
from bitfold.hashers.base.periodic import PeriodicHasher
from bitfold.io.rows import Rows, block_length

_LARGEST = float(np.finfo(np.float32).max)


class Extent(NamedTuple):
    """Where the data begin and end along each direction."""

    low: Float64Array
    high: Float64Array


class Modes(NamedTuple):
    """Waves, slowest first: the direction of each and how fast it turns, in radians a unit."""

    directions: IntpArray
    frequencies: Float64Array


def extent(rows: Rows, directions: Float64Array) -> Extent:
    """Return the least and the greatest coordinate along each direction, by one pass."""
    W = np.ascontiguousarray(directions.T, np.float32)
    step = block_length(rows.n_features)

    def of_block(values: Float32Array, start: int) -> tuple[Float32Array, Float32Array]:
        along = values @ W
        return along.min(axis=0), along.max(axis=0)

    ends = [end for _, end in rows.map(of_block, step)]
    low = np.min([low for low, _ in ends], axis=0)
    high = np.max([high for _, high in ends], axis=0)
    return Extent(low.astype(np.float64), high.astype(np.float64))


def slowest_modes(ranges: Float64Array, n_bits: int) -> Modes:
    """Return the n_bits smallest of the frequencies jπ / range, j = 1, 2, ..., of all directions.

    They are the eigenfunctions cos(jπ(u - a) / (b - a)) of the Laplacian of a uniform box that
    vary in one direction only; the outer products of the paper's theory are left out, as there.
    """
    with np.errstate(divide="ignore"):
        slowest = np.pi / ranges
    # No direction can have more than n_bits among the n_bits smallest.
    frequencies = np.outer(slowest, np.arange(1, n_bits + 1)).ravel()
    chosen = np.argsort(frequencies, kind="stable")[:n_bits]
    return Modes(chosen // n_bits, frequencies[chosen])


class SH(PeriodicHasher):
    """Spectral hashing: a bit is the sign of a wave along a principal direction.

    For data spread evenly over a box, the smoothest balanced and uncorrelated bits are the signs
    of standing waves along its sides; the slowest ones are taken, several along a long side.

    Parameters
    ----------
    n_bits
        Length of the codes; there is no limit to it, but ever faster waves tell ever less.

    Attributes
    ----------
    eigenvalues_
        The squared frequency of each bit's wave relative to the first's, rising: in the limit of
        close neighbors the Laplacian's eigenvalues are in proportion to that.

    References
    ----------
    Weiss, Torralba and Fergus, *Spectral hashing*, NIPS 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> SH(n_bits=32).fit(X).encode(X)
    Codes(1797 x 32 bits)
    """

    _fitted_arrays: ClassVar[dict[str, tuple[str, ...]]] = {
        **PeriodicHasher._fitted_arrays,
        "eigenvalues_": ("n_bits_",),
    }

    eigenvalues_: Float32Array

    def __init__(self, n_bits: int = 64) -> None:
        self.n_bits = n_bits

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        n_bits = _validation.check_integer(self.n_bits, "n_bits", rows.owner, low=1)
        directions = principal_directions(rows, min(n_bits, rows.n_features)).directions
        progress("principal directions", 1, 1)
        low, high = extent(rows, directions)
        modes = slowest_modes(high - low, n_bits)
        if not modes.frequencies[-1] < _LARGEST:
            _validation.raise_invalid("X", rows.owner, "at least 2 rows that differ", "equal ones")
        omega = modes.frequencies
        waves = self._fitted_waves(
            omega[:, None] * directions[modes.directions], -omega * low[modes.directions]
        )
        return waves | {"eigenvalues_": np.square(omega / omega[0]).astype(np.float32)}
