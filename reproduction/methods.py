"""The methods that are compared, by the names the paper gives them, with its settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from sklearn.base import clone

from bitfold import hashers as h
from bitfold.embedding import SNE, TSNE, ElasticEmbedding, Embedding, LaplacianEigenmaps
from bitfold.hashers import strategies
from reproduction.shared import SharedBase

Make = Callable[..., h.Hasher]


Settings = Mapping[str, Any]

IMH_SETTINGS: Settings = {"m": 400, "base": "kmeans", "k": 5}
"""The paper's base set and neighbors (Sec. 4.1)."""


class Method(NamedTuple):
    """A method: how to make its hasher for a code length, whether it learns from labels.

    ``settings`` are what experiments vary, with the paper's values.
    """

    make: Make
    uses_labels: bool = False
    settings: Settings = MappingProxyType({})


def _imh(embedding: str | Embedding, rotation: str | None) -> Make:
    def make(n_bits: int, *, m: int, base: str, k: int, **settings: Any) -> h.Hasher:
        method = strategies.EMBEDDINGS[embedding]() if isinstance(embedding, str) else embedding
        embedder = clone(method).set_params(**settings)
        return h.IMH(
            n_bits, base=SharedBase(m, base), embedding=embedder, rotation=rotation, n_neighbors=k
        )

    return make


def _imhs(rotation: str | None) -> Make:
    def make(n_bits: int, *, m: int) -> h.Hasher:
        return h.SupervisedIMH(n_bits, base=SharedBase(m), rotation=rotation)

    return make


def _agh(layers: int) -> Make:
    def make(n_bits: int, *, m: int, base: str, k: int) -> h.Hasher:
        return h.AGH(n_bits, n_layers=layers, base=SharedBase(m, base), n_neighbors=k)

    return make


EMBEDDINGS: dict[str, str | Embedding] = {
    # The paper's graph, by distance; ours, counted from the data, is in the method "IMH".
    "tSNE": TSNE(perplexity=5),
    "SNE": SNE(perplexity=5),
    "EE": ElasticEmbedding(perplexity=5),
    "LE": "le",
    # All pairs, as the paper's sums go over.
    "LE_B": LaplacianEigenmaps(n_neighbors=10**6),
    "LLE": "lle",
    "Isomap": "isomap",
    "DM": "dm",
    "PCA": "pca",
}
"""The paper's names of the embeddings, and ours."""

METHODS: dict[str, Method] = {
    "IMH": Method(h.IMH),
    **{
        f"IMH-{name}": Method(_imh(ours, None), settings=IMH_SETTINGS)
        for name, ours in EMBEDDINGS.items()
    },
    **{
        f"IMH-{name}-ITQ": Method(_imh(EMBEDDINGS[name], "itq"), settings=IMH_SETTINGS)
        for name in ("tSNE", "LE")
    },
    "AGH": Method(_agh(1), settings=IMH_SETTINGS),
    "AGH-2": Method(_agh(2), settings=IMH_SETTINGS),
    "LLH": Method(h.LLH),
    "STH": Method(h.STH),
    "SH": Method(h.SH),
    "MDSH": Method(h.MDSH),
    "ITQ": Method(h.ITQ),
    "PCAH": Method(h.PCAH),
    "SpH": Method(h.SpH),
    "BRE": Method(h.BRE),
    "KLSH": Method(h.KLSH),
    "RMMH": Method(h.RMMH),
    "SKLSH": Method(h.SKLSH),
    "PStableLSH": Method(h.PStableLSH),
    "LSH": Method(h.LSH),
    "IMHs": Method(_imhs(None), True, {"m": 1000}),
    "IMHs-ITQ": Method(_imhs("itq"), True, {"m": 1000}),
    "KSH": Method(h.KSH, uses_labels=True),
    "CCA-ITQ": Method(h.CCAITQ, uses_labels=True),
    "SSH": Method(h.SSH, uses_labels=True),
    "LDAHash": Method(h.LDAHash, uses_labels=True),
}

SCAN = "ℓ2 scan"
"""The exact scan of the vectors themselves, where it stands among the methods."""

PAPER = ["IMH-tSNE", "IMH-LE", "AGH", "STH", "SH", "PCAH", "ITQ", "SpH", "BRE"]
"""The nine of the paper's comparisons (Sec. 4)."""

UNSUPERVISED = [name for name, method in METHODS.items() if not method.uses_labels]

COMPARED = [
    name
    for name in METHODS
    if name not in {f"IMH-{e}" for e in ("SNE", "EE", "LLE", "Isomap", "DM", "PCA")}
]
"""One of each kind: of the embeddings only those that the paper takes to its comparisons."""


def make(name: str, n_bits: int, seed: int, options: dict[str, Any]) -> h.Hasher:
    """Make the hasher of a case."""
    method = METHODS[name]
    hasher = method.make(n_bits, **{**method.settings, **options})
    if "random_state" in hasher.get_params():
        hasher.set_params(random_state=seed)
    return hasher
