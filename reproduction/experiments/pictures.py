"""Results that are shown as pictures: what was retrieved, and the embedding in the plane."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from bitfold.datasets import Dataset
from bitfold.hashers import IMH, LSH
from bitfold.search import HammingIndex
from reproduction.data.cifar10 import split_images
from reproduction.experiments.methods import make_hasher
from reproduction.experiments.retrieval import encode_case
from reproduction.image_encoding import encode_array, encode_photos
from reproduction.records import Case
from reproduction.shared_types import (
    AnyArray,
    Float64Array,
    Int64Array,
    ProgressCallback,
    Result,
    UInt8Array,
)

N_HITS = 10
"""Retrieved items that are shown for each query."""

N_DIGITS = 300
"""Digits in Fig. 2."""


def measure_plane(case: Case, data: Dataset, progress: ProgressCallback | None = None) -> Result:
    """Embed the base set and, by induction, all rows in two dimensions (Fig. 5).

    A base point has the class of most of the rows that are nearest to it in the plane, or of the
    nearest row if there are none. ``share`` is the percentage of rows whose nearest base point has
    their own class.
    """
    hasher = encode_case(case, data, progress).hasher
    assert isinstance(hasher, IMH)
    base, labels = hasher.bit_embedding_, np.asarray(data.labels, np.uint8)
    embedded = hasher.embed(data.database)
    nearest = cKDTree(base).query(embedded)[1]
    nearest_labels = labels[cKDTree(embedded).query(base)[1]]
    base_labels = find_majority(nearest, labels, nearest_labels)
    low, high = base.min(axis=0), base.max(axis=0)
    x, y = _quantize(embedded, low, high).T
    # The order does not matter to a picture; sorted, the record has a third of the length.
    order = np.lexsort((y, x, labels))
    return {
        "base": encode_array(_quantize(base, low, high).T),
        "base_labels": encode_array(base_labels),
        "points": encode_array(np.stack([x, y])[:, order]),
        "labels": encode_array(labels[order]),
        "share": 100 * float(np.mean(base_labels[nearest] == labels)),
    }


def find_majority(groups: AnyArray, labels: UInt8Array, otherwise: UInt8Array) -> UInt8Array:
    """Return the most common label of each group, and ``otherwise`` that of an empty one."""
    counts = np.zeros((len(otherwise), int(labels.max()) + 1), np.int64)
    np.add.at(counts, (groups, labels), 1)
    return np.where(counts.any(axis=1), counts.argmax(axis=1), otherwise).astype(np.uint8)


def measure_retrieved(
    case: Case, data: Dataset, progress: ProgressCallback | None = None
) -> Result:
    """Return the first hits of one query of every third class of CIFAR-10 (Fig. 8)."""
    encoded = encode_case(case, data, progress)
    query_labels = np.asarray(data.query_labels)
    queries = find_first_of_each_class(query_labels)[::3]
    index = HammingIndex(encoded.database.n_bits)
    index.add(encoded.database)
    ids = index.search(encoded.queries[queries], N_HITS).ids
    images = split_images(case.n_queries)
    tiles = np.concatenate([images.queries[queries][:, None], images.database[ids]], axis=1)
    relevant = np.asarray(data.labels)[ids] == query_labels[queries, None]
    return {
        "ids": ids.tolist(),
        "classes": query_labels[queries].tolist(),
        "relevant": relevant.tolist(),
        "tiles": encode_photos(tiles),
    }


def measure_digits(case: Case, data: Dataset, progress: ProgressCallback | None = None) -> Result:
    """Retrieve among 300 digits by four distances (Fig. 2)."""
    chosen = np.random.default_rng(case.seed).choice(len(data.database), N_DIGITS, replace=False)
    X, y = data.database[np.sort(chosen)], np.asarray(data.labels)[np.sort(chosen)]
    queries = find_first_of_each_class(y)[[1, 3, 4, 8]]
    return {
        name: _retrieve_digits(distances, X, y, queries)
        for name, distances in _measure_distances(case, X).items()
    }


def find_first_of_each_class(labels: AnyArray) -> Int64Array:
    """Return the first row of each class, in the order of the classes."""
    return np.unique(labels, return_index=True)[1]


def _measure_distances(case: Case, X: AnyArray) -> dict[str, Float64Array]:
    """Return the distances of all pairs, before and after embedding, as reals and as bits."""
    hasher = make_hasher(case.method, case.n_bits, case.seed, dict(case.options)).fit(X)
    assert isinstance(hasher, IMH)
    lsh = LSH(128, random_state=case.seed).fit(X)
    embedded = hasher.embed(X)
    return {
        "ℓ2, 784-D": cdist(X, X),
        "LSH, 128 bits": _hamming_distances(lsh.transform(X)),
        "ℓ2 on t-SNE, 48-D": cdist(embedded, embedded),
        "Hamming, 48 bits": _hamming_distances(hasher.transform(X)),
    }


def _retrieve_digits(
    distances: Float64Array, X: AnyArray, y: AnyArray, queries: Int64Array
) -> dict[str, Any]:
    """Return the hits of some queries, and the share of correct hits over all of them."""
    np.fill_diagonal(distances, -1)  # a query is its own first hit
    ids = np.argsort(distances, axis=1, kind="stable")[:, : N_HITS + 1]
    relevant = y[ids[:, 1:]] == y[:, None]
    tiles = X[ids[queries]].reshape(len(queries), -1, 28, 28)
    shares = 100 * relevant.mean(axis=1)
    return {
        "tiles": encode_array(tiles.astype(np.uint8)),
        "relevant": relevant[queries].tolist(),
        "share": float(shares.mean()),
        # Of the 95 % interval over the queries.
        "half_width": 1.96 * float(shares.std(ddof=1)) / len(shares) ** 0.5,
    }


def _quantize(points: AnyArray, low: AnyArray, high: AnyArray) -> NDArray[np.uint16]:
    """Round to a thousandth of the picture, which cannot be seen."""
    places = np.clip(1000 * (points - low) / (high - low) + 100, 0, 1200)
    return np.asarray(places, np.uint16)


def _hamming_distances(bits: NDArray[np.uint8]) -> Float64Array:
    return np.asarray((bits[:, None] != bits).sum(axis=2), np.float64)
