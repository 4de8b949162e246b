"""Results of a search, and the batches in which codes are added and read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bitfold._types import AnyArray, Ids, Int32Array, Int64Array
from bitfold.codes import Codes


class Hits(NamedTuple):
    """The nearest items of each query, nearest first, ties by id.

    Parameters
    ----------
    ids
        Ids of the items, one row per query.
    distances
        Their distances; smaller is nearer. What they are depends on the search:

        - by codes: the Hamming distance, an integer, the number of bits that differ;
        - by ``query_embedding`` or :class:`RerankByEmbedding`: float32, the sum of ``|embedding|``
          over the bits in which the code differs from the signs of the embedding. This is
          ``(sum |embedding| - dot) / 2``, where ``dot`` is the dot product of the embedding with
          the bits as ±1. So the order is that of the dot product, and an equal code has
          distance 0;
        - by codes with ``distance="spherical"``: float32, the number of bits that differ divided
          by the number that are 1 in both codes. Without a common 1, it is the number that differ
          times the length of the codes, which is larger than any other distance;
        - by :class:`RerankByVectors`: float32, its metric.
    n_tied
        How many of the items searched are as far as the last item returned, one number per query.
        The last item itself is counted, so 1 means that there is no tie. If more items are tied
        than the row shows, they were left out only because their ids are larger. Distances that
        are not integers are compared in float64, before they are rounded. None after
        re-ranking, and for stores that do not count ties.

    Examples
    --------
    >>> from bitfold import Codes, HammingIndex
    >>> index = HammingIndex(n_bits=2)
    >>> index.add(Codes.from_bits([[0, 0], [1, 1], [1, 1], [1, 1]]))
    >>> hits = index.search(Codes.from_bits([[0, 0]]), k=2)
    >>> hits.ids.tolist(), hits.distances.tolist(), hits.n_tied.tolist()
    ([[0, 1]], [[0, 2]], [3])
    """

    ids: Ids
    distances: AnyArray
    n_tied: Int64Array | None = None


class RadiusHits(NamedTuple):
    """All items within a radius of each query, in flat arrays.

    The items of query i are ``ids[offsets[i]:offsets[i + 1]]``, sorted by distance, ties by id.

    Parameters
    ----------
    offsets
        Where the items of each query begin; one entry more than there are queries.
    ids
        Ids of the items.
    distances
        Their Hamming distances.

    Examples
    --------
    >>> from bitfold import Codes, HammingIndex
    >>> index = HammingIndex(n_bits=2)
    >>> index.add(Codes.from_bits([[0, 0], [1, 1]]))
    >>> hits = index.within(Codes.from_bits([[0, 1], [0, 0]]), radius=1)
    >>> hits.offsets.tolist(), hits.ids.tolist(), hits.distances.tolist()
    ([0, 2, 3], [0, 1, 0], [1, 1, 0])
    """

    offsets: Int64Array
    ids: Ids
    distances: Int32Array


class Pairs(NamedTuple):
    """Some pairs of near items.

    Parameters
    ----------
    first, second
        Ids of the items of each pair.
    distances
        Their Hamming distances.

    Examples
    --------
    >>> from bitfold import Codes, HammingIndex
    >>> index = HammingIndex(n_bits=3)
    >>> index.add(Codes.from_bits([[0, 0, 0], [1, 1, 1], [0, 0, 1]]))
    >>> [pairs] = index.pairs(radius=1)
    >>> pairs.first.tolist(), pairs.second.tolist(), pairs.distances.tolist()
    ([0], [2], [1])
    """

    first: Ids
    second: Ids
    distances: Int32Array


class Clusters(NamedTuple):
    """Groups of items.

    The items of group i are ``ids[offsets[i]:offsets[i + 1]]``, ascending. The first of them is the
    representative of the group.

    Parameters
    ----------
    offsets
        Where the items of each group begin; one entry more than there are groups.
    ids
        Ids of the items, group by group.
    distances
        Hamming distance of each item to the representative of its group.

    Examples
    --------
    >>> from bitfold import Codes, HammingIndex
    >>> index = HammingIndex(n_bits=3)
    >>> index.add(Codes.from_bits([[0, 0, 0], [1, 1, 1], [0, 0, 1], [0, 1, 1]]))
    >>> clusters = index.clusters(radius=1, linkage="star")
    >>> clusters.representatives.tolist(), clusters.sizes.tolist(), clusters.ids.tolist()
    ([0, 1], [2, 2], [0, 2, 1, 3])
    """

    offsets: Int64Array
    ids: Ids
    distances: Int32Array

    @property
    def representatives(self) -> Ids:
        """The smallest id of each group."""
        return self.ids[self.offsets[:-1]]

    @property
    def sizes(self) -> Int64Array:
        """Number of items per group."""
        return np.diff(self.offsets)


class Batch(NamedTuple):
    """Some items of an index or a store.

    Parameters
    ----------
    ids
        Integer ids, one per code. None, when adding, continues after the largest id so far.
    codes
        Codes of the items.
    vectors
        Original vectors, one row per code, for stores that keep them.
    columns
        Values of the user's columns by name, one value per code, for stores that have columns.

    Examples
    --------
    >>> from bitfold import Codes
    >>> batch = Batch([7, 9], Codes.from_bits([[0, 1], [1, 1]]))
    >>> batch.ids, batch.codes, batch.vectors
    ([7, 9], Codes(2 x 2 bits), None)
    """

    ids: Any
    codes: Codes
    vectors: Any = None
    columns: Mapping[str, Any] | None = None


class Buckets(NamedTuple):
    """The distinct codes of an index, with the items that have each code.

    The items of bucket i are ``ids[offsets[i]:offsets[i + 1]]``, ascending.

    Parameters
    ----------
    codes
        The distinct codes, in the order of their smallest ids.
    offsets
        Where the items of each bucket begin; one entry more than there are buckets.
    ids
        Ids of all items, bucket by bucket.

    Examples
    --------
    >>> from bitfold import HammingIndex
    >>> index = HammingIndex(n_bits=3)
    >>> index.add(Codes.from_bits([[0, 0, 1], [1, 1, 1], [0, 0, 1]]))
    >>> index.buckets().sizes
    array([2, 1])
    """

    codes: Codes
    offsets: Int64Array
    ids: Ids

    @property
    def sizes(self) -> Int64Array:
        """Number of items per bucket."""
        return np.diff(self.offsets)
