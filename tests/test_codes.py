"""Codes: packing, padding, selection, prefixes, model digests, equality, invalid input."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as hnp

from bitfold._types import AnyArray, BoolArray
from bitfold.codes import Codes, count_bytes
from bitfold.errors import DataError, ModelMismatchError, ParameterError

BITS = np.array([[1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1], [0] * 11, [1] * 11], np.uint8)


def random_codes(n: int, n_bits: int, seed: int = 0) -> Codes:
    return Codes.from_bits(np.random.default_rng(seed).integers(0, 2, (n, n_bits)))


def test_packing() -> None:
    codes = Codes.from_bits(BITS)
    assert codes.packed.tolist() == [[0b10110001, 0b10100000], [0, 0], [0xFF, 0b11100000]]
    assert codes.packed.dtype == np.uint8
    assert (codes.n_bits, len(codes)) == (11, 3)
    np.testing.assert_array_equal(codes.unpack(), BITS)
    assert codes.unpack().dtype == np.uint8


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32, np.float64])
def test_every_dtype_of_zeros_and_ones(dtype: type) -> None:
    assert Codes.from_bits(BITS.astype(dtype)) == Codes.from_bits(BITS)
    assert Codes.from_bits(BITS.tolist()) == Codes.from_bits(BITS)


def test_empty_codes() -> None:
    none = Codes.from_bits(np.empty((0, 9)))
    assert none.packed.shape == (0, 2)
    assert none.unpack().shape == (0, 9)
    assert none.words().shape == (0, 1)
    assert Codes.concatenate([none, Codes.from_bits(BITS[:, :9])]) == Codes.from_bits(BITS[:, :9])


@pytest.mark.parametrize("n_bits", [1, 8, 63, 64, 65, 128, 129])
def test_words_are_zero_padded(n_bits: int) -> None:
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
def test_select_rows(rows: Any) -> None:
    codes = random_codes(10, 13)
    np.testing.assert_array_equal(codes[rows].unpack(), codes.unpack()[rows])
    assert codes[rows].n_bits == 13


@pytest.mark.parametrize("row", [0, 9, -1, np.int32(4), np.uint8(4)])
def test_single_index_gives_one_row(row: int) -> None:
    codes = random_codes(10, 13)
    assert len(codes[row]) == 1
    np.testing.assert_array_equal(codes[row].unpack()[0], codes.unpack()[row])


def test_index_out_of_range() -> None:
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
    # The same bytes, but one bit longer.
    assert Codes(np.zeros((1, 2), np.uint8), 13) != Codes(np.zeros((1, 2), np.uint8), 14)
    assert codes != codes.packed.tolist()
    with pytest.raises(TypeError, match="unhashable"):
        hash(codes)


def test_repr() -> None:
    assert repr(random_codes(10, 13)) == "Codes(10 x 13 bits)"


def test_packed_bytes_are_not_copied() -> None:
    packed = random_codes(10, 16).packed
    packed.flags["W"] = False
    codes = Codes(packed, 16)
    assert codes.packed is packed
    assert codes.words().flags["W"]
    assert codes[2:5].unpack().shape == (3, 16)


def test_n_bits_is_converted_to_int() -> None:
    n_bits: Any = np.int16(8)
    assert type(Codes(np.zeros((1, 1), np.uint8), n_bits).n_bits) is int


def zeros(*shape: int, dtype: type = np.uint8) -> AnyArray:
    return np.zeros(shape, dtype)


@pytest.mark.parametrize(
    ("call", "name", "value"),
    [
        (lambda: Codes(zeros(2, 1), 0), "n_bits", "0"),
        (lambda: Codes(zeros(2, 1, dtype=np.int8), 8), "packed", "int8"),
        (lambda: Codes(zeros(2), 8), "packed", r"\(2,\)"),
        (lambda: Codes(zeros(2, 1), 9), "packed", r"\(2, 1\)"),
        (lambda: Codes(zeros(2, 2), 8), "packed", r"\(2, 2\)"),
        (lambda: Codes(np.array([[0], [1]], np.uint8), 7), "packed", "padding bit"),
        (lambda: Codes.from_bits([1, 0]), "bits", r"\(2,\)"),
        (lambda: Codes.from_bits(zeros(3, 0)), "bits", r"\(3, 0\)"),
        (lambda: Codes.from_bits([[0, 2]]), "bits", "other values"),
        (lambda: Codes.from_bits([[0, -1]]), "bits", "other values"),
        (lambda: Codes.from_bits([[0.5]]), "bits", "other values"),
        (lambda: Codes.from_bits([[np.nan]]), "bits", "other values"),
        (lambda: Codes.concatenate([]), "parts", r"\[\]"),
        (
            lambda: Codes.concatenate([random_codes(1, 9), random_codes(1, 8)]),
            "parts",
            r"\[8, 9\]",
        ),
        (lambda: random_codes(2, 8)[:, 0], "packed", r"\(2,\)"),
        (lambda: random_codes(2, 8).prefix(0), "n", "0"),
        (lambda: random_codes(2, 8).prefix(9), "n", "n_bits=8, got 9"),
        (lambda: random_codes(2, 8).prefix(2.0), "n", "2.0"),  # type: ignore[arg-type]
    ],
)
def test_invalid_input(call: Callable[[], Any], name: str, value: str) -> None:
    with pytest.raises(ParameterError, match=value) as caught:
        call()
    assert caught.value.name == name


def test_last_bit_is_not_padding() -> None:
    for n_bits in range(1, 8):
        lowest = 1 << (8 - n_bits)
        codes = Codes(np.array([[lowest]], np.uint8), n_bits)
        assert codes.unpack().sum() == 1
        with pytest.raises(ValueError, match="padding bit"):
            Codes(np.array([[lowest >> 1]], np.uint8), n_bits)


def test_n_bits_must_be_an_integer() -> None:
    n_bits: Any = 8.0
    with pytest.raises(TypeError, match="n_bits of Codes must be an integer"):
        Codes(zeros(1, 1), n_bits)


@pytest.mark.parametrize(("n_bits", "n_bytes"), [(1, 1), (7, 1), (8, 1), (9, 2), (64, 8), (65, 9)])
def test_n_bytes(n_bits: int, n_bytes: int) -> None:
    assert random_codes(3, n_bits).n_bytes == count_bytes(n_bits) == n_bytes


@pytest.mark.parametrize("n_bits", [1, 8, 13, 64, 70])
def test_prefix(n_bits: int) -> None:
    codes = random_codes(20, n_bits)
    for n in range(1, n_bits + 1):
        prefix = codes.prefix(n)
        assert (prefix.n_bits, len(prefix)) == (n, 20)
        np.testing.assert_array_equal(prefix.unpack(), codes.unpack()[:, :n])
        assert prefix == Codes.from_bits(codes.unpack()[:, :n])


def test_prefix_leaves_the_codes_unchanged() -> None:
    codes = random_codes(20, 13)
    before = codes.packed.copy()
    assert not np.shares_memory(codes.prefix(11).packed, codes.packed)
    np.testing.assert_array_equal(codes.packed, before)


# Model digests


def with_digest(digest: str | None, n: int = 10, n_bits: int = 13) -> Codes:
    return Codes(random_codes(n, n_bits).packed, n_bits, digest)


def test_digest_is_unknown_by_default() -> None:
    assert random_codes(3, 8).model_digest is None
    assert Codes(zeros(1, 1), 8).model_digest is None


@pytest.mark.parametrize("rows", [*ROWS, 3], ids=str)
def test_selection_keeps_the_digest(rows: Any) -> None:
    assert with_digest("3f2a")[rows].model_digest == "3f2a"


def test_prefix_has_no_digest() -> None:
    assert with_digest("3f2a").prefix(12).model_digest is None
    assert with_digest("3f2a").prefix(13).model_digest == "3f2a"


@pytest.mark.parametrize(
    ("digests", "joined"),
    [
        ([None], None),
        (["a"], "a"),
        (["a", "a"], "a"),
        ([None, None], None),
        (["a", None], "a"),
        ([None, "a", None, "a"], "a"),
    ],
)
def test_concatenate_combines_digests(digests: list[str | None], joined: str | None) -> None:
    assert Codes.concatenate([with_digest(digest) for digest in digests]).model_digest == joined


def test_concatenate_codes_of_different_models() -> None:
    with pytest.raises(ModelMismatchError, match=r"model 3f2a .* model 77bc"):
        Codes.concatenate([with_digest("3f2a"), with_digest(None), with_digest("77bc")])


def test_digest_does_not_affect_equality() -> None:
    assert with_digest("3f2a") == with_digest("77bc") == with_digest(None)


def test_digest_is_copied_and_pickled() -> None:
    codes = with_digest("3f2a")
    assert copy.deepcopy(codes).model_digest == "3f2a"
    assert pickle.loads(pickle.dumps(codes)).model_digest == "3f2a"


@st.composite
def bit_matrices(draw: st.DrawFn) -> BoolArray:
    return draw(hnp.arrays(bool, (draw(st.integers(0, 20)), draw(st.integers(1, 200)))))


@given(bit_matrices())
def test_unpacking_restores_the_bits(bits: BoolArray) -> None:
    codes = Codes.from_bits(bits)
    np.testing.assert_array_equal(codes.unpack(), bits)
    assert Codes(codes.packed, codes.n_bits) == codes
    assert Codes.from_bits(codes.unpack()) == codes


@given(bit_matrices())
def test_words_have_the_same_ones(bits: BoolArray) -> None:
    ones = np.unpackbits(Codes.from_bits(bits).words().view(np.uint8), axis=1)
    np.testing.assert_array_equal(ones.sum(axis=1), bits.sum(axis=1))


@given(bit_matrices(), st.data())
def test_concatenated_parts_are_the_whole(bits: BoolArray, data: st.DataObject) -> None:
    codes = Codes.from_bits(bits)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(bits)), max_size=3)))
    parts = [codes[a:b] for a, b in itertools.pairwise([0, *cuts, len(bits)])]
    assert Codes.concatenate(parts) == codes


@pytest.mark.parametrize("digest", [3, "\ud800", "a\n", "x" * 65, b"3f2a"])
def test_a_digest_that_no_file_can_hold_is_rejected(digest: Any) -> None:
    with pytest.raises(ParameterError, match="model_digest"):
        Codes(np.zeros((1, 1), np.uint8), 8, digest)


def test_masked_and_ragged_bits_are_rejected() -> None:
    with pytest.raises(DataError, match="masked"):
        Codes.from_bits(np.ma.masked_array([[0, 1]], [[True, False]]))
    with pytest.raises(DataError, match="different lengths"):
        Codes.from_bits([[0, 1], [1]])
