"""What the API answers, as it is documented under /docs.

Ids are text: JavaScript's numbers end at 2⁵³, ids do not.
"""

from __future__ import annotations

from pydantic import BaseModel, Field


class Problem(BaseModel):
    """What went wrong, in one sentence."""

    error: str


class ModelAbout(BaseModel):
    """A model and its index."""

    name: str
    method: str
    n_bits: int
    n_features: int
    n_items: int
    n_distinct: int
    n_base: int = Field(description="Base points on the map; 0 if the method has none.")


class UploadAbout(BaseModel):
    """What may be uploaded."""

    most_bytes: int
    pictures_as: str | None = Field(
        description="How a picture becomes a vector; null if it cannot."
    )
    draws_vectors: bool = Field(description="Whether vectors are pixels and can be drawn.")


class About(BaseModel):
    """What there is to explore."""

    version: str
    n_items: int
    models: list[ModelAbout]
    labels: list[str] = Field(description="Names of the classes; labels elsewhere are numbers.")
    has_vectors: bool
    has_pictures: bool
    has_text: bool
    uploads: UploadAbout
    first: str = Field(description="An item to begin with.")


class BasePoints(BaseModel):
    """Base points of a model on its map."""

    x: list[float]
    y: list[float]
    labels: list[int]


class Map(BaseModel):
    """Items and base points in the plane; label -1 is none."""

    ids: list[str]
    x: list[float]
    y: list[float]
    labels: list[int]
    base: BasePoints


class Item(BaseModel):
    """An item."""

    id: str
    label: int = Field(description="Number of the class, -1 if there is none.")
    text: str | None
    picture: str | None = Field(description="Address of the picture.")


class Hit(Item):
    """An item that was found."""

    distance: float = Field(description="Hamming distance, or ℓ2 in /api/exact.")
    hamming: int | None = Field(description="Hamming distance of the codes.")
    code: str | None = Field(description="The code in hexadecimal digits, first bit first.")


class QueryAbout(BaseModel):
    """What was searched for."""

    key: str
    title: str
    item: Item | None
    label: int
    picture: str | None
    position: list[float] | None = Field(description="Its place on the model's map.")
    code: str
    has_vector: bool


class Found(BaseModel):
    """Items with the nearest codes, nearest first, ties by id; the query itself left out."""

    query: QueryAbout
    n_bits: int
    hits: list[Hit]


class Exact(BaseModel):
    """Items with the nearest vectors, nearest first; the query itself left out."""

    hits: list[Hit]


class Within(BaseModel):
    """Items within a radius: how many, and the first of them."""

    radius: int
    count: int
    hits: list[Hit]


class SpreadOut(BaseModel):
    """How many items lie within radius 0, 1, 2, … of a query, which does not count itself."""

    within: list[int]
    alike: list[int] | None = Field(description="Those with the query's label.")
    sample: list[int] = Field(description="Distances of the items on the map.")


class FindingOut(BaseModel):
    """A sentence about a model; the level is good, fair or bad."""

    level: str
    sentence: str


class SizeClassOut(BaseModel):
    """Buckets of low to high items."""

    low: int
    high: int
    n_buckets: int
    n_items: int


class BucketOut(BaseModel):
    """A code that many items have, and the first of them."""

    size: int
    items: list[Item]


class PrecisionOut(BaseModel):
    """Share of the ten nearest items that have the query's label, and what chance would give."""

    value: float
    chance: float
    n_queries: int


class StatisticsOut(BaseModel):
    """What the codes of a model are like."""

    n_items: int
    n_bits: int
    n_distinct: int
    entropy: float = Field(description="Of the buckets, in bits.")
    balance: list[float] = Field(description="Share of ones of each bit.")
    correlation: list[list[float]]
    sizes: list[SizeClassOut]
    largest: list[BucketOut]
    precision: PrecisionOut | None
    findings: list[FindingOut]


class Uploaded(BaseModel):
    """An upload that was taken in; its key is a query."""

    key: str
    n_features: int
    picture: str | None
