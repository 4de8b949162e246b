"""``bitfold index``: codes become an index to search."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bitfold.cli._inputs import check_exists

if TYPE_CHECKING:
    from bitfold.codes import Codes


def index(
    codes: Annotated[Path, typer.Argument(help="Codes that bitfold encode wrote.")],
    out: Annotated[Path, typer.Option(help="The index to make or replace, a folder.")],
    bits: Annotated[
        int | None,
        typer.Option(min=1, max=1024, help="Length of the codes; left out, all their bytes."),
    ] = None,
    ids: Annotated[
        Path | None, typer.Option(help="Ids of the codes, .npy; left out, 0, 1, 2, …")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Answer as JSON.")] = False,
) -> None:
    """Make an index of codes; it is on the disk as a whole or not at all.

    Example: bitfold index codes.npy --out my.index
    """
    from bitfold.cli.terminal import bars

    check_exists(codes, ids)
    with bars() as shown, shown.spinner("indexing"):
        from bitfold.cli._inputs import read_labels
        from bitfold.search import HammingIndex

        found = read_codes(codes, bits)
        made = HammingIndex(found.n_bits)
        made.add(found, None if ids is None else read_labels(ids))
        made.save(out)
    about = {"out": str(out), "codes": len(made), "bits": made.n_bits, "distinct": made.n_distinct}
    if as_json:
        typer.echo(json.dumps(about))
    else:
        size = f"{len(made):,} codes of {made.n_bits} bits, {made.n_distinct:,} of them distinct"
        typer.echo(f"{out}: {size}.")


def read_codes(path: Path, bits: int | None = None) -> Codes:
    """Map a file of packed codes."""
    from bitfold.cli._inputs import check_codes, read_vectors
    from bitfold.codes import Codes

    packed = read_vectors(path)
    check_codes(packed, path)
    most = 8 * packed.shape[1]
    if bits is not None and not most - 8 < bits <= most:
        demand = f"{most - 7} to {most} for codes of {packed.shape[1]} bytes, as {path} holds"
        raise ValueError(f"--bits must be {demand}, got {bits}.")
    return Codes(packed, most if bits is None else bits)
