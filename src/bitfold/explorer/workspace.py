"""Everything the explorer shows: items, models with their maps, queries and uploads."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from bitfold._types import BoolArray, Float32Array, Float64Array, Int64Array
from bitfold.codes import Codes, count_bytes
from bitfold.errors import DataError, ParameterError
from bitfold.explorer.code_search import CodeQuery, align_signs, weigh_parts
from bitfold.explorer.columns import ColumnReader
from bitfold.explorer.comparison import compare_models
from bitfold.explorer.image_features import ImageFeatures
from bitfold.explorer.images import MissingImageError, encode_png
from bitfold.explorer.items import UNLABELED, Items
from bitfold.explorer.model_view import ModelView
from bitfold.explorer.models import RadiusCounts
from bitfold.explorer.plane_map import MAX_COORDINATE
from bitfold.explorer.queries import NotFoundError, Query, Upload, Uploads, read_upload
from bitfold.explorer.statistics_schemas import ComparisonOut
from bitfold.hashers import DualHasher

_ITEM = re.compile(r"item:(.{1,500})", re.DOTALL)
_POINT = re.compile(r"point:([0-9]{1,9})")
_CODE = re.compile(r"code:([0-9a-f]{2,256})")
_BASE = re.compile(r"base:([0-9]{1,3}):([0-9]{1,9})")
_UPLOAD = re.compile(r"upload:[0-9a-f]*")

KEY_PATTERN = "^({})$".format(
    "|".join(each.pattern for each in (_ITEM, _POINT, _CODE, _BASE, _UPLOAD))
)
"""Keys of queries, as documented in the API."""

MAX_COMPARED = 200
"""Number of queries of a comparison that are kept."""


@dataclass(frozen=True, eq=False)
class Workspace:
    """Items, and the models that encode them."""

    items: Items
    views: list[ModelView]
    features: ImageFeatures | None
    columns: ColumnReader
    uploads: Uploads = field(default_factory=Uploads)
    _comparisons: dict[tuple[int, int], ComparisonOut] = field(default_factory=dict)

    def view(self, number: int) -> ModelView:
        """Return a model by its number."""
        if not 0 <= number < len(self.views):
            raise NotFoundError(f"Model {number} does not exist; there are {len(self.views)}.")
        return self.views[number]

    def compare(self, first: int, second: int) -> ComparisonOut:
        """Return how two models differ; computed once."""
        numbers = (first, second)
        if numbers not in self._comparisons:
            views = self.view(first), self.view(second)
            self._comparisons[numbers] = compare_models(*views, self.items, MAX_COMPARED)
        return self._comparisons[numbers]

    def row(self, point: int) -> int:
        """Return the row of a point."""
        if not 0 <= point < len(self.items):
            raise NotFoundError(f"Point {point} does not exist; there are {len(self.items)}.")
        return int(self.items.order[point])

    def filter(self, where: str | None, find: str | None) -> Int64Array | None:
        """Return the rows that meet a filter, ascending; None if all do."""
        selected = self.items.table.select(where or None, find or None)
        return None if selected is None else selected.rows

    def query(self, key: str) -> Query:
        """Return the query of a key, such as ``item:17``, ``base:0:17`` or ``upload:…``."""
        if match := _ITEM.fullmatch(key):
            row = self.items.table.ids.find(match[1])
            if row is None:
                name = match[1][:60]
                raise NotFoundError(f"Item {name} does not exist. Find an item by its text or id.")
            return self._item(row)
        if match := _POINT.fullmatch(key):
            return self._item(self.row(int(match[1])))
        if match := _CODE.fullmatch(key):
            return Query(key, "code", code=match[1])
        if match := _BASE.fullmatch(key):
            return self._base_point(int(match[1]), int(match[2]))
        if _UPLOAD.fullmatch(key):
            upload = self.uploads[key]
            image = f"/api/uploads/{key[7:]}/image" if upload.image else None
            title = "uploaded image" if upload.image else "uploaded vector"
            return Query(key, title, vector=upload.vector, image=image)
        requirement = "item:…, point:…, code:…, base:…:… or upload:…"
        raise ParameterError("query", "the request", requirement, repr(key[:40]))

    def upload(self, content: bytes) -> Upload:
        """Store an uploaded image or vector, if a model can encode it."""
        vector, image = read_upload(content, self.features)
        widths = sorted({view.model.hasher.n_features_in_ for view in self.views})
        if len(vector) not in widths:
            expected = " or ".join(map(str, widths))
            raise DataError(f"The vector must have {expected} numbers, got {len(vector)}.")
        return self.uploads.keep(vector, image)

    def code(self, query: Query, view: ModelView) -> Codes:
        """Return the code of a query: that of an item is stored, others are computed."""
        if query.item is not None:
            return view.model.codes([query.item])
        if query.code is not None:
            return _parse_code(query.code, view.model.n_bits)
        assert query.vector is not None  # every other query has one
        return view.model.encode(self._check_width(query, view))

    def embedding(self, query: Query, view: ModelView) -> Float32Array | None:
        """Return the reals behind the bits of a query; None if its vector is unknown."""
        if query.vector is None or len(query.vector) != view.model.hasher.n_features_in_:
            return None
        return align_signs(view.model.embed(query.vector), self.code(query, view))

    def code_query(
        self, query: Query, view: ModelView, rank: str | None, weight: float | None
    ) -> CodeQuery:
        """Return what to search: ``rank`` is "embedding", "hamming" or None for the better one."""
        code = self.code(query, view)
        reals = None if rank == "hamming" else self.embedding(query, view)
        if rank == "embedding" and reals is None:
            requirement = '"hamming" for a query without a vector'
            raise ParameterError("rank", "the request", requirement, rank)
        hasher = view.model.hasher
        if weight is not None:
            if not isinstance(hasher, DualHasher):
                requirement = "left out, because the codes have no coarse part"
                raise ParameterError("coarse_weight", "the request", requirement, weight)
            learned = 1.0 if reals is None else hasher.coarse_weight
            if reals is None:
                reals = align_signs(np.ones(view.model.n_bits, np.float32), code)
            reals = weigh_parts(reals, hasher.n_coarse_bits_, weight, learned)
        vector = query.vector if view.vectors is not None else None
        return CodeQuery(code, reals, vector, query.item)

    def position(self, query: Query, view: ModelView) -> list[float] | None:
        """Return the coordinates of a query on the map, or None if its vector is needed."""
        if query.item is not None:
            x, y = (view.map.points[query.item] / MAX_COORDINATE).tolist()
            return [x, y]
        fits = query.vector is not None and len(query.vector) == view.model.hasher.n_features_in_
        return view.map.locate(query.vector if fits else None, self.code(query, view))

    def alike(self, query: Query) -> BoolArray | None:
        """Return which rows have the label of a query; None if it has none."""
        label = self.items.label_of(query.item)
        if label == UNLABELED or self.items.labels is None:
            return None
        same: BoolArray = self.items.labels.numbers == label
        return same

    def count_within(self, query: Query, view: ModelView) -> RadiusCounts:
        """Count the items within each radius of a query, and those with its label."""
        code = self.code(query, view)
        return view.model.count_within(code, self.alike(query), exclude=query.item)

    def image(self, row: int) -> bytes:
        """Return the image of an item as PNG."""
        images = self.items.images
        if images is None or row not in images:
            raise NotFoundError("This item has no image.")
        try:
            return images.png(row)
        except MissingImageError as error:
            raise NotFoundError(str(error)) from None

    def base_image(self, model: int, number: int) -> bytes:
        """Return a base point as PNG, if vectors are pixels."""
        point = self._base_point(model, number)
        if self.features is None or point.vector is None or not point.image:
            raise NotFoundError(f"Base point {number} has no image.")
        return encode_png(self.features.draw(point.vector))

    def _check_width(self, query: Query, view: ModelView) -> Float64Array:
        width = view.model.hasher.n_features_in_
        assert query.vector is not None
        if len(query.vector) != width:
            raise NotFoundError(
                f"{view.model.name} needs vectors of {width} numbers, got {len(query.vector)}."
            )
        return query.vector

    def _item(self, row: int) -> Query:
        [name] = self.items.table.ids.names(np.array([row]))
        vector = self.items.vector(row)
        return Query(f"item:{name}", f"item {name}", row, vector, self.items.image_path(row))

    def _base_point(self, model: int, number: int) -> Query:
        hasher = self.view(model).model.base_hasher
        if hasher is None or not 0 <= number < len(hasher.base_set_):
            raise NotFoundError(f"Model {model} has no base point {number}.")
        vector = hasher.base_points_[number]
        is_image = self.features is not None and self.features.draws(len(vector))
        image = f"/api/models/{model}/base/{number}/image" if is_image else None
        return Query(f"base:{model}:{number}", f"base point {number}", None, vector, image)


def _parse_code(text: str, n_bits: int) -> Codes:
    """Return a code written in hexadecimal digits."""
    packed = np.frombuffer(bytes.fromhex(text), np.uint8) if len(text) % 2 == 0 else None
    if packed is None or len(packed) != count_bytes(n_bits):
        requirement = f"{2 * count_bytes(n_bits)} hexadecimal digits"
        raise ParameterError("code", "the request", requirement, f"{len(text)}")
    return Codes(packed[None], n_bits)
