"""Groups in one generation of an index: pairs of near codes, clusters, and equal codes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from bitfold import _validation
from bitfold.codes import combine_digests
from bitfold.errors import ParameterTypeError
from bitfold.search.clusters import group_connected, group_stars
from bitfold.search.pairs import find_pairs, join_items
from bitfold.search.results import Buckets, Clusters, Pairs
from bitfold.search.searching import SearchableCodes


class GroupableCodes(SearchableCodes):
    """The methods of an index that compare its codes with each other."""

    def pairs(self, radius: int, *, expand_equal: bool = False) -> Iterator[Pairs]:
        """Find all pairs of codes within a Hamming radius, each once.

        The codes are those that are present when the method is called; later changes do not
        affect the pairs. Memory is bounded: about twice that of the codes, and one block of pairs
        per core.

        Parameters
        ----------
        radius
            The largest distance that is included.
        expand_equal
            By default, equal codes are one node: they are not paired with each other, and the
            smallest of their ids stands for all of them; :meth:`buckets` has the others. True
            returns all pairs of items. There may be very many: 100,000 items with equal codes
            are five billion pairs.

        Returns
        -------
        Blocks of pairs, computed one after another. The smaller id of a pair is its ``first``; the
        order of pairs is not specified.

        Raises
        ------
        ParameterError
            If ``radius`` is not an integer of at least 0.

        Examples
        --------
        >>> from bitfold import Codes, HammingIndex
        >>> index = HammingIndex(n_bits=3)
        >>> index.add(Codes.from_bits([[0, 0, 1], [1, 1, 1], [0, 0, 1], [0, 1, 1]]))
        >>> blocks = list(index.pairs(radius=1))
        >>> sorted(first for pairs in blocks for first in pairs.first.tolist())
        [0, 1]
        >>> sorted(second for pairs in blocks for second in pairs.second.tolist())
        [3, 3]
        >>> sum(len(pairs.first) for pairs in index.pairs(radius=1, expand_equal=True))
        4
        """
        radius = self._check_radius(radius, "pairs")
        return find_pairs(self._generation.segments.unify(), radius, expand_equal=expand_equal)

    def join(self, other: Self, radius: int, *, expand_equal: bool = False) -> Iterator[Pairs]:
        """Find all pairs of a code in this index and a near code in another one.

        Parameters
        ----------
        other
            Another index of codes of the same length, made by the same model.
        radius
            The largest distance that is included.
        expand_equal
            By default, equal codes in one index are one node, and the smallest of their ids stands
            for all of them. True returns all pairs of items.

        Returns
        -------
        Blocks of pairs, computed one after another. ``first`` are ids of this index, ``second``
        ids of the other; the order of pairs is not specified.

        Raises
        ------
        ParameterError
            If ``other`` is not an index of codes of the same length, or ``radius`` is not an
            integer of at least 0.
        ModelMismatchError
            If the codes of the other index were made by another model.

        Examples
        --------
        >>> from bitfold import Codes, HammingIndex
        >>> train, test = HammingIndex(n_bits=3), HammingIndex(n_bits=3)
        >>> train.add(Codes.from_bits([[0, 0, 1], [1, 1, 1], [0, 0, 0]]))
        >>> test.add(Codes.from_bits([[0, 1, 1], [0, 0, 0]]))
        >>> [pairs] = test.join(train, radius=0)
        >>> pairs.first.tolist(), pairs.second.tolist()
        ([1], [2])
        """
        radius = self._check_radius(radius, "join")
        left, right = self._generation, self._check_index(other)._generation
        combine_digests([left.model_digest, right.model_digest])
        segments = left.segments.unify(), right.segments.unify()
        return join_items(*segments, radius, expand_equal=expand_equal)

    def clusters(self, radius: int, *, linkage: str = "connected", min_size: int = 2) -> Clusters:
        """Group items whose codes are within a Hamming radius of each other.

        Parameters
        ----------
        radius
            The largest distance that links two codes; 0 groups equal codes.
        linkage
            "connected": items belong to one group if a chain of near codes connects them, so
            groups can become wide. "star": every item is within the radius of the representative
            of its group. Items are taken in the order of their ids: an item that is near no
            earlier representative becomes a representative; any other joins the first one that it
            is near. Adding items with larger ids therefore does not change existing groups.
        min_size
            Smallest number of items of a group; 1 returns every item.

        Returns
        -------
        Groups in the order of their representatives, which are the smallest ids of the groups.

        Raises
        ------
        ParameterError
            If ``radius`` is not an integer of at least 0, ``linkage`` is unknown, or ``min_size``
            is not an integer of at least 1.

        Examples
        --------
        >>> from bitfold import Codes, HammingIndex
        >>> index = HammingIndex(n_bits=4)
        >>> index.add(Codes.from_bits([[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 1], [1, 1, 0, 0]]))
        >>> index.clusters(radius=1).ids.tolist()
        [0, 1, 2]
        >>> index.clusters(radius=1, linkage="star").ids.tolist()
        [0, 1]
        """
        radius = self._check_radius(radius, "clusters")
        _validation.check_choice(linkage, "linkage", "clusters", ("connected", "star"))
        min_size = _validation.check_integer(min_size, "min_size", "clusters", low=1)
        segments = self._generation.segments
        segment = segments.unify()
        if linkage == "connected":
            return group_connected(segment, radius, min_size)
        return group_stars(segment, radius, min_size, segments.limit_tables(segment))

    def buckets(self) -> Buckets:
        """Return the distinct codes with the ids of the items that have each.

        Returns
        -------
        Buckets in the order of their smallest ids.

        Examples
        --------
        >>> from bitfold import Codes, HammingIndex
        >>> index = HammingIndex(n_bits=3)
        >>> index.add(Codes.from_bits([[0, 0, 1], [1, 1, 1], [0, 0, 1]]))
        >>> buckets = index.buckets()
        >>> buckets.codes.unpack().tolist(), buckets.sizes.tolist(), buckets.ids.tolist()
        ([[0, 0, 1], [1, 1, 1]], [2, 1], [0, 2, 1])
        """
        return self._generation.buckets()

    def _check_index(self, other: Any) -> GroupableCodes:
        """Return another index; raise unless its codes have the same length."""
        if not isinstance(other, GroupableCodes):
            raise ParameterTypeError("other", "join", "a HammingIndex", type(other).__name__)
        if other.n_bits != self.n_bits:
            got = f"{other.n_bits} bits"
            _validation.raise_invalid("other", "join", f"an index of {self.n_bits} bits", got)
        return other
