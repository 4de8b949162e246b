"""The index against a ten-line loop: any codes, any ids, any sequence of changes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from numpy.typing import NDArray

import bitfold as bf
from bitfold.search import Hits, RadiusHits, lookup

Bits = NDArray[np.uint8]
Ids = NDArray[np.int64]


def naive_distances(queries: Bits, database: Bits) -> NDArray[np.int64]:
    return np.array([[int((q != d).sum()) for d in database] for q in queries]).reshape(
        len(queries), len(database)
    )


def naive_search(queries: Bits, database: Bits, ids: Ids, k: int) -> list[list[tuple[int, int]]]:
    distances = naive_distances(queries, database)
    return [
        sorted((int(d), int(i)) for d, i in zip(row, ids, strict=True))[:k] for row in distances
    ]


def naive_within(queries: Bits, database: Bits, ids: Ids, r: int) -> list[list[tuple[int, int]]]:
    ranked = naive_search(queries, database, ids, len(ids))
    return [[(d, i) for d, i in row if d <= r] for row in ranked]


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


@st.composite
def collections(draw: st.DrawFn) -> tuple[Bits, Ids, Bits]:
    """Codes that repeat, ids in any order, queries near some of them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_bits = draw(st.sampled_from([1, 3, 8, 20, 63, 64, 65, 128, 150, 256, 1024]))
    n = draw(st.integers(1, 60))
    pool = rng.integers(0, 2, (draw(st.integers(1, n)), n_bits), np.uint8)
    database = pool[rng.integers(0, len(pool), n)]
    flips = (rng.random((4, n_bits)) < 0.05).astype(np.uint8)
    queries = database[rng.integers(0, n, 4)] ^ flips
    ids = rng.choice(np.arange(-200, 200), n, replace=False)
    return database, ids.astype(np.int64), queries


@given(collections(), st.integers(1, 60))
def test_ranking_is_the_naive_one(case: tuple[Bits, Ids, Bits], k: int) -> None:
    database, ids, queries = case
    index = bf.HammingIndex(database.shape[1])
    index.add(bf.Codes.from_bits(database), ids=ids)
    k = min(k, len(ids))
    hits = index.search(bf.Codes.from_bits(queries), k)
    assert pairs(hits) == naive_search(queries, database, ids, k)


@given(collections(), st.integers(0, 6))
def test_lookup_is_the_naive_one_by_scan_and_by_buckets(
    case: tuple[Bits, Ids, Bits], radius: int
) -> None:
    database, ids, queries = case
    n_bits = database.shape[1]
    index = bf.HammingIndex(n_bits)
    index.add(bf.Codes.from_bits(database), ids=ids)
    asked = bf.Codes.from_bits(queries)
    expected = naive_within(queries, database, ids, radius)
    assert near_pairs(index.within(asked, radius)) == expected
    table = lookup.Lookup(index._segments[0], n_bits)
    plan = lookup.best_plan(8 * -(-n_bits // 8), len(database), min(radius, n_bits))
    if sum(2**width for width in plan.widths) > 1 << 18:
        return  # tables too large for a quick test
    table.prepare(plan)
    by_buckets = table.within(asked.words(), radius, plan)
    by_scan = table.within(asked.words(), radius, None)
    assert np.array_equal(by_buckets.keys, by_scan.keys)
    assert np.array_equal(by_buckets.offsets, by_scan.offsets)


def test_many_queries_and_codes_on_all_cores() -> None:
    rng = np.random.default_rng(0)
    database = bf.Codes(rng.integers(0, 256, (70_000, 8), np.uint8), 64)
    queries = bf.Codes(rng.integers(0, 256, (300, 8), np.uint8), 64)
    index = bf.HammingIndex(64)
    index.add(database)
    together = index.search(queries, 10)
    alone = [index.search(queries[i], 10) for i in range(3)]
    big = index.search(queries[:3], 5000)
    for i in range(3):
        distances = np.bitwise_count(database.words()[:, 0] ^ queries.words()[i, 0])
        order = np.argsort(distances, kind="stable")[:5000]
        assert np.array_equal(together.ids[i], order[:10])
        assert np.array_equal(alone[i].ids[0], order[:10])
        assert np.array_equal(big.ids[i], order)
        assert np.array_equal(big.distances[i], distances[order])
    # Queries enough, codes enough: buckets are chosen, and agree with the ranking.
    assert lookup.Lookup(index._segments[0], 64).plan(5000, 2) is not None
    near = index.within(database[:5000], 2)
    assert near.ids[near.offsets[:-1]].tolist() == list(range(5000))


def test_cost_model_scans_a_small_collection_and_a_large_radius() -> None:
    rng = np.random.default_rng(0)
    index = bf.HammingIndex(64)
    index.add(bf.Codes(rng.integers(0, 256, (500, 8), np.uint8), 64))
    table = lookup.Lookup(index._segments[0], 64)
    assert table.plan(1000, 2) is None
    index = bf.HammingIndex(64)
    index.add(bf.Codes(rng.integers(0, 256, (200_000, 8), np.uint8), 64))
    table = lookup.Lookup(index._segments[0], 64)
    assert table.plan(1000, 20) is None
    assert table.plan(1000, 1) is not None
    assert table.plan(1, 1) is None  # one query does not pay for the tables


@pytest.mark.parametrize("radius", range(9))
@pytest.mark.parametrize("n_bits", [8, 24, 64, 128, 1024])
def test_plan_covers_the_radius(n_bits: int, radius: int) -> None:
    """However a distance of ``radius`` is spread over the parts, one part is probed far enough."""
    plan = lookup.best_plan(n_bits, 10**6, min(radius, n_bits))
    beyond = sum(r + 1 for r in plan.radii)
    assert beyond > min(radius, n_bits)
    assert max(plan.widths) <= 24


class Changes(RuleBasedStateMachine):
    """Add, remove, save, open, append: after each, the index is the plain model."""

    @initialize(n_bits=st.sampled_from([5, 16, 70]), seed=st.integers(0, 1000))
    def start(self, n_bits: int, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.n_bits = n_bits
        self.model: dict[int, Bits] = {}
        self.next_id = 0
        self.index = bf.HammingIndex(n_bits)
        self.folder = Path(tempfile.mkdtemp())

    def _bits(self, n: int) -> Bits:
        pool = np.random.default_rng(7).integers(0, 2, (12, self.n_bits), np.uint8)
        return pool[self.rng.integers(0, 12, n)]

    @rule(n=st.integers(0, 12))
    def add(self, n: int) -> None:
        bits = self._bits(n)
        self.index.add(bf.Codes.from_bits(bits))
        self.model.update({self.next_id + i: row for i, row in enumerate(bits)})
        self.next_id += n

    @rule(n=st.integers(1, 6), gap=st.integers(1, 50))
    def add_with_ids(self, n: int, gap: int) -> None:
        bits = self._bits(n)
        ids = self.next_id + gap * np.arange(n)[::-1]
        self.index.add(bf.Codes.from_bits(bits), ids=ids)
        self.model.update(dict(zip(ids.tolist(), bits, strict=True)))
        self.next_id = int(ids.max()) + 1

    @precondition(lambda self: self.model)
    @rule(share=st.floats(0, 1))
    def remove(self, share: float) -> None:
        known = sorted(self.model)
        gone = self.rng.choice(known, max(1, int(share * len(known))), replace=False)
        self.index.remove(gone)
        for i in gone.tolist():
            del self.model[i]

    @rule()
    def save_and_open(self) -> None:
        path = self.folder / "saved"
        self.index.save(path)
        self.index.close()
        self.index = bf.HammingIndex.open(path, mode="a")

    @rule()
    def reopen(self) -> None:
        if self.index._folder is not None:
            self.index.close()
            self.index = bf.HammingIndex.open(self.folder / "saved", mode="a")

    @rule(radius=st.integers(0, 5))
    def agrees(self, radius: int) -> None:
        assert len(self.index) == len(self.model)
        if not self.model:
            return
        ids = np.array(sorted(self.model))
        database = np.array([self.model[i] for i in ids.tolist()])
        queries = self._bits(3)
        asked = bf.Codes.from_bits(queries)
        for k in {1, min(4, len(ids)), len(ids)}:
            assert pairs(self.index.search(asked, k)) == naive_search(queries, database, ids, k)
        found = near_pairs(self.index.within(asked, radius))
        assert found == naive_within(queries, database, ids, radius)
        assert np.array_equal(self.index.codes(ids).unpack(), database)

    def teardown(self) -> None:
        self.index.close()
        shutil.rmtree(self.folder)


TestChanges = Changes.TestCase
TestChanges.settings = settings(max_examples=30, stateful_step_count=15, deadline=None)


@pytest.fixture
def index() -> bf.HammingIndex:
    index = bf.HammingIndex(4)
    index.add(bf.Codes.from_bits([[0, 0, 0, 0], [0, 0, 0, 1], [1, 1, 1, 1]]), ids=[7, 3, 5])
    return index


def test_errors_are_one_sentence(index: bf.HammingIndex) -> None:
    query = bf.Codes.from_bits([[0, 0, 0, 0]])
    wrong = bf.Codes.from_bits([[0, 0, 0]])
    refusals: list[tuple[Callable[[], object], str]] = [
        (lambda: bf.HammingIndex(0), "n_bits of HammingIndex must be at least 1, got 0."),
        (lambda: bf.HammingIndex(1025), "n_bits of HammingIndex must be at most 1024, got 1025."),
        (lambda: index.search(wrong, 1), "codes of HammingIndex must be of 4 bits, got 3 bits."),
        (lambda: index.search(query, 0), "k of search must be at least 1, got 0."),
        (
            lambda: index.search(query, 4),
            "k of search must be at most the 3 codes of the index, got 4.",
        ),
        (lambda: index.within(query, -1), "radius of within must be at least 0, got -1."),
        (
            lambda: index.add(query, ids=[3]),
            "ids of HammingIndex must be new and all different, got 3.",
        ),
        (
            lambda: index.add(index.codes([7, 5]), ids=[8, 8]),
            "ids of HammingIndex must be new and all different, got 8.",
        ),
        (
            lambda: index.add(query, ids=[1, 2]),
            "ids of HammingIndex must be one for each of the 1 codes, got 2.",
        ),
        (lambda: index.remove([3, 4]), "ids of HammingIndex must be in the index, got 4."),
        (
            lambda: index.remove([10, 11, 12, 13, 3]),
            "ids of HammingIndex must be in the index, got 10, 11, 12 and 1 more.",
        ),
        (
            lambda: index.remove([0.5]),
            "ids of HammingIndex must be a list of integers of at most 64 bits, "
            "got dtype float64 of shape (1,).",
        ),
        (
            lambda: bf.HammingIndex.open("x", mode="w"),
            "mode of HammingIndex.open must be one of 'r', 'a', got 'w'.",
        ),
    ]
    for call, message in refusals:
        with pytest.raises(ValueError) as error:
            call()
        assert str(error.value) == message
    with pytest.raises(TypeError, match=r"codes must be bitfold\.Codes, got ndarray\."):
        index.search(np.zeros((1, 1), np.uint8), 1)  # type: ignore[arg-type]
    assert len(index) == 3  # a refused change changes nothing


def test_empty_index(index: bf.HammingIndex) -> None:
    index.remove([3, 5, 7])
    query = bf.Codes.from_bits([[0, 0, 0, 0]])
    assert len(index) == 0
    assert index.within(query, 4).offsets.tolist() == [0, 0]
    with pytest.raises(ValueError, match="at most the 0 codes"):
        index.search(query, 1)
    index.add(query)
    assert index.search(query, 1).ids.tolist() == [[8]]  # ids are not used twice


def test_no_queries(index: bf.HammingIndex) -> None:
    nothing = bf.Codes(np.empty((0, 1), np.uint8), 4)
    assert index.search(nothing, 2).ids.shape == (0, 2)
    assert index.within(nothing, 2).offsets.tolist() == [0]


def content(index: bf.HammingIndex) -> dict[int, bytes]:
    """All that batches give, which must have each id once."""
    held = [(i, c.tobytes()) for ids, codes, *_ in index.batches() for i, c in zip(
        ids.tolist(), codes.packed, strict=True)]  # fmt: skip
    assert len({number for number, _ in held}) == len(held)
    return dict(held)


@pytest.mark.parametrize("n_bits", [3, 64, 150])
@pytest.mark.parametrize("size", [1, 7, 1 << 17])
def test_batches_walk_what_is_there(
    n_bits: int, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bitfold.search.index._BATCH_CODES", size)
    rng = np.random.default_rng(0)
    codes = bf.Codes.from_bits(rng.integers(0, 2, (60, n_bits), np.uint8))
    ids = rng.permutation(1000)[:60] - 500
    index = bf.HammingIndex(n_bits)
    assert content(index) == {}
    index.add(codes[:40], ids=ids[:40])
    index.add(codes[40:], ids=ids[40:])
    index.remove(ids[5:20])
    expected = {int(i): c.tobytes() for i, c in zip(ids, codes.packed, strict=True)}
    for number in ids[5:20].tolist():
        del expected[number]
    assert content(index) == expected
    assert all(len(part.ids) == len(part.codes) <= size for part in index.batches())
    index.save(tmp_path / "i")
    with bf.HammingIndex.open(tmp_path / "i", mode="a") as stored:
        assert content(stored) == expected
        walk = stored.batches()
        first = next(walk)
        stored.remove(list(expected))  # whoever walks sees what was there when it began
        assert sum(len(part.ids) for part in walk) == len(expected) - len(first.ids)
        assert content(stored) == {}


def test_reader_and_writer(tmp_path: Path, index: bf.HammingIndex) -> None:
    index.save(tmp_path / "i")
    reader = bf.HammingIndex.open(tmp_path / "i")
    query = bf.Codes.from_bits([[0, 0, 0, 0]])
    with pytest.raises(PermissionError, match="mode 'a'"):
        reader.add(query)
    with bf.HammingIndex.open(tmp_path / "i", mode="a") as writer:
        writer.add(query)
        with pytest.raises(OSError, match="already open to be written"):
            bf.HammingIndex.open(tmp_path / "i", mode="a")
        writer.remove([7])
        assert bf.HammingIndex.open(tmp_path / "i").search(query, 1).ids.tolist() == [[8]]
    assert reader.search(query, 1).ids.tolist() == [[7]]  # the snapshot it opened
