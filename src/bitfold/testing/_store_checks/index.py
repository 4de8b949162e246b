"""Checks of what every index and store does: add, remove, search, within, codes, batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bitfold._types import UInt8Array
from bitfold.codes import Codes
from bitfold.errors import ModelMismatchError
from bitfold.search import HammingIndex, RerankByEmbedding, RerankByVectors
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

_SMALLEST_ID, _LARGEST_ID = -(1 << 63), (1 << 63) - 1


def check_results_match_brute_force(make_index: Callable[[int], Any]) -> None:
    """Results are those of comparing every code with every query, for many code lengths."""
    for seed, n_bits in enumerate((1, 3, 8, 20, 63, 64, 65, 150, 1024)):
        bits, ids, queries = random_items(n_bits, n_items=1 + 5 * seed, seed=seed)
        index, codes = make_index(n_bits), Codes.from_bits(queries)
        index.add(Codes.from_bits(bits), ids=ids)
        expected = rank_all(queries, bits, ids)
        for k in (1, 7, len(ids)):
            found = pairs_of_hits(index.search(codes, k))
            assert_equal(found, [row[:k] for row in expected], f"search with k={k}, {n_bits} bits")
        for radius in (0, 2, 6):
            found = pairs_of_radius_hits(index.within(codes, radius))
            near = [[(d, i) for d, i in row if d <= radius] for row in expected]
            assert_equal(found, near, f"within({radius}) of {n_bits} bits")
        assert_equal(len(index), len(ids), "len")
        assert_equal(index.codes(ids[::-1]), Codes.from_bits(bits[::-1]), "codes")


def check_results_match_hamming_index(make_index: Callable[[int], Any]) -> None:
    """Results equal those of HammingIndex, with many ties and after removals."""
    rng = np.random.default_rng(1)
    pool: UInt8Array = rng.integers(0, 256, (50, 3), np.uint8)
    pool[:, 2] &= 0b1111_0000
    codes = Codes(pool[rng.integers(0, 50, 2000)], 20)
    queries = Codes(pool[:30] ^ np.array([1, 0, 0], np.uint8), 20)
    ids = rng.permutation(100_000)[:2000] - 50_000
    reference, index = HammingIndex(20), make_index(20)
    reference.add(codes, ids=ids)
    for half in (slice(700), slice(700, None)):
        index.add(codes[half], ids=ids[half])
    for k in (1, 7, 60, 1999, 2000, 3000):
        assert_same_results(index.search(queries, k), reference.search(queries, k), f"k={k}")
    for radius in (0, 1, 3, 8, 20, 1000):
        expected = reference.within(queries, radius)
        assert_same_results(index.within(queries, radius), expected, f"within({radius})")
    for each in (reference, index):
        each.remove(ids[::3])
    assert_same_results(index.search(queries, 25), reference.search(queries, 25), "search")
    assert_same_results(index.within(queries, 5), reference.within(queries, 5), "within")


def check_ties_go_by_id(make_index: Callable[[int], Any]) -> None:
    """Of many equal codes, those with the smallest ids are returned."""
    index = make_index(16)
    ids = np.random.default_rng(0).permutation(500)
    index.add(Codes(np.full((500, 2), 7, np.uint8), 16), ids=ids)
    found = index.search(Codes(np.full((3, 2), 7, np.uint8), 16), 9)
    assert_equal(found.ids.tolist(), [list(range(9))] * 3, "ids of equal codes")
    assert_equal(found.distances.dtype, np.dtype(np.int32), "type of distances")


def check_large_k_returns_all(make_index: Callable[[int], Any]) -> None:
    """If k is larger than the number of codes, all are returned."""
    index, codes = make_index(8), byte_codes(0, 1, 3)
    assert_equal(index.search(codes, 5).ids.shape, (3, 0), "shape of results of an empty index")
    index.add(codes)
    assert_equal(index.search(codes[:1], 5).ids.tolist(), [[0, 1, 2]], "ids with k=5 of 3 codes")
    assert_equal(index.search(codes[:0], 2).ids.shape, (0, 2), "shape of results of no queries")


def check_changes_match_a_dict(make_index: Callable[[int], Any]) -> None:
    """Random additions and removals leave the codes that a dict has."""
    rng = np.random.default_rng(5)
    index, model, next_id = make_index(12), dict[int, Any](), 0
    for _ in range(12):
        bits = rng.integers(0, 2, (int(rng.integers(0, 9)), 12), np.uint8)
        if rng.random() < 0.5:
            ids = np.arange(next_id, next_id + len(bits))
            index.add(Codes.from_bits(bits))
        else:
            ids = next_id + 3 * np.arange(len(bits))[::-1]
            index.add(Codes.from_bits(bits), ids=ids)
        model.update(zip(ids.tolist(), bits, strict=True))
        next_id = max([next_id, *(ids + 1).tolist()])
        if len(model) > 6:
            removed = rng.choice(sorted(model), 3, replace=False)
            index.remove(removed)
            for each in removed.tolist():
                del model[each]
        _assert_contains(index, model, rng.integers(0, 2, (2, 12), np.uint8))


def _assert_contains(index: Any, model: dict[int, Any], queries: Any) -> None:
    assert_equal(len(index), len(model), "len")
    ids = np.array(sorted(model), np.int64)
    bits = np.array([model[i] for i in ids.tolist()], np.uint8).reshape(-1, 12)
    found = pairs_of_hits(index.search(Codes.from_bits(queries), max(len(model), 1)))
    assert_equal(found, rank_all(queries, bits, ids), "search for all codes")
    batches = list(index.batches())
    stored = {
        i: code.tolist()
        for batch in batches
        for i, code in zip(np.asarray(batch.ids).tolist(), batch.codes.unpack(), strict=True)
    }
    assert_equal(stored, {i: code.tolist() for i, code in model.items()}, "batches")
    assert_equal(sum(len(batch.codes) for batch in batches), len(model), "number of codes")


def check_ids_are_not_reused(make_index: Callable[[int], Any]) -> None:
    """Automatic ids continue after the largest that was ever used."""
    index, codes = make_index(8), byte_codes(0, 1, 2)
    index.add(codes)
    index.remove([1, 2])
    index.add(codes[:1])
    index.add(codes[:2], ids=[-7, 20])
    index.add(codes[:1])
    assert_equal(index.search(codes[:1], 4).ids.tolist(), [[-7, 0, 3, 21]], "ids")


def check_extreme_ids(make_index: Callable[[int], Any]) -> None:
    """All integers of 64 bits are ids; after the largest there are no automatic ids."""
    index, codes = make_index(8), byte_codes(0, 0, 0, 0)
    ids = [_LARGEST_ID, _SMALLEST_ID, -1, 0]
    index.add(codes, ids=ids)
    assert_equal(index.search(codes[:1], 4).ids.tolist(), [sorted(ids)], "ids of search")
    assert_equal(index.within(codes[:1], 0).ids.tolist(), sorted(ids), "ids of within")
    assert_raises(lambda: index.add(codes[:1]), "add after the largest id")
    index.remove([_SMALLEST_ID, _LARGEST_ID])
    assert_equal(index.search(codes[:1], 2).ids.tolist(), [[-1, 0]], "ids after remove")


def check_unsigned_ids(make_index: Callable[[int], Any]) -> None:
    """Unsigned integers are ids if they fit into 64 signed bits."""
    index, codes = make_index(8), byte_codes(0, 0)
    ids = np.array([5, 7], np.uint64)
    index.add(codes, ids=ids)
    assert_equal(index.codes(ids), codes, "codes")
    for name, call in (
        ("add", partial(index.add, codes[:1])),
        ("remove", index.remove),
        ("codes", index.codes),
    ):
        assert_raises(partial(call, np.array([1 << 63], np.uint64)), f"{name} with the id 2**63")
        assert_raises(partial(call, [1 << 70]), f"{name} with the id 2**70")
    index.remove(ids)
    assert_equal(len(index), 0, "len after remove")


def check_empty_input(make_index: Callable[[int], Any]) -> None:
    """Adding, removing and searching nothing is allowed."""
    index = make_index(9)
    nothing, one = Codes(np.empty((0, 2), np.uint8), 9), Codes(np.zeros((1, 2), np.uint8), 9)
    index.add(nothing)
    assert_equal(len(index), 0, "len")
    assert_equal(index.within(one, 9).offsets.tolist(), [0, 0], "offsets in an empty index")
    assert_equal(index.within(nothing, 9).offsets.tolist(), [0], "offsets of no queries")
    index.add(one)
    assert_equal(index.within(nothing, 3).offsets.tolist(), [0], "offsets of no queries")
    index.remove([])
    assert_equal(len(index.codes([])), 0, "number of codes of no ids")
    index.remove([0])
    assert_equal(len(index), 0, "len after remove")


def check_invalid_input_changes_nothing(make_index: Callable[[int], Any]) -> None:
    """Invalid input raises an error of one line, and the codes stay as they are."""
    index, codes = make_index(8), byte_codes(0, 1, 2, 3, 4)
    index.add(codes, ids=[3, 1, 4, 15, 9])
    short = Codes(np.zeros((1, 1), np.uint8), 7)
    before = index.search(codes, 5)
    calls: dict[str, Callable[[], object]] = {
        "add with a taken id": lambda: index.add(codes[:2], ids=[7, 4]),
        "add with a repeated id": lambda: index.add(codes[:2], ids=[7, 7]),
        "add with too few ids": lambda: index.add(codes[:2], ids=[7]),
        "add with fractional ids": lambda: index.add(codes[:1], ids=[0.5]),
        "add with codes of another length": lambda: index.add(short),
        "search with codes of another length": lambda: index.search(short, 1),
        "within with codes of another length": lambda: index.within(short, 1),
        "search with k=0": lambda: index.search(codes, 0),
        "within with a negative radius": lambda: index.within(codes, -1),
        "remove with an unknown id": lambda: index.remove([3, 5, 77]),
        "codes with an unknown id": lambda: index.codes([5]),
    }
    for subject, call in calls.items():
        assert_raises(call, subject)
    assert_raises(lambda: index.search(codes.packed, 1), "search with an array", TypeError)
    assert_raises(lambda: index.add(codes.packed), "add with an array", TypeError)
    assert_same_results(index.search(codes, 5), before, "search after errors")
    index.add(codes[:1])
    assert_equal(index.codes([16]), codes[:1], "codes of the next id")


def check_model_digest(make_index: Callable[[int], Any]) -> None:
    """Codes of one model keep its digest; codes of another model raise."""
    index, codes = make_index(8), byte_codes(0, 1, 2)
    index.add(codes[:1])
    assert_equal(index.model_digest, None, "model_digest of codes from elsewhere")
    ours, theirs = (replace(codes, model_digest=name) for name in ("ours", "theirs"))
    index.add(ours[1:])
    assert_equal(index.model_digest, "ours", "model_digest")
    assert_equal(index.codes([1]).model_digest, "ours", "model_digest of codes")
    for batch in index.batches():
        assert_equal(batch.codes.model_digest, "ours", "model_digest of a batch")
    for subject, call in (
        ("add", lambda: index.add(theirs)),
        ("search", lambda: index.search(theirs, 1)),
        ("within", lambda: index.within(theirs, 1)),
    ):
        assert_raises(call, f"{subject} with codes of another model", ModelMismatchError)
    assert_equal(len(index), 3, "len after errors")
    assert_equal(index.search(codes, 1).ids.shape, (3, 1), "shape of results")


def check_rerankers(make_index: Callable[[int], Any]) -> None:
    """Re-ranking gives the results of HammingIndex."""
    rng = np.random.default_rng(0)
    X, Q, directions = (rng.standard_normal(s) for s in ((600, 20), (7, 20), (20, 30)))
    codes, queries = Codes.from_bits(X @ directions > 0), Codes.from_bits(Q @ directions > 0)
    reference, index = HammingIndex(30), make_index(30)
    for each in (reference, index):
        each.add(codes)
    for rerank in (
        RerankByVectors(X, Q, n_candidates=60),
        RerankByVectors(X, Q, n_candidates=5, metric="cosine"),
        RerankByEmbedding(Q @ directions, n_candidates=60),
    ):
        expected = reference.search(queries, 9, rerank=rerank)
        found = index.search(queries, 9, rerank=rerank)
        assert_same_results(found, expected, type(rerank).__name__)
    bad = RerankByVectors(X, Q, n_candidates=0)
    assert_raises(lambda: index.search(queries, 5, rerank=bad), "search with n_candidates=0")


INDEX_CHECKS: tuple[Callable[[Callable[[int], Any]], None], ...] = (
    check_results_match_brute_force,
    check_results_match_hamming_index,
    check_ties_go_by_id,
    check_large_k_returns_all,
    check_changes_match_a_dict,
    check_ids_are_not_reused,
    check_extreme_ids,
    check_unsigned_ids,
    check_empty_input,
    check_invalid_input_changes_nothing,
    check_model_digest,
    check_rerankers,
)
