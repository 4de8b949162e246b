"""``bitfold index``: build an index from codes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from bitfold.cli._inputs import check_exists, read_labels
from bitfold.cli._options import AsJson, Force
from bitfold.cli._outputs import check_new, remove_if_failed
from bitfold.cli._terminal import print_summary, show_progress
from bitfold.io import open_codes
from bitfold.search import HammingIndex


def index(
    codes: Annotated[
        Path, Argument(help="Codes file that bitfold encode wrote, or a .npy of packed codes.")
    ],
    out: Annotated[Path, Option(help="Index to write (a folder).")],
    bits: Annotated[
        int | None,
        Option(min=1, max=1024, help="Code length in a .npy, if it is not a multiple of 8."),
    ] = None,
    ids: Annotated[
        Path | None, Option(help="Ids of the codes, .npy; by default 0, 1, 2, …")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Build an index from codes.

    The index appears on disk complete or not at all.

    Example: bitfold index vectors.codes --out my.index
    """
    check_exists(codes, ids)
    check_new(out, force=force)
    with remove_if_failed(out), show_progress() as display, display.spinner("indexing"):
        content = open_codes(codes, bits)
        built = HammingIndex(content.n_bits)
        built.add(content, None if ids is None else read_labels(ids))
        built.save(out)
    n_codes, n_bits, n_distinct = len(built), built.n_bits, built.n_distinct
    summary = {"out": str(out), "codes": n_codes, "bits": n_bits, "distinct": n_distinct}
    text = f"{out}: {n_codes:,} codes of {n_bits} bits, {n_distinct:,} distinct."
    print_summary(summary, text, as_json=as_json)
