"""``bitfold reproduce`` as a process: what it lists, runs, resumes, draws, and says.

The digits of scikit-learn stand in for MNIST's files: 1,797 pictures in the idx format, so that
every step is the real one and takes seconds.
"""

from __future__ import annotations

import gzip
import json
import os
import signal
import struct
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from tests.cli.test_interrupted import Screen

from bitfold.datasets.mnist import FILES

Run = Callable[..., subprocess.CompletedProcess[str]]


def idx(array: np.ndarray[Any, np.dtype[np.uint8]]) -> bytes:
    return struct.pack(f">I{array.ndim}I", 0x800 + array.ndim, *array.shape) + array.tobytes()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with 4,000 small digits in MNIST's four files, and nothing else."""
    folder = tmp_path_factory.mktemp("data")
    X, y = load_digits(return_X_y=True)
    pictures = np.zeros((len(X), 28, 28), np.uint8)
    pictures[:, 2:26, 2:26] = np.kron(X.reshape(-1, 8, 8) * 15, np.ones((3, 3)))
    many = np.resize(np.arange(len(X)), 4000)
    # Noise, so that no two are the same.
    noisy = pictures[many] + np.random.default_rng(0).integers(0, 9, (4000, 28, 28), np.uint8)
    parts = (slice(0, 3000), slice(3000, 4000))
    arrays = [noisy[p] for p in parts] + [y[many].astype(np.uint8)[p] for p in parts]
    (folder / "mnist").mkdir()
    for remote, array in zip(FILES, arrays, strict=True):
        (folder / "mnist" / remote.name).write_bytes(gzip.compress(idx(array), 1))
    return folder


@pytest.fixture(scope="module")
def places(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the surroundings of a user who has MNIST alone."""
    cache = str(tmp_path_factory.mktemp("cache"))
    return {"BITFOLD_DATA": str(data), "BITFOLD_CACHE": cache, "BITFOLD_OFFLINE": "1"}


@pytest.fixture(scope="module")
def here(environment: dict[str, str], places: dict[str, str]) -> dict[str, str]:
    return environment | places


@pytest.fixture
def reproduce(warm: Run, places: dict[str, str], tmp_path: Path) -> Run:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        out = str(tmp_path / "report")
        return warm("reproduce", *arguments, "--out", out, variables=places)

    return run


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_list_has_every_artifact_and_its_time(reproduce: Run) -> None:
    from reproduction.artifacts import ARTIFACTS

    done = reproduce("--list")
    assert (done.returncode, done.stderr) == (0, "")
    rows = {line.split("│")[1].strip(): line for line in done.stdout.splitlines() if "│" in line}
    assert list(rows) == [*ARTIFACTS, "all"]
    for row in rows.values():
        assert row.split("│")[-2].strip().split()[1] in ("s", "min", "h")
    assert _runs(rows["all"]) > _runs(rows["fig-mnist"]) == 540
    fewer = reproduce("--list", "--repeats", "3").stdout
    assert _runs(next(line for line in fewer.splitlines() if "fig-mnist" in line)) == 162
    told = {each["name"]: each for each in json.loads(reproduce("--list", "--json").stdout)}
    assert list(told) == [*ARTIFACTS, "all"]
    assert told["fig-mnist"]["runs"] == 540
    assert told["all"]["seconds"] > told["fig-mnist"]["seconds"] > 0


def _runs(row: str) -> int:
    return int(row.split("│")[4].replace(",", ""))


def test_one_artifact_is_run_drawn_and_resumed(reproduce: Run, tmp_path: Path) -> None:
    first = reproduce("fig-query-digits", "--quick")
    assert (first.returncode, first.stderr) == (0, ""), first.stderr
    folder = tmp_path / "report"
    assert first.stdout == f"Report written to {folder / 'index.html'}\n"
    assert sorted(path.name for path in folder.iterdir()) == [
        "fig-query-digits-mnist.png", "fig-query-digits-mnist.svg", "index.html",
        "records-quick.jsonl",
    ]  # fmt: skip
    (record,) = records(folder / "records-quick.jsonl")
    assert record.keys() == {"case", "result", "seconds", "versions"}
    assert record["case"]["seed"] == 0
    assert record["seconds"] > 0
    assert record["versions"]["bitfold"]
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert reproduce("fig-query-digits", "--quick").returncode == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    # A line that was cut off is run again, and nothing else.
    kept = folder / "records-quick.jsonl"
    kept.write_bytes(before[kept.name][:-40])
    assert reproduce("fig-query-digits", "--quick").returncode == 0
    (again,) = [json.loads(line) for line in kept.read_text().splitlines()[1:]]
    assert again["result"] == record["result"]
    listed = reproduce("--list", "--quick").stdout
    assert "done" in next(line for line in listed.splitlines() if "fig-query-digits" in line)


def test_repeats_and_queries_are_in_the_records_and_the_report(
    reproduce: Run, tmp_path: Path
) -> None:
    done = reproduce("fig-2d", "--repeats", "2", "--queries", "50")
    assert done.returncode == 0, done.stderr
    (record,) = records(tmp_path / "report" / "records.jsonl")
    assert (record["case"]["queries"], record["case"]["rows"]) == (50, 0)
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert "1 run, 1 repeat, the whole database" in page
    assert "<code>bitfold reproduce fig-2d --repeats 2 --queries 50</code>" in page
    # A small version of another artifact joins the page, and takes nothing from it.
    assert reproduce("fig-query-digits", "--quick").returncode == 0
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert page.count("<section") == 2
    assert "1 repeat, the whole database" in page
    assert "a small version" in page


def test_a_killed_run_goes_on_where_it_was(
    command: str, here: dict[str, str], tmp_path: Path
) -> None:
    kept = tmp_path / "r" / "records-quick.jsonl"
    # Of its two data sets CIFAR-10 is not there; MNIST has ten runs.
    arguments = [command, "reproduce", "fig-itq", "--quick", "--out", str(tmp_path / "r")]
    process = subprocess.Popen(
        arguments, env=here, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    while not kept.exists() or kept.read_bytes().count(b"\n") < 2:
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    begun = kept.read_bytes()
    whole = begun[: begun.rindex(b"\n") + 1]
    assert 2 <= whole.count(b"\n") < 10
    assert not (tmp_path / "r" / "index.html").exists()
    done = subprocess.run(arguments, env=here, capture_output=True, text=True)
    assert done.stderr.startswith("bitfold: the data set cifar10 needs ")
    assert kept.read_bytes().startswith(whole)
    cases = [json.dumps(record["case"]) for record in records(kept)]
    assert len(cases) == len(set(cases)) == 10
    assert (tmp_path / "r" / "index.html").exists()


def test_bars_on_a_terminal_and_none_in_a_pipe(
    command: str, here: dict[str, str], tmp_path: Path
) -> None:
    screen = Screen()
    arguments = ["reproduce", "fig-query-digits", "--quick", "--out", str(tmp_path / "r")]
    process = subprocess.Popen(
        [command, *arguments], stdout=screen.theirs, stderr=screen.theirs, env=here
    )
    assert process.wait(200) == 0
    shown = screen.text()
    for part in ("all runs", "0 of 1", "about", " left", "mnist, IMH-tSNE, 48 bits"):
        assert part in shown
    assert "Report written to" in shown


def test_what_cannot_be_done_is_told_in_a_sentence(reproduce: Run, tmp_path: Path) -> None:
    for arguments, says, code in (
        (["fig-nothing"], "artifacts must be among all, fig-query-digits, ", 2),
        (["fig-mnist", "--repeats", "0"], "Invalid value for '--repeats': ", 2),
        (["fig-mnist", "--queries", "none"], "Invalid value for '--queries': ", 2),
        (["fig-cifar", "--quick"], "the data set cifar10 needs cifar10/cifar-10-binary.tar.gz", 1),
        (["fig-sift", "--quick"], "the data set sift needs sift/sift.tar.gz", 1),
        (["fig-2d", "--queries", "4000"], "n_queries of MNIST must be at most 3999", 1),
    ):
        done = reproduce(*arguments)
        assert done.returncode == code, done.stderr
        assert done.stdout == ""
        assert done.stderr.startswith("bitfold: ")
        assert says in done.stderr
        assert done.stderr.count("\n") == 1
    assert not (tmp_path / "report").exists()


def test_what_has_its_data_is_run_beside_what_has_not(reproduce: Run, tmp_path: Path) -> None:
    done = reproduce("fig-retrieved", "fig-query-digits", "fig-sift", "--quick")
    assert done.returncode == 1
    assert "Report written to" in done.stdout
    assert done.stderr.count("\n") == 1
    for missing in ("cifar10 needs", "sift needs"):
        assert missing in done.stderr
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert "Queries among 300 digits" in page


def test_without_matplotlib_it_says_what_to_install(
    command: str, here: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "matplotlib").mkdir()
    (tmp_path / "matplotlib" / "__init__.py").write_text("raise ImportError('none')")
    bare = {**here, "PYTHONPATH": str(tmp_path)}
    listed = subprocess.run(
        [command, "reproduce", "--list"], env=bare, capture_output=True, text=True, cwd=tmp_path
    )
    assert (listed.returncode, listed.stderr) == (0, "")
    done = subprocess.run(
        [command, "reproduce", "fig-2d"], env=bare, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 1
    assert done.stderr == (
        'bitfold: bitfold reproduce needs matplotlib to draw: pip install "bitfold[figures]".\n'
    )
