"""Estimates of how long a case takes, from the records of similar cases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from statistics import median

from reproduction.experiments.retrieval import was_busy
from reproduction.records import Case
from reproduction.shared_types import Record

N_ROWS = {
    "digits": 1_500, "mnist": 69_000, "cifar10": 59_000, "text": 58_979, "gist_cifar": 1_000_000,
    "sift_photos": 1_000_000, "sift1m": 1_000_000, "gist1m": 1_000_000,
}  # fmt: skip
"""Rows of the data sets; others count as 10,000."""

SECONDS_PER_ROW = 2e-4
"""Duration of a case of which nothing similar was run, on two cores."""

GROWTH = 1.3
"""Exponent of the duration as a function of the number of base points, between 400 and 10,000."""


class Durations:
    """Durations of finished runs, by setting and by method; those of a busy machine do not count.

    Parameters
    ----------
    records
        Records of finished runs.
    """

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._by_setting: dict[Case, list[float]] = defaultdict(list)
        self._by_method: dict[tuple[str, str, str, int], dict[int, list[float]]] = defaultdict(dict)
        for record in records:
            if "seconds" in record and not was_busy(record):
                self.add(Case.from_record(record), record["seconds"])

    def add(self, case: Case, seconds: float) -> None:
        """Count a finished run."""
        self._by_setting[case.setting].append(seconds)
        sizes = self._by_method[_get_method(case)]
        sizes.setdefault(_count_base_points(case), []).append(seconds)

    def estimate(self, case: Case) -> float:
        """Return the seconds that a case may take.

        They are the median of the runs that differ only in seed and number of queries; or of those
        of the same method and data set with the most similar base set, growing with its size; or
        proportional to the number of rows.
        """
        known = self._by_setting.get(case.setting)
        if known:
            return median(known)
        sizes = self._by_method.get(_get_method(case))
        if not sizes:
            return SECONDS_PER_ROW * (case.n_rows or N_ROWS.get(case.data, 10_000))
        wanted = _count_base_points(case)
        nearest = min(sizes, key=lambda size: abs(size - wanted))
        growth = (wanted / nearest) ** GROWTH if wanted > nearest > 0 else 1.0
        return growth * median(sizes[nearest])


def _get_method(case: Case) -> tuple[str, str, str, int]:
    return case.method, case.data, case.measure, case.n_rows


def _count_base_points(case: Case) -> int:
    n_base_points = dict(case.options).get("n_base_points", 0)
    return n_base_points if isinstance(n_base_points, int) else 0


def format_duration(seconds: float) -> str:
    """Return a rounded duration such as 40 s, 12 min or 3.5 h."""
    if seconds < 60:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
