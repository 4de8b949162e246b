"""``bitfold search``: find the nearest items of an index."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from typer import Argument, Option

from bitfold._types import AnyArray
from bitfold.cli._inputs import VECTOR_FORMATS, check_exists, open_vectors, read_vectors
from bitfold.cli._terminal import show_progress
from bitfold.codes import Codes
from bitfold.errors import ModelMismatchError
from bitfold.hashers import load
from bitfold.io import open_codes, open_source
from bitfold.search import HammingIndex, RerankByVectors

DEFAULT_K = 10
"""Items per query unless -k or --radius is given."""

QUERY_BLOCK = 4096
"""Query codes that are searched at once."""


def search(
    index: Annotated[Path, Argument(help="Index that bitfold index wrote.")],
    queries: Annotated[
        Path, Argument(help=f"Vectors, one per row: {VECTOR_FORMATS}. Without --model, codes.")
    ],
    model: Annotated[Path | None, Option(help="Model that encoded the items of the index.")] = None,
    k: Annotated[
        int | None, Option("-k", min=1, help=f"Items per query; {DEFAULT_K} by default.")
    ] = None,
    radius: Annotated[
        int | None, Option(min=0, help="Find all items within this Hamming distance.")
    ] = None,
    rerank: Annotated[
        Path | None, Option(help="Original vectors to re-rank by; row i has id i.")
    ] = None,
    candidates: Annotated[int, Option(min=1, help="Nearest codes per query to re-rank.")] = 200,
    metric: Annotated[str, Option(help="Metric of re-ranking: l2, ip or cosine.")] = "l2",
    as_json: Annotated[bool, Option("--json", help="Print one line of JSON per query.")] = False,
) -> None:
    """Find the nearest items of an index by Hamming distance.

    Prints query, rank, id and distance, separated by tabs. Ties go by id.

    Example: bitfold search my.index --model model.bitfold queries.npy -k 10 --json
    """
    if radius is not None and (rerank is not None or k is not None):
        other = "-k" if rerank is None else "--rerank"
        raise typer.BadParameter(f"{other} cannot be used with --radius, which finds all items.")
    if metric not in ("l2", "ip", "cosine"):
        raise typer.BadParameter(f"--metric must be l2, ip or cosine, got {metric!r}.")
    check_exists(index, model, queries, rerank)
    request = SearchRequest(k or DEFAULT_K, radius, rerank, candidates, metric)
    for number, (ids, distances) in enumerate(_answer(index, model, queries, request)):
        if not (number or as_json):
            typer.echo("query\trank\tid\tdistance")
        typer.echo(_format(number, ids.tolist(), distances.tolist(), as_json), nl=False)


class SearchRequest(NamedTuple):
    """What to find: the k nearest items, possibly re-ranked, or all within a radius."""

    k: int
    radius: int | None
    rerank: Path | None
    candidates: int
    metric: str


def _format(query: int, ids: list[int], distances: list[float], as_json: bool) -> str:
    """Return an answer as a line of JSON, or as one line per item."""
    if as_json:
        return json.dumps({"query": query, "ids": ids, "distances": distances}) + "\n"
    items = enumerate(zip(ids, distances, strict=True), 1)
    return "".join(f"{query}\t{rank}\t{id_}\t{far:g}\n" for rank, (id_, far) in items)


def _answer(
    index_path: Path, model: Path | None, queries: Path, request: SearchRequest
) -> Iterator[tuple[AnyArray, AnyArray]]:
    """Yield the ids and distances of each query, block by block."""
    with show_progress() as display, display.spinner("searching"):
        index = HammingIndex.open(index_path)
        originals = None if request.rerank is None else read_vectors(request.rerank)
        if model is None:
            blocks = _read_codes(queries, index.n_bits)
        else:
            blocks = _encode_queries(queries, model, index, index_path)
        first = next(blocks, None)
        answers = [] if first is None else list(_search(index, *first, request, originals))
    # The spinner has disappeared when the first answers are printed.
    yield from answers
    for codes, vectors in blocks:
        yield from _search(index, codes, vectors, request, originals)


def _read_codes(queries: Path, n_bits: int) -> Iterator[tuple[Codes, AnyArray]]:
    """Yield query codes from a file."""
    codes = open_codes(queries, n_bits)
    for start in range(0, len(codes), QUERY_BLOCK):
        block = codes[start : start + QUERY_BLOCK]
        yield block, block.packed


def _encode_queries(
    queries: Path, model: Path, index: HammingIndex, index_path: Path
) -> Iterator[tuple[Codes, AnyArray]]:
    """Yield the codes of query vectors, and the vectors."""
    hasher = load(model)
    if index.model_digest not in (None, hasher.model_digest):
        raise ModelMismatchError(
            f"{model} did not make the codes of {index_path}: its digest is "
            f"{hasher.model_digest}, that of the index {index.model_digest}."
        )
    source: Any = open_source(open_vectors(queries))
    start = 0
    for codes in hasher.encode_blocks(source):
        yield codes, source[start : start + len(codes)]
        start += len(codes)


def _search(
    index: HammingIndex,
    codes: Codes,
    vectors: AnyArray,
    request: SearchRequest,
    originals: AnyArray | None,
) -> Iterator[tuple[AnyArray, AnyArray]]:
    """Yield the ids and distances of each query of a block, nearest first."""
    if request.radius is not None:
        found = index.within(codes, request.radius)
        for start, stop in pairwise(found.offsets.tolist()):
            yield found.ids[start:stop], found.distances[start:stop]
        return
    rerank = None
    if originals is not None:
        rerank = RerankByVectors(originals, vectors, request.candidates, request.metric)
    hits = index.search(codes, request.k, rerank=rerank)
    yield from zip(hits.ids, hits.distances, strict=True)
