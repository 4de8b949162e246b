"""Learned codes against the sign bits of sentence-transformers, at equal bytes, on the text set.

P@10 is the fraction of the first ten hits in the section of the query. It is measured on the last
500 queries; settings may be chosen by the first 500, whose P@10 is in the details.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from reproduction.data.text_set import load_text
from sentence_transformers.util.quantization import semantic_search_faiss

import bitfold as bf
from benchmarks.measuring import Ratio
from bitfold.datasets import Dataset
from bitfold.integrations.sentence_transformers import quantize_embeddings

N_BITS, TOP_K = 256, 10

TUNING, HELD_OUT = slice(0, 500), slice(500, 1000)


def run() -> list[Ratio]:
    """Return P@10 of codes of 32 bytes as a multiple of that of sign bits, for two ways to search.

    By the query's numbers means that sign bits are rescored by them, and that learned codes are
    ranked by the embedding of the query.
    """
    data = load_text()
    hasher = bf.DualHasher(N_BITS, random_state=0).fit(data.database)
    ways = {"Hamming distance": False, "the query's numbers": True}
    return [
        compare(
            f"P@10 by {name}, DualHasher({N_BITS})",
            search_codes(hasher, data, asymmetric=uses_numbers),
            search_signs(data, rescore=uses_numbers),
            data,
        )
        for name, uses_numbers in ways.items()
    ]


def compare(name: str, ours: Any, theirs: Any, data: Dataset) -> Ratio:
    """Return the ratio of P@10 of learned codes to that of sign bits."""
    codes, signs = (measure_precision(found, data, HELD_OUT) for found in (ours, theirs))
    tuning = [measure_precision(found, data, TUNING) for found in (ours, theirs)]
    note = f"{codes:.3f}, ubinary {signs:.3f}; first 500 {tuning[0]:.3f}, {tuning[1]:.3f}"
    return Ratio(name, codes / signs, 1, at_least=True, note=note)


def measure_precision(found: Any, data: Dataset, part: slice) -> float:
    """Return P@10 of a part of the queries, from the ids of their first ten hits."""
    is_relevant = data.labels[found[part]] == data.query_labels[part, None]
    return float(is_relevant.mean())


def search_signs(data: Dataset, *, rescore: bool) -> Any:
    """Return the ids of the nearest sign bits, as sentence-transformers searches them."""
    found = semantic_search_faiss(
        data.queries,
        corpus_embeddings=quantize_embeddings(data.database, "ubinary"),
        corpus_precision="ubinary",
        top_k=TOP_K,
        rescore=rescore,
        rescore_multiplier=10,
    )
    return np.array([[hit["corpus_id"] for hit in hits] for hits in found[0]])


def search_codes(hasher: bf.DualHasher, data: Dataset, *, asymmetric: bool) -> Any:
    """Return the ids of the nearest learned codes, by bits or by the embedding of the query."""
    index = bf.HammingIndex(N_BITS)
    index.add(bf.Codes(quantize_embeddings(data.database, "ubinary", hasher=hasher), N_BITS))
    queries = bf.Codes(quantize_embeddings(data.queries, "ubinary", hasher=hasher), N_BITS)
    embedding = hasher.embed(data.queries) if asymmetric else None
    return index.search(queries, TOP_K, query_embedding=embedding).ids
