"""Any sequence of changes, compared with a dictionary."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.collection.conftest import exact_distances

import bitfold as bf
from bitfold.errors import DataError
from bitfold.hashers import LSH

N_FEATURES = 3
KINDS = ("news", "blog", None)


class CollectionMachine(RuleBasedStateMachine):
    """Changes a collection and a dictionary of its items in the same way."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.items: dict[Any, tuple[Any, int, str | None]] = {}
        self.next_id = 0
        self.n_added = 0

    @initialize(
        text_ids=st.booleans(),
        metric=st.sampled_from(["euclidean", "cosine"]),
        has_metadata=st.booleans(),
    )
    def create(self, text_ids: bool, metric: str, has_metadata: bool) -> None:
        self.text_ids, self.metric, self.has_metadata = text_ids, metric, has_metadata
        columns = {"year": int, "kind": str} if has_metadata else None
        self.collection = bf.Collection.create(
            self.folder / "c",
            hasher=LSH(24, random_state=0),
            keep_vectors="float32",
            metric=metric,
            metadata=columns,
        )

    @rule(n=st.integers(1, 30), explicit=st.booleans(), seed=st.integers(0, 99))
    def add(self, n: int, explicit: bool, seed: int) -> None:
        rng = np.random.default_rng(seed)
        # Few different values, so that there are ties.
        X = rng.integers(-2, 3, (n, N_FEATURES)).astype(np.float32)
        ids: list[Any] = [self.next_id + i for i in range(n)]
        if explicit or self.text_ids:
            ids = (self.next_id + rng.permutation(3 * n)[:n]).tolist()
        self.next_id = max(self.next_id, *ids) + 1
        if self.text_ids:
            ids = [f"i{item}" for item in ids]
        years, kinds = (
            rng.integers(2000, 2004, n).tolist(),
            [KINDS[at] for at in rng.integers(0, 3, n)],
        )
        metadata = {"year": years, "kind": kinds} if self.has_metadata else None
        given = ids if explicit or self.text_ids else None
        self.collection.add(X, ids=given, metadata=metadata)
        self.items |= dict(zip(ids, zip(X, years, kinds, strict=True), strict=True))

    @precondition(lambda self: self.items)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        chosen = data.draw(st.lists(st.sampled_from(list(self.items)), min_size=1, unique=True))
        self.collection.remove(chosen)
        for item in chosen:
            del self.items[item]

    @precondition(lambda self: self.items)
    @rule()
    def add_duplicates(self) -> None:
        item = next(iter(self.items))
        new = "new" if self.text_ids else self.next_id + 5
        try:
            self.collection.add(np.ones((2, N_FEATURES)), ids=[new, item])
        except DataError:
            return
        raise AssertionError("an id was added twice")

    @rule()
    def compact(self) -> None:
        self.collection.compact()

    @rule(n_bits=st.sampled_from([None, 16, 70]))
    def rebuild(self, n_bits: int | None) -> None:
        self.collection.rebuild(None if n_bits is None else LSH(n_bits, random_state=1))

    @rule()
    def reopen(self) -> None:
        self.collection.close()
        self.collection = bf.Collection.open(self.folder / "c", "a")

    @rule(k=st.integers(1, 12), seed=st.integers(0, 9))
    def search(self, k: int, seed: int) -> None:
        self.compare(self.collection, list(self.items), k, seed, None)

    @precondition(lambda self: self.has_metadata)
    @rule(k=st.integers(1, 12), seed=st.integers(0, 9), year=st.integers(1999, 2004))
    def search_where(self, k: int, seed: int, year: int) -> None:
        chosen = [i for i, (_, y, kind) in self.items.items() if y >= year and kind == "news"]
        where = f"year >= {year} and kind = 'news'"
        self.compare(self.collection, chosen, k, seed, where)

    @rule(seed=st.integers(0, 9))
    def search_as_reader(self, seed: int) -> None:
        with bf.Collection.open(self.folder / "c") as reader:
            self.compare(reader, list(self.items), 3, seed, None)

    def compare(self, c: bf.Collection, ids: list[Any], k: int, seed: int, where: Any) -> None:
        Q = np.random.default_rng(seed).normal(size=(2, N_FEATURES))
        hits = c.search(Q, k, where=where, n_candidates=1000)
        if not ids:
            assert hits.ids.shape == (2, 0)
            return
        X = np.array([self.items[item][0] for item in ids])
        exact = exact_distances(Q, X, self.metric)
        expected = np.sort(exact, axis=1)[:, :k]
        assert np.allclose(hits.distances, expected, atol=1e-5)
        for row, distances in zip(hits.ids.tolist(), exact, strict=True):
            assert len(set(row)) == len(row)
            by_id = dict(zip(ids, distances, strict=True))
            assert np.allclose([by_id[item] for item in row], np.sort(distances)[:k], atol=1e-5)

    @invariant()
    def content_is_equal(self) -> None:
        if not hasattr(self, "collection"):
            return
        assert len(self.collection) == len(self.items)
        ids = self.collection.ids().tolist()
        assert ids == list(self.items)
        if ids and self.has_metadata:
            expected: dict[str, list[Any]] = {"year": [], "kind": []}
            for _, year, kind in self.items.values():
                expected["year"].append(year)
                expected["kind"].append(kind)
            assert self.collection.metadata(ids) == expected

    def teardown(self) -> None:
        if hasattr(self, "collection"):
            self.collection.verify()
            self.collection.close()
        shutil.rmtree(self.folder)


TestAnySequence = CollectionMachine.TestCase
TestAnySequence.settings = settings(
    max_examples=25,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
