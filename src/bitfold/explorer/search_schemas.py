"""Responses of the API to searches, as documented under /docs."""

from __future__ import annotations

from pydantic import BaseModel, Field

from bitfold.explorer.schemas import Item


class Hit(Item):
    """An item in the results."""

    rank: int
    distance: float | None = Field(
        default=None, description="Exact distance, if vectors are known."
    )
    hamming: int | None = Field(default=None, description="Hamming distance of the codes.")
    code: str | None = Field(default=None, description="The code in hexadecimal, first bit first.")


class QueryOut(BaseModel):
    """The query."""

    key: str
    title: str
    item: Item | None
    label: int
    image: str | None
    position: list[float] | None = Field(description="Coordinates on the map of the model.")
    code: str
    embedding: list[float] | None = Field(description="The reals behind the bits.")
    has_vector: bool
    bucket_size: int = Field(description="Number of other items with the code of the query.")


class GroupOut(BaseModel):
    """Items that share one code."""

    code: str
    hamming: int
    coarse_hamming: int | None
    fine_hamming: int | None
    score: float | None = Field(description="Weighted distance by which groups are ordered.")
    size: int = Field(description="Number of items with this code, without the query.")
    n_tied: int = Field(description="Number of items as far as these, in all groups.")
    hits: list[Hit]


class SearchOut(BaseModel):
    """Groups of items with equal codes, nearest first, without the query itself."""

    query: QueryOut
    n_bits: int
    rank: str = Field(description="How groups are ordered: embedding or hamming.")
    can_rank_by_embedding: bool
    coarse_weight: float | None
    order_inside: str = Field(description="How items of a group are ordered: exact or id.")
    n_searched: int
    groups: list[GroupOut]
    n_hits: int
    explanation: str
    tie: str | None


class BucketOut(BaseModel):
    """Items that share one code."""

    code: str
    size: int
    order_inside: str
    hits: list[Hit]


class ExactOut(BaseModel):
    """Items with the nearest vectors, nearest first, without the query itself."""

    metric: str
    hits: list[Hit]


class WithinOut(BaseModel):
    """The number of items within a radius, and the first of them."""

    radius: int
    count: int
    hits: list[Hit]


class RadiusCountsOut(BaseModel):
    """The number of items within radius 0, 1, 2, … of a query, without the query itself."""

    within: list[int]
    alike: list[int] | None = Field(description="The same for items with the label of the query.")


class SnippetOut(BaseModel):
    """Python code that does the same."""

    code: str
