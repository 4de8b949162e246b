"""The settings that the paper's authors used; the paper itself leaves out most of them.

They are those of the program that an author published for the paper,
https://github.com/chhshen/Hashing-on-Nonlinear-Manifolds; λ = 2 is also in the paper (Sec. III-E).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bitfold import _validation
from bitfold.base_set import KMeansBase
from bitfold.embedding import (
    SNE,
    TSNE,
    ElasticEmbedding,
    Embedding,
    LaplacianEigenmaps,
    RelaxedLaplacian,
)
from bitfold.hashers.strategies import EMBEDDINGS

MAX_ITER = 10
"""Iterations of k-means."""

PERPLEXITY = 10

N_AFFINITIES = 200
"""Nearest base points that have an affinity. The authors keep all; on MNIST and CIFAR-10 these have
more than 99.9 % of the affinity."""

N_GRAPH_NEIGHBORS = 19
"""Neighbors in the graph of the base set: 20, but each base point counts itself."""

SMOOTHNESS = 2.0
"""λ of Sec. III-E."""

RELATIVE_ZERO = 1e-3
"""Eigenvalues up to this number are dropped."""


def published_base_set(n_base_points: int, n_neighbors: int) -> dict[str, Any]:
    """Return the parameters that all hashers with a base set share."""
    return {
        "base": KMeansBase(n_base_points, max_iter=MAX_ITER),
        "n_neighbors": n_neighbors,
        "bandwidth": "kth_distance",
        "normalize": True,
    }


def published_embedding(name: str, owner: str) -> Embedding:
    """Return an embedding of the base set; those without published settings have the defaults."""
    _validation.check_choice(name, "embedding", owner, tuple(EMBEDDINGS))
    return _SETTINGS[name]() if name in _SETTINGS else EMBEDDINGS[name]()


def _tsne() -> Embedding:
    return TSNE(
        PERPLEXITY,
        max_iter=1000,
        learning_rate=500,
        exaggeration=1,
        early_exaggeration=4,
        n_exaggerated_iter=100,
        early_momentum=0.5,
        tolerance=None,
        n_directions="auto",
        n_neighbors=N_AFFINITIES,
    )


def _relaxed_laplacian() -> Embedding:
    return RelaxedLaplacian(N_GRAPH_NEIGHBORS, SMOOTHNESS, min_eigenvalue=RELATIVE_ZERO)


_SETTINGS: dict[str, Callable[[], Embedding]] = {
    "tsne": _tsne,
    "sne": lambda: SNE(PERPLEXITY),
    "ee": lambda: ElasticEmbedding(PERPLEXITY, repulsion="distance"),
    "le": _relaxed_laplacian,
    "le_b": lambda: LaplacianEigenmaps(N_GRAPH_NEIGHBORS),
}
