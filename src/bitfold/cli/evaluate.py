"""``bitfold evaluate``: measure how good the codes of a model are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from rich.table import Table
from typer import Argument, Option

from bitfold import _validation
from bitfold._types import AnyArray, Int64Array
from bitfold.cli import _inputs
from bitfold.cli._inputs import LABEL_FORMATS, VECTOR_FORMATS
from bitfold.cli._terminal import ProgressDisplay, make_console, show_progress
from bitfold.codes import Codes
from bitfold.datasets import draw_queries
from bitfold.errors import DataError
from bitfold.evaluation import measure_codes
from bitfold.hashers import Hasher, load
from bitfold.metrics import Relevance, closest_neighbors

RELEVANT_FRACTION = 0.02
"""Fraction of the rows, the closest ones, that is relevant to a query without labels."""

MAX_RELEVANT = 10_000
"""Maximum number of relevant rows per query without labels."""

MAX_HELD_OUT = 1000
"""Maximum number of rows held out as queries by default."""


def evaluate(
    model: Annotated[Path, Argument(help="Model that bitfold fit wrote.")],
    vectors: Annotated[Path, Argument(help=f"Vectors to search in: {VECTOR_FORMATS}.")],
    labels: Annotated[Path | None, Option(help=f"Labels of the vectors: {LABEL_FORMATS}.")] = None,
    queries: Annotated[
        Path | None, Option(help="Query vectors; by default, rows are held out.")
    ] = None,
    query_labels: Annotated[Path | None, Option(help="Labels of the queries.")] = None,
    hold_out: Annotated[
        int | None, Option(min=1, help="Rows to hold out; by default a tenth, at most 1000.")
    ] = None,
    radius: Annotated[int, Option(min=0, help="Hamming radius of the lookup.")] = 2,
    cutoff: Annotated[int, Option(min=1, help="Number of first results to measure.")] = 100,
    seed: Annotated[int, Option(min=0, help="Seed of the choice of queries.")] = 0,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure how good the codes of a model are.

    Items with the label of the query are relevant; without labels, the closest 2 percent of the
    rows in ℓ2, or by cosine if the model was fitted with --cosine. Rows labeled -1 count as
    unlabeled: they are searched, but are neither queries nor relevant. Ties count as the mean over
    all their orders.

    Example: bitfold evaluate model.bitfold vectors.npy --labels labels.npy
    """
    if labels is not None and (queries is None) != (query_labels is None):
        raise typer.BadParameter("With --labels, --queries and --query-labels go together.")
    if query_labels is not None and labels is None:
        raise typer.BadParameter("--query-labels needs --labels.")
    if queries is not None and hold_out is not None:
        raise typer.BadParameter("--hold-out cannot be used with --queries.")
    _inputs.check_exists(model, vectors, labels, queries, query_labels)
    request = EvaluateRequest(vectors, labels, queries, query_labels, hold_out, seed)
    summary = _evaluate(model, request, radius, cutoff)
    if as_json:
        typer.echo(json.dumps(summary))
    else:
        _print_table(summary)


class EvaluateRequest(NamedTuple):
    """What to search in and what to search for."""

    vectors: Path
    labels: Path | None
    queries: Path | None
    query_labels: Path | None
    hold_out: int | None
    seed: int


class EncodedQueries(NamedTuple):
    """Codes of queries and database, and which items are relevant."""

    queries: Codes
    database: Codes
    relevance: Relevance
    relevant: str


def _evaluate(model: Path, request: EvaluateRequest, radius: int, cutoff: int) -> dict[str, Any]:
    """Encode and measure; return what is printed."""
    with show_progress() as display:
        with display.spinner("reading"):
            hasher = load(model)
        queries, database, relevance, relevant = _encode(hasher, request, display)
        cutoff = min(cutoff, len(database))
        with display.bar("measure") as report:
            quality = measure_codes(
                queries, database, relevance, cutoffs=[cutoff], radius=radius, progress=report
            )
    measures = ("map", "radius", "precision", "recall", "f1")
    return {
        "model": str(model),
        "method": type(hasher).__name__,
        "bits": hasher.n_bits_,
        "database": len(database),
        "queries": len(queries),
        "relevant": relevant,
        "cutoff": cutoff,
        "precision_at_cutoff": quality.precision_at[0],
        "recall_at_cutoff": quality.recall_at[0],
        **{name: getattr(quality, name) for name in measures},
    }


def _encode(hasher: Hasher, request: EvaluateRequest, display: ProgressDisplay) -> EncodedQueries:
    """Encode database and queries, and find out what is relevant."""
    if request.labels is None:
        return _encode_unlabeled(hasher, request, display)
    X = _inputs.open_rereadable_vectors(request.vectors)
    # Labels come first, because encoding may take long.
    y = _inputs.read_labels(request.labels, len(X))
    if request.queries is None or request.query_labels is None:
        rows, query_rows = _choose_queries(len(X), request)
        codes = _encode_rows(hasher, X, "vectors", display)
        database, queries = codes[rows], codes[query_rows]
        labels, query_labels = y[rows], y[query_rows]
    else:
        Q = _inputs.read_vectors(request.queries)
        labels, query_labels = y, _inputs.read_labels(request.query_labels, len(Q))
        database = _encode_rows(hasher, X, "vectors", display)
        queries = _encode_rows(hasher, Q, "queries", display)
    known = _validation.is_labeled(query_labels)
    if not known.any():
        raise DataError("No query has a label: all of them are -1.")
    relevance = Relevance.from_labels(query_labels[known], labels)
    return EncodedQueries(queries[known], database, relevance, "items with the same label")


def _encode_unlabeled(
    hasher: Hasher, request: EvaluateRequest, display: ProgressDisplay
) -> EncodedQueries:
    """Encode database and queries; the closest rows are relevant."""
    X = _inputs.read_vectors(request.vectors)
    if request.queries is None:
        rows, query_rows = _choose_queries(len(X), request)
        codes = _encode_rows(hasher, X, "vectors", display)
        database, queries, Q = codes[rows], codes[query_rows], X[query_rows]
    else:
        rows, Q = np.arange(len(X)), _inputs.read_vectors(request.queries)
        database = _encode_rows(hasher, X, "vectors", display)
        queries = _encode_rows(hasher, Q, "queries", display)
    with display.spinner("searching for the closest rows"):
        closest = _find_closest(X, Q, rows, normalize=hasher.normalize_)
    relevant = f"the {closest.shape[1]:,} closest items"
    if hasher.normalize_:
        relevant += " by cosine"
    return EncodedQueries(queries, database, Relevance.from_neighbors(closest), relevant)


def _choose_queries(n_rows: int, request: EvaluateRequest) -> tuple[Int64Array, Int64Array]:
    """Return the rows of the database and of the queries."""
    n_queries = request.hold_out or min(MAX_HELD_OUT, max(1, n_rows // 10))
    rows, query_rows = draw_queries(n_rows, n_queries, request.seed, "evaluate")
    return np.sort(rows), np.sort(query_rows)


def _encode_rows(hasher: Hasher, X: Any, name: str, display: ProgressDisplay) -> Codes:
    """Encode vectors with a bar that counts rows."""
    with display.bar(f"encode {name}") as report:
        return hasher.encode(X, progress=lambda _, done, total: report("rows", done, total))


def _find_closest(
    X: AnyArray, queries: AnyArray, rows: Int64Array, *, normalize: bool
) -> Int64Array:
    """Return the positions in ``rows`` of the rows closest to each query.

    All rows of ``X`` are searched and the others removed, which is cheaper than copying the rows.
    """
    k = min(MAX_RELEVANT, max(1, round(RELEVANT_FRACTION * len(rows))))
    position = np.full(len(X), -1)
    position[rows] = np.arange(len(rows))
    n_found = k + len(X) - len(rows)
    closest = position[closest_neighbors(X, queries, k=n_found, normalize=normalize)]
    first = np.argsort(closest < 0, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(closest, first, axis=1)


def _print_table(summary: dict[str, Any]) -> None:
    """Print the measures in percent."""
    cutoff, radius = f"first {summary['cutoff']}", f"radius {summary['radius']}"
    table = Table("measure")
    table.add_column("percent", justify="right")
    for name, value in (
        ("MAP", summary["map"]),
        (f"precision, {cutoff}", summary["precision_at_cutoff"]),
        (f"recall, {cutoff}", summary["recall_at_cutoff"]),
        (f"precision, {radius}", summary["precision"]),
        (f"recall, {radius}", summary["recall"]),
        (f"F1, {radius}", summary["f1"]),
    ):
        table.add_row(name, f"{100 * value:.1f}")
    console = make_console()
    console.print(
        f"{summary['method']}, {summary['bits']} bits: {summary['queries']:,} queries in "
        f"{summary['database']:,} items; relevant: {summary['relevant']}"
    )
    console.print(table)
