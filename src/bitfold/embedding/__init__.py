"""Step 2, the embedding of the base set: one file per manifold method."""

from bitfold.embedding.base import (
    Embedding,
    EmbeddingContext,
    MaxComponents,
    SpectralEmbedding,
    StochasticEmbedding,
)
from bitfold.embedding.diffusion import DiffusionMaps
from bitfold.embedding.elastic import ElasticEmbedding
from bitfold.embedding.isomap import Isomap
from bitfold.embedding.laplacian import LaplacianEigenmaps
from bitfold.embedding.lle import LLE
from bitfold.embedding.pca import PCA
from bitfold.embedding.perplexity import perplexity_affinities
from bitfold.embedding.relaxed_laplacian import RelaxedLaplacian
from bitfold.embedding.sne import SNE
from bitfold.embedding.stochastic import cooccurrence_affinities
from bitfold.embedding.tsne import TSNE

__all__ = [
    "LLE",
    "PCA",
    "SNE",
    "TSNE",
    "DiffusionMaps",
    "ElasticEmbedding",
    "Embedding",
    "EmbeddingContext",
    "Isomap",
    "LaplacianEigenmaps",
    "MaxComponents",
    "RelaxedLaplacian",
    "SpectralEmbedding",
    "StochasticEmbedding",
    "cooccurrence_affinities",
    "perplexity_affinities",
]
