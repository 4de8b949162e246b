"""Learned codes and semantic search for sentence-transformers."""

from __future__ import annotations

from typing import Any

import numpy as np
import sentence_transformers

from bitfold import _validation
from bitfold._types import AnyArray
from bitfold.collection import Collection
from bitfold.hashers import Hasher

__all__ = ["quantize_embeddings", "semantic_search"]

_BINARY = ("binary", "ubinary")


def quantize_embeddings(
    embeddings: Any,
    precision: str,
    ranges: Any = None,
    calibration_embeddings: Any = None,
    *,
    hasher: Hasher | None = None,
) -> AnyArray:
    """Quantize embeddings as sentence-transformers does, with learned codes if you pass a hasher.

    The parameters, types and shapes are those of ``sentence_transformers.quantize_embeddings``,
    which does the work for all other precisions, and without a hasher. Encode queries with the same
    hasher as the corpus.

    Parameters
    ----------
    embeddings
        One embedding per row: an array, a tensor, or a list of either.
    precision
        "float32", "int8", "uint8", "binary" or "ubinary".
    ranges
        Smallest and largest value per dimension, for "int8" and "uint8".
    calibration_embeddings
        Embeddings to compute the ranges from.
    hasher
        A fitted hasher, which makes the bits of "binary" and "ubinary". A hasher with as many bits
        as the embeddings have dimensions gives codes of the same shape.

    Returns
    -------
    One row per embedding. The bits are packed, eight per byte: uint8 for "ubinary", int8 and 128
    less for "binary".

    Raises
    ------
    ValueError
        If the precision is unknown.
    DataError
        If the hasher cannot encode the embeddings.

    Examples
    --------
    >>> import bitfold as bf
    >>> X = np.random.default_rng(0).normal(size=(500, 64)).astype(np.float32)
    >>> hasher = bf.DualHasher(64, random_state=0).fit(X)
    >>> quantize_embeddings(X, "ubinary", hasher=hasher).shape
    (500, 8)
    """
    if hasher is None or precision not in _BINARY:
        kind: Any = precision
        quantized: AnyArray = sentence_transformers.quantize_embeddings(
            embeddings, kind, ranges, calibration_embeddings
        )
        return quantized
    packed = hasher.encode(_to_array(embeddings)).packed
    return packed if precision == "ubinary" else (packed.astype(np.int16) - 128).astype(np.int8)


def semantic_search(
    query_embeddings: Any,
    collection: Collection,
    *,
    top_k: int = 10,
    rescore_multiplier: int = 10,
    where: Any = None,
) -> list[list[dict[str, Any]]]:
    """Search a collection; return hits as ``sentence_transformers.util.semantic_search`` does.

    Codes find ``top_k`` times ``rescore_multiplier`` candidates, and the vectors that the
    collection keeps decide their order.

    Parameters
    ----------
    query_embeddings
        One embedding per row, or a single one: an array, a tensor, or a list of either.
    collection
        The corpus.
    top_k
        Number of hits per query.
    rescore_multiplier
        Number of candidates per hit.
    where
        A condition on the metadata, as for :meth:`bitfold.Collection.search`.

    Returns
    -------
    One list per query with a dictionary per hit, best first: its ``corpus_id``, and its ``score``,
    which is the cosine, or minus the distance if the metric of the collection is Euclidean.

    Raises
    ------
    ParameterError
        If a parameter is not valid.
    DataError
        If the queries cannot be used.

    Examples
    --------
    >>> import bitfold as bf
    >>> X = np.random.default_rng(0).normal(size=(2000, 64)).astype(np.float32)
    >>> corpus = bf.Collection.create("corpus.bitfold", X, metric="cosine")
    >>> [[hit]] = semantic_search(X[7], corpus, top_k=1)
    >>> hit["corpus_id"], round(hit["score"], 3)
    (7, 1.0)
    """
    multiplier = _validation.check_integer(
        rescore_multiplier, "rescore_multiplier", "semantic_search", low=1
    )
    queries = np.atleast_2d(_to_array(query_embeddings))
    hits = collection.search(queries, top_k, where=where, n_candidates=top_k * multiplier)
    scores = 1 - hits.distances if collection.metric == "cosine" else -hits.distances
    return [
        [
            {"corpus_id": found, "score": score}
            for found, score in zip(ids.tolist(), row.tolist(), strict=True)
        ]
        for ids, row in zip(hits.ids, scores, strict=True)
    ]


def _to_array(embeddings: Any) -> AnyArray:
    """Return embeddings as an array; tensors may be on another device."""
    if isinstance(embeddings, (list, tuple)):
        return np.array([_to_array(each) for each in embeddings])
    if hasattr(embeddings, "detach"):
        embeddings = embeddings.detach().cpu().numpy()
    return np.asarray(embeddings)
