"""Means and deviations over seeds, from records alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, stdev
from typing import NamedTuple

from reproduction.shared_types import Record

Position = Callable[[Record], float]
"""Returns the position of a record on the horizontal axis."""


class Point(NamedTuple):
    """Mean and sample standard deviation of a measure over the seeds of one setting."""

    x: float
    mean: float
    deviation: float
    n_seeds: int = 1


def get_n_bits(record: Record) -> float:
    """Return the code length."""
    return float(record["case"]["n_bits"])


def option_getter(name: str) -> Position:
    """Return a function that returns a setting, such as the size of the base set."""
    return lambda record: float(dict(record["case"]["options"])[name])


def list_methods(records: Iterable[Record]) -> list[str]:
    """Return the methods in the order in which they appear."""
    return list(dict.fromkeys(record["case"]["method"] for record in records))


def select_method(records: Iterable[Record], method: str) -> list[Record]:
    """Return the records of one method."""
    return [record for record in records if record["case"]["method"] == method]


def gather_points(records: Iterable[Record], measure: str, position: Position) -> list[Point]:
    """Return means and deviations of the records of one method, by their position."""
    groups: dict[float, list[float]] = {}
    for record in records:
        if measure in record["result"]:
            groups.setdefault(position(record), []).append(record["result"][measure])
    return [
        Point(x, fmean(values), stdev(values) if len(values) > 1 else 0.0, len(values))
        for x, values in sorted(groups.items())
    ]


def describe_seeds(records: Sequence[Record]) -> str:
    """Return how many seeds there are per setting, such as "5 seeds" or "1 to 5 seeds"."""
    seeds: dict[str, set[int]] = {}
    for record in records:
        case = {**record["case"], "seed": 0}
        seeds.setdefault(str(sorted(case.items())), set()).add(record["case"]["seed"])
    counts = {len(own) for own in seeds.values()} or {0}
    few, many = min(counts), max(counts)
    number = f"{many}" if few == many else f"{few} to {many}"
    return f"{number} seed" + ("" if many == 1 else "s")
