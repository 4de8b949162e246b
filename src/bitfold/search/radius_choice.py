"""Choose the radius of near-duplicates by exact distances on a sample of pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._types import BoolArray, Float32Array, Ids, Int64Array, Seed
from bitfold.errors import DataError
from bitfold.search.index import HammingIndex
from bitfold.search.vector_check import VectorCheck

_PAIRS = 1 << 28
"""Number of pairs to measure, if the limits of the sample allow it."""

_MIN_SAMPLE, _MAX_SAMPLE = 256, 2048
"""Smallest and largest number of items whose pairs with all items are measured."""

_BLOCK = 1024
"""Items that are measured together against the sample."""

_ROUNDING = 1e-5
"""Relative error of distances from dot products; closer to the limit, differences decide."""


class RadiusQuality(NamedTuple):
    """How well codes within each Hamming radius agree with near vectors, on a sample of pairs.

    Parameters
    ----------
    n_pairs
        Number of sampled pairs within radius 0, 1, 2, …, ``n_bits``.
    n_near
        How many of them are near-duplicates by exact distance.

    Examples
    --------
    >>> quality = RadiusQuality(np.array([2, 4, 10]), np.array([2, 3, 3]))
    >>> quality.precision(1), quality.recall(0)
    (0.75, 0.6666666666666666)
    >>> quality.choose(0.7)
    1
    """

    n_pairs: Int64Array
    n_near: Int64Array

    def precision(self, radius: int) -> float:
        """Return the fraction of pairs within a radius that are near; NaN without pairs.

        Parameters
        ----------
        radius
            A Hamming radius.

        Returns
        -------
        A number from 0 to 1, or NaN.
        """
        return _divide(self.n_near[radius], self.n_pairs[radius])

    def recall(self, radius: int) -> float:
        """Return the fraction of near pairs that are within a radius; NaN without near pairs.

        Parameters
        ----------
        radius
            A Hamming radius.

        Returns
        -------
        A number from 0 to 1, or NaN.
        """
        return _divide(self.n_near[radius], self.n_near[-1])

    def choose(self, precision: float) -> int:
        """Return the largest radius that reaches a precision.

        Parameters
        ----------
        precision
            Fraction of pairs within the radius that must be near, above 0 and at most 1.

        Returns
        -------
        The radius.

        Raises
        ------
        ParameterError
            If ``precision`` is not above 0 and at most 1.
        DataError
            If no radius reaches it.
        """
        if not 0 < precision <= 1:
            _validation.raise_invalid("precision", "choose", "above 0 and at most 1", precision)
        reached = np.flatnonzero((self.n_near >= precision * self.n_pairs) & (self.n_near > 0))
        if not len(reached):
            raise DataError(self._describe_failure(precision))
        return int(reached[-1])

    def _describe_failure(self, precision: float) -> str:
        if not self.n_near[-1]:
            return "No sampled pair is within the distance of near-duplicates; choose the radius."
        smallest = int(np.flatnonzero(self.n_pairs)[0])
        return (
            f"No radius reaches a precision of {precision:g}: within radius {smallest}, "
            f"{self.precision(smallest):.3f} of {self.n_pairs[smallest]:,} sampled pairs are near. "
            "Use longer codes, or verify pairs by exact distance."
        )


def measure_radii(
    index: HammingIndex, check: VectorCheck, *, n_sample: int | None = None, random_state: Seed = 0
) -> RadiusQuality:
    """Measure for every radius how many pairs within it are near, and how many near pairs it finds.

    The pairs are those of some random items with all items; their distances are exact.

    Parameters
    ----------
    index
        Index of the codes.
    check
        Says which pairs are near; its vectors are read once, from the first to the last.
    n_sample
        Number of random items. By default 256 to 2,048, fewer if there are more items in the
        index.
    random_state
        Seed of the sample.

    Returns
    -------
    Counts of pairs for each radius.

    Raises
    ------
    ParameterError
        If ``n_sample`` is not an integer of at least 1.
    DataError
        If ``check`` has no vector for an item, or one that is not finite.

    Examples
    --------
    >>> from bitfold import Codes
    >>> X = np.random.default_rng(0).normal(size=(500, 16))
    >>> index = HammingIndex(n_bits=16)
    >>> index.add(Codes.from_bits(X > 0))
    >>> quality = measure_radii(index, VectorCheck(X, max_distance=2.5))
    >>> quality.precision(1) > quality.precision(5)
    True
    """
    ids = np.sort(index.buckets().ids)
    if n_sample is None:
        n_sample = int(np.clip(_PAIRS // max(len(ids), 1), _MIN_SAMPLE, _MAX_SAMPLE))
    n_sample = _validation.check_integer(n_sample, "n_sample", "measure_radii", low=1)
    rng = _validation.make_generator(random_state)
    sample = np.sort(rng.choice(ids, min(n_sample, len(ids)), replace=False))
    counts = np.zeros((2, index.n_bits + 1), np.int64)
    comparison = _Comparison(index, check, sample)
    for start in range(0, len(ids), _BLOCK):
        counts += comparison.count(ids[start : start + _BLOCK])
    return RadiusQuality(*np.cumsum(counts, axis=1))


class _Comparison:
    """Compares a sample of items with blocks of items."""

    def __init__(self, index: HammingIndex, check: VectorCheck, sample: Ids) -> None:
        self._index, self._check, self._sample = index, check, sample
        self._words = index.codes(sample).words()
        self._rows = check.read_first(sample)

    def count(self, ids: Ids) -> Int64Array:
        """Count the pairs at each Hamming distance: all of them, and those that are near."""
        hamming = self._measure_codes(ids)
        is_other = self._sample[:, None] != ids
        near = self._find_near(ids) & is_other
        n = self._index.n_bits + 1
        chosen = (hamming[is_other], hamming[near])
        return np.stack([np.bincount(distances, minlength=n) for distances in chosen])

    def _measure_codes(self, ids: Ids) -> Int64Array:
        words = self._index.codes(ids).words()
        distances = np.zeros((len(self._sample), len(ids)), np.int64)
        for left, right in zip(self._words.T, words.T, strict=True):
            distances += np.bitwise_count(left[:, None] ^ right)
        return distances

    def _find_near(self, ids: Ids) -> BoolArray:
        """Return which pairs are near: by dot products, or exactly if close to the limit."""
        excess, margin = self._measure_excess(self._check.read_first(ids))
        near = excess <= 0
        rows, columns = np.nonzero(np.abs(excess) <= margin)
        near[rows, columns] = self._check.accepts(self._sample[rows], ids[columns])
        return near

    def _measure_excess(self, rows: Float32Array) -> tuple[Float32Array, Float32Array]:
        """Return by how much each distance exceeds the limit, and the error of this difference."""
        limit = np.float32(self._check.max_distance)
        if self._check.metric == "cosine":
            products = _to_unit_length(self._rows) @ _to_unit_length(rows).T
            return np.float32(1) - limit - products, np.full_like(products, _ROUNDING)
        squares = [np.einsum("ij,ij->i", side, side) for side in (self._rows, rows)]
        sums = squares[0][:, None] + squares[1]
        return sums - 2 * self._rows @ rows.T - limit**2, _ROUNDING * (sums + limit**2)


def _to_unit_length(rows: Float32Array) -> Float32Array:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: Float32Array = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return scaled


def _divide(count: int, total: int) -> float:
    return float(count / total) if total else float("nan")
