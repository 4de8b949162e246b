"""Responses of the API about the quality of models, as documented under /docs."""

from __future__ import annotations

from pydantic import BaseModel, Field

from bitfold.explorer.schemas import Item


class Finding(BaseModel):
    """One sentence about a problem of the codes, and its level: "fair", "bad" or "note"."""

    level: str
    sentence: str


class LargeBucket(BaseModel):
    """A frequent code, and some of the items that have it, chosen at random."""

    size: int
    code: str
    items: list[Item]


class SizeClass(BaseModel):
    """The number of buckets with ``low`` to ``high`` items, and the number of items in them."""

    low: int
    high: int
    n_buckets: int
    n_items: int


class VerdictOut(BaseModel):
    """The judgment of the model."""

    grade: str = Field(description="good, fair, poor or unknown")
    text: str


class ReferenceOut(BaseModel):
    """The same measure of something else."""

    name: str
    value: float
    text: str


class MeasureOut(BaseModel):
    """One measure of what the codes keep."""

    name: str
    title: str
    value: float | None = Field(description="Null if it could not be measured.")
    text: str
    grade: str = Field(description="good, fair, poor or none")
    explanation: str
    good_from: float | None = None
    poor_below: float | None = None
    higher_is_better: bool = True
    references: list[ReferenceOut] = []


class MeasuredWith(BaseModel):
    """How the measures were made."""

    n_queries: int
    n_items: int
    seconds: float


class BitStatistics(BaseModel):
    """Statistics of the codes of a model."""

    n_items: int
    n_bits: int
    n_distinct: int
    entropy: float = Field(description="Entropy of the buckets, in bits.")
    max_entropy: float = Field(description="Largest possible entropy of this number of items.")
    balance: list[float] = Field(description="Fraction of ones per bit.")
    bit_entropy: list[float] = Field(description="Entropy of each bit, at most 1.")
    correlation: list[list[float]]
    sizes: list[SizeClass]
    largest: list[LargeBucket]
    verdict: VerdictOut
    measures: list[MeasureOut]
    measured_with: MeasuredWith | None
    findings: list[Finding]


class ModelScore(BaseModel):
    """Means over the queries of one model: shares of the first ten by code alone."""

    same_label: float | None
    exact: float | None


class QueryScore(BaseModel):
    """The first ten items of one query by code alone: means over all orders of ties."""

    n_same_label: float | None
    n_exact: float | None


class DifferingQuery(BaseModel):
    """An item for which two models find different items."""

    item: Item
    n_common: int = Field(description="Items that both find; vectors order those with one code.")
    first: QueryScore
    second: QueryScore


class ComparisonOut(BaseModel):
    """Queries where two models differ most."""

    n_queries: int
    k: int
    mean_common: float
    first: ModelScore
    second: ModelScore
    queries: list[DifferingQuery]
