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


def test_a_search_in_a_collection(workspace: Workspace) -> None:
    hits = run(workspace, "item:d/9", k=3, where="year > 2000")["hits"]
    assert hits.ids.shape == (1, 4)
    assert run(workspace, "item:d/9", coarse_weight=5.0)["h"].coarse_weight == 5
    assert run(workspace, "base:0:3")["hits"].ids.shape == (1, 11)


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
