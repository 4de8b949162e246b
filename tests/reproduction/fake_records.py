"""Records that were never run, for what only reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
from reproduction.methods import METHODS
from reproduction.packing import pack
from reproduction.records import Case, Record, Records

NUMBERS = ("map", "f1", "precision", "recall", "fit_seconds", "encode_us", "test_ms", "accuracy")
WAYS = ("ℓ2, 784-D", "LSH, 128 bits", "ℓ2 on t-SNE, 48-D", "Hamming, 48 bits")


def made_up(case: Case, value: float | None = None) -> Record:
    """Return a record of a case, by default with numbers that tell method and length apart."""
    base = 10 + 3 * (list(METHODS).index(case.method) if case.method in METHODS else 0)
    plain = base + case.n_bits / 100 + case.seed / 10
    result = dict.fromkeys(NUMBERS, plain if value is None else value)
    curves = {name: [90.0, 50.0] for name in ("precision_at", "recall_at")}
    tiles = pack(np.zeros((2, 4, 8, 8), np.uint8))
    strip = {"tiles": tiles, "relevant": [[True, False, True]] * 2}
    plane = {
        "base": pack(np.array([[0, 1], [5, 9]], np.uint16)),
        "points": pack(np.array([[0, 5, 3], [1, 9, 3]], np.uint16)),
        "labels": pack(np.array([0, 1, 2], np.uint8)),
    }
    by_measure: dict[str, dict[str, Any]] = {
        "retrieval": {**result, **curves, "cutoffs": [1, 10]},
        "retrieved": {**strip, "ids": []},
        "digits": {way: {**strip, "share": 70.0} for way in WAYS},
        "plane": plane,
    }
    return Records(None).add(case, by_measure.get(case.measure, result))
