"""Run artifacts: list them, run their missing cases, and write the report from the records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bitfold.errors import MissingDataError
from reproduction.artifacts import ARTIFACTS, Artifact
from reproduction.data.loader import DataLoader, is_available
from reproduction.experiments.estimates import estimate_from
from reproduction.experiments.run import run_cases
from reproduction.protocol import Protocol
from reproduction.records import Case, RunRecords
from reproduction.report.page import write_report
from reproduction.report.select_records import select_records
from reproduction.shared_types import Record
from reproduction.terminal import show_progress


@dataclass(frozen=True)
class ListEntry:
    """An artifact, its numbers of runs and missing runs, and the seconds that these may take."""

    name: str
    number: str
    title: str
    n_runs: int
    n_missing: int
    seconds_left: float


def open_records(folder: Path, *, quick: bool) -> RunRecords:
    """Return the records in a folder."""
    return RunRecords(folder / ("records-quick.jsonl" if quick else "records.jsonl"))


def list_artifacts(protocol: Protocol, folder: Path) -> list[ListEntry]:
    """Return one entry per artifact, and one for all, in which shared cases count once."""
    records = open_records(folder, quick=protocol.quick)
    estimate = estimate_from(records)

    def make_entry(name: str, number: str, title: str, cases: list[Case]) -> ListEntry:
        missing = [case for case in cases if case not in records]
        seconds = sum(map(estimate, missing))
        return ListEntry(name, number, title, len(cases), len(missing), seconds)

    cases = {name: _find_cases(artifact, protocol) for name, artifact in ARTIFACTS.items()}
    return [
        *(make_entry(a.name, a.number, a.title, cases[a.name]) for a in ARTIFACTS.values()),
        make_entry("all", "", "Shared cases run once", _merge(cases.values())),
    ]


def run_artifacts(artifacts: list[Artifact], protocol: Protocol, folder: Path) -> list[str]:
    """Run the missing cases of artifacts; cases that they share run once.

    Returns
    -------
    One message per data set that is missing. The other data sets are run anyway.

    Raises
    ------
    MissingDataError
        If there are no data at all.
    """
    cases = _merge(_find_cases(artifact, protocol) for artifact in artifacts)
    # Sorted by data set, so that each is loaded once.
    cases.sort(key=lambda case: (case.data, case.n_queries))
    records, load, problems = open_records(folder, quick=protocol.quick), DataLoader(), []
    while cases:
        try:
            run_missing_cases(cases, records, load)
            break
        except MissingDataError as error:
            missing = next(case.data for case in cases if case not in records)
            cases = [case for case in cases if case.data != missing]
            if not cases:
                raise
            problems.append(str(error))
    return problems


def run_missing_cases(cases: list[Case], records: RunRecords, load: DataLoader) -> list[Record]:
    """Run the cases that have no record, with progress bars, and return the records of all."""
    missing = [case for case in cases if case not in records]
    with show_progress() as bars:
        show_case = bars.show_cases(missing, estimate_from(records))
        return run_cases(cases, records, load, show_case)


def write_artifacts(
    artifacts: list[Artifact], protocol: Protocol, folder: Path, command: str
) -> Path:
    """Write the report of everything that has records, and return its path.

    Quick records are preferred for ``artifacts`` in a quick protocol, and others otherwise.
    """
    known = {quick: list(open_records(folder, quick=quick)) for quick in (True, False)}
    chosen: dict[str, list[Record]] = {}
    for name, artifact in ARTIFACTS.items():
        quick_first = protocol.quick and artifact in artifacts
        for quick in (quick_first, not quick_first):
            chosen[name] = chosen.get(name) or select_records(
                artifact, protocol, known[quick], quick=quick
            )
    return write_report(folder, ARTIFACTS.values(), chosen, command)


def _find_cases(artifact: Artifact, protocol: Protocol) -> list[Case]:
    """Return the cases of an artifact whose data are available.

    If none are, return those that could be downloaded, whose loader explains what is missing.
    """
    cases = artifact.cases(protocol)
    available = [case for case in cases if is_available(case.data)]
    return available or [case for case in cases if case.data != "sift_photos"]


def _merge(groups: Iterable[list[Case]]) -> list[Case]:
    """Return the distinct cases in order."""
    return list(dict.fromkeys(case for cases in groups for case in cases))
