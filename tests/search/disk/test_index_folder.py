from __future__ import annotations

import errno
import gc
import os
import random
import re
import signal
import struct
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.platforms import posix_only
from tests.search.disk.conftest import (
    FSYNC,
    NO_FLAGS,
    NO_POSITIONS,
    Content,
    assert_format_error,
    flip_bits,
    forge,
    fork,
    list_files,
    make_segment,
    make_sparse_segment,
    make_words,
    overwrite,
    parse_header,
    read_content,
    read_index,
    wait_for,
    write_index,
    write_manifest_for,
)

from bitfold._types import Ids, Words
from bitfold.errors import FormatError, LockedError, NewerFormatError
from bitfold.search.disk import manifest
from bitfold.search.disk.index_folder import IndexFolder, verify
from bitfold.search.disk.manifest import Manifest
from bitfold.search.segment import Segment

linux_only = pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads /proc")


def set_limit(name: str, value: int) -> None:
    """Limit a resource of this process, as ``ulimit`` does."""
    import resource  # Windows has no such module

    resource.setrlimit(getattr(resource, name), (value, value))


def test_only_new_parts_are_written(tmp_path: Path) -> None:
    path = write_index(
        tmp_path / "index",
        make_segment(50),
        make_segment(50, first=50),
        make_segment(50, first=100),
    )
    with IndexFolder.open(path, "a") as folder:
        old = {name: (path / name).stat().st_ino for name in list_files(path)}
        a, b, _ = folder.segments
        folder.commit([a, b.without(np.array([4])), make_segment(9, first=500)], 600)
        assert list_files(path) == [
            "deleted-2-1.bin", "lock", "manifest.json",
            "segment-1-0.bin", "segment-1-1.bin", "segment-2-2.bin",
        ]  # fmt: skip
        kept = ["segment-1-0.bin", "segment-1-1.bin"]
        assert [(path / name).stat().st_ino for name in kept] == [old[name] for name in kept]
        assert (path / "deleted-2-1.bin").stat().st_size <= 512
        assert folder.segments[0] is a
        again = folder.segments
        folder.commit(again, 601)
        assert all(x is y for x, y in zip(folder.segments, again, strict=True))
        folder.commit([again[1].without(np.array([5]))], 602)
        assert list_files(path) == ["deleted-4-0.bin", "lock", "manifest.json", "segment-1-1.bin"]
    assert read_index(path).keys() == set(range(50, 100)) - {54, 55}


def test_commit_old_and_foreign_segments(tmp_path: Path) -> None:
    path = write_index(
        tmp_path / "index", make_segment(40, first=-500, n_values=9), make_segment(9, first=-400)
    )
    other = IndexFolder.open(
        write_index(tmp_path / "other", make_sparse_segment().without(np.array([1])))
    ).segments[0]
    with IndexFolder.open(path, "a") as folder:
        first, second = folder.segments
        marked = first.without(np.array([3]))
        folder.commit([marked], 40)
        past = folder.segments[0]
        folder.commit([past.without(np.array([4]))], 40)
        assert len(read_index(path)) == 38
        folder.commit([past, second, other], 40)
        assert read_index(path) == read_content([past, second, other])
    ids = {*range(-500, -460), *range(-400, -391), *other.ids.tolist()}
    assert read_index(path).keys() == ids - {-497, -49}


def model_step(
    model: Content, segments: list[Segment], step: tuple[str, int], at: int
) -> tuple[Content, list[Segment]]:
    verb, size = step
    if verb == "add":
        ids = np.arange(at, at + size) if size % 2 else at + 3 * np.arange(size)
        words = make_words(size, 70, at, n_values=1 + size // 2 if size % 3 else 1 << 30)
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
def test_commits_match_a_dictionary(history: list[tuple[tuple[str, int], bool]]) -> None:
    with tempfile.TemporaryDirectory() as parent:
        path, model = Path(parent) / "index", dict[int, tuple[int, ...]]()
        folder = IndexFolder.create(path, 70)
        folder.commit([], 0)
        for number, (step, reopen) in enumerate(history):
            model, segments = model_step(model, folder.segments, step, 1000 * number)
            folder.commit(segments, number)
            assert read_content(folder.segments) == read_index(path) == model
            named = {file for file in list_files(path) if file.endswith(".bin")}
            assert named == manifest.read(path).files
            if reopen:
                folder.close()
                folder = IndexFolder.open(path, "a")
                assert folder.next_id == number
        assert verify(path).n_codes == len(model)
        folder.close()


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@linux_only
def test_opening_ten_million_codes_is_fast(tmp_path: Path) -> None:
    n = 10_000_000
    words = np.random.default_rng(0).integers(0, 2**64, (1, n), np.uint64, endpoint=False)
    ids, checksum = np.arange(n), words[0, ::1000].sum()
    segment = Segment(words, NO_POSITIONS, NO_POSITIONS, ids, NO_FLAGS)
    path = write_index(tmp_path / "index", segment, n_bits=64)
    del words, ids, segment
    gc.collect()
    before, seconds = resident_bytes(), []
    for _ in range(5):
        start = time.thread_time()
        (segment,) = IndexFolder.open(path).segments
        assert (len(segment), segment.n_distinct) == (n, n)
        assert segment.find(np.array([n - 1, n])).tolist() == [n - 1, -1]
        seconds.append(time.thread_time() - start)
    assert min(seconds) < 0.05
    assert resident_bytes() - before < 5 << 20
    assert segment.words[0, ::1000].sum() == checksum


def words_of(ids: Ids) -> Words:
    return (ids.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)


def expected_content(number: int) -> Content:
    """Return the content after a number of calls of :func:`advance`."""
    ids = np.arange(3 * number)
    ids = ids[(ids % 5 != 0) | (ids >= 3 * (number - 1))]
    return {i: (code,) for i, code in zip(ids.tolist(), words_of(ids).tolist(), strict=True)}


def advance(folder: IndexFolder) -> int:
    """Commit an addition, a removal and, from time to time, a merge of all segments."""
    number, segments = folder.next_id + 1, folder.segments
    if segments:
        last = segments.pop()
        segments.append(last.without(np.flatnonzero(last.ids % 5 == 0)))
    if len(segments) > 3:
        segments = [Segment.merge(segments)]
    ids = np.arange(3 * number - 3, 3 * number)
    words = words_of(ids)[None]
    folder.commit([*segments, Segment(words, NO_POSITIONS, NO_POSITIONS, ids, NO_FLAGS)], number)
    return number


def kill_while_committing(path: Path, seconds: float) -> int:
    """Let a child commit once and some time longer; return the last number it acknowledged."""
    out, back = os.pipe()

    def work() -> None:
        os.fsync = FSYNC
        with IndexFolder.open(path, "a") as folder:
            while True:
                os.write(back, struct.pack("<q", advance(folder)))

    child = fork(work)
    os.close(back)
    with open(out, "rb") as pipe:  # noqa: PTH123
        acknowledged = pipe.read(8)
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        assert wait_for(child) == -signal.SIGKILL
        acknowledged += pipe.read()
    return int.from_bytes(acknowledged[-8:], "little")


@posix_only("forks and SIGKILL")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_kills_lose_no_commit(tmp_path: Path) -> None:
    path, rng = tmp_path / "index", random.Random(0)
    with IndexFolder.create(path, 64) as folder:
        folder.commit([], 0)
        # Compile here instead of in every child.
        for _ in range(6):
            advance(folder)
    n_kills = unfinished = 0
    while n_kills < 50 or unfinished < 10:
        n_kills += 1
        assert n_kills < 1000
        before = IndexFolder.open(path).next_id
        acknowledged = kill_while_committing(path, rng.uniform(0, 0.02))
        assert acknowledged > before
        reader = IndexFolder.open(path)
        assert reader.next_id in (acknowledged, acknowledged + 1)
        assert read_content(reader.segments) == expected_content(reader.next_id)
        unfinished += reopen(path)
        assert {file for file in list_files(path) if file.endswith(".bin")} == manifest.read(
            path
        ).files


def reopen(path: Path) -> bool:
    """Open and close; return whether that warned about an unfinished commit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        IndexFolder.open(path, "a").close()
    message = rf"{path}: removed an unfinished commit \(\d+ files, \d+ bytes\)\."
    assert len(caught) <= 1
    assert all(re.fullmatch(message, str(warning.message)) for warning in caught)
    return len(caught) == 1


@linux_only
def test_order_of_syncs_and_removals(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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

    with IndexFolder.open(index, "a") as folder:
        monkeypatch.setattr(os, "fsync", sync)
        monkeypatch.setattr(Path, "replace", rename)
        monkeypatch.setattr(Path, "unlink", unlink)
        folder.commit([make_segment().without(np.array([1]))], 9)
        monkeypatch.undo()
    new = ("segment-3-0.bin", "deleted-3-0.bin", "manifest.json")
    durable = [event for name in new for event in ("sync new", f"name {name}", "sync index")]
    assert events[:9] == durable
    old = ["deleted-2-1.bin", "segment-1-0.bin", "segment-1-1.bin"]
    assert sorted(events[9:]) == [f"remove {name}" for name in old]


def make_failing_sync(call: int, problem: BaseException) -> Callable[[int], None]:
    calls = iter(range(1, 1000))

    def sync(descriptor: int) -> None:
        if next(calls) == call:
            raise problem

    return sync


# Syncs: file and directory of the new segment, of the deleted items, and of the manifest.
@posix_only("syncs of directories")
@pytest.mark.parametrize("call", range(1, 7))
@pytest.mark.parametrize("problem", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_failed_commit_changes_nothing(
    index: Path, monkeypatch: pytest.MonkeyPatch, call: int, problem: BaseException
) -> None:
    before, old = list_files(index), read_index(index)
    fresh = make_segment(70, first=20_000, n_values=5).without(np.array([4]))
    reader = IndexFolder.open(index)
    with IndexFolder.open(index, "a") as folder:
        with monkeypatch.context() as patch, pytest.raises(type(problem)) as caught:
            patch.setattr(os, "fsync", make_failing_sync(call, problem))
            folder.commit([folder.segments[1], fresh], 9)
        if isinstance(caught.value, OSError):
            assert str(caught.value).startswith(f"{index} could not be saved: No space left.")
            assert caught.value.errno == errno.ENOSPC
        assert read_content(folder.segments) == old
        # At the last sync the new manifest is in place, but a power failure could undo that.
        new = read_content([folder.segments[1], fresh])
        assert read_index(index) == (new if call == 6 else old)
        assert set(before) <= set(list_files(index))
        assert call == 6 or list_files(index) == before
        with monkeypatch.context() as patch, pytest.raises(type(problem)):
            patch.setattr(os, "fsync", make_failing_sync(3, problem))
            folder.commit([folder.segments[1], make_segment(30, first=30_000)], 9)
        assert read_index(index) == (new if call == 6 else old)
        folder.commit([*folder.segments, make_segment(5, first=77_777)], 10)
        assert read_index(index) == old | read_content([make_segment(5, first=77_777)])
    assert read_content(reader.segments) == old
    assert not reopen(index)


@posix_only("forks and a limit on the size of files")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_full_disk_changes_nothing(index: Path) -> None:
    before, old = list_files(index), read_index(index)

    def work() -> None:
        set_limit("RLIMIT_FSIZE", 50_000)
        with IndexFolder.open(index, "a") as folder:
            with pytest.raises(OSError, match="could not be saved: File too large") as caught:
                folder.commit(
                    [*folder.segments, make_segment(10, first=-500), make_segment(9000)], 9
                )
            assert caught.value.errno == errno.EFBIG
            assert list_files(index) == before
            folder.commit([*folder.segments, make_segment(10, first=-500)], 9)

    assert wait_for(fork(work)) == 0
    assert read_index(index) == old | read_content([make_segment(10, first=-500)])


def test_second_writer_raises(index: Path) -> None:
    with IndexFolder.open(index, "a"):
        with pytest.raises(LockedError, match=re.escape(f"{index} is already open for writing")):
            IndexFolder.open(index, "a")
        with pytest.raises(LockedError):
            IndexFolder.create(index, 96)
        assert len(read_index(index)) == 158
    IndexFolder.open(index, "a").close()


@posix_only("forks and SIGKILL")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_lock_ends_with_its_process(index: Path) -> None:
    out, back = os.pipe()

    def hold() -> None:
        folder = IndexFolder.open(index, "a")
        os.write(back, b"!")
        time.sleep(60)
        folder.close()

    child = fork(hold)
    assert os.read(out, 1) == b"!"
    with pytest.raises(LockedError, match="already open for writing"):
        IndexFolder.open(index, "a")
    os.kill(child, signal.SIGKILL)
    wait_for(child)
    os.close(out)
    os.close(back)
    IndexFolder.open(index, "a").close()


@posix_only("forks")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_child_does_not_share_the_lock(index: Path) -> None:
    folder = IndexFolder.open(index, "a")

    def work() -> None:
        with pytest.raises(LockedError, match="opened by another process"):
            folder.commit([], 0)
        folder.close()

    assert wait_for(fork(work)) == 0
    with pytest.raises(LockedError):
        IndexFolder.open(index, "a")
    folder.commit([], 0)
    folder.close()


def test_garbage_collection_releases_the_lock(index: Path) -> None:
    folder = IndexFolder.open(index, "a")
    del folder
    gc.collect()
    IndexFolder.open(index, "a").close()


def test_failed_open_releases_the_lock(index: Path) -> None:
    flip_bits(index / "segment-1-0.bin", 30)
    with pytest.raises(FormatError) as caught:
        IndexFolder.open(index, "a")
    with pytest.raises(FormatError):
        IndexFolder.open(index, "a")
    assert str(index / "segment-1-0.bin") in str(caught.value)


def test_commit_without_permission(index: Path) -> None:
    with pytest.raises(PermissionError, match="open for reading; open it with mode 'a'"):
        IndexFolder.open(index).commit([], 0)
    with IndexFolder.open(index, "a") as folder:
        pass
    with pytest.raises(ValueError, match="is closed"):
        folder.commit([], 0)
    assert read_content(folder.segments) == read_index(index)
    with pytest.raises(ValueError, match=r"mode of IndexFolder.*'w'"):
        IndexFolder.open(index, "w")


def test_readers_see_whole_commits(tmp_path: Path) -> None:
    path = tmp_path / "index"
    with IndexFolder.create(path, 64) as folder:
        for _ in range(5):
            advance(folder)
        first, stop, problems = IndexFolder.open(path), threading.Event(), list[BaseException]()

        def work() -> None:
            try:
                while not stop.is_set():
                    advance(folder)
            except BaseException as problem:
                problems.append(problem)

        writer = threading.Thread(target=work)
        writer.start()
        seen, give_up = set[int](), time.monotonic() + 100
        while len(seen) < 30 and time.monotonic() < give_up:
            reader = IndexFolder.open(path)
            seen.add(reader.next_id)
            assert read_content(reader.segments) == expected_content(reader.next_id)
        stop.set()
        writer.join()
    assert problems == []
    assert len(seen) == 30
    assert read_content(first.segments) == expected_content(5)


def test_reader_retries_after_a_concurrent_commit(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, reads = IndexFolder.open(index, "a"), []
    real = manifest.read

    def read(path: Path) -> Manifest:
        found = real(path)
        reads.append(found.generation)
        if len(reads) in (2, 3):
            with monkeypatch.context() as patch:
                patch.setattr(manifest, "read", real)
                folder.commit([make_segment(20, first=len(reads))], 1)
        return found

    monkeypatch.setattr(manifest, "read", read)
    assert read_content(IndexFolder.open(index).segments) == read_content(
        [make_segment(20, first=3)]
    )
    assert reads == [2, 2, 3, 4]
    folder.close()


def test_mapped_files_stay_readable(tmp_path: Path) -> None:
    big = make_segment(9000, n_values=8500)
    path = write_index(tmp_path / "index", big)
    reader = IndexFolder.open(path)
    with IndexFolder.open(path, "a") as folder:
        folder.commit([], 0)
    assert list_files(path) == ["lock", "manifest.json"]
    assert read_content(reader.segments) == read_content([big])


@posix_only("forks and a limit on open files")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_small_segments_need_no_descriptors(tmp_path: Path) -> None:
    parts = [make_segment(5, first=10 * i).without(np.array([2])) for i in range(200)]
    path = write_index(tmp_path / "index", *parts)

    def work() -> None:
        set_limit("RLIMIT_NOFILE", 100)
        assert len(read_index(path)) == 800

    assert wait_for(fork(work)) == 0


def read_everything(path: Path) -> tuple[int, int, Content]:
    folder = IndexFolder.open(path)
    return folder.n_bits, folder.next_id, read_content(folder.segments)


def damage(data: bytes, rng: random.Random) -> bytes:
    """Flip bits of a byte, truncate the data or append to it."""
    kind, place = rng.random(), rng.randrange(len(data))
    if kind < 0.7:
        return data[:place] + bytes([data[place] ^ rng.randrange(1, 256)]) + data[place + 1 :]
    return data[:place] if kind < 0.95 else data + rng.randbytes(rng.randrange(1, 100))


def test_random_damage_is_detected(index: Path) -> None:
    rng, truth = random.Random(0), read_everything(index)
    originals = {file: file.read_bytes() for file in index.iterdir() if file.name != "lock"}
    assert len(originals) == 4
    harmless = []
    for _ in range(1000):
        file, data = rng.choice(list(originals.items()))
        overwrite(file, damage(data, rng))
        try:
            # If there is no error, the content must be right.
            assert read_everything(index) == truth
            harmless.append(file.name)
        except FormatError as error:
            assert str(error).startswith(str(index))
        overwrite(file, data)
    # Every byte matters, except white space in the manifest.
    assert set(harmless) <= {"manifest.json"}
    assert len(harmless) < 100


def test_verify_checks_every_byte(index: Path) -> None:
    summary = verify(index)
    sizes = [file.stat().st_size for file in index.glob("*.bin")]
    assert summary == (158, 2, sum(sizes))
    for file in index.glob("*.bin"):
        for place in range(0, file.stat().st_size, 97):
            flip_bits(file, place)
            with pytest.raises(FormatError):
                verify(index)
            flip_bits(file, place)
    assert verify(index) == summary


def test_messages_name_the_damage(index: Path) -> None:
    segment, deleted = index / "segment-1-0.bin", index / "deleted-2-1.bin"
    whole, size = segment.read_bytes(), segment.stat().st_size
    segment.write_bytes(whole[:-1])
    assert_format_error(index, segment, f"{size - 1} bytes instead of {size}")
    segment.unlink()
    assert_format_error(index, index, "segment-1-0.bin is missing")
    segment.write_bytes(whole)
    flip_bits(deleted, -1)
    assert_format_error(index, deleted, "array 'deleted' fails its checksum")
    flip_bits(segment, 50)
    assert_format_error(index, segment, "header is damaged")
    manifest_file = index / "manifest.json"
    text = manifest_file.read_text()
    manifest_file.write_text(text.replace('"next_id": 8', '"next_id": 9'))
    assert_format_error(index, manifest_file, "does not match its checksum")
    manifest_file.write_text(text[:-9])
    assert_format_error(index, manifest_file, "not a JSON object")


@posix_only("named pipes")
def test_pipe_instead_of_a_file(index: Path) -> None:
    segment = index / "segment-1-0.bin"
    size = segment.stat().st_size
    segment.unlink()
    os.mkfifo(segment)
    assert_format_error(index, segment, f"0 bytes instead of {size}")


def test_exchanged_files_are_detected(tmp_path: Path) -> None:
    path = write_index(tmp_path / "index", make_segment(50), make_segment(50, first=50, seed=1))
    one, other = path / "segment-1-0.bin", path / "segment-1-1.bin"
    one.rename(path / "x")
    other.rename(one)
    (path / "x").rename(other)
    assert_format_error(path, one, "not the file in the manifest")


def test_newer_format_versions(index: Path) -> None:
    segment, manifest_file = index / "segment-1-0.bin", index / "manifest.json"
    header = parse_header(segment)
    header.content["format_version"] = 2
    forge(segment, header)
    write_manifest_for(index, 96, segment)
    with pytest.raises(
        NewerFormatError, match=r"segment-1-0\.bin has format version 2; .* Upgrade"
    ):
        read_index(index)
    text = manifest_file.read_text().replace('"format_version": 1', '"format_version": 12')
    manifest_file.write_text(text)
    with pytest.raises(NewerFormatError, match=r"manifest\.json has format version 12; .* Upgrade"):
        read_index(index)


def test_model_digest_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "index"
    with IndexFolder.create(path, 96) as folder:
        folder.commit([make_segment()], 100)
        assert (folder.model_digest, IndexFolder.open(path).model_digest) == (None, None)
        folder.commit(folder.segments, 100, "3f2a")
        assert (folder.model_digest, IndexFolder.open(path).model_digest) == ("3f2a", "3f2a")


def test_safetensors_reads_segment_files(index: Path) -> None:
    first, second = IndexFolder.open(index).segments
    for name, segment in (("segment-1-0.bin", first), ("segment-1-1.bin", second)):
        arrays = safetensors.numpy.load_file(index / name)
        np.testing.assert_array_equal(arrays["words"], segment.words)
        np.testing.assert_array_equal(arrays["members"], segment.members)
    packed = safetensors.numpy.load_file(index / "deleted-2-1.bin")["deleted"]
    np.testing.assert_array_equal(np.unpackbits(packed, count=100), second.deleted)
