"""Classification on binary codes (Sec. IV-E): a linear SVM on the bits, or on the raw vectors."""

from __future__ import annotations

import numpy as np

from bitfold.codes import Codes
from bitfold.datasets import Dataset
from reproduction.experiments.linear_svm import predict_one_versus_one, predict_one_versus_rest
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
    rules = {"accuracy": predict_one_versus_rest, "accuracy_ovo": predict_one_versus_one}
    return {
        name: 100 * float(np.mean(predict(train, data.labels, test, _C) == data.query_labels))
        for name, predict in rules.items()
    }


def _to_signs(codes: Codes) -> Float64Array:
    return np.where(codes.unpack() > 0, 1.0, -1.0)
