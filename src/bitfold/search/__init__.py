"""Search: exact Hamming ranking, radius lookup, re-ranking, and an index that survives a crash."""

from bitfold.search.index import Entries, HammingIndex, RadiusHits
from bitfold.search.rerank import Hits, RerankByEmbedding, RerankByVectors, Reranker

__all__ = [
    "Entries",
    "HammingIndex",
    "Hits",
    "RadiusHits",
    "RerankByEmbedding",
    "RerankByVectors",
    "Reranker",
]
