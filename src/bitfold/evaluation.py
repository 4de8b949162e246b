"""Fit, encode and measure: how good the codes of a hasher are, and how long they take.

:func:`evaluate` does all of it for one hasher and one data set. :func:`fit_and_encode` and
:func:`measure_codes` are its two halves, for callers that need the codes or have a fitted hasher.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from bitfold import datasets, metrics
from bitfold._types import ProgressCallback
from bitfold.codes import Codes
from bitfold.hashers import Hasher
from bitfold.metrics import Relevance

__all__ = [
    "CodeQuality",
    "EncodedDataset",
    "Evaluation",
    "evaluate",
    "fit_and_encode",
    "measure_codes",
    "warm_up",
]

CUTOFFS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000)
"""Default numbers of first results at which precision and recall are measured."""

RADIUS = 2
"""Default Hamming radius of a lookup."""

WARM_UP_ROWS = 300
"""Rows of the fit that compiles the kernels."""


@dataclass(frozen=True)
class CodeQuality:
    """Retrieval quality of codes; all values are means over the queries, between 0 and 1.

    Attributes
    ----------
    map
        Mean average precision of ranking the database by Hamming distance, aware of ties.
    cutoffs, precision_at, recall_at
        Numbers of first results, and precision and recall among them.
    radius, precision, recall, f1
        Hamming radius of a lookup, and its precision, recall and F1.

    Examples
    --------
    >>> codes = Codes.from_bits([[0, 0], [0, 1], [1, 1]])
    >>> measure_codes(codes[:1], codes, Relevance.from_labels([0], [0, 1, 0])).cutoffs
    (1, 2)
    """

    map: float
    cutoffs: tuple[int, ...]
    precision_at: tuple[float, ...]
    recall_at: tuple[float, ...]
    radius: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class EncodedDataset:
    """A fitted hasher, the codes of a data set, and the seconds that each step took.

    Attributes
    ----------
    hasher
        The fitted hasher.
    database, queries
        Codes of the database and of the queries.
    fit_seconds, encode_seconds, query_seconds
        Seconds to fit, to encode the database, and to encode the queries.

    Examples
    --------
    >>> from bitfold.hashers import LSH
    >>> fit_and_encode(LSH(8, random_state=0), datasets.digits()).queries
    Codes(300 x 8 bits)
    """

    hasher: Hasher
    database: Codes
    queries: Codes
    fit_seconds: float
    encode_seconds: float
    query_seconds: float


@dataclass(frozen=True)
class Evaluation:
    """Quality of a hasher's codes, and its times.

    Attributes
    ----------
    n_bits, quality
        Length of the codes, and how good they are.
    fit_seconds, encode_us, query_ms
        Seconds to fit, microseconds to encode one database row, milliseconds to encode one query.

    Examples
    --------
    >>> from bitfold.hashers import LSH
    >>> evaluate(LSH(8, random_state=0), datasets.digits()).n_bits
    8
    """

    n_bits: int
    quality: CodeQuality
    fit_seconds: float
    encode_us: float
    query_ms: float

    def to_record(self) -> dict[str, Any]:
        """Return the values as a flat dictionary for JSON.

        Returns
        -------
        All values by name; MAP, precision and recall are in percent.
        """
        quality = self.quality
        return {
            "map": 100 * quality.map,
            "cutoffs": list(quality.cutoffs),
            "precision_at": [round(100 * value, 3) for value in quality.precision_at],
            "recall_at": [round(100 * value, 3) for value in quality.recall_at],
            "precision": 100 * quality.precision,
            "recall": 100 * quality.recall,
            "f1": quality.f1,
            "fit_seconds": self.fit_seconds,
            "encode_us": self.encode_us,
            "test_ms": self.query_ms,
        }


def evaluate(
    hasher: Hasher,
    dataset: datasets.Dataset,
    *,
    cutoffs: Sequence[int] = CUTOFFS,
    radius: int = RADIUS,
    progress: ProgressCallback | None = None,
) -> Evaluation:
    """Fit a hasher, encode a data set, and measure quality and times.

    Parameters
    ----------
    hasher
        The hasher to fit, in place.
    dataset
        Vectors to learn from and to search in, queries, and what is relevant to them.
    cutoffs
        Numbers of first results to measure; those above the size of the database are left out.
    radius
        Hamming radius of the lookup.
    progress
        Called with (stage, done, total) while the work is running.

    Returns
    -------
    The quality of the codes, and the times.

    Raises
    ------
    ParameterError
        If the hasher cannot be fitted with its parameters on these data.

    Examples
    --------
    >>> from bitfold.hashers import ITQ
    >>> result = evaluate(ITQ(16, random_state=0), datasets.digits())
    >>> result.quality.map > 0.4
    True
    """
    encoded = fit_and_encode(hasher, dataset, progress=progress)
    database, queries = encoded.database, encoded.queries
    return Evaluation(
        n_bits=database.n_bits,
        quality=measure_codes(queries, database, dataset.relevance, cutoffs=cutoffs, radius=radius),
        fit_seconds=encoded.fit_seconds,
        encode_us=1e6 * encoded.encode_seconds / len(database),
        query_ms=1e3 * encoded.query_seconds / len(queries),
    )


def fit_and_encode(
    hasher: Hasher, dataset: datasets.Dataset, *, progress: ProgressCallback | None = None
) -> EncodedDataset:
    """Fit a hasher and encode the database and the queries; take the time of each step.

    Parameters
    ----------
    hasher
        The hasher to fit, in place.
    dataset
        Vectors to learn from, to search in and to search with.
    progress
        Called with (stage, done, total).

    Returns
    -------
    The hasher, the codes and the seconds.

    Examples
    --------
    >>> from bitfold.hashers import LSH
    >>> fit_and_encode(LSH(8, random_state=0), datasets.digits()).database
    Codes(1497 x 8 bits)
    """
    times = [time.perf_counter()]
    hasher.fit(dataset.train, dataset.labels, progress=progress)
    times.append(time.perf_counter())
    database = hasher.encode(dataset.database, progress=progress)
    times.append(time.perf_counter())
    queries = hasher.encode(dataset.queries)
    times.append(time.perf_counter())
    return EncodedDataset(hasher, database, queries, *np.diff(times).tolist())


def measure_codes(
    queries: Codes,
    database: Codes,
    relevance: Relevance,
    *,
    cutoffs: Sequence[int] = CUTOFFS,
    radius: int = RADIUS,
    progress: ProgressCallback | None = None,
) -> CodeQuality:
    """Measure how well codes rank and look up what is relevant.

    Parameters
    ----------
    queries, database
        Codes of the same length.
    relevance
        Which database items are relevant to which query.
    cutoffs
        Numbers of first results to measure; those above the size of the database are left out.
    radius
        Hamming radius of the lookup.
    progress
        Called with (stage, done, total) while codes are compared.

    Returns
    -------
    Means over the queries; ties count as the mean over all their orders.

    Raises
    ------
    ParameterError
        If the codes differ in length, or the relevance has other numbers of rows.

    Examples
    --------
    >>> codes = Codes.from_bits([[0, 0], [0, 1], [1, 1]])
    >>> measure_codes(codes[:1], codes, Relevance.from_labels([0], [0, 0, 1]), radius=0).recall
    0.5
    """
    histograms = metrics.distance_histograms(queries, database, relevance, progress=progress)
    kept = tuple(cutoff for cutoff in cutoffs if cutoff <= len(database))
    curves = metrics.ranking_curves(histograms, kept)
    found = metrics.lookup(histograms, radius)
    return CodeQuality(
        map=float(np.mean(metrics.average_precision(histograms))),
        cutoffs=kept,
        precision_at=tuple(curves.precision.mean(axis=0).tolist()),
        recall_at=tuple(curves.recall.mean(axis=0).tolist()),
        radius=radius,
        precision=found.precision,
        recall=found.recall,
        f1=found.f1,
    )


def warm_up(hasher: Hasher, dataset: datasets.Dataset) -> None:
    """Fit a copy of a hasher on a few rows, so that compiling its kernels is not timed.

    Parameters
    ----------
    hasher
        A hasher; it is not changed.
    dataset
        Where the rows come from.

    Examples
    --------
    >>> from bitfold.hashers import ITQ
    >>> warm_up(ITQ(8), datasets.digits())
    """
    rows = slice(0, WARM_UP_ROWS)
    labels = None if dataset.labels is None else dataset.labels[rows]
    with warnings.catch_warnings(action="ignore"):
        try:
            small = clone(hasher).set_params(n_bits=min(hasher.get_params()["n_bits"], 8))
            small.fit(dataset.database[rows], labels).encode(dataset.queries[:2])
        except ValueError:
            return  # too few rows for this method; the real fit has more
