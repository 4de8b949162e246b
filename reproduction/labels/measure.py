"""Measure codes that were learned from labels."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from bitfold import Codes, HammingIndex
from bitfold.datasets import Dataset
from bitfold.hashers import Hasher
from reproduction.labels.cases import (
    CONTENDERS,
    FEW,
    N_LABELS,
    SEVEN,
    find_labels,
    list_left_out,
)
from reproduction.records import Case
from reproduction.shared_types import AnyArray, BoolArray, ProgressCallback, Result
from reproduction.which_code.asymmetric import score_bits, unpack_signs
from reproduction.which_code.measure import ASYMMETRIC, HAMMING
from reproduction.which_code.quality import (
    JudgedQueries,
    hold_out,
    measure_distances,
    measure_hamming,
)

QUALITY = ("map", "precision_10", "recall_10")
"""Names of what is measured of a ranking, in percent."""

EVERY, SEEN, UNSEEN = "every", "seen", "unseen"
"""Groups of queries: all, those of classes in the training data, and those of other classes."""


class TrainingData(NamedTuple):
    """Rows to fit, and their labels; -1 is unlabeled."""

    rows: AnyArray
    labels: AnyArray


def measure_labels(case: Case, data: Dataset, progress: ProgressCallback | None = None) -> Result:
    """Return the quality of each ranking for each group of queries, and the CPU seconds to fit.

    The second half of the queries is used: the first half and the training rows are for tuning.
    """
    queries = hold_out(data)
    hasher, train = make_hasher(case), select_training(case, data)
    labels = train.labels if CONTENDERS[case.method].uses_labels else None
    start = time.process_time()
    hasher.fit(train.rows, labels, progress=progress)
    seconds = time.process_time() - start
    codes = hasher.encode(data.database)
    return {
        "n_items": len(data.database),
        "n_queries": len(queries.vectors),
        "fit_cpu_seconds": seconds,
        "groups": {
            name: _measure_rankings(hasher, codes, _select_queries(queries, chosen))
            for name, chosen in split_queries(case, queries.labels).items()
        },
    }


def make_hasher(case: Case) -> Hasher:
    """Return the unfitted hasher of a case."""
    hasher = CONTENDERS[case.method].make()
    hasher.set_params(random_state=case.seed)
    return hasher


def select_training(case: Case, data: Dataset) -> TrainingData:
    """Return the rows and labels that the method of a case sees."""
    rows, labels = data.train, np.asarray(data.labels)
    if find_labels(case) == SEVEN:
        kept = ~np.isin(labels, list_left_out(case.seed))
        return TrainingData(rows[kept], labels[kept])
    if find_labels(case) == FEW:
        unlabeled = np.random.default_rng(case.seed).permutation(len(labels))[N_LABELS:]
        labels = labels.astype(np.int64)
        labels[unlabeled] = -1
    return TrainingData(rows, labels)


def split_queries(case: Case, labels: AnyArray) -> dict[str, BoolArray]:
    """Return which queries are in each group."""
    if find_labels(case) != SEVEN:
        return {EVERY: np.ones(len(labels), bool)}
    is_unseen = np.isin(labels, list_left_out(case.seed))
    return {SEEN: ~is_unseen, UNSEEN: is_unseen}


def _select_queries(queries: JudgedQueries, chosen: BoolArray) -> JudgedQueries:
    return JudgedQueries(
        queries.vectors[chosen],
        queries.labels[chosen],
        queries.item_labels,
        queries.neighbors[chosen],
    )


def _measure_rankings(hasher: Hasher, codes: Codes, queries: JudgedQueries) -> Result:
    index = HammingIndex(n_bits=codes.n_bits)
    index.add(codes)
    embedding, signs = hasher.embed(queries.vectors), unpack_signs(codes)
    measured = {
        ASYMMETRIC: measure_distances(lambda part: score_bits(embedding[part], signs), queries),
        HAMMING: measure_hamming(hasher.encode(queries.vectors), codes, index, queries),
    }
    return {name: {q: values[q] for q in QUALITY} for name, values in measured.items()}
