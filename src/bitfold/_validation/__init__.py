"""Input checks and random state, in one place.

Parameter errors share one form, as in ``n_bits of ITQ must be at most n_features=32, got 64.``
"""

from bitfold._validation.arrays import (
    check_distances_fit,
    check_finite,
    check_matrix,
    convert_to_array,
)
from bitfold._validation.labels import check_labels, is_labeled
from bitfold._validation.parameters import (
    DEFAULT_N_BITS,
    MAX_N_BITS,
    check_bandwidth,
    check_boolean,
    check_choice,
    check_integer,
    check_n_bits,
    check_not_absurd,
    check_positive,
    check_strategy,
    raise_invalid,
)
from bitfold._validation.randomness import make_generator, spawn_generators

__all__ = [
    "DEFAULT_N_BITS",
    "MAX_N_BITS",
    "check_bandwidth",
    "check_boolean",
    "check_choice",
    "check_distances_fit",
    "check_finite",
    "check_integer",
    "check_labels",
    "check_matrix",
    "check_n_bits",
    "check_not_absurd",
    "check_positive",
    "check_strategy",
    "convert_to_array",
    "is_labeled",
    "make_generator",
    "raise_invalid",
    "spawn_generators",
]
