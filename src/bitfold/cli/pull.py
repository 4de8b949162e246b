"""``bitfold pull``: copy codes from a database or a faiss file into an index."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from bitfold.cli._options import AsJson, Force
from bitfold.cli._outputs import check_new, remove_if_failed
from bitfold.cli._stores import ADDRESS_HELP, check_table, open_store
from bitfold.cli._terminal import print_summary, show_progress
from bitfold.stores import to_index


def pull(
    source: Annotated[str, Argument(help=ADDRESS_HELP)],
    index: Annotated[Path, Argument(help="Index to write (a folder).")],
    table: Annotated[str | None, Option(help="Table to read; none for faiss.")] = None,
    bits: Annotated[
        int | None, Option(help="Code length of a faiss file, if it is not a multiple of 8.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Copy codes from Postgres, LanceDB or a faiss file into an index.

    Example: bitfold pull postgresql://me@localhost/shop my.index --table codes
    """
    check_table(source, table)
    check_new(index, force=force)
    with (
        open_store(source, table, bits) as store,
        show_progress() as display,
        display.bar(f"pull {index}") as report,
    ):
        pulled = to_index(store, report)
    with remove_if_failed(index):
        pulled.save(index)
    summary = {"index": str(index), "codes": len(pulled), "bits": pulled.n_bits, "table": table}
    text = f"Copied {len(pulled):,} codes of {pulled.n_bits} bits to {index}."
    print_summary(summary, text, as_json=as_json)
