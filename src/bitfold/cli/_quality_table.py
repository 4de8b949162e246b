"""A table of the quality of first hits, one row per search."""

from __future__ import annotations

from collections.abc import Mapping

from rich.box import SIMPLE_HEAD
from rich.table import Table

from bitfold.evaluation import TopQuality

MISSING = "\N{EN DASH}"

LABELED = (("precision_10", "P@10"), ("precision_100", "P@100"), ("map", "MAP"))
"""Measures that need labels, and their headings."""

UNLABELED = (
    ("recall_10", "recall\n@10"),
    ("recall_10_from_40", "with\n40"),
    ("recall_10_from_100", "with\n100"),
)
"""Measures that every search has."""

SEARCHES = "asymmetric (also {baseline}): bitfold search with a model; Hamming: with --symmetric."
"""Explanation of the searches."""

NOTES = {
    True: (
        "P@10, P@100: share of hits with the label of the query. MAP: over the whole list, mean "
        "over the orders of ties.\n"
        "recall@10: share of the ten exact neighbors in the first ten hits; with 40, with 100: "
        "after rescoring that number of hits."
    ),
    False: (
        "recall@10: share of the ten exact neighbors in the first ten hits; with 40, with 100: "
        "after rescoring that number of hits."
    ),
}
"""Explanations of the columns, with and without labels."""


def make_quality_table(qualities: Mapping[str, TopQuality]) -> Table:
    """Return a table with one row per named search."""
    is_labeled = any(quality.precision_10 is not None for quality in qualities.values())
    measures = (LABELED if is_labeled else ()) + UNLABELED
    # One space between columns, so that the table fits into 80 columns.
    table = Table(box=SIMPLE_HEAD, padding=0, pad_edge=False)
    table.add_column("\nsearch", no_wrap=True)
    for _, heading in measures:
        table.add_column(
            heading if "\n" in heading else f"\n{heading}", justify="right", no_wrap=True
        )
    for heading in ("all ten\ntied", "distinct\ncodes"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, quality in qualities.items():
        values = [format_share(getattr(quality, measure)) for measure, _ in measures]
        tied = MISSING if quality.tied is None else f"{100 * quality.tied:.1f} %"
        distinct = MISSING if quality.n_distinct is None else f"{quality.n_distinct:,}"
        table.add_row(name, *values, tied, distinct)
    return table


def format_share(value: float | None) -> str:
    """Return a value between 0 and 1 as text."""
    if value is None:
        return MISSING
    return f"{value:.5f}" if 0 < value < 0.0005 else f"{value:.3f}"
