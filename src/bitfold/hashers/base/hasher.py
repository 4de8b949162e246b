"""The base class of all hashers: fit, transform, embed, encode, save."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names, _get_feature_names, check_is_fitted

from bitfold import _validation
from bitfold._progress import ignore_progress, show_progress
from bitfold._types import AnyArray, Float32Array, PathLike, ProgressCallback, UInt8Array
from bitfold.codes import Codes, count_bytes
from bitfold.errors import DataError
from bitfold.hashers import _persistence
from bitfold.io import model_file, sources
from bitfold.io.rows import Rows, block_length
from bitfold.io.stream import Stream

T = TypeVar("T")


class Hasher(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """A scikit-learn transformer from vectors to bits; the base class of all hashers.

    A subclass stores its parameters in ``__init__`` and implements two methods:

    ``_learn(rows, y, progress)``
        Check the parameters, learn, and return the fitted attributes as a dict. It must not set
        attributes: ``fit`` sets them all at the end, so that a failed ``fit`` changes nothing.
    ``_embed_block(values)``
        Return one real per bit for each row of a block. A bit is 1 where its real is positive.
        The reals of a row must depend on that row alone.

    It declares what a saved model contains in two class attributes: ``_fitted_arrays`` maps the
    names of fitted float32 arrays to their shapes, ``_fitted_scalars`` the names of fitted
    numbers and strings to their types. Both extend those of the parent class.

    Attributes
    ----------
    n_bits_
        Length of the codes.
    n_features_in_
        Number of features of the training vectors.
    center_
        Mean of the training vectors. ``_learn`` and ``_embed_block`` see rows relative to it.
    feature_names_in_
        Names of the features; only after fitting a table with named columns.

    Examples
    --------
    One bit per feature, 1 where it exceeds its mean:

    >>> import numpy as np
    >>> class AboveMean(Hasher):
    ...     def _learn(self, rows, y, progress):
    ...         return {"n_bits_": rows.n_features}
    ...
    ...     def _embed_block(self, values):
    ...         return values.copy()
    >>> X = np.array([[0.0, 5.0], [2.0, 1.0]])
    >>> AboveMean().fit(X).transform(X).tolist()
    [[0, 1], [1, 0]]
    """

    _fitted_arrays: ClassVar[dict[str, tuple[str, ...]]] = {"center_": ("n_features_in_",)}
    """Shapes of the fitted arrays. A name that occurs twice stands for equal sizes."""

    _fitted_scalars: ClassVar[dict[str, type]] = {"n_bits_": int, "n_features_in_": int}
    """Types of the other fitted attributes. Integers are at least 1, floats finite."""

    _not_in_digest: ClassVar[frozenset[str]] = frozenset(
        {"base_embedding_", "base_reason_", "n_iter_"}
    )
    """Fitted attributes that do not affect the codes."""

    n_bits_: int
    n_features_in_: int
    center_: Float32Array

    @abstractmethod
    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        """Learn from the training rows and return the fitted attributes.

        Parameters
        ----------
        rows
            Training vectors relative to their mean.
        y
            What the user passed as ``y``, unchecked.
        progress
            Called with (stage, done, total).

        Returns
        -------
        All attributes named in ``_fitted_arrays`` and ``_fitted_scalars`` except ``center_`` and
        ``n_features_in_``.

        Raises
        ------
        ParameterError
            If a parameter is not valid.
        """

    @abstractmethod
    def _embed_block(self, values: Float32Array) -> Float32Array:
        """Return one real per bit for each row, (rows, n_bits).

        Parameters
        ----------
        values
            A block of rows relative to ``center_``; its memory is reused for the next block.
        """

    def _check_fitted_state(self) -> None:
        """Raise ValueError if attributes read from a file are inconsistent.

        Types, shapes and finiteness have been checked before.
        """

    @property
    def _floats_per_row(self) -> int:
        """Temporary floats that embedding a row takes; it determines the block length."""
        return self.n_bits_

    def fit(self, X: Any, y: Any = None, *, progress: ProgressCallback | None = None) -> Self:
        """Learn the hash functions.

        Parameters
        ----------
        X
            Training vectors, one per row: an array or memory map; an HDF5 or Zarr array, or
            anything else with shape, dtype and slices of rows; a Parquet file or Arrow table with
            a column of lists; a reusable iterable of blocks, or a function that returns one. Only
            a sample and a few blocks are in memory at a time.
        y
            Labels, for the hashers that use them.
        progress
            Called with (stage, done, total).

        Returns
        -------
        The hasher itself.

        Raises
        ------
        ParameterError
            If a parameter of the hasher is not valid.
        DataError
            If the vectors or labels cannot be used.
        """
        owner = type(self).__name__
        matrix = sources.check_source(X, owner, min_rows=2, single_pass=False)
        names = _get_feature_names(_named_columns(X, matrix))
        rows = Rows.centered(matrix, owner)
        return self.fit_rows(rows, y, feature_names=names, progress=progress)

    def fit_rows(
        self,
        rows: Rows,
        y: Any = None,
        *,
        feature_names: Sequence[str] | None = None,
        progress: ProgressCallback | None = None,
    ) -> Self:
        """Learn the hash functions from rows that are already open and centered.

        Parameters
        ----------
        rows
            Training vectors relative to their mean, as :meth:`bitfold.io.Rows.centered` makes
            them.
        y
            Labels, for the hashers that use them.
        feature_names
            Names of the features, if they have names.
        progress
            Called with (stage, done, total).

        Returns
        -------
        The hasher itself.

        Raises
        ------
        ParameterError
            If a parameter of the hasher is not valid.
        DataError
            If the vectors or labels cannot be used.
        """
        with show_progress(progress) as report:
            fitted = self._learn(rows, y, report)
        self.__dict__.pop("feature_names_in_", None)
        if feature_names is not None:
            fitted = fitted | {"feature_names_in_": feature_names}
        vars(self).update(fitted, n_features_in_=rows.n_features, center_=rows.center)
        self._prepare()
        # The digest is cached now, because encoding must leave the attributes unchanged.
        _ = self.model_digest
        return self

    def embed(self, X: Any) -> Float32Array:
        """Return the reals whose signs are the bits.

        Parameters
        ----------
        X
            Vectors, in any form that :meth:`encode` accepts.

        Returns
        -------
        One row per vector, one column per bit.

        Raises
        ------
        DataError
            If the vectors cannot be used.
        sklearn.exceptions.NotFittedError
            If the hasher is not fitted.
        """
        rows = self._open_rows(X)
        parts = self._map_blocks(rows, self._embed_block)
        return _stack(parts, rows.n_rows, self.n_bits_, np.float32)

    def transform(self, X: Any) -> UInt8Array:
        """Return the bits as 0 and 1.

        Parameters
        ----------
        X
            Vectors, in any form that :meth:`encode` accepts.

        Returns
        -------
        One row per vector, one column per bit.

        Raises
        ------
        DataError
            If the vectors cannot be used.
        sklearn.exceptions.NotFittedError
            If the hasher is not fitted.
        """
        return self.encode(X).unpack()

    def encode(self, X: Any, *, progress: ProgressCallback | None = None) -> Codes:
        """Return the packed codes. Each depends on its own row alone, bit for bit.

        Parameters
        ----------
        X
            Vectors, one per row, in any form that :meth:`fit` accepts, or an iterator of blocks,
            which is read once.
        progress
            Called with ("encode", done, total).

        Returns
        -------
        One code per vector.

        Raises
        ------
        DataError
            If the vectors cannot be used.
        sklearn.exceptions.NotFittedError
            If the hasher is not fitted.
        """
        rows = self._open_rows(X)
        with show_progress(progress) as report:
            parts = self._encode_parts(rows, 0, report)
            packed = _stack(parts, rows.n_rows, count_bytes(self.n_bits_), np.uint8)
        return Codes(packed, self.n_bits_, self.model_digest)

    def encode_blocks(
        self, X: Any, *, first: int = 0, progress: ProgressCallback | None = None
    ) -> Iterator[Codes]:
        """Yield the codes block by block, in order, without keeping them.

        Parameters
        ----------
        X
            Vectors, in any form that :meth:`encode` accepts.
        first
            Row to begin with.
        progress
            Called with ("encode", done, total).

        Returns
        -------
        An iterator of codes.

        Raises
        ------
        ParameterError
            If ``first`` is negative.
        DataError
            If the vectors cannot be used.
        sklearn.exceptions.NotFittedError
            If the hasher is not fitted.
        """
        rows = self._open_rows(X)
        first = _validation.check_integer(first, "first", type(self).__name__, low=0)
        parts = self._encode_parts(rows, first, progress or ignore_progress)
        digest = self.model_digest
        return (Codes(packed, self.n_bits_, digest) for _, packed in parts)

    @property
    def model_digest(self) -> str:
        """Identifier of the fitted model: equal if, and only if, the learned state is equal.

        It covers what determines the codes, not the parameters or the feature names.
        """
        check_is_fitted(self, "n_bits_")
        state = [getattr(self, name) for name in (*self._fitted_arrays, *self._fitted_scalars)]
        known: tuple[list[Any], str] | None = self.__dict__.get("_digest")
        # By identity, which takes microseconds; the arrays are replaced when the model is refitted.
        if known is None or not all(a is b for a, b in zip(known[0], state, strict=True)):
            known = self._digest = (state, _persistence.compute_digest(self))
        return known[1]

    def save(self, path: PathLike) -> None:
        """Write the model to one file, atomically. :func:`bitfold.load` reads it.

        Parameters
        ----------
        path
            File to write.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the hasher is not fitted.
        OSError
            If the file cannot be written.
        """
        check_is_fitted(self, "n_bits_")
        model_file.write(path, _persistence.to_stored(self))

    def _open_rows(self, X: Any) -> Rows:
        """Open vectors and check that they have the features the hasher was fitted with."""
        check_is_fitted(self, "n_bits_")
        owner = type(self).__name__
        matrix = sources.check_source(X, owner)
        # A look for column names takes as long as encoding a row; a plain array has none.
        if type(X) is not np.ndarray or hasattr(self, "feature_names_in_"):
            _check_feature_names(self, _named_columns(X, matrix), reset=False)
        n_features = sources.count_features(matrix)
        if n_features != self.n_features_in_:
            raise DataError(
                f"X has {n_features} features, but {owner} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return Rows(matrix, self.center_, owner)

    def _encode_parts(
        self, rows: Rows, first: int, progress: ProgressCallback
    ) -> Iterator[tuple[int, UInt8Array]]:
        for start, packed in self._map_blocks(rows, self._encode_block, first):
            yield start, packed
            done = start + len(packed)
            progress("encode", done, rows.n_rows or done)

    def _encode_block(self, values: Float32Array) -> UInt8Array:
        return np.packbits(self._embed_block(values) > 0, axis=1)

    def _map_blocks(
        self, rows: Rows, work: Callable[[Float32Array], T], first: int = 0
    ) -> Iterator[tuple[int, T]]:
        """Apply ``work`` to all blocks from row ``first``; yield (first row, result)."""
        step = block_length(max(self._floats_per_row, rows.n_features))
        # Handing a single block to another thread takes longer than it saves.
        several = rows.n_rows is None or rows.n_rows - first > step
        return rows.map(lambda values, start: work(values), step, first=first, spread=several)

    def _prepare(self) -> None:
        """Compute what encoding derives from the fitted attributes.

        ``fit`` calls it, because encoding must leave the attributes of an estimator unchanged.
        """

    def _derive(self, source: Float32Array, build: Callable[[Float32Array], T]) -> T:
        """Return ``build(source)``, computed once per fitted array."""
        held: tuple[Float32Array, T] | None = self.__dict__.get("_derived")
        if held is None or held[0] is not source:
            held = self._derived = (source, build(source))
        return held[1]

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        state.pop("_derived", None)
        state.pop("_digest", None)
        return state

    @property
    def _n_features_out(self) -> int:
        """Number of output columns, which scikit-learn names."""
        return self.n_bits_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Bits come out, whatever the type of the input.
        tags.transformer_tags.preserves_dtype = []
        return tags


def _named_columns(X: Any, matrix: Any) -> Any:
    """Return the object that may have column names; a stream has none."""
    return matrix if isinstance(matrix, Stream) else X


def _stack(
    parts: Iterator[tuple[int, AnyArray]], n_rows: int | None, width: int, dtype: Any
) -> AnyArray:
    """Join the results of blocks, without a second copy if the number of rows is known."""
    if n_rows is None:
        return np.concatenate([part for _, part in parts])
    out = np.empty((n_rows, width), dtype)
    for start, part in parts:
        out[start : start + len(part)] = part
    return out
