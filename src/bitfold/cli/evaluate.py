"""``bitfold evaluate``: how good the codes of a model are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from bitfold._types import AnyArray, Int64Array
from bitfold.cli._inputs import FORMATS, check_exists

if TYPE_CHECKING:
    from bitfold.cli.terminal import Bars
    from bitfold.codes import Codes
    from bitfold.hashers import Hasher
    from bitfold.metrics import Relevance

_SHARE = 0.02
"""Without labels the closest rows are the right answers: so many of them ..."""

_MOST_NEIGHBORS = 10_000
"""... and no more."""


def evaluate(
    model: Annotated[Path, typer.Argument(help="A model that bitfold fit wrote.")],
    vectors: Annotated[Path, typer.Argument(help=f"Vectors to search in: {FORMATS}.")],
    labels: Annotated[
        Path | None, typer.Option(help="Labels of the rows: .npy .npz .parquet .h5 .txt.")
    ] = None,
    queries: Annotated[
        Path | None, typer.Option(help="Query vectors; left out, rows are held out.")
    ] = None,
    query_labels: Annotated[Path | None, typer.Option(help="Labels of the queries.")] = None,
    hold_out: Annotated[
        int | None, typer.Option(min=1, help="Rows to hold out; left out, a tenth, at most 1000.")
    ] = None,
    radius: Annotated[int, typer.Option(min=0, help="Radius of the lookup.")] = 2,
    cutoff: Annotated[int, typer.Option(min=1, help="First results that are counted.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Draws the queries.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Answer as JSON, not a table.")] = False,
) -> None:
    """Measure how well the codes find what belongs together.

    Items with the label of the query are the right answers; without labels, the closest 2 percent
    of the rows in ℓ2. Rows labeled -1 are unlabeled: they are searched, but are neither queries
    nor right answers. Ties count as their mean over all orders.

    Example: bitfold evaluate model.bitfold vectors.npy --labels labels.npy
    """
    if (queries is None) != (query_labels is None) and labels is not None:
        raise typer.BadParameter("queries and query labels must come together beside labels.")
    if query_labels is not None and labels is None:
        raise typer.BadParameter("query labels must come with labels of the rows, got none.")
    if queries is not None and hold_out is not None:
        raise typer.BadParameter("hold-out must be left out where there are queries.")
    check_exists(model, vectors, labels, queries, query_labels)
    split = Split(vectors, labels, queries, query_labels, hold_out, seed)
    about = _evaluate(model, split, radius, cutoff)
    if as_json:
        typer.echo(json.dumps(about))
    else:
        _print(about)


class Split(NamedTuple):
    """What to search in and what with."""

    vectors: Path
    labels: Path | None
    queries: Path | None
    query_labels: Path | None
    hold_out: int | None
    seed: int


class Coded(NamedTuple):
    """Codes of database and queries, and which are the right answers."""

    database: Codes
    queries: Codes
    relevance: Relevance
    answers: str


def _evaluate(model: Path, split: Split, radius: int, cutoff: int) -> dict[str, Any]:
    from bitfold.cli.terminal import bars

    with bars() as shown:
        with shown.spinner("getting ready"):
            # Under the spinner, because these imports take a second or two.
            from bitfold import metrics
            from bitfold.hashers import load

            hasher = load(model)
        coded = _coded(hasher, split, shown)
        with shown.bar("count") as report:
            database, queries, relevance, _ = coded
            histograms = metrics.distance_histograms(queries, database, relevance, progress=report)
            first = min(cutoff, len(coded.database))
            curves = metrics.ranking_curves(histograms, [first])
            lookup = metrics.lookup(histograms, radius)
            mean = metrics.average_precision(histograms).mean()
    return {
        "model": str(model),
        "method": type(hasher).__name__,
        "bits": hasher.n_bits_,
        "database": len(coded.database),
        "queries": len(coded.queries),
        "answers": coded.answers,
        "map": float(mean),
        "cutoff": first,
        "precision_at_cutoff": float(curves.precision.mean()),
        "recall_at_cutoff": float(curves.recall.mean()),
        "radius": radius,
        **lookup._asdict(),
    }


def _coded(hasher: Hasher, split: Split, shown: Bars) -> Coded:
    import numpy as np

    from bitfold.base_set import is_labeled
    from bitfold.cli._inputs import open_again, read_vectors
    from bitfold.datasets import draw_queries
    from bitfold.metrics import Relevance

    X = read_vectors(split.vectors) if split.labels is None else open_again(split.vectors)
    if split.queries is None:
        _check_rest(len(X), split.hold_out)
    # Before the vectors are encoded, which may take long.
    y = None if split.labels is None else _labels(split.labels, len(X))
    codes = _encoded(hasher, X, "vectors", shown)
    if split.queries is None:
        n_queries = split.hold_out or min(1000, max(1, len(codes) // 10))
        kept, held = map(np.sort, draw_queries(len(codes), n_queries, split.seed, "evaluate"))
        database, queries = codes[kept], codes[held]
    else:
        Q, kept, database = read_vectors(split.queries), np.arange(len(codes)), codes
        queries = _encoded(hasher, Q, "queries", shown)
    if y is not None:
        asked = y[held] if split.query_labels is None else _labels(split.query_labels, len(queries))
        known = is_labeled(asked)
        if not known.any():
            raise ValueError("queries must have labels, some at least, got -1 for all of them.")
        relevance = Relevance.labels(asked[known], y[kept])
        return Coded(database, queries[known], relevance, "items of the same label")
    with shown.spinner("looking for the closest rows"):
        near = _closest(X, X[held] if split.queries is None else Q, kept)
    answers = f"the {near.shape[1]:,} closest items"
    return Coded(database, queries, Relevance.neighbors(near), answers)


def _check_rest(n_rows: int, hold_out: int | None) -> None:
    """Raise unless there are rows to search in beside those that are held out."""
    if n_rows < 2:
        raise ValueError("vectors must be two rows or more, to hold some of them out, got one.")
    if hold_out is not None and hold_out >= n_rows:
        raise ValueError(f"hold-out must be fewer than all {n_rows} rows, got {hold_out}.")


def _encoded(hasher: Hasher, X: Any, name: str, shown: Bars) -> Codes:
    with shown.bar(f"encode {name}") as report:
        return hasher.encode(X, progress=lambda _, done, total: report("rows", done, total))


def _labels(path: Path, n_rows: int) -> AnyArray:
    from bitfold.cli._inputs import read_labels

    labels = read_labels(path)
    if len(labels) != n_rows:
        raise ValueError(f"{path} must hold a label for each of {n_rows} rows, got {len(labels)}.")
    return labels


def _closest(X: AnyArray, queries: AnyArray, kept: Int64Array) -> Int64Array:
    """Find the closest of the rows that were kept, numbered as these.

    The others are found too and left out, which is cheaper than a copy of the rows without them.
    """
    import numpy as np

    from bitfold.metrics import closest_neighbors

    k = min(_MOST_NEIGHBORS, max(1, round(_SHARE * len(kept))))
    number = np.full(len(X), -1)
    number[kept] = np.arange(len(kept))
    near = number[closest_neighbors(X, queries, k=k + len(X) - len(kept))]
    first = np.argsort(near < 0, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(near, first, axis=1)


def _print(about: dict[str, Any]) -> None:
    from rich.table import Table

    from bitfold.cli.terminal import output

    what = f"{about['method']}, {about['bits']} bits: {about['queries']:,} queries"
    title = f"{what} in {about['database']:,} items; right are {about['answers']}"
    table = Table("measure")
    table.add_column("percent", justify="right")
    first, radius = f"first {about['cutoff']}", f"radius {about['radius']}"
    for name, value in (
        ("MAP", about["map"]),
        (f"precision, {first}", about["precision_at_cutoff"]),
        (f"recall, {first}", about["recall_at_cutoff"]),
        (f"precision, {radius}", about["precision"]),
        (f"recall, {radius}", about["recall"]),
        (f"F1, {radius}", about["f1"]),
    ):
        table.add_row(name, f"{100 * value:.1f}")
    console = output()
    console.print(title)
    console.print(table)
