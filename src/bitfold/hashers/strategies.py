"""Strategies by name: the one place where a name becomes its default object."""

from __future__ import annotations

from typing import Any, TypeVar

from sklearn.base import clone

from bitfold import embedding as e
from bitfold._validation import raise_invalid
from bitfold.base_set import BaseStrategy, KMeansBase, KMedoidsBase, RandomBase

T = TypeVar("T")

BASES: dict[str, type[BaseStrategy]] = {
    "kmeans": KMeansBase,
    "kmedoids": KMedoidsBase,
    "random": RandomBase,
}

EMBEDDINGS: dict[str, type[e.Embedding]] = {
    "tsne": e.TSNE,
    "sne": e.SNE,
    "ee": e.ElasticEmbedding,
    "le": e.RelaxedLaplacian,
    "le_b": e.LaplacianEigenmaps,
    "lle": e.LLE,
    "isomap": e.Isomap,
    "dm": e.DiffusionMaps,
    "pca": e.PCA,
}


def base_strategy(value: Any, owner: str, default: BaseStrategy) -> BaseStrategy:
    """Return the strategy that chooses the base set; a name has the default's number of points."""
    if isinstance(value, str) and value in BASES:
        return BASES[value](default.n_base_points)
    return _strategy(value, "base", owner, BASES, BaseStrategy, default)


def embedding_strategy(value: Any, owner: str) -> e.Embedding:
    """Return the strategy that embeds the base set."""
    if isinstance(value, str) and value in EMBEDDINGS:
        return EMBEDDINGS[value]()
    return _strategy(value, "embedding", owner, EMBEDDINGS, e.Embedding, e.TSNE())


def _strategy(
    value: Any, name: str, owner: str, names: dict[str, Any], kind: type[Any], default: T
) -> T:
    if value is None:
        return default
    if not isinstance(value, kind):
        choices = ", ".join(repr(known) for known in names)
        raise_invalid(
            name, owner, f"one of {choices}, or an object of {kind.__name__}", repr(value)
        )
    copy: T = clone(value)
    return copy
