"""Classification on binary codes (Sec. 4.5): a linear SVM on the bits, or on the raw vectors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine = LinearSVC(dual=False, C=0.1, tol=1e-3, random_state=0)
        # liblinear lets go of the interpreter: a thread for each class.
        with parallel_config("threading"):
            machine = OneVsRestClassifier(machine, n_jobs=-1).fit(train, data.labels)
    return 100 * float(np.mean(machine.predict(test) == data.query_labels))


def _signs(codes: Codes) -> NDArray[np.float64]:
    return np.where(codes.unpack() > 0, 1.0, -1.0)
