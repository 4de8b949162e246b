"""The methods that are compared, by the names the paper gives them, with its settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from sklearn.base import clone

from bitfold import embedding as e
from bitfold import hashers as h
from reproduction.experiments.base_set_cache import make_base_strategy

HasherFactory = Callable[..., h.Hasher]
Settings = Mapping[str, Any]

IMH_SETTINGS: Settings = {"base": "kmeans", "n_base_points": 400, "n_neighbors": 5}
"""The paper's base set and neighbors (Sec. IV-A)."""


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


def _published(make_published: HasherFactory, rotation: str | None = None) -> Method:
    """Return a hasher with the settings of the paper's authors; k-means has their 10 iterations."""

    def make(
        n_bits: int, *, base: str, n_base_points: int, n_neighbors: int, dataset: str
    ) -> h.Hasher:
        hasher: h.Hasher = make_published(
            n_bits, n_base_points=n_base_points, n_neighbors=n_neighbors
        )
        strategy = make_base_strategy(base, n_base_points, f"{dataset}, unit rows")
        if base == "kmeans":
            strategy.set_params(max_iter=hasher.get_params()["base"].max_iter)
        changes = {"rotation": rotation} if rotation else {}
        hasher.set_params(base=strategy, **changes)
        return hasher

    return Method(make, settings=IMH_SETTINGS, has_base_set=True)


def _published_imh(embedding: str, rotation: str | None = None) -> Method:
    return _published(partial(h.IMH.as_published, embedding=embedding), rotation)


def _published_supervised_imh(rotation: str | None = None) -> Method:
    """Return Alg. 2 with a base set of labeled samples, as in Sec. VI."""
    published = _published(h.SupervisedIMH.as_published, rotation)
    settings = {"base": "random", "n_base_points": 1000, "n_neighbors": 5}
    return published._replace(uses_labels=True, settings=settings)


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

AS_PUBLISHED = " as published"
"""Ending of the names of methods with the settings of the paper's authors."""


def published_name(method: str) -> str:
    """Return the name of a method with the settings of the paper's authors."""
    return method + AS_PUBLISHED


BY_DEFAULT = " (bitfold)"
"""Ending of the names of methods with the defaults of bitfold, and the paper's base set."""


def _by_default(make_default: HasherFactory, **more: Any) -> Method:
    """Return a hasher with the defaults of bitfold except for what the experiments vary.

    ``rotation`` is "none" for a hasher without one, in Fig. 13 and Fig. 14.
    """

    def make(
        n_bits: int, *, base: str, n_base_points: int, dataset: str, rotation: str = "", **rest: Any
    ) -> h.Hasher:
        strategy = make_base_strategy(base, n_base_points, dataset)
        changes = {"rotation": None} if rotation == "none" else {}
        return make_default(n_bits, base=strategy, **rest, **changes)

    settings = {**IMH_SETTINGS, **more.pop("settings", {})}
    return Method(make, settings=settings, has_base_set=True, **more)


_BY_DEFAULT: dict[str, Method] = {
    "IMH-tSNE": _by_default(h.IMH),
    **{
        f"IMH-{name}": _by_default(partial(h.IMH, embedding=name.lower()))
        for name in EMBEDDINGS
        if name != "tSNE"
    },
    "AGH": _by_default(h.AGH),
    "IMHs": _by_default(h.SupervisedIMH, uses_labels=True, settings={"n_base_points": 1000}),
}

_PUBLISHED: dict[str, Method] = {
    **{f"IMH-{name}": _published_imh(name.lower()) for name in EMBEDDINGS},
    **{f"IMH-{name}-ITQ": _published_imh(name.lower(), "itq") for name in ("tSNE", "LE")},
    "AGH": _published(h.AGH.as_published),
    "IMHs": _published_supervised_imh(),
    "IMHs-ITQ": _published_supervised_imh("itq"),
}

ON_UNIT_ROWS = " on unit rows"
"""Ending of the names of methods without a base set, on rows that are scaled to unit length."""

OTHER_METHODS: dict[str, HasherFactory] = {
    "STH": h.STH,
    "SH": h.SH,
    "PCAH": h.PCAH,
    "ITQ": h.ITQ,
    "SpH": h.SpH,
    "BRE": h.BRE,
}
"""The methods of the paper's comparisons (Sec. IV) that have no base set."""

METHODS: dict[str, Method] = {
    "DualHasher": Method(h.DualHasher),
    "IMH": Method(h.IMH),
    **{f"IMH-{name}": _imh(embedding, None) for name, embedding in EMBEDDINGS.items()},
    **{f"IMH-{name}-ITQ": _imh(EMBEDDINGS[name], "itq") for name in ("tSNE", "LE")},
    "AGH": _agh(1),
    "AGH-2": _agh(2),
    "LLH": Method(h.LLH),
    **{name: Method(make) for name, make in OTHER_METHODS.items()},
    **{
        name + ON_UNIT_ROWS: Method(partial(make, normalize=True))
        for name, make in OTHER_METHODS.items()
    },
    "MDSH": Method(h.MDSH),
    "KLSH": Method(h.KLSH),
    "RMMH": Method(h.RMMH),
    "SKLSH": Method(h.SKLSH),
    "PStableLSH": Method(h.PStableLSH),
    "LSH": Method(h.LSH),
    "IMHs": _supervised_imh(None),
    "IMHs-ITQ": _supervised_imh("itq"),
    "KSH": Method(h.KSH, uses_labels=True),
    "SDH": Method(h.SDH, uses_labels=True),
    "FSDH": Method(h.FSDH, uses_labels=True),
    "CCA-ITQ": Method(h.CCAITQ, uses_labels=True),
    "SSH": Method(h.SSH, uses_labels=True),
    "LDAHash": Method(h.LDAHash, uses_labels=True),
    "MahalanobisLSH": Method(h.MahalanobisLSH, uses_labels=True),
    **{published_name(name): method for name, method in _PUBLISHED.items()},
    **{name + BY_DEFAULT: method for name, method in _BY_DEFAULT.items()},
}

SCAN = "ℓ2 scan"
"""Name of the exact scan of the vectors, which is shown among the methods."""

PUBLISHED_METHODS = [published_name(name) for name in ("IMH-tSNE", "IMH-LE", "AGH")]
"""The methods of the paper's comparisons that have settings of the paper's authors."""

PAPER_METHODS = ["IMH-tSNE", "IMH-LE", "AGH", *OTHER_METHODS]
"""The nine methods of the paper's comparisons (Sec. IV)."""

COMPARED_METHODS = [
    name
    for name in METHODS
    if name not in {f"IMH-{e}" for e in ("SNE", "EE", "LLE", "Isomap", "DM", "PCA")}
    and not name.endswith((AS_PUBLISHED, BY_DEFAULT, ON_UNIT_ROWS))
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
