"""What every hasher is: fit, transform, embed, encode, save; and load."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from bitfold import _validation
from bitfold._progress import ignore_progress, show_progress
from bitfold._types import AnyArray, Float32Array, PathLike, ProgressCallback, UInt8Array
from bitfold.codes import Codes, count_bytes
from bitfold.hashers import _persistence
from bitfold.io import model_file, sources
from bitfold.io.rows import Rows, block_length
from bitfold.rotation import bits

T = TypeVar("T")


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
    center_
        The point that vectors are taken relative to before anything else.
    """

    _layout: ClassVar[dict[str, tuple[str, ...]]] = {"center_": ("n_features_in_",)}
    """Learned arrays and their shapes; equal names are equal sizes."""

    _scalars: ClassVar[dict[str, type]] = {"n_bits_": int, "n_features_in_": int}
    """Learned values and their types; integers are at least 1 and reals finite."""

    _not_in_digest: ClassVar[frozenset[str]] = frozenset(
        {"base_embedding_", "base_reason_", "n_iter_"}
    )
    """Learned values that do not affect the codes."""

    n_bits_: int
    n_features_in_: int
    center_: Float32Array

    @abstractmethod
    def _learn(self, rows: Rows, y: AnyArray | None, progress: ProgressCallback) -> None:
        """Learn the state from checked data."""

    @abstractmethod
    def _embed_block(self, values: Float32Array) -> Float32Array:
        """Embed rows, each by itself: one real per bit, thresholded at zero later."""

    def _check_learned(self) -> None:
        """Raise if state that came from a file, types and shapes apart, is none ``fit`` leaves."""

    @property
    def _width(self) -> int:
        """How many floats a row needs on the way to its code."""
        return self.n_bits_

    def fit(self, X: Any, y: Any = None, *, progress: ProgressCallback | None = None) -> Self:
        """Learn the codes.

        Parameters
        ----------
        X
            Training vectors, one a row: an array or a memory map of numbers; an HDF5 or Zarr
            array, or anything else with shape, dtype and slices of rows; a Parquet file or an
            Arrow table with a column of lists; an iterable of blocks that can be read again, or a
            function that returns such. Only a sample and a few blocks are held in memory.
        y
            Labels, for the hashers that use them.
        progress
            Called with (stage, done, total) as the work goes on.
        """
        owner = type(self).__name__
        matrix = sources.matrix(X, owner, min_rows=2, again=True)
        _check_feature_names(self, _named(X, matrix), reset=True)
        self.n_features_in_ = sources.width(matrix)
        rows = Rows.centered(matrix, owner)
        self.center_ = rows.center
        with show_progress(progress) as report:
            self._learn(rows, y, report)
        return self

    def embed(self, X: Any) -> Float32Array:
        """Return the reals before the sign, (n, n_bits)."""
        rows = self._rows(X)
        parts = self._over_blocks(rows, self._embed_block)
        joined: Float32Array = _joined(parts, rows.length, self.n_bits_, np.float32)
        return joined

    def transform(self, X: Any) -> UInt8Array:
        """Return the bits as 0 and 1, (n, n_bits)."""
        return self.encode(X).unpack()

    def encode(self, X: Any, *, progress: ProgressCallback | None = None) -> Codes:
        """Return the packed codes; each depends on its own row alone, bit for bit.

        Parameters
        ----------
        X
            Vectors, one a row, in any form that :meth:`fit` takes; and an iterator of blocks,
            which is read once.
        progress
            Called with (stage, done, total) as the work goes on.
        """
        rows = self._rows(X)
        with show_progress(progress) as report:
            parts = self._encoded(rows, 0, report)
            packed = _joined(parts, rows.length, count_bytes(self.n_bits_), np.uint8)
        return Codes(packed, self.n_bits_, self.model_digest)

    def encode_blocks(
        self, X: Any, *, first: int = 0, progress: ProgressCallback | None = None
    ) -> Iterator[Codes]:
        """Yield the codes in order, some at a time, as they are made; none are held.

        Parameters
        ----------
        X
            Vectors, one a row, as for :meth:`encode`.
        first
            The row to begin with.
        progress
            Called with (stage, done, total) as the work goes on.
        """
        rows = self._rows(X)
        first = _validation.check_integer(first, "first", type(self).__name__, low=0)
        encoded = self._encoded(rows, first, progress or ignore_progress)
        digest = self.model_digest
        return (Codes(packed, self.n_bits_, digest) for _, packed in encoded)

    @property
    def model_digest(self) -> str:
        """Identifier of the fitted model: equal if, and only if, the learned state is equal.

        It covers what determines the codes, not the hyper-parameters or the feature names.
        """
        check_is_fitted(self, "n_bits_")
        state = [getattr(self, name) for name in (*self._layout, *self._scalars)]
        known: tuple[list[Any], str] | None = self.__dict__.get("_digest")
        # By identity, which takes microseconds; the arrays are replaced when the model is refitted.
        if known is None or not all(a is b for a, b in zip(known[0], state, strict=True)):
            known = self._digest = (state, _persistence.compute_digest(self))
        return known[1]

    def save(self, path: PathLike) -> None:
        """Write the hasher to one file, atomically; :func:`bitfold.load` reads it back."""
        check_is_fitted(self, "n_bits_")
        model_file.write(path, _persistence.to_stored(self))

    def _rows(self, X: Any) -> Rows:
        """Check what came against what was learned."""
        check_is_fitted(self, "n_bits_")
        owner = type(self).__name__
        # Looking for column names costs as much as encoding a row; an array has none to compare.
        matrix = sources.matrix(X, owner)
        if type(X) is not np.ndarray or hasattr(self, "feature_names_in_"):
            _check_feature_names(self, _named(X, matrix), reset=False)
        if sources.width(matrix) != self.n_features_in_:
            raise ValueError(
                f"X has {sources.width(matrix)} features, but {owner} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return Rows(matrix, self.center_, owner)

    def _encoded(
        self, rows: Rows, first: int, progress: ProgressCallback
    ) -> Iterator[tuple[int, UInt8Array]]:
        for start, packed in self._over_blocks(rows, self._encode_block, first=first):
            yield start, packed
            done = start + len(packed)
            progress("encode", done, rows.length or done)

    def _encode_block(self, values: Float32Array) -> UInt8Array:
        return np.packbits(bits(self._embed_block(values)), axis=1)

    def _over_blocks(
        self, rows: Rows, work: Callable[[Float32Array], Any], stride: int = 1, first: int = 0
    ) -> Iterator[tuple[int, Any]]:
        """Apply ``work`` to all rows, block by block, on all cores; yield (first row, result).

        Of ``stride`` blocks only the first is looked at; ``first`` is the row to begin with. A
        result must not be a view of its block, whose memory is used again.
        """
        step = block_length(max(self._width, rows.n_features))
        # A single block is not worth the hand-over to another thread.
        several = rows.length is None or rows.length - first > step * stride
        return rows.map(
            lambda values, start: work(values), step, stride=stride, first=first, spread=several
        )

    def _ready(self, source: Float32Array, make: Callable[[Float32Array], T]) -> T:
        """Return what ``make`` makes of a learned array; made again when it was learned again."""
        held: tuple[Float32Array, T] | None = self.__dict__.get("_held")
        if held is None or held[0] is not source:
            held = self._held = (source, make(source))
        return held[1]

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        state.pop("_held", None)
        state.pop("_digest", None)
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


def _named(X: Any, matrix: Any) -> Any:
    """Return what may have names of columns: a stream has none, whatever it reads."""
    return matrix if isinstance(matrix, sources.Stream) else X


def _joined(
    parts: Iterator[tuple[int, AnyArray]], n_rows: int | None, width: int, dtype: Any
) -> AnyArray:
    """Put results of blocks below each other; not twice in memory where their number is known."""
    if n_rows is None:
        return np.concatenate([part for _, part in parts])
    out = np.empty((n_rows, width), dtype)
    for start, part in parts:
        out[start : start + len(part)] = part
    return out
