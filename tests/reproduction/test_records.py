"""Cases and records: what has run is on disk, whole lines only."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest
from reproduction.records import Case, Records, versions

CASE = Case("digits", "ITQ", 16, options=(("m", 100),))


def test_a_record_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "records.jsonl"
    record = Records(path).add(CASE, {"map": 41.5})
    again = Records(path)
    assert CASE in again
    assert again[CASE] == record
    assert record["result"] == {"map": 41.5}
    assert record["versions"] == versions()
    assert len(path.read_text().splitlines()) == len(list(again)) == len(again) == 1


@pytest.mark.parametrize(
    "other",
    [
        Case("mnist", "ITQ", 16, options=(("m", 100),)),
        Case("digits", "SH", 16, options=(("m", 100),)),
        Case("digits", "ITQ", 32, options=(("m", 100),)),
        Case("digits", "ITQ", 16, seed=1, options=(("m", 100),)),
        Case("digits", "ITQ", 16, queries=5, options=(("m", 100),)),
        Case("digits", "ITQ", 16, rows=5, options=(("m", 100),)),
        Case("digits", "ITQ", 16, measure="classification", options=(("m", 100),)),
        Case("digits", "ITQ", 16, options=(("m", 200),)),
        Case("digits", "ITQ", 16),
    ],
    ids=str,
)
def test_any_difference_makes_another_case(tmp_path: Path, other: Case) -> None:
    Records(tmp_path / "r").add(CASE, {})
    assert other not in Records(tmp_path / "r")


def test_a_field_that_a_record_does_not_know_yet_has_its_default(tmp_path: Path) -> None:
    path = tmp_path / "r"
    Records(path).add(CASE, {"map": 1})
    record = json.loads(path.read_text())
    del record["case"]["labels"], record["case"]["rows"]
    path.write_text(json.dumps(record) + "\n")
    assert CASE in Records(path)
    assert Case.of(Records(path)[CASE]) == CASE


def test_a_line_cut_off_is_not_there_and_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    other = Case("digits", "SH", 8)
    Records(path).add(CASE, {"map": 1})
    whole = path.read_bytes()
    Records(path).add(other, {"map": 2})
    for cut in range(len(whole) + 1, path.stat().st_size):
        path.write_bytes(path.read_bytes()[:cut])
        records = Records(path)
        assert CASE in records
        if cut < len(whole) + 20:
            assert other not in records
        records.add(other, {"map": 3})
        assert [r["result"]["map"] for r in Records(path)] == [1, 3]
        path.write_bytes(whole + (json.dumps({"case": 1}) * 3).encode())
        Records(path).add(other, {"map": 2})


def test_without_a_file_records_live_in_memory() -> None:
    records = Records(None)
    records.add(CASE, {"map": 1})
    assert CASE in records


def test_a_result_that_is_no_number_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        Records(tmp_path / "r").add(CASE, {"map": float("nan")})


def _write_many(path: Path) -> None:
    records = Records(path)
    for seed in range(100_000):
        records.add(Case("digits", "ITQ", 16, seed), {"map": seed})


def test_a_killed_run_leaves_all_it_had_finished(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    writer = multiprocessing.get_context("spawn").Process(target=_write_many, args=(path,))
    writer.start()
    while not path.exists() or path.stat().st_size < 5000:
        time.sleep(0.01)
    assert writer.pid
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    done = [record["result"]["map"] for record in Records(path)]
    assert done == list(range(len(done)))
    assert len(done) > 5
