"""Conditions on columns select the rows that numpy selects."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from tests.stores.table_data import CODES, COLUMNS, N_ROWS, TITLES, every_table

import bitfold as bf
from bitfold.errors import ParameterError, StoreError
from bitfold.stores.conditions import parse_conditions


def values(name: str) -> Any:
    return np.array(COLUMNS[name], object)


CONDITIONS: list[tuple[Any, Any]] = [
    ([("label", "=", 3)], values("label") == 3),
    ([("label", "==", np.int64(3))], values("label") == 3),
    ([("label", "!=", 3)], values("label") != 3),
    ([("price", "<", 0.5), ("label", ">=", 2)], (values("price") < 0.5) & (values("label") >= 2)),
    ([("label", "in", [1, 4])], np.isin(COLUMNS["label"], [1, 4])),
    ([("label", "not in", (1, 4))], ~np.isin(COLUMNS["label"], [1, 4])),
    ([("label", "in", [])], np.zeros(N_ROWS, bool)),
    ([("label", "not in", [])], np.ones(N_ROWS, bool)),
    ([("id", ">", 190)], np.arange(N_ROWS) > 190),
    ([("Größe in cm", "<=", 7)], values("Größe in cm") <= 7),
    ([("new", "=", True)], np.array([v is True for v in COLUMNS["new"]])),
    ([("new", "!=", True)], np.array([v is False for v in COLUMNS["new"]])),
    ([("on", ">", datetime(2026, 1, 20, tzinfo=UTC))],
     np.array([v.day > 20 for v in COLUMNS["on"]])),
    ([[("label", "=", 1)], [("label", "=", 2), ("price", ">", 0.3)]],
     (values("label") == 1) | ((values("label") == 2) & (values("price") > 0.3))),
    *[([("title", "=", title)], values("title") == title) for title in TITLES],
    ([("title", "in", TITLES[:5])], np.isin(COLUMNS["title"], TITLES[:5])),
    ([], np.ones(N_ROWS, bool)),
]  # fmt: skip


@every_table
def test_conditions_match_numpy(filled_store: Any) -> None:
    queries = CODES[:3]
    for where, selected in CONDITIONS:
        is_selected = np.asarray(selected, bool)
        index = bf.HammingIndex(32)
        index.add(CODES[is_selected], ids=np.flatnonzero(is_selected))
        hits, expected = filled_store.search(queries, 10, where=where), index.search(queries, 10)
        assert np.array_equal(hits.ids, expected.ids), where
        assert np.array_equal(hits.distances, expected.distances), where
        near, inside = filled_store.within(queries, 14, where=where), index.within(queries, 14)
        assert np.array_equal(near.offsets, inside.offsets), where
        assert np.array_equal(near.ids, inside.ids), where
        assert np.array_equal(near.distances, inside.distances), where


@every_table
def test_fewer_matching_rows_than_k(filled_store: Any) -> None:
    where = [("id", "in", [5, 7])]
    found = filled_store.search(CODES[:3], 10, where=where)
    assert found.ids.shape == (3, 2)
    approximate = filled_store.search(CODES[:3], 10, where=where, exact=False)
    assert np.array_equal(found.ids, approximate.ids)
    nothing = [("id", "=", 5000)]
    assert filled_store.search(CODES[:3], 10, where=nothing).ids.shape == (3, 0)
    rerank = bf.RerankByEmbedding(np.ones((3, 32)), n_candidates=50)
    found = filled_store.search(CODES[:3], 10, rerank=rerank, where=nothing)
    assert found.ids.shape == (3, 0)


@every_table
def test_approximate_search_with_conditions(filled_store: Any) -> None:
    filled_store.build_index()
    found = filled_store.search(CODES[:9], 5, where=[("label", "=", 2)], exact=False)
    assert (COLUMNS["label"][found.ids] == 2).all()


@every_table
def test_invalid_conditions_raise(filled_store: Any) -> None:
    cases: list[tuple[Any, str]] = [
        ("label = 3", "where of .* a list of conditions"),
        ([("label", 3)], r"conditions \(column, operator, value\)"),
        ([("label", "~", 3)], "operator in where of .* '=', '!='"),
        ([("nothing", "=", 3)], "column in where of .* 'id', 'label'"),
        ([('label" = 3 --', "=", 3)], "column in where"),
        ([("label", "=", None)], "value of 'label' in where .* got None"),
        ([("label", "in", 3)], "value of 'label' in where of .* a list, got 3"),
        ([("id", "=", 1 << 63)], "value of 'id' in where of .* 64 bits, got 92"),
        ([("id", "in", [np.uint64(2**63)])], "64 bits, got 92"),
        ([[], [("label", "=", 3)]], "where of .* empty lists"),
    ]
    for where, message in cases:
        with pytest.raises(ParameterError, match=message) as error:
            filled_store.search(CODES[:1], 1, where=where)
        assert "\n" not in str(error.value)


@every_table
def test_value_of_another_type_is_converted_or_raises(filled_store: Any) -> None:
    for where in ([("label", "=", "three")], [("title", "<", 3)], [("on", "=", "never")]):
        try:
            found = filled_store.search(CODES[:1], 1, where=where)
        except StoreError as error:
            assert "\n" not in str(error)
        else:
            assert found.ids.shape[0] == 1


@pytest.mark.parametrize("condition", [("title", "=", "a\ud800"), ("title", "in", ["a", "\udfff"])])
def test_lone_surrogates_are_parameter_errors(condition: Any) -> None:
    with pytest.raises(ParameterError, match="valid Unicode"):
        parse_conditions([condition], "LanceStore")
