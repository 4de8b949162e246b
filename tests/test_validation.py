"""Input checks: what passes, and which error anything else raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

from bitfold import _validation as v
from bitfold.errors import DataError, ParameterError, ParameterTypeError

Call = Callable[[], Any]


def integer(value: Any, **limits: Any) -> int:
    return v.check_integer(value, "n", "T", **{"low": 1, **limits})


@pytest.mark.parametrize("value", [1, 5, np.int8(5), np.uint64(5)])
def test_integers_of_any_kind_become_ints(value: Any) -> None:
    assert integer(value, high=5) == value
    assert type(integer(value)) is int


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.5), np.int16(3), 1e-300])
def test_positive_numbers_become_floats(value: Any) -> None:
    assert v.check_positive(value, "s", "T") == value
    assert type(v.check_positive(value, "s", "T")) is float


def test_choice_may_be_compared_with_an_array() -> None:
    assert v.check_choice("itq", "r", "T", (None, "itq")) == "itq"
    assert v.check_choice(None, "r", "T", (None, "itq")) is None
    with pytest.raises(ValueError, match="must be one of"):
        # An array compared with == gives an array, which has no truth value.
        v.check_choice(np.zeros(2), "r", "T", (None, "itq"))


# Random state


def test_a_seed_gives_the_same_children_each_time() -> None:
    first, again, other = (v.spawn_generators(seed, 3) for seed in (5, 5, 6))
    draws = [[g.random() for g in children] for children in (first, again, other)]
    assert draws[0] == draws[1] != draws[2]
    assert len(set(draws[0])) == 3


def test_more_stages_do_not_change_earlier_ones() -> None:
    few, many = v.spawn_generators(5, 2), v.spawn_generators(5, 4)
    assert [g.random() for g in few] == [g.random() for g in many[:2]]


def test_spawning_does_not_advance_a_generator() -> None:
    rng = np.random.default_rng(0)
    children = v.spawn_generators(rng, 2)
    assert rng.random() == np.random.default_rng(0).random()
    assert children[0].random() != children[1].random()
    # Its next children are different: two fits with one generator differ.
    later = v.spawn_generators(rng, 1)[0]
    assert later.random() != v.spawn_generators(np.random.default_rng(0), 1)[0].random()


def test_without_a_seed_generators_differ() -> None:
    assert v.spawn_generators(None, 1)[0].random() != v.spawn_generators(None, 1)[0].random()


def test_generator_is_returned_or_made_from_a_seed() -> None:
    rng = np.random.default_rng(0)
    assert v.make_generator(rng) is rng
    same = v.make_generator(np.int64(3))  # type: ignore[arg-type]
    assert v.make_generator(3).random() == same.random()


# Matrices


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "u1", "i4", "i8", "?"])
def test_a_matrix_of_numbers_is_not_copied(dtype: str) -> None:
    X = np.ones((3, 2), dtype)
    assert v.check_matrix(X, "T") is X
    view = np.ones((6, 4), dtype)[::2, 1:]
    assert v.check_matrix(view, "T") is view


def test_memory_map_is_returned_unchanged(tmp_path: Any) -> None:
    X = np.memmap(tmp_path / "x", np.float32, "w+", shape=(3, 2))
    assert v.check_matrix(X, "T") is X


def test_lists_and_objects_become_floats() -> None:
    np.testing.assert_array_equal(v.check_matrix([[1, 2], [3, 4]], "T"), [[1, 2], [3, 4]])
    objects = np.array([[1, 2.5]], object)
    assert v.check_matrix(objects, "T").dtype == np.float64


def test_data_frame_becomes_its_values() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": [1.0, 2.0], "b": [3, 4]})
    np.testing.assert_array_equal(v.check_matrix(table, "T"), [[1, 3], [2, 4]])


@pytest.mark.parametrize("kind", [csr_array, csr_matrix])
def test_sparse_matrix_error_names_toarray(kind: Any) -> None:
    with pytest.raises(TypeError) as caught:
        v.check_matrix(kind(np.eye(2)), "T")
    assert "X.toarray()" in str(caught.value)


def test_finite_values_and_integers_pass() -> None:
    v.check_finite(np.array([[1e37, -1e37]]), "T")
    v.check_finite(np.array([[2**62]]), "T")
    v.check_finite(np.array([[True]]), "T")
    v.check_finite(np.empty((0, 2)), "T")


def test_measurable_distances_do_not_overflow() -> None:
    for d in (1, 10, 1000):
        limit = np.float32(np.sqrt(np.finfo(np.float32).max / d) / 4)
        block = np.array([[limit], [-limit]], np.float32).repeat(d, axis=1) * np.float32(0.999)
        v.check_distances_fit(block, "T")
        x, y = block
        assert np.isfinite(x @ x - 2 * (x @ y) + y @ y)


@pytest.mark.parametrize(
    ("call", "name", "value"),
    [
        (lambda: v.raise_invalid("a", "T", "c", 1), "a", 1),
        (lambda: integer(0), "n", 0),
        (lambda: integer(np.int8(-7)), "n", -7),
        (lambda: integer(6, high=5), "n", 6),
        (lambda: v.check_positive(0, "s", "T"), "s", 0),
        (lambda: v.check_positive(-1.5, "s", "T"), "s", -1.5),
        (lambda: v.check_positive(float("inf"), "s", "T"), "s", float("inf")),
        (lambda: v.check_bandwidth(1e200, "s", "T"), "s", 1e200),
        (lambda: v.check_choice("pca", "r", "T", (None, "itq")), "r", "'pca'"),
    ],
)
def test_invalid_parameters_are_named(call: Call, name: str, value: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        call()
    assert (caught.value.name, caught.value.owner) == (name, "T")
    assert value in (None, caught.value.value)
    assert str(caught.value) == (
        f"{name} of T must be {caught.value.requirement}, got {caught.value.value}."
    )


def test_the_limit_of_an_integer_is_explained() -> None:
    with pytest.raises(ParameterError, match=r"at most d = 5, got 6\.$"):
        integer(6, high=5, why="d = 5")


def test_nan_is_not_positive() -> None:
    with pytest.raises(ParameterError, match="got nan"):
        v.check_positive(float("nan"), "s", "T")


def test_a_negative_seed_is_invalid() -> None:
    with pytest.raises(ParameterError) as caught:
        v.spawn_generators(-1, 1)
    assert (caught.value.name, caught.value.value) == ("random_state", -1)


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: v.check_matrix([1.0, 2.0], "T"), ["X of T", "(2,)", "X.reshape(1, -1)"]),
        (lambda: v.check_matrix(np.zeros((1, 2, 3)), "T", name="B"), ["B of T", "(1, 2, 3)"]),
        (lambda: v.check_matrix([["a", "b"]], "T"), ["X of T", "<U1"]),
        (lambda: v.check_matrix(np.array([["a", 1]], object), "T"), ["X of T", "'a'"]),
        (
            lambda: v.check_matrix(np.array([[1j]]), "T"),
            ["Complex data not supported", "complex128"],
        ),
        (lambda: v.check_matrix(np.zeros((3, 0)), "T"), ["0 feature(s)", "minimum of 1"]),
        (
            lambda: v.check_matrix(np.zeros((1, 3)), "T", min_rows=2),
            ["1 sample(s)", "minimum of 2"],
        ),
        (lambda: v.check_finite(np.array([[0.0], [np.nan]]), "T", first_row=10), ["NaN", "row 11"]),
        (lambda: v.check_finite(np.array([[0.0, -np.inf]]), "T", name="B"), ["B of T", "row 0"]),
        (lambda: v.check_finite(np.array([[1e300]]), "T"), ["too large for float32", "row 0"]),
        (
            lambda: v.check_distances_fit(np.array([[0.0, 0], [0, -1e30]]), "T", first_row=5),
            ["3.3e+18", "-1e+30", "row 6"],
        ),
    ],
)
def test_unusable_data_are_described(call: Call, parts: list[str]) -> None:
    with pytest.raises(DataError) as caught:
        call()
    assert [part for part in parts if part not in str(caught.value)] == []


@pytest.mark.parametrize(
    ("call", "name", "value"),
    [
        (lambda: integer(1.0), "n", "1.0"),
        (lambda: integer(True), "n", "True"),
        (lambda: integer("1"), "n", "'1'"),
        (lambda: integer(None), "n", "None"),
        (lambda: v.check_positive("1", "s", "T"), "s", "'1'"),
        (lambda: v.check_positive(True, "s", "T"), "s", "True"),
        (lambda: v.check_positive(1j, "s", "T"), "s", "1j"),
        (lambda: v.spawn_generators(0.5, 1), "random_state", "0.5"),  # type: ignore[arg-type]
    ],
)
def test_wrong_types_are_type_errors(call: Call, name: str, value: str) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    assert isinstance(caught.value, ParameterTypeError)
    assert (caught.value.name, caught.value.value) == (name, value)


def test_objects_of_a_wrong_type_are_type_errors() -> None:
    with pytest.raises(TypeError, match=r"X of T must be numbers, got .*dict"):
        v.check_matrix(np.array([[{}, 1]], object), "T")


class Shape:
    """A kind of strategy."""


class Circle(Shape):
    def __init__(self, radius: int = 1) -> None:
        self.radius = radius


def test_a_strategy_is_an_object_a_name_or_the_default() -> None:
    classes: dict[str, type[Shape]] = {"circle": Circle}
    given = Circle(3)

    def check(value: object) -> Shape:
        return v.check_strategy(value, "shape", "T", classes, Shape, radius=4)

    assert check(given) is given
    for value in ("circle", None):
        made = check(value)
        assert isinstance(made, Circle)
        assert made.radius == 4
    with pytest.raises(ParameterError, match="'circle', or an object of Shape") as caught:
        check("square")
    assert (caught.value.name, caught.value.owner) == ("shape", "T")


def test_a_code_length_is_at_most_the_limit() -> None:
    assert v.check_n_bits(None, "T", 100, "limit = 100") == 64
    assert v.check_n_bits(None, "T", 10, "limit = 10") == 10
    assert v.check_n_bits(None, "T", 1000, "limit = 1000", default=256) == 256
    assert v.check_n_bits(7, "T", 10, "limit = 10") == 7
    for value in (0, 11):
        with pytest.raises(ParameterError) as caught:
            v.check_n_bits(value, "T", 10, "limit = 10")
        assert (caught.value.name, caught.value.owner) == ("n_bits", "T")
