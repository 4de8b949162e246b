"""The protocol of the comparisons: fit, encode, rank by Hamming distance, look up a radius."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from bitfold import metrics
from bitfold.codes import Codes
from bitfold.datasets import Dataset
from bitfold.hashers import Hasher
from bitfold.metrics import DistanceHistograms
from reproduction.methods import make
from reproduction.records import Case
from reproduction.shared import seconds_saved

Report = Callable[[str, int, int], None]
Result = dict[str, Any]

RADIUS = 2
"""Hamming radius of a lookup in the paper."""

CUTOFFS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000)
"""Numbers of retrieved items that curves are drawn through."""

_QUERIES_AT_A_TIME = 50
"""Of an exact scan, which holds a distance for every item of the database."""


class Coded(NamedTuple):
    """A method at work: its hasher, the codes, and the seconds that each step took."""

    hasher: Hasher
    database: Codes
    queries: Codes
    fit: float
    encode: float
    test: float


def retrieval(case: Case, data: Dataset, report: Report | None = None) -> Result:
    """Run a case: quality of the codes, and the time that fitting and encoding take."""
    coded = code(case, data, report)
    histograms = metrics.distance_histograms(coded.queries, coded.database, data.relevance)
    return {**_of_ranking(histograms), **_of_lookup(histograms), **_times(coded)}


def scan(case: Case, data: Dataset, report: Report | None = None) -> Result:
    """Rank by exact ℓ2 distance between the vectors: what codes are up against."""
    precisions = []
    database = data.database.astype(np.float32)
    sq_norms = np.einsum("ij,ij->i", database, database)
    for first in range(0, len(data.queries), _QUERIES_AT_A_TIME):
        part = slice(first, first + _QUERIES_AT_A_TIME)
        # A query's own length is the same for all items.
        distances = sq_norms - 2 * data.queries[part].astype(np.float32) @ database.T
        relevant = np.asarray(data.query_labels)[part, None] == data.labels
        histograms = metrics.scan_histograms(distances, relevant)
        precisions.append(metrics.average_precision(histograms))
        if report:
            report("scan", min(part.stop, len(data.queries)), len(data.queries))
    return {"map": 100 * float(np.concatenate(precisions).mean())}


def code(case: Case, data: Dataset, report: Report | None) -> Coded:
    """Fit the case's method and encode."""
    hasher = make(case.method, case.n_bits, case.seed, dict(case.options))
    _warm_up(hasher, data)
    # A base set that was taken over counts with the time that choosing it took.
    saved = seconds_saved()
    times = [time.perf_counter()]
    hasher.fit(data.train, data.labels, progress=report)
    saved = seconds_saved() - saved
    times.append(time.perf_counter())
    database = hasher.encode(data.database, progress=report)
    times.append(time.perf_counter())
    queries = hasher.encode(data.queries)
    times.append(time.perf_counter())
    fit, encode, test = np.diff(times).tolist()
    return Coded(hasher, database, queries, fit + saved, encode, test)


def _of_ranking(histograms: DistanceHistograms) -> Result:
    """Mean average precision, precision and recall of the first so many, in percent."""
    at = [n for n in CUTOFFS if n <= histograms.found[0].sum()]
    found = metrics.ranking_curves(histograms, at)
    return {
        "map": 100 * float(np.mean(metrics.average_precision(histograms))),
        "cutoffs": at,
        "precision_at": (100 * found.precision.mean(axis=0)).round(3).tolist(),
        "recall_at": (100 * found.recall.mean(axis=0)).round(3).tolist(),
    }


def _of_lookup(histograms: DistanceHistograms) -> Result:
    """Precision and recall in percent, and F1, of looking up the radius."""
    found = metrics.lookup(histograms, RADIUS)
    return {"precision": 100 * found.precision, "recall": 100 * found.recall, "f1": found.f1}


def _times(coded: Coded) -> Result:
    return {
        "fit_seconds": coded.fit,
        "encode_us": 1e6 * coded.encode / len(coded.database),
        "test_ms": 1e3 * coded.test / len(coded.queries),
    }


def _warm_up(hasher: Hasher, data: Dataset) -> None:
    """Go through every step on little data: the first use of a kernel compiles it."""
    few = slice(0, 300)
    labels: NDArray[Any] | None = None if data.labels is None else data.labels[few]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            small = clone(hasher).set_params(n_bits=min(hasher.get_params()["n_bits"], 8))
            small.fit(data.database[few], labels).encode(data.queries[:2])
        except ValueError:
            return  # so few rows cannot be learned from; the run itself can
