"""Classification on binary codes (Sec. 4.5): a linear SVM on the bits, or on the raw vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitfold._kernels.machines import planes
from bitfold.codes import Codes
from bitfold.datasets import Dataset
from reproduction.methods import SCAN
from reproduction.records import Case
from reproduction.retrieval import Report, Result, code

_C = 0.1
"""What a machine pays for rows inside its margin."""


def classification(case: Case, data: Dataset, report: Report | None = None) -> Result:
    """Accuracy on the queries of a linear SVM that was trained on the database, in percent."""
    if case.method == SCAN:
        # C is a price at the size of bits.
        scale = float(np.abs(data.database).max()) or 1.0
        return {"accuracy": accuracy(data.database / scale, data.queries / scale, data)}
    coded = code(case, data, report)
    return {"accuracy": accuracy(_signs(coded.database), _signs(coded.queries), data)}


def accuracy(train: NDArray[Any], test: NDArray[Any], data: Dataset) -> float:
    """Train on the database's labels; say how often the queries' are found, in percent."""
    classes = np.unique(np.asarray(data.labels))
    targets = [data.labels == label for label in classes]
    found = np.stack(list(planes(train, np.stack(targets, axis=1), _C)))
    scores = test @ found[:, :-1].T + found[:, -1]
    return 100 * float(np.mean(classes[scores.argmax(axis=1)] == data.query_labels))


def _signs(codes: Codes) -> NDArray[np.float64]:
    return np.where(codes.unpack() > 0, 1.0, -1.0)
