"""What every hasher is: fit, transform, embed, encode, save; and load."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from bitfold import _checks, persistence
from bitfold._kernels.threads import map_blocks, scratch
from bitfold._rows import Rows, block_length
from bitfold.binarize import bits
from bitfold.codes import Codes
from bitfold.hashers import _files

FloatArray = NDArray[np.float32]
T = TypeVar("T")
Progress = Callable[[str, int, int], None]
"""Told (stage, done, total) as the work goes on."""


class Hasher(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """A scikit-learn transformer from vectors to bits.

    A subclass stores its hyper-parameters in ``__init__``, learns from :class:`Rows` in ``_learn``
    and embeds one block of rows in ``_embed_block``. What it learned are attributes that end in
    ``_``: the numbers and strings that ``_scalars`` names with their types, and the float32 arrays
    that ``_layout`` names with their shapes. Files hold just that.

    Attributes
    ----------
    n_bits_
        Length of the codes.
    centre_
        The point that vectors are taken relative to before anything else.
    """

    _layout: ClassVar[dict[str, tuple[str, ...]]] = {"centre_": ("n_features_in_",)}
    """Learned arrays and their shapes; equal names are equal sizes."""

    _scalars: ClassVar[dict[str, type]] = {"n_bits_": int, "n_features_in_": int}
    """Learned values and their types; integers are at least 1 and reals finite."""

    n_bits_: int
    n_features_in_: int
    centre_: FloatArray

    @abstractmethod
    def _learn(self, rows: Rows, y: NDArray[Any] | None, progress: Progress) -> None:
        """Learn the state from checked data."""

    @abstractmethod
    def _embed_block(self, values: FloatArray) -> FloatArray:
        """Embed rows, each by itself: one real per bit, thresholded at zero later."""

    def _check_learned(self) -> None:
        """Raise if state that came from a file, types and shapes apart, is none ``fit`` leaves."""

    @property
    def _width(self) -> int:
        """How many floats a row needs on the way to its code."""
        return self.n_bits_

    def fit(self, X: Any, y: Any = None, *, progress: Progress | None = None) -> Self:
        """Learn the codes.

        Parameters
        ----------
        X
            Training vectors, one a row; an array or a memory map of numbers.
        y
            Labels, for the hashers that use them.
        progress
            Called with (stage, done, total) as the work goes on.
        """
        owner = type(self).__name__
        _check_feature_names(self, X, reset=True)
        matrix = _checks.matrix(X, owner, min_rows=2)
        self.n_features_in_ = matrix.shape[1]
        rows = Rows.centred(matrix, owner)
        self.centre_ = rows.centre
        self._learn(rows, y, progress or _silent)
        return self

    def embed(self, X: Any) -> FloatArray:
        """Return the reals before the sign, (n, n_bits)."""
        rows = self._rows(X)
        out = np.empty((len(rows), self.n_bits_), np.float32)
        for start, embedded in self._over_blocks(rows, self._embed_block):
            out[start : start + len(embedded)] = embedded
        return out

    def transform(self, X: Any) -> NDArray[np.uint8]:
        """Return the bits as 0 and 1, (n, n_bits)."""
        return self.encode(X).unpack()

    def encode(self, X: Any, *, progress: Progress | None = None) -> Codes:
        """Return the packed codes; each depends on its own row alone, bit for bit.

        Parameters
        ----------
        X
            Vectors, one a row.
        progress
            Called with (stage, done, total) as the work goes on.
        """
        rows = self._rows(X)
        packed = np.empty((len(rows), -(-self.n_bits_ // 8)), np.uint8)
        for start, part in self._over_blocks(rows, self._encode_block):
            packed[start : start + len(part)] = part
            if progress:
                progress("encode", start + len(part), len(rows))
        return Codes(packed, self.n_bits_)

    def save(self, path: persistence.PathLike) -> None:
        """Write the hasher to one file, atomically; :func:`bitfold.load` reads it back."""
        check_is_fitted(self, "n_bits_")
        persistence.write(path, _files.to_stored(self))

    def _rows(self, X: Any) -> Rows:
        """Check what came against what was learned."""
        check_is_fitted(self, "n_bits_")
        owner = type(self).__name__
        # Looking for column names costs as much as encoding a row; an array has none to compare.
        if type(X) is not np.ndarray or hasattr(self, "feature_names_in_"):
            _check_feature_names(self, X, reset=False)
        matrix = _checks.matrix(X, owner)
        if matrix.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {matrix.shape[1]} features, but {owner} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return Rows(matrix, self.centre_, owner)

    def _encode_block(self, values: FloatArray) -> NDArray[np.uint8]:
        return np.packbits(bits(self._embed_block(values)), axis=1)

    def _over_blocks(
        self, rows: Rows, work: Callable[[FloatArray], Any], stride: int = 1
    ) -> Iterator[tuple[int, Any]]:
        """Apply ``work`` to all rows, block by block, on all cores; yield (first row, result).

        Of ``stride`` blocks only the first is looked at. A result must not be a view of its block,
        whose memory is used again.
        """
        step = block_length(max(self._width, rows.n_features))

        def at(start: int) -> tuple[int, Any]:
            stop = min(start + step, len(rows))
            room = scratch("rows", (stop - start, rows.n_features))
            return start, work(rows.block(start, stop, room))

        starts = range(0, len(rows), step * stride)
        # A single block is not worth the hand-over to another thread.
        return map(at, starts) if len(starts) == 1 else map_blocks(at, starts)

    def _ready(self, source: FloatArray, make: Callable[[FloatArray], T]) -> T:
        """Return what ``make`` makes of a learned array; made again when it was learned again."""
        held: tuple[FloatArray, T] | None = self.__dict__.get("_held")
        if held is None or held[0] is not source:
            held = self._held = (source, make(source))
        return held[1]

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        state.pop("_held", None)
        return state

    @property
    def _n_features_out(self) -> int:
        """Number of columns, for scikit-learn's names of them."""
        return self.n_bits_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Whatever comes in, bits go out.
        tags.transformer_tags.preserves_dtype = []
        return tags


def _silent(stage: str, done: int, total: int) -> None:
    """Show no progress."""
