"""The laws of every hasher, each a function that takes an unfitted one and raises if it breaks it.

Anyone who writes a hasher can run them on it: ``for law in LAWS: law(MyHasher())``. Hasher and
data should be small, as most laws fit it. That it is a scikit-learn transformer is checked by
scikit-learn's own ``check_estimator``.
"""

from __future__ import annotations

import copy
import functools
import io
import multiprocessing
import pickle
import tempfile
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from threadpoolctl import threadpool_info, threadpool_limits

import bitfold
from bitfold.codes import Codes
from bitfold.hashers import Hasher
from bitfold.metrics import map_scorer

Array = NDArray[Any]
Law = Callable[[Hasher], None]
LAWS: list[Law] = []


def law(check: Law) -> Law:
    """Enter a check into the book."""
    LAWS.append(check)
    return check


class Data(NamedTuple):
    """Training rows with labels, and rows to encode; whole numbers that any dtype holds."""

    X: Array
    y: Array
    queries: Array


@functools.cache
def data() -> Data:
    """Return a few handwritten digits, as read-only float64."""
    X, y = load_digits(return_X_y=True)
    X.setflags(write=False)
    y.setflags(write=False)
    return Data(X[:240], y[:240], X[240:300])


@functools.cache
def many() -> Array:
    """Return enough rows for several blocks, each of them different."""
    digits = load_digits().data
    shifted = [digits + 0.25 * shift for shift in range(6)]
    return np.concatenate(shifted).astype(np.float32)


def needs_labels(hasher: Hasher) -> bool:
    return bool(get_tags(hasher).target_tags.required)


@functools.cache
def _fitted(hasher: Hasher) -> Hasher:
    ours: Hasher = clone(hasher).fit(data().X, data().y)
    return ours


def fitted(hasher: Hasher) -> Hasher:
    """Return a fitted copy that a law may do with as it likes."""
    return copy.deepcopy(_fitted(hasher))


def learned(hasher: Hasher) -> dict[str, Any]:
    """Return all that ``fit`` has left."""
    return {name: value for name, value in vars(hasher).items() if name.endswith("_")}


def assert_same_state(ours: Hasher, theirs: Hasher) -> None:
    assert type(ours) is type(theirs)
    assert repr(ours) == repr(theirs)
    mine, other = learned(ours), learned(theirs)
    assert mine.keys() == other.keys()
    for name in mine:
        np.testing.assert_array_equal(mine[name], other[name], err_msg=name)


@contextmanager
def refused(kind: type[Exception], *parts: str) -> Iterator[None]:
    """Demand one error, told in one line that ends with a full stop and says all the parts."""
    with pytest.raises(kind) as caught:
        yield
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    for part in parts:
        assert part in sentence


@contextmanager
def quiet() -> Iterator[None]:
    """Let a hasher warn: of data too small for what it was asked."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# What a hasher is


@law
def clones_are_unfitted_and_learn_the_same(hasher: Hasher) -> None:
    ours = fitted(hasher)
    copied = clone(ours)
    assert not learned(copied)
    assert repr(copied) == repr(ours)
    assert_same_state(copied.fit(data().X, data().y), ours)


@law
def its_repr_is_the_call_that_makes_it(hasher: Hasher) -> None:
    objects = [hasher, *hasher.get_params(deep=True).values()]
    names = {type(thing).__name__: type(thing) for thing in objects}
    made = eval(repr(hasher), {"__builtins__": {}}, names)
    assert type(made) is type(hasher)
    assert repr(made) == repr(hasher)
    assert repr(type(hasher)()) == f"{type(hasher).__name__}()"


@law
def the_seed_decides_everything(hasher: Hasher) -> None:
    X, y, _ = data()
    assert_same_state(clone(hasher).fit(X, y), fitted(hasher))
    if "random_state" not in hasher.get_params():
        return
    first, second, other = (
        clone(hasher).set_params(random_state=np.random.default_rng(seed)).fit(X, y)
        for seed in (1, 1, 2)
    )
    assert first.encode(X) == second.encode(X)
    assert first.encode(X) != other.encode(X)


@law
def input_is_left_untouched(hasher: Hasher) -> None:
    X, y = data().X.copy(), data().y.copy()
    ours = clone(hasher).fit(X, y)
    ours.encode(X), ours.transform(X), ours.embed(X)
    np.testing.assert_array_equal(X, data().X)
    np.testing.assert_array_equal(y, data().y)


@law
def fit_leaves_hyper_parameters_alone(hasher: Hasher) -> None:
    ours = clone(hasher)
    before = ours.get_params(deep=True)
    inner = {name: dict(vars(value)) for name, value in before.items() if hasattr(value, "fit")}
    assert ours.fit(data().X, data().y) is ours
    after = ours.get_params(deep=True)
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)
    for name, state in inner.items():
        assert vars(after[name]) == state


@law
def fitting_again_forgets_what_was_learned(hasher: Hasher) -> None:
    X, y, queries = data()
    ours = fitted(hasher)
    ours.encode(queries)
    again, fresh = ours.fit(X[:, :40], y), clone(hasher).fit(X[:, :40], y)
    assert_same_state(again, fresh)
    assert again.encode(queries[:, :40]) == fresh.encode(queries[:, :40])


@law
def labels_are_ignored_unless_needed(hasher: Hasher) -> None:
    if not needs_labels(hasher):
        assert_same_state(clone(hasher).fit(data().X), fitted(hasher))


@law
def nothing_works_before_fit(hasher: Hasher) -> None:
    unfitted = clone(hasher)
    for method in (unfitted.encode, unfitted.transform, unfitted.embed):
        with refused(NotFittedError, f"This {type(hasher).__name__} instance is not fitted"):
            method(data().X)
    with refused(NotFittedError), tempfile.TemporaryDirectory() as folder:
        unfitted.save(Path(folder) / "hasher")
    with refused(NotFittedError):
        unfitted.get_feature_names_out()


# Codes


@law
def codes_bits_and_signs_are_the_same_thing(hasher: Hasher) -> None:
    ours, queries = fitted(hasher), data().queries
    codes, bits, reals = ours.encode(queries), ours.transform(queries), ours.embed(queries)
    assert isinstance(codes, Codes)
    assert codes.n_bits == ours.n_bits_
    assert bits.dtype == np.uint8
    assert bits.shape == reals.shape == (len(queries), ours.n_bits_)
    assert np.isfinite(reals).all()
    np.testing.assert_array_equal(bits, codes.unpack())
    np.testing.assert_array_equal(bits, reals > 0)


@law
def padding_bits_are_zero(hasher: Hasher) -> None:
    ours = fitted(hasher)
    packed = ours.encode(data().queries).packed
    assert packed.shape[1] == -(-ours.n_bits_ // 8)
    assert not np.unpackbits(packed, axis=1)[:, ours.n_bits_ :].any()


@law
def fit_transform_is_fit_and_transform(hasher: Hasher) -> None:
    X, y, _ = data()
    bits = clone(hasher).fit_transform(X, y)
    np.testing.assert_array_equal(bits, fitted(hasher).transform(X))


@law
def codes_tell_rows_apart(hasher: Hasher) -> None:
    bits = fitted(hasher).transform(data().X)
    assert len(np.unique(bits, axis=0)) > 1


@law
def a_code_depends_on_its_row_alone(hasher: Hasher) -> None:
    ours, rows = fitted(hasher), many()
    packed, reals = ours.encode(rows).packed, ours.embed(rows)
    rng = np.random.default_rng(0)
    shuffled = rng.permutation(len(rows))
    np.testing.assert_array_equal(ours.encode(rows[shuffled]).packed, packed[shuffled])
    np.testing.assert_array_equal(ours.embed(rows[shuffled]), reals[shuffled])
    for size in (1, 2, 3, 7, 64, 4097):
        start = int(rng.integers(len(rows) - size))
        part = slice(start, start + size)
        np.testing.assert_array_equal(ours.encode(rows[part]).packed, packed[part])
        np.testing.assert_array_equal(ours.embed(rows[part]), reals[part])
    for row in rng.integers(len(rows), size=50):
        np.testing.assert_array_equal(ours.encode(rows[[row]]).packed, packed[[row]])
        np.testing.assert_array_equal(ours.embed(rows[[row]]), reals[[row]])


@law
def a_code_does_not_depend_on_the_dtype(hasher: Hasher) -> None:
    ours, queries = fitted(hasher), data().queries
    expected = ours.embed(queries)
    for dtype in ("u1", "i1", "u2", "i4", "i8", "u8", "f2", "f4", "f8", ">f4", ">i2", "g", "O"):
        np.testing.assert_array_equal(ours.embed(queries.astype(dtype)), expected, err_msg=dtype)
    np.testing.assert_array_equal(ours.embed(queries.tolist()), expected)
    np.testing.assert_array_equal(
        ours.embed(queries > 8), ours.embed((queries > 8).astype(np.float64))
    )


@law
def what_is_learned_does_not_depend_on_the_dtype(hasher: Hasher) -> None:
    X, y, _ = data()
    for dtype in ("u1", "f4", "i8"):
        assert_same_state(clone(hasher).fit(X.astype(dtype), y), fitted(hasher))
    assert_same_state(clone(hasher).fit(np.asfortranarray(X), y.tolist()), fitted(hasher))


@law
def a_code_does_not_depend_on_the_memory_layout(hasher: Hasher) -> None:
    ours, rows = fitted(hasher), many()[:5000]
    expected = ours.embed(rows)
    wide = np.zeros((2 * len(rows), 3 * rows.shape[1]), rows.dtype)
    wide[::2, ::3] = rows
    backward = np.ascontiguousarray(rows[::-1, ::-1])
    for same in (np.asfortranarray(rows), wide[::2, ::3], backward[::-1, ::-1], rows.copy()):
        same.setflags(write=False)
        np.testing.assert_array_equal(ours.embed(same), expected)


@law
def a_memory_map_is_as_good_as_an_array(hasher: Hasher) -> None:
    rows = many()[:5000]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, rows)
        mapped = np.load(path, mmap_mode="r")
        ours = clone(hasher).fit(mapped[:240], data().y)
        np.testing.assert_array_equal(ours.embed(mapped), ours.embed(rows))
        np.testing.assert_array_equal(ours.embed(mapped[7:3000:3]), ours.embed(rows[7:3000:3]))
        for mode in ("c", "r+"):
            writable = np.load(path, mmap_mode=mode)
            np.testing.assert_array_equal(ours.embed(writable), ours.embed(rows))
        # Nothing of the map was lost on the way.
        np.testing.assert_array_equal(mapped, rows)
    assert_same_state(ours, clone(hasher).fit(rows[:240], data().y))


@law
def single_precision_suffices(hasher: Hasher) -> None:
    noise = np.random.default_rng(0).normal(0, 0.3, data().queries.shape)
    doubles = data().queries + noise
    ours = fitted(hasher)
    exact, rounded = ours.embed(doubles), ours.embed(doubles.astype(np.float32))
    scale = float(np.abs(exact).mean())
    np.testing.assert_allclose(rounded, exact, rtol=0, atol=1e-3 * scale)
    clear = np.abs(exact) > 1e-3 * scale
    assert clear.mean() > 0.9
    np.testing.assert_array_equal((rounded > 0)[clear], (exact > 0)[clear])


# Data nobody promised would be nice


def _valid_codes(ours: Hasher, rows: Array) -> None:
    assert np.isfinite(ours.embed(rows)).all()
    assert len(ours.encode(rows)) == len(rows)


@law
def an_offset_does_not_matter(hasher: Hasher) -> None:
    X, y, _ = data()
    far = X + 1e6
    ours = clone(hasher).fit(far, y)
    _valid_codes(ours, far)
    # Not bit for bit: the center is rounded elsewhere, and descents are chaotic.
    assert map_scorer(ours, far, y) > 0.8 * map_scorer(fitted(hasher), X, y)


@law
def the_unit_of_measurement_does_not_matter(hasher: Hasher) -> None:
    X, y, _ = data()
    for unit in (1e-3, 1e3):
        ours = clone(hasher).fit(unit * X, y)
        assert map_scorer(ours, unit * X, y) > 0.8 * map_scorer(fitted(hasher), X, y)


@law
def a_far_point_has_a_code(hasher: Hasher) -> None:
    ours = fitted(hasher)
    for far in (1e6, 1e18, 1e30, 8e37):
        rows = np.full((3, ours.n_features_in_), far)
        rows[1] *= -1
        rows[2, ::2] *= -1
        _valid_codes(ours, rows)
        np.testing.assert_array_equal(ours.embed(rows), ours.embed(rows.astype(np.float32)))


@law
def constant_columns_and_repeated_rows_are_fine(hasher: Hasher) -> None:
    X, y, _ = data()
    constant = X.copy()
    constant[:, :20], constant[:, 20] = 0, 1e6
    repeated = np.repeat(X[:40], 6, axis=0)
    for rows, labels in ((constant, y), (repeated, np.repeat(y[:40], 6))):
        with quiet():
            ours = clone(hasher).fit(rows, labels)
        _valid_codes(ours, rows)
    bits = ours.transform(repeated).reshape(40, 6, -1)
    assert (bits == bits[:, :1]).all()


@law
def too_little_data_give_codes_or_a_sentence(hasher: Hasher) -> None:
    X, y, _ = data()
    equal = np.repeat(X[:1], 30, axis=0)
    for rows, labels in ((equal, np.arange(30) % 3), (X[:2], y[:2]), (X[:5], y[:5])):
        ours = clone(hasher)
        try:
            with quiet():
                ours.fit(rows, labels)
        except ValueError as error:
            assert " must " in str(error)
            assert str(error).endswith(".")
        else:
            _valid_codes(ours, rows)


# What is refused, and how


class Refusal(NamedTuple):
    """Rows that no hasher takes, the error and what it says."""

    rows: Any
    kind: type[Exception]
    says: str


def _spoilt(value: float, row: int, n_rows: int = 240) -> Array:
    rows = np.resize(many()[:, :].astype(np.float64), (n_rows, 64))
    rows[row, 5] = value
    return rows


def _refusals() -> list[Refusal]:
    X = data().X
    infinite = "must be finite, got infinity or a value too large for float32 in row"
    return [
        Refusal(_spoilt(np.nan, 7), ValueError, "must be finite, got NaN in row 7."),
        Refusal(_spoilt(np.nan, 8200, 9000), ValueError, "must be finite, got NaN in row 8200."),
        Refusal(_spoilt(np.inf, 100), ValueError, f"{infinite} 100."),
        Refusal(_spoilt(-np.inf, 0), ValueError, f"{infinite} 0."),
        Refusal(_spoilt(1e300, 3), ValueError, f"{infinite} 3."),
        Refusal(_spoilt(np.nan, 7).astype(np.float32), ValueError, "got NaN in row 7."),
        Refusal(_spoilt(np.inf, 7).astype(np.float16), ValueError, f"{infinite} 7."),
        Refusal(_spoilt(np.nan, 7).astype(object), ValueError, "got NaN in row 7."),
        Refusal(X[0], ValueError, "must be 2-dimensional (rows, features), got shape (64,)."),
        Refusal(X[None], ValueError, "must be 2-dimensional (rows, features), got shape (1, 240"),
        Refusal(X[0, 0], ValueError, "must be 2-dimensional (rows, features), got shape ()."),
        Refusal(None, ValueError, "must be 2-dimensional (rows, features), got shape ()."),
        Refusal(X[:0], ValueError, "has 0 sample(s) (shape=(0, 64)) while a minimum of"),
        Refusal(X[:, :0], ValueError, "has 0 feature(s) (shape=(240, 0)) while a minimum of 1"),
        Refusal([["a", "b"], ["c", "d"]], ValueError, "must hold numbers, got dtype <U1."),
        Refusal(X.astype("M8[s]"), ValueError, "must hold numbers, got dtype datetime64[s]."),
        Refusal(np.array([[{}, 1]]), TypeError, "must hold numbers, got "),
        Refusal(X + 1j, ValueError, "must be real, got dtype complex128."),
        Refusal(sparse.csr_array(X), TypeError, "must be dense, got a sparse matrix; use X.toarr"),
        Refusal(sparse.coo_matrix(X), TypeError, "must be dense, got a sparse matrix; use X.toar"),
    ]


@law
def input_that_is_no_matrix_of_numbers_is_refused(hasher: Hasher) -> None:
    ours, owner = fitted(hasher), type(hasher).__name__
    for rows, kind, says in _refusals():
        for method in (ours.encode, ours.transform, ours.embed):
            with refused(kind, f"X of {owner} ", says):
                method(rows)
        with refused(kind, f"X of {owner} ", says):
            clone(hasher).fit(rows, np.arange(9000 if np.shape(rows)[:1] == (9000,) else 240) % 10)


@law
def rows_of_another_width_are_refused(hasher: Hasher) -> None:
    says = f"X has 63 features, but {type(hasher).__name__} is expecting 64 features as input."
    ours = fitted(hasher)
    for method in (ours.encode, ours.transform, ours.embed):
        with refused(ValueError, says):
            method(data().queries[:, :63])


@law
def one_row_cannot_be_learned_from(hasher: Hasher) -> None:
    says = "has 1 sample(s) (shape=(1, 64)) while a minimum of 2 is required."
    with refused(ValueError, f"X of {type(hasher).__name__} {says}"):
        clone(hasher).fit(data().X[:1], data().y[:1])


@law
def rows_whose_distances_overflow_cannot_be_learned_from(hasher: Hasher) -> None:
    # faiss would end the process.
    with refused(ValueError, f"X of {type(hasher).__name__} must be within ±", "1e+25 in row 11."):
        clone(hasher).fit(_spoilt(1e25, 11), data().y)


@law
def n_bits_is_a_whole_number_above_zero(hasher: Hasher) -> None:
    owner = type(hasher).__name__
    for wrong, kind, says in (
        (0, ValueError, "must be at least 1, got 0."),
        (-1, ValueError, "must be at least 1, got -1."),
        (2.5, TypeError, "must be an integer, got 2.5."),
        (True, TypeError, "must be an integer, got True."),
        ("8", TypeError, "must be an integer, got '8'."),
        ([8], TypeError, "must be an integer, got [8]."),
    ):
        with refused(kind, f"n_bits of {owner} {says}"):
            clone(hasher).set_params(n_bits=wrong).fit(data().X, data().y)


@law
def random_state_is_a_seed_or_a_generator(hasher: Hasher) -> None:
    if "random_state" not in hasher.get_params():
        return
    for wrong, kind, says in (
        (-1, ValueError, "must be at least 0, got -1."),
        (1.5, TypeError, "must be an integer, got 1.5."),
        ("a", TypeError, "must be an integer, got 'a'."),
        (np.random.RandomState(0), TypeError, "must be an integer, got RandomState"),
    ):
        with refused(kind, "random_state of ", says):
            clone(hasher).set_params(random_state=wrong).fit(data().X, data().y)


@law
def labels_that_are_none_are_refused(hasher: Hasher) -> None:
    if not needs_labels(hasher):
        return
    X, y, _ = data()
    for wrong, says in (
        (None, "must be an array of 240 labels, got None"),
        (y[:-1], "must be one label for each of the 240 rows of X, got shape (239,)."),
        (np.stack([y, y], axis=1), "must be one label for each of the 240 rows of X, got shape"),
        (np.where(y == 3, np.nan, y), "must be finite, got NaN or infinity."),
        (y + 0.5, "must be class labels, got reals."),
        (np.full(240, -1), "must be labels of at least 2 classes, got 0."),
        (np.where(y == 3, 3, -1), "must be labels of at least 2 classes, got 1."),
        (np.where(y == 3, np.array(None), y), "must be labels that can be compared, got missing"),
        (np.where(y == 3, "three", y.astype(object)), "must be labels that can be compared, got"),
        (y + 0j, "must be labels that can be compared, got missing or mixed ones."),
    ):
        with refused(ValueError, f"y of {type(hasher).__name__} ", says):
            clone(hasher).fit(X, wrong)


@law
def labels_may_be_anything_that_names_a_class(hasher: Hasher) -> None:
    if not needs_labels(hasher):
        return
    X, y, _ = data()
    names = np.array(list("abcdefghij"))[y]
    same = (y.tolist(), y.astype(np.uint8), y.astype(float), y[:, None], y * 7 - 20, pd.Series(y))
    for labels in (*same, names, names.astype(object), pd.Series(names, dtype="category")):
        assert_same_state(clone(hasher).fit(X, labels), fitted(hasher))


# Files and copies


@law
def a_saved_hasher_comes_back_the_same(hasher: Hasher) -> None:
    ours, queries = fitted(hasher), data().queries
    with tempfile.TemporaryDirectory() as folder:
        path, copied = Path(folder) / "hasher.bitfold", Path(folder) / "copied.bitfold"
        ours.save(path)
        for mmap in (False, True):
            theirs = bitfold.load(path, mmap=mmap)
            assert_same_state(theirs, ours)
            assert theirs.encode(queries) == ours.encode(queries)
            np.testing.assert_array_equal(theirs.embed(queries), ours.embed(queries))
            theirs.save(copied)
            assert copied.read_bytes() == path.read_bytes()
            assert_same_state(clone(theirs).fit(data().X, data().y), ours)
            assert_same_state(theirs.fit(data().X, data().y), ours)


@law
def a_mapped_hasher_leaves_its_arrays_in_the_file(hasher: Hasher) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hasher.bitfold"
        fitted(hasher).save(path)
        mapped = bitfold.load(path, mmap=True)
        assert all(isinstance(getattr(mapped, name), np.memmap) for name in mapped._layout)
        assert not any(getattr(mapped, name).flags.writeable for name in mapped._layout)
        assert bitfold.load(path).center_.flags.writeable
        again = pickle.loads(pickle.dumps(mapped))
    assert again.encode(data().queries) == fitted(hasher).encode(data().queries)


@law
def copies_and_pickles_work_and_share_nothing(hasher: Hasher) -> None:
    ours, queries = fitted(hasher), data().queries
    codes = ours.encode(queries)
    for again in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours)), copy.copy(ours)):
        assert_same_state(again, ours)
        assert again.encode(queries) == codes
    again = copy.deepcopy(ours)
    again.center_ += 1
    assert ours.encode(queries) == codes


@law
def a_pickle_holds_no_more_than_a_file(hasher: Hasher) -> None:
    ours = fitted(hasher)
    ours.encode(data().queries)
    with tempfile.TemporaryDirectory() as folder:
        ours.save(Path(folder) / "hasher")
        unused = bitfold.load(Path(folder) / "hasher")
    assert len(pickle.dumps(ours)) < len(pickle.dumps(unused)) + 300


@law
def column_names_are_kept(hasher: Hasher) -> None:
    X, y, queries = data()
    columns = [f"pixel {column}" for column in range(64)]
    frame = pd.DataFrame(queries, columns=columns)
    ours = clone(hasher).fit(pd.DataFrame(X, columns=columns), y)
    with tempfile.TemporaryDirectory() as folder:
        ours.save(Path(folder) / "hasher")
        theirs = bitfold.load(Path(folder) / "hasher")
    assert_same_state(theirs, ours)
    for either in (ours, theirs):
        assert list(either.feature_names_in_) == columns
        assert either.encode(frame) == fitted(hasher).encode(queries)
        with pytest.raises(ValueError, match="feature names should match"):
            either.encode(frame[columns[::-1]])
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            either.encode(queries)


# Company


@law
def bits_have_names_in_a_data_frame(hasher: Hasher) -> None:
    ours, queries = fitted(hasher), data().queries
    bits = ours.transform(queries)
    names = [f"{type(hasher).__name__.lower()}{bit}" for bit in range(ours.n_bits_)]
    assert list(ours.get_feature_names_out()) == names
    frame = ours.set_output(transform="pandas").transform(queries)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == names
    np.testing.assert_array_equal(frame.to_numpy(), bits)


@law
def it_works_in_a_pipeline(hasher: Hasher) -> None:
    X, y, queries = data()
    pipeline = make_pipeline(StandardScaler(), clone(hasher)).fit(X, y)
    scaler = StandardScaler().fit(X)
    alone = clone(hasher).fit(scaler.transform(X), y)
    np.testing.assert_array_equal(
        pipeline.transform(queries), alone.transform(scaler.transform(queries))
    )


@law
def it_can_be_cross_validated(hasher: Hasher) -> None:
    X, y, _ = data()
    scores = cross_val_score(hasher, X, y, scoring=map_scorer, cv=2)
    chance = np.mean(y[:, None] == y)
    assert ((scores > 2 * chance) & (scores <= 1)).all()


@law
def progress_only_rises_and_changes_nothing(hasher: Hasher) -> None:
    told: list[tuple[str, int, int]] = []
    ours = clone(hasher).fit(data().X, data().y, progress=lambda *step: told.append(step))
    assert_same_state(ours, fitted(hasher))
    _assert_rising(told)
    told.clear()
    codes = ours.encode(many(), progress=lambda *step: told.append(step))
    assert codes == ours.encode(many())
    _assert_rising(told)
    assert told[-1] == ("encode", len(many()), len(many()))
    assert len(told) > 1


def _assert_rising(told: list[tuple[str, int, int]]) -> None:
    for stage, done, total in told:
        assert isinstance(stage, str)
        assert 0 < done <= total
    for (stage, done, total), (next_stage, next_done, next_total) in pairwise(told):
        assert stage != next_stage or (done < next_done and total == next_total)
    # A stage that is over does not come back.
    stages = [stage for stage, _, _ in told]
    assert len(list(groupby(stages))) == len(set(stages))


def _blas_threads() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@law
def threads_may_share_a_hasher(hasher: Hasher) -> None:
    ours, rows = clone(hasher).fit(data().X, data().y), many()
    expected = fitted(hasher).encode(rows)
    with threadpool_limits(2, "blas"), ThreadPoolExecutor(8) as pool:
        before = _blas_threads()
        assert all(codes == expected for codes in pool.map(ours.encode, [rows] * 16))
        assert _blas_threads() == before


class _Enough(Exception):
    """What a user's callback may raise."""


@law
def an_error_midway_leaves_the_cores_as_they_were(hasher: Hasher) -> None:
    ours = fitted(hasher)
    spoilt = many().copy()
    spoilt[5000, 0] = np.nan

    def stop(stage: str, done: int, total: int) -> None:
        raise _Enough

    with threadpool_limits(2, "blas"):
        before = _blas_threads()
        with refused(ValueError, "NaN in row 5000."):
            ours.encode(spoilt)
        with suppress(_Enough):
            ours.encode(many(), progress=stop)
        assert _blas_threads() == before
    assert ours.encode(many()) == fitted(hasher).encode(many())


@law
def a_forked_child_can_encode(hasher: Hasher) -> None:
    if "fork" not in multiprocessing.get_all_start_methods():
        return
    ours, rows = fitted(hasher), many()
    expected = ours.encode(rows).packed.tobytes()  # the parent's threads are running by now
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send_bytes(ours.encode(rows).packed.tobytes()))
    # Newer Pythons warn of any fork beside threads; that it works here is the point.
    with quiet():
        child.start()
    try:
        assert receiver.poll(60)
        assert receiver.recv_bytes() == expected
        child.join(10)
        assert child.exitcode == 0
    finally:
        child.kill()
        child.join()


@law
def nothing_is_printed(hasher: Hasher) -> None:
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        clone(hasher).fit(data().X, data().y).encode(data().queries)
    assert out.getvalue() == err.getvalue() == ""
