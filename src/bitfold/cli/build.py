"""``bitfold build``: make a collection from vectors."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from bitfold.cli import _inputs
from bitfold.cli._inputs import LABEL_FORMATS, VECTOR_FORMATS
from bitfold.cli._methods import METHOD_LIST, HasherSpec
from bitfold.cli._options import AsJson, Cosine, Force, RandomSeed
from bitfold.cli._outputs import check_new, explain_full_disk
from bitfold.cli._row_lengths import suggest_cosine
from bitfold.cli._terminal import print_summary, show_progress
from bitfold.collection import Collection
from bitfold.collection.fitting import DEFAULT_N_BITS, make_default_hasher
from bitfold.collection.metadata_files import FileSource, open_metadata_file
from bitfold.collection.state import VECTOR_FORMATS as KEPT_FORMATS
from bitfold.hashers import Hasher

KEEP_NONE = "none"

EPILOG = METHOD_LIST


def build(
    vectors: Annotated[Path, Argument(help=f"Vectors, one per row: {VECTOR_FORMATS}.")],
    out: Annotated[Path, Option(help="Collection to write (a folder), such as news.bitfold.")],
    metadata: Annotated[
        Path | None,
        Option(
            help="Table with one row per vector: .csv .jsonl .parquet; a column id has the ids."
        ),
    ] = None,
    ids: Annotated[
        Path | None,
        Option(help=f"Ids, integers or text: {LABEL_FORMATS}. By default 0, 1, 2, …"),
    ] = None,
    keep_vectors: Annotated[
        str, Option(help=f"Format of kept vectors: {', '.join(KEPT_FORMATS)} or {KEEP_NONE}.")
    ] = "float16",
    bits: Annotated[
        int | None,
        Option(
            min=1, max=1024, help="Code length; by default up to 128, depending on the vectors."
        ),
    ] = None,
    method: Annotated[
        str | None,
        Option(help="One of those listed below; by default what suits the vectors."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        Option("--set", metavar="NAME=VALUE", help="Another parameter of the method; repeatable."),
    ] = None,
    cosine: Cosine = False,
    seed: RandomSeed = 0,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Make a collection from vectors: codes, ids, metadata and vectors in one folder.

    Learns the codes, encodes the vectors and indexes them. The vectors may be larger than memory.
    The collection appears complete or not at all.

    Example: bitfold build vectors.npy --out news.bitfold --metadata news.csv --cosine
    """
    if keep_vectors not in (*KEPT_FORMATS, KEEP_NONE):
        raise typer.BadParameter(
            f"--keep-vectors must be one of {', '.join((*KEPT_FORMATS, KEEP_NONE))}, "
            f"got {keep_vectors!r}."
        )
    _inputs.check_exists(vectors, metadata, ids)
    check_new(out, force=force)
    if method is None and settings:
        raise typer.BadParameter("--set needs --method.")
    spec = HasherSpec(method, bits or DEFAULT_N_BITS, tuple(settings or ()), seed, cosine)
    hasher = None if method is None else spec.build(labeled=False)

    def choose_hasher(n_features: int) -> Hasher:
        keeps_vectors = keep_vectors != KEEP_NONE
        return hasher or make_default_hasher(n_features, keeps_vectors, bits, seed)

    summary = _build(vectors, out, metadata, ids, choose_hasher, keep_vectors, cosine, force)
    codes = "no codes yet" if summary["bits"] is None else f"{summary['bits']} bits"
    text = (
        f"{out}: {summary['items']:,} items of {summary['features']} features, {codes}, "
        f"{summary['metric']}, in {summary['seconds']:.1f} s, {summary['bytes']:,} bytes."
    )
    print_summary(summary, "\n".join([text, *filter(None, [summary.get("hint")])]), as_json=as_json)


def _build(
    vectors: Path,
    out: Path,
    metadata: Path | None,
    ids: Path | None,
    choose_hasher: Callable[[int], Hasher],
    keep_vectors: str,
    cosine: bool,
    force: bool,
) -> dict[str, Any]:
    """Create the collection; return what is printed about it."""
    with explain_full_disk(out), show_progress() as display:
        with display.spinner("reading"):
            X = _inputs.open_rereadable_vectors(vectors)
            table, item_ids = _open_table(metadata, ids)
        start = time.perf_counter()
        with display.bar("build") as report:
            collection = Collection.create(
                out,
                X,
                hasher=choose_hasher(X.shape[1]),
                keep_vectors=False if keep_vectors == KEEP_NONE else keep_vectors,
                ids=item_ids,
                metadata=table,
                metric="cosine" if cosine else None,
                replace=force,
                progress=report,
            )
        seconds = time.perf_counter() - start
    hint = None if collection.metric == "cosine" else suggest_cosine(X)
    with collection:
        return {
            **describe_collection(collection, out),
            "seconds": seconds,
            **({} if hint is None else {"hint": hint}),
        }


def _open_table(metadata: Path | None, ids: Path | None) -> tuple[FileSource | None, Any]:
    """Return the metadata, and the ids from their own file or from a column of the metadata."""
    table = None if metadata is None else open_metadata_file(metadata)
    item_ids: Any = None if ids is None else _inputs.read_labels(ids)
    if table is not None and "id" in table.types:
        if item_ids is None:
            item_ids = table.read_column("id")
        table = table.without("id")
    return table, item_ids


def describe_collection(collection: Collection, path: Path) -> dict[str, Any]:
    """Return what a collection contains, for JSON."""
    files = [file for file in path.iterdir() if file.is_file()]
    return {
        "path": str(path),
        "kind": "collection",
        "items": len(collection),
        "features": collection.n_features,
        "metric": collection.metric,
        "method": type(collection.hasher).__name__ if collection.hasher else None,
        "bits": collection.n_bits,
        "keep_vectors": collection.keep_vectors or KEEP_NONE,
        "columns": {name: kind.__name__ for name, kind in collection.columns.items()},
        "files": len(files),
        "bytes": sum(file.stat().st_size for file in files),
    }
