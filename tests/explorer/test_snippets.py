"""Python code to copy runs, and finds what the page shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.explorer.conftest import shown

from bitfold.explorer.opening import ItemSources, open_models
from bitfold.explorer.snippets import SnippetRequest, write_snippet
from bitfold.explorer.workspace import Workspace


def run(workspace: Workspace, key: str | None, **options: Any) -> dict[str, Any]:
    query = None if key is None else workspace.query(key)
    view = options.pop("view", "search")
    code = write_snippet(workspace.views[0].model, query, SnippetRequest(view, **options))
    names: dict[str, Any] = {}
    exec(code, names)  # the code that users copy
    return names


@pytest.mark.parametrize("key", ["item:d/9", "base:0:3"])
@pytest.mark.parametrize("options", [
    {}, {"rank": "hamming"}, {"coarse_weight": 5.0}, {"coarse_weight": 5.0, "rank": "hamming"},
    {"where": "year > 2000"}, {"find": "SEVEN"}, {"where": "odd", "find": "seven"},
])  # fmt: skip
def test_a_search_in_a_collection_finds_what_the_page_shows(
    workspace: Workspace, key: str, options: dict[str, Any]
) -> None:
    names = run(workspace, key, k=5, text_columns=("digit", "title"), **options)
    found = names["c"].ids()[names["hits"].ids[0]].tolist()
    view = workspace.views[0]
    rank, weight = options.get("rank"), options.get("coarse_weight")
    query = workspace.code_query(workspace.query(key), view, rank, weight)
    among = workspace.filter(options.get("where"), options.get("find"))
    groups = view.search.find(query, 5, 5, among)
    rows = np.concatenate([group.rows for group in groups])
    wanted = workspace.items.table.ids.names(rows)
    others = [each for each in found if f"item:{each}" != key]
    if len({group.bucket for group in groups}) == 5 and rank is None:  # no ties
        assert others[:5] == wanted
    assert len(others) >= 5
    if among is not None:
        assert set(found) <= set(workspace.items.table.ids.names(among))


def test_a_selection_is_read_from_the_exported_ids(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("selection.txt").write_text("d/9\nd/12\n", encoding="utf-8")
    names = run(workspace, "item:d/9", view="selection")
    assert names["ids"].tolist() == ["d/9", "d/12"] and len(names["codes"]) == 2
    assert len(names["metadata"]["digit"]) == 2


def test_groups_and_codes(workspace: Workspace) -> None:
    groups = run(workspace, None, view="duplicates", radius=2)["groups"]
    wanted = workspace.views[0].duplicates.find(2)
    assert sorted(groups.sizes) == sorted(np.diff(wanted.offsets))
    assert len(run(workspace, None, view="map")["ids"]) == 598


@pytest.mark.parametrize("key", ["item:17", "base:0:3", "code"])
def test_a_search_in_an_index(digits: Path, key: str) -> None:
    [opened] = open_models([digits / "long.index"], [digits / "long.bitfold"])
    there = shown(opened, ItemSources())
    if key == "code":
        key = f"code:{there.views[0].model.distinct.packed[0].tobytes().hex()}"
    assert run(there, key, k=4)["hits"].ids.shape[1] >= 4
    assert "groups" in run(there, key, view="duplicates")
    assert "buckets" in run(there, None, view="map")
