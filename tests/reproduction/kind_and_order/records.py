"""Made-up records of every fit, for code that only reads records."""

from __future__ import annotations

from reproduction.kind_and_order.cases import (
    EXACT,
    SETTINGS,
    WEIGHTS,
    Setting,
    find_setting,
    list_cases,
)
from reproduction.kind_and_order.measure import NEEDS_LABELS, QUALITY
from reproduction.records import RunRecords
from reproduction.shared_types import Record, Result

SIZES = {"n_items": 58979, "n_features": 256, "n_queries": 500}


def make_records(data: tuple[str, ...] = ("text",)) -> list[Record]:
    """Return records whose values grow with the number of the setting and with the weight."""
    records = RunRecords()
    for case in list_cases(data):
        names = QUALITY[len(NEEDS_LABELS) :] if case.data == "sift_photos" else QUALITY
        if case.method == EXACT:
            entry = {"ranking": "distance", **dict.fromkeys(names, 90.0)}
            records.add(case, {**SIZES, "rankings": [entry]})
        else:
            records.add(case, make_result(find_setting(case), names))
    return list(records)


def make_result(setting: Setting, names: tuple[str, ...]) -> Result:
    """Return a result in which all measures of a ranking have the same value."""
    value = 10.0 + SETTINGS.index(setting)
    rankings: list[Result] = []
    for n_bits in setting.lengths:
        rankings.append({"n_bits": n_bits, "ranking": "Hamming", **dict.fromkeys(names, value)})
        rankings.extend(
            {
                "n_bits": n_bits,
                "ranking": "asymmetric",
                "coarse_weight": weight,
                **dict.fromkeys(names, value + 20 + weight),
            }
            for weight in (WEIGHTS if setting.is_weighted else (1.0,))
        )
    n_base_points = 3000 if setting.n_base_points == "auto" else int(setting.n_base_points)
    return {
        **SIZES,
        "fit_seconds": 2 * value,
        "fit_cpu_seconds": value,
        "n_base_points": n_base_points,
        "reason": "3,000 base points (made up).",
        "coarse_weight": 1.0,
        "rankings": rankings,
    }
