"""Everything the explorer shows: items, models, maps, statistics and uploads."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from bitfold._types import Int32Array, ProgressCallback
from bitfold.codes import Codes
from bitfold.errors import DataError, ParameterError
from bitfold.explorer.exact_search import ExactSearch
from bitfold.explorer.image_features import ImageFeatures, find_image_features
from bitfold.explorer.images import encode_png
from bitfold.explorer.items import UNLABELED, Items
from bitfold.explorer.models import IndexedModel, RadiusCounts
from bitfold.explorer.plane_map import ItemMap, compute_map
from bitfold.explorer.queries import NotFoundError, Query, Upload, Uploads, read_upload
from bitfold.explorer.statistics import BitStatistics, compute_statistics
from bitfold.hashers.base.base_set import BaseSetHasher
from bitfold.search import Hits

_ITEM = re.compile(r"item:(-?[0-9]{1,19})")
_BASE = re.compile(r"base:([0-9]{1,3}):([0-9]{1,9})")

KEY_PATTERN = rf"^({_ITEM.pattern}|{_BASE.pattern}|upload:[0-9a-f]*)$"
"""Keys of queries, as documented in the API."""


class ModelView(NamedTuple):
    """A model with its map and statistics."""

    model: IndexedModel
    map: ItemMap
    statistics: BitStatistics
    labels_by_bucket: Int32Array | None


@dataclass(frozen=True, eq=False)
class Workspace:
    """Items, and the models that encode them."""

    items: Items
    views: list[ModelView]
    features: ImageFeatures | None
    exact_search: ExactSearch | None
    uploads: Uploads = field(default_factory=Uploads)

    def view(self, number: int) -> ModelView:
        """Return a model by its number."""
        if not 0 <= number < len(self.views):
            raise NotFoundError(f"Model {number} does not exist; there are {len(self.views)}.")
        return self.views[number]

    def query(self, key: str) -> Query:
        """Return the query of a key: ``item:17``, ``base:0:17`` (of model 0) or ``upload:…``."""
        if match := _ITEM.fullmatch(key):
            return self._item(int(match[1]))
        if match := _BASE.fullmatch(key):
            return self._base_point(int(match[1]), int(match[2]))
        if key.startswith("upload:"):
            upload = self.uploads[key]
            image = f"/api/uploads/{key[7:]}/image" if upload.image else None
            title = "uploaded image" if upload.image else "uploaded vector"
            return Query(key, title, vector=upload.vector, image=image)
        requirement = "item:…, base:…:… or upload:…"
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
        """Return the code of a query: from the index if it is an item, otherwise from the model."""
        if query.item is not None and query.item in view.model:
            return view.model.codes([query.item])
        if query.vector is None:
            raise NotFoundError(f"The index of {view.model.name} has no item {query.item}.")
        return view.model.encode(query.vector)

    def position(self, query: Query, view: ModelView) -> list[float] | None:
        """Return the position of a query on the map, or None if it has no vector."""
        fits = query.vector is not None and len(query.vector) == view.model.hasher.n_features_in_
        vectors = query.vector[None] if fits and query.vector is not None else None
        position = view.map.placement.place(vectors, self.code(query, view))
        return None if position is None else [float(value) for value in position[0]]

    def nearest(self, query: Query, view: ModelView, k: int) -> Hits:
        """Return the items with the nearest codes, without the query itself."""
        return view.model.nearest(self.code(query, view), k, exclude=query.item)

    def count_within(self, query: Query, view: ModelView) -> RadiusCounts:
        """Count the items within each radius of a query, and those with its label."""
        alike = None
        label = self.items.label_of(query.item)
        if label != UNLABELED and view.labels_by_bucket is not None:
            alike = view.labels_by_bucket == label
        return view.model.count_within(self.code(query, view), alike, exclude=query.item)

    def exact(self, query: Query, k: int) -> Hits:
        """Return the items with the nearest vectors in ℓ2, without the query itself."""
        if self.exact_search is None:
            raise NotFoundError("Exact neighbors need the vectors; start with --vectors.")
        if query.vector is None:
            raise NotFoundError(f"Item {query.item} has no vector.")
        return self.exact_search.nearest(query.vector, k, exclude=query.item)

    def image(self, item: int) -> bytes:
        """Return the image of an item as PNG."""
        if self.items.images is None or item not in self.items.images:
            raise NotFoundError(f"Item {item} has no image.")
        return self.items.images.png(item)

    def base_image(self, model: int, number: int) -> bytes:
        """Return a base point as PNG, if vectors are pixels."""
        point = self._base_point(model, number)
        if self.features is None or point.vector is None or not point.image:
            raise NotFoundError(f"Base point {number} has no image.")
        return encode_png(self.features.draw(point.vector))

    def _item(self, item: int) -> Query:
        vector = self.items.vector(item)
        if vector is None and not any(item in view.model for view in self.views):
            raise NotFoundError(f"Item {item} does not exist.")
        return Query(f"item:{item}", f"item {item}", item, vector, self.items.image_path(item))

    def _base_point(self, model: int, number: int) -> Query:
        hasher = self.view(model).model.hasher
        if not isinstance(hasher, BaseSetHasher) or not 0 <= number < len(hasher.base_set_):
            raise NotFoundError(f"Model {model} has no base point {number}.")
        vector = hasher.base_points_[number]
        is_image = self.features is not None and self.features.draws(len(vector))
        image = f"/api/models/{model}/base/{number}/image" if is_image else None
        return Query(f"base:{model}:{number}", f"base point {number}", None, vector, image)


def prepare_workspace(
    models: list[IndexedModel],
    items: Items,
    n_sample: int,
    progress_of: Callable[[str], ProgressCallback],
) -> Workspace:
    """Compute what the first page needs: image features, maps, statistics.

    Parameters
    ----------
    models
        Models with their indexes.
    items
        What is known about the items.
    n_sample
        Number of items on a map.
    progress_of
        Returns the progress callback for a model name.

    Returns
    -------
    Workspace
        Ready to be served.
    """
    views = [_make_view(model, items, n_sample, progress_of(model.name)) for model in models]
    exact = None if items.vectors is None else ExactSearch(items.vectors, models[0].__contains__)
    return Workspace(items, views, _find_features(models, items), exact)


def _make_view(
    model: IndexedModel, items: Items, n_sample: int, progress: ProgressCallback
) -> ModelView:
    drawn = compute_map(model, items, n_sample, 0, partial(progress, "map"))
    progress("statistics", 0, 1)
    labels = None if items.labels is None else items.labels_of(model.buckets.ids)
    return ModelView(model, drawn, compute_statistics(model, items), labels)


def _find_features(models: list[IndexedModel], items: Items) -> ImageFeatures | None:
    images = items.images
    if images is None:
        return None
    for model in models:
        some = model.ids[np.linspace(0, len(model.ids) - 1, min(len(model.ids), 256)).astype(int)]
        with_image = np.array([item for item in some.tolist() if item in images], np.int64)
        if len(with_image):
            width = model.hasher.n_features_in_
            found = find_image_features(images, with_image, model.agreement, width)
            if found is not None:
                return found
    return None
