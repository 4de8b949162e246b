"""Times are recorded only if the machine has nothing else to do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from reproduction.data.loader import DataLoader
from reproduction.experiments.retrieval import TIMES, drop_times, is_machine_busy
from reproduction.records import Case, RunRecords
from reproduction.runner import lacks_times, measure_times

from reproduction.experiments import run

CASE = Case("digits", "PCAH", 16, n_queries=100)


@pytest.mark.parametrize(("extra", "busy"), [(0.9, False), (1.1, True)])
def test_a_machine_is_busy_above_its_cores(
    extra: float, busy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = (os.cpu_count() or 1) + extra
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0), raising=False)
    assert is_machine_busy() is busy


def test_times_are_dropped_and_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = RunRecords(tmp_path / "records.jsonl")
    records.add(CASE, drop_times({"map": 1.0, **dict.fromkeys(TIMES, 1.0)}), 1.0)
    assert records[CASE]["result"] == {"map": 1.0}
    assert lacks_times(CASE, records)
    monkeypatch.setattr(run, "is_machine_busy", lambda: True)
    measure_times([CASE], records, DataLoader())
    assert records[CASE]["result"] == {"map": 1.0}  # busy again
    monkeypatch.setattr(run, "is_machine_busy", lambda: False)
    measure_times([CASE], records, DataLoader())
    assert records[CASE]["result"].keys() >= {"map", *TIMES}
    assert not lacks_times(CASE, RunRecords(tmp_path / "records.jsonl"))
