"""``bitfold compare``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.cli.helpers import LABELS, Run, X, assert_fails


def test_table(warm: Run) -> None:
    done = warm("compare", "digits", "--bits", "8,96", "--methods", "itq,SH", "--queries", "100")
    assert done.returncode == 0
    first, *lines = done.stdout.splitlines()
    assert first == ("digits: 100 queries in all 1,697 rows; relevant: items with the same label")
    rows = {tuple(line.split()[:2]): line for line in lines}
    assert lines[0].startswith("Searches are asymmetric")
    assert rows["itq", "96"].count("–") == 6  # 64 features
    assert not any("–" in rows[setting] for setting in (("itq", "8"), ("sh", "8"), ("sh", "96")))
    assert "n_bits of ITQ must be at most n_features=64, got 96." in done.stdout
    assert re.search(r"^Rule: the shortest code whose P@10 is within 0.01", done.stdout, re.M)
    next_step = "Next step, with your own vectors: bitfold fit vectors.npy --method "
    assert lines[-1].startswith(next_step)


def test_every_finished_run_is_a_line_in_a_pipe(warm: Run) -> None:
    done = warm("compare", "digits", "--bits", "8,96", "--methods", "itq,lsh", "--json")
    lines = done.stderr.splitlines()
    assert [line.split(":")[:2] for line in lines] == [
        ["1 of 4", " itq, 8 bits"],
        ["2 of 4", " lsh, 8 bits"],
        ["3 of 4", " itq, 96 bits"],
        ["4 of 4", " lsh, 96 bits"],
    ]
    assert re.search(r"P@10 0\.\d{3}, recall@10 0\.\d{3}, MAP 0\.\d{3}, fit [\d.]+ s", lines[0])
    assert "left" not in lines[0]  # nothing is known about lsh yet
    assert lines[1].endswith("left")
    assert "n_features=64, got 96" in lines[2]
    assert [json.loads(line)["case"]["method"] for line in done.stdout.splitlines()] == [
        "itq", "lsh", "itq", "lsh",
    ]  # fmt: skip


def test_records_are_resumed(warm: Run, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    command = ["compare", "digits", "--bits", "8", "--queries", "50", "--records", str(path)]
    first = warm(*command, "--methods", "PCAH", "--json")
    assert first.returncode == 0, first.stderr
    record = json.loads(first.stdout)
    assert record["case"]["method"] == "pcah"
    assert 10 < record["result"]["map"] < 100
    assert 0.1 < record["result"]["precision_10"] < 1
    content = path.read_text()
    again = warm(*command, "--methods", "pcah,lsh", "--json", "--repeats", "2")
    assert again.stdout.splitlines()[0] == first.stdout.strip()
    assert path.read_text().startswith(content)
    assert len(path.read_text().splitlines()) == 4
    # All runs have a record, so nothing is loaded; the size of the sample is still known.
    assert "in all 1,747 rows" in warm(*command, "--methods", "pcah").stdout


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
    assert done.returncode == 0
    first, *_, best, _, unsupervised, next_step = done.stdout.splitlines()
    relevant = "relevant: items with the same label"
    assert first == f"{files[0]}: 60 queries in all 540 rows; {relevant}"
    assert best.startswith(("Recommended: ccaitq with ", "Recommended: supervisedimh with "))
    assert unsupervised.startswith("Without learning from labels: itq with ")
    assert next_step.startswith(f"Next step: bitfold fit {files[0]} --labels {folder / 'y.txt'} ")
    assert "n_bits of SupervisedIMH must be at most" in done.stdout
    arguments = next_step.split()[3:]
    arguments[arguments.index("--out") + 1] = str(folder / "m.bitfold")
    assert warm(*arguments).returncode == 0


def test_file_without_labels(warm: Run, folder: Path) -> None:
    file = f"{folder / 'both[b].npz'}:X"
    common = ("compare", file, "--queries", "100", "--bits", "8,16", "--methods", "itq,ccaitq")
    done = warm(*common)
    assert done.returncode == 0
    first = done.stdout.splitlines()[0]
    assert first == f"{file}: 100 queries in all 500 rows; relevant: the closest 2 percent"
    assert "Recommended: itq with 16 bits (2 bytes per vector): recall@10 0." in done.stdout
    assert "Without learning" not in done.stdout
    records = [json.loads(line) for line in warm(*common, "--json").stdout.splitlines()]
    assert [r["case"]["method"] for r in records] == ["itq", "itq"]  # ccaitq needs labels
    assert records[1]["result"]["recall_10"] > records[0]["result"]["recall_10"]
    few = warm(*common, "--rows", "50")
    assert few.stdout.startswith(f"{file}: 100 queries in a sample of 50 of 500 rows;")


def test_the_first_ten_count_before_map(warm: Run, tmp_path: Path) -> None:
    """A record of better MAP but worse P@10 does not win."""
    path = tmp_path / "r.jsonl"
    command = ["compare", "digits", "--bits", "8", "--methods", "itq,lsh", "--records", str(path)]
    warm(*command)
    changed = [json.loads(line) for line in path.read_text().splitlines()]
    for record, first, whole in zip(changed, (0.7, 0.6), (40.0, 60.0), strict=True):
        record["result"] |= {"precision_10": first, "map": whole}
    path.write_text("".join(f"{json.dumps(record)}\n" for record in changed))
    assert "Recommended: itq with 8 bits (1 byte per vector): P@10 0.700" in warm(*command).stdout


def test_queries_without_a_label_are_left_out(warm: Run, folder: Path, tmp_path: Path) -> None:
    y = np.where(np.arange(600) % 2, LABELS[:600], -1)
    np.save(tmp_path / "y.npy", y)
    command = ["compare", str(folder / "x.npy"), "--bits", "8", "--methods", "lsh", "--json"]
    record = json.loads(warm(*command, "--labels", str(tmp_path / "y.npy")).stdout)
    # Nearly all of the -1 would be relevant to each other.
    assert record["result"]["precision_10"] < 0.25
    np.save(tmp_path / "y.npy", np.full(600, -1))
    done = warm(*command, "--labels", str(tmp_path / "y.npy"))
    assert_fails(done, "No query has a label", 3)


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
        results[name] = [run["result"]["search_map"] for run in runs]
    assert results["x"][1] == results["longer"][1]
    assert results["x"][0] != results["longer"][0]
    done = warm(*command, "--cosine")
    assert done.stdout.splitlines()[0].endswith("relevant: the closest 2 percent by cosine")
    assert "--bits 16 --cosine --out" in done.stdout.splitlines()[-1]
    labeled = ["compare", "digits", "--bits", "8", "--methods", "PCAH", "--queries", "50"]
    assert warm(*labeled, "--cosine", "--rows", "500").returncode == 0
