"""Step 1, the base set: a few points that stand for all (Alg. 1, line 1).

A strategy chooses m points of the data, or near them; every other point will be carried into the
embedding by the chosen ones nearest to it.
"""

from bitfold.base_set.clusters import first_distinct, kmeans, kmedoids
from bitfold.base_set.size import Size, automatic_size, sample_size
from bitfold.base_set.strategies import (
    BaseStrategy,
    KMeansBase,
    KMedoidsBase,
    LabeledBase,
    RandomBase,
    distinct_rows,
    is_labeled,
    share_out,
)

__all__ = [
    "BaseStrategy",
    "KMeansBase",
    "KMedoidsBase",
    "LabeledBase",
    "RandomBase",
    "Size",
    "automatic_size",
    "distinct_rows",
    "first_distinct",
    "is_labeled",
    "kmeans",
    "kmedoids",
    "sample_size",
    "share_out",
]
