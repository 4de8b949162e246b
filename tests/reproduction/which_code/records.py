"""Made-up records of every code, for code that only reads records."""

from __future__ import annotations

from reproduction.records import Case, RunRecords
from reproduction.shared_types import Record, Result
from reproduction.which_code.contenders import CONTENDERS, MEASURE, SIGNS, Contender

QUALITY = ("map", "precision_10", "precision_100", "recall_10", "rescored_40", "rescored_100")
BUCKETS = ("lookup_precision", "lookup_recall", "f1", "n_distinct")


def make_records(data: tuple[str, ...] = ("text",), n_seeds: int = 2) -> list[Record]:
    """Return records whose values grow with the number of the contender and with the seed."""
    records = RunRecords()
    for name in data:
        for number, contender in enumerate(CONTENDERS):
            for seed in range(n_seeds if contender.is_hasher else 1):
                case = Case(name, contender.method, contender.n_bits, seed, measure=MEASURE)
                records.add(case, make_result(contender, 10 + 5 * number + seed))
    return list(records)


def make_result(contender: Contender, value: float) -> Result:
    """Return a result in which every measure of a ranking has nearly the same value."""
    rankings = {"distance": dict.fromkeys((*QUALITY, "search_ms"), value)}
    if contender.is_hasher or contender.method == SIGNS:
        rankings = {
            "Hamming": dict.fromkeys((*QUALITY, *BUCKETS, "search_ms"), value),
            "asymmetric": dict.fromkeys((*QUALITY, "search_ms"), value + 1),
        }
    if contender.method == "DualHasher":
        rankings["coarse bits"] = dict.fromkeys((*QUALITY, *BUCKETS), value - 1)
    sizes = {"n_items": 58979, "n_features": 256, "n_queries": 500}
    n_bytes = contender.n_bits // 8 or {"Flat": 1024, SIGNS: 32, "RaBitQ": 40}.get(
        contender.method, 16
    )
    return {**sizes, "n_bytes": n_bytes, "fit_seconds": value, "rankings": rankings}
