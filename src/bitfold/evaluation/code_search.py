"""A search with codes, as users run it, and the baseline to compare it with."""

from __future__ import annotations

from typing import Any

from bitfold import metrics
from bitfold.codes import Codes
from bitfold.evaluation.exact_search import ExactResult
from bitfold.evaluation.top_quality import N_CANDIDATES, N_NEAREST, TopQuality, measure_hits
from bitfold.hashers import ITQ, LSH, Hasher
from bitfold.metrics import Relevance
from bitfold.search import HammingIndex, Hits


def search_index(
    index: HammingIndex, hasher: Hasher, queries: Any, k: int, *, symmetric: bool = False
) -> Hits:
    """Search an index for vectors, as ``bitfold search`` does.

    By default the search is asymmetric: the reals behind the bits of a query are compared with the
    stored bits.

    All measures of first hits use this function, so they describe the hits that users get.

    Parameters
    ----------
    index
        Codes of the hasher.
    hasher
        A fitted hasher.
    queries
        Vectors, one per row.
    k
        Number of hits per query.
    symmetric
        Whether to compare codes only, by Hamming distance, as ``bitfold search --symmetric`` does.

    Returns
    -------
    Ids and distances, nearest first, ties by id.

    Raises
    ------
    DataError
        If the vectors cannot be used.
    ModelMismatchError
        If the index has codes of another model.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [0.0, 2.0], [5.0, -1.0]])
    >>> hasher = LSH(8, random_state=0).fit(X)
    >>> index = HammingIndex(8)
    >>> index.add(hasher.encode(X))
    >>> search_index(index, hasher, X[2:], 1).ids.tolist()
    [[2]]
    """
    embedding = None if symmetric else hasher.embed(queries)
    return index.search(hasher.encode(queries), k, query_embedding=embedding)


def measure_search(
    hasher: Hasher,
    database: Codes,
    queries: Any,
    exact: ExactResult,
    *,
    symmetric: bool = False,
    known_map: float | None = None,
) -> TopQuality:
    """Search codes with a fitted hasher, and measure the hits.

    Parameters
    ----------
    hasher
        A fitted hasher.
    database
        Its codes of the database.
    queries
        Vectors, one per row.
    exact
        What the exact vectors find, from :func:`search_exact`.
    symmetric
        Whether to search by Hamming distance; by default the search is asymmetric, see
        :func:`search_index`.
    known_map
        The mean average precision, if it has been computed; with labels it is computed otherwise.

    Returns
    -------
    The quality of the first 100 hits.

    Raises
    ------
    ParameterError
        If ``exact`` is for another number of queries.
    DataError
        If the queries cannot be used.

    Examples
    --------
    >>> from bitfold import datasets
    >>> from bitfold.evaluation import search_exact
    >>> data = datasets.digits()
    >>> hasher = ITQ(32, random_state=0).fit(data.database)
    >>> exact = search_exact(data.database, data.queries, data.relevance)
    >>> quality = measure_search(hasher, hasher.encode(data.database), data.queries, exact)
    >>> quality.recall_10 < quality.recall_10_from_100 < 1
    True
    """
    with HammingIndex(database.n_bits) as index:
        index.add(database)
        hits = search_index(index, hasher, queries, N_CANDIDATES, symmetric=symmetric)
        n_distinct = index.n_distinct
    if known_map is None and exact.relevance is not None:
        known_map = measure_map(hasher, database, queries, exact.relevance, symmetric=symmetric)
    tied = None
    if hits.distances.shape[1] >= N_NEAREST:
        tied = float(metrics.all_tied(hits.distances, N_NEAREST).mean())
    return measure_hits(
        hits.ids,
        exact.ids,
        exact.relevance,
        known_map=known_map,
        tied=tied,
        n_distinct=n_distinct,
    )


def measure_map(
    hasher: Hasher, database: Codes, queries: Any, relevance: Relevance, *, symmetric: bool = False
) -> float:
    """Return the mean average precision of a search that returns the whole list.

    Parameters
    ----------
    hasher
        A fitted hasher.
    database
        Its codes of the database.
    queries
        Vectors, one per row.
    relevance
        Which items are relevant to which query.
    symmetric
        Whether to rank by Hamming distance; by default the ranking is asymmetric.

    Returns
    -------
    A value between 0 and 1, the mean over all orders of ties.

    Raises
    ------
    DataError
        If the queries cannot be used, or ``relevance`` is for other numbers of rows.

    Examples
    --------
    >>> hasher = LSH(4, random_state=0).fit([[0.0, 1.0], [2.0, 1.0]])
    >>> database = hasher.encode([[0.0, 1.0], [2.0, 1.0]])
    >>> measure_map(hasher, database, [[2.0, 1.0]], Relevance.from_labels([1], [0, 1]))
    1.0
    """
    if symmetric:
        return metrics.mean_average_precision(hasher.encode(queries), database, relevance)
    histograms = metrics.embedding_histograms(hasher.embed(queries), database, relevance)
    return float(metrics.average_precision(histograms).mean())


def find_metric(hasher: Hasher) -> str:
    """Return the metric that the codes of a hasher stand for.

    Parameters
    ----------
    hasher
        A fitted hasher.

    Returns
    -------
    "cosine" if the hasher scales vectors to unit length, "l2" otherwise.

    Examples
    --------
    >>> find_metric(LSH(2, normalize=True).fit([[0.0, 1.0], [2.0, 1.0]]))
    'cosine'
    """
    return "cosine" if hasher.normalize_ else "l2"


def make_baseline(hasher: Hasher, seed: int = 0) -> Hasher:
    """Return a simple hasher of the same code length, to compare a fitted hasher with.

    Parameters
    ----------
    hasher
        A fitted hasher.
    seed
        Random state of the baseline.

    Returns
    -------
    An unfitted :class:`ITQ`; :class:`LSH` if the hasher is an ITQ itself or has more bits than
    features, which ITQ cannot have.

    Examples
    --------
    >>> make_baseline(LSH(2).fit([[0.0, 1.0], [2.0, 1.0]]))
    ITQ(n_bits=2, random_state=0)
    """
    is_possible = hasher.n_bits_ <= hasher.n_features_in_ and not isinstance(hasher, ITQ)
    kind: type[ITQ] | type[LSH] = ITQ if is_possible else LSH
    return kind(hasher.n_bits_, normalize=hasher.normalize_, random_state=seed)
