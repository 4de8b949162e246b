"""Checks of codes: what they are, and that only the row decides them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from sklearn.base import clone

from bitfold.codes import Codes
from bitfold.hashers import Hasher
from bitfold.testing._hasher_checks.common import (
    assert_same_state,
    fit_copy,
    load_many_rows,
    load_sample,
)

_DTYPES = ("u1", "i1", "u2", "i4", "i8", "u8", "f2", "f4", "f8", ">f4", ">i2", "g", "O")


def check_codes_match_embedding(hasher: Hasher) -> None:
    """Check that codes, bits and the signs of the embedding are the same."""
    fitted, queries = fit_copy(hasher), load_sample().queries
    codes, bits, reals = fitted.encode(queries), fitted.transform(queries), fitted.embed(queries)
    assert isinstance(codes, Codes)
    assert codes.n_bits == fitted.n_bits_
    assert bits.dtype == np.uint8
    assert bits.shape == reals.shape == (len(queries), fitted.n_bits_)
    assert np.isfinite(reals).all()
    np.testing.assert_array_equal(bits, codes.unpack())
    np.testing.assert_array_equal(bits, reals > 0)


def check_padding_bits(hasher: Hasher) -> None:
    """Check that the bits that pad a code to whole bytes are zero."""
    fitted = fit_copy(hasher)
    packed = fitted.encode(load_sample().queries).packed
    assert packed.shape[1] == -(-fitted.n_bits_ // 8)
    assert not np.unpackbits(packed, axis=1)[:, fitted.n_bits_ :].any()


def check_fit_transform(hasher: Hasher) -> None:
    """Check that ``fit_transform`` is ``fit`` followed by ``transform``."""
    X, y, _ = load_sample()
    bits = clone(hasher).fit_transform(X, y)
    np.testing.assert_array_equal(bits, fit_copy(hasher).transform(X))


def check_codes_differ(hasher: Hasher) -> None:
    """Check that not all rows get the same code."""
    bits = fit_copy(hasher).transform(load_sample().X)
    assert len(np.unique(bits, axis=0)) > 1


def check_codes_depend_on_row_alone(hasher: Hasher) -> None:
    """Check that ``encode(X)[i]`` and ``embed(X)[i]`` depend on ``X[i]`` alone, bit for bit."""
    fitted, rows = fit_copy(hasher), load_many_rows()
    packed, reals = fitted.encode(rows).packed, fitted.embed(rows)
    rng = np.random.default_rng(0)
    starts = [(size, int(rng.integers(len(rows) - size))) for size in (1, 2, 3, 7, 64, 4097)]
    slices = [np.arange(start, start + size) for size, start in starts]
    single_rows = [np.array([row]) for row in rng.integers(len(rows), size=50)]
    for chosen in (rng.permutation(len(rows)), *slices, *single_rows):
        np.testing.assert_array_equal(fitted.encode(rows[chosen]).packed, packed[chosen])
        np.testing.assert_array_equal(fitted.embed(rows[chosen]), reals[chosen])


def check_codes_for_dtypes(hasher: Hasher) -> None:
    """Check that codes do not depend on the dtype of the rows."""
    fitted, queries = fit_copy(hasher), load_sample().queries
    expected = fitted.embed(queries)
    for dtype in _DTYPES:
        np.testing.assert_array_equal(fitted.embed(queries.astype(dtype)), expected, err_msg=dtype)
    np.testing.assert_array_equal(fitted.embed(queries.tolist()), expected)
    np.testing.assert_array_equal(
        fitted.embed(queries > 8), fitted.embed((queries > 8).astype(np.float64))
    )


def check_fit_for_dtypes(hasher: Hasher) -> None:
    """Check that the model does not depend on the dtype or memory order of the rows."""
    X, y, _ = load_sample()
    for dtype in ("u1", "f4", "i8"):
        assert_same_state(clone(hasher).fit(X.astype(dtype), y), fit_copy(hasher))
    assert_same_state(clone(hasher).fit(np.asfortranarray(X), y.tolist()), fit_copy(hasher))


def check_codes_for_memory_layouts(hasher: Hasher) -> None:
    """Check that codes do not depend on strides, memory order or write permission."""
    fitted, rows = fit_copy(hasher), load_many_rows()[:5000]
    expected = fitted.embed(rows)
    wide = np.zeros((2 * len(rows), 3 * rows.shape[1]), rows.dtype)
    wide[::2, ::3] = rows
    backward = np.ascontiguousarray(rows[::-1, ::-1])
    for same in (np.asfortranarray(rows), wide[::2, ::3], backward[::-1, ::-1], rows.copy()):
        same.setflags(write=False)
        np.testing.assert_array_equal(fitted.embed(same), expected)


def check_memory_maps(hasher: Hasher) -> None:
    """Check that a memory map gives the same model and codes as an array, and is unchanged."""
    rows = load_many_rows()[:5000]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, rows)
        mapped = np.load(path, mmap_mode="r")
        fitted = clone(hasher).fit(mapped[:240], load_sample().y)
        np.testing.assert_array_equal(fitted.embed(mapped), fitted.embed(rows))
        np.testing.assert_array_equal(fitted.embed(mapped[7:3000:3]), fitted.embed(rows[7:3000:3]))
        for mode in ("c", "r+"):
            writable = np.load(path, mmap_mode=mode)
            np.testing.assert_array_equal(fitted.embed(writable), fitted.embed(rows))
        np.testing.assert_array_equal(mapped, rows)
    assert_same_state(fitted, clone(hasher).fit(rows[:240], load_sample().y))


def check_single_precision(hasher: Hasher) -> None:
    """Check that rounding rows to float32 changes the embedding by no more than rounding does."""
    noise = np.random.default_rng(0).normal(0, 0.3, load_sample().queries.shape)
    doubles = load_sample().queries + noise
    fitted = fit_copy(hasher)
    exact, rounded = fitted.embed(doubles), fitted.embed(doubles.astype(np.float32))
    scale = float(np.abs(exact).mean())
    np.testing.assert_allclose(rounded, exact, rtol=0, atol=1e-3 * scale)
    clear = np.abs(exact) > 1e-3 * scale
    assert clear.mean() > 0.9
    np.testing.assert_array_equal((rounded > 0)[clear], (exact > 0)[clear])


CODE_CHECKS = (
    check_codes_match_embedding,
    check_padding_bits,
    check_fit_transform,
    check_codes_differ,
    check_codes_depend_on_row_alone,
    check_codes_for_dtypes,
    check_fit_for_dtypes,
    check_codes_for_memory_layouts,
    check_memory_maps,
    check_single_precision,
)
