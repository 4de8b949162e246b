"""Run artifacts: list them, run their missing cases, and write the report from the records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bitfold.errors import MissingDataError
from reproduction.artifacts import ARTIFACTS, Artifact
from reproduction.columns import BITFOLD, PUBLISHED, find_column, get_plain_name
from reproduction.data.loader import DataLoader, is_available
from reproduction.experiments.estimates import Durations
from reproduction.experiments.methods import IMH_SETTINGS, SCAN
from reproduction.experiments.retrieval import was_busy
from reproduction.experiments.run import run_cases
from reproduction.paper.targets import TARGETS, Target
from reproduction.parallel import run_in_processes
from reproduction.protocol import MILLION_ROWS, Protocol
from reproduction.records import Case, RunRecords
from reproduction.report.page import write_report
from reproduction.report.select_records import select_records
from reproduction.shared_types import Options, Record
from reproduction.terminal import show_progress

LARGE_BASE_SET = 2000
"""Base points above which a run takes minutes."""


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
    return RunRecords(find_records(folder, quick=quick))


def find_records(folder: Path, *, quick: bool) -> Path:
    """Return the file of the records in a folder."""
    return folder / ("records-quick.jsonl" if quick else "records.jsonl")


def list_artifacts(protocol: Protocol, folder: Path) -> list[ListEntry]:
    """Return one entry per artifact, and one for all, in which shared cases count once."""
    records = open_records(folder, quick=protocol.quick)
    durations = Durations(records)

    def make_entry(name: str, number: str, title: str, cases: list[Case]) -> ListEntry:
        missing = [case for case in cases if case not in records]
        seconds = sum(map(durations.estimate, missing))
        return ListEntry(name, number, title, len(cases), len(missing), seconds)

    cases = {name: _find_cases(artifact, protocol) for name, artifact in ARTIFACTS.items()}
    return [
        *(make_entry(a.name, a.number, a.title, cases[a.name]) for a in ARTIFACTS.values()),
        make_entry("all", "", "Shared cases run once", _merge(cases.values())),
    ]


def run_artifacts(
    artifacts: list[Artifact],
    protocol: Protocol,
    folder: Path,
    *,
    times: bool = False,
    n_jobs: int = 1,
) -> list[str]:
    """Run the missing cases of artifacts; cases that they share run once.

    With ``times``, cases that were measured on a busy machine, without their times, run again.
    With several jobs, cases run in as many processes at the same time.

    Returns
    -------
    One message per data set that is missing. The other data sets are run anyway.

    Raises
    ------
    MissingDataError
        If there are no data at all.
    """
    cases = plan_runs(artifacts, protocol)
    if n_jobs > 1 and not times:
        return _run_in_processes(cases, find_records(folder, quick=protocol.quick), n_jobs)
    records, load, problems = open_records(folder, quick=protocol.quick), DataLoader(), []
    if times:
        measure_times([case for case in cases if lacks_times(case, records)], records, load)
    while cases:
        try:
            run_missing_cases(cases, records, load, drop_busy_times=True)
            break
        except MissingDataError as error:
            missing = next(case.data for case in cases if case not in records)
            cases = [case for case in cases if case.data != missing]
            if not cases:
                raise
            problems.append(str(error))
    return problems


def _run_in_processes(cases: list[Case], path: Path, n_jobs: int) -> list[str]:
    """Run the cases that have no record in several processes; see :func:`run_artifacts`."""
    records = RunRecords(path)
    missing = [case for case in cases if case not in records]
    problems: dict[str, None] = {}
    with show_progress() as bars:
        count = bars.count_cases(missing, Durations(records), n_jobs)
        for finished in run_in_processes(missing, path, n_jobs):
            count(finished.case, finished.seconds)
            if finished.problem:
                problems[finished.problem] = None
    if problems and not len(RunRecords(path)):
        raise MissingDataError(" ".join(problems))
    return list(problems)


def plan_runs(artifacts: Iterable[Artifact], protocol: Protocol) -> list[Case]:
    """Return the cases in the order in which they run: a report can be written at any time.

    First comes one seed of everything with the authors' settings, then the other seeds of the
    targets, then rounds that add a seed to every cell. The column of bitfold is a round behind, and
    so are large base sets. The sets with a million rows come last. Within a round each data set
    is loaded once, and the more important artifacts come first.
    """
    priorities: dict[Case, int] = {}
    for artifact in sorted(artifacts, key=lambda artifact: artifact.priority):
        for case in _find_cases(artifact, protocol):
            priorities.setdefault(case, artifact.priority)

    def make_key(case: Case) -> tuple[bool, int, str, int, int]:
        is_million = case.data in MILLION_ROWS
        return is_million, _find_round(case), case.data, case.n_queries, priorities[case]

    return sorted(priorities, key=make_key)


def _find_round(case: Case) -> int:
    is_large = bool(dict(case.options).get("n_base_points", 0) > LARGE_BASE_SET)
    column = find_column(case.method)
    if column == PUBLISHED and is_target(case) and not is_large:
        return min(case.seed, 1)
    return 2 * case.seed + 2 * (column == BITFOLD) + 3 * is_large


def is_target(case: Case) -> bool:
    """Return whether a case belongs to a value that the report must reach."""
    return (case.data, get_plain_name(case.method), case.n_bits, case.options) in _TARGET_CASES


def _describe_target(target: Target) -> tuple[str, str, int, Options]:
    """Return what identifies the cases of a target, with the paper's settings filled in."""
    setting, defaults = target.setting, dict(IMH_SETTINGS)
    if target.artifact == "fig-classify":
        defaults["n_base_points"] = 1000
    options = {} if setting.method == SCAN else {**defaults, **dict(setting.options)}
    return target.data, setting.method, setting.n_bits, tuple(sorted(options.items()))


_TARGET_CASES = {_describe_target(target) for target in TARGETS}


def run_missing_cases(
    cases: list[Case], records: RunRecords, load: DataLoader, *, drop_busy_times: bool = False
) -> list[Record]:
    """Run the cases that have no record, with progress bars, and return the records of all.

    With ``drop_busy_times``, times are left out if other programs competed for the cores.
    """
    missing = [case for case in cases if case not in records]
    with show_progress() as bars:
        show_case = bars.show_cases(missing, Durations(records))
        return run_cases(cases, records, load, show_case, drop_busy_times=drop_busy_times)


def lacks_times(case: Case, records: RunRecords) -> bool:
    """Return whether a case was run on a busy machine, without times."""
    return case in records and was_busy(records[case])


def measure_times(cases: list[Case], records: RunRecords, load: DataLoader) -> None:
    """Run cases again, and replace their records if the machine was not busy."""
    new = RunRecords()
    run_missing_cases(cases, new, load, drop_busy_times=True)
    for record in new:
        if not was_busy(record):
            records.add(Case.from_record(record), record["result"], record["seconds"])


def write_artifacts(
    artifacts: list[Artifact], protocol: Protocol, folder: Path, command: str
) -> Path:
    """Write the report of everything that has records, and return its path.

    Quick records are preferred for ``artifacts`` in a quick protocol, and others otherwise.
    """
    return write_report(
        folder, ARTIFACTS.values(), choose_records(artifacts, protocol, folder), command
    )


def choose_records(
    artifacts: list[Artifact], protocol: Protocol, folder: Path
) -> dict[str, list[Record]]:
    """Return the records that the report shows, by artifact."""
    known = {quick: list(open_records(folder, quick=quick)) for quick in (True, False)}
    chosen: dict[str, list[Record]] = {}
    for name, artifact in ARTIFACTS.items():
        quick_first = protocol.quick and artifact in artifacts
        for quick in (quick_first, not quick_first):
            chosen[name] = chosen.get(name) or select_records(
                artifact, protocol, known[quick], quick=quick
            )
    return chosen


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
