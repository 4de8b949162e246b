"""The fits that the page needs; each of them gives several codes and weights."""

from __future__ import annotations

from typing import NamedTuple

from reproduction.data.loader import UNLABELED
from reproduction.records import Case

MEASURE = "kind-and-order"
"""Name of the measurement in cases."""

METHOD, EXACT = "DualHasher", "Flat"
"""Methods of cases: codes, and the vectors themselves."""

DATA = ("text", "mnist", "sift_photos", "cifar10")
"""Data sets of the page, in the order in which they are measured."""

N_ROWS = {"sift_photos": 100_000}
"""Number of database rows of data sets of which not all are used."""

SPLITS = {128: (8, 16, 24, 32, 48, 64), 64: (8, 16, 24, 32, 40)}
"""Numbers of coarse bits by code length."""

WEIGHTS = (0.25, 0.5, 1.0, 1.2, 1.5, 2.0)
"""Weights of the coarse part."""

BASE_SIZES = (400, 1000, 2000, 4000, 8000)
"""Fixed numbers of base points."""

AUTO = "auto"
N_BITS, N_COARSE_BITS = 128, 32
"""Lengths at which weights and base sets are compared: the defaults of DualHasher."""


class Setting(NamedTuple):
    """What a coarse hasher is fitted with."""

    n_coarse_bits: int
    n_base_points: int | str = AUTO

    @property
    def lengths(self) -> tuple[int, ...]:
        """Code lengths that are measured with this coarse part, the longest first."""
        if self.n_base_points != AUTO:
            return (N_BITS,)
        return tuple(n for n, splits in SPLITS.items() if self.n_coarse_bits in splits)

    @property
    def is_weighted(self) -> bool:
        """Whether several weights are measured, and not only the default."""
        return self == Setting(N_COARSE_BITS)


SETTINGS = (
    *(Setting(n) for n in sorted({n for splits in SPLITS.values() for n in splits})),
    *(Setting(N_COARSE_BITS, m) for m in BASE_SIZES),
)
"""The fits of one data set."""


def list_cases(data: tuple[str, ...] = DATA) -> list[Case]:
    """Return the cases of the page, those of each data set together."""
    return [case for name in data for case in _list_data_cases(name)]


def _list_data_cases(data: str) -> list[Case]:
    n_rows = N_ROWS.get(data, 0)
    exact = [Case(data, EXACT, 0, n_rows=n_rows, measure=MEASURE)]
    fits = [make_case(data, setting, n_rows) for setting in SETTINGS]
    return (
        fits if data in UNLABELED else [*exact, *fits]
    )  # all neighbors of exact vectors are found


def make_case(data: str, setting: Setting, n_rows: int = 0) -> Case:
    """Return the case of a fit; its length is the longest that is measured."""
    options = tuple(sorted(setting._asdict().items()))
    return Case(data, METHOD, max(setting.lengths), n_rows=n_rows, measure=MEASURE, options=options)


def find_setting(case: Case) -> Setting:
    """Return what the coarse hasher of a case is fitted with."""
    return Setting(**dict(case.options))
