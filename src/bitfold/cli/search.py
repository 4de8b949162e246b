"""``bitfold search``: the nearest items of an index."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from bitfold._types import AnyArray
from bitfold.cli._inputs import FORMATS, check_exists

if TYPE_CHECKING:
    from bitfold.codes import Codes
    from bitfold.search import HammingIndex

_QUERIES = 4096
"""Codes of queries that are read at a time."""

_USUAL = 10
"""Items that are found for each query where nothing else is asked for."""


def search(
    index: Annotated[Path, typer.Argument(help="An index that bitfold index made.")],
    queries: Annotated[
        Path, typer.Argument(help=f"Vectors, one a row: {FORMATS}. Without --model, codes.")
    ],
    model: Annotated[
        Path | None, typer.Option(help="The model that made the codes of the index.")
    ] = None,
    k: Annotated[
        int | None, typer.Option("-k", min=1, help="How many to find for each query, usually 10.")
    ] = None,
    radius: Annotated[
        int | None, typer.Option(min=0, help="Find all within this Hamming distance instead.")
    ] = None,
    rerank: Annotated[
        Path | None, typer.Option(help="The originals, row = id, to order the nearest codes by.")
    ] = None,
    candidates: Annotated[
        int, typer.Option(min=1, help="How many of the nearest codes to re-rank.")
    ] = 200,
    metric: Annotated[str, typer.Option(help="What to re-rank by: l2, ip or cosine.")] = "l2",
    as_json: Annotated[
        bool, typer.Option("--json", help="A line of JSON for each query, not columns.")
    ] = False,
) -> None:
    """Find the nearest items by Hamming distance, ties by id.

    Prints query, rank, id and distance, separated by tabs.

    Example: bitfold search my.index --model model.bitfold queries.npy -k 10 --json
    """
    if radius is not None and (rerank is not None or k is not None):
        beside = "-k" if rerank is None else "--rerank"
        raise typer.BadParameter(f"--radius finds all within it, so {beside} must be left out.")
    if metric not in ("l2", "ip", "cosine"):
        raise typer.BadParameter(f"metric must be one of l2, ip, cosine, got {metric!r}.")
    check_exists(index, model, queries, rerank)
    answers = _answers(index, model, queries, Plan(k or _USUAL, radius, rerank, candidates, metric))
    for number, answer in enumerate(answers):
        if not (number or as_json):
            typer.echo("query\trank\tid\tdistance")
        typer.echo(_as_json(number, answer) if as_json else _as_lines(number, answer), nl=False)


class Plan(NamedTuple):
    """What to find: the k nearest, or all within a radius."""

    k: int
    radius: int | None
    rerank: Path | None
    candidates: int
    metric: str


class Answer(NamedTuple):
    """What was found for one query, nearest first."""

    ids: AnyArray
    distances: AnyArray


def _as_json(query: int, answer: Answer) -> str:
    found = {"ids": answer.ids.tolist(), "distances": answer.distances.tolist()}
    return json.dumps({"query": query, **found}) + "\n"


def _as_lines(query: int, answer: Answer) -> str:
    found = zip(answer.ids.tolist(), answer.distances.tolist(), strict=True)
    lines = (f"{query}\t{rank}\t{item}\t{far:g}\n" for rank, (item, far) in enumerate(found, 1))
    return "".join(lines)


def _answers(place: Path, model: Path | None, queries: Path, plan: Plan) -> Iterator[Answer]:
    """Answer queries some at a time, as they are read."""
    from bitfold.cli.terminal import bars

    with bars() as shown, shown.spinner("searching"):
        # Under the spinner, because these imports take a second or two.
        from bitfold.cli._inputs import read_vectors
        from bitfold.search import HammingIndex

        index = HammingIndex.open(place)
        originals = None if plan.rerank is None else read_vectors(plan.rerank)
        blocks = _coded(index, model, queries)
        first = next(blocks, None)
        found = [] if first is None else list(_found(index, *first, plan, originals))
    # The spinner is gone when the first answers are shown.
    yield from found
    for codes, vectors in blocks:
        yield from _found(index, codes, vectors, plan, originals)


def _coded(
    index: HammingIndex, model: Path | None, queries: Path
) -> Iterator[tuple[Codes, AnyArray]]:
    """Yield codes of queries, with what they are of."""
    from bitfold.cli._inputs import check_codes, open_vectors
    from bitfold.codes import Codes
    from bitfold.hashers import load
    from bitfold.io import iter_blocks, open_source

    source = open_source(open_vectors(queries))
    if model is None:
        check_codes(source, queries)
        width = -(-index.n_bits // 8)
        if source.shape[1] != width:
            demand = f"codes of {width} bytes, as the index does"
            raise ValueError(f"{queries} must hold {demand}, got {source.shape[1]} bytes.")
        for _, packed in iter_blocks(source, _QUERIES):
            yield Codes(packed, index.n_bits), packed
        return
    start = 0
    for codes in load(model).encode_blocks(source):
        yield _as_long_as(index, codes, model), source[start : start + len(codes)]
        start += len(codes)


def _as_long_as(index: HammingIndex, codes: Codes, model: Path) -> Codes:
    """Pad codes with zeros to the bytes that an index was made of; no distance changes."""
    from bitfold.codes import Codes

    if index.n_bits not in (codes.n_bits, 8 * codes.packed.shape[1]):
        made = f"made of codes of {codes.n_bits} bits, as {model} makes them"
        raise ValueError(f"the index must be {made}, got {index.n_bits} bits.")
    return Codes(codes.packed, index.n_bits)


def _found(
    index: HammingIndex,
    codes: Codes,
    vectors: AnyArray,
    plan: Plan,
    originals: AnyArray | None,
) -> Iterator[Answer]:
    from bitfold.search import RerankByVectors

    if plan.radius is not None:
        near = index.within(codes, plan.radius)
        for start, stop in pairwise(near.offsets.tolist()):
            yield Answer(near.ids[start:stop], near.distances[start:stop])
        return
    finer = None
    if originals is not None:
        finer = RerankByVectors(originals, vectors, plan.candidates, plan.metric)
    hits = index.search(codes, plan.k, rerank=finer)
    yield from map(Answer, hits.ids, hits.distances)
