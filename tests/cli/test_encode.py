"""``bitfold encode``: every format, hostile files, interruption and resumption."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.helpers import Run, Screen, X, assert_fails, list_names, parse_json

import bitfold as bf
from bitfold.hashers import LSH
from bitfold.io import open_codes

FORMATS = [
    *("x.npy", "x.npz:vectors", "x.h5", "x.parquet", "x.zarr", "x.fvecs", "x.bvecs"),
    *("x.csv:v", "x.jsonl", "x.jsonl:v", "x.safetensors"),
]


def assert_same_codes(first: Path, second: Path) -> None:
    a, b = open_codes(first), open_codes(second)
    assert a == b
    assert a.model_digest == b.model_digest


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_codes(
    warm: Run, files: Path, tmp_path: Path, name: str
) -> None:
    out = tmp_path / "x.codes"
    done = warm("encode", str(files / "m.bitfold"), str(files / name), "--out", str(out), "--json")
    summary = parse_json(done)
    assert (summary["rows"], summary["bits"], summary["out"]) == (len(X), 60, str(out))
    assert_same_codes(out, files / "x.codes")
    assert list_names(tmp_path) == ["x.codes"]


def test_codes_file_knows_its_model(files: Path) -> None:
    hasher = bf.load(files / "m.bitfold")
    codes = open_codes(files / "x.codes")
    assert codes == hasher.encode(X)
    assert (codes.n_bits, codes.model_digest) == (60, hasher.model_digest)


def test_pipe(command: str, files: Path, tmp_path: Path) -> None:
    def encode(content: bytes, out: str) -> subprocess.CompletedProcess[bytes]:
        arguments = ["encode", str(files / "m.bitfold"), "-", "--out", str(tmp_path / out)]
        return subprocess.run(
            [command, *arguments], input=content, capture_output=True, timeout=120, check=False
        )

    stream = (files / "x.npy").read_bytes()
    done = encode(stream, "x.codes")
    assert (done.returncode, done.stderr) == (0, b"")
    assert_same_codes(tmp_path / "x.codes", files / "x.codes")
    done = encode(stream[:-300], "short.codes")
    assert done.returncode in (3, 4)
    assert b"1797" in done.stderr
    assert b"1795" in done.stderr
    assert list_names(tmp_path) == ["x.codes"]


# Hostile files


def to_npy(content: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, content, **options)
    return file.getvalue()


def npy_with_shape(shape: str) -> bytes:
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00v\x00" + header.encode() + b"\x00" * 256


WITH_NAN = X.copy()
WITH_NAN[1234, 5] = np.nan
OBJECTS = np.array([{"a": 1}, [2]], object)

HOSTILE = {
    "empty.npy": (b"", "empty.npy", 4),
    "short.npy": (to_npy(X)[:-5], "short.npy", 4),
    "pickle.npy": (to_npy(OBJECTS, allow_pickle=True), "pickle.npy", 4),
    "huge.npy": (npy_with_shape("(1000000000000000, 64)"), "huge.npy", 4),
    "overflow.npy": (npy_with_shape("(4611686018427387905, 4)"), "overflow.npy", 4),
    "nan.npy": (to_npy(WITH_NAN), "NaN in row 1234", 3),
    "narrow.npy": (to_npy(X[:, :60]), "60 features, but LSH is expecting 64", 3),
    "flat.npy": (to_npy(X[0]), r"\(64,\)", 4),
    "words.npy": (to_npy(np.array([["a", "b"]])), "words.npy.*<U1", 4),
    "junk.parquet": (b"PAR1 junk PAR1", "junk.parquet", 4),
    "junk.h5": (b"junk", "junk.h5", 4),
    "junk.fvecs": (b"\xff\xff\xff\x7f1234", "junk.fvecs", 4),
    "x.docx": (b"junk", "x.docx", None),
}
"""Files, what the error contains, and the exit code."""


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_vectors_are_one_error(warm: Run, files: Path, tmp_path: Path, name: str) -> None:
    content, pattern, code = HOSTILE[name]
    (tmp_path / name).write_bytes(content)
    out = str(tmp_path / "x.codes")
    done = warm("encode", str(files / "m.bitfold"), str(tmp_path / name), "--out", out)
    assert done.returncode != 0
    assert_fails(done, pattern, code or done.returncode)
    assert list_names(tmp_path) == [name]


def test_wrong_inputs(warm: Run, files: Path, tmp_path: Path) -> None:
    vectors, model, out = str(files / "x.npy"), str(files / "m.bitfold"), str(tmp_path / "x.codes")
    assert_fails(warm("encode", vectors, vectors, "--out", out), "x.npy", 4)
    assert_fails(warm("encode", model, "no.npy", "--out", out), "no.npy does not exist", 5)
    missing = str(tmp_path / "no" / "x.codes")
    assert_fails(warm("encode", model, vectors, "--out", missing), "directory does not exist", 5)
    assert list_names(tmp_path) == []


# Interruption

NOISE = np.random.default_rng(0).standard_normal((60_000, 64)).astype(np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("interrupted")
    np.save(folder / "x.npy", NOISE)
    LSH(64, random_state=0).fit(NOISE).save(folder / "m.bitfold")
    return folder


class FedEncode:
    """``bitfold encode`` of a pipe that is filled slowly and never ends."""

    def __init__(self, command: str, folder: Path, out: Path, terminal: int | None = None) -> None:
        self._progress = out.with_name(f"{out.name}.progress")
        self._content = (folder / "x.npy").read_bytes()
        arguments = ["encode", str(folder / "m.bitfold"), "-", "--out", str(out), "--force"]
        self.process = subprocess.Popen(
            [command, *arguments],
            stdin=subprocess.PIPE,
            stdout=terminal,
            stderr=terminal or subprocess.DEVNULL,
        )
        self._feed(1 << 20)

    def feed_until(self, is_reached: Callable[[], Any]) -> None:
        """Feed the process slowly until a condition holds."""
        while len(self._content) > 1 << 20:
            if is_reached():
                return
            time.sleep(0.1)
            self._feed(200_000)
        raise AssertionError("The condition was never met.")

    def count_saved(self) -> int:
        """Return the number of rows that are safely on disk."""
        if not self._progress.exists():
            return 0
        return int(json.loads(self._progress.read_bytes())["n_rows"])

    def _feed(self, n_bytes: int) -> None:
        assert self.process.stdin
        self.process.stdin.write(self._content[:n_bytes])
        self.process.stdin.flush()
        self._content = self._content[n_bytes:]

    def stop(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        code = self.process.wait(100)
        assert self.process.stdin
        self.process.stdin.close()
        return code


def test_killed_run_is_resumed(command: str, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.codes"
    out.write_bytes(b"the old codes")
    fed = FedEncode(command, folder, out)
    fed.feed_until(fed.count_saved)
    fed.stop(signal.SIGKILL)
    assert 0 < fed.count_saved() < len(NOISE)
    assert out.read_bytes() == b"the old codes"
    out.unlink()
    run = [command, "encode", str(folder / "m.bitfold"), "-", "--out", str(out), "--json"]
    np.save(tmp_path / "other.npy", NOISE + 1)
    with (tmp_path / "other.npy").open("rb") as vectors:
        done = subprocess.run(run, stdin=vectors, capture_output=True, text=True, check=False)
    assert_fails(done, "vectors", 3)
    with (folder / "x.npy").open("rb") as vectors:
        done = subprocess.run(run, stdin=vectors, capture_output=True, text=True, check=False)
    assert parse_json(done)["rows"] == len(NOISE)
    assert open_codes(out) == bf.load(folder / "m.bitfold").encode(NOISE)
    assert list_names(tmp_path) == ["other.npy", "x.codes"]


def test_ctrl_c_on_a_terminal(command: str, folder: Path, tmp_path: Path) -> None:
    screen = Screen()
    fed = FedEncode(command, folder, tmp_path / "x.codes", screen.terminal)
    fed.feed_until(lambda: fed.count_saved() and b" left" in screen.shown)
    n_saved = fed.count_saved()
    assert fed.stop(signal.SIGINT) == 130
    shown = screen.close()
    assert "Traceback" not in shown
    for part in ("encode", "/s", " left", "run the command again to continue"):
        assert part in " ".join(shown.split())
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")  # the cursor is visible again
    assert fed.count_saved() >= n_saved
