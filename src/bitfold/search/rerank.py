"""Re-ranking: order a short list of Hamming candidates by something finer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._types import Float32Array, Ids
from bitfold.codes import Codes
from bitfold.search.contract import Hits
from bitfold.search.ids import integers

_BLOCK_FLOATS = 1 << 22
"""Floats of candidates that are looked at together: 16 MB."""


def reorder(ids: Ids, distances: Float32Array, k: int) -> Hits:
    """Sort candidates by their new distance, ties by id, and keep k."""
    order = np.lexsort((ids, distances), axis=1)[:, :k]
    return Hits(
        np.take_along_axis(ids, order, axis=1), np.take_along_axis(distances, order, axis=1)
    )


@dataclass(frozen=True)
class RerankByVectors:
    """Exact distances on the original vectors.

    Parameters
    ----------
    vectors
        The originals, an array or a memory map; row i belongs to id i, or to ``ids[i]``.
    queries
        The queries' originals, one for each query code.
    n_candidates
        Number of nearest codes to measure per query.
    metric
        "l2", "ip" (negative inner product) or "cosine" (1 - cosine): smaller is nearer.
    ids
        Ids of the rows of ``vectors``, if they are not 0, 1, 2, …
    """

    vectors: Any
    queries: Any
    n_candidates: int = 200
    metric: str = "l2"
    ids: ArrayLike | None = None

    def measure(self, ids: Ids, codes_of: Callable[[Ids], Codes]) -> Float32Array:
        """Distances of the candidates of all queries to them."""
        _validation.check_choice(self.metric, "metric", "RerankByVectors", ("l2", "ip", "cosine"))
        vectors = _validation.check_matrix(self.vectors, "RerankByVectors", name="vectors")
        queries = _validation.check_matrix(self.queries, "RerankByVectors", name="queries")
        if queries.shape != (len(ids), vectors.shape[1]):
            demand = f"of shape ({len(ids)}, {vectors.shape[1]})"
            _validation.raise_invalid(
                "queries", "RerankByVectors", demand, f"shape {queries.shape}"
            )
        rows = self._rows_of(ids, len(vectors))
        out = np.empty(ids.shape, np.float32)
        for part in _blocks(len(ids), ids.shape[1] * vectors.shape[1]):
            # Each row is read once, forward: candidates repeat, and a memory map likes order.
            needed, place = np.unique(rows[part], return_inverse=True)
            found = np.asarray(vectors[needed], np.float32)
            _validation.check_finite(found, "RerankByVectors", name="vectors", rows=needed)
            asked = np.asarray(queries[part], np.float32)
            _validation.check_finite(asked, "RerankByVectors", name="queries", first_row=part.start)
            out[part] = _METRICS[self.metric](found[place.reshape(rows[part].shape)], asked)
        return out

    def _rows_of(self, ids: Ids, n_rows: int) -> Ids:
        """Return the row of each id."""
        if self.ids is None:
            missing = (ids < 0) | (ids >= n_rows)
            rows = ids
        else:
            known = integers(self.ids, "RerankByVectors")
            if known.shape != (n_rows,):
                demand = f"one id for each of the {n_rows} rows of vectors"
                _validation.raise_invalid("ids", "RerankByVectors", demand, f"shape {known.shape}")
            order = np.argsort(known, kind="stable")
            place = np.minimum(np.searchsorted(known, ids, sorter=order), n_rows - 1)
            rows = order[place]
            missing = known[rows] != ids
        if missing.any():
            wanted = f"complete: a row for id {ids[missing][0]}"
            _validation.raise_invalid(
                "vectors", "RerankByVectors", wanted, f"{n_rows} rows without it"
            )
        return rows


@dataclass(frozen=True)
class RerankByEmbedding:
    """The query's reals against the candidates' bits: no originals needed.

    The distance is Σ |y_j| over the bits j that differ from the sign of y_j: Hamming distance
    with every bit weighted by how sure the query is of it, which also breaks Hamming's ties.

    Parameters
    ----------
    reals
        ``hasher.embed(Q)``, one row for each query code.
    n_candidates
        Number of nearest codes to measure per query.
    """

    reals: Any
    n_candidates: int = 200

    def measure(self, ids: Ids, codes_of: Callable[[Ids], Codes]) -> Float32Array:
        """Distances of the candidates of all queries to them."""
        reals = np.asarray(
            _validation.check_matrix(self.reals, "RerankByEmbedding", name="reals"), np.float32
        )
        _validation.check_finite(reals, "RerankByEmbedding", name="reals")
        out = np.empty(ids.shape, np.float32)
        n_bits = codes_of(ids[:1, :1].ravel()).n_bits
        if reals.shape != (len(ids), n_bits):
            demand = f"of shape ({len(ids)}, {n_bits})"
            _validation.raise_invalid("reals", "RerankByEmbedding", demand, f"shape {reals.shape}")
        for part in _blocks(len(ids), ids.shape[1] * n_bits):
            bits = codes_of(ids[part].ravel()).unpack().reshape(*ids[part].shape, n_bits)
            differ = bits != (reals[part, None] > 0)
            out[part] = np.einsum("qcb,qb->qc", differ, np.abs(reals[part]), dtype=np.float32)
        return out


def _blocks(n: int, floats_each: int) -> Iterator[slice]:
    step = max(1, _BLOCK_FLOATS // max(floats_each, 1))
    return (slice(i, min(i + step, n)) for i in range(0, n, step))


def _l2(found: Float32Array, asked: Float32Array) -> Float32Array:
    difference = found - asked[:, None]
    distances: Float32Array = np.sqrt(np.einsum("qcd,qcd->qc", difference, difference))
    return distances


def _ip(found: Float32Array, asked: Float32Array) -> Float32Array:
    products: Float32Array = -np.einsum("qcd,qd->qc", found, asked)
    return products


def _cosine(found: Float32Array, asked: Float32Array) -> Float32Array:
    lengths = np.linalg.norm(found, axis=2) * np.linalg.norm(asked, axis=1)[:, None]
    products = -_ip(found, asked)
    # A zero vector points nowhere: it is as far as one at a right angle.
    cosines = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    distances: Float32Array = np.float32(1) - cosines
    return distances


_METRICS: dict[str, Callable[[Float32Array, Float32Array], Float32Array]] = {
    "l2": _l2,
    "ip": _ip,
    "cosine": _cosine,
}
