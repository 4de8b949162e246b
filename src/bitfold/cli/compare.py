"""``bitfold compare``: every method on one data set, as one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bitfold.experiments.records import Case, Record


def compare(
    data: Annotated[
        str,
        typer.Argument(
            help="A data set (digits, mnist, cifar10, manifold-10 …) or a file of vectors "
            "(.npy .npz .parquet .h5 .fvecs .bvecs)."
        ),
    ],
    labels: Annotated[
        Path | None, typer.Option(help="Labels of a file's rows, .npy; else neighbours count.")
    ] = None,
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

    Without labels the closest 2 percent of the rows are the right answers.

    Example: bitfold compare vectors.npy --labels labels.npy --bits 16,32,64
    """
    import json

    from bitfold.experiments.methods import METHODS
    from bitfold.experiments.records import Case

    chosen = _chosen(methods)
    if _without_labels(data, labels):
        chosen = [name for name in chosen if not METHODS[name].uses_labels]
    cases = [
        Case(data, method, n_bits, seed, queries, labels=str(labels or ""))
        for method in chosen
        for n_bits in _lengths(bits)
        for seed in range(repeats)
    ]
    done = _run(cases, records)
    if as_json:
        for record in done:
            typer.echo(json.dumps(record))
    else:
        _print(done, data)


def _without_labels(data: str, labels: Path | None) -> bool:
    from bitfold.experiments.data import DATA, UNLABELLED

    if labels is not None and data in DATA:
        raise typer.BadParameter(f"labels must go with a file of vectors, got the data set {data}.")
    return data in UNLABELLED or (data not in DATA and labels is None)


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


def _run(cases: list[Case], path: Path | None) -> list[Record]:
    from bitfold.cli._terminal import bars
    from bitfold.experiments.data import load
    from bitfold.experiments.records import Records
    from bitfold.experiments.run import run

    with bars() as shown:
        return run(cases, Records(path), load, lambda case: shown.bar(case.title))


def _print(done: list[Record], data: str) -> None:
    from rich.table import Table

    from bitfold.cli._terminal import output
    from bitfold.experiments.tables import grid, recommend

    laid_out = grid(done)
    title = f"{data}: MAP in percent, F1 in radius 2, seconds to fit, µs to encode a row, by bits"
    table = Table(title=title, title_justify="left", padding=(0, 0, 0, 1))
    table.add_column("method\nbits", no_wrap=True)
    for head, n_bits in laid_out.heads:
        table.add_column(f"{head}\n{n_bits}", justify="right", no_wrap=True)
    for method, cells in laid_out.rows:
        table.add_row(method, *cells)
    console = output()
    console.print(table)
    for sentence in laid_out.refusals:
        console.print(f"– {sentence}")
    if best := recommend(done):
        console.print(
            f"Take {best.method} with {best.n_bits} bits: MAP {best.map:.1f} %, the shortest codes "
            "within a point of the best here."
        )
