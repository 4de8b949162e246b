"""The names of base set strategies and embeddings, as hashers and the command line accept them."""

from __future__ import annotations

from bitfold.base_set import BaseStrategy, KMeansBase, KMedoidsBase, RandomBase
from bitfold.embedding import (
    LLE,
    PCA,
    SNE,
    TSNE,
    DiffusionMaps,
    ElasticEmbedding,
    Embedding,
    Isomap,
    LaplacianEigenmaps,
    RelaxedLaplacian,
)

__all__ = ["BASE_STRATEGIES", "EMBEDDINGS"]

BASE_STRATEGIES: dict[str, type[BaseStrategy]] = {
    "kmeans": KMeansBase,
    "kmedoids": KMedoidsBase,
    "random": RandomBase,
}
"""Strategies that choose the base set, by name; the first is the default."""

EMBEDDINGS: dict[str, type[Embedding]] = {
    "tsne": TSNE,
    "sne": SNE,
    "ee": ElasticEmbedding,
    "le": RelaxedLaplacian,
    "le_b": LaplacianEigenmaps,
    "lle": LLE,
    "isomap": Isomap,
    "dm": DiffusionMaps,
    "pca": PCA,
}
"""Methods that embed the base set, by name; the first is the default."""
