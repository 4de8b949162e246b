"""Retrieval: quality of the codes in ranking and lookup, and the exact scan to compare with."""

from __future__ import annotations

import os

import numpy as np

from bitfold import metrics
from bitfold.datasets import Dataset
from bitfold.evaluation import EncodedDataset, evaluate, fit_and_encode, warm_up
from bitfold.hashers import Hasher
from reproduction.experiments.base_set_cache import CACHE
from reproduction.experiments.methods import make_hasher
from reproduction.records import Case
from reproduction.shared_types import ProgressCallback, Record, Result

TIMES = ("fit_seconds", "encode_us", "test_ms")
"""Times in a result."""

_SCANNED_QUERIES = 50
"""Queries per step of an exact scan, which holds one distance per query and database row."""

_WARM: set[tuple[str, str]] = set()
"""Data sets and methods whose kernels this process has compiled."""


def measure_retrieval(
    case: Case, data: Dataset, progress: ProgressCallback | None = None
) -> Result:
    """Return quality of the codes, and the times of fitting and encoding."""
    hasher, saved = _prepare_hasher(case, data), CACHE.saved_seconds
    result = evaluate(hasher, data, progress=progress).to_record()
    # A base set from the cache counts with the time that choosing it took.
    result["fit_seconds"] += CACHE.saved_seconds - saved
    return result


def is_machine_busy() -> bool:
    """Return whether other programs compete for the cores, so that times mean nothing."""
    try:
        load = os.getloadavg()[0]
    except (AttributeError, OSError):  # Windows has no load average
        return False
    return load > (os.cpu_count() or 1) + 1


def drop_times(result: Result) -> Result:
    """Return a result without its times; the table of times measures them again."""
    return {name: value for name, value in result.items() if name not in TIMES}


def was_busy(record: Record) -> bool:
    """Return whether a record has no times, because the machine was busy."""
    result = record["result"]
    return record["case"]["measure"] == "retrieval" and "map" in result and TIMES[0] not in result


def encode_case(
    case: Case, data: Dataset, progress: ProgressCallback | None = None
) -> EncodedDataset:
    """Fit the method of a case, and encode the database and the queries."""
    return fit_and_encode(_prepare_hasher(case, data), data, progress=progress)


def measure_scan(case: Case, data: Dataset, progress: ProgressCallback | None = None) -> Result:
    """Return MAP of ranking by exact ℓ2 distance between the vectors, in percent."""
    precisions = []
    database = data.database.astype(np.float32)
    sq_norms = np.einsum("ij,ij->i", database, database)
    n_queries = len(data.queries)
    for first in range(0, n_queries, _SCANNED_QUERIES):
        part = slice(first, first + _SCANNED_QUERIES)
        # The norm of a query is the same for all items, and is left out.
        distances = sq_norms - 2 * data.queries[part].astype(np.float32) @ database.T
        relevant = np.asarray(data.query_labels)[part, None] == data.labels
        histograms = metrics.scan_histograms(distances, relevant)
        precisions.append(metrics.average_precision(histograms))
        if progress:
            progress("scan", min(part.stop, n_queries), n_queries)
    return {"map": 100 * float(np.concatenate(precisions).mean())}


def _prepare_hasher(case: Case, data: Dataset) -> Hasher:
    """Return the hasher of a case, with its kernels compiled."""
    dataset = f"{case.data}, {case.n_queries} queries, {case.n_rows} rows"
    hasher = make_hasher(case.method, case.n_bits, case.seed, dict(case.options), dataset)
    if (case.data, case.method) not in _WARM:
        warm_up(hasher, data)
        _WARM.add((case.data, case.method))
    return hasher
