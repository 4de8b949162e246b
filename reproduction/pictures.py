"""Results that are looked at: what was retrieved, and the embedding in the plane."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from bitfold import datasets
from bitfold.base_set import RandomBase
from bitfold.datasets import Dataset
from bitfold.hashers import IMH, LSH
from bitfold.search import HammingIndex
from reproduction.cifar10_jpeg import split_jpeg_images
from reproduction.packing import pack, pack_photos
from reproduction.records import Case
from reproduction.retrieval import Report, Result, code

Bytes = NDArray[np.uint8]

SHOWN = 10
"""Retrieved items that are shown of each query."""

N_DIGITS = 300
"""Samples of the paper's first figure of results."""


def plane(case: Case, data: Dataset, report: Report | None = None) -> Result:
    """Embed the base set and, by induction, all the data in two dimensions (Fig. 5)."""
    hasher = code(case, data, report).hasher
    assert isinstance(hasher, IMH)
    base, labels = hasher.base_embedding_, np.asarray(data.labels, np.uint8)
    low, high = base.min(axis=0), base.max(axis=0)
    x, y = _quantized(hasher.embed(data.database), low, high).T
    # Of no meaning to a picture, the order makes the record a third as long.
    order = np.lexsort((y, x, labels))
    return {
        "base": pack(_quantized(base, low, high).T),
        "points": pack(np.stack([x, y])[:, order]),
        "labels": pack(labels[order]),
    }


def retrieved(case: Case, data: Dataset, report: Report | None = None) -> Result:
    """Find the first items for a query of every third class; keep them and their pictures."""
    coded = code(case, data, report)
    queries = first_of_each_class(np.asarray(data.query_labels))[::3]
    index = HammingIndex(coded.database.n_bits)
    index.add(coded.database)
    found = index.search(coded.queries[queries], SHOWN).ids
    is_cifar10 = case.data == "cifar10"
    shown = (
        split_jpeg_images(case.queries) if is_cifar10 else datasets.images(case.data, case.queries)
    )
    tiles = np.concatenate([shown.queries[queries][:, None], shown.database[found]], axis=1)
    relevant = np.asarray(data.labels)[found] == np.asarray(data.query_labels)[queries, None]
    return {"ids": found.tolist(), "relevant": relevant.tolist(), "tiles": pack_photos(tiles)}


def digits(case: Case, data: Dataset, report: Report | None = None) -> Result:
    """Retrieve among 300 digits by four distances (Fig. 2)."""
    chosen = np.random.default_rng(case.seed).choice(len(data.database), N_DIGITS, replace=False)
    X, y = data.database[np.sort(chosen)], np.asarray(data.labels)[np.sort(chosen)]
    queries = first_of_each_class(y)[[1, 3, 4, 8]]
    hasher = IMH(48, base=RandomBase(N_DIGITS), rotation=None, random_state=case.seed).fit(X)
    lsh = LSH(128, random_state=case.seed).fit(X)
    embedded = hasher.embed(X)
    ways = {
        "ℓ2, 784-D": cdist(X, X),
        "LSH, 128 bits": _hamming(lsh.transform(X)),
        "ℓ2 on t-SNE, 48-D": cdist(embedded, embedded),
        "Hamming, 48 bits": _hamming(hasher.transform(X)),
    }
    results: dict[str, Any] = {}
    for name, distances in ways.items():
        np.fill_diagonal(distances, -1)  # a query comes first itself
        ids = np.argsort(distances, axis=1, kind="stable")[:, : SHOWN + 1]
        right = y[ids[:, 1:]] == y[:, None]
        tiles = X[ids[queries]].reshape(len(queries), -1, 28, 28)
        results[name] = {
            "tiles": pack(tiles.astype(np.uint8)),
            "relevant": right[queries].tolist(),
            "share": 100 * float(right.mean()),  # with every one of the digits as the query
        }
    return results


def first_of_each_class(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Return the first row of each class, in the order of the classes."""
    return np.unique(labels, return_index=True)[1]


def _quantized(points: NDArray[Any], low: NDArray[Any], high: NDArray[Any]) -> NDArray[np.uint16]:
    """Round to a thousandth of the picture, which no eye will see."""
    places = np.clip(1000 * (points - low) / (high - low) + 100, 0, 1200)
    return np.asarray(places, np.uint16)


def _hamming(bits: Bytes) -> NDArray[np.float64]:
    return np.asarray((bits[:, None] != bits).sum(axis=2), np.float64)
