"""Codes to a file as they come: complete or resumable, never half."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

from bitfold.io import open_vectors
from bitfold.errors import InputChangedError
from bitfold.hashers import LSH, Hasher
from bitfold.io import codes_file
from bitfold.io.codes_file import encode_to_file

X = np.random.default_rng(0).standard_normal((30_000, 5)).astype(np.float32)


class Enough(OSError):
    """Stands for a disk that is full."""


@pytest.fixture(scope="module")
def hasher() -> Hasher:
    fitted: Hasher = LSH(12, random_state=0).fit(X)
    return fitted


@pytest.fixture(autouse=True)
def always_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codes_file, "_SAVE_SECONDS", 0.0)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def stopped_at(rows: int, error: type[BaseException] = KeyboardInterrupt) -> Any:
    def stop(stage: str, done: int, total: int) -> None:
        if done >= rows:
            raise error

    return stop


def begin(hasher: Hasher, path: Path, source: Any = X, rows: int = 10_000) -> int:
    """Stop in the middle; return how many rows are safe."""
    with pytest.raises(KeyboardInterrupt):
        encode_to_file(hasher, source, path, progress=stopped_at(rows))
    assert names(path.parent) == ["c.npy.partial", "c.npy.progress"]
    done: int = json.loads(path.with_name("c.npy.progress").read_bytes())["rows"]
    assert 0 < done < len(X)
    return done


def test_the_file_is_the_codes(hasher: Hasher, tmp_path: Path) -> None:
    path = tmp_path / "c.npy"
    for source in (X, iter([X[:7], X[7:]]), lambda: [X]):
        assert encode_to_file(hasher, source, path) == len(X)
        assert names(tmp_path) == ["c.npy"]
        stored = np.load(path, mmap_mode="r")
        assert (stored.dtype, stored.shape) == (np.uint8, (30_000, 2))
        assert np.array_equal(stored, hasher.encode(X).packed)
        path.unlink()


@pytest.mark.parametrize("streamed", [False, True])
def test_it_goes_on_where_it_was(hasher: Hasher, tmp_path: Path, streamed: bool) -> None:
    path = tmp_path / "c.npy"

    def source() -> Any:
        return iter(np.split(X, 100)) if streamed else X

    done = begin(hasher, path, source())
    first: list[int] = []
    encode_to_file(hasher, source(), path, progress=lambda _, rows, total: first.append(rows))
    assert first[0] > done
    assert np.array_equal(np.load(path), hasher.encode(X).packed)
    assert names(tmp_path) == ["c.npy"]


def test_what_was_not_noted_is_written_again(hasher: Hasher, tmp_path: Path) -> None:
    """After a power cut there may be more in the file than is known to be right, or less."""
    path, partial = tmp_path / "c.npy", tmp_path / "c.npy.partial"
    begin(hasher, path)
    with partial.open("ab") as file:
        file.write(b"torn")
    encode_to_file(hasher, X, path)
    assert np.array_equal(np.load(path), hasher.encode(X).packed)
    begin_again = path.rename(tmp_path / "old")
    begin_again.unlink()
    begin(hasher, path)
    with partial.open("r+b") as file:
        file.truncate(1000)
    encode_to_file(hasher, X, path)
    assert np.array_equal(np.load(path), hasher.encode(X).packed)


@pytest.mark.parametrize(
    "note", [b"", b"{}", b"[1]", b"\xff", b'{"format": "bitfold codes 1", "width": 2, "rows": -1}']
)
def test_a_damaged_note_means_from_the_beginning(
    hasher: Hasher, tmp_path: Path, note: bytes
) -> None:
    begin(hasher, tmp_path / "c.npy")
    (tmp_path / "c.npy.progress").write_bytes(note)
    encode_to_file(hasher, X, tmp_path / "c.npy")
    assert np.array_equal(np.load(tmp_path / "c.npy"), hasher.encode(X).packed)


def changed(row: int) -> NDArray[Any]:
    other = X.copy()
    other[row] += 1
    return other


@pytest.mark.parametrize("other", [X[:-1], X.astype(np.float64), changed(0), changed(len(X) - 1)])
def test_other_vectors_are_refused(hasher: Hasher, tmp_path: Path, other: NDArray[Any]) -> None:
    path = tmp_path / "c.npy"
    done = begin(hasher, path)
    sentence = r"c\.npy\.partial must be finished with the vectors it was begun with, got another"
    with pytest.raises(InputChangedError, match=sentence):
        encode_to_file(hasher, other, path)
    with pytest.raises(InputChangedError, match=sentence):
        encode_to_file(hasher, X, path, stamp="of another day")
    # Nothing is lost by asking.
    assert json.loads((tmp_path / "c.npy.progress").read_bytes())["rows"] == done
    encode_to_file(hasher, other, path, restart=True)
    assert np.array_equal(np.load(path), hasher.encode(other).packed)


def test_another_model_is_refused(hasher: Hasher, tmp_path: Path) -> None:
    path, other = tmp_path / "c.npy", LSH(12, random_state=1).fit(X)
    begin(hasher, path)
    with pytest.raises(
        InputChangedError, match="must be finished with the model it was begun with"
    ):
        encode_to_file(other, X, path)
    encode_to_file(hasher, X, path)


def test_chunked_sources_are_told_apart_too(hasher: Hasher, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for name, matrix in (("a", X), ("b", changed(len(X) - 1))):
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            file.create_dataset("x", data=matrix, chunks=(1000, 5))
    begin(hasher, out / "c.npy", open_vectors(tmp_path / "a.h5"))
    with pytest.raises(InputChangedError):
        encode_to_file(hasher, open_vectors(tmp_path / "b.h5"), out / "c.npy")
    encode_to_file(hasher, open_vectors(tmp_path / "a.h5"), out / "c.npy")
    assert np.array_equal(np.load(out / "c.npy"), hasher.encode(X).packed)


def test_the_old_file_stays_until_the_new_one_is_there(hasher: Hasher, tmp_path: Path) -> None:
    path = tmp_path / "c.npy"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with pytest.raises(KeyboardInterrupt):
        encode_to_file(hasher, X, path, progress=stopped_at(10_000))
    assert path.read_bytes() == b"old"
    encode_to_file(hasher, X, path)
    assert np.load(path).shape == (30_000, 2)
    assert path.stat().st_mode & 0o777 == 0o600


def test_wrong_vectors_leave_nothing(hasher: Hasher, tmp_path: Path) -> None:
    bad = X.copy()
    bad[20_000, 1] = np.nan
    with pytest.raises(ValueError, match="NaN in row 20000"):
        encode_to_file(hasher, bad, tmp_path / "c.npy")
    with pytest.raises(ValueError, match="X has 4 features"):
        encode_to_file(hasher, X[:, :4], tmp_path / "c.npy")
    assert names(tmp_path) == []


def test_a_full_disk_costs_only_what_was_not_saved(
    hasher: Hasher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = 0
    append = codes_file._Partial.append

    def full(self: Any, codes: Any) -> None:
        nonlocal written
        if written > 10_000:
            raise OSError(errno.ENOSPC, "No space left on device")
        append(self, codes)
        written += len(codes)

    with monkeypatch.context() as patch:
        patch.setattr(codes_file._Partial, "append", full)
        with pytest.raises(OSError, match="No space left"):
            encode_to_file(hasher, X, tmp_path / "c.npy")
    seen: list[int] = []
    encode_to_file(hasher, X, tmp_path / "c.npy", progress=lambda _, done, __: seen.append(done))
    assert seen[0] > written
    assert np.array_equal(np.load(tmp_path / "c.npy"), hasher.encode(X).packed)


def test_two_do_not_write_one_file(hasher: Hasher, tmp_path: Path) -> None:
    begin(hasher, tmp_path / "c.npy")
    other = os.open(tmp_path / "c.npy.partial", os.O_RDWR)
    fcntl.flock(other, fcntl.LOCK_EX)
    with pytest.raises(BlockingIOError, match=r"c\.npy is being written by another process\.$"):
        encode_to_file(hasher, X, tmp_path / "c.npy")
    os.close(other)
    encode_to_file(hasher, X, tmp_path / "c.npy")


def test_a_file_that_was_finished_meanwhile_is_not_touched(
    hasher: Hasher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock may be won only after the other process has given the file its name."""
    path, finished = tmp_path / "c.npy.partial", tmp_path / "c.npy"
    lock = codes_file._lock
    calls = 0

    def late(file: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            path.write_bytes(b"finished by the other")
            path.rename(finished)
        lock(file)

    monkeypatch.setattr(codes_file, "_lock", late)
    file = codes_file._open_locked(path, finished)
    file.close()
    assert calls == 2
    assert finished.read_bytes() == b"finished by the other"
    assert path.read_bytes() == b""


@pytest.mark.parametrize("place", ["missing/c.npy", "."])
def test_a_place_that_cannot_be_written_is_refused_first(
    hasher: Hasher, tmp_path: Path, place: str
) -> None:
    def unread() -> Iterator[NoReturn]:
        raise AssertionError("the vectors were read")
        yield

    with pytest.raises(OSError, match="cannot be written"):
        encode_to_file(hasher, unread, tmp_path / place)
