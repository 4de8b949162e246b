"""``bitfold pull``: the codes of an engine into an index."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def pull(
    source: Annotated[
        str,
        typer.Argument(
            help="postgresql://user@host/database, a .faiss file, or a directory or address "
            "(s3://…) of LanceDB. PGPASSWORD or ~/.pgpass keep a password off the command line."
        ),
    ],
    index: Annotated[Path, typer.Argument(help="The index to make (a folder).")],
    table: Annotated[str | None, typer.Option(help="The table to read, but for faiss.")] = None,
    bits: Annotated[
        int | None,
        typer.Option(help="Length of the codes of a faiss file, if not a multiple of 8."),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace what is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Answer as JSON.")] = False,
) -> None:
    """Copy the codes and ids in Postgres, LanceDB or a faiss file into an index.

    Example: bitfold pull postgresql://me@localhost/shop my.index --table codes
    """
    from bitfold.cli._places import check_new, check_table, opened
    from bitfold.cli.terminal import bars
    from bitfold.stores import to_index

    check_table(source, table)
    check_new(index, replace)
    with (
        opened(source, table, bits) as store,
        bars() as shown,
        shown.bar(f"pull {index}") as report,
    ):
        pulled = to_index(store, report)
    pulled.save(index)
    if as_json:
        told = {"index": str(index), "codes": len(pulled), "bits": pulled.n_bits, "table": table}
        typer.echo(json.dumps(told))
    else:
        typer.echo(f"{len(pulled):,} codes of {pulled.n_bits} bits are in {index}.")
