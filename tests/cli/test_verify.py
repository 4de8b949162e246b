"""bitfold verify, run as a process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bitfold as bf

CODES = bf.Codes(np.random.default_rng(0).integers(0, 256, (500, 8), np.uint8), 64)


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bitfold", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    index = bf.HammingIndex(64)
    index.add(CODES)
    index.save(tmp_path / "my.index")
    return tmp_path / "my.index"


def test_a_sound_index(index: Path) -> None:
    told = run("verify", index)
    assert told.returncode == 0
    assert told.stdout.startswith(f"{index} is sound: index, 500 codes, 1 segments,")
    assert json.loads(run("verify", index, "--json").stdout)["codes"] == 500


def test_a_damaged_index(index: Path) -> None:
    (segment,) = index.glob("segment-*")
    content = bytearray(segment.read_bytes())
    content[-100] ^= 1
    segment.write_bytes(content)
    told = run("verify", index)
    assert told.returncode == 1
    assert "fails its checksum" in told.stderr
    assert "Traceback" not in told.stderr
    assert len(told.stderr.strip().splitlines()) == 1


def test_a_model(tmp_path: Path) -> None:
    X = np.random.default_rng(0).standard_normal((60, 4))
    hasher = bf.IMH(8, base=bf.KMeansBase(10), random_state=0).fit(X)
    hasher.save(tmp_path / "m.bitfold")
    told = run("verify", tmp_path / "m.bitfold")
    assert told.returncode == 0
    assert "is sound: IMH, 8 bits" in told.stdout


def test_nothing_there(tmp_path: Path) -> None:
    told = run("verify", tmp_path / "no")
    assert told.returncode == 1
    assert "does not exist" in told.stderr
