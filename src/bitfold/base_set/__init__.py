"""Step 1, the base set: a few points that represent all data (Alg. 1, line 1)."""

from bitfold.base_set.base import (
    BaseSet,
    BaseSize,
    BaseStrategy,
    LabeledBaseSet,
    automatic_size,
)
from bitfold.base_set.kmeans import KMeansBase
from bitfold.base_set.kmedoids import KMedoidsBase
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
]
