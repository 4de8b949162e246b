"""The map: anchors in two dimensions by t-SNE, and all items placed between them by induction.

The anchors are the base set of the model, or some of the items. Only they are embedded, so time
grows with the number of items as slowly as encoding does, and memory hardly at all.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from bitfold._threads import map_blocks
from bitfold._types import (
    AnyArray,
    Float32Array,
    Int32Array,
    ProgressCallback,
    StepCallback,
    UInt16Array,
)
from bitfold.codes import Codes
from bitfold.explorer import map_cache
from bitfold.explorer.anchors import N_ANCHORS, N_NEIGHBORS, place_anchors
from bitfold.explorer.items import UNLABELED, Items
from bitfold.explorer.models import IndexedModel
from bitfold.hashers import Hasher
from bitfold.hashers.base.base_set import BaseSetHasher
from bitfold.induction import induce, learn_bandwidth
from bitfold.io import Rows, cache
from bitfold.neighbors import NearestBasePoints

N_SAMPLE = 4096
"""Number of items that anchors and the bandwidth are taken from."""

N_VOTERS = 9
"""Number of nearest items whose labels decide the label of a base point."""

MAX_COORDINATE = 65535
"""Coordinates are stored as 16-bit integers; this is 1."""

_MARGIN = 0.03
"""Empty border of the map, as a fraction of its side."""

_ROWS_PER_BLOCK = 2048

_MAP_VERSION = 4
"""Increased when the same items give another map, so that cached maps are recomputed."""


@dataclass(frozen=True, eq=False)
class MapPlacement:
    """Place vectors, or codes as points of ±1, on the map: Eq. (8) in two dimensions.

    Parameters
    ----------
    base
        Anchors, relative to the center of the hasher.
    positions
        Their positions.
    bandwidth
        σ of the weights.
    hasher
        The hasher that scales and centers vectors; None if codes are placed.
    """

    base: NearestBasePoints
    positions: Float32Array
    bandwidth: float
    hasher: Hasher | None

    def place(self, vectors: AnyArray | None, codes: Codes) -> Float32Array | None:
        """Return the positions of vectors or codes; None if vectors are needed and missing."""
        if self.hasher is None:
            return induce(self.base.find(_signs(codes)), self.positions, self.bandwidth)
        if vectors is None:
            return None
        rows = _center_rows(vectors, self.hasher)
        return induce(self.base.find(rows), self.positions, self.bandwidth)


class MapBox(NamedTuple):
    """The square that is shown: positions in it have coordinates from 0 to 1."""

    left: float
    bottom: float
    side: float

    @classmethod
    def around(cls, positions: Float32Array) -> MapBox:
        """Return the smallest square around positions, with a margin."""
        low, high = positions.min(axis=0), positions.max(axis=0)
        side = float(max(*(high - low), 1e-6)) * (1 + 2 * _MARGIN)
        left, bottom = ((low + high - side) / 2).tolist()
        return cls(left, bottom, side)

    def scale(self, positions: Float32Array) -> Float32Array:
        """Return coordinates from 0 to 1."""
        corner = np.array([self.left, self.bottom], np.float32)
        scaled: Float32Array = np.clip((positions - corner) / np.float32(self.side), 0, 1)
        return scaled


class ItemMap(NamedTuple):
    """A map of the items of one model.

    ``points`` are the coordinates of the items by row, in steps of 1 / 65535. ``base`` and
    ``base_labels`` belong to the base set of the model, and are empty if it has none.
    """

    points: UInt16Array
    base: Float32Array
    base_labels: Int32Array
    box: MapBox
    placement: MapPlacement
    digest: str

    def locate(self, vector: AnyArray | None, codes: Codes) -> list[float] | None:
        """Return the coordinates of a query; None if its vector is needed and missing."""
        vectors = None if vector is None else vector[None]
        position = self.placement.place(vectors, codes)
        return None if position is None else self.box.scale(position)[0].tolist()


def compute_map(model: IndexedModel, items: Items, progress: ProgressCallback) -> ItemMap:
    """Compute the map of a model, or read it from the cache.

    Parameters
    ----------
    model
        The model and its codes.
    items
        What is known about the items; vectors improve the map.
    progress
        Called with (stage, done, total).

    Returns
    -------
    ItemMap
        The map.
    """
    sample = np.sort(np.random.default_rng(0).permutation(len(items))[:N_SAMPLE])
    vectors = None
    if items.vectors is not None and items.vectors.width == model.hasher.n_features_in_:
        vectors = items.vectors.take(sample)
    codes = model.codes(sample)
    placement = _make_placement(model, vectors, codes, partial(progress, "map of the anchors"))
    box = MapBox.around(placement.positions)
    digest = _digest(model, vectors, placement)
    points = map_cache.read_array(digest)
    if points is None or points.shape != (len(items), 2) or points.dtype != np.uint16:
        points = _place_all(model, items, placement, box, partial(progress, "map of the items"))
        map_cache.write_array(digest, points)
    has_base = _anchor_hasher(model, vectors) is not None
    base = box.scale(placement.positions if has_base else placement.positions[:0])
    shown = (points[sample] / MAX_COORDINATE).astype(np.float32)
    labels = _label_base_points(base, shown, items.labels_of(sample))
    return ItemMap(points, base, labels, box, placement, digest)


def _place_all(
    model: IndexedModel,
    items: Items,
    placement: MapPlacement,
    box: MapBox,
    on_step: StepCallback,
) -> UInt16Array:
    """Return the coordinates of all items, placed block by block."""
    by_code = placement.hasher is None
    n = model.n_distinct if by_code else len(items)
    out = np.empty((n, 2), np.uint16)

    def work(first: int) -> int:
        part = slice(first, min(first + _ROWS_PER_BLOCK, n))
        if by_code or items.vectors is None:
            placed = placement.place(None, model.distinct[part])
        else:
            vectors = items.vectors.take(np.arange(part.start, part.stop))
            placed = placement.place(vectors, model.distinct[:0])
        assert placed is not None  # vectors are given where they are needed
        out[part] = np.round(box.scale(placed) * MAX_COORDINATE)
        return part.stop

    for done in map_blocks(work, range(0, n, _ROWS_PER_BLOCK)):
        on_step(done, n)
    return out[model.bucket_of] if by_code else out


def _make_placement(
    model: IndexedModel, vectors: AnyArray | None, codes: Codes, on_step: StepCallback
) -> MapPlacement:
    """Use the base set of the model as anchors, or else some of the items."""
    hasher, based = model.hasher, _anchor_hasher(model, vectors)
    if based is not None:
        positions = place_anchors(based.base_set_, on_step)
        if vectors is not None:
            base = based.nearest_base_points
            return MapPlacement(base, positions, based.bandwidth_, hasher)
        points = _signs(Codes.from_bits(based.bit_embedding_ > 0))
        return _learn_placement(points, positions, based.n_neighbors_, None, _signs(codes))
    rows = _signs(codes) if vectors is None else _center_rows(vectors, hasher)
    # t-SNE would only push equal points apart.
    anchors = np.unique(rows, axis=0)
    some = np.random.default_rng(0).permutation(len(anchors))[:N_ANCHORS]
    anchors = np.ascontiguousarray(anchors[some])
    reader = None if vectors is None else hasher
    return _learn_placement(anchors, place_anchors(anchors, on_step), N_NEIGHBORS, reader, rows)


def _anchor_hasher(model: IndexedModel, vectors: AnyArray | None) -> BaseSetHasher | None:
    """Return the hasher whose base set the anchors are; None if they are items."""
    based = model.base_hasher
    # The codes of a DualHasher are longer than those of its base set.
    return based if vectors is not None or based is model.hasher else None


def _center_rows(vectors: AnyArray, hasher: Hasher) -> Float32Array:
    """Return vectors as the hasher sees them: scaled if it scales them, relative to its center."""
    rows = Rows(vectors, hasher.center_, "the items", hasher.normalize_)
    return rows.block(0, len(vectors))


def _learn_placement(
    points: Float32Array,
    positions: Float32Array,
    k: int,
    hasher: Hasher | None,
    rows: Float32Array,
) -> MapPlacement:
    base = NearestBasePoints(points, min(k, len(points)))
    return MapPlacement(base, positions, learn_bandwidth(base.find(rows)), hasher)


def _signs(codes: Codes) -> Float32Array:
    """Return codes as points of ±1."""
    return codes.unpack().astype(np.float32) * 2 - 1


def _digest(model: IndexedModel, vectors: AnyArray | None, placement: MapPlacement) -> str:
    """Return a digest of all that the map depends on; of the vectors, a sample represents all."""
    parts: list[AnyArray] = [model.distinct.packed, model.offsets, model.rows]
    parts.append(placement.positions)
    content = [_MAP_VERSION, placement.bandwidth, model.hasher.model_digest]
    arrays = parts if vectors is None else [*parts, vectors]
    text = " ".join(map(str, [*content, cache.hash_arrays(*arrays)]))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _label_base_points(base: Float32Array, points: Float32Array, labels: Int32Array) -> Int32Array:
    """Return the most frequent label among the items nearest to each base point on the map."""
    out = np.full(len(base), UNLABELED, np.int32)
    labeled = labels != UNLABELED
    if not len(base) or not labeled.any():
        return out
    around = NearestBasePoints(np.ascontiguousarray(points[labeled]), N_VOTERS)
    votes = labels[labeled][around.find(base).indices]
    ballots = np.stack([np.repeat(np.arange(len(base)), votes.shape[1]), votes.ravel()], axis=1)
    pairs, counts = np.unique(ballots, axis=0, return_counts=True)
    # The label with the most votes is written last.
    order = np.argsort(counts, kind="stable")
    out[pairs[order, 0]] = pairs[order, 1]
    return out
