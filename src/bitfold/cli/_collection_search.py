"""Searching a collection, and printing what was found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import typer

from bitfold.cli._inputs import open_vectors
from bitfold.cli._terminal import show_progress
from bitfold.collection import Collection, CollectionHits
from bitfold.io import iter_blocks, open_source

QUERY_BLOCK = 4096
"""Queries that are searched at once."""


class CollectionRequest(NamedTuple):
    """What to find in a collection, and what to print."""

    k: int
    where: str | None
    columns: tuple[str, ...]
    n_candidates: int


def search_collection(path: Path, queries: Path, request: CollectionRequest, as_json: bool) -> None:
    """Print the nearest items of each query: a table, or one line of JSON per query."""
    with Collection.open(path) as collection:
        answers = _iter_answers(collection, queries, request)
        # A mistake in the request is reported before anything is printed.
        first = list(islice(answers, 1))
        if not as_json:
            typer.echo("\t".join(["query", "rank", "id", "distance", *request.columns]))
        for number, answer in chain(first, answers):
            typer.echo(_format(number, answer, as_json), nl=False)


def _iter_answers(
    collection: Collection, queries: Path, request: CollectionRequest
) -> Iterator[tuple[int, dict[str, list[Any]]]]:
    """Yield the number of each query, and its answer."""
    for first, hits in _search(collection, queries, request):
        values = hits.read_metadata(hits.ids.ravel(), request.columns)
        yield from enumerate(_split(hits, values), first)


def _search(
    collection: Collection, queries: Path, request: CollectionRequest
) -> Iterator[tuple[int, CollectionHits]]:
    """Yield the number of the first query of each block, and its hits."""
    with show_progress() as display, display.spinner("searching"):
        blocks = iter_blocks(open_source(open_vectors(queries)), QUERY_BLOCK)
        first = next(blocks, None)
        hits = None if first is None else _search_block(collection, first.values, request)
    # The spinner has disappeared when the first answers are printed.
    if hits is not None:
        yield 0, hits
    for block in blocks:
        yield block.start, _search_block(collection, block.values, request)


def _search_block(collection: Collection, Q: Any, request: CollectionRequest) -> CollectionHits:
    return collection.search(Q, request.k, where=request.where, n_candidates=request.n_candidates)


def _split(hits: CollectionHits, values: dict[str, list[Any]]) -> Iterator[dict[str, list[Any]]]:
    """Yield the answer to each query, by column."""
    k = hits.ids.shape[1]
    for query, (ids, distances) in enumerate(zip(hits.ids, hits.distances, strict=True)):
        part = slice(query * k, (query + 1) * k)
        metadata = {name: listed[part] for name, listed in values.items()}
        yield {"ids": ids.tolist(), "distances": distances.tolist(), **metadata}


def _format(query: int, answer: dict[str, list[Any]], as_json: bool) -> str:
    """Return an answer as a line of JSON, or as one line per item."""
    if as_json:
        ids, distances = answer.pop("ids"), answer.pop("distances")
        line = {"query": query, "ids": ids, "distances": distances}
        if answer:
            line["metadata"] = answer
        return json.dumps(line, default=str) + "\n"
    lines = []
    for rank, (item, distance, *values) in enumerate(zip(*answer.values(), strict=True), 1):
        cells = [query, rank, item, f"{distance:g}", *map(_to_cell, values)]
        lines.append("\t".join(map(str, cells)) + "\n")
    return "".join(lines)


def _to_cell(value: Any) -> str:
    """Return a value as text without tabs or line breaks."""
    return "" if value is None else " ".join(str(value).split())
