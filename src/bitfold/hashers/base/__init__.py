"""The public extension point: base classes of hashers, and what a new hasher needs.

A hasher derives from one of the families, or from :class:`Hasher` itself, and implements
``_learn``. ``bitfold.testing.check_hasher`` then checks everything that users expect of
a hasher.
"""

from bitfold._class_labels import check_labels
from bitfold._validation import (
    check_bandwidth,
    check_choice,
    check_integer,
    check_positive,
    make_generator,
    spawn_generators,
)
from bitfold.hashers.base.base_set import BaseSetHasher
from bitfold.hashers.base.hasher import Hasher
from bitfold.hashers.base.kernel import KernelHasher
from bitfold.hashers.base.linear import LinearHasher
from bitfold.hashers.base.periodic import PeriodicHasher
from bitfold.io.rows import Rows

__all__ = [
    "BaseSetHasher",
    "Hasher",
    "KernelHasher",
    "LinearHasher",
    "PeriodicHasher",
    "Rows",
    "check_bandwidth",
    "check_choice",
    "check_integer",
    "check_labels",
    "check_positive",
    "make_generator",
    "spawn_generators",
]
