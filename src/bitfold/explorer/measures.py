"""Measures on the page about the bits: values with their grades, and what they mean."""

from __future__ import annotations

from typing import Any

from bitfold.evaluation.verdict import GOOD_RECALL, KEPT, POOR_RECALL
from bitfold.explorer.items import Items
from bitfold.explorer.models import IndexedModel
from bitfold.explorer.quality import MeasuredQuality
from bitfold.explorer.statistics_schemas import MeasureOut, ReferenceOut
from bitfold.explorer.ties import TieSample

GOOD_TIED, POOR_TIED = 0.05, 0.5
"""Shares of queries whose first ten items all tie: at most the first is good, more than the
second is poor."""

NO_VECTORS = (
    "The exact neighbors are unknown, because there are no vectors: keep them in the collection, "
    "or start with --vectors."
)


def list_recalls(measured: MeasuredQuality | None) -> list[MeasureOut]:
    """Describe the exact neighbors that are found, without and with rescoring."""
    about = "Share of the ten exact nearest neighbors that are among the first ten results."
    rescored = (
        "The same after the best 100 results are ordered by their exact distances: what a "
        "collection with kept vectors returns."
    )
    return [
        _make_recall("recall_10", "Exact neighbors found", about, measured),
        _make_recall("recall_10_from_100", "… with 100 candidates rescored", rescored, measured),
    ]


def _make_recall(
    name: str, title: str, explanation: str, measured: MeasuredQuality | None
) -> MeasureOut:
    if measured is None:
        return MeasureOut(
            name=name, title=title, value=None, text="unknown", grade="none",
            explanation=NO_VECTORS,
        )  # fmt: skip
    value = getattr(measured.quality, name)
    others = {
        measured.references.baseline_name: measured.references.baseline,
        "chance": measured.references.chance,
    }
    return MeasureOut(
        name=name,
        title=title,
        value=value,
        text=_percent(value),
        grade=_grade(value, GOOD_RECALL, POOR_RECALL),
        explanation=explanation,
        good_from=GOOD_RECALL,
        poor_below=POOR_RECALL,
        references=[_reference(key, getattr(each, name)) for key, each in others.items()],
    )


def measure_labels(items: Items, measured: MeasuredQuality | None, ties: TieSample) -> MeasureOut:
    """Describe the labels of the first ten hits; the search is asymmetric if vectors are known."""
    explanation = "Share of the first ten results that have the label of the query."
    make: dict[str, Any] = {
        "name": "precision_10",
        "title": "Same label",
        "explanation": explanation,
    }
    if items.labels is None:
        make["explanation"] = "There are no labels; start with --label to name a column."
        return MeasureOut(**make, value=None, text="unknown", grade="none")
    if measured is None or measured.quality.precision_10 is None:
        value = ties.same_label
        others = [] if ties.chance is None else [_reference("chance", ties.chance)]
        text = "unknown" if value is None else _percent(value)
        return MeasureOut(**make, value=value, text=text, grade="none", references=others)
    value = measured.quality.precision_10
    exact = measured.references.exact.precision_10 or 0.0
    chance = measured.references.chance.precision_10 or 0.0
    baseline = measured.references.baseline.precision_10 or 0.0
    good, poor = chance + KEPT * (exact - chance), chance + POOR_RECALL * (exact - chance)
    name = measured.references.baseline_name
    others = [_reference("exact vectors", exact), _reference(name, baseline)]
    return MeasureOut(
        **make,
        value=value,
        text=_percent(value),
        grade=_grade(value, good, poor),
        good_from=good,
        poor_below=poor,
        references=[*others, _reference("chance", chance)],
    )


def measure_ties(ties: TieSample) -> MeasureOut:
    """Describe how often the first ten tie."""
    value = ties.tied
    grade = "none" if value is None else _grade(1 - value, 1 - GOOD_TIED, 1 - POOR_TIED)
    return MeasureOut(
        name="tied",
        title="Queries whose first ten all tie",
        value=value,
        text="unknown" if value is None else _percent(value),
        grade=grade,
        explanation="By Hamming distance. Where all tie, the codes do not say which item is "
        "nearer; only vectors can order them.",
        good_from=GOOD_TIED,
        poor_below=POOR_TIED,
        higher_is_better=False,
    )


def count_distinct(model: IndexedModel) -> MeasureOut:
    """Describe the number of distinct codes."""
    return MeasureOut(
        name="distinct",
        title="Distinct codes",
        value=float(model.n_distinct),
        text=f"{model.n_distinct:,} of {model.n_rows:,}",
        grade="none",
        explanation="Only vectors can distinguish items with equal codes.",
    )


def measure_entropy(entropy: float, max_entropy: float) -> MeasureOut:
    """Describe the entropy of the buckets."""
    return MeasureOut(
        name="entropy",
        title="Entropy of the codes",
        value=entropy,
        text=f"{entropy:.1f} of {max_entropy:.1f} bits",
        grade="none",
        explanation="The number of independent, even bits that would divide the items as well. "
        "The largest possible value gives every item its own code, or uses every bit fully.",
    )


def _grade(value: float, good: float, poor: float) -> str:
    return "good" if value >= good else "poor" if value < poor else "fair"


def _percent(value: float) -> str:
    return f"{value:.1%}" if value < 0.1 else f"{value:.0%}"


def _reference(name: str, value: float) -> ReferenceOut:
    return ReferenceOut(name=name, value=value, text=_percent(value))
