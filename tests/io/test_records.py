"""Records of runs: what has finished is on disk, in complete lines."""

from __future__ import annotations

import json
import multiprocessing
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bitfold.errors import DataError, ParameterError
from bitfold.io.records import RunRecords, library_versions


@dataclass(frozen=True)
class Case:
    method: str
    n_bits: int = 16
    seed: int = 0
    options: tuple[tuple[str, Any], ...] = ()


CASE = Case("ITQ", options=(("n_base_points", 100),))


def test_record_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "records.jsonl"
    record = RunRecords(path).add(CASE, {"map": 41.5}, seconds=1.23456)
    again = RunRecords(path)
    assert CASE in again
    assert again[CASE] == record
    assert record["result"] == {"map": 41.5}
    assert record["seconds"] == 1.235
    assert record["versions"] == library_versions()
    assert len(path.read_text().splitlines()) == len(list(again)) == len(again) == 1


@pytest.mark.parametrize(
    "other",
    [
        Case("SH", options=CASE.options),
        Case("ITQ", 32, options=CASE.options),
        Case("ITQ", seed=1, options=CASE.options),
        Case("ITQ", options=(("n_base_points", 200),)),
        Case("ITQ"),
    ],
    ids=str,
)
def test_any_difference_makes_another_case(tmp_path: Path, other: Case) -> None:
    RunRecords(tmp_path / "r").add(CASE, {})
    assert other not in RunRecords(tmp_path / "r")


def test_empty_field_may_be_missing(tmp_path: Path) -> None:
    path = tmp_path / "r"
    RunRecords(path).add(CASE, {"map": 1})
    record = json.loads(path.read_text())
    del record["case"]["seed"]
    path.write_text(json.dumps(record) + "\n")
    assert CASE in RunRecords(path)


def test_truncated_line_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    other = Case("SH", 8)
    RunRecords(path).add(CASE, {"map": 1})
    complete = path.read_bytes()
    RunRecords(path).add(other, {"map": 2})
    for size in range(len(complete) + 1, path.stat().st_size):
        path.write_bytes(path.read_bytes()[:size])
        records = RunRecords(path)
        assert CASE in records
        if size < len(complete) + 20:
            assert other not in records
        records.add(other, {"map": 3})
        assert [r["result"]["map"] for r in RunRecords(path)] == [1, 3]
        path.write_bytes(complete + (json.dumps({"case": 1}) * 3).encode())
        RunRecords(path).add(other, {"map": 2})


@pytest.mark.parametrize("line", ["[]", "1", '{"case": {}}', '{"case": {}, "result": 1}', "{"])
def test_line_without_case_or_result_is_ignored(tmp_path: Path, line: str) -> None:
    path = tmp_path / "r"
    path.write_text(f"{line}\n")
    assert len(RunRecords(path)) == 0


def test_records_in_memory() -> None:
    records = RunRecords()
    records.add(CASE, {"map": 1})
    assert CASE in records


def test_nan_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        RunRecords(tmp_path / "r").add(CASE, {"map": float("nan")})


def test_only_missing_cases_run(tmp_path: Path) -> None:
    records = RunRecords(tmp_path / "r")
    records.add(CASE, {"map": 1})
    done = records.run_missing([Case("SH"), CASE], lambda case: {"map": len(case.method)})
    assert [record["result"]["map"] for record in done] == [2, 1]
    assert len(RunRecords(tmp_path / "r")) == 2


def test_impossible_code_length_is_a_result() -> None:
    def fail(case: Case) -> dict[str, Any]:
        raise ParameterError("n_bits", case.method, "at most 9", case.n_bits)

    (record,) = RunRecords().run_missing([CASE], fail)
    assert "at most 9" in record["result"]["error"]


@pytest.mark.parametrize(
    "error", [ParameterError("k", "ITQ", "at most 9", 10), DataError("NaN in row 3.")]
)
def test_any_other_error_is_raised(error: Exception) -> None:
    def fail(_: Case) -> dict[str, Any]:
        raise error

    records = RunRecords()
    with pytest.raises(type(error)):
        records.run_missing([CASE], fail)
    assert len(records) == 0


def _write_many(path: Path) -> None:
    records = RunRecords(path)
    for seed in range(100_000):
        records.add(Case("ITQ", 16, seed), {"map": seed})


def test_killed_process_leaves_all_finished_runs(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    writer = multiprocessing.get_context("spawn").Process(target=_write_many, args=(path,))
    writer.start()
    while not path.exists() or path.stat().st_size < 5000:
        time.sleep(0.01)
    writer.kill()
    writer.join()
    done = [record["result"]["map"] for record in RunRecords(path)]
    assert done == list(range(len(done)))
    assert len(done) > 5
