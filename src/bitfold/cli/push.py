"""``bitfold push``: copy an index into a database or a faiss file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from bitfold._types import ProgressCallback
from bitfold.cli._inputs import check_exists, read_vectors
from bitfold.cli._outputs import FORCE_HELP, check_output, explain_full_disk
from bitfold.cli._stores import ADDRESS_HELP, TABLE_STORES, check_table, find_engine, format_address
from bitfold.cli._terminal import print_summary, show_progress
from bitfold.search import HammingIndex
from bitfold.stores import FaissStore, iter_batches


def push(
    index: Annotated[Path, Argument(help="Index (a folder).")],
    target: Annotated[str, Argument(help=ADDRESS_HELP)],
    table: Annotated[str | None, Option(help="Table to create; none for faiss.")] = None,
    vectors: Annotated[
        Path | None, Option(help="Original vectors to store for re-ranking; row i has id i.")
    ] = None,
    factory: Annotated[
        str, Option(help="Kind of faiss index: BFlat, BIVF1024, BHNSW32, BHash4x16.")
    ] = "BFlat",
    force: Annotated[bool, Option("--force", help=FORCE_HELP)] = False,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Copy an index into Postgres, LanceDB or a faiss file.

    The copy is complete or does not exist.

    Example: bitfold push my.index postgresql://me@localhost/shop --table codes
    """
    check_table(target, table)
    check_exists(index, vectors)
    is_file = find_engine(target) == "faiss"
    if is_file and vectors is not None:
        raise typer.BadParameter("--vectors cannot be used with a .faiss file, which holds codes.")
    if is_file:
        check_output(Path(target), force=force)
    source = HammingIndex.open(index)
    with show_progress() as display, display.bar(f"push {index}") as report:

        def progress(stage: str, done: int, _: int) -> None:
            report(stage, done, len(source))  # the store does not know the total

        if is_file:
            _write_faiss_file(source, Path(target), factory, progress)
        else:
            originals = None if vectors is None else read_vectors(vectors)
            _create_table(source, target, str(table), originals, force, progress)
    summary = {"index": str(index), "codes": len(source), "bits": source.n_bits, "table": table}
    name = format_address(target, table)
    text = f"Copied {len(source):,} codes of {source.n_bits} bits to {name}."
    print_summary(summary, text, as_json=as_json)


def _create_table(
    source: HammingIndex,
    target: str,
    table: str,
    originals: Any,
    force: bool,
    progress: ProgressCallback,
) -> None:
    """Create and fill a table in one transaction."""
    try:
        store = TABLE_STORES[find_engine(target)].create(
            target,
            table,
            source.n_bits,
            n_features=None if originals is None else originals.shape[1],
            batches=iter_batches(source, originals),
            replace=force,
            progress=progress,
        )
    except FileExistsError as error:
        name = format_address(target, table)
        raise FileExistsError(f"{name} already exists; use --force to replace it.") from error
    store.close()


def _write_faiss_file(
    source: HammingIndex, path: Path, factory: str, progress: ProgressCallback
) -> None:
    """Write the codes and ids of an index as a faiss file."""
    store = FaissStore.create(source.n_bits, factory)
    store.add_batches(source.batches(), progress)
    with explain_full_disk(path):
        store.save(path)
