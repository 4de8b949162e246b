"""How long a case takes, roughly: to plan a run, not to promise."""

from __future__ import annotations

from bitfold.experiments.records import Case

ROWS = {"digits": 1_500, "mnist": 69_000, "cifar10": 59_000, "sift_photos": 1_000_000}
"""Rows of the data sets; others count as 100,000."""

SECONDS = {"STH": 30.0, "BRE": 30.0, "KSH": 20.0, "SpH": 10.0, "LLH": 10.0}
"""Fitting 64 bits on MNIST with two cores, where it is not a matter of a second or two."""


def seconds(case: Case) -> float:
    """Estimate fitting, encoding and measuring on two cores."""
    rows = case.rows or ROWS.get(case.data, 100_000)
    fit = SECONDS.get(case.method, 1.0) * max(case.n_bits, 8) / 64
    m = dict(case.options).get("m", 400) if case.method.startswith(("IMH", "AGH")) else 0
    # K-means and encoding grow with rows × m, the embedding with m², the measures with pairs.
    products = 4e-8 * rows * m + 4e-6 * m * m
    measures = 4e-9 * rows * case.queries + 3e-6 * rows
    slow = 40.0 if case.measure == "classification" else 0.0
    return fit + products + measures + slow
