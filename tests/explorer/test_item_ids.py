"""Ids as text: integers and strings, and the rows they belong to."""

from __future__ import annotations

import numpy as np
import pytest

from bitfold.explorer.item_ids import IntegerIds, parse_integer
from bitfold.explorer.workspace import Workspace


def test_integers_are_found_by_their_text() -> None:
    ids = IntegerIds(np.array([-5, 3, 1 << 60]))
    assert ids.names(np.array([2, 0])) == [str(1 << 60), "-5"]
    assert [ids.find(name) for name in ("-5", str(1 << 60), "4", "x", "", "9" * 19)] == [
        0, 2, None, None, None, None
    ]  # fmt: skip


@pytest.mark.parametrize(("text", "number"), [("17", 17), ("-1", -1), ("1e3", None), ("٣", None)])
def test_only_plain_digits_are_integers(text: str, number: int | None) -> None:
    assert parse_integer(text) == number


def test_strings_of_a_collection_skip_removed_items(workspace: Workspace) -> None:
    ids = workspace.items.table.ids
    assert ids.names(np.array([0, 5, 6])) == ["d/1", "d/6", "d/8"]
    assert [ids.find(name) for name in ("d/1", "d/8", "d/7", "d/0", "\0", "\ud800")] == [
        0, 6, None, None, None, None
    ]  # fmt: skip
