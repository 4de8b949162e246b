"""``bitfold reproduce``: the paper's tables and figures, one command each."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bitfold.errors import MissingDataError

if TYPE_CHECKING:
    from reproduction.artifacts import Artifact, Protocol
    from reproduction.records import Case, Record, Records


def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help="Artifacts, or all.", metavar="[NAME]...")
    ] = None,
    show_list: Annotated[
        bool, typer.Option("--list", help="Show every artifact and the time it takes.")
    ] = False,
    quick: Annotated[bool, typer.Option(help="A small version of each.")] = False,
    repeats: Annotated[
        int, typer.Option(min=1, help="Seeds to take the mean over; the paper has 10.")
    ] = 10,
    queries: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Queries of retrieval; by default the paper's, 10,000 on the million-point sets "
            "and 1,000 elsewhere.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the records and the report.")] = Path(
        "report"
    ),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Run what is missing of the paper's tables and figures, and write the report.

    It may be interrupted at any point; the next run goes on from the records.

    Example: bitfold reproduce fig-mnist --quick
    """
    from reproduction.artifacts import Protocol

    protocol = Protocol(repeats, queries, quick)
    if show_list or not names:
        listed = _list(protocol, out)
        if as_json:
            typer.echo(json.dumps([asdict(each) for each in listed]))
        else:
            _show(listed)
        return
    chosen = _chosen(names)
    _check_extra()
    problems = _run(chosen, protocol, out)
    path = _report(out, protocol, chosen, _command(names, protocol))
    if as_json:
        typer.echo(json.dumps({"report": str(path), "artifacts": [a.name for a in chosen]}))
    else:
        typer.echo(f"Report written to {path}")
    if problems:
        raise FileNotFoundError(" ".join(problems))


def _chosen(names: list[str]) -> list[Artifact]:
    from reproduction.artifacts import ARTIFACTS

    for name in names:
        if name != "all" and name not in ARTIFACTS:
            known = ", ".join(["all", *ARTIFACTS])
            raise typer.BadParameter(f"artifacts must be among {known}, got {name!r}.")
    return [a for a in ARTIFACTS.values() if "all" in names or a.name in names]


def _check_extra() -> None:
    """Say at once what drawing needs, not after hours of runs."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        extra = 'pip install "bitfold[figures]"'
        raise ImportError(f"bitfold reproduce needs matplotlib to draw: {extra}.") from None


def _command(names: list[str], protocol: Protocol) -> str:
    """Write the command that makes the report again."""
    options = ["--quick"] if protocol.quick else [f"--repeats {protocol.repeats}"]
    if protocol.queries and not protocol.quick:
        options.append(f"--queries {protocol.queries}")
    return " ".join(["bitfold reproduce", *names, *options])


def _records(out: Path, quick: bool) -> Records:
    from reproduction.records import Records

    return Records(out / ("records-quick.jsonl" if quick else "records.jsonl"))


def _cases(artifact: Artifact, protocol: Protocol) -> list[Case]:
    """Cases of an artifact, on those of its data sets that are there.

    Where none is, all but the stand-ins, which cannot be downloaded: their loading will say so.
    """
    from reproduction.data import at_hand

    cases = artifact.cases(protocol)
    found = [case for case in cases if at_hand(case.data)]
    return found or [case for case in cases if case.data != "sift_photos"]


@dataclass(frozen=True)
class Listed:
    """An artifact: how many runs it has, how many are missing, and the seconds they may take."""

    name: str
    place: str
    title: str
    runs: int
    to_do: int
    seconds: float


def _list(protocol: Protocol, out: Path) -> list[Listed]:
    """All artifacts, and all of them together: what they share is run once."""
    from reproduction.artifacts import ARTIFACTS
    from reproduction.estimates import from_records

    known = _records(out, protocol.quick)
    estimate = from_records(known)

    def listed(name: str, place: str, title: str, cases: list[Case]) -> Listed:
        missing = [case for case in cases if case not in known]
        return Listed(name, place, title, len(cases), len(missing), sum(map(estimate, missing)))

    of = {name: _cases(artifact, protocol) for name, artifact in ARTIFACTS.items()}
    every = list(dict.fromkeys(case for cases in of.values() for case in cases))
    return [
        *(listed(a.name, a.place, a.title, of[name]) for name, a in ARTIFACTS.items()),
        listed("all", "", "What is shared runs once", every),
    ]


def _show(listed: list[Listed]) -> None:
    from rich.table import Table

    from bitfold.cli.terminal import make_console
    from reproduction.run_display import in_words

    table = Table("name", "in the paper", "content")
    for head in ("runs", "to do", "time"):
        table.add_column(head, justify="right")
    for each in listed:
        if each.name == "all":
            table.add_section()
        time = in_words(each.seconds) if each.to_do else "done"
        table.add_row(each.name, each.place, each.title, f"{each.runs:,}", f"{each.to_do:,}", time)
    make_console().print(table)


def _run(chosen: list[Artifact], protocol: Protocol, out: Path) -> list[str]:
    """Run the missing cases, those that are shared once; say which data could not be had.

    Where only some of what was asked for has its data, the rest is run all the same.
    """
    from reproduction.data import Loader
    from reproduction.estimates import from_records
    from reproduction.run_display import run_cases

    cases = list(dict.fromkeys(case for a in chosen for case in _cases(a, protocol)))
    # One data set after the other: each is loaded once.
    cases.sort(key=lambda case: (case.data, case.queries))
    records, load, problems = _records(out, protocol.quick), Loader(), []
    while cases:
        try:
            run_cases(cases, records, load, from_records(records))
            break
        except MissingDataError as error:
            lacking = next(case.data for case in cases if case not in records)
            cases = [case for case in cases if case.data != lacking]
            if not cases:
                raise
            problems.append(str(error))
    return problems


def _report(out: Path, protocol: Protocol, chosen: list[Artifact], command: str) -> Path:
    from reproduction.artifacts import ARTIFACTS
    from reproduction.report import write_report
    from reproduction.shown import choose

    known = {quick: list(_records(out, quick)) for quick in (True, False)}
    asked = {artifact.name for artifact in chosen}
    of: dict[str, list[Record]] = {}
    for name, artifact in ARTIFACTS.items():
        quick_first = protocol.quick and name in asked
        for quick in (quick_first, not quick_first):
            of[name] = of.get(name) or choose(artifact, protocol, known[quick], quick=quick)
    return write_report(out, ARTIFACTS.values(), of, command)
