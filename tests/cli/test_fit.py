"""``bitfold fit``."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from tests.cli.helpers import Run, X, assert_fails, list_names, parse_json
from tests.platforms import posix_only

import bitfold as bf
from bitfold.cli._methods import METHODS
from bitfold.hashers import ITQ


def test_help_lists_the_methods(warm: Run) -> None:
    lines = [line.strip() for line in warm("fit", "--help").stdout.splitlines()]
    for name, method in METHODS.items():
        about = (method.__doc__ or "").split("\n")[0]
        assert any(line and f"{name}: {about}".startswith(line) for line in lines)


def test_default_method(warm: Run, files: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.bitfold"
    done = warm(
        "fit", str(files / "x.npy"), "--bits", "32", "--out", str(out),
        "--set", "coarse__base__n_base_points=60",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    summary, base_set = done.stdout.splitlines()
    assert summary.startswith(f"{out}: DualHasher, 32 bits, fitted on 1,797 × 64 vectors in ")
    assert base_set.startswith("60 base points (")
    again = bf.DualHasher(32, coarse=bf.IMH(base=bf.KMeansBase(60)), random_state=0).fit(X)
    assert bf.load(out).encode(X) == again.encode(X)


@pytest.mark.parametrize("labels", ["labels.txt", "x.h5:labels", "x.parquet:label", "x.csv:label"])
def test_labels(warm: Run, files: Path, tmp_path: Path, labels: str) -> None:
    out = tmp_path / "m.bitfold"
    summary = parse_json(
        warm(
            "fit", str(files / "x.fvecs"), "--labels", str(files / labels), "--out", str(out),
            "--method", "ksh", "--bits", "12", "--set", "n_anchors=60", "--set", "n_samples=120",
            "--seed", "3", "--json",
        )
    )  # fmt: skip
    assert (summary["method"], summary["bits"], summary["features"]) == ("KSH", 12, 64)
    assert summary["bytes"] == out.stat().st_size
    assert bf.load(out).get_params()["random_state"] == 3


def test_pipe(command: str, files: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.bitfold"
    fit = [command, "fit", "-", "--method", "LSH", "--bits", "60", "--out", str(model)]
    with (files / "x.npy").open("rb") as vectors:
        subprocess.run(fit, stdin=vectors, check=True, timeout=120)
    assert model.read_bytes() == (files / "m.bitfold").read_bytes()


def test_cosine(warm: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((300, 64)) * np.exp2(rng.integers(-2, 3, (300, 1)))
    np.save(tmp_path / "x.npy", vectors)
    fit = ["fit", str(tmp_path / "x.npy"), "--method", "itq", "--bits", "16"]
    done = warm(*fit, "--cosine", "--out", str(tmp_path / "cosine"))
    assert (done.returncode, done.stderr, "--cosine" in done.stdout) == (0, "", False)
    loaded = bf.load(tmp_path / "cosine")
    assert loaded.normalize_ is True
    again = ITQ(16, normalize=True, random_state=0).fit(vectors)
    assert loaded.model_digest == again.model_digest
    plain = warm(*fit, "--out", str(tmp_path / "plain"))
    assert plain.stdout.splitlines()[-1].endswith("use --cosine if only their direction matters.")
    assert bf.load(tmp_path / "plain").normalize_ is False
    summary = parse_json(warm(*fit, "--out", str(tmp_path / "plain"), "--force", "--json"))
    assert summary["hint"] == plain.stdout.splitlines()[-1]
    setting = warm(*fit, "--set", "normalize=true", "--out", str(tmp_path / "setting"))
    assert "--cosine" not in setting.stdout
    assert bf.load(tmp_path / "setting").model_digest == again.model_digest


def test_wrong_arguments(warm: Run, files: Path, tmp_path: Path) -> None:
    fit = ["fit", str(files / "x.npy"), "--out", str(tmp_path / "out")]
    assert_fails(warm(*fit, "--method", "foo"), "'foo'", 2)
    assert_fails(warm(*fit, "--set", "k"), "NAME=VALUE, got 'k'", 2)
    assert_fails(warm(*fit, "--set", "kk=1"), "DualHasher .*'kk'", 2)
    assert_fails(warm(*fit, "--bits", "100000"), "1024", 2)
    itq = [*fit, "--method", "itq"]
    assert_fails(warm(*itq, "--bits", "65"), "n_bits of ITQ .*n_features=64, got 65", 2)
    assert_fails(warm(*itq, "--labels", str(files / "labels.npy")), "ITQ .*labels", 2)
    assert_fails(warm("fit", str(files), "--out", str(tmp_path / "out")), "folder")
    assert_fails(warm("fit", str(files / "x.npy"), "--out", "-"), "pipe", 2)
    assert list_names(tmp_path) == []


def wait_until_busy(process: subprocess.Popen[bytes], seconds: float = 4) -> None:
    """Wait until a process has used some processor time, of which imports need a part."""
    stat = Path(f"/proc/{process.pid}/stat")
    if not stat.exists():
        time.sleep(6)
        return
    ticks = seconds * os.sysconf("SC_CLK_TCK")
    while process.poll() is None and sum(map(int, stat.read_text().split()[13:15])) < ticks:
        time.sleep(0.05)


@posix_only("signals that a process can handle")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_fit_leaves_nothing(
    command: str, tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "out").mkdir()
    noise = np.random.default_rng(0).standard_normal((60_000, 64)).astype(np.float32)
    np.save(tmp_path / "x.npy", noise)
    fit = ["fit", str(tmp_path / "x.npy"), "--out", str(tmp_path / "out" / "m.bitfold")]
    process = subprocess.Popen(
        [command, *fit, "--set", "coarse__base__n_base_points=6000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_until_busy(process)
    assert process.poll() is None
    process.send_signal(number)
    assert process.communicate(timeout=100) == (b"", b"")
    assert process.returncode == 128 + number
    assert list_names(tmp_path / "out") == []
