"""MAP: the mean of the average precision over the queries."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold.codes import Codes
from bitfold.metrics.histograms import distance_histograms
from bitfold.metrics.ranking import average_precision
from bitfold.metrics.ranking_by_id import average_precision_by_id
from bitfold.metrics.relevance import Relevance, to_relevance


def mean_average_precision(
    queries: Codes,
    database: Codes,
    relevance: Relevance | ArrayLike,
    labels: ArrayLike | None = None,
    *,
    cutoff: int | None = None,
    ties: str = "expected",
) -> float:
    """Return the MAP of ranking the database by Hamming distance.

    Parameters
    ----------
    queries, database
        Codes of equal length.
    relevance
        Which codes are relevant to which query; or the labels of the queries, see
        :meth:`Relevance.from_labels`.
    labels
        Labels of the database, if ``relevance`` are labels.
    cutoff
        Number N of first items that count, as in MAP@N; see :func:`ranking_curves`. None counts
        all.
    ties
        ``"expected"``: the mean over all orders of each tie; ``"by_id"``: ties in the order of
        the database, as a search returns them.

    Returns
    -------
    The mean over the queries, from 0 to 1.

    Raises
    ------
    ParameterError
        If the codes differ in length, ``relevance`` does not fit the number of codes, or
        ``cutoff`` or ``ties`` is not allowed.

    Examples
    --------
    >>> database = Codes.from_bits([[0, 0], [0, 1], [1, 1]])
    >>> round(mean_average_precision(database[:1], database, ["a"], ["a", "b", "a"]), 4)
    0.8333
    """
    _validation.check_choice(ties, "ties", "mean_average_precision", ("expected", "by_id"))
    if ties == "by_id":
        checked = to_relevance(relevance, labels, len(queries), len(database))
        return float(average_precision_by_id(queries, database, checked, cutoff).mean())
    histograms = distance_histograms(queries, database, relevance, labels)
    return float(average_precision(histograms, cutoff).mean())


def map_scorer(hasher: Any, X: Any, y: ArrayLike) -> float:
    """Return the MAP of every row as a query to the other rows.

    This is a ``scoring`` function for scikit-learn's model selection. Ties count as the mean over
    all their orders.

    Parameters
    ----------
    hasher
        A fitted hasher.
    X
        Vectors.
    y
        Their labels; rows with the same label are relevant to each other.

    Returns
    -------
    The mean over the rows, from 0 to 1.

    Raises
    ------
    DataError
        If ``X`` or ``y`` is not valid.

    Examples
    --------
    >>> from bitfold.hashers import LSH
    >>> X = [[0.0, 1.0], [0.0, 2.0], [5.0, -1.0], [6.0, -2.0]]
    >>> map_scorer(LSH(n_bits=8, random_state=0).fit(X), X, [0, 0, 1, 1])
    1.0
    """
    codes = hasher.encode(X)
    histograms = distance_histograms(codes, codes, y, y)
    # Each row finds itself at distance 0, which does not count.
    histograms.found[:, 0] -= 1
    histograms.relevant[:, 0] -= 1
    return float(average_precision(histograms).mean())
