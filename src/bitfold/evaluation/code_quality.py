"""Quality of codes over the whole list and within a radius, aware of ties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bitfold import metrics
from bitfold._types import ProgressCallback
from bitfold.codes import Codes
from bitfold.metrics import Relevance

CUTOFFS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000)
"""Default numbers of first results at which precision and recall are measured."""

RADIUS = 2
"""Default Hamming radius of a lookup."""


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
