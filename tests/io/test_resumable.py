"""Encoding into files that are complete or resumable, never half written."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import h5py
import numpy as np
import pytest
import safetensors.numpy

from bitfold import Codes
from bitfold._types import AnyArray
from bitfold.errors import (
    FormatError,
    InputChangedError,
    LockedError,
    NewerFormatError,
)
from bitfold.hashers import LSH, Hasher
from bitfold.io import encode_to_file, open_codes, open_vectors, resumable
from bitfold.io.atomic import acquire_lock

X = np.random.default_rng(0).standard_normal((30_000, 5)).astype(np.float32)
NAMES = ["x.codes", "x.npy"]


@pytest.fixture(scope="module")
def hasher() -> Hasher:
    fitted: Hasher = LSH(12, random_state=0).fit(X)
    return fitted


@pytest.fixture(params=NAMES)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / str(request.param)


@pytest.fixture(autouse=True)
def sync_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resumable, "_SYNC_SECONDS", 0.0)


def list_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def partial_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.partial")


def note_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.progress")


def interrupt_at(rows: int, error: type[BaseException] = KeyboardInterrupt) -> Any:
    def interrupt(stage: str, done: int, total: int) -> None:
        if done >= rows:
            raise error

    return interrupt


def start(hasher: Hasher, path: Path, source: Any = X, rows: int = 10_000) -> int:
    """Interrupt encoding in the middle; return the number of rows that are safe."""
    with pytest.raises(KeyboardInterrupt):
        encode_to_file(hasher, source, path, progress=interrupt_at(rows))
    assert list_names(path.parent) == [f"{path.name}.partial", f"{path.name}.progress"]
    done: int = json.loads(note_of(path).read_bytes())["n_rows"]
    assert 0 < done < len(X)
    return done


def assert_complete(path: Path, hasher: Hasher, vectors: AnyArray = X) -> None:
    assert open_codes(path, hasher.n_bits_) == hasher.encode(vectors)


# Complete files


def test_file_contains_the_codes(hasher: Hasher, path: Path) -> None:
    for source in (X, iter([X[:7], X[7:]]), lambda: [X]):
        assert encode_to_file(hasher, source, path) == len(X)
        assert list_names(path.parent) == [path.name]
        assert_complete(path, hasher)
        path.unlink()


def test_codes_file_describes_itself(hasher: Hasher, tmp_path: Path) -> None:
    path = tmp_path / "x.codes"
    encode_to_file(hasher, X, path)
    codes = open_codes(path)
    assert (codes.n_bits, len(codes), codes.model_digest) == (12, 30_000, hasher.model_digest)
    assert not codes.packed.flags["W"]
    assert not codes.packed.flags.owndata


def test_safetensors_reads_a_codes_file(hasher: Hasher, tmp_path: Path) -> None:
    path = tmp_path / "x.codes"
    encode_to_file(hasher, X, path)
    arrays = safetensors.numpy.load_file(path)
    assert list(arrays) == ["packed"]
    np.testing.assert_array_equal(arrays["packed"], hasher.encode(X).packed)


def test_npy_is_an_export(hasher: Hasher, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    encode_to_file(hasher, X, path)
    packed = np.load(path, mmap_mode="r")
    assert (packed.dtype, packed.shape) == (np.uint8, (30_000, 2))
    codes = open_codes(path)
    assert (codes.n_bits, codes.model_digest) == (16, None)
    assert open_codes(path, 12) == hasher.encode(X)


# Resuming


@pytest.mark.parametrize("streamed", [False, True])
def test_continue_after_an_interruption(hasher: Hasher, path: Path, streamed: bool) -> None:
    def source() -> Any:
        return iter(np.split(X, 100)) if streamed else X

    done = start(hasher, path, source())
    seen: list[int] = []
    encode_to_file(hasher, source(), path, progress=lambda _, rows, total: seen.append(rows))
    assert seen[0] > done
    assert_complete(path, hasher)
    assert list_names(path.parent) == [path.name]


@pytest.mark.parametrize("size", [-1, 1000, 1500])
def test_unsynced_rows_are_written_again(hasher: Hasher, path: Path, size: int) -> None:
    """After a power failure the file can be longer or shorter than the note says."""
    start(hasher, path)
    with partial_of(path).open("r+b") as file:
        if size < 0:
            file.seek(0, 2)
            file.write(b"torn")
        else:
            file.truncate(size)
    encode_to_file(hasher, X, path)
    assert_complete(path, hasher)


@pytest.mark.parametrize(
    "note",
    [
        b"", b"{}", b"[1]", b"\xff", b'{"format": "bitfold progress"',
        b'{"format": "bitfold progress", "format_version": 1, "n_rows": -1}',
        b'{"format": "bitfold progress", "format_version": 1, "n_rows": "5"}',
        b'{"format": "bitfold progress", "format_version": 1, "n_rows": 5, "crc32": "a"}',
    ],
)  # fmt: skip
def test_damaged_note_restarts(hasher: Hasher, path: Path, note: bytes) -> None:
    start(hasher, path)
    note_of(path).write_bytes(note)
    encode_to_file(hasher, X, path)
    assert_complete(path, hasher)


def test_note_of_a_newer_version(hasher: Hasher, path: Path) -> None:
    start(hasher, path)
    note = json.loads(note_of(path).read_bytes())
    note_of(path).write_text(json.dumps(note | {"format_version": 7}))
    with pytest.raises(NewerFormatError, match="version 7"):
        encode_to_file(hasher, X, path)
    encode_to_file(hasher, X, path, restart=True)
    assert_complete(path, hasher)


def test_damaged_partial_file_is_detected_when_opened(hasher: Hasher, tmp_path: Path) -> None:
    path = tmp_path / "x.codes"
    start(hasher, path)
    with partial_of(path).open("r+b") as file:
        file.seek(1500)
        file.write(b"damage")
    encode_to_file(hasher, X, path)
    with pytest.raises(FormatError, match="fails its checksum"):
        open_codes(path)


def with_changed_row(row: int) -> AnyArray:
    other = X.copy()
    other[row] += 1
    return other


@pytest.mark.parametrize(
    "other", [X[:-1], X.astype(np.float64), with_changed_row(0), with_changed_row(len(X) - 1)]
)
def test_other_vectors_raise(hasher: Hasher, path: Path, other: AnyArray) -> None:
    done = start(hasher, path)
    with pytest.raises(InputChangedError, match=r"\.partial .*vectors"):
        encode_to_file(hasher, other, path)
    with pytest.raises(InputChangedError, match=r"\.partial .*vectors"):
        encode_to_file(hasher, X, path, stamp="another day")
    # The work so far is kept.
    assert json.loads(note_of(path).read_bytes())["n_rows"] == done
    encode_to_file(hasher, other, path, restart=True)
    assert_complete(path, hasher, other)


def test_another_model_raises(hasher: Hasher, path: Path) -> None:
    other = LSH(12, random_state=1).fit(X)
    start(hasher, path)
    with pytest.raises(InputChangedError, match="model"):
        encode_to_file(other, X, path)
    encode_to_file(hasher, X, path)


def test_chunked_sources_are_distinguished(hasher: Hasher, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for name, matrix in (("a", X), ("b", with_changed_row(len(X) - 1))):
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            file.create_dataset("x", data=matrix, chunks=(1000, 5))
    start(hasher, out / "x.codes", open_vectors(tmp_path / "a.h5"))
    with pytest.raises(InputChangedError):
        encode_to_file(hasher, open_vectors(tmp_path / "b.h5"), out / "x.codes")
    encode_to_file(hasher, open_vectors(tmp_path / "a.h5"), out / "x.codes")
    assert_complete(out / "x.codes", hasher)


# Errors and kills


def test_old_file_stays_until_the_new_one_is_complete(hasher: Hasher, path: Path) -> None:
    path.write_bytes(b"old")
    path.chmod(0o600)
    mode = path.stat().st_mode  # 0o600, except on Windows
    with pytest.raises(KeyboardInterrupt):
        encode_to_file(hasher, X, path, progress=interrupt_at(10_000))
    assert path.read_bytes() == b"old"
    encode_to_file(hasher, X, path)
    assert_complete(path, hasher)
    assert path.stat().st_mode == mode


def test_invalid_vectors_leave_no_files(hasher: Hasher, path: Path) -> None:
    bad = X.copy()
    bad[20_000, 1] = np.nan
    with pytest.raises(ValueError, match="NaN in row 20000"):
        encode_to_file(hasher, bad, path)
    with pytest.raises(ValueError, match="4 features"):
        encode_to_file(hasher, X[:, :4], path)
    assert list_names(path.parent) == []


def test_full_disk(hasher: Hasher, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = 0
    append = resumable._PartialFile.append

    def fill_up(self: Any, codes: Codes) -> None:
        nonlocal written
        if written > 10_000:
            raise OSError(errno.ENOSPC, "No space left on device")
        append(self, codes)
        written += len(codes)

    with monkeypatch.context() as patch:
        patch.setattr(resumable._PartialFile, "append", fill_up)
        with pytest.raises(OSError, match="No space left"):
            encode_to_file(hasher, X, path)
    seen: list[int] = []
    encode_to_file(hasher, X, path, progress=lambda _, done, __: seen.append(done))
    assert seen[0] > written
    assert_complete(path, hasher)


KILLED = """
import os, sys
import numpy as np
from bitfold import load
from bitfold.io import encode_to_file, resumable

resumable._SYNC_SECONDS = 0.0

def kill(stage, done, total):
    if done >= 10_000:
        os.kill(os.getpid(), 9)  # SIGKILL; on Windows, an end with exit code 9

encode_to_file(load(sys.argv[1]), np.load(sys.argv[2]), sys.argv[3], progress=kill)
"""


def test_killed_process_leaves_no_lock(hasher: Hasher, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    path, model, vectors = out / "x.codes", tmp_path / "model", tmp_path / "x.npy"
    hasher.save(model)
    np.save(vectors, X)
    run = subprocess.run([sys.executable, "-c", KILLED, model, vectors, path], check=False)
    assert abs(run.returncode) == 9
    assert list_names(out) == ["x.codes.lock", "x.codes.partial", "x.codes.progress"]
    seen: list[int] = []
    encode_to_file(hasher, X, path, progress=lambda _, done, __: seen.append(done))
    assert seen[0] > 5000
    assert_complete(path, hasher)
    assert list_names(out) == ["x.codes"]


def test_two_writers(hasher: Hasher, path: Path) -> None:
    start(hasher, path)
    other = acquire_lock(path.with_name(f"{path.name}.lock"), "taken")
    with pytest.raises(LockedError, match=rf"{path.name} is being written"):
        encode_to_file(hasher, X, path)
    other.release()
    encode_to_file(hasher, X, path)
    assert_complete(path, hasher)


@pytest.mark.parametrize("place", ["missing/x.codes", "."])
def test_target_is_checked_before_vectors_are_read(
    hasher: Hasher, tmp_path: Path, place: str
) -> None:
    def fail() -> Iterator[NoReturn]:
        raise AssertionError("the vectors were read")
        yield

    with pytest.raises(OSError, match="cannot be written"):
        encode_to_file(hasher, fail, tmp_path / place)
