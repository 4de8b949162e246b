"""Models and their codes: buckets, distances, and those that do not match."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.explorer.conftest import index_bits, index_vectors, random_vectors

import bitfold as bf
from bitfold.errors import ModelMismatchError
from bitfold.explorer.models import IndexedModel, hamming_distances
from bitfold.explorer.opening import open_models
from bitfold.hashers import LSH


def open_again(folder: Path) -> IndexedModel:
    return open_models([folder / "m.index"], [folder / "m.bitfold"])[0].model


def test_model_with_another_code_length_is_rejected(tmp_path: Path) -> None:
    index_vectors(tmp_path, random_vectors(3), n_bits=12)
    bf.HammingIndex(24).save(tmp_path / "m.index")
    with pytest.raises(ModelMismatchError, match=r"24 bits.* 12 bits"):
        open_again(tmp_path)


def test_another_model_is_rejected(tmp_path: Path) -> None:
    index_vectors(tmp_path, random_vectors(30))
    LSH(8, random_state=1).fit(random_vectors(30)).save(tmp_path / "m.bitfold")
    with pytest.raises(ModelMismatchError):
        open_again(tmp_path)


def test_empty_index_is_rejected(tmp_path: Path) -> None:
    index_vectors(tmp_path, random_vectors(3))
    bf.HammingIndex(8).save(tmp_path / "m.index")
    with pytest.raises(ValueError, match="empty"):
        open_again(tmp_path)


def test_buckets_have_all_rows_with_equal_codes(tmp_path: Path) -> None:
    bits = np.random.default_rng(0).integers(0, 2, (300, 5), np.uint8)
    model = index_bits(tmp_path, bits).model
    assert model.codes(np.arange(300)) == bf.Codes.from_bits(bits)
    for bucket in range(model.n_distinct):
        rows = model.members(bucket)
        assert (model.bucket_of[rows] == bucket).all() and (np.diff(rows) > 0).all()
        assert len(rows) == model.sizes[bucket] == (bits == bits[rows[0]]).all(axis=1).sum()


def test_counts_within_a_radius_equal_those_by_hand(tmp_path: Path) -> None:
    bits = np.random.default_rng(0).integers(0, 2, (300, 9), np.uint8)
    model = index_bits(tmp_path, bits).model
    code, alike = model.codes([17]), np.arange(300) % 3 == 0
    distances = (bits != bits[17]).sum(axis=1)
    assert hamming_distances(code, model.codes(np.arange(300))).tolist() == distances.tolist()
    counts = model.count_within(code, alike, exclude=None)
    assert counts.alike is not None
    for radius in range(10):
        assert counts.within[radius] == np.count_nonzero(distances <= radius)
        assert counts.alike[radius] == np.count_nonzero(distances[alike] <= radius)
    assert model.find_bucket(code) == model.bucket_of[17]


def test_a_code_that_no_item_has(tmp_path: Path) -> None:
    model = index_bits(tmp_path, np.eye(9, dtype=np.uint8)).model
    assert model.find_bucket(bf.Codes.from_bits([[1] * 9])) is None
