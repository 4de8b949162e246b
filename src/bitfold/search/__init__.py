"""Search: exact Hamming ranking, radius lookup, re-ranking, and an index that survives a crash."""

from bitfold.search.contract import (
    MAX_BITS,
    Batch,
    CodeIndex,
    Hits,
    RadiusHits,
    Reranker,
    check_codes,
)
from bitfold.search.index import HammingIndex
from bitfold.search.rerank import RerankByEmbedding, RerankByVectors

__all__ = [
    "MAX_BITS",
    "Batch",
    "CodeIndex",
    "HammingIndex",
    "Hits",
    "RadiusHits",
    "RerankByEmbedding",
    "RerankByVectors",
    "Reranker",
    "check_codes",
]
