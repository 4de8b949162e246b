"""Classification on binary codes (Sec. 4.5): a linear SVM on the bits, or on the raw vectors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from bitfold._kernels.threads import map_blocks
from bitfold.codes import Codes
from bitfold.datasets import Dataset
from bitfold.experiments.methods import SCAN
from bitfold.experiments.records import Case
from bitfold.experiments.retrieval import Report, Result, code


def classification(case: Case, data: Dataset, report: Report | None = None) -> Result:
    """Accuracy on the queries of a linear SVM that was trained on the database, in percent."""
    if case.method == SCAN:
        # At the pixels' own scale the solver would need far more iterations.
        scale = float(np.abs(data.database).max()) or 1.0
        return {"accuracy": accuracy(data.database / scale, data.queries / scale, data)}
    coded = code(case, data, report)
    return {"accuracy": accuracy(_signs(coded.database), _signs(coded.queries), data)}


def accuracy(train: NDArray[Any], test: NDArray[Any], data: Dataset) -> float:
    """Train on the database's labels; say how often the queries' are found, in percent."""
    classes = np.unique(np.asarray(data.labels))
    targets = [data.labels == label for label in classes]
    # One machine a class, as LinearSVC has them, but side by side: liblinear lets go of the
    # interpreter.
    machines = map_blocks(lambda target: _machine(train, target), targets)
    scores = np.stack([machine.decision_function(test) for machine in machines])
    return 100 * float(np.mean(classes[scores.argmax(axis=0)] == data.query_labels))


def _machine(train: NDArray[Any], target: NDArray[np.bool_]) -> LinearSVC:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LinearSVC(dual=False, C=0.1, tol=1e-3, random_state=0).fit(train, target)


def _signs(codes: Codes) -> NDArray[np.float64]:
    return np.where(codes.unpack() > 0, 1.0, -1.0)
