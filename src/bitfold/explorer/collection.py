"""All that the explorer shows, and the questions it answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from bitfold._types import Int32Array, ProgressCallback
from bitfold.codes import Codes
from bitfold.explorer.exact_search import Scan
from bitfold.explorer.image_features import Reading, find_reading
from bitfold.explorer.images import png
from bitfold.explorer.items import UNLABELED, Items
from bitfold.explorer.models import Coded, Spread, distances
from bitfold.explorer.plane_map import Plane, chart
from bitfold.explorer.queries import Query, Unknown, Upload, Uploads, read_upload
from bitfold.explorer.statistics import Statistics, describe
from bitfold.hashers.base.base_set import BaseSetHasher
from bitfold.search import Hits

_ITEM = re.compile(r"item:(-?[0-9]{1,19})")
_BASE = re.compile(r"base:([0-9]{1,3}):([0-9]{1,9})")


class Shown(NamedTuple):
    """A model with all that is shown of it."""

    coded: Coded
    plane: Plane
    statistics: Statistics
    labels_by_bucket: Int32Array | None


@dataclass(frozen=True, eq=False)
class Collection:
    """Items and the models that code them."""

    items: Items
    models: list[Shown]
    reading: Reading | None
    scan: Scan | None
    uploads: Uploads = field(default_factory=Uploads)

    def model(self, number: int) -> Shown:
        """Return a model by its number."""
        if not 0 <= number < len(self.models):
            raise Unknown(f"There is no model {number}; there are {len(self.models)}, from 0 on.")
        return self.models[number]

    def query(self, key: str) -> Query:
        """Find what a key names: ``item:17``, ``base:0:17`` (of model 0) or ``upload:…``."""
        if match := _ITEM.fullmatch(key):
            return self._item(int(match[1]))
        if match := _BASE.fullmatch(key):
            return self._base_point(int(match[1]), int(match[2]))
        if key.startswith("upload:"):
            upload = self.uploads[key]
            picture = f"/api/uploads/{key[7:]}/picture" if upload.picture else None
            what = "uploaded picture" if upload.picture else "uploaded vector"
            return Query(key, what, vector=upload.vector, picture=picture)
        raise ValueError(f"query must be item:…, base:…:… or upload:…, got {key[:40]!r}.")

    def upload(self, content: bytes) -> Upload:
        """Take in a picture or a vector, refused if no model can code it."""
        vector, picture = read_upload(content, self.reading)
        widths = sorted({shown.coded.hasher.n_features_in_ for shown in self.models})
        if len(vector) not in widths:
            demand = " or ".join(map(str, widths))
            raise ValueError(f"vector must have {demand} numbers, got {len(vector)}.")
        return self.uploads.keep(vector, picture)

    def code(self, query: Query, shown: Shown) -> Codes:
        """Return a query's code: from the index for an item of it, made by the model otherwise."""
        if query.item is not None and query.item in shown.coded:
            return shown.coded.codes([query.item])
        if query.vector is None:
            raise Unknown(f"The index of {shown.coded.name} has no item {query.item}.")
        return shown.coded.encode(query.vector)

    def position(self, query: Query, shown: Shown) -> list[float] | None:
        """Return a query's place on a model's map, if it can be carried there."""
        fits = query.vector is not None and len(query.vector) == shown.coded.hasher.n_features_in_
        vectors = query.vector[None] if fits and query.vector is not None else None
        place = shown.plane.carrier.place(vectors, self.code(query, shown))
        return None if place is None else [float(value) for value in place[0]]

    def nearest(self, query: Query, shown: Shown, k: int) -> Hits:
        """Find the items with the nearest codes, without the query itself."""
        return shown.coded.nearest(self.code(query, shown), k, but=query.item)

    def spread(self, query: Query, shown: Shown) -> Spread:
        """Count the items within each radius of a query, and those of its label."""
        alike = None
        label = self.label(query.item)
        if label != UNLABELED and shown.labels_by_bucket is not None:
            alike = shown.labels_by_bucket == label
        return shown.coded.spread(self.code(query, shown), alike, but=query.item)

    def sample_distances(self, query: Query, shown: Shown) -> list[int]:
        """Hamming distances to the items on the map, in their order."""
        return [int(d) for d in distances(self.code(query, shown), shown.plane.codes)]

    def exact(self, query: Query, k: int) -> Hits:
        """Find the items whose vectors are nearest in ℓ2, without the query itself."""
        if self.scan is None:
            raise Unknown("There are no vectors to find exact neighbors in; give --vectors.")
        if query.vector is None:
            raise Unknown(f"There is no vector of item {query.item}.")
        return self.scan.nearest(query.vector, k, but=query.item)

    def label(self, item: int | None) -> int:
        """Return an item's class, -1 if it has none."""
        return UNLABELED if item is None else int(self.items.labels_of(np.array([item]))[0])

    def picture(self, item: int) -> bytes:
        """Return an item's picture as PNG."""
        if self.items.album is None or item not in self.items.album:
            raise Unknown(f"There is no picture of item {item}.")
        return self.items.album.png(item)

    def base_picture(self, model: int, number: int) -> bytes:
        """Draw a base point, where vectors are pixels."""
        point = self._base_point(model, number)
        if self.reading is None or point.vector is None or not point.picture:
            raise Unknown(f"There is no picture of base point {number}.")
        return png(self.reading.draw(point.vector))

    def _item(self, item: int) -> Query:
        vector = self.items.vector(item)
        if vector is None and not any(item in shown.coded for shown in self.models):
            raise Unknown(f"There is no item {item}.")
        picture = f"/api/items/{item}/picture" if self.items.has_picture(item) else None
        return Query(f"item:{item}", f"item {item}", item, vector, picture)

    def _base_point(self, model: int, number: int) -> Query:
        hasher = self.model(model).coded.hasher
        if not isinstance(hasher, BaseSetHasher) or number >= len(hasher.base_set_):
            raise Unknown(f"Model {model} has no base point {number}.")
        vector = hasher.base_set_[number].astype(np.float64) + hasher.center_
        drawn = self.reading is not None and self.reading.scale > 0
        fits = drawn and self.reading is not None and self.reading.n_features == len(vector)
        picture = f"/api/models/{model}/base/{number}/picture" if fits else None
        return Query(f"base:{model}:{number}", f"base point {number}", None, vector, picture)


def prepare(
    models: list[Coded], items: Items, n_sample: int, report: Callable[[str], ProgressCallback]
) -> Collection:
    """Do what takes time before the first page: readings, maps, statistics.

    Parameters
    ----------
    models
        Models with their indexes.
    items
        What is known of the items.
    n_sample
        Items on a map.
    report
        Gives what is told of the progress with a model.
    """
    shown = [_shown(coded, items, n_sample, report(coded.name)) for coded in models]
    scan = None if items.vectors is None else Scan(items.vectors, models[0].__contains__)
    return Collection(items, shown, _reading(models, items), scan)


def _shown(coded: Coded, items: Items, n_sample: int, tell: ProgressCallback) -> Shown:
    plane = chart(coded, items, n_sample, 0, partial(tell, "map"))
    tell("statistics", 0, 1)
    labels = None if items.labels is None else items.labels_of(coded.ids_by_bucket)
    return Shown(coded, plane, describe(coded, items), labels)


def _reading(models: list[Coded], items: Items) -> Reading | None:
    album = items.album
    if album is None:
        return None
    for coded in models:
        some = coded.ids[np.linspace(0, len(coded.ids) - 1, min(len(coded.ids), 256)).astype(int)]
        pictured = np.array([item for item in some.tolist() if item in album], np.int64)
        if len(pictured):
            width = coded.hasher.n_features_in_
            found = find_reading(album, pictured, coded.agreement, width)
            if found is not None:
                return found
    return None
