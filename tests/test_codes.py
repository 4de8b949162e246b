"""Codes: packing, padding, selection, equality and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bitfold.codes import Codes

BITS = np.array([[1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1], [0] * 11, [1] * 11], np.uint8)


def random_codes(n: int, n_bits: int, seed: int = 0) -> Codes:
    return Codes.from_bits(np.random.default_rng(seed).integers(0, 2, (n, n_bits)))


def test_bits_are_packed_most_significant_first_with_zero_padding() -> None:
    codes = Codes.from_bits(BITS)
    assert codes.packed.tolist() == [[0b10110001, 0b10100000], [0, 0], [0xFF, 0b11100000]]
    assert codes.packed.dtype == np.uint8
    assert (codes.n_bits, len(codes)) == (11, 3)
    np.testing.assert_array_equal(codes.unpack(), BITS)
    assert codes.unpack().dtype == np.uint8


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32, np.float64])
def test_any_dtype_of_zeros_and_ones_packs_alike(dtype: type) -> None:
    assert Codes.from_bits(BITS.astype(dtype)) == Codes.from_bits(BITS)
    assert Codes.from_bits(BITS.tolist()) == Codes.from_bits(BITS)


def test_no_codes_are_codes_too() -> None:
    none = Codes.from_bits(np.empty((0, 9)))
    assert none.packed.shape == (0, 2)
    assert none.unpack().shape == (0, 9)
    assert none.words().shape == (0, 1)
    assert Codes.concatenate([none, Codes.from_bits(BITS[:, :9])]) == Codes.from_bits(BITS[:, :9])


@pytest.mark.parametrize("n_bits", [1, 8, 63, 64, 65, 128, 129])
def test_words_hold_the_same_ones_and_zeros_behind(n_bits: int) -> None:
    codes = random_codes(20, n_bits)
    words = codes.words()
    assert words.dtype == np.uint64
    assert words.shape == (20, -(-n_bits // 64))
    as_bytes = words.view(np.uint8)
    np.testing.assert_array_equal(as_bytes[:, : codes.packed.shape[1]], codes.packed)
    assert not as_bytes[:, codes.packed.shape[1] :].any()


ROWS: list[Any] = [
    slice(2, 9, 3),
    slice(None, None, -1),
    [4, 1, 1],
    np.array([3, 0]),
    np.arange(10) % 3 == 0,
    [],
]


@pytest.mark.parametrize("rows", ROWS, ids=str)
def test_rows_are_selected_as_numpy_selects_them(rows: Any) -> None:
    codes = random_codes(10, 13)
    np.testing.assert_array_equal(codes[rows].unpack(), codes.unpack()[rows])
    assert codes[rows].n_bits == 13


@pytest.mark.parametrize("row", [0, 9, -1, np.int32(4), np.uint8(4)])
def test_one_index_gives_one_row_still_a_batch(row: int) -> None:
    codes = random_codes(10, 13)
    assert len(codes[row]) == 1
    np.testing.assert_array_equal(codes[row].unpack()[0], codes.unpack()[row])


def test_an_index_beyond_the_end_is_an_index_error() -> None:
    with pytest.raises(IndexError):
        random_codes(10, 13)[10]


def test_concatenate_keeps_the_order() -> None:
    codes = random_codes(10, 13)
    assert Codes.concatenate([codes[:3], codes[3:4], codes[4:]]) == codes
    assert Codes.concatenate([codes]) == codes
    assert Codes.concatenate([codes[5:], codes[:5]]) != codes


def test_equality_is_by_value() -> None:
    codes = random_codes(10, 13)
    assert codes == Codes(codes.packed.copy(), 13)
    assert codes != codes[:9]
    assert codes != codes[::-1]
    # The same bytes, yet one bit longer.
    assert Codes(np.zeros((1, 2), np.uint8), 13) != Codes(np.zeros((1, 2), np.uint8), 14)
    assert codes != codes.packed.tolist()
    with pytest.raises(TypeError, match="unhashable"):
        hash(codes)


def test_repr_tells_how_many_and_how_long() -> None:
    assert repr(random_codes(10, 13)) == "Codes(10 x 13 bits)"


def test_packed_bytes_are_not_copied_and_may_be_read_only() -> None:
    packed = random_codes(10, 16).packed
    packed.flags.writeable = False
    codes = Codes(packed, 16)
    assert codes.packed is packed
    assert codes.words().flags.writeable
    assert codes[2:5].unpack().shape == (3, 16)


def test_n_bits_becomes_an_int() -> None:
    n_bits: Any = np.int16(8)
    assert type(Codes(np.zeros((1, 1), np.uint8), n_bits).n_bits) is int


def zeros(*shape: int, dtype: type = np.uint8) -> NDArray[Any]:
    return np.zeros(shape, dtype)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: Codes(zeros(2, 1), 0), "n_bits of Codes must be at least 1, got 0."),
        (
            lambda: Codes(zeros(2, 1, dtype=np.int8), 8),
            "packed of Codes must be uint8 of shape (n, 1), got int8 of shape (2, 1).",
        ),
        (
            lambda: Codes(zeros(2), 8),
            "packed of Codes must be uint8 of shape (n, 1), got uint8 of shape (2,).",
        ),
        (
            lambda: Codes(zeros(2, 1), 9),
            "packed of Codes must be uint8 of shape (n, 2), got uint8 of shape (2, 1).",
        ),
        (
            lambda: Codes(zeros(2, 2), 8),
            "packed of Codes must be uint8 of shape (n, 1), got uint8 of shape (2, 2).",
        ),
        (
            lambda: Codes(np.array([[0], [1]], np.uint8), 7),
            "packed of Codes must be zero beyond bit 7, got a padding bit set.",
        ),
        (
            lambda: Codes.from_bits([1, 0]),
            "bits of Codes must be a matrix (codes, bits), got shape (2,).",
        ),
        (
            lambda: Codes.from_bits(zeros(3, 0)),
            "bits of Codes must be a matrix (codes, bits), got shape (3, 0).",
        ),
        (lambda: Codes.from_bits([[0, 2]]), "bits of Codes must be 0 or 1, got other values."),
        (lambda: Codes.from_bits([[0, -1]]), "bits of Codes must be 0 or 1, got other values."),
        (lambda: Codes.from_bits([[0.5]]), "bits of Codes must be 0 or 1, got other values."),
        (lambda: Codes.from_bits([[np.nan]]), "bits of Codes must be 0 or 1, got other values."),
        (
            lambda: Codes.concatenate([]),
            "parts of Codes must be one or more codes of equal n_bits, got [].",
        ),
        (
            lambda: Codes.concatenate([random_codes(1, 9), random_codes(1, 8)]),
            "parts of Codes must be one or more codes of equal n_bits, got [8, 9].",
        ),
        (
            lambda: random_codes(2, 8)[:, 0],  # type: ignore[index,unused-ignore]
            "packed of Codes must be uint8 of shape (n, 1), got uint8 of shape (2,).",
        ),
    ],
)
def test_error_sentences(call: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        call()
    assert str(caught.value) == sentence


def test_the_last_bit_before_the_padding_is_no_padding() -> None:
    for n_bits in range(1, 8):
        lowest = 1 << (8 - n_bits)
        codes = Codes(np.array([[lowest]], np.uint8), n_bits)
        assert codes.unpack().sum() == 1
        with pytest.raises(ValueError, match="a padding bit set"):
            Codes(np.array([[lowest >> 1]], np.uint8), n_bits)


def test_n_bits_must_be_an_integer() -> None:
    n_bits: Any = 8.0
    with pytest.raises(TypeError, match=r"^n_bits of Codes must be an integer, got 8\.0\.$"):
        Codes(zeros(1, 1), n_bits)
