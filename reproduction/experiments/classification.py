"""Classification on binary codes (Sec. 4.5): a linear SVM on the bits, or on the raw vectors."""

from __future__ import annotations

import numpy as np
from sklearn.svm import LinearSVC

from bitfold.codes import Codes
from bitfold.datasets import Dataset
from reproduction.experiments.methods import SCAN
from reproduction.experiments.retrieval import encode_case
from reproduction.records import Case
from reproduction.shared_types import AnyArray, Float64Array, ProgressCallback, Result

_C = 0.1
"""Weight of the loss of rows within the margin."""


def measure_classification(
    case: Case, data: Dataset, progress: ProgressCallback | None = None
) -> Result:
    """Return the accuracy on the queries of an SVM trained on the database, in percent."""
    if case.method == SCAN:
        # C is chosen for values of about 1, the size of bits.
        scale = float(np.abs(data.database).max()) or 1.0
        return {"accuracy": _measure_accuracy(data.database / scale, data.queries / scale, data)}
    encoded = encode_case(case, data, progress)
    database, queries = _to_signs(encoded.database), _to_signs(encoded.queries)
    return {"accuracy": _measure_accuracy(database, queries, data)}


def _measure_accuracy(train: AnyArray, test: AnyArray, data: Dataset) -> float:
    """Train on the labels of the database; return the accuracy on the queries, in percent."""
    machine = LinearSVC(C=_C, dual=False, random_state=0).fit(train, data.labels)
    return 100 * float(np.mean(machine.predict(test) == data.query_labels))


def _to_signs(codes: Codes) -> Float64Array:
    return np.where(codes.unpack() > 0, 1.0, -1.0)
