"""Step 1, the base set: a few points that represent all data (Alg. 1, line 1)."""

from bitfold.base_set.base import (
    BaseSet,
    BaseSize,
    BaseStrategy,
    LabeledBaseSet,
    automatic_size,
    sample_size,
    split_by_class_size,
)
from bitfold.base_set.kmeans import KMeansBase, kmeans
from bitfold.base_set.kmedoids import KMedoidsBase, kmedoids
from bitfold.base_set.random_base import RandomBase

__all__ = [
    "BaseSet",
    "BaseSize",
    "BaseStrategy",
    "KMeansBase",
    "KMedoidsBase",
    "LabeledBaseSet",
    "RandomBase",
    "automatic_size",
    "kmeans",
    "kmedoids",
    "sample_size",
    "split_by_class_size",
]
