"""The names of base set strategies and embeddings, as hashers and the command line accept them."""

from __future__ import annotations

from typing import Any

from bitfold import _validation
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
"""Strategies that choose the base set, by name."""

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
"""Methods that embed the base set, by name."""


def check_base(value: Any, owner: str, default: BaseStrategy) -> BaseStrategy:
    """Return the strategy for a parameter ``base``; one made by name has the default's size."""
    size = default.n_base_points
    return _validation.check_strategy(
        value, "base", owner, BASE_STRATEGIES, BaseStrategy, default, n_base_points=size
    )
