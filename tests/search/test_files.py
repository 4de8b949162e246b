from __future__ import annotations

import errno
import gc
import json
import os
import random
import re
import resource
import shutil
import signal
import struct
import sys
import tempfile
import threading
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bitfold.errors import FormatError
from bitfold.io import array_file
from bitfold.search.disk import manifest
from bitfold.search.disk.index_folder import Folder, verify
from bitfold.search.disk.manifest import Entry, Manifest, Named
from bitfold.search.segment import Segment

FSYNC = os.fsync
ARRAYS = ("words", "starts", "members", "ids", "deleted")
NO_PLACES = np.empty(0, np.uint32)
NO_FLAGS = np.empty(0, bool)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="an index is written on POSIX")

on_linux = pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads Linux's figures")

Words = NDArray[np.uint64]
Ids = NDArray[np.int64]
Content = dict[int, tuple[int, ...]]


@pytest.fixture(autouse=True, scope="module")
def without_waiting_for_the_disk() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


def code_words(n: int, n_bits: int, seed: int = 0, n_values: int = 1 << 30) -> Words:
    """Return n codes, one a row, of at most ``n_values`` different ones."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2, (min(n_values, n), n_bits), dtype=np.uint8)
    bits = values[rng.integers(0, len(values), n)] if n_values < n else values
    padded = np.zeros((n, 64 * -(-n_bits // 64)), np.uint8)
    padded[:, :n_bits] = bits
    return np.packbits(padded, axis=1).view(np.uint64)


def some(n: int = 100, n_bits: int = 96, first: int = 0, seed: int = 0, **more: Any) -> Segment:
    return Segment.build(code_words(n, n_bits, seed, **more), np.arange(first, first + n))


def sparse(n: int = 100, n_bits: int = 96, n_values: int = 20) -> Segment:
    ids = np.arange(n) ** 2 - 50
    return Segment.build(code_words(n, n_bits, 5, n_values), ids)


def content(segments: list[Segment]) -> Content:
    """Return what is in an index, read in full: the code of each live id."""
    found: Content = {}
    for segment in segments:
        rows = segment.item_words()[segment.live].tolist()
        ids = segment.ids[segment.live].tolist()
        assert len(ids) == len(segment)
        assert not found.keys() & set(ids)
        found |= {i: tuple(row) for i, row in zip(ids, rows, strict=True)}
    return found


def on_disk(path: Path) -> Content:
    return content(Folder.open(path).segments)


def stored(path: Path, *segments: Segment, n_bits: int = 96) -> Path:
    with Folder.create(path, n_bits) as folder:
        folder.commit(segments, 7)
    return path


def files(path: Path) -> list[str]:
    return sorted(file.name for file in path.iterdir())


def same(a: Segment, b: Segment) -> bool:
    pairs = [(getattr(a, name), getattr(b, name)) for name in ARRAYS]
    return all(x.dtype == y.dtype and np.array_equal(x, y) for x, y in pairs)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """A small index that has everything: duplicates, gaps in the ids, removals."""
    path = stored(tmp_path / "index", some(60, first=10_000), sparse())
    with Folder.open(path, "a") as folder:
        first, second = folder.segments
        folder.commit([first, second.without(np.array([3, 50]))], 8)
    return path


SHAPES: dict[str, Callable[[], Segment]] = {
    "all distinct": lambda: some(100),
    "duplicates": lambda: some(100, n_values=7),
    "one value": lambda: some(100, n_values=1),
    "gaps in the ids": lambda: sparse(),
    "one item": lambda: some(1),
    "nothing": lambda: some(0),
    "negative ids": lambda: some(9, first=-20),
    "extreme ids": lambda: Segment.build(code_words(2, 96), np.array([-(2**63), 2**63 - 1])),
    "the last ids": lambda: Segment.build(code_words(2, 96), np.array([2**63 - 2, 2**63 - 1])),
    "removals": lambda: some(100, n_values=30).without(np.arange(0, 100, 7)),
    "all removed": lambda: some(20).without(np.arange(20)),
    "larger than is read at once": lambda: some(9000, n_values=8000).without(np.array([8])),
}


@pytest.mark.parametrize("make", SHAPES.values(), ids=SHAPES)
def test_a_segment_comes_back_the_same(tmp_path: Path, make: Callable[[], Segment]) -> None:
    segment = make()
    folder = Folder.open(stored(tmp_path / "index", segment))
    (back,) = folder.segments
    counts = ("n_items", "n_deleted", "n_distinct")
    assert [getattr(back, name) for name in counts] == [getattr(segment, name) for name in counts]
    assert (folder.n_bits, folder.next_id, len(back)) == (96, 7, len(segment))
    assert same(back, segment)
    items = np.arange(segment.n_items)[::-3]
    assert np.array_equal(back.ids_of(items), segment.ids[items])
    probes = np.array([-(2**63), -20, -12, 0, 5, 7, 98, 99, 100, 2**63 - 2, 2**63 - 1])
    assert np.array_equal(back.find(probes), segment.find(probes))
    assert np.array_equal(back.find(segment.ids), segment.find(segment.ids))


@pytest.mark.parametrize("n_bits", [1, 8, 63, 64, 65, 128, 1000, 1024])
def test_codes_of_every_length_come_back(tmp_path: Path, n_bits: int) -> None:
    segment = some(50, n_bits)
    (back,) = Folder.open(stored(tmp_path / "index", segment, n_bits=n_bits)).segments
    assert same(back, segment)


def test_ids_without_a_gap_take_no_room(tmp_path: Path) -> None:
    dense, gaps = some(1000), some(1000)
    gaps = Segment(gaps.words, gaps.starts, gaps.members, gaps.ids * 2, gaps.deleted)
    sizes = [
        verify(stored(tmp_path / name, segment)).n_bytes
        for name, segment in (("dense", dense), ("gaps", gaps))
    ]
    assert 8000 <= sizes[1] - sizes[0] <= 8064


def test_arrays_are_of_one_kind_for_kernels_wherever_they_come_from(index: Path) -> None:
    read = Folder.open(index).segments
    built = sparse().without(np.array([0]))
    typeof: Any = numba.typeof
    kinds = {
        tuple(typeof(getattr(segment, name)) for name in ARRAYS)
        for segment in [*read, built, some(), read[0].without(np.array([1]))]
    }
    assert len(kinds) == 1
    with pytest.raises(ValueError, match="read-only"):
        read[1].words[0, 0] = 0


def test_only_what_is_new_is_written(tmp_path: Path) -> None:
    path = stored(tmp_path / "index", some(50), some(50, first=50), some(50, first=100))
    with Folder.open(path, "a") as folder:
        old = {name: (path / name).stat().st_ino for name in files(path)}
        a, b, _ = folder.segments
        folder.commit([a, b.without(np.array([4])), some(9, first=500)], 600)
        assert files(path) == [
            "deleted-2-1.bin", "lock", "manifest.json",
            "segment-1-0.bin", "segment-1-1.bin", "segment-2-2.bin",
        ]  # fmt: skip
        kept = ["segment-1-0.bin", "segment-1-1.bin"]
        assert [(path / name).stat().st_ino for name in kept] == [old[name] for name in kept]
        assert (path / "deleted-2-1.bin").stat().st_size <= 256
        assert folder.segments[0] is a
        again = folder.segments
        folder.commit(again, 601)
        assert all(x is y for x, y in zip(folder.segments, again, strict=True))
        folder.commit([again[1].without(np.array([5]))], 602)
        assert files(path) == ["deleted-4-0.bin", "lock", "manifest.json", "segment-1-1.bin"]
    assert on_disk(path).keys() == set(range(50, 100)) - {54, 55}


def test_segments_of_the_past_and_of_other_indexes_can_be_committed(tmp_path: Path) -> None:
    path = stored(tmp_path / "index", some(40, first=-500, n_values=9), some(9, first=-400))
    other = Folder.open(stored(tmp_path / "other", sparse().without(np.array([1])))).segments[0]
    with Folder.open(path, "a") as folder:
        first, second = folder.segments
        marked = first.without(np.array([3]))
        folder.commit([marked], 40)
        past = folder.segments[0]
        folder.commit([past.without(np.array([4]))], 40)
        assert len(on_disk(path)) == 38
        folder.commit([past, second, other], 40)
        assert on_disk(path) == content([past, second, other])
    ids = {*range(-500, -460), *range(-400, -391), *other.ids.tolist()}
    assert on_disk(path).keys() == ids - {-497, -49}


def model_step(
    model: Content, segments: list[Segment], step: tuple[str, int], at: int
) -> tuple[Content, list[Segment]]:
    verb, size = step
    if verb == "add":
        ids = np.arange(at, at + size) if size % 2 else at + 3 * np.arange(size)
        words = code_words(size, 70, at, n_values=1 + size // 2 if size % 3 else 1 << 30)
        rows = zip(ids.tolist(), map(tuple, words.tolist()), strict=True)
        return model | dict(rows), [*segments, Segment.build(words, ids)]
    if verb == "remove":
        gone = np.array(sorted(model)[:: size + 2], np.int64)
        kept = []
        for segment in segments:
            items = segment.find(gone)
            kept.append(segment.without(items[items >= 0]))
        return {i: code for i, code in model.items() if i not in gone}, kept
    if verb == "merge":
        return model, [Segment.merge(segments)] if segments else []
    lost = segments[-1].ids.tolist() if segments else []
    return {i: code for i, code in model.items() if i not in lost}, segments[:-1]


steps = st.tuples(st.sampled_from(["add", "add", "remove", "merge", "drop"]), st.integers(1, 40))


@settings(max_examples=30)
@given(st.lists(st.tuples(steps, st.booleans()), max_size=12))
def test_commits_follow_a_plain_model(history: list[tuple[tuple[str, int], bool]]) -> None:
    with tempfile.TemporaryDirectory() as parent:
        path, model = Path(parent) / "index", dict[int, tuple[int, ...]]()
        folder = Folder.create(path, 70)
        folder.commit([], 0)
        for number, (step, reopen) in enumerate(history):
            model, segments = model_step(model, folder.segments, step, 1000 * number)
            folder.commit(segments, number)
            assert content(folder.segments) == on_disk(path) == model
            named = {file for file in files(path) if file.endswith(".bin")}
            assert named == manifest.read(path).files
            if reopen:
                folder.close()
                folder = Folder.open(path, "a")
                assert folder.next_id == number
        assert verify(path).n_codes == len(model)
        folder.close()


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@on_linux
def test_ten_million_codes_open_at_once_and_take_no_memory(tmp_path: Path) -> None:
    n = 10_000_000
    words = np.random.default_rng(0).integers(0, 2**64, (1, n), np.uint64, endpoint=False)
    ids, checksum = np.arange(n), words[0, ::1000].sum()
    segment = Segment(words, NO_PLACES, NO_PLACES, ids, NO_FLAGS)
    path = stored(tmp_path / "index", segment, n_bits=64)
    del words, ids, segment
    gc.collect()
    before, seconds = resident(), []
    for _ in range(5):
        start = time.perf_counter()
        (segment,) = Folder.open(path).segments
        assert (len(segment), segment.n_distinct) == (n, n)
        assert segment.find(np.array([n - 1, n])).tolist() == [n - 1, -1]
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.05
    assert resident() - before < 5 << 20
    assert segment.words[0, ::1000].sum() == checksum


def test_arrays_are_verified_when_first_used_and_then_kept(index: Path) -> None:
    change(index / "segment-1-0.bin", -70)
    (first, second) = Folder.open(index).segments
    assert (len(first), first.n_distinct, first.n_items) == (60, 60, 60)
    assert first.ids_of(np.array([3])).tolist() == [10_003]
    with pytest.raises(FormatError) as caught:
        _ = first.words
    name = "segment-1-0.bin"
    assert str(caught.value) == f"{index} is damaged: array words of {name} fails its checksum."
    assert second.words is second.words
    assert second.without(np.array([9])).words is second.words


# ---- crashes ---------------------------------------------------------------------------------


def code_of(ids: Ids) -> Words:
    return (ids.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)


def expected(number: int) -> Content:
    """Return the content after so many calls of :func:`advance`."""
    ids = np.arange(3 * number)
    ids = ids[(ids % 5 != 0) | (ids >= 3 * (number - 1))]
    return {i: (code,) for i, code in zip(ids.tolist(), code_of(ids).tolist(), strict=True)}


def advance(folder: Folder) -> int:
    """Commit once more: an append, a removal, and now and then everything merged into one."""
    number, segments = folder.next_id + 1, folder.segments
    if segments:
        last = segments.pop()
        segments.append(last.without(np.flatnonzero(last.ids % 5 == 0)))
    if len(segments) > 3:
        segments = [Segment.merge(segments)]
    ids = np.arange(3 * number - 3, 3 * number)
    words = code_of(ids)[None]
    folder.commit([*segments, Segment(words, NO_PLACES, NO_PLACES, ids, NO_FLAGS)], number)
    return number


def in_a_child(work: Callable[[], None]) -> int:
    """Start a process that does some work and never comes back; return its number."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return child


def wait(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_while_appending(path: Path, seconds: float) -> int:
    """Let a child commit until it is killed; return the last number it acknowledged."""
    out, back = os.pipe()

    def work() -> None:
        os.fsync = FSYNC
        with Folder.open(path, "a") as folder:
            os.write(back, b"\0" * 8)
            while True:
                os.write(back, struct.pack("<q", advance(folder)))

    child = in_a_child(work)
    os.close(back)
    with open(out, "rb") as pipe:  # noqa: PTH123
        pipe.read(8)
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        assert wait(child) == -signal.SIGKILL
        said = pipe.read()
    return int.from_bytes(said[-8:], "little")


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_nothing_acknowledged_is_lost_in_200_kills(tmp_path: Path) -> None:
    path, rng = tmp_path / "index", random.Random(0)
    with Folder.create(path, 64) as folder:
        folder.commit([], 0)
        # Compiled here, not in every child.
        for _ in range(6):
            advance(folder)
    unfinished = 0
    for _ in range(200):
        before = Folder.open(path).next_id
        acknowledged = max(before, kill_while_appending(path, rng.uniform(0, 0.04)))
        reader = Folder.open(path)
        assert reader.next_id in (acknowledged, acknowledged + 1)
        assert content(reader.segments) == expected(reader.next_id)
        unfinished += reopen_for_writing(path)
        assert {file for file in files(path) if file.endswith(".bin")} == manifest.read(path).files
    assert unfinished > 10
    assert Folder.open(path).next_id > 50


def reopen_for_writing(path: Path) -> bool:
    """Open and close; return whether that warned of an unfinished append."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Folder.open(path, "a").close()
    told = rf"{path}: dropped an unfinished append \(\d+ files, \d+ bytes\)\."
    assert len(caught) <= 1
    assert all(re.fullmatch(told, str(warning.message)) for warning in caught)
    return len(caught) == 1


@on_linux
def test_the_disk_has_new_files_before_the_manifest_and_old_ones_until_after(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = []

    def sync(descriptor: int) -> None:
        target = Path(f"/proc/self/fd/{descriptor}").readlink()
        events.append(f"sync {'new' if target.suffix == '.tmp' else target.name}")

    def rename(source: Path, target: Path) -> None:
        events.append(f"name {target.name}")
        os.replace(source, target)  # noqa: PTH105

    def unlink(file: Path, missing_ok: bool = False) -> None:
        if file.exists():
            events.append(f"remove {file.name}")
            os.unlink(file)  # noqa: PTH108

    with Folder.open(index, "a") as folder:
        monkeypatch.setattr(os, "fsync", sync)
        monkeypatch.setattr(Path, "replace", rename)
        monkeypatch.setattr(Path, "unlink", unlink)
        folder.commit([some().without(np.array([1]))], 9)
        monkeypatch.undo()
    new = ("segment-3-0.bin", "deleted-3-0.bin", "manifest.json")
    durable = [event for name in new for event in ("sync new", f"name {name}", "sync index")]
    assert events[:9] == durable
    old = ["deleted-2-1.bin", "segment-1-0.bin", "segment-1-1.bin"]
    assert sorted(events[9:]) == [f"remove {name}" for name in old]


def test_leftovers_are_ignored_by_readers_and_dropped_by_the_next_writer(index: Path) -> None:
    before, content_before = files(index), on_disk(index)
    (index / ".bitfold-0123456789abcdef.tmp").write_bytes(b"part")
    shutil.copy(index / "segment-1-0.bin", index / "segment-3-0.bin")
    mine = ["notes.txt", "segment-3-0.bin.bak"]
    for name in mine:
        (index / name).write_text("mine")
    assert on_disk(index) == content_before
    assert len(files(index)) == len(before) + 4
    size = 4 + (index / "segment-3-0.bin").stat().st_size
    told = re.escape(f"{index}: dropped an unfinished append (2 files, {size} bytes).")
    with pytest.warns(UserWarning, match=f"^{told}$") as caught, Folder.open(index, "a"):
        assert files(index) == sorted([*before, *mine])
    assert len(caught) == 1
    assert on_disk(index) == content_before


def test_what_a_finished_commit_had_no_time_to_remove_goes_in_silence(index: Path) -> None:
    shutil.copy(index / "deleted-2-1.bin", index / "deleted-1-1.bin")
    Folder.open(index, "a").close()
    assert "deleted-1-1.bin" not in files(index)


def fail_at(call: int, problem: BaseException) -> Callable[[int], None]:
    calls = iter(range(1, 1000))

    def sync(descriptor: int) -> None:
        if next(calls) == call:
            raise problem

    return sync


# New segment and removals: file and directory each; then the manifest; then its directory.
@pytest.mark.parametrize("call", range(1, 7))
@pytest.mark.parametrize("problem", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_a_commit_that_fails_changes_nothing(
    index: Path, monkeypatch: pytest.MonkeyPatch, call: int, problem: BaseException
) -> None:
    before, old = files(index), on_disk(index)
    fresh = some(70, first=20_000, n_values=5).without(np.array([4]))
    reader = Folder.open(index)
    with Folder.open(index, "a") as folder:
        with monkeypatch.context() as patch, pytest.raises(type(problem)) as caught:
            patch.setattr(os, "fsync", fail_at(call, problem))
            folder.commit([folder.segments[1], fresh], 9)
        if isinstance(caught.value, OSError):
            said = f"{index} could not be saved: No space left; nothing that was in it is lost."
            assert (str(caught.value), caught.value.errno) == (said, errno.ENOSPC)
        assert content(folder.segments) == old
        # After the last call the new manifest has its name, if perhaps not after a power cut.
        new = content([folder.segments[1], fresh])
        assert on_disk(index) == (new if call == 6 else old)
        assert set(before) <= set(files(index))
        assert call == 6 or files(index) == before
        with monkeypatch.context() as patch, pytest.raises(type(problem)):
            patch.setattr(os, "fsync", fail_at(3, problem))
            folder.commit([folder.segments[1], some(30, first=30_000)], 9)
        assert on_disk(index) == (new if call == 6 else old)
        folder.commit([*folder.segments, some(5, first=77_777)], 10)
        assert on_disk(index) == old | content([some(5, first=77_777)])
    assert content(reader.segments) == old
    assert not reopen_for_writing(index)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_file_that_cannot_grow_leaves_everything_as_it_was(index: Path) -> None:
    before, old = files(index), on_disk(index)

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        with Folder.open(index, "a") as folder:
            with pytest.raises(OSError, match="could not be saved: File too large") as caught:
                folder.commit([*folder.segments, some(10, first=-500), some(9000)], 9)
            assert caught.value.errno == errno.EFBIG
            assert files(index) == before
            folder.commit([*folder.segments, some(10, first=-500)], 9)

    assert wait(in_a_child(work)) == 0
    assert on_disk(index) == old | content([some(10, first=-500)])


def test_creating_over_an_index_replaces_it_at_the_first_commit(index: Path) -> None:
    old = on_disk(index)
    Folder.create(index, 64).close()
    assert on_disk(index) == old
    with Folder.create(index, 64) as folder:
        assert folder.segments == []
        folder.commit([some(5, 64)], 5)
    assert (Folder.open(index).n_bits, len(on_disk(index))) == (64, 5)
    assert files(index) == ["lock", "manifest.json", "segment-3-0.bin"]


def test_a_directory_is_no_index_before_the_first_commit(tmp_path: Path) -> None:
    path = tmp_path / "index"
    Folder.create(path, 64).close()
    refused(path, f"{path} is not a bitfold index: it has no manifest.json.")
    assert len(on_disk(stored(path, some()))) == 100


# ---- one writer, any readers -----------------------------------------------------------------


def test_a_second_writer_is_refused(index: Path) -> None:
    said = f"{index} is already open to be written, and only one can write; close it there."
    with Folder.open(index, "a"):
        with pytest.raises(BlockingIOError) as caught:
            Folder.open(index, "a")
        assert str(caught.value) == said
        with pytest.raises(BlockingIOError):
            Folder.create(index, 96)
        assert len(on_disk(index)) == 158
    Folder.open(index, "a").close()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_the_lock_holds_across_processes_and_ends_with_its_holder(index: Path) -> None:
    out, back = os.pipe()

    def hold() -> None:
        folder = Folder.open(index, "a")
        os.write(back, b"!")
        time.sleep(60)
        folder.close()

    child = in_a_child(hold)
    assert os.read(out, 1) == b"!"
    with pytest.raises(BlockingIOError, match="already open to be written"):
        Folder.open(index, "a")
    os.kill(child, signal.SIGKILL)
    wait(child)
    os.close(out)
    os.close(back)
    Folder.open(index, "a").close()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_neither_writes_nor_takes_the_lock_away(index: Path) -> None:
    folder = Folder.open(index, "a")

    def work() -> None:
        with pytest.raises(BlockingIOError, match="opened by another process"):
            folder.commit([], 0)
        folder.close()

    assert wait(in_a_child(work)) == 0
    with pytest.raises(BlockingIOError):
        Folder.open(index, "a")
    folder.commit([], 0)
    folder.close()


def test_a_forgotten_folder_gives_its_lock_back(index: Path) -> None:
    folder = Folder.open(index, "a")
    del folder
    gc.collect()
    Folder.open(index, "a").close()


def test_a_writer_that_fails_to_open_gives_its_lock_back(index: Path) -> None:
    change(index / "segment-1-0.bin", 30)
    with pytest.raises(FormatError) as caught:
        Folder.open(index, "a")
    with pytest.raises(FormatError):
        Folder.open(index, "a")
    assert "header of segment-1-0.bin" in str(caught.value)


def test_who_may_not_commit_is_told(index: Path) -> None:
    with pytest.raises(PermissionError, match=r"open to be read; open it with mode 'a'\.$"):
        Folder.open(index).commit([], 0)
    with Folder.open(index, "a") as folder:
        pass
    with pytest.raises(ValueError, match=r"is closed; open it again\.$"):
        folder.commit([], 0)
    assert content(folder.segments) == on_disk(index)
    with pytest.raises(ValueError, match="mode of Folder must be one of 'r', 'a', got 'w'"):
        Folder.open(index, "w")


def test_readers_see_whole_commits_while_a_writer_works(tmp_path: Path) -> None:
    path = tmp_path / "index"
    with Folder.create(path, 64) as folder:
        for _ in range(5):
            advance(folder)
        first, stop, problems = Folder.open(path), threading.Event(), list[BaseException]()

        def work() -> None:
            try:
                while not stop.is_set():
                    advance(folder)
            except BaseException as problem:
                problems.append(problem)

        writer = threading.Thread(target=work)
        writer.start()
        seen, end = set(), time.monotonic() + 1
        while time.monotonic() < end:
            reader = Folder.open(path)
            seen.add(reader.next_id)
            assert content(reader.segments) == expected(reader.next_id)
        stop.set()
        writer.join()
    assert problems == []
    assert len(seen) > 20
    assert content(first.segments) == expected(5)


def test_a_reader_overtaken_by_a_writer_starts_again(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, reads = Folder.open(index, "a"), []
    real = manifest.read

    def read(path: Path) -> Manifest:
        found = real(path)
        reads.append(found.generation)
        if len(reads) in (2, 3):
            with monkeypatch.context() as patch:
                patch.setattr(manifest, "read", real)
                folder.commit([some(20, first=len(reads))], 1)
        return found

    monkeypatch.setattr(manifest, "read", read)
    assert content(Folder.open(index).segments) == content([some(20, first=3)])
    assert reads == [2, 2, 3, 4]
    folder.close()


def test_what_was_mapped_stays_readable_after_it_was_removed(tmp_path: Path) -> None:
    big = some(9000, n_values=8500)
    path = stored(tmp_path / "index", big)
    reader = Folder.open(path)
    with Folder.open(path, "a") as folder:
        folder.commit([], 0)
    assert files(path) == ["lock", "manifest.json"]
    assert content(reader.segments) == content([big])


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_many_small_segments_need_few_descriptors(tmp_path: Path) -> None:
    parts = [some(5, first=10 * i).without(np.array([2])) for i in range(200)]
    path = stored(tmp_path / "index", *parts)

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
        assert len(on_disk(path)) == 800

    assert wait(in_a_child(work)) == 0


# ---- damage ----------------------------------------------------------------------------------


def change(file: Path, place: int, mask: int = 1) -> None:
    data = bytearray(file.read_bytes())
    data[place] ^= mask
    replace(file, data)


def replace(file: Path, data: bytes | bytearray) -> None:
    # Some file systems make one wait when a file is overwritten, not when it is new.
    file.unlink()
    file.write_bytes(data)


def refused(path: Path, sentence: str) -> None:
    with pytest.raises(FormatError) as caught:
        on_disk(path)
    assert str(caught.value) == sentence


def everything(path: Path) -> tuple[int, int, Content]:
    folder = Folder.open(path)
    return folder.n_bits, folder.next_id, content(folder.segments)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Flip bits of a byte, or cut the end off, or add to it."""
    kind, place = rng.random(), rng.randrange(len(data))
    if kind < 0.7:
        return data[:place] + bytes([data[place] ^ rng.randrange(1, 256)]) + data[place + 1 :]
    return data[:place] if kind < 0.95 else data + rng.randbytes(rng.randrange(1, 100))


def test_1000_random_damages_are_found_or_harmless(index: Path) -> None:
    rng, truth = random.Random(0), everything(index)
    originals = {file: file.read_bytes() for file in index.iterdir() if file.name != "lock"}
    assert len(originals) == 4
    harmless = []
    for _ in range(1000):
        file, data = rng.choice(list(originals.items()))
        replace(file, damaged(data, rng))
        try:
            # Whatever it says, the content is right.
            assert everything(index) == truth
            harmless.append(file.name)
        except FormatError as error:
            assert str(error).startswith(str(index))
        replace(file, data)
    # White space of the manifest apart, every byte counts.
    assert set(harmless) <= {"manifest.json"}
    assert len(harmless) < 100


def test_verify_sees_what_opening_does_not(index: Path) -> None:
    summary = verify(index)
    sizes = [file.stat().st_size for file in index.glob("*.bin")]
    assert summary == (158, 2, sum(sizes))
    for file in index.glob("*.bin"):
        for place in range(0, file.stat().st_size, 97):
            change(file, place)
            with pytest.raises(FormatError):
                verify(index)
            change(file, place)
    assert verify(index) == summary


def test_what_is_no_index_is_refused(tmp_path: Path, index: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        Folder.open(tmp_path / "nothing")
    assert str(caught.value) == f"{tmp_path / 'nothing'} does not exist."
    (tmp_path / "file").write_text("text")
    no_index = "is not a bitfold index: it has no manifest.json."
    refused(tmp_path / "file", f"{tmp_path / 'file'} {no_index}")
    web = tmp_path / "web"
    web.mkdir()
    (web / "manifest.json").write_text('{"name": "a page"}')
    said = f"{web} is not a bitfold index: its manifest.json is of something else."
    refused(web, said)
    with pytest.raises(FormatError):
        Folder.open(web, "a")
    with pytest.raises(FormatError):
        Folder.create(web, 64)
    assert files(web) == ["manifest.json"]


def test_what_cannot_become_an_index_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    cases: list[tuple[Path, type[OSError], str]] = [
        (tmp_path, FileExistsError, "must hold nothing but an index, got 'file'."),
        (tmp_path / "file", FileExistsError, "must be a directory, got a file."),
        (tmp_path / "a" / "b", FileNotFoundError, "cannot be made: its parent does not exist."),
    ]
    for path, kind, said in cases:
        with pytest.raises(kind) as caught:
            Folder.create(path, 64)
        assert str(caught.value) == f"{path} {said}"
    with pytest.raises(ValueError, match="n_bits of Folder must be at most 1024, got 1025"):
        Folder.create(tmp_path / "new", 1025)
    assert files(tmp_path) == ["file"]


def test_damages_are_named(index: Path) -> None:
    segment, deleted = index / "segment-1-0.bin", index / "deleted-2-1.bin"
    whole, size = segment.read_bytes(), segment.stat().st_size
    segment.write_bytes(whole[:-1])
    said = f"{index} is damaged: segment-1-0.bin has {size - 1} bytes, not {size}."
    refused(index, said)
    segment.unlink()
    refused(index, f"{index} is damaged: segment-1-0.bin is missing.")
    os.mkfifo(segment)
    refused(index, f"{index} is damaged: segment-1-0.bin has 0 bytes, not {size}.")
    segment.unlink()
    segment.write_bytes(whole)
    change(deleted, -1)
    refused(index, f"{index} is damaged: array deleted of deleted-2-1.bin fails its checksum.")
    change(segment, 40)
    refused(index, f"{index} is damaged: the header of segment-1-0.bin fails its checksum.")
    text = (index / "manifest.json").read_text()
    (index / "manifest.json").write_text(text.replace('"next_id": 8', '"next_id": 9'))
    refused(index, f"{index} is damaged: manifest.json fails its checksum.")
    (index / "manifest.json").write_text(text[:-9])
    refused(index, f"{index} is damaged: manifest.json is truncated or no JSON object.")


def test_a_file_exchanged_for_another_is_seen(tmp_path: Path) -> None:
    path = stored(tmp_path / "index", some(50), some(50, first=50, seed=1))
    one, other = path / "segment-1-0.bin", path / "segment-1-1.bin"
    one.rename(path / "x")
    other.rename(one)
    (path / "x").rename(other)
    refused(path, f"{path} is damaged: segment-1-0.bin is not what the manifest names.")


def test_newer_formats_are_named(index: Path) -> None:
    whole = (index / "segment-1-0.bin").read_bytes()
    (index / "segment-1-0.bin").write_bytes(whole[:8] + struct.pack("<I", 2) + whole[12:])
    tail = "this one reads 1); upgrade bitfold."
    newer = f"{index} was written by a newer bitfold"
    refused(index, f"{newer} (segment-1-0.bin has format 2, {tail}")
    text = (index / "manifest.json").read_text().replace('"version": 1', '"version": 12')
    (index / "manifest.json").write_text(text)
    refused(index, f"{newer} (manifest.json has format 12, {tail}")


# ---- hostile files: every checksum is right --------------------------------------------------


def adopt(path: Path, n_bits: int, segment: Path, deleted: Path | None = None) -> None:
    """Make a manifest that names the files as they are."""

    def named(file: Path) -> Named:
        data = file.read_bytes()
        return Named(file.name, len(data), struct.unpack("<I", data[16:20])[0])

    entry = Entry(named(segment), named(deleted) if deleted else None)
    manifest.write(path, Manifest(n_bits, 0, 5, None, (entry,)))


def forge(file: Path, header: bytes, data: bytes, shift: int = 0) -> None:
    header += b" " * (-(20 + len(header)) % 64 + shift)
    file.write_bytes(struct.pack("<8sIII", b"bitfoldA", 1, len(header), zlib.crc32(header)))
    with file.open("ab") as out:
        out.write(header + data)


def header_of(file: Path) -> tuple[dict[str, Any], bytes]:
    data = file.read_bytes()
    length = struct.unpack("<I", data[12:16])[0]
    return json.loads(data[20 : 20 + length]), data[20 + length :]


HUGE = 1 << 62
EDITS: dict[str, Any] = {
    "arrays.words.shape": [[2, HUGE], [HUGE, HUGE], [2, -1], [-2, -20], [2, 1.0], [40], [],
                           [2, 20, 1], "ab", None, [1, 40], [40, 1],
                           [4, 10], [[2], 20], [True, 40], [0, HUGE]],
    "arrays.words.offset": [-64, 64, 1, HUGE, "0", None, 0.5, [0]],
    "arrays.words.dtype": ["<f8", "|O", "<i8", ">u8", "<u4", 5, None, [], {}],
    "arrays.words.crc32": [0, -1, None, "a", 1e300],
    "arrays.words": [None, [], 5, {}],
    "arrays.starts.shape": [[0], [HUGE], [20], [22]],
    "arrays.starts.offset": [0],
    "arrays.members.shape": [[0], [99], [101]],
    "arrays.ids.shape": [[0], [99]],
    "arrays.more": [{"dtype": "<u8", "shape": [0], "offset": 0, "crc32": 0}],
    "arrays": [None, [], {}, "arrays", [["words", 1]]],
    "meta": [None, [], {}, 5],
    "meta.n_items": [0, 19, 99, 101, -1, HUGE, 1.0, "100", None, True, [100]],
    "meta.first_id": [0, -(1 << 63), 1 << 63, HUGE * 4, 0.5, "0", True, []],
}  # fmt: skip


@pytest.mark.parametrize("key", EDITS)
def test_hostile_headers_are_refused(tmp_path: Path, key: str) -> None:
    path = stored(tmp_path / "index", sparse())
    file = path / "segment-1-0.bin"
    header, data = header_of(file)
    *way, last = key.split(".")
    for value in EDITS[key]:
        forged = json.loads(json.dumps(header))
        inner = forged
        for name in way:
            inner = inner[name]
        inner[last] = value
        forge(file, json.dumps(forged).encode(), data)
        adopt(path, 96, file)
        with pytest.raises(FormatError):
            on_disk(path)
    forge(file, json.dumps(header).encode(), data)
    adopt(path, 96, file)
    assert on_disk(path) == content([sparse()])


@pytest.mark.parametrize("first", [2**63, 2**63 - 99, -(2**63) - 1, 0.5, "0", True])
def test_hostile_first_ids_are_refused(tmp_path: Path, first: Any) -> None:
    path = stored(tmp_path / "index", some(100))
    file = path / "segment-1-0.bin"
    header, data = header_of(file)
    header["meta"]["first_id"] = first
    forge(file, json.dumps(header).encode(), data)
    adopt(path, 96, file)
    with pytest.raises(FormatError, match="contradicts itself"):
        Folder.open(path)


@pytest.mark.parametrize(("shift", "more"), [(0, 64), (0, 1), (8, 0), (64, -64)])
def test_arrays_fill_the_file_from_a_multiple_of_64_bytes(
    tmp_path: Path, shift: int, more: int
) -> None:
    path = stored(tmp_path / "index", some(100))
    file = path / "segment-1-0.bin"
    header, data = header_of(file)
    forge(file, json.dumps(header).encode(), (data + bytes(64))[: len(data) + more], shift)
    adopt(path, 96, file)
    with pytest.raises(FormatError, match="do not fit its header"):
        Folder.open(path)


DEEP = b'{"a":' * 100_000


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"nul", b"1" * 10_000, b"[" * 100_000, DEEP, b"\xff\xfe", b'{"meta":{}}']
)
def test_hostile_json_is_refused(tmp_path: Path, text: bytes) -> None:
    path = stored(tmp_path / "index", sparse())
    file = path / "segment-1-0.bin"
    forge(file, text, header_of(file)[1])
    adopt(path, 96, file)
    with pytest.raises(FormatError):
        Folder.open(path)
    (path / "manifest.json").write_bytes(text)
    with pytest.raises(FormatError):
        Folder.open(path)


def test_json_of_any_depth_is_refused(index: Path) -> None:
    """Between what can be parsed and what can be written again there may be a difference."""
    file = index / "manifest.json"
    for depth in range(800, 1000):
        deep = '{"a":' * depth + "0" + "}" * depth
        replace(file, f'{{"format":"bitfold index","version":1,"x":{deep}}}'.encode())
        with pytest.raises(FormatError):
            Folder.open(index)


@pytest.mark.parametrize(("length", "size"), [(1 << 31, 64), (HUGE >> 31, 20), (45, 65), (0, 20)])
def test_hostile_header_lengths_are_refused(tmp_path: Path, length: int, size: int) -> None:
    path = stored(tmp_path / "index", some())
    file = path / "segment-1-0.bin"
    rest = b"{}".ljust(size - 20)
    sealed = zlib.crc32(rest[:length])
    file.write_bytes(struct.pack("<8sIII", b"bitfoldA", 1, length, sealed) + rest)
    adopt(path, 96, file)
    with pytest.raises(FormatError):
        Folder.open(path)


def wrong_values() -> Iterator[tuple[str, dict[str, Any], int]]:
    """Yield arrays no kernel may see: the one at fault, all, and how many are said to be deleted."""
    right = {name: np.array(getattr(sparse(), name)) for name in ARRAYS[:4]}

    def but(name: str, place: Any, value: Any) -> tuple[str, dict[str, Any], int]:
        array = right[name].copy()
        array[place] = value
        return name, right | {name: array}, 2

    yield but("words", (1, 3), 1 << 63)
    yield but("starts", 0, 1)
    yield but("starts", -1, 99)
    yield but("starts", -1, 2**32 - 1)
    yield but("starts", 4, 2**32 - 1)
    yield but("starts", 4, right["starts"][3])
    yield but("members", 7, 100)
    yield but("members", 7, 2**32 - 1)
    yield but("members", 7, right["members"][8])
    yield but("members", slice(0, 2), right["members"][[1, 0]])
    yield but("members", slice(1, 3), right["members"][[2, 1]])
    # The last item of the first code, replaced by the next: all is in order, but one is missing.
    yield but("members", right["starts"][1] - 1, right["members"][right["starts"][1] - 1] + 1)
    yield but("members", slice(None), right["members"][::-1])
    yield but("ids", 50, right["ids"][49])
    yield but("ids", 50, -(2**63))
    yield "deleted", right, 3
    yield "deleted", right, 1


def test_right_checksums_do_not_let_wrong_values_through(tmp_path: Path) -> None:
    path = stored(tmp_path / "index", sparse())
    file, deleted = path / "segment-9-0.bin", path / "deleted-9-0.bin"
    bits = np.packbits(np.arange(100) < 2)
    for name, arrays, n_deleted in wrong_values():
        array_file.write(file, {"n_items": 100, "first_id": None}, arrays)
        array_file.write(deleted, {"n_items": 100, "n_deleted": n_deleted}, {"deleted": bits})
        adopt(path, 96, file, deleted)
        (segment,) = Folder.open(path).segments
        with pytest.raises(FormatError) as caught:
            getattr(segment, name)
        at = deleted.name if name == "deleted" else file.name
        said = f"array {name} of {at} has a right checksum and wrong values"
        assert str(caught.value) == f"{path} is damaged: {said}."


@pytest.mark.parametrize(
    "meta",
    [
        {},
        {"n_deleted": 0},
        {"n_deleted": -1},
        {"n_deleted": 101},
        {"n_deleted": "2"},
        {"n_items": 99},
    ],
)
def test_hostile_removals_are_refused(tmp_path: Path, meta: dict[str, Any]) -> None:
    path = stored(tmp_path / "index", sparse())
    deleted, bits = path / "deleted-9-0.bin", np.packbits(np.arange(100) < 2)
    right = {"n_items": 100, "n_deleted": 2}
    for values, array in ((meta and right | meta, bits), (right, bits[1:])):
        array_file.write(deleted, values, {"deleted": array})
        adopt(path, 96, path / "segment-1-0.bin", deleted)
        with pytest.raises(FormatError, match=r"header of deleted-9-0\.bin contradicts itself"):
            Folder.open(path)


MANIFESTS: list[dict[str, Any]] = [
    {"n_bits": 0}, {"n_bits": 1025}, {"n_bits": "96"}, {"n_bits": 96.0}, {"n_bits": HUGE},
    {"n_bits": 64}, {"next_id": None}, {"next_id": HUGE * 9}, {"generation": -1},
    {"generation": HUGE}, {"version": 0}, {"version": "1"}, {"version": None},
    {"segments": None}, {"segments": {"file": 1}}, {"segments": [None]}, {"segments": ["a"]},
    {"segments": [{}]}, {"segments": 5}, {"segments": [{"file": 5, "size": 1, "crc32": 1}]},
]  # fmt: skip
NAMES = [
    "../segment-1-0.bin", "segment-1-0.bin/../segment-1-0.bin", "segment-1-0.bin\n", "\0", "", ".",
    "/etc/passwd", "manifest.json",
]  # fmt: skip
ENTRIES: list[dict[str, Any]] = [
    *({"file": name} for name in NAMES), {"size": -1}, {"size": 1.5}, {"size": "1"},
    {"crc32": None}, {"crc32": 1}, {"deleted": 1}, {"deleted": "a"},
    {"deleted": {"file": "segment-1-0.bin"}},
]  # fmt: skip


def test_hostile_manifests_are_refused(tmp_path: Path) -> None:
    path = stored(tmp_path / "index", sparse())
    file = path / "manifest.json"
    right = json.loads(file.read_text())
    del right["crc32"]
    (entry,) = right["segments"]
    cases = MANIFESTS + [{"segments": [entry | wrong]} for wrong in ENTRIES]
    for wrong in cases:
        text = json.dumps(right | wrong, sort_keys=True, separators=(",", ":"))
        file.write_text(json.dumps(right | wrong | {"crc32": zlib.crc32(text.encode())}))
        with pytest.raises(FormatError) as caught:
            Folder.open(path)
        assert str(caught.value).startswith(str(path))
