"""Accessibility of the page, checked by axe-core; run by `make page-axe`, which fetches it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page
from tests.explorer.conftest import running
from tests.explorer.page.browser import CHROMIUM, Theme, Visitor, open_browser
from tests.explorer.page.browser_data import make_digits

AXE = Path(__file__).parents[3] / "build" / "node" / "node_modules" / "axe-core" / "axe.min.js"

pytestmark = [
    pytest.mark.explorer,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
    pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed; use make page-axe"),
]

ADDRESSES = {
    "explore": "#explore?query=item%3Ad003",
    "selection": "#explore?query=item%3Ad003&select=0.2,0.2,0.8,0.2,0.8,0.8&color=density",
    "filter": "#explore?query=item%3Ad003&where=digit+%3D+%273%27&model=1",
    "bits": "#bits",
    "duplicates": "#duplicates?near=2&model=1",
    "compare": "#compare?query=item%3Ad003",
}


@pytest.fixture(scope="module")
def visitor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    dual, short = make_digits(tmp_path_factory.mktemp("axe"))
    started = running(dual, short, "--text", "note", "--label", "digit", "--image", "file")
    with started as server, open_browser() as browser:
        yield Visitor(browser, server.url)


def violations(page: Page) -> list[str]:
    """Run axe-core in the page."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("""async () => (await axe.run()).violations.map(
        each => `${each.id}: ${each.help} ${each.nodes.map(node =>
            `${node.target} ${node.failureSummary}`).slice(0, 3).join(" | ")}`)""")
    return list(found)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", ["desktop", "phone"])
@pytest.mark.parametrize("name", ADDRESSES)
def test_no_violation(visitor: Visitor, name: str, size: str, theme: Theme) -> None:
    page = visitor.open(ADDRESSES[name], size=size, theme=theme)
    page.locator(".view:not([hidden]) .waiting").first.wait_for(state="detached")
    assert violations(page) == []


def test_no_violation_in_the_upload_dialog(visitor: Visitor) -> None:
    page = visitor.open()
    page.get_by_role("button", name="Upload…").click()
    assert violations(page) == []
