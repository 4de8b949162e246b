"""Step 1, the base set: a few points that represent all data (Alg. 1, line 1)."""

from bitfold.base_set.base import BaseStrategy
from bitfold.base_set.kmeans import KMeansBase
from bitfold.base_set.kmedoids import KMedoidsBase
from bitfold.base_set.random_base import RandomBase
from bitfold.base_set.results import BaseSet, BaseSize, LabeledBaseSet
from bitfold.base_set.size import automatic_size, measure_noise

__all__ = [
    "BaseSet",
    "BaseSize",
    "BaseStrategy",
    "KMeansBase",
    "KMedoidsBase",
    "LabeledBaseSet",
    "RandomBase",
    "automatic_size",
    "measure_noise",
]
