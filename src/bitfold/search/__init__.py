"""Search: exact Hamming ranking, radius lookup, re-ranking, and an index that survives a crash."""

from bitfold.search.index import Entries, HammingIndex, Near
from bitfold.search.rerank import Asymmetric, Hits, Rerank, Reranker

__all__ = ["Asymmetric", "Entries", "HammingIndex", "Hits", "Near", "Rerank", "Reranker"]
