"""``bitfold push``: the codes of an index into the engine that serves them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bitfold._types import ProgressCallback

if TYPE_CHECKING:
    from bitfold.search import HammingIndex


def push(
    index: Annotated[Path, typer.Argument(help="An index (a folder).")],
    target: Annotated[
        str,
        typer.Argument(
            help="postgresql://user@host/database, a .faiss file, or a directory or address "
            "(s3://…) of LanceDB. PGPASSWORD or ~/.pgpass keep a password off the command line."
        ),
    ],
    table: Annotated[str | None, typer.Option(help="The table to make, but for faiss.")] = None,
    vectors: Annotated[
        Path | None,
        typer.Option(help="The originals, row i of id i, to keep for re-ranking (.npy …)."),
    ] = None,
    factory: Annotated[
        str, typer.Option(help="What faiss is to make: BFlat, BIVF1024, BHNSW32, BHash4x16.")
    ] = "BFlat",
    replace: Annotated[bool, typer.Option("--replace", help="Replace what is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Answer as JSON.")] = False,
) -> None:
    """Copy an index into Postgres, LanceDB or a faiss file; all of it or nothing.

    Example: bitfold push my.index postgresql://me@localhost/shop --table codes
    """
    from bitfold.cli._inputs import check_exists, read_vectors
    from bitfold.cli._places import check_table, shown
    from bitfold.cli.terminal import bars
    from bitfold.search import HammingIndex

    check_table(target, table)
    check_exists(index, vectors)
    source = HammingIndex.open(index)
    originals = None if vectors is None else read_vectors(vectors)
    with bars() as shown_bars, shown_bars.bar(f"push {index}") as report:
        _copy(source, target, table, originals, factory, replace, _of(report, len(source)))
    if as_json:
        told = {"index": str(index), "codes": len(source), "bits": source.n_bits, "table": table}
        typer.echo(json.dumps(told))
    else:
        typer.echo(f"{len(source):,} codes of {source.n_bits} bits are in {shown(target, table)}.")


def _copy(
    source: HammingIndex,
    target: str,
    table: str | None,
    originals: Any,
    factory: str,
    replace: bool,
    progress: ProgressCallback,
) -> None:
    """Make the store and fill it, as one change where it can be one."""
    from bitfold.cli._places import engine_of
    from bitfold.stores import LanceStore, PgvectorStore, iter_batches

    engine = engine_of(target)
    if engine == "faiss":
        _write_faiss(source, Path(target), originals, factory, replace, progress)
        return
    width = None if originals is None else originals.shape[1]
    kinds: dict[str, Any] = {"postgres": PgvectorStore, "lancedb": LanceStore}
    store = kinds[engine].create(
        target,
        table,
        source.n_bits,
        n_features=width,
        batches=iter_batches(source, originals),
        replace=replace,
        progress=progress,
    )
    store.close()


def _write_faiss(
    source: HammingIndex,
    path: Path,
    originals: Any,
    factory: str,
    replace: bool,
    progress: ProgressCallback,
) -> None:
    from bitfold.cli._files import check_writable, writing
    from bitfold.cli._places import check_new
    from bitfold.stores import FaissStore, iter_batches

    if originals is not None:
        raise typer.BadParameter("--vectors must be left out: a faiss file holds codes and ids.")
    check_new(path, replace)
    check_writable(path)
    store = FaissStore.create(source.n_bits, factory)
    store.load(iter_batches(source), progress)
    with writing(path):
        store.save(path)


def _of(report: ProgressCallback, total: int) -> ProgressCallback:
    """Tell the bar how much there is, which a load does not know."""
    return lambda stage, done, _: report(stage, done, total)
