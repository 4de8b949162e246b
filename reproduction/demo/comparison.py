"""The demo's comparison: digits retrieved by codes and by an exact scan of their pixels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import clone

from bitfold import datasets, metrics
from bitfold.base_set import KMeansBase
from bitfold.codes import Codes
from bitfold.datasets import Dataset
from bitfold.evaluation import fit_and_encode, measure_codes, warm_up
from bitfold.hashers import IMH, SupervisedIMH
from reproduction.shared_types import AnyArray, Int64Array, ProgressCallback

N_QUERIES = 300
N_CLASSES = 10
RADIUS = 2
DEFAULT_METHOD = "IMH-tSNE + ITQ"
"""The method that ``IMH()`` is."""

COLUMNS = (
    "method",
    "bits",
    "MAP %",
    f"precision % in radius {RADIUS}",
    f"recall % in radius {RADIUS}",
    "seconds to train",
    "bytes per item",
)
"""Columns of the table in the terminal and on the page."""


class Method(NamedTuple):
    """A hasher, its name and what is special about it."""

    name: str
    description: str
    hasher: IMH | SupervisedIMH


class Score(NamedTuple):
    """One row of the table; None if it does not apply to an exact scan."""

    method: str
    description: str
    n_bits: int | None
    map: float
    precision: float | None
    recall: float | None
    fit_seconds: float | None
    bytes_per_item: int
    n_base_points: int | None


class MethodResult(NamedTuple):
    """The score of a method, its rankings for the queries that are shown, and the codes.

    ``codes`` are those of the queries and of the database.
    """

    score: Score
    rankings: Int64Array
    codes: tuple[Codes, Codes] | None


def load_digits(seed: int) -> Dataset:
    """Return the 8 × 8 digits of scikit-learn; ``seed`` draws the queries."""
    data = datasets.digits(N_QUERIES, seed)
    # Pixels are whole numbers from 0 to 16, so that an exact scan needs one byte per pixel.
    return Dataset(
        data.database.astype(np.uint8),
        data.queries.astype(np.uint8),
        data.labels,
        data.query_labels,
        "digits",
    )


def make_methods(n_bits: int, seed: int) -> list[Method]:
    """Return the methods, with default settings except as named."""
    return [
        Method("IMH-tSNE", "signs only", IMH(n_bits, rotation=None, random_state=seed)),
        Method(DEFAULT_METHOD, "rotated before the signs", IMH(n_bits, random_state=seed)),
        Method(
            "IMH-LE",
            "Laplacian eigenmaps, rotated",
            IMH(n_bits, embedding="le", random_state=seed),
        ),
        Method(
            "Supervised IMH",
            "learns from labels",
            SupervisedIMH(min(n_bits, N_CLASSES - 1), random_state=seed),
        ),
    ]


def warm_up_methods(methods: list[Method], data: Dataset) -> None:
    """Run every step once on a few rows, because the first use of a kernel compiles it."""
    for method in methods:
        warm_up(clone(method.hasher).set_params(base=KMeansBase(50)), data)
    codes = Codes.from_bits(np.eye(8, dtype=np.uint8))
    measure_codes(codes, codes, metrics.Relevance.from_labels(range(8), range(8)))


def run_method(method: Method, data: Dataset, progress: ProgressCallback) -> MethodResult:
    """Fit a method, encode the digits and measure the codes."""
    encoded = fit_and_encode(method.hasher, data, progress=progress)
    quality = measure_codes(encoded.queries, encoded.database, data.relevance, radius=RADIUS)
    score = Score(
        method=method.name,
        description=method.description,
        n_bits=encoded.database.n_bits,
        map=quality.map,
        precision=quality.precision,
        recall=quality.recall,
        fit_seconds=encoded.fit_seconds,
        bytes_per_item=encoded.database.packed.shape[1],
        n_base_points=len(method.hasher.base_set_),
    )
    shown = encoded.queries[choose_queries(data)]
    rankings = rank_items(hamming_distances(shown, encoded.database))
    return MethodResult(score, rankings, (encoded.queries, encoded.database))


def scan_pixels(data: Dataset) -> MethodResult:
    """Rank by exact ℓ2 distance between pixels, to compare the codes with."""
    distances = cdist(data.queries, data.database, "sqeuclidean")
    relevant = data.query_labels[:, None] == data.labels
    precisions = metrics.average_precision(metrics.scan_histograms(distances, relevant))
    score = Score(
        method="exact \N{SCRIPT SMALL L}2 scan",
        description="all 64 pixels, one byte each",
        n_bits=None,
        map=float(precisions.mean()),
        precision=None,
        recall=None,
        fit_seconds=None,
        bytes_per_item=data.database[0].nbytes,
        n_base_points=None,
    )
    return MethodResult(score, rank_items(distances[choose_queries(data)]), None)


def choose_queries(data: Dataset) -> Int64Array:
    """Return the queries that are shown: the first of each digit, in order."""
    return np.unique(data.query_labels, return_index=True)[1]


def hamming_distances(queries: Codes, database: Codes) -> Int64Array:
    """Return the Hamming distances of all pairs, one row per query."""
    differing = queries.packed[:, None] ^ database.packed
    return np.asarray(np.bitwise_count(differing).sum(axis=2, dtype=np.int64))


def rank_items(distances: AnyArray) -> Int64Array:
    """Return the items in ascending order of distance, ties in database order."""
    return np.argsort(distances, axis=1, kind="stable")


def format_row(score: Score) -> list[str]:
    """Return the cells of one row of the table."""
    percent = [
        _format_number(None if value is None else 100 * value)
        for value in (score.map, score.precision, score.recall)
    ]
    return [
        score.method,
        _format_number(score.n_bits, 0),
        *percent,
        _format_number(score.fit_seconds, 2),
        _format_number(score.bytes_per_item, 0),
    ]


def _format_number(value: float | None, n_digits: int = 1) -> str:
    return "\N{EN DASH}" if value is None else f"{value:.{n_digits}f}"
