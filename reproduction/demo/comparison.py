"""The demo's comparison: handwritten digits, found by codes and by an exact scan."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from bitfold import metrics
from bitfold._types import AnyArray, Int64Array, ProgressCallback, UInt8Array
from bitfold.base_set import KMeansBase
from bitfold.codes import Codes
from bitfold.hashers import IMH, SupervisedIMH

N_QUERIES = 300
N_CLASSES = 10
RADIUS = 2
DEFAULT = "IMH-tSNE + ITQ"
"""The method that ``IMH()`` is."""


class Digits(NamedTuple):
    """The 8×8 digits of scikit-learn, split: queries, and the database that is learned from."""

    queries: UInt8Array
    query_labels: Int64Array
    database: UInt8Array
    labels: Int64Array


class Method(NamedTuple):
    """A hasher, its name and what is particular about it."""

    name: str
    about: str
    hasher: IMH | SupervisedIMH


class Score(NamedTuple):
    """One line of the table; what an exact scan has not is None."""

    method: str
    about: str
    bits: int | None
    map: float
    precision: float | None
    recall: float | None
    seconds: float | None
    bytes_per_item: int
    base_points: int | None


COLUMNS = (
    "method",
    "bits",
    "MAP %",
    f"precision % in radius {RADIUS}",
    f"recall % in radius {RADIUS}",
    "seconds to train",
    "bytes per item",
)
"""Heads of the table, on the terminal and on the page."""


class Run(NamedTuple):
    """How a method did: its score, the database ranked for the queries shown, its codes."""

    score: Score
    ranked: Int64Array
    codes: tuple[Codes, Codes] | None


class Comparison(NamedTuple):
    """All that the demo shows: the data, the methods' runs and, last, the exact scan's."""

    digits: Digits
    runs: list[Run]


def cells(score: Score) -> list[str]:
    """Write one line of the table."""
    percent = [_number(100 * x if x is not None else None) for x in score[3:6]]
    return [
        score.method,
        _number(score.bits, 0),
        *percent,
        _number(score.seconds, 2),
        _number(score.bytes_per_item, 0),
    ]


def about(score: Score) -> str:
    """Say what is particular about a method."""
    if score.base_points is None:
        return score.about
    return f"{score.about}; {score.base_points:,} base points"


def _number(value: float | None, digits: int = 1) -> str:
    return "\N{EN DASH}" if value is None else f"{value:.{digits}f}"


def load(seed: int) -> Digits:
    """Draw the queries by ``seed``; all other digits are the database."""
    X, y = load_digits(return_X_y=True)
    # Pixels are whole numbers from 0 to 16: a byte each is what an exact scan needs.
    X = X.astype(np.uint8)
    order = np.random.default_rng(seed).permutation(len(X))
    queries, database = order[:N_QUERIES], order[N_QUERIES:]
    return Digits(X[queries], y[queries], X[database], y[database])


def methods(n_bits: int, seed: int) -> list[Method]:
    """List the hashers compared: the library's defaults, but for what the name says."""
    short = min(n_bits, N_CLASSES - 1)
    plain = IMH(n_bits, rotation=None, random_state=seed)
    rotated = IMH(n_bits, random_state=seed)
    laplacian = IMH(n_bits, embedding="le", random_state=seed)
    supervised = SupervisedIMH(short, random_state=seed)
    return [
        Method("IMH-tSNE", "plain signs", plain),
        Method(DEFAULT, "rotated before the signs", rotated),
        Method("IMH-LE", "Laplacian eigenmaps, rotated", laplacian),
        Method("Supervised IMH", "learns from labels", supervised),
    ]


def one_thread() -> AbstractContextManager[Any]:
    """Hold BLAS and OpenMP to one thread: on data this small more gain nothing.

    On a machine that is busy otherwise, their waiting for each other costs many times the work.
    """
    limits: AbstractContextManager[Any] = threadpool_limits(1)
    return limits


def warm_up(compared: list[Method], digits: Digits) -> None:
    """Go through every step once on little data: the first use of a kernel compiles it."""
    few = slice(0, 200)
    for method in compared:
        hasher = clone(method.hasher).set_params(n_bits=8, base=KMeansBase(50))
        codes = hasher.fit(digits.database[few], digits.labels[few]).encode(digits.queries)
    metrics.distance_histograms(codes, codes, digits.query_labels, digits.query_labels)


def shown(digits: Digits) -> Int64Array:
    """Choose the queries to show: the first that was drawn of each digit, in order."""
    return np.unique(digits.query_labels, return_index=True)[1]


def run(method: Method, digits: Digits, report: ProgressCallback) -> Run:
    """Learn, encode and measure."""
    start = time.perf_counter()
    method.hasher.fit(digits.database, digits.labels, progress=report)
    seconds = time.perf_counter() - start
    database = method.hasher.encode(digits.database, progress=report)
    queries = method.hasher.encode(digits.queries)
    histograms = metrics.distance_histograms(queries, database, digits.query_labels, digits.labels)
    found = metrics.lookup(histograms, RADIUS)
    score = Score(
        method=method.name,
        about=method.about,
        bits=database.n_bits,
        map=float(metrics.average_precision(histograms).mean()),
        precision=found.precision,
        recall=found.recall,
        seconds=seconds,
        bytes_per_item=database.packed.shape[1],
        base_points=len(method.hasher.base_set_),
    )
    ranked = rank(hamming(queries[shown(digits)], database))
    return Run(score, ranked, (queries, database))


def scan(digits: Digits) -> Run:
    """Rank by exact ℓ2 distance between pixels: what the codes are up against."""
    distances = cdist(digits.queries, digits.database, "sqeuclidean")
    relevant = digits.query_labels[:, None] == digits.labels
    precision = metrics.average_precision(metrics.scan_histograms(distances, relevant))
    score = Score(
        method="exact \N{SCRIPT SMALL L}2 scan",
        about="all 64 pixels, a byte each",
        bits=None,
        map=float(precision.mean()),
        precision=None,
        recall=None,
        seconds=None,
        bytes_per_item=digits.database[0].nbytes,
        base_points=None,
    )
    return Run(score, rank(distances[shown(digits)]), None)


def hamming(queries: Codes, database: Codes) -> Int64Array:
    """Hamming distances of all pairs, for the few queries that are shown."""
    differing = queries.packed[:, None] ^ database.packed
    return np.asarray(np.bitwise_count(differing).sum(axis=2, dtype=np.int64))


def rank(distances: AnyArray) -> Int64Array:
    """Rank each query's database, ties in database order."""
    return np.argsort(distances, axis=1, kind="stable")
