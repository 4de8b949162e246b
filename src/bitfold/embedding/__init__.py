"""Step 2, the embedding of the base set: one file per manifold method."""

from bitfold.embedding.base import DataGraph, Embedding, Given, Neighbors
from bitfold.embedding.diffusion import DiffusionMaps
from bitfold.embedding.elastic import ElasticEmbedding
from bitfold.embedding.isomap import Isomap
from bitfold.embedding.laplacian import LaplacianEigenmaps
from bitfold.embedding.lle import LLE
from bitfold.embedding.pca import PCA
from bitfold.embedding.relaxed_laplacian import RelaxedLaplacian
from bitfold.embedding.sne import SNE
from bitfold.embedding.tsne import TSNE

__all__ = [
    "LLE",
    "PCA",
    "SNE",
    "TSNE",
    "DataGraph",
    "DiffusionMaps",
    "ElasticEmbedding",
    "Embedding",
    "Given",
    "Isomap",
    "LaplacianEigenmaps",
    "Neighbors",
    "RelaxedLaplacian",
]
