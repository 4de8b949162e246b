"""Records of cases that were never run, for code that only reads records."""

from __future__ import annotations

from typing import Any

import numpy as np
from reproduction.experiments.methods import METHODS
from reproduction.image_encoding import encode_array
from reproduction.records import Case, RunRecords
from reproduction.shared_types import Record

NUMBERS = (
    "map", "f1", "precision", "recall", "fit_seconds", "encode_us", "test_ms", "accuracy",
    "accuracy_ovo",
)  # fmt: skip
DISTANCES = ("ℓ2, 784-D", "LSH, 128 bits", "ℓ2 on t-SNE, 48-D", "Hamming, 48 bits")
CUTOFFS = [1, 10, 100, 10_000, 20_000]


def make_record(case: Case, value: float | None = None) -> Record:
    """Return a record of a case, by default with numbers that depend on method and length."""
    base = 10 + list(METHODS).index(case.method) if case.method in METHODS else 10
    default = base + case.n_bits / 100 + case.seed / 10
    result: dict[str, Any] = dict.fromkeys(NUMBERS, default if value is None else value)
    curves = {name: [90.0, 70.0, 60.0, 50.0, 40.0] for name in ("precision_at", "recall_at")}
    tiles = encode_array(np.zeros((2, 4, 8, 8), np.uint8))
    retrieved = {"tiles": tiles, "relevant": [[True, False, True]] * 2}
    plane = {
        "base": encode_array(np.array([[0, 1], [5, 9]], np.uint16)),
        "base_labels": encode_array(np.array([0, 1], np.uint8)),
        "points": encode_array(np.array([[0, 5, 3], [1, 9, 3]], np.uint16)),
        "labels": encode_array(np.array([0, 1, 2], np.uint8)),
        "share": 70.0,
    }
    by_measure: dict[str, dict[str, Any]] = {
        "retrieval": {**result, **curves, "cutoffs": CUTOFFS},
        "retrieved": {**retrieved, "ids": [], "classes": [0, 3]},
        "digits": {name: {**retrieved, "share": 70.0, "half_width": 1.0} for name in DISTANCES},
        "plane": plane,
    }
    return RunRecords().add(case, by_measure.get(case.measure, result))
