"""The hasher of a collection: which one, and when it is fitted."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

from sklearn.base import clone
from sklearn.utils import get_tags

from bitfold import _validation
from bitfold._types import ProgressCallback
from bitfold.collection.state import METRICS, CollectionState
from bitfold.errors import ParameterTypeError
from bitfold.hashers import ITQ, LSH, DualHasher, Hasher
from bitfold.hashers.dual import MAX_COARSE_BITS
from bitfold.hashers.recipe import from_recipe, to_recipe
from bitfold.search.contract import MAX_BITS

_OWNER = "Collection"

DEFAULT_N_BITS = 128

MIN_CODED_ITEMS = 1000
"""Number of items below which the kept vectors are compared without codes."""

_MIN_ITQ_FEATURES = 64
"""Number of features from which ITQ, which has at most one bit per feature, finds more than LSH."""

_DEFAULT_COARSE_WEIGHT = DualHasher().coarse_weight
_CANDIDATE_COARSE_WEIGHT = 0.1


def needs_codes(n_items: int) -> bool:
    """Return whether there are enough items to fit a hasher, and to search by codes."""
    return n_items >= MIN_CODED_ITEMS


def is_fitted(hasher: Hasher) -> bool:
    """Return whether a hasher is fitted."""
    return hasattr(hasher, "n_bits_")


def choose_metric(metric: str | None, hasher: Hasher | None) -> str:
    """Return the metric: the given one, or that of the hasher; raise if they contradict."""
    normalizes = hasher is not None and _normalizes(hasher)
    if metric is None:
        return "cosine" if normalizes else "euclidean"
    _validation.check_choice(metric, "metric", _OWNER, METRICS)
    if metric == "euclidean" and normalizes:
        requirement = '"cosine", because the hasher has normalize=True'
        _validation.raise_invalid("metric", _OWNER, requirement, repr(metric))
    if metric == "cosine" and hasher is not None and is_fitted(hasher) and not normalizes:
        requirement = "fitted with normalize=True, because the metric is cosine"
        _validation.raise_invalid("hasher", _OWNER, requirement, "normalize=False")
    return str(metric)


def check_hasher(hasher: Any) -> Hasher | None:
    """Return a hasher that a collection can use, or None."""
    if hasher is None:
        return None
    if not isinstance(hasher, Hasher):
        raise ParameterTypeError("hasher", _OWNER, "a hasher or None", repr(hasher))
    if is_fitted(hasher):
        _validation.check_integer(
            hasher.n_bits_, "n_bits of the hasher", _OWNER, low=1, high=MAX_BITS
        )
    elif get_tags(hasher).target_tags.required:
        requirement = "fitted, because it learns from labels"
        _validation.raise_invalid("hasher", _OWNER, requirement, type(hasher).__name__)
    return hasher


def use_hasher(state: CollectionState, hasher: Hasher | None) -> CollectionState:
    """Return the state with the settings of a hasher; None keeps those it has."""
    if hasher is None:
        return state
    width = int(hasher.n_features_in_) if is_fitted(hasher) else state.n_features
    if state.n_features not in (None, width):
        requirement = f"fitted to vectors of {state.n_features} features"
        _validation.raise_invalid("hasher", _OWNER, requirement, width)
    return replace(state, recipe=to_recipe(hasher), n_features=width)


def make_default_hasher(
    n_features: int, keeps_vectors: bool, n_bits: int | None = None, seed: int = 0
) -> Hasher:
    """Return the hasher of a collection for which the user chose none, not fitted.

    With kept vectors, codes only have to find candidates. ``ITQ`` finds the most if there are
    enough features for its bits, and random directions if not: of the ten nearest of 20,000
    sentences, 0.90 against 0.78 with 100 features, 0.84 against 0.82 with 64, and 0.73 against
    0.86 with 32.
    """
    if keeps_vectors:
        if n_bits is None and n_features >= _MIN_ITQ_FEATURES:
            n_bits = min(n_features, DEFAULT_N_BITS)
        kind = ITQ if n_bits is not None and n_bits <= n_features else LSH
        return kind(n_bits or DEFAULT_N_BITS, random_state=seed)
    n_bits = n_bits or DEFAULT_N_BITS
    # Chosen here, not by DualHasher, which would warn about its choice.
    has_enough = n_features >= n_bits - min(MAX_COARSE_BITS, n_bits // 4)
    return DualHasher(n_bits, fine=None if has_enough else LSH(), random_state=seed)


def fit_hasher(state: CollectionState, X: Any, progress: ProgressCallback) -> Hasher:
    """Return a hasher with the settings of the state, fitted to vectors."""
    if state.recipe is None:
        hasher = make_default_hasher(int(state.n_features or 1), bool(state.keep_vectors))
    else:
        hasher = from_recipe(state.recipe)
    if state.metric == "cosine":
        hasher = clone(hasher).set_params(normalize=True)
    hasher.fit(X, progress=progress)
    _validation.check_integer(hasher.n_bits_, "n_bits of the hasher", _OWNER, low=1, high=MAX_BITS)
    return hasher


def choose_candidates_by_order(hasher: Hasher) -> Hasher:
    """Return a hasher with the same bits, whose embedding finds candidates for exact distances.

    The exact distances decide the order, so the kind that the coarse bits of a
    :class:`DualHasher` add is not needed. Its default weight would cost recall: 0.77 instead of
    0.86 of the ten nearest of 59,000 sentences, 0.92 instead of 0.94 of 15,000 SIFT descriptors.
    """
    if not isinstance(hasher, DualHasher) or hasher.coarse_weight != _DEFAULT_COARSE_WEIGHT:
        return hasher
    weighted = copy(hasher)
    weighted.coarse_weight = _CANDIDATE_COARSE_WEIGHT
    return weighted


def _normalizes(hasher: Hasher) -> bool:
    return bool(hasher.normalize_ if is_fitted(hasher) else hasher.normalize)
