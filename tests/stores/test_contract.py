"""One suite for ``HammingIndex`` and every store: the same ids, the same distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.stores.conftest import KINDS, STORES, Make

import bitfold as bf
from bitfold.search import Hits, RadiusHits
from bitfold.stores import RerankByStoredVectors

Bits = NDArray[np.uint8]
Ids = NDArray[np.int64]
Case = tuple[Bits, Ids, Bits]

some = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
every_kind = pytest.mark.parametrize("kind", KINDS)
every_store = pytest.mark.parametrize("kind", STORES)

SMALLEST, LARGEST = -(1 << 63), (1 << 63) - 1


def naive(queries: Bits, database: Bits, ids: Ids) -> list[list[tuple[int, int]]]:
    """All (distance, id) of each query, in order."""
    return [
        sorted((int((q != d).sum()), int(i)) for d, i in zip(database, ids, strict=True))
        for q in queries
    ]


def pairs(hits: Hits) -> list[list[tuple[int, int]]]:
    return [
        [(int(d), int(i)) for d, i in zip(*row, strict=True)]
        for row in zip(hits.distances, hits.ids, strict=True)
    ]


def near_pairs(near: RadiusHits) -> list[list[tuple[int, int]]]:
    return [
        [(int(near.distances[e]), int(near.ids[e])) for e in range(a, b)]
        for a, b in zip(near.offsets[:-1], near.offsets[1:], strict=True)
    ]


def same(a: Any, b: Any) -> bool:
    """Whether two answers are equal to the last bit, types included."""
    return all(
        np.array_equal(x, y) and x.dtype == y.dtype and x.shape == y.shape
        for x, y in zip(a, b, strict=True)
    )


@st.composite
def collections(draw: st.DrawFn) -> Case:
    """Codes that repeat, ids in any order, queries near some of them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_bits = draw(st.sampled_from([1, 3, 8, 20, 63, 64, 65, 150, 1024]))
    n = draw(st.integers(1, 40))
    pool = rng.integers(0, 2, (draw(st.integers(1, n)), n_bits), np.uint8)
    database = pool[rng.integers(0, len(pool), n)]
    flips = (rng.random((4, n_bits)) < 0.05).astype(np.uint8)
    queries = database[rng.integers(0, n, 4)] ^ flips
    ids = rng.choice(np.arange(-200, 200), n, replace=False)
    return database, ids.astype(np.int64), queries


@every_kind
@some
@given(case=collections(), k=st.integers(1, 40), radius=st.integers(0, 6))
def test_answers_are_the_naive_ones(kind: str, make: Make, case: Case, k: int, radius: int) -> None:
    database, ids, queries = case
    if kind == "BHash3x1" and database.shape[1] < 3:
        return  # three tables of a bit each need three bits
    store = make(kind, database.shape[1])
    store.add(bf.Codes.from_bits(database), ids=ids)
    expected, asked = naive(queries, database, ids), bf.Codes.from_bits(queries)
    k = min(k, len(ids))
    assert pairs(store.search(asked, k)) == [row[:k] for row in expected]
    found = near_pairs(store.within(asked, radius))
    assert found == [[(d, i) for d, i in row if d <= radius] for row in expected]
    assert store.count() == len(ids)
    assert np.array_equal(store.codes(ids[::-1]).unpack(), database[::-1])


@every_store
def test_answers_are_those_of_the_index(kind: str, make: Make) -> None:
    """Many codes, few of them distinct: at every k the k-th distance is shared."""
    rng = np.random.default_rng(1)
    pool: Bits = rng.integers(0, 256, (50, 3), np.uint8)
    pool[:, 2] &= 0b1111_0000
    codes = bf.Codes(pool[rng.integers(0, 50, 2000)], 20)
    queries = bf.Codes(pool[:30] ^ np.array([1, 0, 0], np.uint8), 20)
    ids = rng.permutation(100_000)[:2000] - 50_000
    index, store = bf.HammingIndex(20), make(kind, 20)
    index.add(codes, ids=ids)
    store.add(codes[:700], ids=ids[:700])
    store.add(codes[700:], ids=ids[700:])
    for k in (1, 7, 60, 1999, 2000):
        assert same(store.search(queries, k), index.search(queries, k))
    for radius in (0, 1, 3, 8, 20, 1000):
        assert same(store.within(queries, radius), index.within(queries, radius))
    gone = ids[::3]
    index.remove(gone)
    store.delete(gone)
    assert same(store.search(queries, 25), index.search(queries, 25))
    assert same(store.within(queries, 5), index.within(queries, 5))


@every_kind
def test_a_tie_at_the_cut_is_broken_by_id(kind: str, make: Make) -> None:
    store = make(kind, 16)
    ids = np.random.default_rng(0).permutation(500)
    store.add(bf.Codes(np.full((500, 2), 7, np.uint8), 16), ids=ids)
    found = store.search(bf.Codes(np.full((3, 2), 7, np.uint8), 16), 9)
    assert found.ids.tolist() == [list(range(9))] * 3
    assert found.distances.dtype == np.int32


@every_kind
def test_changes_follow_a_plain_model(kind: str, make: Make) -> None:
    rng = np.random.default_rng(5)
    store, model, next_id = make(kind, 12), {}, 0
    for _ in range(12):
        bits = rng.integers(0, 2, (int(rng.integers(0, 9)), 12), np.uint8)
        if rng.random() < 0.5:
            ids = np.arange(next_id, next_id + len(bits))
            store.add(bf.Codes.from_bits(bits.reshape(-1, 12)))
        else:
            ids = next_id + 3 * np.arange(len(bits))[::-1]
            store.add(bf.Codes.from_bits(bits.reshape(-1, 12)), ids=ids)
        model.update(dict(zip(ids.tolist(), bits, strict=True)))
        next_id = max([next_id, *(ids + 1).tolist()])
        if len(model) > 6:
            gone = rng.choice(sorted(model), 3, replace=False)
            store.delete(gone)
            for number in gone.tolist():
                del model[number]
        assert store.count() == len(model)
        if model:
            known, queries = np.array(sorted(model)), rng.integers(0, 2, (2, 12), np.uint8)
            database = np.array([model[i] for i in known.tolist()])
            expected = naive(queries, database, known)
            found = pairs(store.search(bf.Codes.from_bits(queries), len(model)))
            assert found == expected


@every_kind
def test_ids_are_not_given_twice(kind: str, make: Make) -> None:
    store = make(kind, 8)
    three = bf.Codes(np.arange(3, dtype=np.uint8)[:, None], 8)
    store.add(three)
    store.delete([1, 2])
    store.add(three[:1])
    store.add(three[:2], ids=[-7, 20])
    store.add(three[:1])
    assert store.search(three[:1], 4).ids.tolist() == [[-7, 0, 3, 21]]


@every_kind
def test_ids_as_large_and_small_as_they_get(kind: str, make: Make) -> None:
    store = make(kind, 8)
    codes = bf.Codes(np.zeros((4, 1), np.uint8), 8)
    ids = [LARGEST, SMALLEST, -1, 0]
    store.add(codes, ids=ids)
    assert store.search(codes[:1], 4).ids.tolist() == [sorted(ids)]
    assert store.within(codes[:1], 0).ids.tolist() == sorted(ids)
    store.delete([SMALLEST, LARGEST])
    assert store.search(codes[:1], 2).ids.tolist() == [[-1, 0]]
    store.delete([-1])
    assert store.search(codes[:1], 1).ids.tolist() == [[0]]


@every_kind
def test_no_id_is_left_after_the_largest(kind: str, make: Make) -> None:
    store = make(kind, 8)
    code = bf.Codes(np.zeros((1, 1), np.uint8), 8)
    store.add(code, ids=[LARGEST])
    with pytest.raises(ValueError, match="must be given: none are left after 9223372036854775807"):
        store.add(code)
    assert store.count() == 1


@every_kind
def test_nothing_in_nothing_out(kind: str, make: Make) -> None:
    store = make(kind, 9)
    nothing, one = bf.Codes(np.empty((0, 2), np.uint8), 9), bf.Codes(np.zeros((1, 2), np.uint8), 9)
    store.add(nothing)
    assert store.count() == 0
    assert store.within(one, 9).offsets.tolist() == [0, 0]
    assert store.within(nothing, 9).offsets.tolist() == [0]
    with pytest.raises(ValueError, match="k of search must be at most the 0 codes of the"):
        store.search(one, 1)
    store.add(one)
    assert store.search(nothing, 1).ids.shape == (0, 1)
    assert store.within(nothing, 3).offsets.tolist() == [0]
    store.delete([])
    store.delete([0])
    assert store.count() == 0


@every_kind
def test_refusals_change_nothing(kind: str, make: Make) -> None:
    store = make(kind, 8)
    codes = bf.Codes(np.arange(5, dtype=np.uint8)[:, None], 8)
    store.add(codes, ids=[3, 1, 4, 15, 9])
    narrow = bf.Codes(np.zeros((1, 1), np.uint8), 7)
    refusals: list[tuple[Callable[[], object], str]] = [
        (lambda: store.add(codes[:2], ids=[7, 4]), "must be new and all different, got 4."),
        (lambda: store.add(codes[:2], ids=[7, 7]), "must be new and all different, got 7."),
        (lambda: store.add(codes[:2], ids=[7]), "must be one for each of the 2 codes, got 1."),
        (lambda: store.add(codes[:1], ids=[0.5]), "must be a list of integers"),
        (lambda: store.add(narrow), "must be of 8 bits, got 7 bits."),
        (lambda: store.search(narrow, 1), "must be of 8 bits, got 7 bits."),
        (lambda: store.within(narrow, 1), "must be of 8 bits, got 7 bits."),
        (lambda: store.search(codes, 0), "k of search must be at least 1, got 0."),
        (lambda: store.search(codes, 6), "k of search must be at most the 5 codes of the"),
        (lambda: store.search(codes[:0], 6), "k of search must be at most the 5 codes of the"),
        (lambda: store.within(codes, -1), "radius of within must be at least 0, got -1."),
        (lambda: store.delete([3, 5, 77]), "must be in the "),
        (lambda: store.codes([5]), "must be in the "),
    ]
    for call, message in refusals:
        with pytest.raises(ValueError) as error:
            call()
        assert message in str(error.value)
        assert str(error.value).endswith(".")
        assert "\n" not in str(error.value)
    with pytest.raises(TypeError, match=r"codes must be bitfold\.Codes, got ndarray\."):
        store.add(np.zeros((1, 1), np.uint8))
    assert store.search(codes[:1], 5).ids.tolist() == [[3, 1, 4, 9, 15]]


@every_kind
def test_an_id_beyond_64_bits_is_refused(kind: str, make: Make) -> None:
    store = make(kind, 8)
    codes = bf.Codes(np.zeros((2, 1), np.uint8), 8)
    store.add(codes, ids=[-1, 5])  # what 2^64 - 1 would be, were it to wrap
    huge, fits = np.array([(1 << 64) - 1], np.uint64), np.array([5], np.uint64)
    calls: list[Callable[[Any], object]] = [
        lambda ids: store.add(codes[:1], ids=ids),
        lambda ids: store.codes(ids),
        lambda ids: store.delete(ids),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="must be at most 9223372036854775807, got 184467440"):
            call(huge)
        with pytest.raises(ValueError, match="integers of at most 64 bits"):
            call([1 << 70])
    assert store.count() == 2
    store.delete(fits)
    assert store.search(codes[:1], 1).ids.tolist() == [[-1]]


class TestTwoStages:
    """Hamming candidates, then something finer, in one call: as the index does it."""

    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 20)).astype(np.float32)
    Q = rng.standard_normal((7, 20)).astype(np.float32)
    directions = rng.standard_normal((20, 30)).astype(np.float32)

    def codes(self, vectors: Any) -> bf.Codes:
        return bf.Codes.from_bits(vectors @ self.directions > 0)

    def filled(self, kind: str, make: Make) -> tuple[Any, bf.HammingIndex]:
        index = bf.HammingIndex(30)
        index.add(self.codes(self.X))
        if kind.startswith("B"):
            store = make(kind, 30, vectors=self.X)
            store.add(self.codes(self.X))
        else:
            store = make(kind, 30, n_features=20)
            store.add(self.codes(self.X), vectors=self.X)
        return store, index

    @every_store
    @pytest.mark.parametrize("metric", ["l2", "ip", "cosine"])
    def test_stored_originals(self, kind: str, make: Make, metric: str) -> None:
        store, index = self.filled(kind, make)
        asked = self.codes(self.Q)
        for candidates in (5, 50, 10_000):
            expected = index.search(
                asked, 8, rerank=bf.RerankByVectors(self.X, self.Q, candidates, metric)
            )
            found = store.search(asked, 8, rerank=RerankByStoredVectors(self.Q, candidates, metric))
            assert same(found, expected)
        assert store.search(asked[:0], 8, rerank=RerankByStoredVectors(self.Q[:0])).ids.shape == (
            0,
            8,
        )

    @every_store
    def test_the_rerankers_of_the_index(self, kind: str, make: Make) -> None:
        store, index = self.filled(kind, make)
        asked = self.codes(self.Q)
        for rerank in (
            bf.RerankByVectors(self.X, self.Q, n_candidates=60),
            bf.RerankByEmbedding(self.Q @ self.directions, n_candidates=60),
        ):
            expected = index.search(asked, 9, rerank=rerank)
            assert same(store.search(asked, 9, rerank=rerank), expected)

    @every_store
    def test_refusals(self, kind: str, make: Make) -> None:
        store, _ = self.filled(kind, make)
        asked = self.codes(self.Q)
        with pytest.raises(ValueError, match="queries of Originals must be one for each of the 7"):
            store.search(asked, 5, rerank=RerankByStoredVectors(self.Q[:3]))
        with pytest.raises(ValueError, match="metric of Rerank must be one of 'l2', 'ip'"):
            store.search(asked, 5, rerank=RerankByStoredVectors(self.Q, metric="l1"))
        with pytest.raises(ValueError, match="candidates of Originals must be at least 1, got 0"):
            store.search(asked, 5, rerank=RerankByStoredVectors(self.Q, n_candidates=0))
        plain = make(kind, 30)
        plain.add(asked)
        with pytest.raises(ValueError, match="must be given to create"):
            plain.search(asked, 5, rerank=RerankByStoredVectors(self.Q))


@every_store
def test_the_engines_index_finds_most_and_always_enough(kind: str, make: Make) -> None:
    rng = np.random.default_rng(0)
    codes = bf.Codes(rng.integers(0, 256, (3000, 8), np.uint8), 64)
    queries = bf.Codes(codes.packed[:40] ^ np.array([1, 2, 0, 0, 0, 0, 0, 4], np.uint8), 64)
    store = make(kind, 64)
    store.add(codes)
    if hasattr(store, "build_index"):
        store.build_index()
    exact, quick = store.search(queries, 10), store.search(queries, 10, exact=False)
    assert quick.ids.shape == (40, 10)
    assert quick.distances.dtype == np.int32
    # The code that the query was made of lies far nearer than any other.
    assert np.mean(quick.ids[:, 0] == np.arange(40)) > 0.7
    truth = np.bitwise_count(codes.words()[quick.ids][:, :, 0] ^ queries.words())
    assert np.array_equal(quick.distances, truth)
    assert (quick.distances >= exact.distances).all()
    assert same(store.search(queries, 3000, exact=False), store.search(queries, 3000))
    store.add(queries, ids=-1 - np.arange(40))  # where faiss says -1, it may mean one or none
    found = store.search(queries, 1, exact=False)
    assert np.mean(found.ids[:, 0] == -1 - np.arange(40)) > 0.7
    assert found.distances[found.ids < 0].tolist() == [0] * int((found.ids < 0).sum())
