"""The values that the authors' settings must reach here, next to the paper's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from reproduction.columns import PUBLISHED, select_column
from reproduction.experiments.methods import SCAN
from reproduction.paper import reported
from reproduction.paper.checks import (
    Measured,
    MissingRecordsError,
    NoSuchCodesError,
    Setting,
)
from reproduction.paper.intervals import Estimate, estimate_mean
from reproduction.shared_types import Record


class Target(NamedTuple):
    """A value of the paper, and how far ours may be below and above it."""

    artifact: str
    measure: str
    data: str
    setting: Setting
    paper: float
    below: float
    above: float

    @property
    def title(self) -> str:
        """What is measured."""
        options = dict(self.setting.options)
        method = self.setting.method
        method = "raw pixels, one-versus-one" if method == SCAN else method
        bits = [f"{self.setting.n_bits} bits"] if self.setting.n_bits else []
        size = [f"m = {options['n_base_points']:,}"] if "n_base_points" in options else []
        name = reported.DATA_NAMES[self.data]
        what = "accuracy" if self.measure.startswith("accuracy") else "MAP"
        return ", ".join([name, method, *bits, *size, what])


class TargetResult(NamedTuple):
    """A target and what was reached; nothing if it was not run yet."""

    target: Target
    reached: Estimate | None
    n_seeds: int

    @property
    def is_met(self) -> bool | None:
        """Whether the mean is within the limits; None if it was not run."""
        if self.reached is None:
            return None
        difference = self.reached.mean - self.target.paper
        return -self.target.below <= difference <= self.target.above

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON shows."""
        return {
            "title": self.target.title,
            "paper": self.target.paper,
            "mean": self.reached.mean if self.reached else None,
            "n_seeds": self.n_seeds,
            "is_met": self.is_met,
        }


def _list_targets() -> Iterator[Target]:
    for n_bits in (32, 64, 96):
        for method in ("AGH", "IMH-LE", "IMH-tSNE"):
            setting = Setting(method, n_bits, (("base", "kmeans"),))
            theirs = reported.BASE_METHOD[n_bits, "kmeans", method].mean
            yield Target("table-base-method", "map", "cifar10", setting, theirs, 0.6, 0.6)
    for data, largest, limit in (("cifar10", 2000, 0.7), ("mnist", 400, 2.5)):
        for m, theirs in zip(reported.BASE_SIZES, reported.BASE_SIZE[data], strict=True):
            if m <= largest:
                setting = Setting("IMH-tSNE", 64, (("n_base_points", m),))
                yield Target("table-base-size", "map", data, setting, theirs, limit, limit)
    accuracy = reported.CLASSIFICATION
    codes, pixels = Setting("IMH-tSNE", 128), Setting(SCAN, 0)
    yield Target("fig-classify", "accuracy", "mnist", codes, accuracy, 0.1, 100.0)
    yield Target("fig-classify", "accuracy_ovo", "mnist", pixels, accuracy, 1.0, 1.0)


TARGETS = list(_list_targets())
"""The values, in the order of the paper."""


def judge_targets(records: Mapping[str, list[Record]]) -> list[TargetResult]:
    """Return what was reached of each target, by the records of the artifacts."""
    known = {
        name: Measured(select_column(own, PUBLISHED))
        for name, own in records.items()
        if name in {target.artifact for target in TARGETS}
    }
    return [_judge(target, known.get(target.artifact, Measured([]))) for target in TARGETS]


def _judge(target: Target, measured: Measured) -> TargetResult:
    try:
        values = measured.values(target.measure, target.data, target.setting)
    except (MissingRecordsError, NoSuchCodesError):
        return TargetResult(target, None, 0)
    return TargetResult(target, estimate_mean(list(values.values())), len(values))
