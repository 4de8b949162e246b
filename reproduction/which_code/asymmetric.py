"""Asymmetric ranking: the reals of a query against the bits of the database."""

from __future__ import annotations

import numpy as np

from bitfold import Codes
from reproduction.shared_types import AnyArray, Float32Array


def unpack_signs(codes: Codes) -> Float32Array:
    """Return the bits as -1 and 1."""
    return codes.unpack().astype(np.float32) * 2 - 1


def score_bits(embedding: AnyArray, signs: Float32Array) -> Float32Array:
    """Return minus the dot products of reals and signs; smaller is nearer."""
    return np.asarray(-np.asarray(embedding, np.float32) @ signs.T)
