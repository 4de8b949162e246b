"""The page in a real browser: Chromium, controlled by Playwright."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    FilePayload,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)
from tests.explorer.conftest import Server

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


@dataclass
class Watch:
    """The hosts that a page requests, and the errors that it reports."""

    hosts: set[str] = field(default_factory=set)
    complaints: list[str] = field(default_factory=list)

    def over(self, page: Page) -> None:
        page.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on(
            "console",
            lambda said: (
                self.complaints.append(said.text) if said.type in ("error", "warning") else None
            ),
        )


Visit = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # Chromium's sandbox does not start for root, the user of most containers.
    flags = ["--no-sandbox"] if os.getuid() == 0 else []
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield opened
        opened.close()


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def visit(browser: Browser, server: Server, watch: Watch) -> Iterator[Visit]:
    """Open the page in a window of a given size; fail if it reports an error."""
    contexts: list[BrowserContext] = []

    def open_at(
        hash_: str = "", url: str = server.url, width: int = 1280, touch: bool = False
    ) -> Page:
        size: ViewportSize = {"width": width, "height": 860}
        context = browser.new_context(viewport=size, has_touch=touch)
        contexts.append(context)
        page = context.new_page()
        watch.over(page)
        page.goto(f"{url}{hash_}")
        expect(page.locator("body")).to_have_attribute("data-busy", "false", timeout=15_000)
        return page

    yield open_at
    for context in contexts:
        context.close()
    assert watch.complaints == []
    assert all(host.startswith("127.0.0.1:") for host in watch.hosts)


def ask(page: Page, path: str) -> Any:
    """Request the API from the page."""
    return page.evaluate(f"async () => (await fetch('/api/{path}')).json()")


def drawn_pixels(page: Page) -> int:
    """Return the number of pixels drawn on the map."""
    return int(
        page.locator("canvas.map:visible").first.evaluate(
            """canvas => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height)
            .data.filter((value, i) => i % 4 === 3 && value > 0).length"""
        )
    )


WHERE = """async item => {
    const map = await (await fetch("/api/models/0/map")).json();
    const canvas = document.querySelector("canvas.map");
    const frame = canvas.getBoundingClientRect();
    const axes = ["x", "y"].map(key => {
        const all = [...map[key], ...map.base[key]];
        const [low, high] = [Math.min(...all), Math.max(...all)];
        return { at: map[key][map.ids.indexOf(item)] - (low + high) / 2, span: high - low };
    });
    const scale = Math.min((frame.width - 56) / axes[0].span, (frame.height - 56) / axes[1].span);
    return [frame.x + frame.width / 2 + axes[0].at * scale,
            frame.y + frame.height / 2 + axes[1].at * scale];
}"""
"""Returns the position of an item on the map before it is zoomed."""

PINCH = """canvas => {
    const frame = canvas.getBoundingClientRect();
    canvas.setPointerCapture = () => {};  // there is no real finger to capture
    const touch = (type, pointerId, x) => canvas.dispatchEvent(new PointerEvent(type, {
        pointerId, pointerType: "touch", clientX: frame.x + x, clientY: frame.y + 150,
    }));
    touch("pointerdown", 1, 150);
    touch("pointerdown", 2, 200);
    for (let i = 1; i <= 10; i++) {
        touch("pointermove", 1, 150 - 6 * i);
        touch("pointermove", 2, 200 + 6 * i);
    }
    touch("pointerup", 1, 90);
    touch("pointerup", 2, 260);
}"""

MARKED = """paths => paths.map(path => path.getAttribute("d").split("M").length - 1)
    .reduce((sum, n) => sum + n, 0)"""
"""Returns the number of cells in some paths of a strip."""


def test_click_on_the_map_shows_ten_results_with_images(visit: Visit) -> None:
    page = visit()
    assert drawn_pixels(page) > 3000
    assert "token" not in page.url  # it is in the cookie now, not in the history
    item = ask(page, "models/0/map")["ids"][123]
    place = page.evaluate(WHERE, item)
    page.mouse.move(*place)
    tip = page.locator("#tip")
    # Several items may share a position; a click selects the one that the tip shows.
    expect(tip).to_contain_text(re.compile("#|base point"))
    name = re.sub(r"^(#|base point )(\d+).*", r"\2", tip.inner_text().strip(), flags=re.DOTALL)
    page.mouse.click(*place)
    page.wait_for_url(re.compile(f"#explore/(item|base:0):{name}/"))
    expect(page.locator("body")).to_have_attribute("data-busy", "false")
    for column in (".column:not(.exact)", ".column.exact"):
        rows = page.locator(f"{column} .hit")
        expect(rows).to_have_count(10)
        for i in range(10):
            rows.nth(i).scroll_into_view_if_needed()
            picture = rows.nth(i).locator("img")
            expect(picture).to_have_js_property("complete", True)
            assert picture.evaluate("image => image.naturalWidth") == 8
            expect(rows.nth(i).locator(".distance b")).not_to_be_empty()
            expect(rows.nth(i).locator("svg.strip path").first).to_be_attached()


def test_differing_bits_and_common_results_are_marked(visit: Visit) -> None:
    page = visit("#explore/item:17/0")
    for row in page.locator(".column:not(.exact) .hit").all():
        marked = row.locator("path.differs").evaluate_all(MARKED)
        assert f"{marked}" == row.locator(".distance b").inner_text()
    ids = [
        {row.get_attribute("data-id") for row in page.locator(f"{column} .hit").all()}
        for column in (".column:not(.exact)", ".column.exact")
    ]
    n_common = len(ids[0] & ids[1])
    expect(page.locator(".column.exact header")).to_contain_text(f"{n_common} of 10 agree")
    expect(page.locator(".column:not(.exact) .hit.matches")).to_have_count(n_common)


def test_slider_changes_the_count(visit: Visit, server: Server) -> None:
    page = visit("#explore/item:3/0")
    slider, said = page.locator(".slider"), page.locator(".within .n")
    counts = []
    for radius in (0, 4, 32):
        slider.fill(str(radius))
        counts.append(int(said.inner_text().split()[0].replace(",", "")))
    truth = ask(page, "radius-counts?query=item:3")["within"]
    assert counts == [truth[0], truth[4], truth[32]]
    assert counts[0] < counts[1] < counts[2] == 599
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert "31 bits" in page.locator(".within").inner_text()


def test_markup_in_text_is_not_interpreted(visit: Visit) -> None:
    page = visit("#explore/item:3/0")
    expect(page.locator(".query .text")).to_have_text(re.compile(r"a <b>\d</b> & the like"))
    assert page.locator(".text b").count() == 0


def test_map_can_be_zoomed_dragged_and_used_by_keyboard(visit: Visit) -> None:
    page = visit("#explore/item:3/0")
    canvas = page.locator("canvas.map:visible")
    box = canvas.bounding_box()
    assert box is not None

    def look() -> bytes:
        page.wait_for_timeout(60)
        return canvas.screenshot()

    seen = [look()]
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(*middle)
    page.mouse.wheel(0, -300)
    seen.append(look())
    page.mouse.down()
    page.mouse.move(middle[0] + 80, middle[1] + 40, steps=4)
    page.mouse.up()
    assert "item:3/" in page.url  # a drag does not count as a click
    seen.append(look())
    canvas.focus()
    page.keyboard.press("+")
    seen.append(look())
    page.keyboard.press("Shift+ArrowLeft")
    seen.append(look())
    assert len(set(seen)) == len(seen)
    page.keyboard.press("0")
    for key in ("ArrowLeft", "ArrowDown"):  # the query may be at the edge of the map
        page.keyboard.press(key)
    expect(page.locator("#said")).to_have_text(re.compile(r"#\d+, \d, \d+ bits from the query"))
    walked = page.locator("#said").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(f"item:{walked[1:].split(',')[0]}/"))


def test_points_become_images_when_zoomed_in(visit: Visit) -> None:
    page = visit("#explore/item:3/0")
    page.locator("canvas.map:visible").focus()
    for _ in range(9):
        page.keyboard.press("+")
    expect(page.locator("canvas.map:visible")).to_have_attribute("data-images", "true")
    page.wait_for_timeout(300)


def test_two_fingers_zoom(visit: Visit) -> None:
    page = visit("#explore/item:3/0", width=400, touch=True)
    canvas = page.locator("canvas.map:visible")
    before = canvas.screenshot()
    canvas.evaluate(PINCH)
    page.wait_for_timeout(60)
    assert canvas.screenshot() != before
    assert "item:3/" in page.url


def test_two_models_are_compared(visit: Visit) -> None:
    page = visit("#explore/item:3/0")
    page.get_by_role("button", name="Compare").click()
    sides = page.locator(".side")
    expect(sides).to_have_count(2)
    ids = []
    for side, name in ((sides.nth(0), "long"), (sides.nth(1), "short")):
        expect(side.locator(".hit")).to_have_count(10)
        expect(side.get_by_role("heading", name=name)).to_be_visible()
        ids.append({row.get_attribute("data-id") for row in side.locator(".hit").all()})
    common = len(ids[0] & ids[1])
    expect(page.locator(".verdict")).to_contain_text(f"{common} of 10 nearest items in common")
    sides.nth(1).locator(".hit").last.click()
    expect(page.locator("#goto")).not_to_have_value("3")
    page.get_by_role("button", name="Explore").click()
    page.locator("#model").select_option("1")
    expect(page.locator(".query svg.strip").first).to_have_attribute(
        "aria-label", "code of 12 bits"
    )


def test_statistics_of_bits_are_shown(visit: Visit) -> None:
    page = visit()
    page.get_by_role("button", name="Bits", exact=True).click()
    expect(page.locator(".model")).to_have_count(2)
    assert page.locator(".model").first.locator(".balance rect").count() == 32
    expect(page.locator(".findings li").first).to_contain_text(
        "nearest items have the query's label"
    )
    page.locator(".sample").first.click()
    page.wait_for_url(re.compile("#explore/item:"))


def test_uploaded_image_becomes_the_query(visit: Visit, digits: Path) -> None:
    page = visit()
    page.get_by_role("button", name="Upload…").click()
    page.locator("#file").set_input_files(digits / "images" / "17.png")
    page.wait_for_url(re.compile("#explore/upload:"))
    expect(page.get_by_role("heading", name="Uploaded image")).to_be_visible()
    expect(page.locator(".column.exact .hit").first).to_have_attribute("data-id", "17")


def test_invalid_upload_shows_a_message(visit: Visit, watch: Watch) -> None:
    page = visit()
    page.get_by_role("button", name="Upload…").click()
    bad: FilePayload = {
        "name": "x.png",
        "mimeType": "image/png",
        "buffer": b"\x89PNG\r\n\x1a\n and no more",
    }
    page.locator("#file").set_input_files(bad)
    message = page.locator("#upload-message")
    expect(message).to_have_text(re.compile("truncated|damaged|image"))
    page.locator("#numbers").fill("1, 2, NaN")
    page.get_by_role("button", name="Search with this vector").click()
    expect(message).to_contain_text("NaN")
    page.keyboard.press("Escape")
    expect(page.locator(".column.exact .hit")).to_have_count(10)
    # Browsers log a status of 422 by themselves; nothing else was logged.
    assert [said.split(":")[0] for said in watch.complaints] == ["Failed to load resource"] * 2
    watch.complaints.clear()


def test_unknown_item_shows_a_message(visit: Visit, watch: Watch) -> None:
    page = visit()
    page.locator("#goto").fill("99999")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator("#message")).to_contain_text("99999")
    page.locator("#goto").fill("5")
    page.keyboard.press("Enter")
    expect(page.locator("#message")).to_be_hidden()
    expect(page.get_by_role("heading", name="Item 5")).to_be_visible()
    assert {said.split(":")[0] for said in watch.complaints} == {"Failed to load resource"}
    watch.complaints.clear()


@pytest.mark.parametrize("hash_", ["#explore/item:3/0", "#compare/item:3/0", "#bits/item:3/0"])
@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_is_wider_than_the_window(visit: Visit, hash_: str, width: int) -> None:
    page = visit(hash_, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_dark_mode_is_remembered(visit: Visit) -> None:
    page = visit()
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_role("button", name="Switch between light and dark").click()
    page.reload()
    assert page.evaluate(ground) != light


def test_docs_need_no_outside_resources(visit: Visit, server: Server) -> None:
    page = visit()
    page.goto(f"{server.origin}/docs")
    expect(page.get_by_text("/api/search", exact=True)).to_be_visible()
    page.get_by_text("/api/search", exact=True).click()
    expect(page.locator("details[open] pre")).to_contain_text("hits")


def test_codes_alone(visit: Visit, bare: Server) -> None:
    page = visit("#explore/item:3/0", url=bare.url)
    assert drawn_pixels(page) > 1000
    expect(page.locator(".column:not(.exact) .hit")).to_have_count(10)
    expect(page.locator(".column.exact .empty")).to_contain_text("--vectors")


def test_without_the_token_the_page_says_what_to_do(browser: Browser, server: Server) -> None:
    page = browser.new_page()
    page.goto(server.origin)
    expect(page.locator("main")).to_contain_text("Open the address that bitfold explore printed")
    page.close()
