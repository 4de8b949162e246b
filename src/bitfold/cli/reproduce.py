"""``bitfold reproduce``: the paper's tables and figures, one command each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bitfold.experiments.artefacts import Artefact, Protocol
    from bitfold.experiments.records import Record


def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help="Artefacts, or all.", metavar="[NAME]...")
    ] = None,
    show_list: Annotated[
        bool, typer.Option("--list", help="Show every artefact and the time it takes.")
    ] = False,
    quick: Annotated[bool, typer.Option(help="A small version of each.")] = False,
    repeats: Annotated[int, typer.Option(min=1, help="Seeds to take the mean over.")] = 10,
    queries: Annotated[int, typer.Option(min=1, help="Queries.")] = 1000,
    out: Annotated[Path, typer.Option(help="Folder of the records and the report.")] = Path(
        "report"
    ),
) -> None:
    """Run what is missing of the paper's tables and figures, and write the report.

    It may be interrupted at any point; the next run goes on from the records.

    Example: bitfold reproduce fig-mnist --quick
    """
    from bitfold.experiments.artefacts import ARTEFACTS, Protocol

    protocol = Protocol(repeats, queries, quick)
    if show_list or not names:
        _list(protocol, out)
        return
    for name in names:
        if name != "all" and name not in ARTEFACTS:
            known = ", ".join(["all", *ARTEFACTS])
            raise typer.BadParameter(f"artefacts must be among {known}, got {name!r}.")
    chosen = [a for a in ARTEFACTS.values() if "all" in names or a.name in names]
    _run(chosen, protocol, out)
    command = " ".join(
        ["bitfold reproduce", *names, *(["--quick"] if quick else [f"--repeats {repeats}"])]
    )
    typer.echo(f"Report written to {_report(out, protocol, command)}")


def _records(out: Path, quick: bool) -> Path:
    return out / ("records-quick.jsonl" if quick else "records.jsonl")


def _list(protocol: Protocol, out: Path) -> None:
    from rich.table import Table

    from bitfold.cli._terminal import output
    from bitfold.experiments.artefacts import ARTEFACTS
    from bitfold.experiments.estimates import seconds
    from bitfold.experiments.records import Records

    known = Records(_records(out, protocol.quick))
    table = Table("name", "in the paper", "content", "runs", "to do", "minutes")
    for artefact in ARTEFACTS.values():
        cases = artefact.cases(protocol)
        missing = [case for case in cases if case not in known]
        minutes = sum(map(seconds, missing)) / 60
        table.add_row(
            artefact.name, artefact.place, artefact.title, f"{len(cases)}", f"{len(missing)}",
            f"{minutes:.1f}",
        )  # fmt: skip
    output().print(table)


def _run(chosen: list[Artefact], protocol: Protocol, out: Path) -> None:
    """Run the missing cases of all artefacts, those that are shared once."""
    from bitfold.cli._terminal import bars
    from bitfold.experiments.data import load
    from bitfold.experiments.records import Records
    from bitfold.experiments.run import run

    cases = list(dict.fromkeys(case for a in chosen for case in a.cases(protocol)))
    # One data set after the other: each is loaded once.
    cases.sort(key=lambda case: (case.data, case.queries))
    records = Records(_records(out, protocol.quick))
    with bars() as shown:
        run(cases, records, load, lambda case: shown.bar(case.title))


def _report(out: Path, protocol: Protocol, command: str) -> Path:
    from bitfold.experiments.artefacts import ARTEFACTS
    from bitfold.experiments.records import Records
    from bitfold.experiments.report import write_report

    known = Records(_records(out, protocol.quick))
    of: dict[str, list[Record]] = {
        name: [known[case] for case in dict.fromkeys(artefact.cases(protocol)) if case in known]
        for name, artefact in ARTEFACTS.items()
    }
    return write_report(out, ARTEFACTS.values(), of, command)
