"""The records that the report shows."""

from __future__ import annotations

from dataclasses import replace

from reproduction.artifacts import ARTIFACTS
from reproduction.protocol import Protocol
from reproduction.report.select_records import select_records
from tests.reproduction.fake_records import make_record

ARTIFACT = ARTIFACTS["fig-mnist"]
CASES = ARTIFACT.cases(Protocol(1))[:2]
RECORDS = [make_record(replace(case, seed=seed)) for case in CASES for seed in (0, 1, 7)]
FEWER_QUERIES = [make_record(replace(case, n_queries=500)) for case in CASES]


def test_all_seeds_with_the_queries_of_the_protocol_are_selected() -> None:
    unrelated = [make_record(replace(CASES[0], method="LSH"))]
    records = [*FEWER_QUERIES, *unrelated, *RECORDS]
    assert select_records(ARTIFACT, Protocol(1), records, quick=False) == RECORDS
    assert select_records(ARTIFACT, Protocol(1, 500), records, quick=False) == FEWER_QUERIES


def test_the_most_common_number_of_queries_is_the_fallback() -> None:
    records = FEWER_QUERIES + RECORDS
    assert select_records(ARTIFACT, Protocol(1, 123), records, quick=False) == RECORDS


def test_a_started_number_of_queries_does_not_replace_a_complete_one() -> None:
    records = FEWER_QUERIES[:1] + RECORDS
    assert select_records(ARTIFACT, Protocol(1, 500), records, quick=False) == RECORDS


def test_quick_records_are_separate() -> None:
    assert select_records(ARTIFACT, Protocol(1), RECORDS, quick=True) == []
