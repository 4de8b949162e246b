"""The user's columns, and conditions on them: the same in LanceDB and in Postgres."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.stores.conftest import Make

import bitfold as bf
from bitfold.search import Hits, RadiusHits
from bitfold.stores import LanceStore, PgvectorStore, RerankByStoredVectors

RNG = np.random.default_rng(0)
N = 200
CODES = bf.Codes(RNG.integers(0, 256, (N, 4), np.uint8), 32)
TYPES: dict[str, type] = {
    "label": int,
    "price": float,
    "title": str,
    "new": bool,
    "Größe in cm": float,
    "on": datetime,
}
TITLES = ["plain", "it's", 'a "quote"', "100 %", "'; DROP TABLE t; --", "日本", ""]
COLUMNS: dict[str, Any] = {
    "label": RNG.integers(0, 5, N),
    "price": RNG.random(N),
    "title": [TITLES[i % len(TITLES)] for i in range(N)],
    "new": [None if i % 10 == 0 else bool(i % 2) for i in range(N)],
    "Größe in cm": np.arange(N) / 2,
    "on": [datetime(2026, 1, 1 + i % 28, tzinfo=UTC) for i in range(N)],
}

every_database = pytest.mark.parametrize("kind", ["lance", "postgres"])


@pytest.fixture
def filled(request: pytest.FixtureRequest, kind: str, make: Make) -> Any:
    store = make(kind, 32, columns=TYPES)
    store.add(CODES, columns=COLUMNS)
    return store


def values(name: str) -> Any:
    return np.array(COLUMNS[name], object)


CONDITIONS: list[tuple[Any, Any]] = [
    ([("label", "=", 3)], values("label") == 3),
    ([("label", "==", np.int64(3))], values("label") == 3),
    ([("label", "!=", 3)], values("label") != 3),
    ([("price", "<", 0.5), ("label", ">=", 2)], (values("price") < 0.5) & (values("label") >= 2)),
    ([("label", "in", [1, 4])], np.isin(COLUMNS["label"], [1, 4])),
    ([("label", "not in", (1, 4))], ~np.isin(COLUMNS["label"], [1, 4])),
    ([("label", "in", [])], np.zeros(N, bool)),
    ([("label", "not in", [])], np.ones(N, bool)),
    ([("id", ">", 190)], np.arange(N) > 190),
    ([("Größe in cm", "<=", 7)], values("Größe in cm") <= 7),
    ([("new", "=", True)], np.array([v is True for v in COLUMNS["new"]])),
    ([("new", "!=", True)], np.array([v is False for v in COLUMNS["new"]])),
    ([("on", ">", datetime(2026, 1, 20, tzinfo=UTC))],
     np.array([v.day > 20 for v in COLUMNS["on"]])),
    ([[("label", "=", 1)], [("label", "=", 2), ("price", ">", 0.3)]],
     (values("label") == 1) | ((values("label") == 2) & (values("price") > 0.3))),
    *[([("title", "=", title)], values("title") == title) for title in TITLES],
    ([("title", "in", TITLES[:5])], np.isin(COLUMNS["title"], TITLES[:5])),
    ([], np.ones(N, bool)),
]  # fmt: skip


@every_database
def test_conditions_are_those_of_numpy(filled: Any) -> None:
    queries = CODES[:3]
    for where, kept in CONDITIONS:
        kept = np.asarray(kept, bool)
        index = bf.HammingIndex(32)
        index.add(CODES[kept], ids=np.flatnonzero(kept))
        near = index.within(queries, 14)
        found: RadiusHits = filled.within(queries, 14, where=where)
        assert np.array_equal(found.offsets, near.offsets), where
        assert np.array_equal(found.ids, near.ids), where
        assert np.array_equal(found.distances, near.distances), where
        if kept.any():
            k = min(10, int(kept.sum()))
            expected = index.search(queries, k)
            hits = filled.search(queries, k if not where else 10, where=where)
            assert np.array_equal(hits.ids, expected.ids), where
            assert np.array_equal(hits.distances, expected.distances), where


@every_database
def test_fewer_rows_than_asked_for_give_fewer_columns(filled: Any) -> None:
    found = filled.search(CODES[:3], 10, where=[("id", "in", [5, 7])])
    assert found.ids.shape == (3, 2)
    quick = filled.search(CODES[:3], 10, where=[("id", "in", [5, 7])], exact=False)
    assert np.array_equal(found.ids, quick.ids)
    nothing = filled.search(CODES[:3], 10, where=[("id", "=", 5000)])
    assert nothing.ids.shape == (3, 0)
    finer = bf.RerankByEmbedding(np.ones((3, 32)), n_candidates=50)
    none: Hits = filled.search(CODES[:3], 10, rerank=finer, where=[("id", "=", 5000)])
    assert none.ids.shape == (3, 0)


@every_database
def test_conditions_the_index_and_the_originals_in_one_call(kind: str, make: Make) -> None:
    rng = np.random.default_rng(1)
    X, Q = (rng.standard_normal((n, 7)).astype(np.float32) for n in (N, 9))
    store = make(kind, 32, n_features=7, columns=TYPES)
    store.add(CODES, vectors=X, columns=COLUMNS)
    store.build_index()
    kept = np.flatnonzero(COLUMNS["label"] == 2)
    exact = np.linalg.norm(X[kept] - Q[:, None], axis=2)
    nearest = np.argsort(exact, axis=1)[:, :5]
    for exactly in (True, False):
        # As many candidates as there are rows: what remains is the originals' own order.
        found = store.search(
            CODES[:9],
            5,
            rerank=RerankByStoredVectors(Q, n_candidates=N),
            where=[("label", "=", 2)],
            exact=exactly,
        )
        assert np.array_equal(found.ids, kept[nearest])
        assert np.allclose(found.distances, np.take_along_axis(exact, nearest, 1))


@every_database
def test_the_index_looks_as_far_as_it_is_told(kind: str, make: Make) -> None:
    rng = np.random.default_rng(0)
    codes = bf.Codes(rng.integers(0, 256, (2000, 8), np.uint8), 64)
    queries = bf.Codes(rng.integers(0, 256, (30, 8), np.uint8), 64)
    store = make(kind, 64)
    store.add(codes)
    store.build_index()
    knob, low, most = {"lance": ("n_probes", 1, 44), "postgres": ("ef_search", 1, 1000)}[kind]
    truth, recalls = store.search(queries, 10).distances, []
    for value in (low, most):
        setattr(store, knob, value)
        recalls.append(np.mean(store.search(queries, 10, exact=False).distances == truth))
    assert recalls[0] < recalls[1]
    assert recalls[1] > 0.95
    setattr(store, knob, 0)
    with pytest.raises(ValueError, match=f"^{knob} of .* must be at least 1, got 0.$"):
        store.search(queries, 10, exact=False)


class Meddling:
    """Re-ranks while someone else deletes the candidates."""

    n_candidates = 5

    def __init__(self, other: Any) -> None:
        self.other = other

    def measure(self, ids: Any, codes_of: Any) -> Any:
        self.other.delete(ids[0])
        codes_of(ids.ravel())
        return np.zeros(ids.shape, np.float32)


@every_database
def test_candidates_do_not_vanish_before_they_are_measured(
    kind: str, filled: Any, request: pytest.FixtureRequest
) -> None:
    if kind == "postgres":
        other: Any = PgvectorStore.open(request.getfixturevalue("server"), filled._table.name)
    else:
        other = LanceStore.open(Path(filled._table.engine.uri).parent, filled._table.engine.name)
    with other:
        found = filled.search(CODES[:1], 5, rerank=Meddling(other))
    assert found.ids.shape == (1, 5)
    assert filled.count() == N - 5
    filled.add(CODES[:1])  # the store is back at the newest version
    assert filled.count() == N - 4


@every_database
def test_an_index_with_conditions(filled: Any) -> None:
    filled.build_index()
    found = filled.search(CODES[:9], 5, where=[("label", "=", 2)], exact=False)
    assert (COLUMNS["label"][found.ids] == 2).all()


@every_database
def test_columns_come_back_as_they_were(filled: Any) -> None:
    asked = [150, 3, 20]
    found = filled.columns(asked)
    assert found.keys() == TYPES.keys()
    for name, listed in found.items():
        assert listed == [np.array(COLUMNS[name], object)[i] for i in asked]


@every_database
def test_columns_left_out_are_missing(kind: str, make: Make) -> None:
    store = make(kind, 32, columns={"label": int, "title": str})
    store.add(CODES[:2], columns={"label": [1, None]})
    assert store.columns([0, 1]) == {"label": [1, None], "title": [None, None]}
    assert store.search(CODES[:1], 2, where=[("label", "!=", 5)]).ids.tolist() == [[0]]


@every_database
def test_refusals(kind: str, make: Make, filled: Any) -> None:
    wrong: list[tuple[Any, str]] = [
        ("label = 3", "must be a list of conditions"),
        ([("label", 3)], r"must be conditions \(column, operator, value\)"),
        ([("label", "~", 3)], "the operator in where of .* must be one of '=', '!='"),
        ([("nothing", "=", 3)], "a column in where of .* must be one of 'id', 'label'"),
        ([('label" = 3 --', "=", 3)], "a column in where of .* must be one of"),
        ([("label", "=", None)], "must be a number, a text, a truth value or a time, got None"),
        ([("label", "in", 3)], "the value of 'label' in where of .* must be a list, got 3"),
        (
            [("id", "=", 1 << 63)],
            "'id' in where of .* must be an integer of at most 64 bits, got 92",
        ),
        ([("id", "in", [np.uint64(2**63)])], "must be an integer of at most 64 bits, got 92"),
        ([[], [("label", "=", 3)]], "must be lists with conditions in them"),
    ]
    for where, sentence in wrong:
        with pytest.raises(ValueError, match=sentence) as error:
            filled.search(CODES[:1], 1, where=where)
        assert "\n" not in str(error.value)
    added: list[tuple[dict[str, Any], str]] = [
        ({"label": [1, 2]}, "column 'label' of .* one value for each of the 1 codes, got 2"),
        ({"label": ["x"]}, "column 'label' of .* must be of type int, got 'x'"),
        ({"label": [1.5]}, "must be of type int, got 1.5"),
        ({"label": [True]}, "must be of type int, got True"),
        ({"label": [1 << 63]}, "must be integers of at most 64 bits"),
        ({"title": ["a\0b"]}, "must be text without NUL or lone surrogates"),
        ({"title": ["\ud800"]}, "must be text without NUL or lone surrogates"),
        ({"on": [datetime(2026, 1, 1)]}, "must be times with a time zone"),
        ({"nothing": [1]}, "columns of .* must be among 'label', .* got 'nothing'"),
    ]
    for columns, sentence in added:
        with pytest.raises(ValueError, match=sentence):
            filled.add(CODES[:1], columns=columns)
    assert filled.count() == N
    named: list[tuple[dict[str, Any], str]] = [
        ({"x": list}, "column 'x' of .* must be one of the types bool, int, float, str, datetime"),
        ({"code": int}, "a column's name of .* must be printable text"),
        ({"_rowid": int}, "a column's name of .* must be printable text"),
        ({"a.b": int}, "must be printable text of at most 63 bytes without a dot or %"),
        ({"é" * 32: int}, "must be printable text of at most 63 bytes"),
        ({"": int}, "must be printable text"),
        ({"%s": int}, "must be printable text of at most 63 bytes without a dot or %"),
    ]
    for types, sentence in named:
        with pytest.raises(ValueError, match=sentence):
            make(kind, 32, columns=types)


@every_database
def test_a_value_of_another_type_is_one_sentence(filled: Any) -> None:
    """Whether the engine converts or refuses; never a trace of its insides."""
    for where in ([("label", "=", "three")], [("title", "<", 3)], [("on", "=", "never")]):
        try:
            found = filled.search(CODES[:1], 1, where=where)
        except Exception as error:
            assert "\n" not in str(error)
            assert "cannot be used" in str(error)
        else:
            assert found.ids.shape[0] == 1
