"""``bitfold evaluate``: measure how good the codes of a model or a collection are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from typer import Argument, Option

from bitfold import _class_labels
from bitfold._types import AnyArray, Int64Array
from bitfold.cli import _inputs
from bitfold.cli._inputs import LABEL_FORMATS, VECTOR_FORMATS
from bitfold.cli._options import AsJson
from bitfold.cli._quality_table import NOTES, SEARCHES, make_quality_table
from bitfold.cli._terminal import ProgressDisplay, make_console, show_progress
from bitfold.codes import Codes
from bitfold.collection import Collection, is_collection
from bitfold.datasets import draw_queries
from bitfold.errors import DataError
from bitfold.evaluation import (
    CodeQuality,
    ExactResult,
    References,
    TopQuality,
    find_metric,
    judge,
    make_baseline,
    measure_codes,
    measure_search,
    search_exact,
)
from bitfold.hashers import Hasher, load
from bitfold.metrics import Relevance

MAX_HELD_OUT = 1000
"""Maximum number of rows that are held out as queries by default; otherwise it is a tenth."""


def evaluate(
    model: Annotated[
        Path, Argument(help="Model that bitfold fit wrote, or collection that bitfold build wrote.")
    ],
    vectors: Annotated[
        Path | None,
        Argument(help=f"Vectors to search in: {VECTOR_FORMATS}. A collection has its own."),
    ] = None,
    labels: Annotated[Path | None, Option(help=f"Labels of the vectors: {LABEL_FORMATS}.")] = None,
    queries: Annotated[
        Path | None, Option(help="Query vectors; by default, rows are held out.")
    ] = None,
    query_labels: Annotated[Path | None, Option(help="Labels of the queries.")] = None,
    hold_out: Annotated[
        int | None, Option(min=1, help="Rows to hold out; by default a tenth, at most 1000.")
    ] = None,
    radius: Annotated[int, Option(min=0, help="Hamming radius of the lookup, with labels.")] = 2,
    seed: Annotated[int, Option(min=0, help="Seed of the choice of queries.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Measure how good the codes of a model are, and say what to do.

    The hits are those that bitfold search returns, by default (asymmetric) and with --symmetric
    (Hamming). They are compared with the exact vectors, with a simple method of the same code
    length, and with chance. With labels, items with the label of the query are relevant. Rows
    labeled -1 count as unlabeled: they are searched, but are neither queries nor relevant.

    Example: bitfold evaluate model.bitfold vectors.npy --labels labels.npy
    """
    if labels is not None and (queries is None) != (query_labels is None):
        raise typer.BadParameter("With --labels, --queries and --query-labels go together.")
    if query_labels is not None and labels is None:
        raise typer.BadParameter("--query-labels needs --labels.")
    if queries is not None and hold_out is not None:
        raise typer.BadParameter("--hold-out cannot be used with --queries.")
    if vectors is None and not is_collection(model):
        raise typer.BadParameter("Vectors to search in are needed with a model.")
    _inputs.check_exists(model, vectors, labels, queries, query_labels)
    request = EvaluateRequest(vectors, labels, queries, query_labels, hold_out, seed)
    result = _evaluate(model, request, radius)
    if as_json:
        typer.echo(json.dumps(result.to_summary()))
    else:
        _print(result)


class EvaluateRequest(NamedTuple):
    """What to search in and what to search for."""

    vectors: Path | None
    labels: Path | None
    queries: Path | None
    query_labels: Path | None
    hold_out: int | None
    seed: int


class SearchTask(NamedTuple):
    """Vectors to search in, and queries. ``rows`` form the database; None takes all."""

    X: AnyArray
    rows: Int64Array | None
    queries: AnyArray
    relevance: Relevance | None


class EvaluateResult(NamedTuple):
    """All that is printed."""

    model: Path
    hasher: Hasher
    vector_bytes: int
    n_queries: int
    exact: ExactResult
    quality: TopQuality
    hamming: TopQuality
    baseline: TopQuality
    baseline_name: str
    lookup: CodeQuality | None

    @property
    def code_bytes(self) -> int:
        """Bytes per code."""
        return -(-self.hasher.n_bits_ // 8)

    def to_summary(self) -> dict[str, Any]:
        """Return all values for JSON."""
        references = References(
            self.exact.quality, self.exact.chance, self.baseline, self.baseline_name
        )
        compression = self.vector_bytes / self.code_bytes
        qualities = {
            "model": self.quality,
            "model_hamming": self.hamming,
            "baseline": self.baseline,
            "exact": self.exact.quality,
            "chance": self.exact.chance,
        }
        lookup = self.lookup and {
            name: getattr(self.lookup, name) for name in ("radius", "precision", "recall", "f1")
        }
        return {
            "model": str(self.model),
            "method": type(self.hasher).__name__,
            "bits": self.hasher.n_bits_,
            "bytes_per_code": self.code_bytes,
            "bytes_per_vector": self.vector_bytes,
            "metric": find_metric(self.hasher),
            "database": self.exact.n_items,
            "queries": self.n_queries,
            "baseline": self.baseline_name,
            "results": {name: quality.to_record() for name, quality in qualities.items()},
            "lookup": lookup,
            "verdict": judge(
                self.quality, references, compression=compression, method=type(self.hasher).__name__
            )._asdict(),
        }


def _evaluate(model: Path, request: EvaluateRequest, radius: int) -> EvaluateResult:
    """Search with the exact vectors, the model and the baseline; measure all three."""
    with show_progress() as display:
        with display.spinner("reading"):
            hasher, X = _open_model(model, request.vectors)
            task = _open_task(request, X)
        with display.bar("exact search") as report:
            exact = search_exact(
                task.X,
                task.queries,
                task.relevance,
                rows=task.rows,
                metric=find_metric(hasher),
                progress=report,
            )
        database = _encode(hasher, task, display)
        hamming, lookup = _measure_hamming(hasher, database, task, exact, radius, display)
        quality = _measure(hasher, database, task, exact, display)
        baseline = make_baseline(hasher, request.seed)
        with display.bar(f"fit {type(baseline).__name__}") as report:
            baseline.fit(task.X, progress=report)
        database = _encode(baseline, task, display)
        baseline_quality = _measure(baseline, database, task, exact, display)
    return EvaluateResult(
        model,
        hasher,
        task.X.shape[1] * task.X.dtype.itemsize,
        len(task.queries),
        exact,
        quality,
        hamming,
        baseline_quality,
        type(baseline).__name__,
        lookup,
    )


def _encode(hasher: Hasher, task: SearchTask, display: ProgressDisplay) -> Codes:
    """Encode the database."""
    with display.bar(f"encode with {type(hasher).__name__}") as report:
        codes = hasher.encode(task.X, progress=lambda _, done, total: report("rows", done, total))
    return codes if task.rows is None else codes[task.rows]


def _measure(
    hasher: Hasher, database: Codes, task: SearchTask, exact: ExactResult, display: ProgressDisplay
) -> TopQuality:
    """Measure an asymmetric search."""
    with display.spinner(f"search with {type(hasher).__name__}"):
        return measure_search(hasher, database, task.queries, exact)


def _measure_hamming(
    hasher: Hasher,
    database: Codes,
    task: SearchTask,
    exact: ExactResult,
    radius: int,
    display: ProgressDisplay,
) -> tuple[TopQuality, CodeQuality | None]:
    """Measure a search by Hamming distance and, with labels, the lookup in a radius."""
    lookup = _measure_list(hasher, task, database, radius, display)
    known_map = None if lookup is None else lookup.map
    with display.spinner("search by Hamming distance"):
        quality = measure_search(
            hasher, database, task.queries, exact, symmetric=True, known_map=known_map
        )
    return quality, lookup


def _measure_list(
    hasher: Hasher, task: SearchTask, database: Codes, radius: int, display: ProgressDisplay
) -> CodeQuality | None:
    """Measure the whole list by Hamming distance and the lookup in a radius, with labels."""
    if task.relevance is None:
        return None
    with display.bar(f"rank with {type(hasher).__name__}") as report:
        queries = hasher.encode(task.queries)
        return measure_codes(
            queries, database, task.relevance, cutoffs=(1,), radius=radius, progress=report
        )


def _open_model(model: Path, vectors: Path | None) -> tuple[Hasher, AnyArray]:
    """Return the hasher of a model or a collection, and the vectors to search in."""
    given = None if vectors is None else _inputs.read_vectors(vectors)
    if not is_collection(model):
        return load(model), np.empty((0, 0)) if given is None else given
    with Collection.open(model) as collection:
        hasher = collection.query_hasher
        if hasher is None:
            raise DataError(f"{model} has no codes yet, because it has too few items.")
        kept = _inputs.copy_to_disk(collection.open_vectors()) if given is None else given
        return hasher, kept


def _open_task(request: EvaluateRequest, X: AnyArray) -> SearchTask:
    """Choose queries, and read what is relevant."""
    y = None if request.labels is None else _inputs.read_labels(request.labels, len(X))
    if request.queries is None:
        rows, query_rows = _choose_queries(len(X), request)
        if y is None:
            return SearchTask(X, rows, X[query_rows], None)
        known = query_rows[_select_labeled(y[query_rows])]
        return SearchTask(X, rows, X[known], Relevance.from_labels(y[known], y[rows]))
    Q = _inputs.read_vectors(request.queries)
    if y is None or request.query_labels is None:
        return SearchTask(X, None, Q, None)
    query_labels = _inputs.read_labels(request.query_labels, len(Q))
    is_known = _select_labeled(query_labels)
    return SearchTask(X, None, Q[is_known], Relevance.from_labels(query_labels[is_known], y))


def _select_labeled(query_labels: AnyArray) -> AnyArray:
    """Return which queries have a label; raise if none has."""
    is_known = _class_labels.is_labeled(query_labels)
    if not is_known.any():
        raise DataError("No query has a label: all of them are -1.")
    return is_known


def _choose_queries(n_rows: int, request: EvaluateRequest) -> tuple[Int64Array, Int64Array]:
    """Return the rows of the database and of the queries."""
    n_queries = request.hold_out or min(MAX_HELD_OUT, max(1, n_rows // 10))
    rows, query_rows = draw_queries(n_rows, n_queries, request.seed, "evaluate")
    return np.sort(rows), np.sort(query_rows)


def _print(result: EvaluateResult) -> None:
    """Print the table, the lookup and the verdict."""
    summary = result.to_summary()
    method = f"{summary['method']}, {summary['bits']} bits"
    typer.echo(
        f"{method}: {summary['bytes_per_code']:,} bytes per vector instead of "
        f"{summary['bytes_per_vector']:,}; {summary['queries']:,} queries in "
        f"{summary['database']:,} items; exact neighbors by "
        f"{'cosine' if summary['metric'] == 'cosine' else 'Euclidean distance'}"
    )
    rows = {
        "this model, asymmetric": result.quality,
        "this model, Hamming": result.hamming,
        f"{result.baseline_name}, {summary['bits']} bits": result.baseline,
        "exact vectors": result.exact.quality,
        "chance": result.exact.chance,
    }
    make_console().print(make_quality_table(rows))
    typer.echo(SEARCHES.format(baseline=result.baseline_name))
    typer.echo(NOTES[result.lookup is not None])
    if result.lookup is not None:
        found = result.lookup
        typer.echo(
            f"Within radius {found.radius}: precision {found.precision:.3f}, "
            f"recall {found.recall:.3f}, F1 {found.f1:.3f}"
        )
    typer.echo(summary["verdict"]["text"])
