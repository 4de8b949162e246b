"""``bitfold compare``: every method on one data set, as one table."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from bitfold.cli._inputs import FORMATS, Place, check_exists, open_vectors, stamp

if TYPE_CHECKING:
    from reproduction.records import Case, Record
    from reproduction.tables import Recommendation


def compare(
    data: Annotated[
        str,
        typer.Argument(
            help=f"A data set (digits, mnist, cifar10, manifold-10 …) or a file: {FORMATS}."
        ),
    ],
    labels: Annotated[
        Path | None,
        typer.Option(help="Labels of a file's rows: .npy .npz .parquet .h5 .txt."),
    ] = None,
    bits: Annotated[str, typer.Option(help="Code lengths.")] = "16,32,64,128",
    methods: Annotated[
        str, typer.Option(help="Names of methods, all, or labels: those that learn from them.")
    ] = "all",
    queries: Annotated[
        int | None,
        typer.Option(min=1, help="Rows to set aside; left out, 1000, or a tenth of a small file."),
    ] = None,
    rows: Annotated[
        int, typer.Option(min=0, help="Rows to search in, drawn at random; 0 is all.")
    ] = 0,
    repeats: Annotated[int, typer.Option(min=1, help="Seeds to take the mean over.")] = 1,
    records: Annotated[
        Path | None, typer.Option(help="JSON lines to keep results in, and to resume from.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines, not a table.")] = False,
) -> None:
    """Compare methods on your data and recommend one: quality of codes, time to fit and encode.

    Items with the label of the query are the right answers; without labels, the closest 2 percent
    of the rows in ℓ2.

    Example: bitfold compare vectors.npy --labels labels.npy --bits 16,32,64
    """
    lengths = _lengths(bits)
    chosen = _chosen(methods)
    asked = _asked(data, labels, queries, rows)
    if asked.answers != "label":
        chosen = _without_labels(chosen)
    cases = [
        replace(asked.case, method=method, n_bits=n_bits, seed=seed)
        for method in chosen
        for n_bits in lengths
        for seed in range(repeats)
    ]
    done = _run(cases, records)
    if as_json:
        for record in done:
            typer.echo(json.dumps(record))
    else:
        _print(done, asked)


class Asked(NamedTuple):
    """What all cases share, and what makes an answer right: "label" or "nearest"."""

    case: Case
    answers: str

    @property
    def title(self) -> str:
        """Say what was measured."""
        right = "items of the same label" if self.answers == "label" else "the closest 2 percent"
        rows = f" in {self.case.rows:,} rows" if self.case.rows else ""
        return f"{self.case.data}: {self.case.queries:,} queries{rows}; right are {right}"


def _asked(data: str, labels: Path | None, queries: int | None, rows: int) -> Asked:
    from reproduction.data import DATA, UNLABELED
    from reproduction.records import Case

    if data in DATA:
        if labels is not None:
            demand = "labels must go with a file of vectors"
            raise typer.BadParameter(f"{demand}, got the data set {data}.")
        case = Case(data, "", 0, queries=queries or 1000, rows=rows)
        return Asked(case, "nearest" if data in UNLABELED else "label")
    path = Path(data)
    if data == "-" or not Place.of(path).path.exists():
        known = ", ".join(DATA)
        raise typer.BadParameter(f"the data set must be one of {known}, or a file, got {data!r}.")
    check_exists(labels)
    aside = queries or min(1000, max(1, open_vectors(path).shape[0] // 10))
    stamps = " ".join(stamp(file) for file in (path, labels) if file is not None)
    case = Case(data, "", 0, 0, aside, rows, labels=str(labels or ""), stamp=stamps)
    return Asked(case, "nearest" if labels is None else "label")


def _without_labels(chosen: list[str]) -> list[str]:
    """Leave out the methods that learn from labels, where there are none."""
    from reproduction.methods import METHODS

    left = [name for name in chosen if not METHODS[name].uses_labels]
    if not left:
        raise typer.BadParameter(
            f"labels must be given for methods that learn from them, got {', '.join(chosen)} alone."
        )
    return left


def _lengths(text: str) -> list[int]:
    """Read code lengths that are separated by commas."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdigit() and int(part) > 0 for part in parts):
        raise typer.BadParameter(f"code lengths must be whole numbers like 16,32, got {text!r}.")
    return sorted({int(part) for part in parts})


def _chosen(text: str) -> list[str]:
    """Read names of methods that are separated by commas."""
    from reproduction.methods import COMPARED, METHODS

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
    from reproduction.data import Loader
    from reproduction.estimates import from_records
    from reproduction.records import Records
    from reproduction.run_display import run_cases

    from bitfold.cli._inputs import read_labels, read_vectors

    records = Records(path)
    load = Loader(read_vectors, read_labels)
    return run_cases(cases, records, load, from_records(records))


def _print(done: list[Record], asked: Asked) -> None:
    from reproduction.tables import grid
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from bitfold.cli.terminal import output

    laid_out = grid(done)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("method\nbits", no_wrap=True)
    for head, n_bits in laid_out.heads:
        table.add_column(f"{head}\n{n_bits}", justify="right", no_wrap=True)
    for method, cells in laid_out.rows:
        table.add_row(method, *cells)
    typer.echo(asked.title)
    typer.echo("MAP in percent, F1 in radius 2, seconds to fit, µs to encode a row, by bits")
    output().print(table)
    for sentence in laid_out.refusals:
        typer.echo(f"– {sentence}")
    _advise(done, asked)


def _advise(done: list[Record], asked: Asked) -> None:
    """Recommend a method and a length; beside one that learns from labels, one that does not."""
    from reproduction.methods import METHODS
    from reproduction.tables import recommend

    best = recommend(done)
    if best is None:
        return
    typer.echo(f"Take {_praised(best)}, the shortest codes within a point of the best here.")
    if METHODS[best.method].uses_labels:
        plain = [r for r in done if not METHODS[r["case"]["method"]].uses_labels]
        if (other := recommend(plain)) is not None:
            typer.echo(f"To learn without labels, take {_praised(other)}.")
    if command := _next_step(best, asked):
        typer.echo(f"Go on with: {command}")


def _praised(best: Recommendation) -> str:
    size = -(-best.n_bits // 8)
    many = "" if size == 1 else "s"
    return f"{best.method} with {best.n_bits} bits, {size} byte{many} a row: MAP {best.map:.1f} %"


def _next_step(best: Recommendation, asked: Asked) -> str:
    """Write the command that fits the recommended method to a file, where it is one word."""
    from reproduction.methods import METHODS

    make = METHODS[best.method].make
    if not isinstance(make, type) or not asked.case.stamp:
        return ""
    learned = METHODS[best.method].uses_labels
    labels = f" --labels {shlex.quote(asked.case.labels)}" if learned else ""
    file = shlex.quote(asked.case.data)
    return (
        f"bitfold fit {file}{labels} --method {make.__name__.lower()} --bits {best.n_bits} "
        "--out model.bitfold"
    )
