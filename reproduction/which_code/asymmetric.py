"""Asymmetric ranking: the reals of a query against the bits of the database."""

from __future__ import annotations

import numpy as np

from bitfold import Codes
from reproduction.shared_types import AnyArray, Float32Array, Int64Array

_QUERIES_PER_BLOCK = 50


def unpack_signs(codes: Codes) -> Float32Array:
    """Return the bits as -1 and 1."""
    return codes.unpack().astype(np.float32) * 2 - 1


def score_bits(embedding: AnyArray, signs: Float32Array) -> Float32Array:
    """Return minus the dot products of reals and signs; smaller is nearer."""
    return np.asarray(-np.asarray(embedding, np.float32) @ signs.T)


def search_by_embedding(codes: Codes, embedding: AnyArray, k: int) -> Int64Array:
    """Return the ids of the k best codes for the reals of each query, ties by id.

    All dot products are computed, in blocks of queries.
    """
    signs = unpack_signs(codes)
    found = []
    for start in range(0, len(embedding), _QUERIES_PER_BLOCK):
        scores = score_bits(embedding[start : start + _QUERIES_PER_BLOCK], signs)
        found.append(np.argsort(scores, axis=1, kind="stable")[:, :k])
    return np.concatenate(found)
