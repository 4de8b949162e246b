"""Selections: polygons, filters, composition and files."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitfold.errors import ParameterError
from bitfold.explorer.selection import (
    SelectionRequest,
    compose,
    export_rows,
    inside_polygon,
    select_rows,
)
from bitfold.explorer.workspace import Workspace

POINTS = np.random.default_rng(0).integers(0, 65536, (500, 2)).astype(np.uint16)
UNIT = st.floats(0, 1, allow_nan=False)


@given(UNIT, UNIT, UNIT, UNIT)
def test_a_rectangle_contains_the_points_between_its_sides(
    a: float, b: float, c: float, d: float
) -> None:
    (left, right), (low, high) = sorted((a, b)), sorted((c, d))
    corners = np.array([[left, low], [right, low], [right, high], [left, high]])
    x, y = (POINTS / 65535).T
    between = (x >= left) & (x < right) & (y >= low) & (y < high)
    np.testing.assert_array_equal(inside_polygon(POINTS, corners), between)


def test_a_hole_is_outside() -> None:
    star = np.array([[0.5, 1], [0.2, 0], [1, 0.6], [0, 0.6], [0.8, 0]])
    middle = np.array([[32767, 29000]], np.uint16)
    assert not inside_polygon(middle, star)[0]
    assert inside_polygon(np.array([[32767, 60000]], np.uint16), star)[0]


def test_all_conditions_must_hold(workspace: Workspace) -> None:
    items, points = workspace.items, workspace.views[0].map.points
    request = SelectionRequest(
        polygon=[(0, 0), (0.5, 0), (0.5, 1), (0, 1)], points=list(range(300)), where="odd"
    )
    rows = select_rows(request, items, points, workspace.filter(request.where, None))
    odd = items.table.column("odd")
    wanted = [r for r in range(598) if points[r, 0] < 32767.5 and items.points[r] < 300 and odd[r]]
    assert rows.tolist() == wanted
    for bad in ({"points": [598]}, {"polygon": [(0, 0), (1e9, 0), (0, 1)]}):
        with pytest.raises(ParameterError):
            select_rows(SelectionRequest.model_validate(bad), items, points, None)


def test_composition_counts_the_values(workspace: Workspace) -> None:
    rows = np.arange(200)
    described = {each.name: each for each in compose(workspace.items, workspace.columns, rows)}
    digits = workspace.items.table.column("digit")
    shares = described["digit"].categories
    assert shares is not None
    assert {each.value: each.count for each in shares} == {
        value: digits[:200].count(value) for value in set(digits[:200])
    }
    assert described["digit"].n_categories == len(set(digits[:200]))
    titles = described["title"]
    assert titles.categories is not None and titles.n_categories >= len(titles.categories)
    assert shares[0].share == shares[0].count / 200
    assert shares[0].share_all == digits.count(shares[0].value) / 598
    histogram = described["year"].histogram
    assert histogram is not None and sum(histogram.counts) == 196
    assert described["when"].type == "time"


def test_files_have_every_item(workspace: Workspace) -> None:
    rows = np.array([0, 5, 590])
    text = "".join(export_rows(workspace.items, rows, "csv"))
    records = list(csv.DictReader(io.StringIO(text)))
    assert [record["id"] for record in records] == ["d/1", "d/6", "d/592"]
    assert records[1]["title"] == "A picture of a six, 100% real"
    lines = "".join(export_rows(workspace.items, rows, "jsonl")).splitlines()
    assert json.loads(lines[0])["when"] == "2024-01-02T00:00:00+00:00"
    assert "".join(export_rows(workspace.items, rows, "ids")) == "d/1\nd/6\nd/592\n"
