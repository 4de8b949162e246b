"""``bitfold compare``: every method on one data set, as one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bitfold.experiments.records import Record


def compare(
    data: Annotated[str, typer.Argument(help="A data set: digits, mnist, cifar10, manifold-10 …")],
    bits: Annotated[str, typer.Option(help="Code lengths.")] = "16,32,64,128",
    methods: Annotated[
        str, typer.Option(help="Names of methods, all, or labels: those that learn from them.")
    ] = "all",
    queries: Annotated[int, typer.Option(min=1, help="How many rows to set aside.")] = 1000,
    repeats: Annotated[int, typer.Option(min=1, help="Seeds to take the mean over.")] = 1,
    records: Annotated[
        Path | None, typer.Option(help="JSON lines to keep results in, and to resume from.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines, not a table.")] = False,
) -> None:
    """Compare methods: quality of their codes, time to fit and to encode.

    Example: bitfold compare digits --bits 16,32 --methods ITQ,IMH-tSNE-ITQ
    """
    import json

    done = _run(data, _lengths(bits), _chosen(methods), queries, repeats, records)
    if as_json:
        for record in done:
            typer.echo(json.dumps(record))
    else:
        _print(done, data)


def _lengths(text: str) -> list[int]:
    """Read code lengths that are separated by commas."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdigit() and int(part) > 0 for part in parts):
        raise typer.BadParameter(f"code lengths must be whole numbers like 16,32, got {text!r}.")
    return sorted({int(part) for part in parts})


def _chosen(text: str) -> list[str]:
    """Read names of methods that are separated by commas."""
    from bitfold.experiments.methods import COMPARED, METHODS

    if text == "all":
        return COMPARED
    if text == "labels":
        return [name for name in COMPARED if METHODS[name].uses_labels]
    known = {name.lower(): name for name in METHODS}
    asked = [part.strip().lower() for part in text.split(",")]
    for name in asked:
        if name not in known:
            raise typer.BadParameter(f"methods must be among {', '.join(METHODS)}, got {name!r}.")
    return [known[name] for name in asked]


def _run(
    data: str, lengths: list[int], methods: list[str], queries: int, repeats: int, path: Path | None
) -> list[Record]:
    from bitfold.cli._terminal import bars
    from bitfold.experiments.data import load
    from bitfold.experiments.records import Case, Records
    from bitfold.experiments.run import run

    cases = [
        Case(data, method, n_bits, seed, queries)
        for method in methods
        for n_bits in lengths
        for seed in range(repeats)
    ]
    with bars() as shown:
        return run(cases, Records(path), load, lambda case: shown.bar(case.title))


def _print(done: list[Record], data: str) -> None:
    from rich.table import Table

    from bitfold.cli._terminal import output
    from bitfold.experiments.tables import grid

    laid_out = grid(done)
    table = Table(title=data, title_justify="left", padding=(0, 0, 0, 1))
    table.add_column("method\nbits", no_wrap=True)
    for head, n_bits in laid_out.heads:
        table.add_column(f"{head}\n{n_bits}", justify="right")
    for method, cells in laid_out.rows:
        table.add_row(method, *cells)
    console = output()
    console.print(table)
    for sentence in laid_out.refusals:
        console.print(f"– {sentence}")
