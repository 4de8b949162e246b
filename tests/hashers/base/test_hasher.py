"""The base class of hashers: fitting sets all attributes once, at the end."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

from bitfold._types import ProgressCallback
from bitfold.errors import DataError, ParameterError
from bitfold.hashers.base import Hasher, Rows
from bitfold.metrics import map_scorer

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


class Features(Hasher):
    """The features themselves, without parameters of its own."""

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        return {"n_bits_": rows.n_features}

    def _embed_block(self, values: Any) -> Any:
        return values.copy()


def test_a_hasher_without_a_constructor_can_normalize() -> None:
    assert Features().get_params() == {"normalize": False}
    hasher = Features(normalize=True).fit(X)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(hasher.center_, unit.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(hasher.embed(X), unit - hasher.center_, atol=1e-6)


def test_a_hasher_that_does_not_store_normalize_never_scales_rows() -> None:
    hasher = AboveMean().fit(X)
    assert "normalize" not in hasher.get_params()
    assert hasher.normalize_ is False
    assert hasher.encode(4 * X) != hasher.encode(X)


def test_rows_decide_whether_encoding_scales_them() -> None:
    hasher = Features().fit_rows(Rows.centered(X, "Features", normalize=True))
    assert (hasher.normalize, hasher.normalize_) == (False, True)
    assert hasher.encode(X) == Features(normalize=True).fit(X).encode(X)


def test_every_form_of_encoding_scales_rows() -> None:
    hasher = Features(normalize=True).fit(X)
    far = X * np.exp2(np.arange(len(X)) % 9)[:, None]
    np.testing.assert_array_equal(hasher.transform(far), hasher.transform(X))
    np.testing.assert_array_equal(hasher.embed(far), hasher.embed(X))
    for codes in (hasher.encode(far), hasher.encode(iter([far[:700], far[700:]]))):
        assert codes == hasher.encode(X)
    blocks = [codes.packed for codes in hasher.encode_blocks(far)]
    np.testing.assert_array_equal(np.concatenate(blocks), hasher.encode(X).packed)


def test_grid_search_over_normalize() -> None:
    y = load_digits().target[:300]
    lengths = np.exp2(np.arange(300) % 9)[:, None]
    search = GridSearchCV(Features(), {"normalize": [False, True]}, scoring=map_scorer, cv=2)
    assert search.fit(X[:300] * lengths, y).best_params_ == {"normalize": True}


class ConstantState(Hasher):
    """Learns an array that it was given."""

    _fitted_arrays: ClassVar[dict[str, tuple[str, ...]]] = {
        **Hasher._fitted_arrays,
        "weights_": ("n_bits_",),
    }

    def __init__(self, n_bits: int = 2, weight: Any = 1.0) -> None:
        self.n_bits = n_bits
        self.weight = weight

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        return {"n_bits_": self.n_bits, "weights_": np.full(self.n_bits, self.weight, np.float32)}

    def _embed_block(self, values: Any) -> Any:
        return values[:, : self.n_bits_] * self.weights_


@pytest.mark.parametrize("weight", [np.nan, np.inf, -np.inf])
def test_fit_raises_instead_of_learning_nan(weight: float) -> None:
    hasher = ConstantState().fit(X)
    before = hasher.weights_
    with pytest.raises(DataError, match="weights_ is not finite"):
        hasher.set_params(weight=weight).fit(X)
    assert hasher.weights_ is before


@pytest.mark.parametrize("n_bits", [65_537, 10**9, np.int64(10**9), 10**30])
def test_absurd_code_lengths_are_rejected_before_the_data_are_read(n_bits: int) -> None:
    def read_nothing() -> Any:
        pytest.fail("the data were read")

    with pytest.raises(ParameterError, match=f"at most 65536, got {n_bits}"):
        ConstantState(n_bits).fit(read_nothing)
    with pytest.raises(ParameterError, match="n_bits"):
        ConstantState(n_bits).fit_rows(Rows.centered(X, "ConstantState"))


def test_masked_values_are_rejected() -> None:
    masked = np.ma.masked_array(X, np.asarray(X) == 3)
    hasher = ConstantState().fit(X)
    for use in (hasher.encode, ConstantState().fit, hasher.transform, hasher.embed):
        for source in (masked, [masked, masked], lambda: iter([masked])):
            with pytest.raises(DataError, match="masked"):
                use(source)


def test_a_masked_array_without_masked_values_is_an_array() -> None:
    hasher = ConstantState().fit(np.ma.masked_array(X))
    np.testing.assert_array_equal(hasher.transform(np.ma.masked_array(X)), hasher.transform(X))


@pytest.mark.parametrize("rows", [[[1.0, 2.0], [3.0]], [[1.0], 2.0], ([1], [2, 3])])
def test_ragged_lists_are_described_in_words(rows: Any) -> None:
    with pytest.raises(DataError, match="rows of different lengths"):
        ConstantState().fit(rows)
