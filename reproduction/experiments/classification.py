"""Classification on binary codes (Sec. 4.5): a linear SVM on the bits, or on the raw vectors."""

from __future__ import annotations

import numpy as np
from sklearn.multiclass import OneVsOneClassifier
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
    """Return the accuracies on the queries of SVMs trained on the database, in percent."""
    if case.method == SCAN:
        # C is chosen for values of about 1, the size of bits.
        scale = float(np.abs(data.database).max()) or 1.0
        return _measure_accuracies(data.database / scale, data.queries / scale, data)
    encoded = encode_case(case, data, progress)
    database, queries = _to_signs(encoded.database), _to_signs(encoded.queries)
    return _measure_accuracies(database, queries, data)


def _measure_accuracies(train: AnyArray, test: AnyArray, data: Dataset) -> Result:
    """Train on the labels of the database; return accuracies on the queries, in percent.

    The paper does not say how it combined the SVMs of ten classes: one per class against the
    rest ("accuracy"), or one per pair of classes ("accuracy_ovo"), as LIBSVM does.
    """
    machine = LinearSVC(C=_C, dual=False, random_state=0)
    machines = {"accuracy": machine, "accuracy_ovo": OneVsOneClassifier(machine)}
    return {
        name: 100 * float(np.mean(m.fit(train, data.labels).predict(test) == data.query_labels))
        for name, m in machines.items()
    }


def _to_signs(codes: Codes) -> Float64Array:
    return np.where(codes.unpack() > 0, 1.0, -1.0)
