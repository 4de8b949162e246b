"""Learned codes against the sign bits of sentence-transformers, at equal bytes, on the text set.

``python -m benchmarks.ubinary`` prints P@10, the fraction of the first ten hits in the section of
the query: for the last 500 queries, and for the first 500, which settings may be chosen by.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from reproduction.data.text_set import load_text
from sentence_transformers.util.quantization import semantic_search_faiss

import bitfold as bf
from bitfold.integrations.sentence_transformers import quantize_embeddings

N_BITS, TOP_K = 256, 10

TUNING, HELD_OUT = slice(0, 500), slice(500, 1000)


class Precision(NamedTuple):
    """P@10 of one way to search, for both halves of the queries."""

    name: str
    tuning: float
    held_out: float


def measure() -> list[Precision]:
    """Return P@10 of all ways to search with codes of 32 bytes."""
    data = load_text()
    X, Q = data.database, data.queries
    hasher = bf.DualHasher(N_BITS, random_state=0).fit(X)
    ways: dict[str, Callable[[], Any]] = {
        "ubinary, Hamming": lambda: search_signs(X, Q, rescore=False),
        "DualHasher(256), Hamming": lambda: search_codes(hasher, X, Q, asymmetric=False),
        "ubinary, rescored by the float query": lambda: search_signs(X, Q, rescore=True),
        "DualHasher(256), asymmetric": lambda: search_codes(hasher, X, Q, asymmetric=True),
    }
    results = []
    for name, search in ways.items():
        is_relevant = data.labels[search()] == data.query_labels[:, None]
        halves = [float(is_relevant[part].mean()) for part in (TUNING, HELD_OUT)]
        results.append(Precision(name, *halves))
    return results


def search_signs(X: Any, Q: Any, *, rescore: bool) -> Any:
    """Return the ids of the nearest sign bits, as sentence-transformers searches them."""
    corpus = quantize_embeddings(X, "ubinary")
    found = semantic_search_faiss(
        Q,
        corpus_embeddings=corpus,
        corpus_precision="ubinary",
        top_k=TOP_K,
        rescore=rescore,
        rescore_multiplier=10,
    )
    return np.array([[hit["corpus_id"] for hit in hits] for hits in found[0]])


def search_codes(hasher: bf.DualHasher, X: Any, Q: Any, *, asymmetric: bool) -> Any:
    """Return the ids of the nearest learned codes, by bits or by the embedding of the query."""
    index = bf.HammingIndex(N_BITS)
    index.add(bf.Codes(quantize_embeddings(X, "ubinary", hasher=hasher), N_BITS))
    queries = bf.Codes(quantize_embeddings(Q, "ubinary", hasher=hasher), N_BITS)
    embedding = hasher.embed(Q) if asymmetric else None
    return index.search(queries, TOP_K, query_embedding=embedding).ids


def main() -> None:
    """Print a table."""
    print(f"{'32 bytes per sentence':40}{'first 500':>12}{'last 500':>12}")
    for name, tuning, held_out in measure():
        print(f"{name:40}{tuning:12.3f}{held_out:12.3f}")


if __name__ == "__main__":
    main()
