"""Checks of files, copies and pickles."""

from __future__ import annotations

import copy
import pickle
import tempfile
from pathlib import Path

import numpy as np
from sklearn.base import clone

from bitfold.hashers import Hasher, load
from bitfold.testing._hasher_checks.common import (
    assert_same_state,
    fit_copy,
    get_state,
    load_sample,
)


def check_save_and_load(hasher: Hasher) -> None:
    """Check that a loaded hasher is the same as the saved one, and can be fitted again."""
    X, y, queries = load_sample()
    fitted = fit_copy(hasher)
    with tempfile.TemporaryDirectory() as folder:
        path, copied = Path(folder) / "hasher.bitfold", Path(folder) / "copied.bitfold"
        fitted.save(path)
        for mmap in (False, True):
            loaded = load(path, mmap=mmap)
            assert_same_state(loaded, fitted)
            assert loaded.encode(queries) == fitted.encode(queries)
            np.testing.assert_array_equal(loaded.embed(queries), fitted.embed(queries))
            loaded.save(copied)
            assert copied.read_bytes() == path.read_bytes()
            assert_same_state(clone(loaded).fit(X, y), fitted)
            assert_same_state(loaded.fit(X, y), fitted)


def check_memory_mapped_load(hasher: Hasher) -> None:
    """Check that ``load(path, mmap=True)`` leaves the arrays in the file, read-only."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hasher.bitfold"
        fit_copy(hasher).save(path)
        mapped = load(path, mmap=True)
        arrays = [value for value in get_state(mapped).values() if isinstance(value, np.ndarray)]
        assert all(isinstance(array, np.memmap) for array in arrays)
        assert not any(array.flags["W"] for array in arrays)
        assert load(path).center_.flags["W"]
        unpickled = pickle.loads(pickle.dumps(mapped))
    assert unpickled.encode(load_sample().queries) == fit_copy(hasher).encode(load_sample().queries)


def check_copies(hasher: Hasher) -> None:
    """Check that copies and pickles encode the same, and that a deep copy shares nothing."""
    fitted, queries = fit_copy(hasher), load_sample().queries
    codes = fitted.encode(queries)
    for same in (copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted)), copy.copy(fitted)):
        assert_same_state(same, fitted)
        assert same.encode(queries) == codes
    copied = copy.deepcopy(fitted)
    copied.center_ += 1
    assert fitted.encode(queries) == codes


def check_pickle_size(hasher: Hasher) -> None:
    """Check that encoding does not make the pickle larger."""
    fitted = fit_copy(hasher)
    fitted.encode(load_sample().queries)
    with tempfile.TemporaryDirectory() as folder:
        fitted.save(Path(folder) / "hasher")
        unused = load(Path(folder) / "hasher")
    assert len(pickle.dumps(fitted)) < len(pickle.dumps(unused)) + 300


FILE_CHECKS = (
    check_save_and_load,
    check_memory_mapped_load,
    check_copies,
    check_pickle_size,
)
