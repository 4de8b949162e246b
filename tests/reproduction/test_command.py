"""The command: what it lists, runs, resumes, draws and reports.

The digits of scikit-learn replace the files of MNIST: 1,797 images in the idx format.
"""

from __future__ import annotations

import builtins
import gzip
import json
import os
import signal
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reproduction.artifacts import ARTIFACTS
from sklearn.datasets import load_digits
from tests.reproduction.conftest import Output, RunCommand
from tests.reproduction.terminal_process import RUN_COMMAND, TerminalProcess

from bitfold.datasets.mnist import FILES
from reproduction import case_lists
from reproduction.experiments import methods, pictures
from reproduction.report import figure_files

N_DIGITS = 100
"""Digits in Fig. 2; the 300 of the paper take most of the time."""

QUICK_SIZES = (80, 100)
"""Sizes of the base set in a quick version of Table II."""


def encode_idx(array: np.ndarray[Any, np.dtype[np.uint8]]) -> bytes:
    return struct.pack(f">I{array.ndim}I", 0x800 + array.ndim, *array.shape) + array.tobytes()


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return variables of a user who has only MNIST, with 4,000 small digits in its files."""
    folder = tmp_path_factory.mktemp("data")
    X, y = load_digits(return_X_y=True)
    images = np.zeros((len(X), 28, 28), np.uint8)
    images[:, 2:26, 2:26] = np.kron(X.reshape(-1, 8, 8) * 15, np.ones((3, 3)))
    rows = np.resize(np.arange(len(X)), 4000)
    # Noise makes all images different.
    noisy = images[rows] + np.random.default_rng(0).integers(0, 9, (4000, 28, 28), np.uint8)
    parts = (slice(0, 3000), slice(3000, 4000))
    arrays = [noisy[p] for p in parts] + [y[rows].astype(np.uint8)[p] for p in parts]
    (folder / "mnist").mkdir()
    for remote, array in zip(FILES, arrays, strict=True):
        (folder / "mnist" / remote.name).write_bytes(gzip.compress(encode_idx(array), 1))
    cache = str(tmp_path_factory.mktemp("cache"))
    return {"BITFOLD_DATA": str(folder), "BITFOLD_CACHE": cache, "BITFOLD_OFFLINE": "1"}


@pytest.fixture
def small_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use small base sets, and draw few pixels."""
    monkeypatch.setitem(methods.IMH_SETTINGS, "n_base_points", 100)
    monkeypatch.setattr(case_lists, "QUICK_SIZES", QUICK_SIZES)
    monkeypatch.setattr(pictures, "N_DIGITS", N_DIGITS)
    monkeypatch.setattr(figure_files, "DPI", 30)


@pytest.fixture
def reproduce(
    run_command: RunCommand,
    environment: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> RunCommand:
    """Return a function that runs artifacts into the folder ``report``."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    def run(*arguments: str) -> Output:
        return run_command(*arguments, "--out", str(tmp_path / "report"))

    return run


def read_records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def count_runs(row: str) -> int:
    return int(row.split("│")[4].replace(",", ""))


def test_list_has_every_artifact(reproduce: RunCommand) -> None:
    code, text, errors = reproduce("--list")
    assert (code, errors) == (0, "")
    rows = {line.split("│")[1].strip(): line for line in text.splitlines() if "│" in line}
    assert list(rows) == [*ARTIFACTS, "all"]
    for row in rows.values():
        assert row.split("│")[-2].strip().split()[1] in ("s", "min", "h")
    # 12 methods and columns of 6 lengths with 5 seeds, and the exact scan.
    assert count_runs(rows["all"]) > count_runs(rows["fig-mnist"]) == 361
    fewer = reproduce("--list", "--repeats", "3").stdout
    assert count_runs(next(line for line in fewer.splitlines() if "fig-mnist" in line)) == 217


def test_list_as_json(reproduce: RunCommand) -> None:
    entries = {entry["name"]: entry for entry in json.loads(reproduce("--list", "--json").stdout)}
    assert list(entries) == [*ARTIFACTS, "all"]
    assert entries["fig-mnist"]["n_runs"] == 361
    assert entries["all"]["seconds_left"] > entries["fig-mnist"]["seconds_left"] > 0


@pytest.mark.usefixtures("small_runs")
def test_artifact_is_run_drawn_and_resumed(reproduce: RunCommand, tmp_path: Path) -> None:
    code, text, errors = reproduce("fig-query-digits", "--quick")
    assert (code, errors) == (0, "")
    folder = tmp_path / "report"
    assert text == f"Report written to {folder / 'index.html'}\n"
    assert sorted(path.name for path in folder.iterdir()) == [
        "fig-query-digits-mnist.png", "fig-query-digits-mnist.svg", "index.html",
        "records-quick.jsonl",
    ]  # fmt: skip
    published, record = read_records(folder / "records-quick.jsonl")
    assert published["case"]["method"] == "IMH-tSNE as published"
    assert record.keys() == {"case", "result", "seconds", "versions"}
    assert record["case"]["seed"] == 0
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert reproduce("fig-query-digits", "--quick").code == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    # A line that was cut off is run again, and nothing else.
    records = folder / "records-quick.jsonl"
    records.write_bytes(before[records.name][:-40])
    assert reproduce("fig-query-digits", "--quick").code == 0
    (again,) = [json.loads(line) for line in records.read_text().splitlines()[2:]]
    assert again["result"] == record["result"]
    rows = reproduce("--list", "--quick").stdout.splitlines()
    assert "done" in next(row for row in rows if "fig-query-digits" in row)


@pytest.mark.usefixtures("small_runs")
def test_repeats_and_queries_are_in_the_report(reproduce: RunCommand, tmp_path: Path) -> None:
    assert reproduce("fig-2d", "--repeats", "2", "--queries", "50").code == 0
    for record in read_records(tmp_path / "report" / "records.jsonl"):
        assert (record["case"]["n_queries"], record["case"]["n_rows"]) == (50, 0)
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert "2 runs, 1 seed per value, the whole database" in page
    assert "<code>python -m reproduction fig-2d --repeats 2 --queries 50</code>" in page
    # A quick version of another artifact is added to the page.
    assert reproduce("fig-query-digits", "--quick").code == 0
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert page.count("<section") == 3  # the last one has all statements
    assert "1 seed per value, the whole database" in page
    assert "a quick version" in page


KILLED_IN_THE_THIRD_RUN = f"""
import os, signal
from reproduction import case_lists
from reproduction.experiments import run
case_lists.QUICK_SIZES = {QUICK_SIZES}
measure, n_runs = run.MEASURES["retrieval"], 0

def measure_or_die(*arguments):
    global n_runs
    n_runs += 1
    if n_runs == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return measure(*arguments)

run.MEASURES["retrieval"] = measure_or_die
"""


@pytest.mark.usefixtures("small_runs")
def test_killed_run_is_resumed(
    reproduce: RunCommand, environment: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "report"
    records = folder / "records-quick.jsonl"
    # Of its two data sets CIFAR-10 is missing; MNIST has four runs.
    arguments = ["table-base-size", "--quick"]
    command = [sys.executable, "-c", KILLED_IN_THE_THIRD_RUN + RUN_COMMAND, *arguments]
    killed = subprocess.run(
        [*command, "--out", str(folder)],
        env={**os.environ, **environment},
        capture_output=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    content = records.read_bytes()
    assert content.endswith(b"\n")
    assert content.count(b"\n") == 2
    assert not (folder / "index.html").exists()
    done = reproduce(*arguments)
    assert "cifar10" in done.stderr
    assert records.read_bytes().startswith(content)
    cases = [json.dumps(record["case"]) for record in read_records(records)]
    assert len(cases) == len(set(cases)) == 4
    assert (folder / "index.html").exists()


def test_progress_is_shown_in_a_terminal(environment: dict[str, str], tmp_path: Path) -> None:
    arguments = ["fig-query-digits", "--quick", "--out", str(tmp_path / "r")]
    small = f"from reproduction.experiments import pictures; pictures.N_DIGITS = {N_DIGITS}"
    with TerminalProcess(*arguments, environment=environment, prepare=small) as terminal:
        assert terminal.read() == 0
    text = terminal.output.decode()
    end = text.rindex("\x1b[2K")  # where the bars are erased
    for part in ("all runs", "0 of 2", "mnist, IMH-tSNE as published, 48 bits"):
        assert part in text[:end]
        assert part not in text[end:]
    assert "Report written to" in text[end:]


@pytest.mark.parametrize(
    ("arguments", "parts", "code"),
    [
        (["fig-nothing"], ["fig-nothing", "fig-query-digits"], 2),
        (["fig-mnist", "--repeats", "0"], ["--repeats"], 2),
        (["fig-mnist", "--queries", "none"], ["--queries"], 2),
        (["fig-cifar", "--quick"], ["cifar-10-binary.tar.gz"], 1),
        (["fig-sift", "--quick"], ["sift.tar.gz"], 1),
        (["fig-2d", "--queries", "4000"], ["n_queries", "3999"], 1),
    ],
)
def test_errors_are_one_line(
    reproduce: RunCommand, tmp_path: Path, arguments: list[str], parts: list[str], code: int
) -> None:
    done = reproduce(*arguments)
    assert (done.code, done.stdout) == (code, "")
    assert done.stderr.startswith("reproduction: ")
    assert done.stderr.count("\n") == 1
    assert all(part in done.stderr for part in parts)
    assert not (tmp_path / "report").exists()


@pytest.mark.usefixtures("small_runs")
def test_available_data_are_run_despite_missing_ones(reproduce: RunCommand, tmp_path: Path) -> None:
    done = reproduce("fig-retrieved", "fig-query-digits", "fig-sift", "--quick")
    assert done.code == 1
    assert "Report written to" in done.stdout
    assert done.stderr.count("\n") == 1
    assert all(name in done.stderr for name in ("cifar10", "sift"))
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert "Queries among 300 digits" in page


def test_matplotlib_is_needed_only_to_draw(
    reproduce: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = builtins.__import__

    def import_without_matplotlib(name: str, *arguments: Any, **options: Any) -> Any:
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return original(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", import_without_matplotlib)
    assert reproduce("--list").code == 0
    done = reproduce("fig-2d")
    assert done.code == 1
    assert 'pip install "bitfold[figures]"' in done.stderr


def test_help_lists_the_commands(run_command: RunCommand) -> None:
    text = run_command("--help").stdout
    for name in (
        "run",
        "targets",
        "paper-to-code",
        "demo",
        "gallery",
        "theory",
        "comparison",
        "published",
        "which-code",
        "text-set",
    ):
        assert name in text


def test_text_set_is_made_from_a_package_list(run_command: RunCommand, tmp_path: Path) -> None:
    packages = tmp_path / "Packages.gz"
    entry = "Package: zip\nSection: utils\nDescription: Archiver for .zip files\n"
    packages.write_bytes(gzip.compress(entry.encode()))
    done = run_command("text-set", str(packages), "--out", str(tmp_path / "text"))
    assert (done.code, done.stderr) == (0, "")
    assert done.stdout == f"Text set written to {tmp_path / 'text' / 'debian.npz'}\n"
    missing = run_command("text-set", str(tmp_path / "nothing"), "--out", str(tmp_path))
    assert missing.code == 1
    assert "nothing" in missing.stderr


def test_targets_are_printed(reproduce: RunCommand) -> None:
    code, text, errors = reproduce("targets")
    assert (code, errors) == (0, "")
    assert text.count("not run yet") == 21
    assert "raw pixels, one-versus-one" in text
    entries = json.loads(reproduce("targets", "--json").stdout)
    assert len(entries) == 21
    assert entries[0]["paper"] == 15.76
    assert entries[0]["is_met"] is None
