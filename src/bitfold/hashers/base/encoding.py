"""Encoding with a fitted hasher: vectors to reals, bits and codes, block by block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from bitfold import _validation
from bitfold._progress import ignore_progress, show_progress
from bitfold._types import AnyArray, Float32Array, ProgressCallback, StepCallback, UInt8Array
from bitfold.codes import Codes, count_bytes
from bitfold.errors import DataError
from bitfold.hashers.base.state import FittedState
from bitfold.io.rows import Rows, block_length, count_features
from bitfold.io.sources import check_source
from bitfold.io.stream import Stream

T = TypeVar("T")


class Encoder(FittedState, ABC):
    """Encodes vectors with the reals that ``_embed_block`` computes."""

    @abstractmethod
    def _embed_block(self, values: Float32Array) -> Float32Array:
        """Return one real per bit for each row, (rows, n_bits).

        Parameters
        ----------
        values
            A block of rows relative to ``center_``; its memory is reused for the next block.
        """

    @property
    def _floats_per_row(self) -> int:
        """Temporary floats that embedding a row takes; it determines the block length."""
        return self.n_bits_

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
        with show_progress(None) as report:
            parts = self._map_blocks(rows, self._embed_block)
            counted = _count_rows(parts, rows, partial(report, "embed"))
            return _stack(counted, rows.n_rows, self.n_bits_, np.float32)

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

    def _open_rows(self, X: Any) -> Rows:
        """Open vectors and check that they have the features the hasher was fitted with."""
        check_is_fitted(self, "n_bits_")
        owner = type(self).__name__
        matrix = check_source(X, owner)
        # A look for column names takes as long as encoding a row; a plain array has none.
        if type(X) is not np.ndarray or hasattr(self, "feature_names_in_"):
            named = matrix if isinstance(matrix, Stream) else X  # a stream has no column names
            _check_feature_names(self, named, reset=False)
        n_features = count_features(matrix)
        if n_features != self.n_features_in_:
            raise DataError(
                f"X has {n_features} features, but {owner} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return Rows(matrix, self.center_, owner, self.normalize_)

    def _encode_parts(
        self, rows: Rows, first: int, progress: ProgressCallback
    ) -> Iterator[tuple[int, UInt8Array]]:
        parts = self._map_blocks(rows, self._encode_block, first)
        return _count_rows(parts, rows, partial(progress, "encode"))

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


def _count_rows(
    parts: Iterator[tuple[int, AnyArray]], rows: Rows, on_step: StepCallback
) -> Iterator[tuple[int, AnyArray]]:
    """Yield the results of blocks, and report how many rows are done."""
    for start, part in parts:
        yield start, part
        done = start + len(part)
        on_step(done, rows.n_rows or done)


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
