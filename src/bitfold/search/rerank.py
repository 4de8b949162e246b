"""Re-ranking: order the nearest codes by a finer distance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._kernels import weighted
from bitfold._types import Float32Array, Float64Array, Ids, Int64Array
from bitfold.codes import Codes
from bitfold.errors import DataError
from bitfold.search.contract import Reranker
from bitfold.search.ids import check_ids
from bitfold.search.merge import sort_rows
from bitfold.search.queries import check_embedding, make_weights
from bitfold.search.results import Hits

_FLOATS_PER_BLOCK = 1 << 22
"""Number of floats of candidates that are measured together: 16 MB."""


def rerank_hits(hits: Hits, rerank: Reranker, k: int, codes_of: Callable[[Ids], Codes]) -> Hits:
    """Order candidates by a finer distance.

    Parameters
    ----------
    hits
        The candidates of each query.
    rerank
        Measures the candidates.
    k
        Number of items per query. All are returned if there are fewer.
    codes_of
        Returns the codes of some ids.

    Returns
    -------
    The k nearest candidates of each query by the new distance, ties by id. ``n_tied`` is None,
    because items that are not candidates are not measured.

    Examples
    --------
    >>> rerank = RerankByVectors(np.array([[0.0], [3.0], [1.0]]), queries=np.array([[2.0]]))
    >>> hits = Hits(np.array([[0, 1, 2]]), np.array([[0, 0, 0]]))
    >>> rerank_hits(hits, rerank, k=2, codes_of=lambda ids: None)
    Hits(ids=array([[1, 2]]), distances=array([[1., 1.]], dtype=float32), n_tied=None)
    """
    ids, distances = sort_rows(hits.ids, rerank.measure(hits.ids, codes_of), k)
    return Hits(ids, distances.astype(np.float32, copy=False))


def count_candidates(rerank: Reranker, k: int) -> int:
    """Return the number of candidates to measure for k items per query.

    Parameters
    ----------
    rerank
        Measures the candidates.
    k
        Number of items per query.

    Returns
    -------
    The number of candidates of the re-ranker, but at least ``k``.

    Raises
    ------
    ParameterError
        If ``n_candidates`` is not an integer of at least 1.

    Examples
    --------
    >>> count_candidates(RerankByEmbedding(np.zeros((1, 8)), n_candidates=50), k=10)
    50
    """
    owner = type(rerank).__name__
    return max(k, _validation.check_integer(rerank.n_candidates, "n_candidates", owner, low=1))


def check_rerank(rerank: Any, query_embedding: ArrayLike | None) -> None:
    """Raise if both arguments of a search rank by an embedding.

    Parameters
    ----------
    rerank
        The re-ranker of the search, or None.
    query_embedding
        The embedding of the search, or None.

    Raises
    ------
    ParameterError
        If there is an embedding, and the re-ranker uses one too.

    Examples
    --------
    >>> check_rerank(None, query_embedding=np.zeros((1, 8)))
    """
    if query_embedding is not None and isinstance(rerank, RerankByEmbedding):
        requirement = "None or by vectors, because query_embedding already ranks the codes"
        _validation.raise_invalid("rerank", "search", requirement, "RerankByEmbedding")


@dataclass(frozen=True)
class RerankByVectors:
    """Re-rank by exact distances between the original vectors.

    Parameters
    ----------
    vectors
        Original vectors, an array or a memory map; row i belongs to id i, or to ``ids[i]``.
    queries
        Original vectors of the queries, one row per query code.
    n_candidates
        Number of nearest codes to measure per query.
    metric
        "l2", "ip" (negative inner product) or "cosine" (1 - cosine): smaller is nearer.
    ids
        Ids of the rows of ``vectors``, if they are not 0, 1, 2, …

    Examples
    --------
    >>> from bitfold import HammingIndex
    >>> X = np.array([[0.0, 1.0], [2.0, 3.0], [2.0, 9.0]])
    >>> index = HammingIndex(n_bits=2)
    >>> index.add(Codes.from_bits(X > 1))
    >>> query = np.array([[2.0, 8.0]])
    >>> rerank = RerankByVectors(X, query, n_candidates=3)
    >>> index.search(Codes.from_bits(query > 1), k=2, rerank=rerank).ids.tolist()
    [[2, 1]]
    """

    vectors: Any
    queries: Any
    n_candidates: int = 200
    metric: str = "l2"
    ids: ArrayLike | None = None

    def measure(self, ids: Ids, codes_of: Callable[[Ids], Codes]) -> Float32Array:
        """Return the distance of each candidate to its query.

        Parameters
        ----------
        ids
            Ids of the candidates, one row per query.
        codes_of
            Not used.

        Returns
        -------
        Distances of the same shape as ``ids``.

        Raises
        ------
        ParameterError
            If a parameter has a wrong value or shape.
        DataError
            If ``vectors`` has no row for a candidate, or a row is not finite.
        """
        _validation.check_choice(self.metric, "metric", "RerankByVectors", tuple(METRICS))
        vectors = _validation.check_matrix(self.vectors, "RerankByVectors", name="vectors")
        queries = _validation.check_matrix(self.queries, "RerankByVectors", name="queries")
        _check_shape(queries, (len(ids), vectors.shape[1]), "queries", "RerankByVectors")
        rows = self._rows_of(ids, len(vectors))
        out = np.empty(ids.shape, np.float32)
        for part in _split_rows(len(ids), ids.shape[1] * vectors.shape[1]):
            # Each row is read once, in ascending order: candidates repeat, and memory maps are
            # faster to read forward.
            needed, positions = np.unique(rows[part], return_inverse=True)
            block = np.asarray(vectors[needed], np.float32)
            _validation.check_finite(block, "RerankByVectors", name="vectors", rows=needed)
            query = np.asarray(queries[part], np.float32)
            _validation.check_finite(query, "RerankByVectors", name="queries", first_row=part.start)
            out[part] = METRICS[self.metric](block[positions.reshape(rows[part].shape)], query)
        return out

    def _rows_of(self, ids: Ids, n_rows: int) -> Int64Array:
        """Return the row of each id in ``vectors``."""
        if self.ids is None:
            missing = (ids < 0) | (ids >= n_rows)
            rows = ids
        else:
            known = check_ids(self.ids, "RerankByVectors")
            if known.shape != (n_rows,):
                requirement = f"one id for each of the {n_rows} rows of vectors"
                got = f"shape {known.shape}"
                _validation.raise_invalid("ids", "RerankByVectors", requirement, got)
            order = np.argsort(known, kind="stable")
            positions = np.minimum(np.searchsorted(known, ids, sorter=order), n_rows - 1)
            rows = order[positions]
            missing = known[rows] != ids
        if missing.any():
            raise DataError(
                f"vectors of RerankByVectors has {n_rows} rows, but none for id {ids[missing][0]}."
            )
        return rows


@dataclass(frozen=True)
class RerankByEmbedding:
    """Re-rank by the query's real embedding against the candidates' bits.

    The distances are those of ``index.search(codes, k, query_embedding=...)``, which compares the
    embedding with all stored codes. Use this class to compare it with the candidates only.

    Parameters
    ----------
    query_embedding
        ``hasher.embed(Q)``, one row per query code.
    n_candidates
        Number of nearest codes to measure per query.

    Examples
    --------
    >>> from bitfold import HammingIndex
    >>> index = HammingIndex(n_bits=2)
    >>> index.add(Codes.from_bits([[0, 1], [1, 0]]))
    >>> embedding = np.array([[0.1, 5.0]])
    >>> rerank = RerankByEmbedding(embedding)
    >>> index.search(Codes.from_bits(embedding > 0), k=2, rerank=rerank).ids.tolist()
    [[0, 1]]
    """

    query_embedding: Any
    n_candidates: int = 200

    def measure(self, ids: Ids, codes_of: Callable[[Ids], Codes]) -> Float64Array:
        """Return the distance of each candidate to its query.

        Parameters
        ----------
        ids
            Ids of the candidates, one row per query.
        codes_of
            Returns the codes of some ids.

        Returns
        -------
        Distances of the same shape as ``ids``, in float64.

        Raises
        ------
        ParameterError
            If ``query_embedding`` is not numeric or not finite, or has another shape.
        """
        shape = len(ids), codes_of(ids[:1, :1].ravel()).n_bits
        embedding = check_embedding(self.query_embedding, shape, "RerankByEmbedding")
        signs = Codes.from_bits(embedding > 0).words()
        weights = make_weights(embedding, signs.shape[1])
        out = np.empty(ids.shape)
        for part in _split_rows(len(ids), ids.shape[1] * signs.shape[1]):
            # One call per block: stores fetch codes from a database.
            words = codes_of(ids[part].ravel()).words().reshape(*ids[part].shape, signs.shape[1])
            for row, candidates in enumerate(words, part.start):
                weighted.measure_weighted(candidates.T, signs[row], weights[row], out[row])
        return out


def _check_shape(array: Any, shape: tuple[int, int], name: str, owner: str) -> None:
    if array.shape != shape:
        _validation.raise_invalid(name, owner, f"of shape {shape}", f"shape {array.shape}")


def _split_rows(n_rows: int, floats_per_row: int) -> Iterator[slice]:
    """Yield slices of rows whose candidates fit into a block."""
    step = max(1, _FLOATS_PER_BLOCK // max(floats_per_row, 1))
    return (slice(i, min(i + step, n_rows)) for i in range(0, n_rows, step))


def _l2(candidates: Float32Array, queries: Float32Array) -> Float32Array:
    difference = candidates - queries[:, None]
    distances: Float32Array = np.sqrt(np.einsum("qcd,qcd->qc", difference, difference))
    return distances


def _negative_inner_product(candidates: Float32Array, queries: Float32Array) -> Float32Array:
    products: Float32Array = -np.einsum("qcd,qd->qc", candidates, queries)
    return products


def _cosine(candidates: Float32Array, queries: Float32Array) -> Float32Array:
    lengths = np.linalg.norm(candidates, axis=2) * np.linalg.norm(queries, axis=1)[:, None]
    products = -_negative_inner_product(candidates, queries)
    # A zero vector has no direction: it counts as orthogonal to every other.
    cosines = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    distances: Float32Array = np.float32(1) - cosines
    return distances


METRICS: dict[str, Callable[[Float32Array, Float32Array], Float32Array]] = {
    "l2": _l2,
    "ip": _negative_inner_product,
    "cosine": _cosine,
}
