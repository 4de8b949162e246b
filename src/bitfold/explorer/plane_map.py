"""The map: the base set in two dimensions by t-SNE, and the items placed in it by induction."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._types import AnyArray, Float32Array, Ids, Int32Array, StepCallback
from bitfold.codes import Codes
from bitfold.embedding import TSNE
from bitfold.explorer.items import UNLABELED, Items
from bitfold.explorer.models import IndexedModel
from bitfold.hashers import Hasher
from bitfold.hashers.base.base_set import BaseSetHasher
from bitfold.induction import induce, learn_bandwidth
from bitfold.io import Rows, cache, model_file
from bitfold.neighbors import NearestBasePoints

PERPLEXITY = 15.0
"""Perplexity of the map; larger than for codes, so that clusters are visible."""

N_ANCHORS = 1000
"""Maximum number of points placed by t-SNE; more would break up into fragments.

Anchors are the base points of the model, or items if it has none. All others are placed by
induction from them.
"""

N_NEIGHBORS = 5
"""Number of anchors per item, if the model does not define it."""

N_VOTERS = 9
"""Number of nearest items whose labels decide the label of a base point."""

_MIN_POINTS = 8
"""Fewer points are placed on a circle instead."""

_MAP_VERSION = 2
"""Increased when the same points give another map, so that cached maps are recomputed."""


@dataclass(frozen=True, eq=False)
class MapPlacement:
    """Place vectors, or codes as points of ±1, on the map: Eq. (8) in two dimensions.

    Parameters
    ----------
    base
        Anchors, relative to the center of the hasher.
    positions
        Their positions on the map.
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


class ItemMap(NamedTuple):
    """A map of the items of one model.

    ``base`` and ``base_labels`` belong to the base set of the model and are empty if it has none;
    ``ids``, ``points`` and ``codes`` belong to the sample of items shown.
    """

    base: Float32Array
    base_labels: Int32Array
    ids: Ids
    points: Float32Array
    codes: Codes
    placement: MapPlacement


def compute_map(
    model: IndexedModel, items: Items, n_sample: int, seed: int, on_step: StepCallback
) -> ItemMap:
    """Compute the map of a model.

    Parameters
    ----------
    model
        The model and its codes.
    items
        What is known about the items; vectors improve the map.
    n_sample
        Number of items to show.
    seed
        Seed for choosing the items.
    on_step
        Called with (done, total).

    Returns
    -------
    ItemMap
        The map.
    """
    drawn = np.random.default_rng(seed).permutation(len(model.ids))[:n_sample]
    ids = np.sort(model.ids[drawn])
    codes = model.codes(ids)
    fits = items.vectors is not None and items.vectors.shape[1] == model.hasher.n_features_in_
    vectors = np.asarray(items.vectors[ids]) if fits and items.vectors is not None else None
    if vectors is not None:
        _validation.check_finite(vectors, "the items", name="vectors")
    placement = _make_placement(model, vectors, codes, on_step)
    points = placement.place(vectors, codes)
    assert points is not None  # vectors are given wherever they are needed
    has_base_set = isinstance(model.hasher, BaseSetHasher)
    base = placement.positions if has_base_set else placement.positions[:0]
    labels = _label_base_points(base, points, items.labels_of(ids))
    return ItemMap(base, labels, ids, points, codes, placement)


def _make_placement(
    model: IndexedModel, vectors: AnyArray | None, codes: Codes, on_step: StepCallback
) -> MapPlacement:
    """Use the base set of the model as anchors, or else some of the items shown."""
    hasher = model.hasher
    if isinstance(hasher, BaseSetHasher):
        positions = _positions(hasher.base_set_, on_step)
        if vectors is not None:
            base = hasher.nearest_base_points
            return MapPlacement(base, positions, hasher.bandwidth_, hasher)
        points = _signs(Codes.from_bits(hasher.bit_embedding_ > 0))
        return _learn_placement(points, positions, hasher.n_neighbors_, None, _signs(codes))
    rows = _signs(codes) if vectors is None else _center_rows(vectors, hasher)
    # t-SNE would only push equal points apart.
    anchors = np.unique(rows, axis=0)
    some = np.random.default_rng(0).permutation(len(anchors))[:N_ANCHORS]
    anchors = np.ascontiguousarray(anchors[some])
    reader = None if vectors is None else hasher
    return _learn_placement(anchors, _positions(anchors, on_step), N_NEIGHBORS, reader, rows)


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


def _positions(points: Float32Array, on_step: StepCallback) -> Float32Array:
    """Return positions of points on the map, from the cache if they were computed before."""
    content = f"{_MAP_VERSION} {PERPLEXITY} {cache.hash_arrays(points)}"
    name = hashlib.sha256(content.encode()).hexdigest()[:32]
    path = cache.cache_root() / "explorer" / f"{name}.map"
    with suppress(OSError, ValueError, KeyError):
        cached = model_file.read_model(path).arrays["positions"]
        if cached.shape == (len(points), 2) and np.isfinite(cached).all():
            return np.ascontiguousarray(cached, np.float32)
    positions = _embed(points, on_step)
    # If the cache cannot be written, the map is recomputed next time.
    with suppress(OSError):
        cache.make_cache_folder("explorer")
        model_file.write_model(path, model_file.StoredModel("map", {}, {"positions": positions}))
    return positions


def _embed(points: Float32Array, on_step: StepCallback) -> Float32Array:
    n = len(points)
    if n < _MIN_POINTS:
        angles = 2 * np.pi * np.arange(n) / n
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    if n > N_ANCHORS:
        some = np.sort(np.random.default_rng(0).permutation(n)[:N_ANCHORS])
        placed = _embed(points[some], on_step)
        anchors = NearestBasePoints(np.ascontiguousarray(points[some]), N_NEIGHBORS)
        neighbors = anchors.find(points)
        return induce(neighbors, placed, learn_bandwidth(neighbors))
    method = TSNE(perplexity=min(PERPLEXITY, n / 4))
    return np.ascontiguousarray(method.embed(points, 2, rng=0, on_step=on_step), np.float32)


def _signs(codes: Codes) -> Float32Array:
    """Return codes as points of ±1."""
    return codes.unpack().astype(np.float32) * 2 - 1


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
