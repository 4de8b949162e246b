"""Ties: how often the first items of a query are all at one Hamming distance."""

from __future__ import annotations

import numpy as np

from bitfold._types import Int64Array
from bitfold.explorer.items import UNLABELED, Items
from bitfold.explorer.models import IndexedModel, RadiusCounts
from bitfold.explorer.quality import N_NEAREST, N_QUERIES


class TieSample:
    """How often the first ten items of some items tie by Hamming distance, and share the label.

    Attributes
    ----------
    tied
        Share of queries whose first ten items are all at one distance.
    same_label, chance
        Share of the first ten with the label of the query, as the mean over all orders of ties,
        and of all items; None without labels.
    """

    def __init__(self, model: IndexedModel, items: Items) -> None:
        labels = items.labels_of(np.arange(len(items))) if items.labels else None
        labeled = np.arange(len(items)) if labels is None else np.flatnonzero(labels != UNLABELED)
        rows = np.random.default_rng(1).permutation(labeled)[:N_QUERIES]
        tied, shares = [], []
        for row in rows.tolist():
            alike = None if labels is None else labels == labels[row]
            counts = model.count_within(model.codes([row]), alike, exclude=row)
            tied.append(_is_tied(counts.within))
            if counts.alike is not None:
                shares.append(expect_alike(counts))
        self.n_queries = len(rows)
        self.tied = float(np.mean(tied)) if tied else None
        self.same_label = float(np.mean(shares)) if shares else None
        self.chance: float | None = None
        if labels is not None and len(labeled):
            classes = np.bincount(labels[labeled]) / len(labeled)
            self.chance = float((classes**2).sum())


def _is_tied(within: Int64Array) -> bool:
    """Return whether the first ten items are all at one distance."""
    nearest = within[np.argmax(within > 0)]
    return bool(nearest >= min(N_NEAREST, within[-1]))


def expect_alike(counts: RadiusCounts) -> float:
    """Return the expected share of alike items among the first ten, over all orders of ties."""
    within, alike = counts.within, counts.alike
    assert alike is not None
    k = min(N_NEAREST, int(within[-1]))
    if not k:
        return 0.0
    radius = int(np.argmax(within >= k))
    n_before, a_before = (int(within[radius - 1]), int(alike[radius - 1])) if radius else (0, 0)
    density = (alike[radius] - a_before) / (within[radius] - n_before)
    return float((a_before + (k - n_before) * density) / k)
