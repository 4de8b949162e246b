"""Principal component hashing, compared with scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from bitfold.errors import ParameterError
from bitfold.hashers import PCAH

DIGITS = load_digits().data


def make_rows(offset: float = 0.0) -> NDArray[np.float64]:
    """Return rows that fill several blocks, with different variances in all directions."""
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.standard_normal((24, 24)))[0]
    rows: NDArray[np.float64] = (
        rng.standard_normal((9000, 24)) * np.geomspace(5, 0.1, 24) @ rotation
    )
    return rows + offset


def map_rows(rows: NDArray[Any], folder: Path) -> NDArray[Any]:
    np.save(folder / "rows.npy", rows)
    return np.asanyarray(np.load(folder / "rows.npy", mmap_mode="r"))


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
def test_directions_agree_with_scikit_learn(offset: float) -> None:
    hasher, reference = PCAH(12).fit(make_rows(offset)), PCA(12).fit(make_rows())
    overlap = np.abs((hasher.directions_ * reference.components_).sum(axis=1))
    np.testing.assert_allclose(overlap, 1, atol=1e-5)


def test_bits_are_signs_of_principal_components() -> None:
    hasher, reference = PCAH(8).fit(DIGITS), PCA(8).fit(DIGITS)
    scores = reference.transform(DIGITS)
    same = np.sign((hasher.directions_ * reference.components_).sum(axis=1))
    scores *= same
    np.testing.assert_allclose(hasher.embed(DIGITS), scores, atol=1e-2)
    clear = np.abs(scores) > 1e-2
    np.testing.assert_array_equal(hasher.transform(DIGITS)[clear], (scores > 0)[clear])


def test_memory_map_gives_the_same_directions(tmp_path: Path) -> None:
    rows = make_rows().astype(np.float32)
    from_map, from_array = PCAH(12).fit(map_rows(rows, tmp_path)), PCAH(12).fit(rows)
    np.testing.assert_array_equal(from_map.directions_, from_array.directions_)


def test_features_limit_the_bits() -> None:
    with pytest.raises(ParameterError, match=r"n_bits of PCAH .*n_features=64, got 65"):
        PCAH(65).fit(DIGITS)
    assert PCAH().fit(DIGITS).n_bits_ == 64
    assert PCAH().fit(make_rows()).n_bits_ == 24
    assert PCAH().fit(np.hstack([DIGITS, DIGITS])).n_bits_ == 64
