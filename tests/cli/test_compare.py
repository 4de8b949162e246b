"""``bitfold compare``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.helpers import LABELS, Run, X, assert_fails


def test_table(warm: Run) -> None:
    done = warm("compare", "digits", "--bits", "8,96", "--methods", "itq,SH", "--queries", "100")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    itq, sh = (next(line for line in lines if name in line.split()) for name in ("ITQ", "SH"))
    assert itq.count("–") == 4  # 96 bits, but 64 features
    assert "–" not in sh
    assert "n_bits of ITQ must be at most n_features=64, got 96." in done.stdout


def test_records_are_resumed(warm: Run, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    command = ["compare", "digits", "--bits", "8", "--queries", "50", "--records", str(path)]
    first = warm(*command, "--methods", "PCAH", "--json")
    assert first.returncode == 0, first.stderr
    record = json.loads(first.stdout)
    assert record["case"]["method"] == "PCAH"
    assert 10 < record["result"]["map"] < 100
    content = path.read_text()
    again = warm(*command, "--methods", "pcah,lsh", "--json", "--repeats", "2")
    assert again.stdout.splitlines()[0] == first.stdout.strip()
    assert path.read_text().startswith(content)
    assert len(path.read_text().splitlines()) == 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compare")
    np.save(folder / "x.npy", X[:600])
    (folder / "y.txt").write_text("".join(f"kind {label}\n" for label in LABELS[:600]))
    # The name contains what rich would read as markup.
    np.savez(folder / "both[b].npz", X=X[:600], y=LABELS[:600])
    return folder


def test_file_with_labels(warm: Run, folder: Path) -> None:
    files = [str(folder / "x.npy"), "--labels", str(folder / "y.txt")]
    methods = ["--methods", "lsh,itq,ccaitq,supervisedimh", "--bits", "8,16"]
    done = warm("compare", *files, *methods)
    assert (done.returncode, done.stderr) == (0, "")
    first, *_, best, unsupervised, next_step = done.stdout.splitlines()
    assert first == f"{files[0]}: 60 queries; relevant: items with the same label"
    assert best.startswith(("Recommended: CCAITQ with ", "Recommended: SupervisedIMH with "))
    assert unsupervised.startswith("Without learning from labels: ITQ with ")
    assert next_step.startswith(f"Next step: bitfold fit {files[0]} --labels {folder / 'y.txt'} ")
    assert "n_bits of SupervisedIMH must be at most" in done.stdout
    arguments = next_step.split()[3:]
    arguments[arguments.index("--out") + 1] = str(folder / "m.bitfold")
    assert warm(*arguments).returncode == 0


def test_file_without_labels(warm: Run, folder: Path) -> None:
    file = f"{folder / 'both[b].npz'}:X"
    common = ("compare", file, "--queries", "100", "--bits", "8,16", "--methods", "itq,ccaitq")
    done = warm(*common)
    assert (done.returncode, done.stderr) == (0, "")
    first = done.stdout.splitlines()[0]
    assert first == f"{file}: 100 queries; relevant: the closest 2 percent"
    assert "Recommended: ITQ with 16 bits (2 bytes per row, MAP " in done.stdout
    assert "Without learning" not in done.stdout
    records = [json.loads(line) for line in warm(*common, "--json").stdout.splitlines()]
    assert [r["case"]["method"] for r in records] == ["ITQ", "ITQ"]  # CCAITQ needs labels
    assert records[1]["result"]["map"] > records[0]["result"]["map"]
    few = warm(*common, "--rows", "50", "--json")
    assert json.loads(few.stdout.splitlines()[0])["result"]["cutoffs"][-1] == 50


def test_changed_file_is_compared_again(warm: Run, tmp_path: Path) -> None:
    command = ["compare", str(tmp_path / "x.npy"), "--bits", "8", "--methods", "PCAH", "--json"]
    command += ["--records", str(tmp_path / "r.jsonl")]
    np.save(tmp_path / "x.npy", X[:500])
    first = warm(*command)
    assert first.returncode == 0, first.stderr
    assert warm(*command).stdout == first.stdout
    np.save(tmp_path / "x.npy", X[:700])
    assert warm(*command).stdout != first.stdout
    assert len((tmp_path / "r.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "pattern", "code"),
    [
        (["nothing"], "'nothing' .*digits, mnist", 2),
        (["digits", "--labels", "y.npy"], "--labels .*digits", 2),
        (["digits", "--bits", "a"], "--bits .*'a'", 2),
        (["digits", "--bits", "0"], "--bits .*'0'", 2),
        (["digits", "--methods", "x"], "one of agh, bre, .*'x'", 2),
        (["sift1m", "--methods", "KSH"], "ksh .*without labels", 2),
        ([__file__, "--labels", "nowhere.npy"], "nowhere.npy does not exist", 5),
    ],
)
def test_wrong_arguments(warm: Run, arguments: list[str], pattern: str, code: int) -> None:
    assert_fails(warm("compare", *arguments), pattern, code)


def test_unknown_format(warm: Run) -> None:
    done = warm("compare", __file__)
    assert_fails(done, "test_compare.py", done.returncode)


def test_cosine(warm: Run, tmp_path: Path) -> None:
    lengths = np.exp2(np.arange(600) % 7).astype(np.float32)[:, None]
    results = {}
    for name, vectors in {"x": X[:600], "longer": X[:600] * lengths}.items():
        np.save(tmp_path / f"{name}.npy", vectors)
        command = ["compare", str(tmp_path / f"{name}.npy"), "--bits", "16", "--methods", "itq"]
        records = [*command, "--json", "--records", str(tmp_path / f"{name}.jsonl")]
        runs = [json.loads(warm(*records, *more).stdout) for more in ([], ["--cosine"])]
        results[name] = [run["result"]["map"] for run in runs]
    assert results["x"][1] == results["longer"][1]
    assert results["x"][0] != results["longer"][0]
    done = warm(*command, "--cosine")
    assert done.stdout.splitlines()[0].endswith("relevant: the closest 2 percent by cosine")
    assert "--bits 16 --cosine --out" in done.stdout.splitlines()[-1]
    labeled = ["compare", "digits", "--bits", "8", "--methods", "PCAH", "--queries", "50"]
    assert warm(*labeled, "--cosine", "--rows", "500").returncode == 0
