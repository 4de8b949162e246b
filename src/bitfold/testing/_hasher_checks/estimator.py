"""Checks of the conventions that every estimator follows."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from bitfold.hashers import Hasher
from bitfold.testing._hasher_checks.common import (
    assert_raises,
    assert_same_state,
    fit_copy,
    get_state,
    has_random_state,
    load_sample,
    needs_labels,
)


def check_clone(hasher: Hasher) -> None:
    """Check that a clone is unfitted and learns the same state."""
    fitted = fit_copy(hasher)
    cloned = clone(fitted)
    assert not get_state(cloned)
    assert repr(cloned) == repr(fitted)
    assert_same_state(cloned.fit(load_sample().X, load_sample().y), fitted)


def check_repr(hasher: Hasher) -> None:
    """Check that ``repr`` is the call that makes the hasher."""
    objects = [hasher, *hasher.get_params(deep=True).values()]
    names = {type(value).__name__: type(value) for value in objects}
    made = eval(repr(hasher), {"__builtins__": {}}, names)
    assert type(made) is type(hasher)
    assert repr(made) == repr(hasher)
    assert repr(type(hasher)()) == f"{type(hasher).__name__}()"


def check_same_seed_same_model(hasher: Hasher) -> None:
    """Check that the data and ``random_state`` determine the model."""
    X, y, _ = load_sample()
    assert_same_state(clone(hasher).fit(X, y), fit_copy(hasher))
    if not has_random_state(hasher):
        return
    first, second, other = (
        clone(hasher).set_params(random_state=np.random.default_rng(seed)).fit(X, y)
        for seed in (1, 1, 2)
    )
    assert first.encode(X) == second.encode(X)
    assert first.encode(X) != other.encode(X)


def check_input_is_unchanged(hasher: Hasher) -> None:
    """Check that no method writes to its input."""
    X, y = load_sample().X.copy(), load_sample().y.copy()
    fitted = clone(hasher).fit(X, y)
    fitted.encode(X), fitted.transform(X), fitted.embed(X)
    np.testing.assert_array_equal(X, load_sample().X)
    np.testing.assert_array_equal(y, load_sample().y)


def check_parameters_are_unchanged(hasher: Hasher) -> None:
    """Check that ``fit`` returns the hasher and leaves its parameters as they were."""
    ours = clone(hasher)
    before = ours.get_params(deep=True)
    inner = {name: dict(vars(value)) for name, value in before.items() if hasattr(value, "fit")}
    assert ours.fit(load_sample().X, load_sample().y) is ours
    after = ours.get_params(deep=True)
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)
    for name, state in inner.items():
        assert vars(after[name]) == state


def check_refit(hasher: Hasher) -> None:
    """Check that a second ``fit`` forgets what the first one learned."""
    X, y, queries = load_sample()
    fitted = fit_copy(hasher)
    fitted.encode(queries)
    again, fresh = fitted.fit(X[:, :40], y), clone(hasher).fit(X[:, :40], y)
    assert_same_state(again, fresh)
    assert again.encode(queries[:, :40]) == fresh.encode(queries[:, :40])


def check_labels_are_optional(hasher: Hasher) -> None:
    """Check that a hasher that does not require labels ignores them."""
    if needs_labels(hasher):
        return
    for y in (None, "nonsense", [[np.nan], [3, 4]], object()):
        ours = clone(hasher).fit(load_sample().X, y)
        assert_same_state(ours, fit_copy(hasher))
        assert ours.model_digest == fit_copy(hasher).model_digest


def check_unfitted(hasher: Hasher) -> None:
    """Check that every method except ``fit`` raises NotFittedError before ``fit``."""
    unfitted = clone(hasher)
    for method in (unfitted.encode, unfitted.transform, unfitted.embed):
        with assert_raises(NotFittedError, type(hasher).__name__):
            method(load_sample().X)
    with assert_raises(NotFittedError), tempfile.TemporaryDirectory() as folder:
        unfitted.save(Path(folder) / "hasher")
    with assert_raises(NotFittedError):
        unfitted.get_feature_names_out()


ESTIMATOR_CHECKS = (
    check_clone,
    check_repr,
    check_same_seed_same_model,
    check_input_is_unchanged,
    check_parameters_are_unchanged,
    check_refit,
    check_labels_are_optional,
    check_unfitted,
)
