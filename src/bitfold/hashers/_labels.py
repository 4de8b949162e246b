"""Labels, for the hashers that learn from them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import Tags

from bitfold import _class_labels
from bitfold._types import Int64Array
from bitfold.errors import DataError
from bitfold.hashers.base.hasher import Hasher


class LabeledRows(NamedTuple):
    """The numbers of the labeled rows, ascending, and the class of each: 0, 1, ..."""

    rows: Int64Array
    classes: Int64Array
    n_classes: int

    def sample(self, size: int, rng: np.random.Generator) -> LabeledRows:
        """Return a random sample with every class in proportion to its size.

        Each class keeps at least one row.
        """
        if size >= len(self.rows):
            return self
        order = rng.permutation(len(self.rows))
        # The k-th member of a class gets the key k / size of the class: any prefix of the sorted
        # keys has the same mix of classes.
        keys = np.empty(len(order))
        for label in range(self.n_classes):
            members = order[self.classes[order] == label]
            keys[members] = np.arange(len(members)) / len(members)
        chosen = np.sort(np.argsort(keys, kind="stable")[: max(size, self.n_classes)])
        return LabeledRows(self.rows[chosen], self.classes[chosen], self.n_classes)

    def require_pair(self, owner: str) -> None:
        """Raise unless two rows have the same label."""
        if len(self.rows) == self.n_classes:
            raise DataError(f"y of {owner} must give the same label to at least 2 rows.")


def find_labeled_rows(y: Any, n_rows: int, owner: str) -> LabeledRows:
    """Check labels and return the rows that have one; -1 means unlabeled, as in scikit-learn."""
    y = _class_labels.check_labels(y, n_rows, owner)
    rows = np.flatnonzero(_class_labels.is_labeled(y))
    names, classes = np.unique(y[rows], return_inverse=True)
    if len(names) < 2:
        raise DataError(f"y of {owner} must have at least 2 classes, got {len(names)}.")
    return LabeledRows(rows, classes.astype(np.int64), len(names))


class SupervisedMixin(Hasher):
    """Declares that ``fit`` requires labels."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
