"""Models and their indexes: those that do not match are rejected."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.explorer.conftest import index_vectors, random_vectors

import bitfold as bf
from bitfold.errors import ModelMismatchError
from bitfold.explorer.models import IndexedModel
from bitfold.hashers import LSH


def test_model_with_another_code_length_is_rejected(tmp_path: Path) -> None:
    index_vectors(tmp_path, random_vectors(3), n_bits=12)
    bf.HammingIndex(24).save(tmp_path / "m.index")
    with pytest.raises(ModelMismatchError, match=r"24 bits.* 12 bits"):
        IndexedModel.open(tmp_path / "m.index", tmp_path / "m.bitfold", "m")


def test_another_model_is_rejected(tmp_path: Path) -> None:
    index_vectors(tmp_path, random_vectors(30))
    LSH(8, random_state=1).fit(random_vectors(30)).save(tmp_path / "m.bitfold")
    with pytest.raises(ModelMismatchError):
        IndexedModel.open(tmp_path / "m.index", tmp_path / "m.bitfold", "m")


def test_empty_index_is_rejected(tmp_path: Path) -> None:
    index_vectors(tmp_path, random_vectors(3))
    bf.HammingIndex(8).save(tmp_path / "m.index")
    with pytest.raises(ValueError, match="empty"):
        IndexedModel.open(tmp_path / "m.index", tmp_path / "m.bitfold", "m")
