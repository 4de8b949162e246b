"""``bitfold demo``: the methods on handwritten digits, as a table and a page of pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bitfold.io.atomic import replace_atomically

if TYPE_CHECKING:
    from reproduction.demo.comparison import Comparison


def demo(
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("demo.html"),
    bits: Annotated[int, typer.Option(min=1, max=256, help="Length of the codes.")] = 64,
    seed: Annotated[int, typer.Option(min=0, help="Draws the queries, seeds the methods.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, not a table.")] = False,
) -> None:
    """Compare the methods on the digits of scikit-learn, and write a page of pictures.

    Learns codes of 1,497 digits in seconds and searches them with 300 others.

    Example: bitfold demo --bits 32 --out demo.html
    """
    done = _compare(bits, seed)
    with replace_atomically(out) as file:
        file.write(_page(done, f"bitfold demo --bits {bits} --seed {seed}").encode())
    if as_json:
        typer.echo(_as_json(done, seed, out))
    else:
        _print_table(done)
        typer.echo(f"Page written to {out}")


def _compare(n_bits: int, seed: int) -> Comparison:
    """Run every method, with a bar each, and the exact scan."""
    from bitfold.cli.terminal import show_progress

    with show_progress() as shown:
        with shown.spinner("warming up (the first time, kernels are compiled)"):
            # Under the spinner, because this import takes a second or two.
            from reproduction.demo import comparison as _comparison

            digits, methods = _comparison.load(seed), _comparison.methods(n_bits, seed)
            with _comparison.one_thread():
                _comparison.warm_up(methods, digits)
        runs = []
        for method in methods:
            with shown.bar(method.name) as report, _comparison.one_thread():
                runs.append(_comparison.run(method, digits, report))
    return _comparison.Comparison(digits, [*runs, _comparison.scan(digits)])


def _page(done: Comparison, command: str) -> str:
    from reproduction.demo.page import render

    return render(done.digits, done.runs, command)


def _print_table(done: Comparison) -> None:
    from rich.table import Table

    from bitfold.cli.terminal import make_console
    from reproduction.demo.comparison import COLUMNS, cells

    table = Table()
    table.add_column(COLUMNS[0], no_wrap=True)
    for column in COLUMNS[1:]:
        table.add_column(column, justify="right")
    for run in done.runs:
        table.add_row(*cells(run.score))
    make_console().print(table)


def _as_json(done: Comparison, seed: int, page: Path) -> str:
    import json

    about: dict[str, Any] = {
        "data": "digits",
        "database": len(done.digits.database),
        "queries": len(done.digits.queries),
        "seed": seed,
        "page": str(page),
        "results": [run.score._asdict() for run in done.runs],
    }
    return json.dumps(about, indent=2)
