"""How long a case takes, roughly: to plan a run, not to promise."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from bitfold.base_set.base import PROJECTION_DIM, is_projected
from bitfold.embedding.repulsion import MAX_EXACT_POINTS
from reproduction.records import Case, Record

Estimate = Callable[[Case], float]

ROWS = {
    "digits": 1_500, "mnist": 69_000, "cifar10": 59_000, "gist_cifar": 1_000_000,
    "sift_photos": 1_000_000, "sift1m": 1_000_000, "gist1m": 1_000_000,
}  # fmt: skip
"""Rows of the data sets; others count as 10,000."""

WIDTHS = {"mnist": 784, "cifar10": 512, "gist_cifar": 960, "gist1m": 960}
"""Features of the data sets; others count as 128."""

SECONDS_A_BIT = {
    "STH": 0.04, "SSH": 0.15, "BRE": 0.06, "KSH": 0.03, "SpH": 0.02, "ITQ": 0.03, "CCA-ITQ": 0.03,
}  # fmt: skip
"""Fitting on MNIST with two cores, where it takes longer than a second."""


def seconds(case: Case) -> float:
    """Estimate fitting, encoding and measuring on two cores."""
    rows = case.rows or ROWS.get(case.data, 10_000)
    cells = rows * WIDTHS.get(case.data, 128)
    encode = 2e-9 * cells
    fit = 0.5 + 2e-9 * cells + SECONDS_A_BIT.get(case.method, 0.0) * case.n_bits
    if case.method.startswith(("IMH", "AGH")):
        m = dict(case.options).get("m", 400)
        width = PROJECTION_DIM if is_projected(WIDTHS.get(case.data, 128), m) else cells / rows
        # K-means, then t-SNE, whose steps grow with m² as long as they look at every pair.
        n_pairs = m * (m if m <= MAX_EXACT_POINTS else 1700)
        fit += 3e-10 * rows * width * m + 3e-8 * case.n_bits * n_pairs
        encode += 1.5e-11 * cells * m
    if case.measure == "classification":
        encode += 6e-6 * rows * max(case.n_bits, 16) ** 0.5
    return fit + encode + 2e-9 * rows * case.queries


def from_records(records: Iterable[Record]) -> Estimate:
    """Estimate by what other seeds of the same case took; by :func:`seconds` where none was run."""
    known: dict[str, list[float]] = {}
    for record in records:
        if "seconds" in record:
            known.setdefault(_setting(Case.of(record)), []).append(record["seconds"])

    def estimate(case: Case) -> float:
        took = known.get(_setting(case))
        return sum(took) / len(took) if took else seconds(case)

    return estimate


def _setting(case: Case) -> str:
    return replace(case, seed=0).key
