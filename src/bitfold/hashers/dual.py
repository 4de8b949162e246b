"""DualHasher: coarse bits for the kind of an item, fine bits for its order among its neighbors."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import Tags, get_tags

from bitfold import _validation
from bitfold._types import Float32Array, ProgressCallback, Seed, UInt8Array
from bitfold.base_set import measure_noise
from bitfold.hashers._labels import find_labeled_rows
from bitfold.hashers.base.hasher import Hasher
from bitfold.hashers.imh import IMH
from bitfold.hashers.itq import ITQ
from bitfold.hashers.lsh import LSH
from bitfold.hashers.supervised_imh import SupervisedIMH
from bitfold.io.rows import Rows

MAX_COARSE_BITS = 32
"""Largest automatic number of coarse bits; more say little more about the kind of an item."""

MAX_CLEAN_NOISE = 0.5
"""Noise of the data above which fewer bits are coarse: manifolds say less about the items."""

N_SAMPLE_ROWS = 4096
"""Rows from which the scales of the two embeddings are learned."""

_TINY = np.finfo(np.float32).smallest_subnormal


class DualHasher(Hasher):
    """Two codes in one: which kind of item it is, and its order among its neighbors.

    Codes of a manifold method say which kind of item a vector is, but put thousands of items into
    one bucket, so that their order is arbitrary. Codes of hyperplanes keep the order of neighbors,
    but mix kinds. Concatenated, they rank better than either, and often better than the vectors
    they were made from.

    Parameters
    ----------
    n_bits
        Length of the codes, at least 2.
    coarse
        Hasher of the first bits; None is ``IMH()``.
    fine
        Hasher of the other bits; None is ``ITQ()``, or ``LSH()`` with a warning if there are fewer
        features than fine bits.
    n_coarse_bits
        Number of coarse bits; it replaces the ``n_bits`` of the two hashers. "auto" is half of the
        bits, or a quarter if the data are noisy (:func:`bitfold.base_set.measure_noise`), at most
        32; a :class:`SupervisedIMH` with LDA whose ``n_bits`` is None has as many as its classes
        allow.
    coarse_weight
        Weight of the coarse part in :meth:`embed`, relative to the fine part. More than 1 favors
        the kind, less than 1 the order. It can be changed after ``fit``; codes do not depend on it.
    normalize
        Whether to scale rows to unit length, for data that are compared by cosine.
    random_state
        Seed or generator; it also seeds given hashers that have none.

    Attributes
    ----------
    n_bits_
        Length of the codes.
    n_coarse_bits_
        Number of coarse bits; ``codes.prefix(n_coarse_bits_)`` are the coarse codes.
    coarse_, fine_
        The fitted hashers.
    coarse_scale_, fine_scale_
        Root mean squares of their embeddings, which :meth:`embed` divides by.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> hasher = DualHasher(n_bits=64, random_state=0).fit(X)
    >>> hasher.encode(X)
    Codes(1797 x 64 bits)
    >>> hasher.n_coarse_bits_
    32
    """

    _fitted_scalars: ClassVar[dict[str, type]] = {
        **Hasher._fitted_scalars,
        "n_coarse_bits_": int,
        "coarse_scale_": float,
        "fine_scale_": float,
    }
    _fitted_hashers: ClassVar[tuple[str, ...]] = ("coarse_", "fine_")
    _not_in_digest: ClassVar[frozenset[str]] = Hasher._not_in_digest | {
        "coarse_scale_",
        "fine_scale_",
    }

    n_coarse_bits_: int
    coarse_: Hasher
    fine_: Hasher
    coarse_scale_: float
    fine_scale_: float

    def __init__(
        self,
        n_bits: int = 128,
        *,
        coarse: Hasher | None = None,
        fine: Hasher | None = None,
        n_coarse_bits: int | str = "auto",
        coarse_weight: float = 1.2,
        normalize: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.coarse = coarse
        self.fine = fine
        self.n_coarse_bits = n_coarse_bits
        self.coarse_weight = coarse_weight
        self.normalize = normalize
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        n_bits = _validation.check_integer(self.n_bits, "n_bits", rows.owner, low=2)
        _validation.check_positive(self.coarse_weight, "coarse_weight", rows.owner)
        if get_tags(self).target_tags.required:
            find_labeled_rows(y, len(rows), rows.owner)
        coarse_rng, fine_rng, sample_rng = _validation.spawn_generators(self.random_state, 3)
        coarse = _seed_hasher(self._make_coarse(n_bits, rows, sample_rng), coarse_rng)
        coarse.fit_rows(rows, y, progress=partial(_report_part, progress, "coarse"))
        _check_n_coarse_bits(coarse.n_bits_, n_bits, rows.owner)
        n_fine = n_bits - coarse.n_bits_
        fine = _seed_hasher(self._make_fine(n_fine, rows.n_features), fine_rng)
        fine.fit_rows(rows, y, progress=partial(_report_part, progress, "fine"))
        sample = rows.sample(N_SAMPLE_ROWS, sample_rng)
        return {
            "n_bits_": n_bits,
            "n_coarse_bits_": coarse.n_bits_,
            "coarse_": coarse,
            "fine_": fine,
            "coarse_scale_": _root_mean_square(coarse._embed_block(sample.copy())),
            "fine_scale_": _root_mean_square(fine._embed_block(sample)),
        }

    def _make_coarse(self, n_bits: int, rows: Rows, rng: np.random.Generator) -> Hasher:
        """Return the coarse hasher, unfitted, with its number of bits."""
        owner, n_coarse = type(self).__name__, self.n_coarse_bits
        if self.coarse is None:
            coarse: Hasher = IMH()
        else:
            coarse = clone(_check_part(self.coarse, "coarse", owner))
        if n_coarse == "auto":
            is_lda = isinstance(coarse, SupervisedIMH) and coarse.subspace is None
            if is_lda and coarse.n_bits is None:
                return coarse  # as many bits as its classes allow
            fraction = 4 if measure_noise(rows, rng) > MAX_CLEAN_NOISE else 2
            n_coarse = max(1, min(MAX_COARSE_BITS, n_bits // fraction))
        if isinstance(n_coarse, str):
            requirement = 'an integer or "auto"'
            _validation.raise_invalid("n_coarse_bits", owner, requirement, repr(n_coarse))
        _check_n_coarse_bits(n_coarse, n_bits, owner)
        coarse.set_params(n_bits=n_coarse)
        return coarse

    def _make_fine(self, n_fine: int, n_features: int) -> Hasher:
        """Return the fine hasher, unfitted, with its number of bits."""
        if self.fine is not None:
            fine: Hasher = clone(_check_part(self.fine, "fine", type(self).__name__))
            fine.set_params(n_bits=n_fine)
            return fine
        if n_fine <= n_features:
            return ITQ(n_fine)
        warnings.warn(
            f"ITQ has at most n_features={n_features} bits, so LSH is used for the {n_fine} fine "
            f"bits of DualHasher.",
            stacklevel=5,
        )
        return LSH(n_fine)

    def _embed_block(self, values: Float32Array) -> Float32Array:
        weight = _validation.check_positive(
            self.coarse_weight, "coarse_weight", type(self).__name__
        )
        coarse = self.coarse_._embed_block(values)
        return np.hstack(
            [
                _scale(coarse, weight / self.coarse_scale_),
                _scale(self.fine_._embed_block(values), 1 / self.fine_scale_),
            ]
        )

    def _encode_block(self, values: Float32Array) -> UInt8Array:
        coarse, fine = self.coarse_._encode_block(values), self.fine_._encode_block(values)
        n = self.n_coarse_bits_
        if n % 8 == 0:
            return np.hstack([coarse, fine])
        bits = [
            np.unpackbits(coarse, axis=1, count=n),
            np.unpackbits(fine, axis=1, count=self.n_bits_ - n),
        ]
        return np.packbits(np.hstack(bits), axis=1)

    @property
    def _floats_per_row(self) -> int:
        parts = (self.coarse_._floats_per_row, self.fine_._floats_per_row)
        return max(self.n_bits_, *parts)

    @property
    def base_size_reason_(self) -> str:
        """How the coarse hasher chose its number of base points, as a sentence."""
        reason: str = self.coarse_.base_size_reason_
        return reason

    def _check_fitted_state(self) -> None:
        n_fine = self.n_bits_ - self.n_coarse_bits_
        if (self.coarse_.n_bits_, self.fine_.n_bits_) != (self.n_coarse_bits_, n_fine):
            raise ValueError("its parts have other numbers of bits")
        for part in (self.coarse_, self.fine_):
            if not np.array_equal(part.center_, self.center_):
                raise ValueError("its parts have other centers")
        if min(self.coarse_scale_, self.fine_scale_) <= 0:
            raise ValueError("its scales are not positive")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        parts = [part for part in (self.coarse, self.fine) if isinstance(part, Hasher)]
        tags.target_tags.required = any(get_tags(part).target_tags.required for part in parts)
        return tags


def _check_n_coarse_bits(n_coarse: Any, n_bits: int, owner: str) -> None:
    """Raise unless at least one bit is left for each part."""
    _validation.check_integer(
        n_coarse, "n_coarse_bits", owner, low=1, high=n_bits - 1, why=f"n_bits - 1 = {n_bits - 1}"
    )


def _check_part(part: Any, name: str, owner: str) -> Hasher:
    if not isinstance(part, Hasher):
        _validation.raise_invalid(name, owner, "a hasher or None", repr(part))
    return part


def _seed_hasher(hasher: Hasher, rng: np.random.Generator) -> Hasher:
    """Give a hasher without a seed one."""
    if hasher.get_params(deep=False).get("random_state", 0) is None:
        hasher.set_params(random_state=int(rng.integers(2**31)))
    return hasher


def _report_part(progress: ProgressCallback, part: str, stage: str, done: int, total: int) -> None:
    progress(f"{part}: {stage}", done, total)


def _root_mean_square(reals: Float32Array) -> float:
    """Return the scale of an embedding; 1 if all of it is zero."""
    scale = float(np.sqrt(np.mean(np.square(reals, dtype=np.float64))))
    return scale if np.isfinite(scale) and scale > 0 else 1.0


def _scale(reals: Float32Array, factor: float) -> Float32Array:
    """Return reals times a positive factor, of the same signs even if a product underflows."""
    limit = np.finfo(np.float32).max
    with np.errstate(over="ignore", under="ignore"):
        scaled: Float32Array = np.clip(reals * np.float32(factor), -limit, limit)
    np.maximum(scaled, _TINY, out=scaled, where=reals > 0)
    return scaled
