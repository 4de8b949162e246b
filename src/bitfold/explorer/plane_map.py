"""The map: the base set in two dimensions by t-SNE, and items carried into it by induction."""

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
from bitfold.explorer.models import Coded
from bitfold.hashers.base.base_set import BaseSetHasher
from bitfold.induction import BaseSet, learn_bandwidth
from bitfold.io import cache, model_file
from bitfold.rotation import bits

PERPLEXITY = 15.0
"""Neighbors of a base point in the plane: more than in the code, for clusters the eye can tell."""

ANCHORS = 1000
"""Points that t-SNE places; in the plane more of them fall apart into fragments.

They are base points of the model, or items where it has none; they carry all others.
"""

CARRIERS = 5
"""Anchors that carry an item where the model does not say how many."""

VOTERS = 9
"""Items that tell the label of the base point they are nearest to."""

_FEWEST = 8
"""Points below which there is nothing to embed."""

_VERSION = 2
"""Rises when the same points give another map, so that kept maps are made anew."""


@dataclass(frozen=True, eq=False)
class Carrier:
    """Places vectors, or codes as points of ±1, in the plane: Eq. (8) with two dimensions.

    Parameters
    ----------
    base
        Points of the base set, relative to ``center``.
    positions
        Their places in the plane.
    bandwidth
        σ of the weights.
    center
        What vectors are taken relative to; None carries codes.
    """

    base: BaseSet
    positions: Float32Array
    bandwidth: float
    center: Float32Array | None

    def place(self, vectors: AnyArray | None, codes: Codes) -> Float32Array | None:
        """Return places of vectors, or of codes; None if vectors are needed and not there."""
        if self.center is None:
            return self.base.induce(_signs(codes), self.positions, self.bandwidth)
        if vectors is None:
            return None
        rows = np.ascontiguousarray(np.asarray(vectors, np.float64) - self.center, np.float32)
        return self.base.induce(rows, self.positions, self.bandwidth)


class Plane(NamedTuple):
    """A map.

    ``base`` and ``base_labels`` are the base set of the model, empty if it has none; ``ids``,
    ``points`` and ``codes`` are the sample of the items.
    """

    base: Float32Array
    base_labels: Int32Array
    ids: Ids
    points: Float32Array
    codes: Codes
    carrier: Carrier


def chart(coded: Coded, items: Items, n_sample: int, seed: int, on_step: StepCallback) -> Plane:
    """Draw the map of a model.

    Parameters
    ----------
    coded
        The model and its codes.
    items
        What is known of the items; with their vectors the map is better.
    n_sample
        Items to show.
    seed
        Draws the items.
    on_step
        Told (done, total) as the map is made.
    """
    drawn = np.random.default_rng(seed).permutation(len(coded.ids))[:n_sample]
    ids = np.sort(coded.ids[drawn])
    codes = coded.codes(ids)
    fits = items.vectors is not None and items.vectors.shape[1] == coded.hasher.n_features_in_
    vectors = np.asarray(items.vectors[ids]) if fits and items.vectors is not None else None
    if vectors is not None:
        _validation.check_finite(vectors, "the items", name="vectors")
    carrier = _carrier(coded, vectors, codes, on_step)
    points = carrier.place(vectors, codes)
    if points is None:
        raise RuntimeError("a map by vectors must have vectors.")
    inductive = isinstance(coded.hasher, BaseSetHasher)
    base = carrier.positions if inductive else carrier.positions[:0]
    labels = _labels_of_base(base, points, items.labels_of(ids))
    return Plane(base, labels, ids, points, codes, carrier)


def _carrier(
    coded: Coded, vectors: AnyArray | None, codes: Codes, on_step: StepCallback
) -> Carrier:
    """Make a carrier of the model's base set, or else of some of the items shown."""
    hasher = coded.hasher
    if isinstance(hasher, BaseSetHasher):
        positions = _positions(hasher.base_set_, on_step)
        if vectors is not None:
            base = BaseSet(hasher.base_set_, hasher.n_neighbors_)
            return Carrier(base, positions, hasher.bandwidth_, hasher.center_)
        points = _signs(Codes.from_bits(bits(hasher.bit_embedding_)))
        return _learned(points, positions, hasher.n_neighbors_, None, _signs(codes))
    if vectors is None:
        points, center, rows = _signs(codes), None, _signs(codes)
    else:
        center = hasher.center_
        rows = np.ascontiguousarray(vectors.astype(np.float64) - center, np.float32)
        points = rows
    # Equal points would only crowd one another out.
    anchors = np.unique(points, axis=0)
    some = np.random.default_rng(0).permutation(len(anchors))[:ANCHORS]
    anchors = np.ascontiguousarray(anchors[some])
    return _learned(anchors, _positions(anchors, on_step), CARRIERS, center, rows)


def _learned(
    points: Float32Array,
    positions: Float32Array,
    k: int,
    center: Float32Array | None,
    rows: Float32Array,
) -> Carrier:
    base = BaseSet(points, min(k, len(points)))
    return Carrier(base, positions, learn_bandwidth(base.neighbors(rows)), center)


def _positions(points: Float32Array, on_step: StepCallback) -> Float32Array:
    """Place points in the plane; found again in the cache where they were placed before."""
    about = f"{_VERSION} {PERPLEXITY} {cache.hash_arrays(points)}"
    name = hashlib.sha256(about.encode()).hexdigest()[:32]
    path = cache.cache_root() / "explorer" / f"{name}.map"
    with suppress(OSError, ValueError, KeyError):
        kept = model_file.read(path).arrays["positions"]
        if kept.shape == (len(points), 2) and np.isfinite(kept).all():
            return np.ascontiguousarray(kept, np.float32)
    positions = _embedded(points, on_step)
    # A cache that cannot be written costs time, nothing else.
    with suppress(OSError):
        cache.make_cache_folder("explorer")
        model_file.write(path, model_file.Stored("map", {}, {"positions": positions}))
    return positions


def _embedded(points: Float32Array, on_step: StepCallback) -> Float32Array:
    n = len(points)
    if n < _FEWEST:
        angles = 2 * np.pi * np.arange(n) / n
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    if n > ANCHORS:
        some = np.sort(np.random.default_rng(0).permutation(n)[:ANCHORS])
        placed = _embedded(points[some], on_step)
        anchors = BaseSet(np.ascontiguousarray(points[some]), CARRIERS)
        return anchors.induce(points, placed, learn_bandwidth(anchors.neighbors(points)))
    method = TSNE(perplexity=min(PERPLEXITY, n / 4))
    return np.ascontiguousarray(method.embed(points, 2, rng=0, on_step=on_step), np.float32)


def _signs(codes: Codes) -> Float32Array:
    """Return codes as points of ±1."""
    return codes.unpack().astype(np.float32) * 2 - 1


def _labels_of_base(base: Float32Array, points: Float32Array, labels: Int32Array) -> Int32Array:
    """Give each base point the label that most of the items nearest to it in the plane have."""
    out = np.full(len(base), UNLABELED, np.int32)
    labeled = labels != UNLABELED
    if not len(base) or not labeled.any():
        return out
    around = BaseSet(np.ascontiguousarray(points[labeled]), VOTERS)
    votes = labels[labeled][around.neighbors(base).indices]
    ballots = np.stack([np.repeat(np.arange(len(base)), votes.shape[1]), votes.ravel()], axis=1)
    pairs, counts = np.unique(ballots, axis=0, return_counts=True)
    # The last to be written is the one with the most votes.
    order = np.argsort(counts, kind="stable")
    out[pairs[order, 0]] = pairs[order, 1]
    return out
