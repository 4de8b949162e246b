"""Search: exact ranking by codes or embeddings, radius lookup, re-ranking, and a durable index."""

from bitfold.search.contract import CodeIndex, Reranker, check_codes
from bitfold.search.duplicates import (
    Matches,
    default_radius,
    group_duplicates,
    match_duplicates,
)
from bitfold.search.filters import check_among
from bitfold.search.ids import (
    IdAssigner,
    check_ids,
    check_unique_ids,
    raise_duplicate_ids,
    raise_unknown_ids,
)
from bitfold.search.index import HammingIndex
from bitfold.search.merge import group_radius_hits, merge_hits, merge_radius_hits
from bitfold.search.queries import check_query_embedding
from bitfold.search.radius_choice import RadiusQuality, measure_radii
from bitfold.search.rerank import (
    RerankByEmbedding,
    RerankByVectors,
    check_rerank,
    count_candidates,
    rerank_hits,
)
from bitfold.search.results import Batch, Buckets, Clusters, Hits, Pairs, RadiusHits
from bitfold.search.vector_check import VectorCheck

__all__ = [
    "Batch",
    "Buckets",
    "Clusters",
    "CodeIndex",
    "HammingIndex",
    "Hits",
    "IdAssigner",
    "Matches",
    "Pairs",
    "RadiusHits",
    "RadiusQuality",
    "RerankByEmbedding",
    "RerankByVectors",
    "Reranker",
    "VectorCheck",
    "check_among",
    "check_codes",
    "check_ids",
    "check_query_embedding",
    "check_rerank",
    "check_unique_ids",
    "count_candidates",
    "default_radius",
    "group_duplicates",
    "group_radius_hits",
    "match_duplicates",
    "measure_radii",
    "merge_hits",
    "merge_radius_hits",
    "raise_duplicate_ids",
    "raise_unknown_ids",
    "rerank_hits",
]
