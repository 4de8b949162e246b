"""``bitfold demo``: the methods on handwritten digits, as a table and a page of pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from bitfold.cli._comparison import Digits, Run, Score


def demo(
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("demo.html"),
    bits: Annotated[int, typer.Option(help="Length of the codes.")] = 64,
    seed: Annotated[int, typer.Option(help="Draws the queries and seeds every method.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, not a table.")] = False,
) -> None:
    """Compare the methods on the digits of scikit-learn, and write a page of pictures.

    Learns codes of 1,497 handwritten digits in a few seconds, searches them with 300 others, and
    sets the answers beside those of an exact scan.
    """
    from bitfold.cli import _comparison, _page
    from bitfold.cli._files import writing

    with writing(out) as file:
        digits = _comparison.load(seed)
        runs = _compare(digits, bits, seed)
        file.write(_page.render(digits, runs, f"bitfold demo --bits {bits} --seed {seed}").encode())
    scores = [run.score for run in runs]
    if as_json:
        typer.echo(_as_json(scores, digits, seed, out))
    else:
        _print_table(scores)
        typer.echo(f"Page written to {out}")


def _compare(digits: Digits, n_bits: int, seed: int) -> list[Run]:
    """Run every method, with a bar each, and the exact scan."""
    from bitfold.cli import _comparison
    from bitfold.cli._terminal import bars

    methods = _comparison.methods(n_bits, seed)
    with bars() as shown:
        with shown.spinner("warming up (the first time, kernels are compiled)"):
            _comparison.warm_up(methods, digits)
        runs = []
        for method in methods:
            with shown.bar(method.name) as report:
                runs.append(_comparison.run(method, digits, report))
    return [*runs, _comparison.scan(digits)]


def _print_table(scores: list[Score]) -> None:
    from rich.table import Table

    from bitfold.cli._comparison import COLUMNS, cells
    from bitfold.cli._terminal import output

    table = Table()
    for column in COLUMNS:
        table.add_column(column, justify="left" if column == COLUMNS[0] else "right")
    for score in scores:
        table.add_row(*cells(score))
    output().print(table)


def _as_json(scores: list[Score], digits: Digits, seed: int, page: Path) -> str:
    import json

    about: dict[str, Any] = {
        "data": "digits",
        "database": len(digits.database),
        "queries": len(digits.queries),
        "seed": seed,
        "page": str(page),
        "results": [score._asdict() for score in scores],
    }
    return json.dumps(about, indent=2)
