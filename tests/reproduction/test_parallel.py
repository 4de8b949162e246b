"""Cases in several processes."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from reproduction.artifacts import ARTIFACTS
from reproduction.experiments.estimates import Durations
from reproduction.parallel import assign_processes, run_in_processes
from reproduction.protocol import Protocol
from reproduction.records import Case, RunRecords
from reproduction.runner import plan_runs, run_artifacts

CASES = [Case("digits", method, 16, n_queries=100) for method in ("ITQ", "PCAH", "LSH")]


def test_records_have_no_times_and_missing_data_end_nothing(tmp_path: Path) -> None:
    path, before = tmp_path / "records.jsonl", os.environ.copy()
    lost = Case("sift1m", "ITQ", 16)
    finished = {each.case: each for each in run_in_processes([lost, *CASES], path, 2)}
    assert os.environ == before
    assert finished.keys() == {lost, *CASES}
    assert "sift" in finished[lost].problem
    assert not any(finished[case].problem for case in CASES)
    records = RunRecords(path)
    assert len(records) == len(CASES)
    assert all(30 < records[case]["result"]["map"] < 70 for case in CASES)
    assert not any("fit_seconds" in record["result"] for record in records)


def test_cases_with_the_same_base_set_share_a_process() -> None:
    options = (("base", "kmeans"), ("n_base_points", 400))
    one = Case("mnist", "IMH-tSNE as published", 64, options=options)
    same = [replace(one, n_bits=32), replace(one, method="AGH as published")]
    other = [replace(one, method="AGH (bitfold)"), replace(one, seed=1), *CASES]
    for n_jobs in (2, 3, 8):
        processes = assign_processes([one, other[0], *same, *other[1:]], n_jobs, Durations())
        assert processes[0] == processes[2] == processes[3] != processes[1]


@pytest.mark.parametrize("n_jobs", [2, 4])
@pytest.mark.parametrize("name", ["fig-gist", "table-base-size", "all"])
def test_processes_take_about_as_long(name: str, n_jobs: int) -> None:
    artifacts = [ARTIFACTS[name]] if name in ARTIFACTS else list(ARTIFACTS.values())
    plan = plan_runs(artifacts, Protocol())
    seconds, durations = Counter[int](), Durations()
    for case, process in zip(plan, assign_processes(plan, n_jobs, durations), strict=True):
        seconds[process] += round(durations.estimate(case))
    assert len(seconds) == n_jobs
    assert max(seconds.values()) < 1.5 * min(seconds.values())


def test_nothing_runs_if_all_cases_have_records(tmp_path: Path) -> None:
    artifact = replace(ARTIFACTS["fig-mnist"], cases=lambda protocol: CASES[:1])
    records = RunRecords(tmp_path / "records.jsonl")
    records.add(CASES[0], {"map": 1.0})
    assert run_artifacts([artifact], Protocol(), tmp_path, n_jobs=2) == []
    assert len(RunRecords(tmp_path / "records.jsonl")) == 1
