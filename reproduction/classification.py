"""Classification on binary codes (Sec. 4.5): a linear SVM on the bits, or on the raw vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import LinearSVC

from bitfold.codes import Codes
from bitfold.datasets import Dataset
from reproduction.methods import SCAN
from reproduction.records import Case
from reproduction.retrieval import Report, Result, code

_C = 0.1
"""Penalty of rows inside the margin."""


def classification(case: Case, data: Dataset, report: Report | None = None) -> Result:
    """Return the accuracy on the queries of a linear SVM trained on the database, in percent."""
    if case.method == SCAN:
        # C is chosen for values of the size of bits.
        scale = float(np.abs(data.database).max()) or 1.0
        return {"accuracy": accuracy(data.database / scale, data.queries / scale, data)}
    coded = code(case, data, report)
    return {"accuracy": accuracy(_signs(coded.database), _signs(coded.queries), data)}


def accuracy(train: NDArray[Any], test: NDArray[Any], data: Dataset) -> float:
    """Train on the labels of the database; return the accuracy on the queries in percent."""
    machine = LinearSVC(C=_C, dual=False).fit(train, np.asarray(data.labels))
    return 100 * float(machine.score(test, np.asarray(data.query_labels)))


def _signs(codes: Codes) -> NDArray[np.float64]:
    return np.where(codes.unpack() > 0, 1.0, -1.0)
