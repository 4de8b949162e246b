"""``bitfold push``: copy a collection or an index into a database or a faiss file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from typer import Argument, Option

from bitfold._types import ProgressCallback
from bitfold.cli._inputs import check_exists, read_vectors
from bitfold.cli._options import AsJson, Force
from bitfold.cli._outputs import check_output, explain_full_disk
from bitfold.cli._stores import ADDRESS_HELP, TABLE_STORES, check_table, find_engine, format_address
from bitfold.cli._terminal import print_summary, show_progress
from bitfold.collection import Collection, is_collection
from bitfold.errors import DataError
from bitfold.search import Batch, HammingIndex
from bitfold.stores import FaissStore, iter_batches

TEXT_IDS = "item_id"
"""Column for ids that are text; the ids of stores are integers."""


def push(
    index: Annotated[Path, Argument(help="Collection or index (a folder).")],
    target: Annotated[str, Argument(help=ADDRESS_HELP)],
    table: Annotated[str | None, Option(help="Table to create; none for faiss.")] = None,
    vectors: Annotated[
        Path | None, Option(help="Original vectors to store, for rescoring; row i has id i.")
    ] = None,
    factory: Annotated[
        str, Option(help="Kind of faiss index: BFlat, BIVF1024, BHNSW32, BHash4x16.")
    ] = "BFlat",
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Copy a collection or an index into Postgres, LanceDB or a faiss file.

    Of a collection, codes, ids and metadata are copied; ids that are text become the column
    item_id. The copy is complete or does not exist.

    Example: bitfold push my.index postgresql://me@localhost/shop --table codes
    """
    check_table(target, table)
    check_exists(index, vectors)
    is_file = find_engine(target) == "faiss"
    if is_file and vectors is not None:
        raise typer.BadParameter("--vectors cannot be used with a .faiss file, which holds codes.")
    if is_file:
        check_output(Path(target), force=force)
    if vectors is not None and is_collection(index):
        raise typer.BadParameter("--vectors cannot be used with a collection.")
    source = CodeSource.open(index)
    with show_progress() as display, display.bar(f"push {index}") as report:

        def progress(stage: str, done: int, _: int) -> None:
            report(stage, done, source.n_codes)  # the store does not know the total

        if is_file:
            _write_faiss_file(source, Path(target), factory, progress)
        else:
            originals = None if vectors is None else read_vectors(vectors)
            _create_table(source, target, str(table), originals, force, progress)
    summary = {"index": str(index), "codes": source.n_codes, "bits": source.n_bits, "table": table}
    name = format_address(target, table)
    text = f"Copied {source.n_codes:,} codes of {source.n_bits} bits to {name}."
    print_summary(summary, text, as_json=as_json)


class CodeSource(NamedTuple):
    """Codes to copy, with their ids and columns."""

    n_codes: int
    n_bits: int
    columns: dict[str, type]
    batches: Callable[[Any], Iterator[Batch]]

    @classmethod
    def open(cls, path: Path) -> CodeSource:
        """Open a collection or an index."""
        if not is_collection(path):
            index = HammingIndex.open(path)
            return cls(len(index), index.n_bits, {}, lambda vectors: iter_batches(index, vectors))
        collection = Collection.open(path)
        if collection.n_bits is None:
            raise DataError(f"{path} has no codes yet, because it has too few items.")
        columns = dict(collection.columns)
        if collection.ids().dtype == object:
            columns[TEXT_IDS] = str
        batches = partial(_iter_collection, collection)
        return cls(len(collection), collection.n_bits, columns, batches)


def _iter_collection(collection: Collection, vectors: Any) -> Iterator[Batch]:
    """Yield the codes of a collection with integer ids; ids that are text become a column."""
    done = 0
    for batch in collection.batches():
        if batch.ids.dtype == object:
            columns = {**(batch.columns or {}), TEXT_IDS: batch.ids.tolist()}
            numbers = np.arange(done, done + len(batch.ids))
            batch = batch._replace(ids=numbers, columns=columns)
        yield batch._replace(vectors=None)
        done += len(batch.codes)


def _create_table(
    source: CodeSource,
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
            columns=source.columns,
            batches=source.batches(originals),
            replace=force,
            progress=progress,
        )
    except FileExistsError as error:
        name = format_address(target, table)
        raise FileExistsError(f"{name} already exists; use --force to replace it.") from error
    store.close()


def _write_faiss_file(
    source: CodeSource, path: Path, factory: str, progress: ProgressCallback
) -> None:
    """Write codes and ids as a faiss file."""
    store = FaissStore.create(source.n_bits, factory)
    batches = (batch._replace(columns=None) for batch in source.batches(None))
    store.add_batches(batches, progress)
    with explain_full_disk(path):
        store.save(path)
