"""Threads and processes that share one index: nothing is lost, and readers do not wait."""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.disk.conftest import fork, wait_for

import bitfold as bf
from bitfold.errors import LockedError
from bitfold.search.disk.index_folder import IndexFolder

N_BITS = 48

forks = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

Model = dict[int, bytes]


def make_codes(ids: list[int]) -> bf.Codes:
    """Return codes that depend on the ids; the low bits repeat."""
    words = np.array(ids, np.uint64) * np.uint64(0x9E3779B97F4A7C15) // np.uint64(3)
    return bf.Codes(words.astype(">u8").view(np.uint8).reshape(-1, 8)[:, :6], N_BITS)


def model_of(ids: list[int]) -> Model:
    return dict(zip(ids, (row.tobytes() for row in make_codes(ids).packed), strict=True))


def content_of(index: bf.HammingIndex) -> Model:
    found: Model = {}
    for batch in index.batches():
        ids = np.asarray(batch.ids).tolist()
        assert not found.keys() & set(ids)
        found |= dict(zip(ids, (row.tobytes() for row in batch.codes.packed), strict=True))
    return found


def run_threads(work: Callable[[int], object], n_threads: int) -> None:
    """Run a function in several threads at once; raise what one of them raises."""
    start = threading.Barrier(n_threads)

    def begin(number: int) -> None:
        start.wait()
        work(number)

    with ThreadPoolExecutor(n_threads) as pool:
        for _ in pool.map(begin, range(n_threads)):
            pass


def open_index(path: Path | None) -> bf.HammingIndex:
    """Return an empty index, in memory or in a folder."""
    index = bf.HammingIndex(N_BITS)
    if path is None:
        return index
    index.save(path)
    return bf.HammingIndex.open(path, "a")


@pytest.fixture(params=["memory", "disk"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> bf.HammingIndex:
    return open_index(tmp_path / "index" if request.param == "disk" else None)


@pytest.fixture(autouse=True)
def without_syncs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def test_8_threads_lose_no_code(index: bf.HammingIndex, tmp_path: Path) -> None:
    def add(number: int) -> None:
        for turn in range(60):
            first = 10_000 * number + 10 * turn
            index.add(make_codes(list(range(first, first + 10))), np.arange(first, first + 10))

    run_threads(add, 8)
    ids = [10_000 * number + i for number in range(8) for i in range(600)]
    assert content_of(index) == model_of(ids)
    index.close()
    if (tmp_path / "index").exists():
        assert content_of(bf.HammingIndex.open(tmp_path / "index")) == model_of(ids)


def test_automatic_ids_of_threads_are_distinct(index: bf.HammingIndex) -> None:
    def add(number: int) -> None:
        for _ in range(20):
            index.add(make_codes([1, 2, 3]))

    run_threads(add, 6)
    assert sorted(content_of(index)) == list(range(360))


GROUP = 5
"""Codes are added and removed in groups of this size, so a part of a group would be noticed."""

VERBS = ("add", "add", "add", "remove", "search", "within", "codes", "buckets", "batches", "save")


class Visitor:
    """A thread with groups of its own.

    Parameters
    ----------
    index
        The index that all threads share.
    number
        Number of the thread.
    folder
        Where it saves.
    """

    def __init__(self, index: bf.HammingIndex, number: int, folder: Path) -> None:
        self.index, self.number, self.folder = index, number, folder
        self.groups: list[int] = []
        self.n_added = 0

    def ids_of(self, group: int) -> list[int]:
        return list(range(group * GROUP, (group + 1) * GROUP))

    @property
    def model(self) -> Model:
        return model_of([item for group in self.groups for item in self.ids_of(group)])

    def check_groups(self, found: set[int]) -> None:
        """Check that all groups are complete, and that the groups of this thread are there."""
        groups = {item // GROUP for item in found}
        assert found == {item for group in groups for item in self.ids_of(group)}
        mine = {group for group in groups if group // 1000 == self.number}
        assert mine == set(self.groups)

    def run(self, verb: str) -> None:
        getattr(self, verb)()
        assert len(self.index) % GROUP == 0

    def add(self) -> None:
        group = 1000 * self.number + self.n_added
        self.n_added += 1
        ids = self.ids_of(group)
        self.index.add(make_codes(ids), ids)
        self.groups.append(group)

    def remove(self) -> None:
        if self.groups:
            group = self.groups.pop(len(self.groups) // 2)
            self.index.remove(self.ids_of(group))

    def search(self) -> None:
        query = make_codes(self.ids_of(self.groups[0])[:1] if self.groups else [0])
        rerank = bf.RerankByEmbedding(query.unpack() - 0.5, n_candidates=10**6)
        for finer in (None, rerank):
            hits = self.index.search(query, 10**6, rerank=finer)
            self.check_groups(set(hits.ids[0].tolist()))

    def within(self) -> None:
        hits = self.index.within(make_codes([1]), N_BITS)
        self.check_groups(set(hits.ids.tolist()))

    def codes(self) -> None:
        ids = list(self.model)
        assert [row.tobytes() for row in self.index.codes(ids).packed] == list(self.model.values())

    def buckets(self) -> None:
        buckets = self.index.buckets()
        assert buckets.sizes.sum() == len(buckets.ids)
        self.check_groups(set(buckets.ids.tolist()))

    def batches(self) -> None:
        content = content_of(self.index)
        self.check_groups(set(content))
        assert content == model_of(sorted(content)) == dict(sorted(content.items()))

    def save(self) -> None:
        path = self.folder / "copy"  # the same for all threads
        self.index.save(path)
        groups = {item // GROUP for item in content_of(bf.HammingIndex.open(path))}
        assert {group for group in groups if group // 1000 == self.number} == set(self.groups)


plans = st.lists(st.lists(st.sampled_from(VERBS), min_size=5, max_size=25), min_size=2, max_size=5)


@settings(max_examples=15, deadline=None)
@given(plans=plans, on_disk=st.booleans())
def test_threads_match_a_dictionary(plans: list[list[str]], on_disk: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index" if on_disk else None
        index = open_index(path)
        visitors = [Visitor(index, number, Path(folder)) for number in range(len(plans))]

        def work(number: int) -> None:
            for verb in plans[number]:
                visitors[number].run(verb)

        run_threads(work, len(plans))
        expected = {item: code for visitor in visitors for item, code in visitor.model.items()}
        assert content_of(index) == expected
        index.close()
        if path is not None:
            assert content_of(bf.HammingIndex.open(path)) == expected


def test_readers_do_not_wait_for_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = open_index(tmp_path / "index")
    index.add(make_codes([1, 2, 3]))
    started, finish = threading.Event(), threading.Event()
    commit = IndexFolder.commit

    def wait_and_commit(*args: object) -> None:
        started.set()
        assert finish.wait(60)
        commit(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(IndexFolder, "commit", wait_and_commit)
    with ThreadPoolExecutor(3) as pool:
        adding = pool.submit(index.add, make_codes([4]))
        assert started.wait(60)
        closing = pool.submit(index.close)
        query = make_codes([1])
        assert index.search(query, 5).ids.shape == (1, 3)
        assert len(index.within(query, N_BITS).ids) == 3
        assert (len(index), index.n_distinct, len(index.buckets().ids)) == (3, 3, 3)
        assert len(index.codes([0, 2])) == len(content_of(index)) - 1 == 2
        assert not adding.done()
        time.sleep(0.05)
        assert not closing.done()  # or another process could write now
        finish.set()
        adding.result(60)
        closing.result(60)
    assert len(bf.HammingIndex.open(tmp_path / "index")) == 4


def test_candidates_do_not_vanish_while_they_are_measured() -> None:
    index = open_index(None)
    index.add(make_codes(list(range(20))))

    class Remover(bf.RerankByEmbedding):
        def measure(self, *args: Any) -> Any:
            index.remove(np.arange(20))
            return super().measure(*args)

    query = make_codes([3])
    hits = index.search(query, 5, rerank=Remover(query.unpack() - 0.5, 20))
    assert (hits.ids[0, 0], len(index)) == (3, 0)


@forks
def test_fork_during_a_change(index: bf.HammingIndex, tmp_path: Path) -> None:
    """The child has no thread that could release the lock."""
    index.add(make_codes([7]))
    held, finish = threading.Event(), threading.Event()

    def hold() -> None:
        with index._writing:
            held.set()
            finish.wait(60)

    def work() -> None:
        if (tmp_path / "index").exists():
            with pytest.raises(LockedError, match="another process"):
                index.add(make_codes([8]))
        else:
            index.add(make_codes([8]))
            assert len(index) == 2
        index.close()

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(60)
    child = fork(work)
    give_up = time.monotonic() + 60
    while (status := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < give_up:
        time.sleep(0.01)
    if status[0] == 0:
        os.kill(child, 9)
        wait_for(child)
    finish.set()
    thread.join()
    assert status == (child, 0)
    index.add(make_codes([9]))
    assert len(index) == 2


@forks
def test_forked_child_does_not_hold_the_lock(tmp_path: Path) -> None:
    index = open_index(tmp_path / "index")
    child = fork(lambda: time.sleep(60))
    try:
        index.close()
        bf.HammingIndex.open(tmp_path / "index", "a").close()
    finally:
        os.kill(child, 9)
        wait_for(child)


@forks
def test_killed_parent_does_not_leave_the_lock_to_its_child(tmp_path: Path) -> None:
    open_index(tmp_path / "index").close()
    out, back = os.pipe()

    def work() -> None:
        _index = bf.HammingIndex.open(tmp_path / "index", "a")
        child = fork(lambda: time.sleep(60))
        os.write(back, child.to_bytes(8, "little"))
        os.kill(os.getpid(), 9)

    assert wait_for(fork(work)) == -9
    grandchild = int.from_bytes(os.read(out, 8), "little")
    try:
        bf.HammingIndex.open(tmp_path / "index", "a").close()
    finally:
        os.kill(grandchild, 9)
        os.close(out)
        os.close(back)


def test_deleted_folder_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "index"
    index = open_index(path)
    index.add(make_codes([1, 2, 3]))
    shutil.rmtree(path)
    with pytest.raises(FileNotFoundError, match="deleted or replaced"):
        index.add(make_codes([4]))
    assert not path.exists()
    with open_index(path) as other:
        other.add(make_codes([5] * 7))
        with pytest.raises(FileNotFoundError, match="deleted or replaced"):
            index.add(make_codes([4]))
        with pytest.raises(FileNotFoundError, match="deleted or replaced"):
            index.remove([0])
        with pytest.raises(LockedError):
            index.save(path)
        other.add(make_codes([6]))
    assert len(bf.HammingIndex.open(path)) == 8
    index.save(tmp_path / "rescued")
    assert content_of(bf.HammingIndex.open(tmp_path / "rescued")) == content_of(index)
    index.save(path)
    assert len(bf.HammingIndex.open(path)) == 3


def test_index_can_be_pickled(tmp_path: Path) -> None:
    index = open_index(None)
    index.add(make_codes([1, 2, 3]))
    copy = pickle.loads(pickle.dumps(index))
    copy.add(make_codes([4]))
    assert (len(index), len(copy)) == (3, 4)


def test_saves_of_threads_to_one_folder_wait(tmp_path: Path) -> None:
    index = open_index(None)
    index.add(make_codes([1, 2, 3]))

    def save(number: int) -> None:
        for _ in range(3 + number):
            index.save(tmp_path / "copy")

    run_threads(save, 4)
    assert len(bf.HammingIndex.open(tmp_path / "copy")) == 3
