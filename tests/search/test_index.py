"""The index against a naive loop: any codes, any ids, any sequence of changes."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from numpy.typing import NDArray

import bitfold as bf
from bitfold import Codes, HammingIndex
from bitfold.errors import DataError, ModelMismatchError, ParameterError, ParameterTypeError
from bitfold.search import Hits, RadiusHits

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


def to_pairs(hits: Hits) -> list[list[tuple[int, int]]]:
    return [
        [(int(d), int(i)) for d, i in zip(*row, strict=True)]
        for row in zip(hits.distances, hits.ids, strict=True)
    ]


def to_radius_pairs(hits: RadiusHits) -> list[list[tuple[int, int]]]:
    return [
        [(int(hits.distances[e]), int(hits.ids[e])) for e in range(a, b)]
        for a, b in zip(hits.offsets[:-1], hits.offsets[1:], strict=True)
    ]


@st.composite
def collections(draw: st.DrawFn) -> tuple[Bits, Ids, Bits]:
    """Draw codes that repeat, ids in any order, and queries near some of the codes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_bits = draw(st.sampled_from([1, 3, 8, 20, 63, 64, 65, 128, 150, 256, 1024]))
    n = draw(st.integers(1, 60))
    pool = rng.integers(0, 2, (draw(st.integers(1, n)), n_bits), np.uint8)
    database = pool[rng.integers(0, len(pool), n)]
    flips = (rng.random((4, n_bits)) < 0.05).astype(np.uint8)
    queries = database[rng.integers(0, n, 4)] ^ flips
    ids = rng.choice(np.arange(-200, 200), n, replace=False)
    return database, ids.astype(np.int64), queries


@given(collections(), st.integers(1, 70))
def test_search_equals_a_loop(case: tuple[Bits, Ids, Bits], k: int) -> None:
    database, ids, queries = case
    index = bf.HammingIndex(database.shape[1])
    index.add(bf.Codes.from_bits(database), ids=ids)
    hits = index.search(bf.Codes.from_bits(queries), k)
    assert hits.ids.shape == hits.distances.shape == (len(queries), min(k, len(ids)))
    assert to_pairs(hits) == naive_search(queries, database, ids, k)


@given(collections(), st.integers(0, 6))
def test_within_equals_a_loop(case: tuple[Bits, Ids, Bits], radius: int) -> None:
    database, ids, queries = case
    index = bf.HammingIndex(database.shape[1])
    index.add(bf.Codes.from_bits(database), ids=ids)
    hits = index.within(bf.Codes.from_bits(queries), radius)
    assert to_radius_pairs(hits) == naive_within(queries, database, ids, radius)


@given(collections())
def test_buckets_equal_a_loop(case: tuple[Bits, Ids, Bits]) -> None:
    database, ids, _ = case
    index = bf.HammingIndex(database.shape[1])
    half = len(ids) // 2
    index.add(bf.Codes.from_bits(database[:half]), ids=ids[:half])
    index.add(bf.Codes.from_bits(database[half:]), ids=ids[half:])
    expected: dict[bytes, list[int]] = {}
    for i in np.argsort(ids):
        expected.setdefault(database[i].tobytes(), []).append(int(ids[i]))
    codes, offsets, items = buckets = index.buckets()
    assert [row.tobytes() for row in codes.unpack()] == list(expected)
    parts = [items[a:b].tolist() for a, b in itertools.pairwise(offsets)]
    assert parts == list(expected.values())
    assert buckets.sizes.tolist() == list(map(len, parts))


def test_search_on_all_cores() -> None:
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
    # This number of queries is looked up by tables.
    near = index.within(database[:5000], 2)
    assert near.ids[near.offsets[:-1]].tolist() == list(range(5000))


class Changes(RuleBasedStateMachine):
    """Compare the index with a dictionary after every change."""

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
    def compare(self, radius: int) -> None:
        assert len(self.index) == len(self.model)
        ids = np.array(sorted(self.model), np.int64)
        database = np.array([self.model[i] for i in ids.tolist()]).reshape(len(ids), self.n_bits)
        queries = self._bits(3)
        asked = bf.Codes.from_bits(queries)
        for k in {1, 4, max(1, len(ids)), len(ids) + 3}:
            assert to_pairs(self.index.search(asked, k)) == naive_search(queries, database, ids, k)
        found = to_radius_pairs(self.index.within(asked, radius))
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


@pytest.mark.parametrize(
    ("call", "name", "value"),
    [
        (lambda index, query: bf.HammingIndex(0), "n_bits", 0),
        (lambda index, query: bf.HammingIndex(1025), "n_bits", 1025),
        (lambda index, query: index.search(bf.Codes.from_bits([[0]]), 1), "codes", "1 bits"),
        (lambda index, query: index.search(query, 0), "k", 0),
        (lambda index, query: index.search(query, 1.5), "k", "1.5"),
        (lambda index, query: index.within(query, -1), "radius", -1),
        (lambda index, query: index.add(query, ids=[1, 2]), "ids", 2),
        (lambda index, query: index.remove([0.5]), "ids", "dtype float64 of shape (1,)"),
        (lambda index, query: bf.HammingIndex.open("x", mode="w"), "mode", "'w'"),
    ],
)
def test_wrong_parameters(
    index: bf.HammingIndex,
    call: Callable[[bf.HammingIndex, bf.Codes], object],
    name: str,
    value: object,
) -> None:
    with pytest.raises(ParameterError) as error:
        call(index, bf.Codes.from_bits([[0, 0, 0, 0]]))
    assert (error.value.name, error.value.value) == (name, value)
    assert len(index) == 3


@pytest.mark.parametrize(
    ("call", "ids"),
    [
        (lambda index, query: index.add(query, ids=[3]), "3"),
        (lambda index, query: index.add(index.codes([7, 5]), ids=[8, 8]), "8"),
        (lambda index, query: index.remove([3, 4]), "4"),
        (lambda index, query: index.remove([10, 11, 12, 13, 3]), "10, 11, 12 and 1 more"),
        (lambda index, query: index.codes([7, 9]), "9"),
    ],
)
def test_wrong_ids(
    index: bf.HammingIndex, call: Callable[[bf.HammingIndex, bf.Codes], object], ids: str
) -> None:
    with pytest.raises(DataError, match=rf": {ids}\.$"):
        call(index, bf.Codes.from_bits([[0, 0, 0, 0]]))
    assert len(index) == 3


def test_codes_must_be_codes(index: bf.HammingIndex) -> None:
    with pytest.raises(ParameterTypeError, match=r"bitfold\.Codes, got ndarray"):
        index.search(np.zeros((1, 1), np.uint8), 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("removed", [[], [3, 5, 7]])
def test_empty_index(index: bf.HammingIndex, removed: list[int]) -> None:
    index = index if removed else bf.HammingIndex(4)
    index.remove(removed)
    queries = bf.Codes.from_bits([[0, 0, 0, 0], [1, 0, 0, 0]])
    assert len(index) == 0
    assert index.within(queries, 4).offsets.tolist() == [0, 0, 0]
    assert index.search(queries, 1).ids.shape == (2, 0)
    finer = index.search(queries, 1, rerank=bf.RerankByEmbedding(np.ones((2, 4))))
    assert finer.ids.shape == finer.distances.shape == (2, 0)
    finer = index.search(queries, 1, rerank=bf.RerankByVectors(np.ones((9, 3)), np.ones((2, 3))))
    assert finer.ids.shape == finer.distances.shape == (2, 0)
    assert len(index.buckets().codes) == 0
    index.add(queries)
    assert index.search(queries, 1).ids.tolist() == ([[8], [9]] if removed else [[0], [1]])


def test_no_queries(index: bf.HammingIndex) -> None:
    no_queries = bf.Codes(np.empty((0, 1), np.uint8), 4)
    assert index.search(no_queries, 2).ids.shape == (0, 2)
    assert index.search(no_queries, 9).ids.shape == (0, 3)
    assert index.within(no_queries, 2).offsets.tolist() == [0]


def test_large_k_returns_all_items(index: bf.HammingIndex) -> None:
    query = bf.Codes.from_bits([[0, 0, 0, 0]])
    assert index.search(query, 10**9).ids.tolist() == [[7, 3, 5]]
    embedding = np.array([[-1.0, -1.0, -1.0, -3.0]])
    for rerank in (
        bf.RerankByEmbedding(embedding),
        bf.RerankByEmbedding(embedding, n_candidates=1),
        bf.RerankByVectors([[3.0], [1.0], [0.0]], [[1.0]], ids=[5, 3, 7]),
    ):
        hits = index.search(query, 4, rerank=rerank)
        assert hits.distances.shape == (1, 3)
        assert sorted(hits.ids[0]) == [3, 5, 7]


def test_lookups_between_changes(index: bf.HammingIndex) -> None:
    query = bf.Codes.from_bits([[0, 0, 0, 0]])
    for number in range(20, 40):
        index.within(query, 1)
        index.add(query, ids=[number])
    assert index.within(query, 0).ids.tolist() == [7, *range(20, 40)]


def read_batches(index: bf.HammingIndex) -> dict[int, bytes]:
    """Return the code of each id in the batches, in which each id must appear once."""
    pairs = [(i, c.tobytes()) for ids, codes, *_ in index.batches() for i, c in zip(
        ids.tolist(), codes.packed, strict=True)]  # fmt: skip
    assert len({number for number, _ in pairs}) == len(pairs)
    return dict(pairs)


@pytest.mark.parametrize("n_bits", [3, 64, 150])
@pytest.mark.parametrize("size", [1, 7, 1 << 17])
def test_batches_contain_all_codes(
    n_bits: int, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bitfold.search.generation._CODES_PER_BATCH", size)
    rng = np.random.default_rng(0)
    codes = bf.Codes.from_bits(rng.integers(0, 2, (60, n_bits), np.uint8))
    ids = rng.permutation(1000)[:60] - 500
    index = bf.HammingIndex(n_bits)
    assert read_batches(index) == {}
    index.add(codes[:40], ids=ids[:40])
    index.add(codes[40:], ids=ids[40:])
    index.remove(ids[5:20])
    expected = {int(i): c.tobytes() for i, c in zip(ids, codes.packed, strict=True)}
    for number in ids[5:20].tolist():
        del expected[number]
    assert read_batches(index) == expected
    assert all(len(part.ids) == len(part.codes) <= size for part in index.batches())
    index.save(tmp_path / "i")
    with bf.HammingIndex.open(tmp_path / "i", mode="a") as stored:
        assert read_batches(stored) == expected
        walk = stored.batches()
        first = next(walk)
        # The iteration continues with the codes that were present at its start.
        stored.remove(list(expected))
        assert sum(len(part.ids) for part in walk) == len(expected) - len(first.ids)
        assert read_batches(stored) == {}


def test_reader_and_writer(tmp_path: Path, index: bf.HammingIndex) -> None:
    index.save(tmp_path / "i")
    reader = bf.HammingIndex.open(tmp_path / "i")
    query = bf.Codes.from_bits([[0, 0, 0, 0]])
    with pytest.raises(PermissionError, match="mode 'a'"):
        reader.add(query)
    with bf.HammingIndex.open(tmp_path / "i", mode="a") as writer:
        writer.add(query)
        with pytest.raises(OSError, match="already open for writing"):
            bf.HammingIndex.open(tmp_path / "i", mode="a")
        writer.remove([7])
        assert bf.HammingIndex.open(tmp_path / "i").search(query, 1).ids.tolist() == [[8]]
    assert reader.search(query, 1).ids.tolist() == [[7]]  # the snapshot it opened


BITS = np.random.default_rng(0).integers(0, 2, (20, 12))


def make_codes(digest: str | None) -> Codes:
    return Codes(Codes.from_bits(BITS).packed, 12, digest)


def make_index(*digests: str | None) -> HammingIndex:
    index = HammingIndex(12)
    for digest in digests:
        index.add(make_codes(digest))
    return index


@pytest.mark.parametrize(
    ("digests", "expected"),
    [([], None), ([None], None), (["a"], "a"), ([None, "a"], "a"), (["a", None, "a"], "a")],
)
def test_index_adopts_the_known_digest(digests: list[str | None], expected: str | None) -> None:
    index = make_index(*digests)
    assert index.model_digest == expected
    if digests:
        assert index.codes([0]).model_digest == expected
        assert {batch.codes.model_digest for batch in index.batches()} == {expected}


def test_other_models_raise() -> None:
    index = make_index("3f2a")
    other = make_codes("77bc")
    for call in (index.add, index.search, index.within):
        with pytest.raises(ModelMismatchError, match=r"3f2a .* 77bc"):
            call(other)
    assert (len(index), index.model_digest) == (20, "3f2a")


@pytest.mark.parametrize(("stored", "query"), [("a", "a"), ("a", None), (None, "a"), (None, None)])
def test_unknown_models_are_accepted(stored: str | None, query: str | None) -> None:
    index = make_index(stored)
    assert index.search(make_codes(query), k=1).distances.max() == 0
    assert len(index.within(make_codes(query), radius=0).ids) >= 20
    assert index.model_digest == stored


def test_digest_survives_saving_and_changes(tmp_path: Path) -> None:
    path = tmp_path / "index"
    make_index("3f2a").save(path)
    with HammingIndex.open(path, "a") as index:
        assert index.model_digest == "3f2a"
        index.remove([0])
        index.add(make_codes(None))
        with pytest.raises(ModelMismatchError):
            index.add(make_codes("77bc"))
    assert HammingIndex.open(path).model_digest == "3f2a"


def test_digest_is_learned_by_an_index_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "index"
    make_index(None).save(path)
    with HammingIndex.open(path, "a") as index:
        index.add(make_codes("3f2a"))
    assert HammingIndex.open(path).model_digest == "3f2a"


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint64, np.int64])
def test_numpy_integers_are_radius_and_k(kind: Any) -> None:
    index = HammingIndex(1024)
    bits = np.random.default_rng(0).integers(0, 2, (40, 1024))
    codes = Codes.from_bits(bits)
    index.add(codes)
    for number in (1, 100):
        found, expected = index.within(codes, kind(number)), index.within(codes, number)
        np.testing.assert_array_equal(found.ids, expected.ids)
        hits = index.search(codes, kind(number))
        assert hits.ids.shape == (40, min(number, 40))
        np.testing.assert_array_equal(hits.ids, index.search(codes, number).ids)


def test_adding_nothing_after_the_last_id_is_allowed() -> None:
    index = HammingIndex(8)
    codes = Codes(np.zeros((1, 1), np.uint8), 8)
    index.add(codes, [2**63 - 1])
    index.add(codes[:0])
    index.add(codes[:0], [])
    with pytest.raises(DataError, match="no automatic ids left"):
        index.add(codes)
    index.add(codes, [-(2**63)])
    assert len(index) == 2


def test_masked_ids_are_rejected() -> None:
    index = HammingIndex(8)
    codes = Codes(np.zeros((2, 1), np.uint8), 8)
    with pytest.raises(DataError, match="masked"):
        index.add(codes, np.ma.masked_array([1, 2], [False, True]))
