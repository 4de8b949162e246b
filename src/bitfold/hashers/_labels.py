"""Labels of the hashers that learn from them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import Tags

from bitfold import _validation
from bitfold._types import Int64Array
from bitfold.hashers.base.hasher import Hasher


class Labeled(NamedTuple):
    """The rows that have a label, rising, and the class of each as 0, 1, ... n_classes - 1."""

    rows: Int64Array
    classes: Int64Array
    n_classes: int

    def sample(self, size: int, rng: np.random.Generator) -> Labeled:
        """Return a random part of them, of every class in proportion to its size or a little more.

        Every class keeps a row, or what is learned from the part would not know it.
        """
        if size >= len(self.rows):
            return self
        order = rng.permutation(len(self.rows))
        # The k-th of a class comes after k / its share of all others: the same mix at any length.
        place = np.empty(len(order))
        for label in range(self.n_classes):
            members = order[self.classes[order] == label]
            place[members] = np.arange(len(members)) / len(members)
        chosen = np.sort(np.argsort(place, kind="stable")[: max(size, self.n_classes)])
        return Labeled(self.rows[chosen], self.classes[chosen], self.n_classes)


def labeled(y: Any, n_rows: int, owner: str) -> Labeled:
    """Check labels; -1 is unlabeled, as in scikit-learn."""
    y = _validation.check_labels(y, n_rows, owner)
    rows = np.flatnonzero(_validation.is_labeled(y))
    names, classes = np.unique(y[rows], return_inverse=True)
    if len(names) < 2:
        _validation.raise_invalid("y", owner, "labels of at least 2 classes", len(names))
    return Labeled(rows, classes.astype(np.int64), len(names))


class SupervisedMixin(Hasher):
    """Tells scikit-learn that ``fit`` needs labels."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
