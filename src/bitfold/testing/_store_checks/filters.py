"""Checks of ``among``: search in some of the items."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bitfold.codes import Codes
from bitfold.errors import DataError, ParameterError
from bitfold.search import RerankByEmbedding, RerankByVectors
from bitfold.testing._store_checks.common import (
    assert_equal,
    assert_raises,
    assert_same_results,
    byte_codes,
    pairs_of_hits,
    pairs_of_radius_hits,
    random_items,
    rank_all,
)


def check_among_matches_brute_force(make_index: Callable[[int], Any]) -> None:
    """Ids and masks leave the same items, and only these are ranked, after removals too."""
    for seed, n_bits in enumerate((1, 20, 64, 150)):
        bits, ids, queries = random_items(n_bits, n_items=50, seed=seed)
        index, codes = make_index(n_bits), Codes.from_bits(queries)
        index.add(Codes.from_bits(bits[:35]), ids=ids[:35])
        index.add(Codes.from_bits(bits[35:]), ids=ids[35:])
        index.remove(ids[::5])
        bits, ids = np.delete(bits, np.s_[::5], 0), np.delete(ids, np.s_[::5])
        for n_left in (0, 1, 7, 40):
            left = np.random.default_rng(seed).permutation(len(ids))[:n_left]
            expected = rank_all(queries, bits[left], ids[left])
            for among in (ids[left], np.isin(np.sort(ids), ids[left])):
                found = pairs_of_hits(index.search(codes, 9, among=among))
                subject = f"among {n_left} items, {n_bits} bits"
                assert_equal(found, [row[:9] for row in expected], f"search {subject}")
                found = pairs_of_radius_hits(index.within(codes, 6, among=among))
                near = [[(d, i) for d, i in row if d <= 6] for row in expected]
                assert_equal(found, near, f"within {subject}")


def check_among_with_finer_distances(make_index: Callable[[int], Any]) -> None:
    """A filter gives the results of an index of what is left, for every kind of search."""
    rng = np.random.default_rng(0)
    X, Q, directions = (rng.standard_normal(s) for s in ((150, 6), (5, 6), (6, 20)))
    codes, embedding = Codes.from_bits(X @ directions > 0), Q @ directions
    queries, left = Codes.from_bits(embedding > 0), rng.permutation(150)[:40]
    index, rest = make_index(20), make_index(20)
    index.add(codes)
    rest.add(codes[left], ids=left)
    by_vectors = RerankByVectors(X, Q, n_candidates=12)
    kinds: dict[str, dict[str, Any]] = {
        "codes": {},
        "the embedding": {"query_embedding": embedding},
        "vectors": {"rerank": by_vectors},
        "the embedding of candidates": {"rerank": RerankByEmbedding(embedding, n_candidates=12)},
        "the embedding, then vectors": {"query_embedding": embedding, "rerank": by_vectors},
    }
    for subject, kind in kinds.items():
        found = index.search(queries, 9, among=left, **kind)
        expected = rest.search(queries, 9, **kind)
        assert_same_results(found, expected._replace(n_tied=found.n_tied), f"search by {subject}")


def check_among_errors(make_index: Callable[[int], Any]) -> None:
    """Unknown or repeated ids raise DataError, anything but ids or a mask ParameterError."""
    index, codes = make_index(8), byte_codes(0, 1, 2, 3)
    index.add(codes, ids=[3, 1, 4, 15])
    wrong: dict[str, tuple[Any, type[Exception]]] = {
        "an unknown id": ([3, 5], DataError),
        "a repeated id": ([3, 1, 3], DataError),
        "a mask that is too short": ([True, False], ParameterError),
        "a mask that is too long": (np.ones(5, bool), ParameterError),
        "an empty mask": (np.ones(0, bool), ParameterError),
        "a mask of two dimensions": (np.ones((4, 1), bool), ParameterError),
        "fractions": ([0.5, 1.0], ParameterError),
        "strings": (["3"], ParameterError),
    }
    for subject, (among, error) in wrong.items():
        for method in (index.search, index.within):
            call = partial(method, codes, 1, among=among)
            assert_raises(call, f"{method.__name__} among {subject}", error)
    assert_equal(index.search(codes, 1, among=[]).ids.shape, (4, 0), "shape among no items")
    assert_equal(index.within(codes, 8, among=[]).offsets.tolist(), [0] * 5, "offsets among none")
    assert_equal(index.search(codes[:1], 9, among=4).ids.tolist(), [[4]], "ids among one item")


FILTER_CHECKS: tuple[Callable[[Callable[[int], Any]], None], ...] = (
    check_among_matches_brute_force,
    check_among_with_finer_distances,
    check_among_errors,
)
