"""The base class of hashers: fitting sets all attributes once, at the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from bitfold._types import ProgressCallback
from bitfold.errors import DataError
from bitfold.hashers.base import Hasher, Rows

X = load_digits().data


class AboveMean(Hasher):
    """One bit per feature, 1 where it exceeds its mean."""

    def __init__(self, fails: bool = False) -> None:
        self.fails = fails

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        progress("only stage", 1, 1)
        if self.fails:
            raise DataError("These rows cannot be used.")
        return {"n_bits_": rows.n_features}

    def _embed_block(self, values: Any) -> Any:
        return values.copy()


def fitted_attributes(hasher: Hasher) -> dict[str, Any]:
    return {name: value for name, value in vars(hasher).items() if name.endswith("_")}


def test_fit_sets_the_declared_attributes() -> None:
    hasher = AboveMean().fit(X)
    assert set(fitted_attributes(hasher)) == {
        "n_bits_",
        "n_features_in_",
        "center_",
        "normalize_",
    }
    np.testing.assert_allclose(hasher.center_, X.mean(axis=0), rtol=1e-6)
    np.testing.assert_array_equal(hasher.transform(X), X.astype(np.float32) > hasher.center_)


def test_a_failed_fit_leaves_a_hasher_unfitted() -> None:
    hasher = AboveMean(fails=True)
    with pytest.raises(DataError):
        hasher.fit(X)
    assert fitted_attributes(hasher) == {}


def test_a_failed_fit_leaves_a_fitted_hasher_unchanged() -> None:
    hasher = AboveMean().fit(pd.DataFrame(X[:, :3], columns=list("abc")))
    before = fitted_attributes(hasher)
    hasher.fails = True
    with pytest.raises(DataError):
        hasher.fit(X)
    assert fitted_attributes(hasher) == before
    assert hasher.feature_names_in_.tolist() == ["a", "b", "c"]


def test_feature_names_are_those_of_the_last_fit() -> None:
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    hasher = AboveMean().fit(frame)
    assert hasher.feature_names_in_.tolist() == ["a", "b"]
    assert not hasattr(hasher.fit(X), "feature_names_in_")


def test_fit_rows_equals_fit() -> None:
    reports: list[tuple[str, int, int]] = []
    rows = Rows.centered(X, "AboveMean")
    hasher = AboveMean().fit_rows(rows, progress=lambda *step: reports.append(step))
    assert reports == [("only stage", 1, 1)]
    assert hasher.encode(X) == AboveMean().fit(X).encode(X)
    named = AboveMean().fit_rows(rows, feature_names=[f"pixel {i}" for i in range(64)])
    assert named.feature_names_in_[63] == "pixel 63"


@pytest.mark.parametrize(
    ("bad", "reason"),
    [(X[:1], r"1 sample\(s\)"), (X[0], "2-dimensional"), (X[:, :0], r"0 feature\(s\)")],
)
def test_data_that_cannot_be_used(bad: Any, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        AboveMean().fit(bad)
