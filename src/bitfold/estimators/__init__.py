"""scikit-learn estimators on codes: clusters and neighbor graphs by Hamming distance."""

from bitfold.estimators.kmeans import HammingKMeans
from bitfold.estimators.neighbors import HammingNeighborsTransformer

__all__ = ["HammingKMeans", "HammingNeighborsTransformer"]
