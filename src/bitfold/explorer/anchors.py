"""Anchors of the map: points that t-SNE places in two dimensions."""

from __future__ import annotations

import numpy as np

from bitfold._types import Float32Array, StepCallback
from bitfold.embedding import TSNE
from bitfold.explorer import map_cache
from bitfold.induction import induce, learn_bandwidth
from bitfold.io import cache
from bitfold.neighbors import NearestBasePoints

PERPLEXITY = 15.0
"""Perplexity of the map; larger than for codes, so that clusters are visible."""

N_ANCHORS = 1000
"""Maximum number of points placed by t-SNE; more would break up into fragments."""

N_NEIGHBORS = 5
"""Number of anchors per item, if the model does not define it."""

_MIN_POINTS = 8
"""Fewer points are placed on a circle instead."""

_VERSION = 3
"""Increased when the same anchors get other positions, so that they are computed again."""


def place_anchors(points: Float32Array, on_step: StepCallback) -> Float32Array:
    """Return positions of anchors, from the cache if they were computed before."""
    content = f"{_VERSION} {PERPLEXITY} {cache.hash_arrays(points)}"
    cached = map_cache.read_array(content)
    if cached is not None and cached.shape == (len(points), 2) and np.isfinite(cached).all():
        return np.ascontiguousarray(cached, np.float32)
    positions = embed_anchors(points, on_step)
    map_cache.write_array(content, positions)
    return positions


def embed_anchors(points: Float32Array, on_step: StepCallback) -> Float32Array:
    """Embed anchors in the plane; if there are many, some by t-SNE and the others by induction."""
    n = len(points)
    if n < _MIN_POINTS:
        angles = 2 * np.pi * np.arange(n) / n
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    if n > N_ANCHORS:
        some = np.sort(np.random.default_rng(0).permutation(n)[:N_ANCHORS])
        placed = embed_anchors(points[some], on_step)
        anchors = NearestBasePoints(np.ascontiguousarray(points[some]), N_NEIGHBORS)
        neighbors = anchors.find(points)
        return induce(neighbors, placed, learn_bandwidth(neighbors))
    method = TSNE(perplexity=min(PERPLEXITY, n / 4))
    return np.ascontiguousarray(method.embed(points, 2, rng=0, on_step=on_step), np.float32)
