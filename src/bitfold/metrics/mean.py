"""MAP: the mean over the queries of their average precision."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold.codes import Codes
from bitfold.metrics.by_id import average_precision_by_id
from bitfold.metrics.histograms import distance_histograms
from bitfold.metrics.ranking import average_precision
from bitfold.metrics.relevance import Relevance, as_relevance


def mean_average_precision(
    queries: Codes,
    database: Codes,
    relevance: Relevance | ArrayLike,
    labels: ArrayLike | None = None,
    *,
    cutoff: int | None = None,
    ties: str = "expected",
) -> float:
    """MAP of ranking the database by Hamming distance.

    Parameters
    ----------
    queries, database
        Codes of equal length.
    relevance
        Which codes are relevant to which query; or the labels of the queries, see
        :meth:`Relevance.labels`.
    labels
        The labels of the database, where relevance is given by labels.
    cutoff
        Look at the first so many only, as in MAP@N; see :func:`ranking_curves`.
    ties
        ``"expected"``: over all orders of each tie; ``"by_id"``: in the order of the database.

    Examples
    --------
    >>> database = Codes.from_bits([[0, 0], [0, 1], [1, 1]])
    >>> round(mean_average_precision(database[:1], database, ["a"], ["a", "b", "a"]), 4)
    0.8333
    """
    _validation.check_choice(ties, "ties", "mean_average_precision", ("expected", "by_id"))
    if ties == "by_id":
        checked = as_relevance(relevance, labels, len(queries), len(database))
        return float(average_precision_by_id(queries, database, checked, cutoff).mean())
    histograms = distance_histograms(queries, database, relevance, labels)
    return float(average_precision(histograms, cutoff).mean())


def map_scorer(hasher: Any, X: Any, y: ArrayLike) -> float:
    """MAP of every row querying the others: a ``scoring`` for scikit-learn's model selection."""
    codes = hasher.encode(X)
    histograms = distance_histograms(codes, codes, y, y)
    # Each row finds itself at distance 0; it is no answer to its own query.
    histograms.found[:, 0] -= 1
    histograms.relevant[:, 0] -= 1
    return float(average_precision(histograms).mean())
