"""Codes that have collapsed: nearly everything is within radius 2 of a query, relevant or not.

Recall is then near 100 %, which says nothing about the quality of the codes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from statistics import fmean

from reproduction.paper.checks import (
    CODE_LENGTHS,
    Measured,
    MissingRecordsError,
    NoSuchCodesError,
    Setting,
)

RELEVANT_PERCENT = 2.0
"""Rows that are relevant to a query on the million-row sets, in percent."""

MANY_PERCENT = 50.0
"""Rows within radius 2, in percent, from which codes count as collapsed."""

_MEASURES = ("recall", "precision", "f1")


def remark_on_collapse(data: str, methods: Sequence[str]) -> Callable[[Measured], str]:
    """Return a function that names the collapsed codes of some methods; empty if there are none."""

    def remark(measured: Measured) -> str:
        settings = (Setting(*pair) for pair in product(methods, CODE_LENGTHS))
        found = [text for setting in settings for text in _describe(measured, data, setting)]
        if not found:
            return ""
        return (
            f"But these codes have collapsed: {'; '.join(found)}. Such a recall is that of "
            "returning most of the database, and says nothing about quality"
        )

    return remark


def _describe(measured: Measured, data: str, setting: Setting) -> list[str]:
    """Return what is within radius 2, if that is most of the rows."""
    try:
        recall, precision, f1 = (measured.values(name, data, setting) for name in _MEASURES)
    except (MissingRecordsError, NoSuchCodesError):
        return []
    # Recall and precision have the same relevant hits in their numerators.
    retrieved = [RELEVANT_PERCENT * recall[s] / precision[s] for s in recall if precision[s]]
    if not retrieved or fmean(retrieved) < MANY_PERCENT:
        return []
    return [
        f"with {setting.n_bits} bits of {setting.method}, about {fmean(retrieved):.0f} % of all "
        f"rows are within radius 2 (recall {fmean(recall.values()):.1f} %, precision "
        f"{fmean(precision.values()):.1f} %, F1 {fmean(f1.values()):.3f})"
    ]
