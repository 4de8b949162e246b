"""Input checks: what passes, and the one sentence for what does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

from bitfold import _validation

Call = Callable[[], Any]


def integer(value: Any, **limits: Any) -> int:
    return _validation.check_integer(value, "n", "T", **{"low": 1, **limits})


@pytest.mark.parametrize("value", [1, 5, np.int8(5), np.uint64(5)])
def test_integers_of_any_kind_become_ints(value: Any) -> None:
    assert integer(value, high=5) == value
    assert type(integer(value)) is int


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.5), np.int16(3), 1e-300])
def test_positive_numbers_become_floats(value: Any) -> None:
    assert _validation.check_positive(value, "s", "T") == value
    assert type(_validation.check_positive(value, "s", "T")) is float


def test_one_of_compares_without_being_misled() -> None:
    assert _validation.check_choice("itq", "r", "T", (None, "itq")) == "itq"
    assert _validation.check_choice(None, "r", "T", (None, "itq")) is None
    with pytest.raises(ValueError, match="must be one of"):
        # Compared with == an array answers with an array, which has no truth value.
        _validation.check_choice(np.zeros(2), "r", "T", (None, "itq"))


# Random state


def test_a_seed_gives_the_same_children_each_time() -> None:
    first, again, other = (_validation.spawn_generators(seed, 3) for seed in (5, 5, 6))
    draws = [[g.random() for g in children] for children in (first, again, other)]
    assert draws[0] == draws[1] != draws[2]
    assert len(set(draws[0])) == 3


def test_more_stages_do_not_move_the_earlier_ones() -> None:
    few, many = _validation.spawn_generators(5, 2), _validation.spawn_generators(5, 4)
    assert [g.random() for g in few] == [g.random() for g in many[:2]]


def test_a_generator_spawns_without_losing_its_place() -> None:
    rng = np.random.default_rng(0)
    children = _validation.spawn_generators(rng, 2)
    assert rng.random() == np.random.default_rng(0).random()
    assert children[0].random() != children[1].random()
    # Asked again, it has other children: two fits with one generator differ.
    later = _validation.spawn_generators(rng, 1)[0]
    assert later.random() != _validation.spawn_generators(np.random.default_rng(0), 1)[0].random()


def test_no_seed_is_a_new_one_each_time() -> None:
    assert (
        _validation.spawn_generators(None, 1)[0].random()
        != _validation.spawn_generators(None, 1)[0].random()
    )


def test_generator_is_itself_or_from_a_seed() -> None:
    rng = np.random.default_rng(0)
    assert _validation.make_generator(rng) is rng
    same = _validation.make_generator(np.int64(3))  # type: ignore[arg-type]
    assert _validation.make_generator(3).random() == same.random()


# Matrices


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "u1", "i4", "i8", "?"])
def test_a_matrix_of_numbers_is_not_copied(dtype: str) -> None:
    X = np.ones((3, 2), dtype)
    assert _validation.check_matrix(X, "T") is X
    view = np.ones((6, 4), dtype)[::2, 1:]
    assert _validation.check_matrix(view, "T") is view


def test_a_memory_map_stays_one(tmp_path: Any) -> None:
    X = np.memmap(tmp_path / "x", np.float32, "w+", shape=(3, 2))
    assert _validation.check_matrix(X, "T") is X


def test_lists_and_objects_become_floats() -> None:
    np.testing.assert_array_equal(_validation.check_matrix([[1, 2], [3, 4]], "T"), [[1, 2], [3, 4]])
    objects = np.array([[1, 2.5]], object)
    assert _validation.check_matrix(objects, "T").dtype == np.float64


def test_a_table_becomes_its_values() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": [1.0, 2.0], "b": [3, 4]})
    np.testing.assert_array_equal(_validation.check_matrix(table, "T"), [[1, 3], [2, 4]])


@pytest.mark.parametrize("kind", [csr_array, csr_matrix])
def test_sparse_matrices_are_refused_with_the_remedy(kind: Any) -> None:
    with pytest.raises(TypeError) as caught:
        _validation.check_matrix(kind(np.eye(2)), "T")
    assert str(caught.value) == "X of T must be dense, got a sparse matrix; use X.toarray()."


def test_finite_passes_what_fits_and_whole_numbers_unseen() -> None:
    _validation.check_finite(np.array([[1e37, -1e37]]), "T")
    _validation.check_finite(np.array([[2**62]]), "T")
    _validation.check_finite(np.array([[True]]), "T")
    _validation.check_finite(np.empty((0, 2)), "T")


def test_measurable_distances_do_not_overflow() -> None:
    for d in (1, 10, 1000):
        limit = np.float32(np.sqrt(np.finfo(np.float32).max / d) / 4)
        block = np.array([[limit], [-limit]], np.float32).repeat(d, axis=1) * np.float32(0.999)
        _validation.check_distances_fit(block, "T")
        x, y = block
        assert np.isfinite(x @ x - 2 * (x @ y) + y @ y)


@pytest.mark.parametrize(
    "y",
    [
        [0, 1, -1],
        ["a", "b", "a"],
        [0.0, 1.0, -1.0],
        [True, False, True],
        np.array([[0], [1], [2]]),
        np.array(["a", "b", -1], object),
        np.array(["2020-01-01", "2020-01-02", "2020-01-01"], "datetime64[D]"),
    ],
    ids=str,
)
def test_labels_are_one_per_row(y: Any) -> None:
    got = _validation.check_labels(y, 3, "T")
    assert got.shape == (3,)
    assert got.tolist() == np.asarray(y).ravel().tolist()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: _validation.raise_invalid("a", "B", "c", 1), "a of B must be c, got 1."),
        (lambda: integer(0), "n of T must be at least 1, got 0."),
        (lambda: integer(np.int8(-7)), "n of T must be at least 1, got -7."),
        (lambda: integer(6, high=5), "n of T must be at most 5, got 6."),
        (lambda: integer(6, high=5, why="d = 5"), "n of T must be at most d = 5, got 6."),
        (
            lambda: _validation.check_positive(0, "s", "T"),
            "s of T must be a finite number above 0, got 0.",
        ),
        (
            lambda: _validation.check_positive(-1.5, "s", "T"),
            "s of T must be a finite number above 0, got -1.5.",
        ),
        (
            lambda: _validation.check_positive(float("nan"), "s", "T"),
            "s of T must be a finite number above 0, got nan.",
        ),
        (
            lambda: _validation.check_positive(float("inf"), "s", "T"),
            "s of T must be a finite number above 0, got inf.",
        ),
        (
            lambda: _validation.check_choice("pca", "r", "T", (None, "itq")),
            "r of T must be one of None, 'itq', got 'pca'.",
        ),
        (
            lambda: _validation.spawn_generators(-1, 1),
            "random_state of the estimator must be at least 0, got -1.",
        ),
        (
            lambda: _validation.check_matrix([1.0, 2.0], "T"),
            "X of T must be 2-dimensional (rows, features), got shape (2,). "
            "Reshape your data with X.reshape(1, -1) if it is one row.",
        ),
        (
            lambda: _validation.check_matrix(np.zeros((1, 2, 3)), "T", name="B"),
            "B of T must be 2-dimensional (rows, features), got shape (1, 2, 3). "
            "Reshape your data with B.reshape(1, -1) if it is one row.",
        ),
        (
            lambda: _validation.check_matrix([["a", "b"]], "T"),
            "X of T must hold numbers, got dtype <U1.",
        ),
        (
            lambda: _validation.check_matrix(np.array([["a", 1]], object), "T"),
            "X of T must hold numbers, got could not convert string to float: 'a'.",
        ),
        (
            lambda: _validation.check_matrix(np.array([[1j]]), "T"),
            "Complex data not supported: X of T must be real, got dtype complex128.",
        ),
        (
            lambda: _validation.check_matrix(np.zeros((3, 0)), "T"),
            "X of T has 0 feature(s) (shape=(3, 0)) while a minimum of 1 is required.",
        ),
        (
            lambda: _validation.check_matrix(np.zeros((1, 3)), "T", min_rows=2),
            "X of T has 1 sample(s) (shape=(1, 3)) while a minimum of 2 is required.",
        ),
        (
            lambda: _validation.check_finite(np.array([[0.0], [np.nan]]), "T", first_row=10),
            "X of T must be finite, got NaN in row 11.",
        ),
        (
            lambda: _validation.check_finite(np.array([[0.0, -np.inf]]), "T", name="B"),
            "B of T must be finite, got infinity or a value too large for float32 in row 0.",
        ),
        (
            lambda: _validation.check_finite(np.array([[1e300]]), "T"),
            "X of T must be finite, got infinity or a value too large for float32 in row 0.",
        ),
        (
            lambda: _validation.check_distances_fit(
                np.array([[0.0, 0.0], [0.0, -1e30]]), "T", first_row=5
            ),
            "X of T must be within ±3.3e+18, for distances to fit float32, got -1e+30 in row 6.",
        ),
        (
            lambda: _validation.check_labels(None, 3, "T"),
            "y of T must be an array of 3 labels, got None "
            "(requires y to be passed, but the target y is None).",
        ),
        (
            lambda: _validation.check_labels([0, 1], 3, "T"),
            "y of T must be one label for each of the 3 rows of X, got shape (2,).",
        ),
        (
            lambda: _validation.check_labels(np.zeros((3, 2)), 3, "T"),
            "y of T must be one label for each of the 3 rows of X, got shape (3, 2).",
        ),
        (
            lambda: _validation.check_labels([0, np.nan, 1], 3, "T"),
            "y of T must be finite, got NaN or infinity.",
        ),
        (
            lambda: _validation.check_labels([0, 0.5, 1], 3, "T"),
            "Unknown label type: y of T must be class labels, got reals.",
        ),
        (
            lambda: _validation.check_labels(np.array(["a", None, "b"], object), 3, "T"),
            "y of T must be labels that can be compared, got missing or mixed ones.",
        ),
        (
            lambda: _validation.check_labels(np.array(["a", 2, "b"], object), 3, "T"),
            "y of T must be labels that can be compared, got missing or mixed ones.",
        ),
    ],
)
def test_error_sentences(call: Call, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        call()
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: integer(1.0), "n of T must be an integer, got 1.0."),
        (lambda: integer(True), "n of T must be an integer, got True."),
        (lambda: integer("1"), "n of T must be an integer, got '1'."),
        (lambda: integer(None), "n of T must be an integer, got None."),
        (lambda: _validation.check_positive("1", "s", "T"), "s of T must be a number, got '1'."),
        (lambda: _validation.check_positive(True, "s", "T"), "s of T must be a number, got True."),
        (lambda: _validation.check_positive(1j, "s", "T"), "s of T must be a number, got 1j."),
        (
            lambda: _validation.spawn_generators(0.5, 1),  # type: ignore[arg-type]
            "random_state of the estimator must be an integer, got 0.5.",
        ),
    ],
)
def test_type_errors(call: Call, sentence: str) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == sentence


def test_objects_of_a_wrong_type_stay_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"^X of T must hold numbers, got .*dict.*\.$"):
        _validation.check_matrix(np.array([[{}, 1]], object), "T")
