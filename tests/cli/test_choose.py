"""``bitfold choose``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import typer
from tests.cli.helpers import LABELS, Run, X, assert_fails

from bitfold.cli._methods import METHODS
from bitfold.cli._sampled_data import DataRequest
from bitfold.cli.choose import Goal, _explain, _limit_lengths, _list_candidates, _read_goal
from bitfold.evaluation import CodeOption

GOAL = Goal("recall_10", "recall@10", None, None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("choose")
    np.save(folder / "x.npy", X[:700])
    np.save(folder / "few.npy", X[:250])
    np.save(folder / "y.npy", LABELS[:250])
    return folder


def test_budget(warm: Run, folder: Path) -> None:
    done = warm("choose", str(folder / "x.npy"), "--bytes-per-vector", "4", "--rows", "500")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == f"{folder / 'x.npy'}: 70 queries in a sample of 500 of 630 rows"
    assert "asymmetric" in lines[1]
    (itq,) = (line.split() for line in lines if " itq " in line and "→" in line)
    assert itq[:4] == ["→", "itq", "32", "4"]
    assert any(
        line.startswith("Chosen: itq with 32 bits (4 bytes per vector): recall@10 0.")
        for line in lines
    )
    assert any("the shortest code of at most 4 bytes" in line for line in lines)
    assert any(line.startswith("Recall is lower among all rows") for line in lines)
    arguments = lines[-1].removeprefix("Next step: bitfold ").split()
    arguments[arguments.index("--out") + 1] = str(folder / "m.bitfold")
    assert warm(*arguments).returncode == 0


def test_target_with_labels(warm: Run, folder: Path) -> None:
    files = [str(folder / "few.npy"), "--labels", str(folder / "y.npy")]
    done = warm("choose", *files, "--precision", "0.5", "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    measured = [run["result"] for run in summary["runs"] if "error" not in run["result"]]
    reaching = [run["n_bits"] for run in measured if run["precision_10"] >= 0.5]
    assert summary["chosen"]["n_bits"] == min(reaching)
    assert summary["chosen"]["score"] >= 0.5
    assert summary["reason"] == "the shortest code that reaches P@10 0.5"
    shown = warm("choose", *files, "--precision", "0.5").stdout
    assert ("Without learning from labels: " in shown) == (
        summary["chosen"]["method"] in ("ccaitq", "supervisedimh")
    )
    methods = {run["case"]["method"] for run in summary["runs"]}
    assert methods == {"dualhasher", "itq", "lsh", "imh", "ccaitq", "supervisedimh"}
    # With 64 features, DualHasher warns that it uses LSH for its fine bits.
    assert "warning" not in done.stderr
    long = [run for run in summary["runs"] if run["case"]["method"] == "dualhasher"]
    assert [run["case"]["n_bits"] for run in long] == [64, 128, 256]
    assert not any("error" in run["result"] for run in long)


def test_cosine(warm: Run, tmp_path: Path) -> None:
    lengths = np.exp2(np.arange(300) % 7).astype(np.float32)[:, None]
    chosen = []
    for name, vectors in {"x": X[:300], "longer": X[:300] * lengths}.items():
        np.save(tmp_path / f"{name}.npy", vectors)
        command = ["choose", str(tmp_path / f"{name}.npy"), "--bytes-per-vector", "2", "--cosine"]
        summary = json.loads(warm(*command, "--json").stdout)
        chosen.append(summary["chosen"])
        assert "--bits 16 --cosine --out" in summary["next_step"]
    assert chosen[0] == chosen[1]
    assert warm(*command).stdout.splitlines()[0].endswith("rows; exact neighbors by cosine")


def test_candidates_are_methods_within_the_budget() -> None:
    assert {method for method, _ in _list_candidates(GOAL, is_labeled=True)} <= METHODS.keys()
    limited = _list_candidates(GOAL._replace(max_bytes=12), is_labeled=False)
    assert ("itq", 96) in limited
    assert ("itq", 64) in limited
    assert max(n_bits for _, n_bits in limited) == 96
    assert ("imh", 64) in limited
    assert not {method for method, _ in limited} & {"ccaitq", "supervisedimh"}
    assert _limit_lengths((32, 64), 16) == (16,)


def test_reason() -> None:
    option = CodeOption("itq", 64, 0.6)
    assert "reaches recall@10 0.5" in _explain(option, GOAL._replace(target=0.5))
    assert "no code reaches recall@10 0.9" in _explain(option, GOAL._replace(target=0.9))
    assert "within 0.01 of the best" in _explain(option, GOAL)


def test_goal() -> None:
    plain, labeled = (
        DataRequest("x.npy", None, 10, 0, is_labeled, "") for is_labeled in (False, True)
    )
    assert _read_goal(plain, None, 0.9, None, 100).measure == "recall_10_from_100"
    assert _read_goal(plain, 8, None, None, 0)[0::3] == ("recall_10", 8)
    assert _read_goal(labeled, 8, None, None, 0).measure == "precision_10"
    assert _read_goal(labeled, None, 0.9, None, 40).measure == "recall_10_from_40"
    with pytest.raises(typer.BadParameter, match="--rescore needs --recall"):
        _read_goal(labeled, 8, None, None, 40)


@pytest.mark.parametrize(
    ("arguments", "pattern"),
    [
        (["--recall", "0.5", "--bytes-per-vector", "4"], "--recall .*together"),
        (["--precision", "0.5"], "--precision needs --labels"),
        (["--recall", "0.5", "--rescore", "7"], "--rescore must be 0, 40 or 100, got 7"),
    ],
)
def test_wrong_arguments(warm: Run, folder: Path, arguments: list[str], pattern: str) -> None:
    assert_fails(warm("choose", str(folder / "x.npy"), *arguments), pattern, 2)
