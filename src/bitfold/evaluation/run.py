"""Fit a hasher, encode a data set, and measure the quality of the codes and the times."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from bitfold import datasets
from bitfold._types import ProgressCallback
from bitfold.codes import Codes
from bitfold.evaluation.code_quality import CUTOFFS, RADIUS, CodeQuality, measure_codes
from bitfold.evaluation.code_search import measure_map, measure_search
from bitfold.evaluation.exact_search import ExactResult
from bitfold.evaluation.top_quality import TopQuality
from bitfold.hashers import Hasher

WARM_UP_ROWS = 300
"""Rows of the fit that compiles the kernels."""


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
    top
        Quality of the asymmetric search, as ``bitfold search`` runs it; None if it was not
        measured.
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
    top: TopQuality | None = None

    def to_record(self) -> dict[str, Any]:
        """Return the values as a flat dictionary for JSON.

        Returns
        -------
        All values by name; MAP, precision and recall by Hamming distance are in percent, those of
        the search between 0 and 1. ``search_map`` is the MAP of the search.
        """
        quality = self.quality
        top = {} if self.top is None else {**self.top.to_record(), "search_map": self.top.map}
        return {
            **top,
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
    exact: ExactResult | None = None,
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
    exact
        What the exact vectors of the data set find, from :func:`search_exact`; if it is given, the
        hits of a search are measured too.
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
    quality = measure_codes(queries, database, dataset.relevance, cutoffs=cutoffs, radius=radius)
    top = None
    if exact is not None:
        known_map = measure_map(hasher, database, dataset.queries, dataset.relevance)
        top = measure_search(hasher, database, dataset.queries, exact, known_map=known_map)
    return Evaluation(
        n_bits=database.n_bits,
        quality=quality,
        fit_seconds=encoded.fit_seconds,
        encode_us=1e6 * encoded.encode_seconds / len(database),
        query_ms=1e3 * encoded.query_seconds / len(queries),
        top=top,
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
