"""Measure one code on one data set: size, quality of its rankings, and times."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import faiss
import numpy as np

from bitfold import Codes, HammingIndex
from bitfold.datasets import Dataset
from bitfold.search import Hits
from reproduction.records import Case
from reproduction.shared_types import AnyArray, Float32Array, ProgressCallback, Result
from reproduction.which_code.asymmetric import score_bits, unpack_signs
from reproduction.which_code.contenders import (
    EXACT,
    SIGNS,
    BinaryEncoder,
    find_contender,
    make_encoder,
)
from reproduction.which_code.quality import (
    JudgedQueries,
    hold_out,
    measure_distances,
    measure_hamming,
)

HAMMING, ASYMMETRIC, COARSE, DISTANCE = "Hamming", "asymmetric", "coarse bits", "distance"
"""Rankings: of codes, of reals against codes, of the coarse bits alone, and of quantizers."""

K = 10
"""Number of results of a timed search."""

_WARM_UP_ROWS = 2000
_N_TIMED_RUNS = 3


def measure_contender(
    case: Case, data: Dataset, progress: ProgressCallback | None = None
) -> Result:
    """Return sizes, seconds to fit, and the quality of each ranking by its name."""
    queries, contender = hold_out(data), find_contender(case)
    n_items, n_features = data.database.shape
    sizes = {"n_items": n_items, "n_features": n_features, "n_queries": len(queries.vectors)}
    if not contender.is_hasher and contender.method != SIGNS:
        return {**sizes, **measure_quantizer(case.method, data, queries)}
    labels = data.labels if contender.uses_labels else None
    warm_up(make_encoder(case), data, labels)
    return {**sizes, **measure_encoder(make_encoder(case), data, queries, labels)}


def measure_encoder(
    encoder: BinaryEncoder, data: Dataset, queries: JudgedQueries, labels: AnyArray | None = None
) -> Result:
    """Measure binary codes: by Hamming distance, asymmetrically, and by their coarse bits.

    The time to fit includes encoding and indexing the database; the time to search includes
    encoding the queries.
    """
    start = time.perf_counter()
    codes = encoder.fit(data.train, labels).encode(data.database)
    index = _make_index(codes)
    fit_seconds = time.perf_counter() - start
    query_codes = encoder.encode(queries.vectors)
    rankings = {
        HAMMING: {
            **measure_hamming(query_codes, codes, index, queries),
            "search_ms": _time_search(
                lambda Q: index.search(encoder.encode(Q), K), queries.vectors
            ),
        },
        ASYMMETRIC: _measure_asymmetric(encoder, codes, index, queries),
    }
    n_coarse_bits = getattr(encoder, "n_coarse_bits_", 0)
    if n_coarse_bits:
        parts = query_codes.prefix(n_coarse_bits), codes.prefix(n_coarse_bits)
        rankings[COARSE] = measure_hamming(*parts, _make_index(parts[1]), queries)
    return {"n_bytes": codes.n_bytes, "fit_seconds": fit_seconds, "rankings": rankings}


def _make_index(codes: Codes) -> HammingIndex:
    index = HammingIndex(n_bits=codes.n_bits)
    index.add(codes)
    return index


def _measure_asymmetric(
    encoder: BinaryEncoder, codes: Codes, index: HammingIndex, queries: JudgedQueries
) -> Result:
    def search(Q: AnyArray) -> Hits:
        return index.search(encoder.encode(Q), K, query_embedding=encoder.embed(Q))

    embedding, signs = encoder.embed(queries.vectors), unpack_signs(codes)
    return {
        **measure_distances(lambda part: score_bits(embedding[part], signs), queries),
        "search_ms": _time_search(search, queries.vectors),
    }


def measure_quantizer(factory: str, data: Dataset, queries: JudgedQueries) -> Result:
    """Measure an index of faiss, or the exact vectors."""
    X, Q = _to_float32(data.database), _to_float32(queries.vectors)
    index = faiss.index_factory(X.shape[1], factory)
    start = time.perf_counter()
    index.train(X)
    index.add(X)
    fit_seconds = time.perf_counter() - start
    quality = measure_distances(lambda part: _list_distances(index, Q[part]), queries)
    search_ms = _time_search(lambda rows: index.search(rows, K), Q)
    n_bytes = data.database[:1].nbytes if factory == EXACT else index.sa_code_size()
    return {
        "n_bytes": n_bytes,
        "fit_seconds": fit_seconds,
        "rankings": {DISTANCE: {**quality, "search_ms": search_ms}},
    }


def _to_float32(X: AnyArray) -> Float32Array:
    return np.ascontiguousarray(X, np.float32)


def _list_distances(index: Any, queries: Float32Array) -> Float32Array:
    """Return the distances of an index of faiss to all rows, in the order of their ids."""
    distances, ids = index.search(queries, index.ntotal)
    out = np.empty_like(distances)
    np.put_along_axis(out, ids, distances, axis=1)
    return np.asarray(out)


def warm_up(encoder: BinaryEncoder, data: Dataset, labels: AnyArray | None) -> None:
    """Fit on a few rows, so that compiling kernels is not timed."""
    rows = slice(0, _WARM_UP_ROWS)
    with warnings.catch_warnings(action="ignore"):
        encoder.fit(data.train[rows], None if labels is None else labels[rows])
        encoder.encode(data.database[rows])


def _time_search(search: Callable[[AnyArray], object], queries: AnyArray) -> float:
    """Return milliseconds per query of the best of several searches with all queries at once."""
    search(queries[:2])
    seconds = []
    for _ in range(_N_TIMED_RUNS):
        start = time.perf_counter()
        search(queries)
        seconds.append(time.perf_counter() - start)
    return 1e3 * min(seconds) / len(queries)
