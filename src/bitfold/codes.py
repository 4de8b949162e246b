"""Codes: packed bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._types import UInt8Array, UInt64Array


@dataclass(frozen=True, eq=False, repr=False)
class Codes:
    """Binary codes, eight bits to the byte.

    Bits stand in numpy's default order, most significant first; padding bits are zero, so that
    equal codes have equal bytes and Hamming distances may count whole bytes.

    Parameters
    ----------
    packed
        One code a row, ``ceil(n_bits / 8)`` bytes each.
    n_bits
        Length of a code.

    Examples
    --------
    >>> codes = Codes.from_bits([[1, 0, 1], [0, 0, 1]])
    >>> codes
    Codes(2 x 3 bits)
    >>> codes.packed.tolist()
    [[160], [32]]
    >>> codes[1:].unpack().tolist()
    [[0, 0, 1]]
    """

    packed: UInt8Array
    n_bits: int

    def __post_init__(self) -> None:
        n_bits = _validation.check_integer(self.n_bits, "n_bits", "Codes", low=1)
        packed = np.asarray(self.packed)
        width = -(-n_bits // 8)
        if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != width:
            came = f"{packed.dtype} of shape {packed.shape}"
            _validation.raise_invalid("packed", "Codes", f"uint8 of shape (n, {width})", came)
        if n_bits % 8 and (packed[:, -1] & (0xFF >> n_bits % 8)).any():
            _validation.raise_invalid(
                "packed", "Codes", f"zero beyond bit {n_bits}", "a padding bit set"
            )
        object.__setattr__(self, "packed", packed)
        object.__setattr__(self, "n_bits", n_bits)

    @classmethod
    def from_bits(cls, bits: ArrayLike) -> Codes:
        """Pack a matrix of 0 and 1 (or booleans), one code a row."""
        array = np.asarray(bits)
        if array.ndim != 2 or array.shape[1] < 1:
            _validation.raise_invalid(
                "bits", "Codes", "a matrix (codes, bits)", f"shape {array.shape}"
            )
        if array.dtype != bool and not np.isin(array, (0, 1)).all():
            _validation.raise_invalid("bits", "Codes", "0 or 1", "other values")
        return cls(np.packbits(array.astype(bool, copy=False), axis=1), array.shape[1])

    @classmethod
    def concatenate(cls, parts: Sequence[Codes]) -> Codes:
        """Join codes of equal length, in order."""
        lengths = {part.n_bits for part in parts}
        if len(lengths) != 1:
            _validation.raise_invalid(
                "parts", "Codes", "one or more codes of equal n_bits", sorted(lengths)
            )
        return cls(np.concatenate([part.packed for part in parts]), lengths.pop())

    def unpack(self) -> UInt8Array:
        """Return the bits, (n, n_bits) of 0 and 1."""
        return np.unpackbits(self.packed, axis=1, count=self.n_bits)

    def words(self) -> UInt64Array:
        """Return the codes as whole 64-bit words, zero padded, for kernels that count bits."""
        n_words = -(-self.packed.shape[1] // 8)
        padded = np.zeros((len(self), 8 * n_words), np.uint8)
        padded[:, : self.packed.shape[1]] = self.packed
        return padded.view(np.uint64)

    def __len__(self) -> int:
        return len(self.packed)

    def __getitem__(self, rows: Any) -> Codes:
        """Select rows by slice, mask or indices; one index gives one row, still a batch."""
        if isinstance(rows, (int, np.integer)):
            rows = [rows]
        return Codes(self.packed[rows], self.n_bits)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Codes):
            return NotImplemented
        return self.n_bits == other.n_bits and np.array_equal(self.packed, other.packed)

    __hash__ = None  # type: ignore[assignment]  # equal by value, and arrays may change

    def __repr__(self) -> str:
        return f"Codes({len(self)} x {self.n_bits} bits)"
