"""Responses of the API, as documented under /docs.

Ids are strings, because JavaScript's numbers are exact only up to 2⁵³.
"""

from __future__ import annotations

from pydantic import BaseModel, Field


class Problem(BaseModel):
    """An error message."""

    error: str


class ModelInfo(BaseModel):
    """A model and its index."""

    name: str
    method: str
    n_bits: int
    n_features: int
    n_items: int
    n_distinct: int
    n_base: int = Field(description="Number of base points on the map; 0 if the method has none.")


class UploadInfo(BaseModel):
    """What can be uploaded."""

    max_bytes: int
    image_features: str | None = Field(
        description="How images become vectors; null if they cannot."
    )
    draws_vectors: bool = Field(description="Whether vectors are pixels and can be shown.")


class Overview(BaseModel):
    """The models and the items."""

    version: str
    n_items: int
    models: list[ModelInfo]
    labels: list[str] = Field(description="Names of the classes; labels elsewhere are numbers.")
    has_vectors: bool
    has_images: bool
    has_text: bool
    uploads: UploadInfo
    first: str = Field(description="The item to show first.")


class BasePoints(BaseModel):
    """Base points of a model on its map."""

    x: list[float]
    y: list[float]
    labels: list[int]


class MapOut(BaseModel):
    """Items and base points on the map; label -1 means unlabeled."""

    ids: list[str]
    x: list[float]
    y: list[float]
    labels: list[int]
    base: BasePoints


class Item(BaseModel):
    """An item."""

    id: str
    label: int = Field(description="Number of the class, -1 if unlabeled.")
    text: str | None
    image: str | None = Field(description="Path of the image.")


class Hit(Item):
    """An item in the results."""

    distance: float = Field(description="Hamming distance, or ℓ2 in /api/exact.")
    hamming: int | None = Field(description="Hamming distance of the codes.")
    code: str | None = Field(description="The code in hexadecimal, first bit first.")


class QueryOut(BaseModel):
    """The query."""

    key: str
    title: str
    item: Item | None
    label: int
    image: str | None
    position: list[float] | None = Field(description="Position on the map of the model.")
    code: str
    has_vector: bool


class SearchOut(BaseModel):
    """Items with the nearest codes, nearest first, ties by id, without the query itself."""

    query: QueryOut
    n_bits: int
    hits: list[Hit]


class ExactOut(BaseModel):
    """Items with the nearest vectors, nearest first, without the query itself."""

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
    sample: list[int] = Field(description="Distances to the items on the map.")


class UploadOut(BaseModel):
    """An upload; its key is a query."""

    key: str
    n_features: int
    image: str | None
