"""bitfold: short binary codes that keep the kind of an item and its order among its neighbors.

>>> import bitfold as bf
>>> from sklearn.datasets import load_digits
>>> X = load_digits().data
>>> hasher = bf.DualHasher(n_bits=64, random_state=0).fit(X)
>>> codes = hasher.encode(X)
>>> codes.packed.shape
(1797, 8)
"""

from __future__ import annotations

from importlib import import_module as _import_module

from bitfold._version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    # typing itself takes longer to import than the rest of this module.
    from typing import Any

    from bitfold._progress import set_progress
    from bitfold.base_set import KMeansBase, KMedoidsBase, RandomBase
    from bitfold.codes import Codes
    from bitfold.collection import Collection
    from bitfold.estimators import HammingKMeans, HammingNeighborsTransformer
    from bitfold.hashers import IMH, ITQ, DualHasher, SupervisedIMH, load
    from bitfold.search import HammingIndex, RerankByEmbedding, RerankByVectors

__all__ = [
    "IMH",
    "ITQ",
    "Codes",
    "Collection",
    "DualHasher",
    "HammingIndex",
    "HammingKMeans",
    "HammingNeighborsTransformer",
    "KMeansBase",
    "KMedoidsBase",
    "RandomBase",
    "RerankByEmbedding",
    "RerankByVectors",
    "SupervisedIMH",
    "__version__",
    "load",
    "set_progress",
]

# Where each name lives. They come on first use: scikit-learn, faiss and numba together take
# seconds to import, and `import bitfold` should not.
_HOMES = {
    "Codes": "bitfold.codes",
    "Collection": "bitfold.collection",
    "DualHasher": "bitfold.hashers",
    "HammingIndex": "bitfold.search",
    "HammingKMeans": "bitfold.estimators",
    "HammingNeighborsTransformer": "bitfold.estimators",
    "IMH": "bitfold.hashers",
    "ITQ": "bitfold.hashers",
    "KMeansBase": "bitfold.base_set",
    "KMedoidsBase": "bitfold.base_set",
    "RandomBase": "bitfold.base_set",
    "RerankByEmbedding": "bitfold.search",
    "RerankByVectors": "bitfold.search",
    "SupervisedIMH": "bitfold.hashers",
    "load": "bitfold.hashers",
    "set_progress": "bitfold._progress",
}

# Public modules and packages, which can be used without importing them first.
_MODULES = {
    "base_set", "codes", "collection", "datasets", "distributed", "embedding", "errors",
    "estimators", "evaluation", "explorer", "features", "hashers", "induction", "integrations",
    "io", "metrics", "neighbors", "rotation", "search", "stores", "subspace", "testing",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return _import_module(f"bitfold.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'bitfold' has no attribute {name!r}.")
    value = getattr(_import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    # help() imports every name in this list, and bitfold.distributed raises without its extra.
    return sorted({*__all__, *_MODULES} - {"distributed"})
