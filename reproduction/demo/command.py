"""``python -m reproduction demo``."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from threadpoolctl import threadpool_limits

from bitfold.datasets import Dataset
from bitfold.io.atomic import replace_atomically
from reproduction.demo.comparison import (
    COLUMNS,
    MethodResult,
    format_row,
    load_digits,
    make_methods,
    run_method,
    scan_pixels,
    warm_up_methods,
)
from reproduction.demo.page import render_page
from reproduction.terminal import open_console, show_progress


def demo(
    out: Annotated[Path, typer.Option(help="HTML page to write.")] = Path("demo.html"),
    bits: Annotated[int, typer.Option(min=1, max=256, help="Length of the codes.")] = 64,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the queries and the methods.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Compare methods on the digits of scikit-learn, and write a page with images.

    Learns codes of 1,497 digits in seconds and searches them with 300 others.

    Example: python -m reproduction demo --bits 32 --out demo.html
    """
    _check_writable(out)
    data = load_digits(seed)
    results = compare_methods(data, bits, seed)
    command = f"python -m reproduction demo --bits {bits} --seed {seed}"
    with replace_atomically(out) as file:
        file.write(render_page(data, results, command).encode())
    if as_json:
        typer.echo(_format_json(data, results, seed, out))
    else:
        _print_table(results)
        typer.echo(f"Page written to {out}")


def compare_methods(data: Dataset, n_bits: int, seed: int) -> list[MethodResult]:
    """Return the results of every method and, last, of the exact scan."""
    methods = make_methods(n_bits, seed)
    # More threads do not help on data this small; on a busy machine waiting for each other costs
    # many times the work.
    with threadpool_limits(1), show_progress() as bars:
        with bars.show_task("warming up (kernels are compiled the first time)"):
            warm_up_methods(methods, data)
        results = []
        for method in methods:
            with bars.show_task(method.name, keep=True) as report:
                results.append(run_method(method, data, report))
        return [*results, scan_pixels(data)]


class _UnwrittenError(Exception):
    """Leaves a file as it was."""


def _check_writable(path: Path) -> None:
    """Raise before the work if the page cannot be written."""
    with suppress(_UnwrittenError), replace_atomically(path):
        raise _UnwrittenError


def _print_table(results: list[MethodResult]) -> None:
    table = Table()
    table.add_column(COLUMNS[0], no_wrap=True)
    for column in COLUMNS[1:]:
        table.add_column(column, justify="right")
    for result in results:
        table.add_row(*format_row(result.score))
    open_console().print(table)


def _format_json(data: Dataset, results: list[MethodResult], seed: int, page: Path) -> str:
    content = {
        "data": "digits",
        "n_database": len(data.database),
        "n_queries": len(data.queries),
        "seed": seed,
        "page": str(page),
        "results": [result.score._asdict() for result in results],
    }
    return json.dumps(content, indent=2)
