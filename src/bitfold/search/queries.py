"""Queries in the form that the kernels rank: codes, or reals that are compared with bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._kernels import counting, ranking, spherical, weighted, weighted_counting
from bitfold._types import AnyArray, Float32Array, Float64Array, Int64Array, Words
from bitfold.codes import Codes
from bitfold.errors import ParameterTypeError

_CLIPPED = np.linspace(0.5, 1, 6)
"""Fractions of the largest weight that are tried as the largest level of the planes."""


@dataclass(frozen=True)
class CodeQueries:
    """Codes, ranked by Hamming distance.

    Parameters
    ----------
    words
        The codes as words, one row per query.
    """

    words: Words

    rank_by_insertion: ClassVar[Any] = staticmethod(ranking.rank_by_insertion)
    rank_by_counting: ClassVar[Any] = staticmethod(counting.rank_by_counting)
    too_far: ClassVar[np.generic] = np.int32(np.iinfo(np.int32).max)
    """A distance that no item has, of the type that the kernels write."""

    def __len__(self) -> int:
        return len(self.words)

    def part(self, rows: slice) -> tuple[AnyArray, ...]:
        """Return the first arguments of the kernels for some queries."""
        return (self.words[rows],)


@dataclass(frozen=True)
class EmbeddingQueries:
    """Reals, ranked by the sum of their absolute values over the bits that differ in sign.

    Parameters
    ----------
    words
        The signs of the reals as words, one row per query.
    embedding
        The reals.
    """

    words: Words
    embedding: Float32Array

    rank_by_insertion: ClassVar[Any] = staticmethod(weighted.rank_by_insertion)
    rank_by_counting: ClassVar[Any] = staticmethod(weighted_counting.rank_by_counting)
    too_far: ClassVar[np.generic] = np.float64(np.inf)

    def __len__(self) -> int:
        return len(self.words)

    def part(self, rows: slice) -> tuple[AnyArray, ...]:
        """Return the first arguments of the kernels for some queries."""
        words = self.words[rows]
        weights = make_weights(self.embedding[rows], words.shape[1])
        levels, scales = _round_weights(weights)
        bits = levels[:, None] >> np.arange(weighted.N_PLANES)[:, None] & 1
        planes = np.packbits(bits.astype(np.uint8), axis=2).view(np.uint64)
        return words, weights, planes, scales


@dataclass(frozen=True)
class SphericalQueries:
    """Codes, ranked by the number of bits that differ divided by the number that are 1 in both.

    Parameters
    ----------
    words
        The codes as words, one row per query.
    n_bits
        Length of the codes.
    """

    words: Words
    n_bits: int

    rank_by_insertion: ClassVar[Any] = staticmethod(spherical.rank_by_insertion)
    # Distances are too many to count them, and a list of any length can be filled by insertion.
    rank_by_counting: ClassVar[Any] = rank_by_insertion
    too_far: ClassVar[np.generic] = np.float64(np.inf)

    def __len__(self) -> int:
        return len(self.words)

    def part(self, rows: slice) -> tuple[Any, ...]:
        """Return the first arguments of the kernels for some queries."""
        return self.words[rows], self.n_bits


Queries = CodeQueries | EmbeddingQueries | SphericalQueries
"""The queries of a ranking."""

DISTANCES = ("hamming", "spherical")
"""The distances between codes that a search can rank by; the first is the default."""


def make_queries(
    codes: Codes, query_embedding: ArrayLike | None, distance: str = DISTANCES[0]
) -> Queries:
    """Return queries by code, or by embedding if there is one."""
    _validation.check_choice(distance, "distance", "search", DISTANCES)
    if distance == "spherical":
        if query_embedding is not None:
            requirement = "'hamming' with a query_embedding, which already ranks the codes"
            _validation.raise_invalid("distance", "search", requirement, repr(distance))
        return SphericalQueries(codes.words(), codes.n_bits)
    if query_embedding is None:
        return CodeQueries(codes.words())
    return EmbeddingQueries(codes.words(), check_query_embedding(query_embedding, codes))


def make_weights(embedding: Float32Array, n_words: int) -> Float64Array:
    """Return the weight of each bit: the absolute value of its real, 0 for bits of padding."""
    weights = np.zeros((len(embedding), 64 * n_words))
    weights[:, : embedding.shape[1]] = np.abs(embedding, dtype=np.float64)
    return weights


def _round_weights(weights: Float64Array) -> tuple[Int64Array, Float64Array]:
    """Round weights down to levels, multiples of a scale; return the levels and scales.

    Levels end at a fraction of the largest weight: the one that keeps most of the total weight.
    """
    largest = weights.max(axis=1, keepdims=True)
    levels, scales = np.zeros(weights.shape, np.int64), np.ones((len(weights), 1))
    kept = np.zeros((len(weights), 1))
    for fraction in _CLIPPED:
        trial = np.where(largest > 0, largest * fraction / weighted.MAX_LEVEL, 1)
        rounded = np.minimum(weights / trial, weighted.MAX_LEVEL).astype(np.int64)
        total = rounded.sum(axis=1, keepdims=True) * trial
        is_better = total > kept
        levels = np.where(is_better, rounded, levels)
        scales, kept = np.where(is_better, trial, scales), np.maximum(total, kept)
    return levels, scales[:, 0]


def check_query_embedding(query_embedding: ArrayLike, codes: Codes) -> Float32Array:
    """Return the embedding of query codes as float32.

    Parameters
    ----------
    query_embedding
        ``hasher.embed(Q)``, one row per query, one column per bit.
    codes
        ``hasher.encode(Q)``.

    Returns
    -------
    The embedding.

    Raises
    ------
    ParameterError
        If the embedding is not numeric or not finite, has another shape, or its signs are not
        the bits of the codes.

    Examples
    --------
    >>> reals = [[0.5, -2.0]]
    >>> check_query_embedding(reals, Codes.from_bits([[1, 0]]))
    array([[ 0.5, -2. ]], dtype=float32)
    """
    embedding = check_embedding(query_embedding, (len(codes), codes.n_bits), "search")
    bits = codes.unpack()
    differs = (np.asarray(query_embedding) > 0) != bits
    if differs.any():
        row, bit = np.argwhere(differs)[0]
        requirement = "positive exactly where a bit of the query codes is 1"
        value = f"{embedding[row, bit]:g} for bit {bit} of query {row}, which is {bits[row, bit]}"
        _validation.raise_invalid("query_embedding", "search", requirement, value)
    return embedding


def check_embedding(query_embedding: Any, shape: tuple[int, int], owner: str) -> Float32Array:
    """Return an embedding of the given shape as float32, checked to be finite."""
    name = "query_embedding"
    try:
        array = np.asarray(query_embedding)
    except ValueError:
        _validation.raise_invalid(name, owner, f"of shape {shape}", "rows of different lengths")
    if array.dtype.kind not in "fiu":
        raise ParameterTypeError(name, owner, "an array of real numbers", f"dtype {array.dtype}")
    if array.shape != shape:
        requirement = f"of shape {shape} (queries, bits)"
        _validation.raise_invalid(name, owner, requirement, f"shape {array.shape}")
    with np.errstate(over="ignore", invalid="ignore"):
        embedding = array.astype(np.float32)
        # A sum that fits into float32 also means that no value is NaN or infinite.
        fits = np.isfinite(np.abs(array, dtype=np.float64).sum(axis=1).astype(np.float32))
    if not fits.all():
        value = f"NaN, infinity or a value too large for float32 in row {np.argmin(fits)}"
        _validation.raise_invalid(name, owner, "finite", value)
    return embedding
