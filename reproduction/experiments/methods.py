"""The methods that are compared, by the names the paper gives them, with its settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from sklearn.base import clone

from bitfold import embedding as e
from bitfold import hashers as h
from reproduction.experiments.base_set_cache import make_base_strategy

HasherFactory = Callable[..., h.Hasher]
Settings = Mapping[str, Any]

IMH_SETTINGS: Settings = {"base": "kmeans", "n_base_points": 400, "n_neighbors": 5}
"""The paper's base set and neighbors (Sec. 4.1)."""


class Method(NamedTuple):
    """A method.

    ``make`` takes a code length and ``settings``, the paper's values of what experiments vary; if
    it ``has_base_set`` it also takes the name of the data set, under which base sets are cached.
    """

    make: HasherFactory
    uses_labels: bool = False
    settings: Settings = MappingProxyType({})
    has_base_set: bool = False


def _imh(embedding: e.Embedding, rotation: str | None) -> Method:
    def make(
        n_bits: int, *, base: str, n_base_points: int, n_neighbors: int, dataset: str, **rest: Any
    ) -> h.Hasher:
        return h.IMH(
            n_bits,
            base=make_base_strategy(base, n_base_points, dataset),
            embedding=clone(embedding).set_params(**rest),
            rotation=rotation,
            n_neighbors=n_neighbors,
        )

    return Method(make, settings=IMH_SETTINGS, has_base_set=True)


def _supervised_imh(rotation: str | None) -> Method:
    def make(n_bits: int, *, n_base_points: int, dataset: str) -> h.Hasher:
        base = make_base_strategy("kmeans", n_base_points, dataset)
        return h.SupervisedIMH(n_bits, base=base, rotation=rotation)

    return Method(make, uses_labels=True, settings={"n_base_points": 1000}, has_base_set=True)


def _agh(n_layers: int) -> Method:
    def make(
        n_bits: int, *, base: str, n_base_points: int, n_neighbors: int, dataset: str
    ) -> h.Hasher:
        strategy = make_base_strategy(base, n_base_points, dataset)
        return h.AGH(n_bits, n_layers=n_layers, base=strategy, n_neighbors=n_neighbors)

    return Method(make, settings=IMH_SETTINGS, has_base_set=True)


EMBEDDINGS: dict[str, e.Embedding] = {
    # The paper's graph is by distance; the default of bitfold, counted in the data, is "IMH".
    "tSNE": e.TSNE(perplexity=5),
    "SNE": e.SNE(perplexity=5),
    "EE": e.ElasticEmbedding(perplexity=5),
    "LE": e.RelaxedLaplacian(),
    # The sums of the paper are over all pairs.
    "LE_B": e.LaplacianEigenmaps(n_neighbors=10**6),
    "LLE": e.LLE(),
    "Isomap": e.Isomap(),
    "DM": e.DiffusionMaps(),
    "PCA": e.PCA(),
}
"""Embeddings of the base set by the paper's names."""

METHODS: dict[str, Method] = {
    "IMH": Method(h.IMH),
    **{f"IMH-{name}": _imh(embedding, None) for name, embedding in EMBEDDINGS.items()},
    **{f"IMH-{name}-ITQ": _imh(EMBEDDINGS[name], "itq") for name in ("tSNE", "LE")},
    "AGH": _agh(1),
    "AGH-2": _agh(2),
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
    "IMHs": _supervised_imh(None),
    "IMHs-ITQ": _supervised_imh("itq"),
    "KSH": Method(h.KSH, uses_labels=True),
    "CCA-ITQ": Method(h.CCAITQ, uses_labels=True),
    "SSH": Method(h.SSH, uses_labels=True),
    "LDAHash": Method(h.LDAHash, uses_labels=True),
}

SCAN = "ℓ2 scan"
"""Name of the exact scan of the vectors, which is shown among the methods."""

PAPER_METHODS = ["IMH-tSNE", "IMH-LE", "AGH", "STH", "SH", "PCAH", "ITQ", "SpH", "BRE"]
"""The nine methods of the paper's comparisons (Sec. 4)."""

COMPARED_METHODS = [
    name
    for name in METHODS
    if name not in {f"IMH-{e}" for e in ("SNE", "EE", "LLE", "Isomap", "DM", "PCA")}
]
"""One method of each kind; only the embeddings that the paper uses in its comparisons."""


def make_hasher(
    name: str, n_bits: int, seed: int, options: Mapping[str, Any], dataset: str = ""
) -> h.Hasher:
    """Return the hasher of a method; ``dataset`` names the rows for the cache of base sets."""
    method = METHODS[name]
    settings = {**method.settings, **options}
    if method.has_base_set:
        settings["dataset"] = dataset
    hasher = method.make(n_bits, **settings)
    if "random_state" in hasher.get_params():
        hasher.set_params(random_state=seed)
    return hasher
