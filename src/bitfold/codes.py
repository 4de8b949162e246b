"""Codes: packed bits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._types import UInt8Array, UInt64Array
from bitfold.errors import ModelMismatchError

_MAX_DIGEST_LENGTH = 64


@dataclass(frozen=True, eq=False, repr=False)
class Codes:
    """Binary codes, packed eight bits per byte.

    The bits are in numpy's default order, most significant first. Padding bits are zero, so equal
    codes have equal bytes, and Hamming distances can be counted on whole bytes.

    Parameters
    ----------
    packed
        One row per code, ``ceil(n_bits / 8)`` bytes each.
    n_bits
        Length of the codes.
    model_digest
        Identifies the model that made the codes; None if it is unknown. It does not affect
        equality.

    Raises
    ------
    ParameterError
        The array has the wrong type or shape, a padding bit is set, or the digest is not a short
        text.

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
    model_digest: str | None = None

    def __post_init__(self) -> None:
        n_bits = _validation.check_integer(self.n_bits, "n_bits", "Codes", low=1)
        packed = np.asarray(self.packed)
        width = count_bytes(n_bits)
        if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != width:
            got = f"{packed.dtype} of shape {packed.shape}"
            _validation.raise_invalid("packed", "Codes", f"uint8 of shape (n, {width})", got)
        if n_bits % 8 and (packed[:, -1] & (0xFF >> n_bits % 8)).any():
            _validation.raise_invalid(
                "packed", "Codes", f"zero after bit {n_bits}", "a padding bit that is set"
            )
        _check_digest(self.model_digest)
        object.__setattr__(self, "packed", packed)
        object.__setattr__(self, "n_bits", n_bits)

    @classmethod
    def from_bits(cls, bits: ArrayLike) -> Codes:
        """Pack a matrix of zeros and ones.

        Parameters
        ----------
        bits
            One row per code; numbers 0 and 1, or booleans.

        Returns
        -------
        The codes, one per row.

        Raises
        ------
        ParameterError
            ``bits`` is not a matrix, or contains other values.
        DataError
            ``bits`` has masked values, or rows of different lengths.

        Examples
        --------
        >>> Codes.from_bits([[True, False], [False, False]])
        Codes(2 x 2 bits)
        """
        array = _validation.convert_to_array(bits, "bits", "Codes")
        if array.ndim != 2 or array.shape[1] < 1:
            _validation.raise_invalid(
                "bits", "Codes", "a matrix (codes, bits)", f"shape {array.shape}"
            )
        if array.dtype != bool and not np.isin(array, (0, 1)).all():
            _validation.raise_invalid("bits", "Codes", "0 or 1", "other values")
        return cls(np.packbits(array.astype(bool, copy=False), axis=1), array.shape[1])

    @classmethod
    def concatenate(cls, parts: Sequence[Codes]) -> Codes:
        """Join codes of equal length, in order.

        Parameters
        ----------
        parts
            One or more codes.

        Returns
        -------
        The joined codes. They have the model digest that the parts have; parts without one are
        accepted.

        Raises
        ------
        ParameterError
            There are no parts, or they differ in length.
        ModelMismatchError
            The parts were made by different models.

        Examples
        --------
        >>> codes = Codes.from_bits([[1, 0, 1], [0, 0, 1]])
        >>> Codes.concatenate([codes, codes[:1]])
        Codes(3 x 3 bits)
        """
        lengths = {part.n_bits for part in parts}
        if len(lengths) != 1:
            _validation.raise_invalid(
                "parts", "Codes", "one or more codes of equal n_bits", sorted(lengths)
            )
        digest = combine_digests(part.model_digest for part in parts)
        return cls(np.concatenate([part.packed for part in parts]), lengths.pop(), digest)

    @property
    def n_bytes(self) -> int:
        """Number of bytes per code."""
        return count_bytes(self.n_bits)

    def prefix(self, n: int) -> Codes:
        """Return the first bits of each code.

        Parameters
        ----------
        n
            Number of bits to keep, at most ``n_bits``.

        Returns
        -------
        Codes of ``n`` bits. They have no model digest, unless ``n`` is ``n_bits``, because the
        model makes longer codes.

        Raises
        ------
        ParameterError
            ``n`` is not between 1 and ``n_bits``.

        Examples
        --------
        >>> Codes.from_bits([[1, 0, 1], [0, 1, 1]]).prefix(2).unpack().tolist()
        [[1, 0], [0, 1]]
        """
        limit = f"n_bits={self.n_bits}"
        n = _validation.check_integer(n, "n", "prefix", low=1, high=self.n_bits, why=limit)
        if n == self.n_bits:
            return self
        packed = self.packed[:, : count_bytes(n)].copy()
        if n % 8:
            packed[:, -1] &= 0xFF & ~(0xFF >> n % 8)
        return Codes(packed, n)

    def unpack(self) -> UInt8Array:
        """Return the bits as zeros and ones.

        Returns
        -------
        Array of shape (n, n_bits).

        Examples
        --------
        >>> Codes(np.array([[160]], np.uint8), n_bits=3).unpack().tolist()
        [[1, 0, 1]]
        """
        return np.unpackbits(self.packed, axis=1, count=self.n_bits)

    def words(self) -> UInt64Array:
        """Return the codes as zero-padded 64-bit words, the form that kernels read.

        Returns
        -------
        Array of shape (n, ceil(n_bits / 64)).

        Examples
        --------
        >>> Codes.from_bits([[1] * 65]).words().shape
        (1, 2)
        """
        n_words = -(-self.n_bytes // 8)
        padded = np.zeros((len(self), 8 * n_words), np.uint8)
        padded[:, : self.n_bytes] = self.packed
        return padded.view(np.uint64)

    def __len__(self) -> int:
        return len(self.packed)

    def __getitem__(self, rows: Any) -> Codes:
        """Select rows by slice, mask or indices; a single index gives codes of one row."""
        if isinstance(rows, (int, np.integer)):
            rows = [rows]
        return Codes(self.packed[rows], self.n_bits, self.model_digest)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Codes):
            return NotImplemented
        return self.n_bits == other.n_bits and np.array_equal(self.packed, other.packed)

    __hash__ = None  # type: ignore[assignment]  # arrays can change

    def __repr__(self) -> str:
        return f"Codes({len(self)} x {self.n_bits} bits)"


def count_bytes(n_bits: int) -> int:
    """Return the number of bytes of a packed code.

    Parameters
    ----------
    n_bits
        Length of the code.

    Returns
    -------
    ``ceil(n_bits / 8)``.

    Examples
    --------
    >>> count_bytes(9)
    2
    """
    return -(-n_bits // 8)


def _check_digest(digest: object) -> None:
    """Raise unless every file and database can store the digest."""
    is_text = isinstance(digest, str) and digest.isprintable() and len(digest) <= _MAX_DIGEST_LENGTH
    if digest is not None and not is_text:
        requirement = f"None or printable text of at most {_MAX_DIGEST_LENGTH} characters"
        _validation.raise_invalid("model_digest", "Codes", requirement, repr(digest)[:80])


def combine_digests(digests: Iterable[str | None]) -> str | None:
    """Return the one model digest among several, of which any may be unknown.

    Parameters
    ----------
    digests
        Model digests, or None where the model is unknown.

    Returns
    -------
    The digest, or None if all are unknown.

    Raises
    ------
    ModelMismatchError
        There are two different digests.

    Examples
    --------
    >>> combine_digests([None, "3f2a", "3f2a"])
    '3f2a'
    """
    known = list(dict.fromkeys(digest for digest in digests if digest is not None))
    if len(known) > 1:
        raise ModelMismatchError(
            f"Codes of different models cannot be combined: got codes of model {known[0]} and of "
            f"model {known[1]}. Encode everything with the same model."
        )
    return known[0] if known else None
