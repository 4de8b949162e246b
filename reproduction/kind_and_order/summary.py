"""Records of the page, as fits in the order of their settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from reproduction.kind_and_order.cases import (
    AUTO,
    EXACT,
    MEASURE,
    SETTINGS,
    SPLITS,
    Setting,
    find_setting,
)
from reproduction.kind_and_order.measure import QUALITY
from reproduction.records import Case
from reproduction.shared_types import Record, Result
from reproduction.which_code.measure import ASYMMETRIC

Values = dict[str, float]
"""Quality of a ranking in percent, by name."""


class Fit(NamedTuple):
    """A fitted coarse hasher, and everything that was measured with it."""

    setting: Setting
    cpu_seconds: float | None
    n_base_points: int
    reason: str
    coarse_weight: float
    rankings: list[Result]

    def find_values(self, n_bits: int, ranking: str, weight: float | None = None) -> Values:
        """Return the quality of a ranking, with the default weight unless another is given."""
        weight = self.coarse_weight if weight is None else weight
        return next(
            _select_values(entry)
            for entry in self.rankings
            if (entry["n_bits"], entry["ranking"]) == (n_bits, ranking)
            and entry.get("coarse_weight", weight) == weight
        )

    @property
    def weights(self) -> list[float]:
        """The weights that were measured, ascending."""
        found = {e["coarse_weight"] for e in self.rankings if e["ranking"] == ASYMMETRIC}
        return sorted(found)


def list_fits(records: Iterable[Record], data: str) -> list[Fit]:
    """Return the fits of a data set that have records, in the order of the settings."""
    found = {}
    for record in _select_records(records, data):
        case, result = Case.from_record(record), record["result"]
        if case.method != EXACT:
            setting = find_setting(case)
            fields = ("n_base_points", "reason", "coarse_weight", "rankings")
            found[setting] = Fit(
                setting, result.get("fit_cpu_seconds"), *(result[f] for f in fields)
            )
    return [found[setting] for setting in SETTINGS if setting in found]


def list_splits(fits: Iterable[Fit], n_bits: int) -> list[Fit]:
    """Return the fits of a code length whose base sets have automatic size."""
    return [
        fit
        for fit in fits
        if fit.setting.n_base_points == AUTO and fit.setting.n_coarse_bits in SPLITS[n_bits]
    ]


def find_exact(records: Iterable[Record], data: str) -> Values:
    """Return the quality of the exact vectors; nothing if it was not measured."""
    for record in _select_records(records, data):
        if record["case"]["method"] == EXACT:
            return _select_values(record["result"]["rankings"][0])
    return {}


def find_sizes(records: Iterable[Record], data: str) -> tuple[int, int, int]:
    """Return the numbers of database rows, features and queries of a data set."""
    result = _select_records(records, data)[0]["result"]
    return result["n_items"], result["n_features"], result["n_queries"]


def list_measures(fits: Sequence[Fit]) -> list[str]:
    """Return the names of what was measured; without labels, there is only recall."""
    return [name for name in QUALITY if name in fits[0].rankings[0]]


def _select_records(records: Iterable[Record], data: str) -> list[Record]:
    return [
        record
        for record in records
        if (record["case"]["data"], record["case"].get("measure")) == (data, MEASURE)
        and "rankings" in record["result"]
    ]


def _select_values(entry: Result) -> Values:
    return {name: entry[name] for name in QUALITY if name in entry}
