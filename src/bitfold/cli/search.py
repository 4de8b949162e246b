"""``bitfold search``: find the nearest items of a collection or an index."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from typer import Argument, Option

from bitfold._types import AnyArray
from bitfold.cli._collection_search import CollectionRequest, search_collection
from bitfold.cli._inputs import VECTOR_FORMATS, check_exists, open_vectors, read_vectors
from bitfold.cli._terminal import show_progress
from bitfold.codes import Codes
from bitfold.collection import is_collection
from bitfold.errors import ModelMismatchError
from bitfold.hashers import Hasher, load
from bitfold.io import open_codes, open_source
from bitfold.search import HammingIndex, RerankByVectors

DEFAULT_K = 10
"""Items per query unless -k or --radius is given."""

QUERY_BLOCK = 4096
"""Query codes that are searched at once."""


def search(
    index: Annotated[
        Path,
        Argument(help="Collection that bitfold build wrote, or index that bitfold index wrote."),
    ],
    queries: Annotated[
        Path,
        Argument(
            help=f"Vectors, one per row: {VECTOR_FORMATS}. For an index without --model, codes."
        ),
    ],
    model: Annotated[Path | None, Option(help="Model that encoded the items of the index.")] = None,
    k: Annotated[
        int | None, Option("-k", min=1, help=f"Items per query; {DEFAULT_K} by default.")
    ] = None,
    radius: Annotated[
        int | None, Option(min=0, help="Find all items within this Hamming distance.")
    ] = None,
    rerank: Annotated[
        Path | None, Option(help="Original vectors for rescoring; row i has id i.")
    ] = None,
    candidates: Annotated[
        int | None,
        Option(min=1, help="Nearest codes per query to rescore; 200, of a collection 100."),
    ] = None,
    metric: Annotated[str, Option(help="Metric of rescoring: l2, ip or cosine.")] = "l2",
    where: Annotated[
        str | None, Option(help="Condition on the metadata of a collection, as in 'year >= 2020'.")
    ] = None,
    column: Annotated[
        list[str] | None, Option(help="Metadata of a collection to print; repeatable.")
    ] = None,
    symmetric: Annotated[
        bool, Option("--symmetric", help="Compare codes only, by Hamming distance.")
    ] = False,
    as_json: Annotated[bool, Option("--json", help="Print one line of JSON per query.")] = False,
) -> None:
    """Find the nearest items of a collection or an index.

    A collection encodes the queries itself and orders the nearest codes by its kept vectors. For
    an index with a model, the reals behind the query's bits are compared with the stored bits
    (asymmetric search); with --symmetric, --radius or query codes, the distance is the Hamming
    distance. Prints query, rank, id and distance, separated by tabs. Ties are in order of id, those
    of a collection in the order in which the items were added.

    Example: bitfold search news.bitfold queries.npy -k 10 --where "year>=2020" --json
    """
    check_exists(index)
    if is_collection(index):
        given = {"--model": model, "--radius": radius, "--rerank": rerank, "--symmetric": symmetric}
        for name, value in given.items():
            if value not in (None, False):
                raise typer.BadParameter(f"{name} cannot be used with a collection.")
        check_exists(queries)
        wanted = CollectionRequest(k or DEFAULT_K, where, tuple(column or ()), candidates or 100)
        search_collection(index, queries, wanted, as_json)
        return
    if where is not None or column:
        raise typer.BadParameter("--where and --column need a collection.")
    if radius is not None and (rerank is not None or k is not None):
        other = "-k" if rerank is None else "--rerank"
        raise typer.BadParameter(f"{other} cannot be used with --radius, which finds all items.")
    if metric not in ("l2", "ip", "cosine"):
        raise typer.BadParameter(f"--metric must be l2, ip or cosine, got {metric!r}.")
    check_exists(index, model, queries, rerank)
    request = SearchRequest(k or DEFAULT_K, radius, rerank, candidates or 200, metric, symmetric)
    ties = TieCounter()
    for number, answer in enumerate(_answer(index, model, queries, request)):
        if not (number or as_json):
            typer.echo("query\trank\tid\tdistance")
        typer.echo(_format(number, answer, as_json), nl=False)
        ties.add(answer)
    if not as_json and ties.n_cut:
        typer.echo(ties.describe(), err=True)


class SearchRequest(NamedTuple):
    """What to find: the k nearest items, possibly re-ranked, or all within a radius."""

    k: int
    radius: int | None
    rerank: Path | None
    candidates: int
    metric: str
    symmetric: bool


class Answer(NamedTuple):
    """The items of one query, nearest first, and the number of items tied with the last."""

    ids: AnyArray
    distances: AnyArray
    n_tied: int | None = None

    @property
    def is_cut(self) -> bool:
        """Whether other items are as near as the last one."""
        if self.n_tied is None or not len(self.ids):
            return False
        # Asymmetric distances are rounded, so that more of them may look equal than are.
        return self.n_tied > int(np.count_nonzero(self.distances == self.distances[-1]))


class TieCounter:
    """Counts the queries whose last result ties with items that are not shown."""

    def __init__(self) -> None:
        self.n_queries = 0
        self._sizes: list[int] = []

    @property
    def n_cut(self) -> int:
        """Number of queries with such a tie."""
        return len(self._sizes)

    def add(self, answer: Answer) -> None:
        """Count one query."""
        self.n_queries += 1
        if answer.is_cut and answer.n_tied is not None:
            self._sizes.append(answer.n_tied)

    def describe(self) -> str:
        """Return the counts as one line."""
        return (
            f"For {self.n_cut:,} of {self.n_queries:,} queries, the last result ties with others "
            f"(median {statistics.median_high(self._sizes):,} items at the same distance); "
            "ties are in order of id."
        )


def _format(query: int, answer: Answer, as_json: bool) -> str:
    """Return an answer as a line of JSON, or as one line per item."""
    ids, distances = answer.ids.tolist(), answer.distances.tolist()
    if as_json:
        line = {"query": query, "ids": ids, "distances": distances, "n_tied": answer.n_tied}
        return json.dumps(line) + "\n"
    items = enumerate(zip(ids, distances, strict=True), 1)
    return "".join(f"{query}\t{rank}\t{id_}\t{far:g}\n" for rank, (id_, far) in items)


class QueryBlock(NamedTuple):
    """Some queries: their codes and, if they are vectors, the vectors and their embedding."""

    codes: Codes
    vectors: AnyArray
    embedding: AnyArray | None = None


def _answer(
    index_path: Path, model: Path | None, queries: Path, request: SearchRequest
) -> Iterator[Answer]:
    """Yield the answer to each query, block by block."""
    with show_progress() as display, display.spinner("searching"):
        index = HammingIndex.open(index_path)
        originals = None if request.rerank is None else read_vectors(request.rerank)
        if model is None:
            blocks = _read_codes(queries, index.n_bits)
        else:
            hasher = load_model_of(index, index_path, model)
            is_asymmetric = not request.symmetric and request.radius is None
            blocks = _encode_queries(queries, hasher, is_asymmetric)
        first = next(blocks, None)
        answers = [] if first is None else list(_search(index, first, request, originals))
    # The spinner has disappeared when the first answers are printed.
    yield from answers
    for block in blocks:
        yield from _search(index, block, request, originals)


def _read_codes(queries: Path, n_bits: int) -> Iterator[QueryBlock]:
    """Yield query codes from a file."""
    codes = open_codes(queries, n_bits)
    for start in range(0, len(codes), QUERY_BLOCK):
        block = codes[start : start + QUERY_BLOCK]
        yield QueryBlock(block, block.packed)


def load_model_of(index: HammingIndex, index_path: Path, model: Path) -> Hasher:
    """Return the model, after checking that it made the codes of the index."""
    hasher = load(model)
    if index.model_digest not in (None, hasher.model_digest):
        raise ModelMismatchError(
            f"{model} did not make the codes of {index_path}: its digest is "
            f"{hasher.model_digest}, that of the index {index.model_digest}."
        )
    return hasher


def _encode_queries(queries: Path, hasher: Hasher, is_asymmetric: bool) -> Iterator[QueryBlock]:
    """Yield the codes of query vectors, the vectors, and their embedding if it is needed."""
    source: Any = open_source(open_vectors(queries))
    start = 0
    for codes in hasher.encode_blocks(source):
        vectors = source[start : start + len(codes)]
        yield QueryBlock(codes, vectors, hasher.embed(vectors) if is_asymmetric else None)
        start += len(codes)


def _search(
    index: HammingIndex, block: QueryBlock, request: SearchRequest, originals: AnyArray | None
) -> Iterator[Answer]:
    """Yield the answer to each query of a block."""
    if request.radius is not None:
        found = index.within(block.codes, request.radius)
        for start, stop in pairwise(found.offsets.tolist()):
            yield Answer(found.ids[start:stop], found.distances[start:stop])
        return
    rerank = None
    if originals is not None:
        rerank = RerankByVectors(originals, block.vectors, request.candidates, request.metric)
    hits = index.search(block.codes, request.k, query_embedding=block.embedding, rerank=rerank)
    counts = [None] * len(hits.ids) if hits.n_tied is None else hits.n_tied.tolist()
    yield from map(Answer, hits.ids, hits.distances, counts)
