"""The explorer in a notebook: a page in a frame, until it is closed."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

import bitfold as bf
from bitfold.errors import DataError, ParameterError
from bitfold.explorer import show


def test_the_page_is_served_until_it_is_closed(named: Path) -> None:
    with bf.Collection.open(named) as collection:
        explorer = show(collection, label="digit", height=500)
    with explorer:
        html = explorer._repr_html_()
        assert 'height="500"' in html and explorer.url in html
        page = httpx.get(explorer.url)
        assert page.status_code == 200 and "x-frame-options" not in page.headers
        policy = page.headers["content-security-policy"]
        assert "frame-ancestors 'self' http://localhost:*" in policy and "'none'" in policy
        token = explorer.url.rpartition("=")[2]
        origin = explorer.url.partition("/?")[0]
        header = {"Authorization": f"Bearer {token}"}
        about = httpx.get(f"{origin}/api/about", headers=header).json()
        assert about["notebook"] and about["n_items"] == 598
        assert httpx.get(f"{origin}/api/about").status_code == 403
    with pytest.raises(httpx.ConnectError):
        httpx.get(origin)
    explorer.close()


def test_other_arguments_are_explained(named: Path, digits: Path) -> None:
    with pytest.raises(ParameterError, match="at most one"):
        show(named, named, named)
    with pytest.raises(DataError, match="bitfold explore"):
        show(digits / "long.index")
    with pytest.raises(FileNotFoundError):
        show("nowhere")
