"""Responses of the API about items, models and maps, as documented under /docs.

Ids are strings, because JavaScript's numbers are exact only up to 2⁵³, and because ids may be any
text. Points are the positions of items in binary arrays.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, BeforeValidator, Field

Value = Any
"""A metadata value: text, number, boolean or null; times are ISO 8601, large integers text."""


def _accept_whole_float(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE_FLOATS = BeforeValidator(_accept_whole_float)
"""Makes an integer of a JSON body accept 3.0, which is an integer for JSON Schema."""


class Problem(BaseModel):
    """An error message."""

    error: str


class ProgressOut(BaseModel):
    """How far the preparation is."""

    ready: bool
    stage: str
    done: float = Field(description="Share of the stage that is done.")


class CodePart(BaseModel):
    """Consecutive bits of a code: all of them, or the coarse and the fine ones."""

    name: str
    start: int
    end: int = Field(description="The first bit after the part.")


class ModelInfo(BaseModel):
    """A model and its codes."""

    name: str
    method: str
    n_bits: int
    n_features: int
    n_items: int
    n_distinct: int
    n_base: int = Field(description="Number of base points on the map; 0 if the method has none.")
    n_coarse_bits: int | None
    coarse_weight: float | None = Field(description="Weight of the coarse bits by default.")
    parts: list[CodePart]
    default_radius: int = Field(description="Radius of near-duplicates by default.")
    map_from: str = Field(description="What the map is made of: vectors or codes.")
    map_digest: str = Field(description="Changes when the map changes.")


class UploadInfo(BaseModel):
    """What can be uploaded."""

    max_bytes: int
    image_features: str | None = Field(
        description="How images become vectors; null if they cannot."
    )
    draws_vectors: bool = Field(description="Whether vectors are pixels and can be shown.")


class ColumnName(BaseModel):
    """A metadata column."""

    name: str
    type: str = Field(description="bool, int, float, str or time")


class Overview(BaseModel):
    """The models and the items."""

    version: str
    n_items: int
    models: list[ModelInfo]
    item_kind: str = Field(description="What items are: image, text or row.")
    columns: list[ColumnName]
    text_column: str | None
    label_column: str | None
    image_column: str | None
    labels: list[str] = Field(description="Names of the classes; labels elsewhere are numbers.")
    has_vectors: bool
    has_images: bool
    has_text: bool
    has_labels: bool
    metric: str = Field(description="Exact distances are euclidean or cosine.")
    uploads: UploadInfo
    first: str = Field(description="Id of the item to show first.")
    notebook: bool = Field(description="Whether the page is shown in a notebook.")


class Item(BaseModel):
    """An item."""

    id: str
    point: int = Field(description="Position in binary arrays.")
    label: int = Field(description="Number of the class, -1 if unlabeled.")
    text: str | None
    image: str | None = Field(description="Path of the image.")
    values: dict[str, Value] | None = Field(
        default=None, description="Metadata; null if not asked for."
    )


class FoundItems(BaseModel):
    """Items that meet a filter."""

    n_found: int
    is_complete: bool = Field(description="False if the search stopped at its time limit.")
    items: list[Item]


class Category(BaseModel):
    """A value of a column, and the number of items that have it."""

    value: Value
    count: int


class ColumnOut(BaseModel):
    """A metadata column: its values, for filters and colors."""

    name: str
    type: str = Field(description="bool, int, float, str or time")
    n_missing: int
    n_distinct: int = Field(description="Number of distinct values; 1001 means more than 1000.")
    low: Value = Field(description="Smallest number or time.")
    high: Value = Field(description="Largest number or time.")
    categories: list[Category] | None = Field(
        description="The most frequent values; null if there are too many distinct ones."
    )
    is_text: bool


class BasePoints(BaseModel):
    """Base points of a model on its map."""

    x: list[float]
    y: list[float]
    labels: list[int]


class MapOut(BaseModel):
    """The map without its points, which are binary."""

    n_points: int
    base: BasePoints
    map_from: str
    n_anchors: int
    explanation: str


class LegendCategory(BaseModel):
    """A color of a categorical channel."""

    name: str
    count: int


class LegendOut(BaseModel):
    """What the colors of a channel mean."""

    by: str
    kind: str = Field(description="categories or numbers")
    title: str
    explanation: str
    categories: list[LegendCategory] = []
    n_unlisted: int = Field(default=0, description="Items of a category that is not listed.")
    n_other: int = Field(default=0, description="Items whose category has no color of its own.")
    n_missing: int = 0
    low: float | None = None
    high: float | None = None
    unit: str = ""
    is_integer: bool = False
    is_log: bool = Field(default=False, description="Whether numbers are logarithms to base 10.")


class RegionOut(BaseModel):
    """A cluster on the map."""

    x: float
    y: float
    n_items: int
    name: str | None
    words: list[str] = Field(description="Words that are frequent in its texts only.")
    label: int
    label_share: float
    items: list[Item] = Field(description="The most typical items.")


class UploadOut(BaseModel):
    """An upload; its key is a query."""

    key: str
    n_features: int
    image: str | None
