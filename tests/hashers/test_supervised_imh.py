"""Supervised Inductive Manifold Hashing: labels, classes, and the limits they set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.hashers.test_imh import INVALID, digits, few, held_out_map
from threadpoolctl import threadpool_limits

from bitfold import embedding as e
from bitfold.base_set import KMeansBase, RandomBase
from bitfold.errors import ParameterError
from bitfold.hashers import IMH, LSH, DualHasher, SupervisedIMH, load
from bitfold.hashers.strategies import BASE_STRATEGIES


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Use one thread: on busy cores, the threads of a small problem wait for each other."""
    with threadpool_limits(1):
        yield


def small(**params: Any) -> SupervisedIMH:
    """Return a quick SupervisedIMH with some parameters changed."""
    quick: dict[str, Any] = {
        "base": KMeansBase(60, max_iter=3),
        "embedding": e.PCA(),
        "n_components": 16,
        "random_state": 0,
    }
    return SupervisedIMH(**quick | params)


def test_labels_improve_the_codes_of_new_queries() -> None:
    # Measured, mean of two seeds: 0.93 with labels, 0.86 without.
    with_labels, without = [], []
    for seed in range(2):
        base = KMeansBase(400, max_iter=10)
        with_labels.append(
            held_out_map(SupervisedIMH(9, base=base, n_components=16, random_state=seed))
        )
        without.append(held_out_map(IMH(9, base=base, random_state=seed)))
    assert np.mean(with_labels) > np.mean(without) + 0.03


def test_unlabeled_rows_are_not_base_points() -> None:
    X, y = few()
    X, y = X.copy(), y.copy()
    y[::2] = -1
    X[::2] += 500
    hasher = small().fit(X, y)
    assert hasher.base_points_.max() < 400
    # Only the classes of labeled rows count.
    with pytest.raises(ValueError, match="classes - 1 = 1, got 2"):
        small(n_bits=2).fit(X, np.where(y < 2, y, -1))


def test_unlabeled_rows_only_affect_bandwidth_and_rotation() -> None:
    X, y = few()
    labeled = np.arange(len(X)) % 2 == 1
    partial = small(base=RandomBase(60)).fit(X, np.where(labeled, y, -1))
    alone = small(base=RandomBase(60)).fit(X[labeled], y[labeled])
    np.testing.assert_allclose(partial.base_points_, alone.base_points_, atol=1e-4)
    np.testing.assert_allclose(
        pairwise_distances(partial.base_embedding_),
        pairwise_distances(alone.base_embedding_),
        rtol=1e-3,
        atol=1e-3,
    )
    assert partial.bandwidth_ != alone.bandwidth_


def test_two_base_points_per_class_are_enough() -> None:
    X, y = few()
    assert small(base=KMeansBase(20)).fit(X, y).n_bits_ == 9


def test_the_base_set_does_not_depend_on_the_embedding() -> None:
    X, y = few()
    expected = small().fit(X, y).base_set_
    other = small(embedding=e.LLE(), n_components=9).fit(X, y).base_set_
    np.testing.assert_array_equal(other, expected)


def test_the_rotation_is_rigid_and_centers_the_data() -> None:
    X, y = few()
    hasher = small().fit(X, y)
    plain, rotated = hasher.base_embedding_, hasher.bit_embedding_
    np.testing.assert_allclose(
        pairwise_distances(rotated), pairwise_distances(plain), rtol=1e-3, atol=1e-3
    )
    assert (rotated != plain).any()
    scale = np.abs(hasher.embed(X)).mean()
    np.testing.assert_allclose(hasher.embed(X).mean(axis=0), 0, atol=1e-4 * scale)


@pytest.mark.parametrize("name", BASE_STRATEGIES)
def test_a_base_by_name_has_1000_points(name: str) -> None:
    X, y = few(450)
    with pytest.warns(UserWarning, match="base points were requested"):
        assert len(small(base=name).fit(X, y).base_set_) == len(np.unique(X, axis=0))


def test_the_defaults_are_kmeans_and_tsne() -> None:
    X, y = digits().X[:120], digits().y[:120]
    with pytest.warns(UserWarning, match="base points were requested"):
        default = SupervisedIMH(random_state=0).fit(X, y)
        explicit = SupervisedIMH(base=KMeansBase(1000), embedding=e.TSNE(), random_state=0)
        explicit.fit(X, y)
    assert default.encode(X) == explicit.encode(X)


def test_progress_reports_the_stages_in_order() -> None:
    X, y = few()
    stages: list[str] = []
    small(embedding=e.TSNE()).fit(X, y, progress=lambda stage, *_: stages.append(stage))
    assert list(dict.fromkeys(stages)) == ["mean", "base set", "embedding", "rotation"]


def test_a_failed_fit_changes_nothing() -> None:
    X, y = few()
    hasher = small().fit(X, y)
    before = dict(vars(hasher))
    with pytest.raises(ValueError, match="2 classes"):
        hasher.fit(X, np.zeros(len(X), int))
    assert vars(hasher) == before


@pytest.mark.parametrize(
    ("name", "value", "kind", "requirement"), [case for case in INVALID if case[0] != "n_bits"]
)
def test_invalid_parameters(name: str, value: Any, kind: type[Exception], requirement: str) -> None:
    with pytest.raises(kind, match=requirement) as caught:
        small(**{name: value}).fit(*few())
    assert isinstance(caught.value, ParameterError)
    assert (caught.value.name, caught.value.owner) == (name, "SupervisedIMH")


@pytest.mark.parametrize(
    ("params", "name", "reason"),
    [
        ({"n_bits": 10}, "n_bits", "classes - 1 = 9"),
        ({"n_bits": 5, "n_components": 4}, "n_bits", "n_components = 4"),
        ({"n_components": 0}, "n_components", "at least 1"),
        ({"base": KMeansBase(19)}, "n_base_points", "at least 20"),
    ],
)
def test_classes_limit_the_parameters(params: dict[str, Any], name: str, reason: str) -> None:
    with pytest.raises(ParameterError, match=reason) as caught:
        small(**params).fit(*few())
    assert caught.value.name == name


def test_equal_rows_are_an_error() -> None:
    rows, y = np.ones((30, 64)), np.arange(30) % 3
    with pytest.warns(UserWarning, match="1 distinct"), pytest.raises(ParameterError) as caught:
        small(n_neighbors=1).fit(rows, y)
    assert "more than one point per class, for 3 classes" in str(caught.value)


def test_default_code_lengths() -> None:
    X, y = few()
    assert small().fit(X, y).n_bits_ == 9
    assert small(n_components=4).fit(X, y).n_bits_ == 4
    assert small(n_bits=3).fit(X, y).n_bits_ == 3
    assert small().fit(X, y % 2).n_bits_ == 1


def test_many_classes() -> None:
    many = np.random.default_rng(0).standard_normal((900, 8)).astype(np.float32)
    labels = np.repeat(np.arange(300), 3)
    settings: dict[str, Any] = {"base": KMeansBase(600), "embedding": "le_b", "random_state": 0}
    assert SupervisedIMH(**settings).fit(many, labels).n_bits_ == 256
    assert SupervisedIMH(280, **settings).fit(many, labels).n_bits_ == 280


def test_default_subspace_is_that_of_scikit_learns_lda() -> None:
    X, y = few()
    ours = small(rotation=None, n_components=12).fit(X, y)
    theirs = small(rotation=None, n_components=12, subspace=LinearDiscriminantAnalysis()).fit(X, y)
    np.testing.assert_array_equal(theirs.base_set_, ours.base_set_)
    # The columns differ in length and sign only.
    lengths = [np.linalg.norm(h.base_embedding_, axis=0) for h in (ours, theirs)]
    cosines = np.einsum("ij,ij->j", ours.base_embedding_, theirs.base_embedding_)
    np.testing.assert_allclose(np.abs(cosines / lengths[0] / lengths[1]), 1, atol=1e-3)


def test_any_learner_can_project() -> None:
    X, y = few()
    learner = NeighborhoodComponentsAnalysis(max_iter=20)
    assert small(subspace=learner, n_bits=14).fit(X, y).n_bits_ == 14  # more than classes - 1
    assert small(subspace=learner).fit(X, y).n_bits_ == 16  # n_components of the embedding
    again = small(subspace=learner, n_bits=14).fit(X, y)
    assert again.encode(X) == small(subspace=learner, n_bits=14).fit(X, y).encode(X)


def test_affine_learner_may_project_after_induction() -> None:
    # Alg. 2 projects the base embedding; projecting what is induced from it is the same.
    X, y = few()
    learner = NeighborhoodComponentsAnalysis(4, max_iter=20, random_state=0)
    settings: dict[str, Any] = {"rotation": None, "n_components": 12}
    projected = small(subspace=learner, n_bits=4, **settings).fit(X, y)
    whole = small(subspace=StandardScaler(with_std=False), n_bits=12, **settings).fit(X, y)
    np.testing.assert_array_equal(projected.base_set_, whole.base_set_)
    A, *_ = np.linalg.lstsq(whole.base_embedding_, projected.base_embedding_, rcond=None)
    np.testing.assert_allclose(whole.embed(X) @ A, projected.embed(X), atol=1e-3)


def test_model_is_saved_without_the_learner(tmp_path: Path) -> None:
    X, y = few()
    learner = NeighborhoodComponentsAnalysis(max_iter=5)
    hasher = small(subspace=learner, n_bits=6).fit(X, y)
    hasher.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.encode(X) == hasher.encode(X)
    assert again.model_digest == hasher.model_digest
    restored = again.get_params()["subspace"]
    assert restored.get_params() == learner.get_params()
    assert not hasattr(restored, "components_")
    assert b"pickle" not in (tmp_path / "model").read_bytes()


class OwnLearner(NeighborhoodComponentsAnalysis):
    """A learner that is not part of scikit-learn."""


def test_other_learners_are_not_restored_from_files(tmp_path: Path) -> None:
    X, y = few()
    hasher = small(subspace=OwnLearner(max_iter=5), n_bits=6).fit(X, y)
    with pytest.warns(UserWarning, match="OwnLearner"):
        hasher.save(tmp_path / "model")
    with pytest.warns(UserWarning, match="OwnLearner"):
        again = load(tmp_path / "model")
    assert again.encode(X) == hasher.encode(X)
    assert again.get_params()["subspace"] is None


def test_learner_that_cannot_be_stored_is_an_error(tmp_path: Path) -> None:
    X, y = few()
    learner = make_pipeline(StandardScaler(), NeighborhoodComponentsAnalysis(6, max_iter=5))
    hasher = small(subspace=learner).fit(X, y)
    codes = hasher.encode(X)
    with pytest.raises(ParameterError, match="None saves the model without it") as caught:
        hasher.save(tmp_path / "model")
    assert (caught.value.name, caught.value.owner) == ("subspace", "SupervisedIMH")
    hasher.set_params(subspace=None).save(tmp_path / "model")
    assert load(tmp_path / "model").encode(X) == codes


def test_samples_limit_the_labels() -> None:
    X, y = few()
    hasher = small(base=RandomBase(60), n_samples=90).fit(X, y)
    whole = small(base=RandomBase(60)).fit(X, y)
    assert len(hasher.base_set_) == 60
    assert not np.array_equal(hasher.base_set_, whole.base_set_)
    unlimited = small(base=RandomBase(60), n_samples=10**6).fit(X, y)
    np.testing.assert_array_equal(unlimited.base_set_, whole.base_set_)
    with pytest.raises(ParameterError) as caught:
        small(n_samples=1).fit(X, y)
    assert caught.value.name == "n_samples"


def test_settings_of_the_paper_are_reachable() -> None:
    X, y = few()
    paper = small(
        base=RandomBase(100), embedding=e.TSNE(perplexity=10, max_iter=60), rotation=None
    ).fit(X, y)
    # The base points are labeled samples, and every class has its share.
    rows = {tuple(np.round(row).tolist()) for row in X}
    assert all(tuple(row) in rows for row in np.round(paper.base_points_).tolist())
    np.testing.assert_array_equal(paper.base_embedding_, paper.bit_embedding_)


def test_part_of_a_dual_hasher_with_another_subspace_has_coarse_bits() -> None:
    X, y = few()
    learner = NeighborhoodComponentsAnalysis(max_iter=5)
    dual = DualHasher(24, coarse=small(subspace=learner), fine=LSH(), random_state=0).fit(X, y)
    assert (dual.n_coarse_bits_, dual.n_bits_) == (12, 24)


@pytest.mark.parametrize("learner", ["lda", 3])
def test_invalid_learner_raises(learner: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        small(subspace=learner).fit(*few())
    assert (caught.value.name, caught.value.owner) == ("subspace", "SupervisedIMH")
