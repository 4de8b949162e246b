"""Divide the bits of codes into parts that separate the stored codes well.

Learned bits depend on each other. A part of dependent bits has few values, and its buckets are
crowded. So each part takes the bits that separate the pairs of codes that agree in it so far.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from bitfold._kernels.part_counts import count_part_distances
from bitfold._types import BoolArray, Float32Array, Float64Array, Int64Array, Words

Parts = tuple[tuple[int, ...], ...]
"""The bits of each part; bit j of a code is bit ``j % 64`` of word ``j // 64``."""

_MAX_PAIR_BITS = 1 << 18
"""Total number of bits of the pairs that parts are chosen by, such as 4,096 pairs of 64 bits."""

_MAX_COMPARED_WORDS = 1 << 20
"""Number of words that are compared to measure one part."""

_N_TARGETS = 64

_WEIGHT_OF_DIFFERENCE = np.float32(0.4)
"""Weight of a pair after one more bit in which it differs: pairs that differ count less."""


class CodeSample(NamedTuple):
    """Some of the codes of a segment, by which plans are compared.

    Parameters
    ----------
    n_codes
        Number of codes in the segment.
    differences
        Whether pairs of codes differ in each bit, one row per pair.
    targets
        Codes that stand for queries, one row per code.
    codes
        Codes that stand for all others, one row per code.
    """

    n_codes: int
    differences: Float32Array
    targets: Words
    codes: Words

    @classmethod
    def draw(cls, columns: Words) -> Self:
        """Draw from codes that are stored column by column; always the same ones."""
        n_words, n = columns.shape
        rng = np.random.default_rng(0)

        def pick(size: int) -> Words:
            return np.ascontiguousarray(columns[:, rng.integers(0, n, size)].T)

        n_pairs = max(_MAX_PAIR_BITS // (64 * n_words), 256)
        differ = (pick(n_pairs) ^ pick(n_pairs)).view(np.uint8)
        bits = np.unpackbits(differ, axis=1, bitorder="little").astype(np.float32)
        n_others = min(n, _MAX_COMPARED_WORDS // (_N_TARGETS * n_words))
        return cls(n, bits, pick(_N_TARGETS), pick(n_others))

    def measure(self, parts: Parts) -> Float64Array:
        """Return the share of codes within each radius of each target in each part.

        The shape is (targets, parts, longest part + 1).
        """
        width = max(map(len, parts))
        counts = np.zeros((len(self.targets), len(parts), width + 1), np.int64)
        count_part_distances(self.targets, self.codes, make_masks(parts, self.n_words), counts)
        return np.cumsum(counts, axis=2) / len(self.codes)

    def share_within(self, radius: int, first: int, last: int) -> float:
        """Return the share of pairs within a radius in the words [first, last)."""
        return float((self.differences[:, 64 * first : 64 * last].sum(axis=1) <= radius).mean())

    @property
    def n_words(self) -> int:
        """Number of words per code."""
        return int(self.targets.shape[1])

    @property
    def n_used_bits(self) -> int:
        """Number of bits in which codes differ at all."""
        return int(np.count_nonzero(self.differences.any(axis=0)))


def choose_parts(differences: Float32Array, n_parts: int, width: int) -> Parts:
    """Divide bits into parts of at most ``width`` bits; some bits may be in no part."""
    weights = np.ones((n_parts, len(differences)), np.float32)
    is_free: BoolArray = np.any(differences, axis=0)
    parts: list[list[int]] = [[] for _ in range(n_parts)]
    for _ in range(width):
        # The part that separates least chooses first.
        for part in np.argsort(-weights.sum(axis=1), kind="stable"):
            if not is_free.any():
                break
            bit = int(np.argmax(np.where(is_free, weights[part] @ differences, -1)))
            is_free[bit] = False
            parts[part].append(bit)
            weights[part] *= 1 - (1 - _WEIGHT_OF_DIFFERENCE) * differences[:, bit]
    return tuple(tuple(part) for part in parts if part)


def make_masks(parts: Parts, n_words: int) -> Words:
    """Return the bits of each part as words, one row per part."""
    masks = np.zeros((len(parts), n_words), np.uint64)
    for mask, part in zip(masks, parts, strict=True):
        for bit in part:
            mask[bit // 64] |= np.uint64(1 << bit % 64)
    return masks


def choose_columns(parts: Parts, differences: Float32Array) -> Int64Array:
    """Return, for each part, the word of the codes whose other bits differ most often."""
    means = differences.mean(axis=0)
    columns = []
    for part in parts:
        rest = means.copy()
        rest[list(part)] = 0
        columns.append(np.argmax(rest.reshape(-1, 64).sum(axis=1)))
    return np.array(columns, np.int64)
