"""The page in a real browser: Chromium, controlled by Playwright. Small data; see also
test_large_data.py."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, Locator, expect
from tests.explorer.conftest import Server, running
from tests.explorer.page.browser import (
    CHROMIUM,
    MAX_WAIT,
    Visitor,
    ask,
    drag,
    drawn_pixels,
    go,
    map_box,
    open_browser,
    place_of,
    shoot,
    state,
    wait_until_idle,
)
from tests.explorer.page.browser_data import N_DIGITS, make_digits, make_rows

from bitfold.explorer import show

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

HTTP_ERROR = "Failed to load resource"  # what browsers log by themselves


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("page")


@pytest.fixture(scope="module")
def digits(folder: Path) -> Iterator[Server]:
    """Two models of the same digits, with images, texts, labels and columns."""
    dual, short = make_digits(folder)
    with running(
        dual, short, "--text", "note", "--label", "digit", "--image", "file"
    ) as started:  # fmt: skip
        yield started


@pytest.fixture(scope="module")
def rows(folder: Path) -> Iterator[Server]:
    """Rows of a table: no labels, images, texts or vectors."""
    with running(make_rows(folder)) as started:
        yield started


@pytest.fixture(scope="module")
def routes(digits: Server) -> list[str]:
    """Patterns of the documented paths."""
    described = httpx.get(f"{digits.origin}/openapi.json", headers=digits.headers).json()
    return [re.sub(r"\{[^}]*\}", "[^/]+", path) for path in described["paths"]]


@pytest.fixture(scope="module")
def window(browser: Browser, digits: Server) -> Visitor:
    return Visitor(browser, digits.url)


@pytest.fixture
def visitor(window: Visitor, routes: list[str]) -> Iterator[Visitor]:
    """Opens pages; fails if they report an error or use a route that is not documented."""
    window.complaints.clear()
    window.requests.clear()
    yield window
    window.close()
    for path in {urlsplit(url).path for url in window.requests}:
        if path.startswith("/api"):
            assert any(re.fullmatch(route, path) for route in routes), path


def only_http_errors(visitor: Visitor) -> None:
    """Accept that requests failed, and nothing else."""
    assert {said.split(":")[0] for said in visitor.complaints} <= {HTTP_ERROR}
    visitor.complaints.clear()


def ids_of(rows: Locator) -> list[str]:
    return [row.get_attribute("data-id") or "" for row in rows.all()]


def test_every_item_is_on_the_map(visitor: Visitor) -> None:
    page = visitor.open()
    assert drawn_pixels(page) > 2000
    kind, n = page.evaluate("() => [bitfoldExplorer.map.layer.kind, bitfoldExplorer.map.n]")
    assert (kind, n) == ("webgl2", N_DIGITS)
    marks = page.evaluate("""() => ["bitfold:first-paint", "bitfold:ask", "bitfold:answer"]
        .map(name => performance.getEntriesByName(name)[0].startTime)""")
    assert 0 < marks[1] < marks[2]
    assert "token" not in page.url  # it is in the cookie now, not in the history
    shoot(page, "small-explore")


def test_click_on_the_map_searches_with_the_item(visitor: Visitor) -> None:
    page = visitor.show("#explore")
    page.mouse.move(*place_of(page, 123))
    expect(page.locator("#tip")).to_be_visible()
    page.mouse.click(*place_of(page, 123))
    page.wait_for_url(re.compile("#explore.*query=item"))
    wait_until_idle(page)
    expect(page.locator(".by-code .hit").first).to_be_visible()
    expect(page.locator(".exact .hit")).to_have_count(10)
    image = page.locator(".exact .hit img").first
    assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") == 8


def test_a_map_that_comes_to_rest_does_not_undo_a_query(visitor: Visitor) -> None:
    page = visitor.show("#explore")
    page.evaluate("""() => {
        location.hash = "#explore?query=point:77";  // the page notices it in a later task
        bitfoldExplorer.map.events.onRest();
    }""")
    page.wait_for_url(re.compile("#explore.*query=item"), timeout=10_000)


def test_items_that_tie_are_a_bucket_and_not_a_ranking(visitor: Visitor) -> None:
    page = visitor.show("#explore?query=item%3Ad017&model=1")
    bucket = page.locator(".bucket").first
    size = int(re.sub(r"\D", "", bucket.locator("header b").first.inner_text()))
    assert size > 5
    expect(bucket.locator("header")).to_contain_text("share the code of the query")
    expect(bucket.locator("header")).to_contain_text("ordered by exact distance")
    bucket.get_by_role("button", name=re.compile(r"Show .* more")).click()
    expect(bucket.locator(".hit")).to_have_count(min(size, 55))
    assert page.get_by_text(re.compile(r"#\d")).count() == 0
    shoot(page, "small-bucket")


def test_both_parts_of_a_dual_code_are_shown_and_weighed(visitor: Visitor) -> None:
    page = visitor.show("#explore?query=item%3Ad192")
    strip = page.locator(".query .code-strip")
    expect(strip).to_have_attribute("aria-label", "code of 48 bits (16 coarse, 32 fine)")
    expect(strip.locator(".coarse")).to_contain_text("16 coarse: which kind")
    expect(strip.locator(".fine")).to_contain_text("32 fine: order within")
    slider = page.get_by_label("Weight of a coarse bit")
    orders = []
    for step, weight in ((-60, "0.05"), (60, "20")):
        slider.fill(str(step))
        expect(page.locator(".by-code")).to_have_attribute("data-weight", weight)
        orders.append(ids_of(page.locator(".by-code .hit")))
    assert orders[0] != orders[1]
    assert state(page)["weight"] == 20
    shoot(page, "small-weight")


COLORS = {
    "label": "9", "column:ink": "ink", "column:is even": "true", "bucket": "same code",
    "coarse": "first 16 bits", "bit:0": "value of bit 0", "density": "log scale",
    "region": "clusters", "distance": "bits that differ",
}  # fmt: skip
"""What the legend of each coloring says."""


def test_every_coloring_has_a_legend(visitor: Visitor) -> None:
    page = visitor.show("#explore?query=item%3Ad017")
    legend, seen = page.locator(".legend"), set()
    for by, said in COLORS.items():
        page.get_by_label("Color the map by").select_option(by.split(":0")[0])
        expect(legend).to_have_attribute("data-by", by)
        expect(legend).to_contain_text(re.compile(said, re.IGNORECASE))
        assert state(page)["color"] == by
        wait_until_idle(page)
        shoot(page, f"small-color-{by.replace(':', '-').replace(' ', '-')}")
        seen.add(page.locator(".map").screenshot())
    assert len(seen) == len(COLORS)


def test_long_legend_lists_the_largest_categories_first(visitor: Visitor) -> None:
    page = visitor.show("#explore?query=item%3Ad017&color=bucket&model=1")
    chips = page.locator(".legend .chip")
    expect(chips).to_have_count(12)
    page.get_by_role("button", name=re.compile(r"Show all \d+")).click()
    expect(chips).not_to_have_count(12)
    page.get_by_role("button", name="Show fewer").click()
    expect(chips).to_have_count(12)


def test_legend_shows_one_class_and_any_bit_can_be_chosen(visitor: Visitor) -> None:
    page = visitor.show("#explore?query=item%3Ad017")
    page.locator(".legend .chip").nth(3).click()
    expect(page.locator(".legend .chip").nth(3)).to_have_attribute("aria-pressed", "true")
    assert state(page)["only"] == 3
    page.get_by_label("Color the map by").select_option("bit")
    page.get_by_label("Number of the bit").fill("17")
    expect(page.locator(".legend")).to_have_attribute("data-by", "bit:17")
    wait_until_idle(page)
    shoot(page, "small-bit")


def test_radius_slider_counts_and_explains_its_scale(visitor: Visitor) -> None:
    page = visitor.show("#explore?query=item%3Ad003")
    truth = ask(page, "radius-counts?query=item:d003")["within"]
    slider = page.get_by_label("Hamming radius")
    for radius in (0, 10, 48):
        slider.fill(str(radius))
        expect(page.locator(".within .n")).to_have_text(re.compile(rf"^{truth[radius]:,} item"))
    assert truth[48] == N_DIGITS - 1
    expect(page.locator(".radius")).to_contain_text("log scale")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".within")).to_contain_text("47 bits")


def test_map_cannot_be_lost(visitor: Visitor) -> None:
    page = visitor.show("#explore?query=item%3Ad003&where=digit+%3D+%270%27")
    left, top, width, height = map_box(page)
    page.mouse.move(left + width - 5, top + height - 5)
    for turn in (-9000, 9000):
        for _ in range(3):
            page.mouse.wheel(0, turn)
    zoom = "() => bitfoldExplorer.map.camera.zoom"
    assert 0.5 <= page.evaluate(zoom) <= 1
    page.mouse.wheel(0, -2000)
    drag(page, [(left + 300, top + 300), (left + 20, top + 20)])
    assert page.evaluate(zoom) > 1
    page.mouse.dblclick(left + 4, top + 4)
    assert page.evaluate("() => bitfoldExplorer.map.camera.isHome")
    page.mouse.wheel(0, -900)
    page.locator("canvas.marks").focus()
    page.keyboard.press("0")
    assert page.evaluate("() => bitfoldExplorer.map.camera.isHome")
    # A new query outside the view brings the map to it.
    page.mouse.wheel(0, -9000)
    page.wait_for_timeout(300)
    page.get_by_role("button", name="Random").click()
    page.wait_for_url(re.compile("query=item%3Ad(?!003)"))  # d003 does not meet the filter
    wait_until_idle(page)
    assert page.evaluate("""() => { const { map } = bitfoldExplorer;
        return map.camera.shows(...map.marks.query); }""")


def wait_for_change(canvas: Locator, before: bytes) -> bytes:
    """Return how an element looks once it has changed."""
    give_up = time.monotonic() + MAX_WAIT / 1000
    while (now := canvas.screenshot()) == before:
        assert time.monotonic() < give_up, "The element has not changed."
    return now


def read_when_stable(locator: Locator) -> str:
    """Return the text of an element after the keys that were pressed have all had their effect."""
    before, text = "", locator.inner_text()
    while text != before:
        locator.page.wait_for_timeout(300)
        before, text = text, locator.inner_text()
    return text


def test_map_is_used_by_keyboard(visitor: Visitor) -> None:
    page = visitor.show("#explore?query=item%3Ad003")
    canvas = page.locator("canvas.marks")
    canvas.focus()
    seen = [canvas.screenshot()]
    for key in ("+", "Shift+ArrowLeft", "-", "0"):
        page.keyboard.press(key)
        seen.append(wait_for_change(canvas, seen[-1]))
    assert len(set(seen)) >= 4
    for key in ("ArrowLeft", "ArrowDown", "ArrowRight"):  # the query may be at the edge
        page.keyboard.press(key)
    expect(page.locator("#said")).to_have_text(re.compile(r"d\d{3}, \d, .* bits? from the query"))
    walked = read_when_stable(page.locator("#said")).split(",")[0]
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(f"query=item%3A{walked}"))


@pytest.mark.parametrize("tool", ["rectangle", "lasso"])
def test_selection_has_count_composition_and_export(visitor: Visitor, tool: str) -> None:
    page = visitor.show("#explore?query=item%3Ad003")
    left, top, width, height = map_box(page)
    page.locator(f'[data-tool="{tool}"]').click()
    corners = [(0.2, 0.2), (0.75, 0.2), (0.75, 0.8), (0.2, 0.8)]
    places = [(left + x * width, top + y * height) for x, y in corners]
    drag(page, [places[0], places[2]] if tool == "rectangle" else places)
    panel = page.locator(".selection")
    expect(panel.get_by_role("heading", level=2)).to_contain_text("selected")
    wait_until_idle(page)
    n = int(panel.get_by_role("heading", level=2).inner_text().split()[0].replace(",", ""))
    assert 20 < n < N_DIGITS
    counts = panel.locator("table").first.locator("tbody td:nth-child(2)").all_inner_texts()
    assert sum(map(int, counts)) <= n
    with page.expect_download() as saved:
        panel.get_by_role("button", name="ids").click()
    assert len(saved.value.path().read_text(encoding="utf-8").split()) == n
    with page.expect_download() as saved:
        panel.get_by_role("button", name="CSV").click()
    lines = saved.value.path().read_text(encoding="utf-8").splitlines()
    assert len(lines) == n + 1
    assert "digit" in lines[0]
    shoot(page, f"small-{tool}")
    panel.get_by_role("button", name="Clear").click()
    expect(panel).to_be_hidden()


def test_text_search_and_filters(visitor: Visitor) -> None:
    page = visitor.show("#explore?query=item%3Ad003")
    box = page.get_by_role("combobox", name="Find items")
    box.fill("number 17")
    expect(page.locator("#suggestions [role=option]").first).to_contain_text("number 17")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("query=item%3Ad017"))
    box.fill("<b>7</b>")
    page.get_by_role("option", name=re.compile("Keep only the")).click()
    wait_until_idle(page)
    expect(page.locator(".filters")).to_contain_text("contains “<b>7</b>”")
    assert {text.strip() for text in page.locator(".by-code .tag").all_inner_texts()} == {"7"}
    page.get_by_label("Remove the filter contains").click()
    page.locator(".filter-menu summary").click()
    page.get_by_label("Column to filter by").select_option("digit")
    page.get_by_label("Value", exact=True).fill("3")
    page.get_by_role("button", name="Add filter").click()
    wait_until_idle(page)
    expect(page.locator(".filters")).to_contain_text("digit = '3'")
    assert {text.strip() for text in page.locator(".by-code .tag").all_inner_texts()} == {"3"}
    shoot(page, "small-filter")


def test_unknown_items_are_explained(visitor: Visitor) -> None:
    page = visitor.open()
    box = page.get_by_role("combobox", name="Find items")
    box.fill("no such thing")
    box.press("Enter")
    expect(page.locator("#message")).to_contain_text("No item contains “no such thing”")
    box.fill("d005")
    box.press("Enter")
    page.wait_for_url(re.compile("query=item%3Ad005"))
    expect(page.locator("#message")).to_be_hidden()


def test_results_of_an_earlier_query_do_not_stay_below_an_error(visitor: Visitor) -> None:
    page = visitor.open("#explore?query=item%3Ad005")
    go(page, "#explore?query=item%3Anone")
    expect(page.locator("#message")).to_contain_text("Item none does not exist. Find an item")
    expect(page.locator(".found")).to_be_hidden()
    assert page.evaluate("() => bitfoldExplorer.map.marks.hits.length") == 0
    shoot(page, "small-error")
    go(page, "#explore?query=item%3Ad005&where=none+%3D+3")
    expect(page.locator("#message")).to_contain_text("Remove the filter")
    go(page, "#explore?query=item%3Ad005")
    expect(page.locator("#message")).to_be_hidden()
    expect(page.locator(".by-code .hit").first).to_be_visible()
    only_http_errors(visitor)


def test_escape_closes_a_menu_and_keeps_the_focus(visitor: Visitor) -> None:
    page = visitor.show("#explore?query=item%3Ad003")
    for name, inside in ((".filter-menu", "select"), (".tool-row .menu", "input")):
        summary = page.locator(f"{name} summary")
        summary.press("Enter")
        page.locator(f"{name} {inside}").first.focus()
        page.keyboard.press("Escape")
        expect(page.locator(f"{name} .sheet")).to_be_hidden()
        expect(summary).to_be_focused()


def test_markup_in_texts_is_not_interpreted(visitor: Visitor) -> None:
    page = visitor.show("#explore?query=item%3Ad003")
    expect(page.locator(".query")).to_contain_text("a <b>3</b> & the like")
    assert page.locator(".text b").count() == 0


def test_verdict_on_the_bits_is_honest(visitor: Visitor) -> None:
    page = visitor.open("#bits")
    expect(page.locator(".model")).to_have_count(2)
    expect(page.locator(".verdict-box")).to_have_count(2)
    for i, model in enumerate(page.locator(".model").all()):
        known = ask(page, f"models/{i}/statistics")
        expect(model.locator(".verdict-box")).to_have_attribute(
            "data-grade", known["verdict"]["grade"]
        )
        assert model.locator(".measure").count() == len(known["measures"])
        recall = model.locator('.measure[data-name="recall_10"]')
        expect(recall.locator(".measure-rule")).to_contain_text("good from")
        recall.locator("summary").click()
        expect(recall.locator(".info p")).to_be_visible()
        expect(model.locator(".key-row")).to_contain_text("limit of good")
    shoot(page, "small-bits")


def test_duplicates_are_kept_or_discarded_and_exported(visitor: Visitor) -> None:
    page = visitor.open("#duplicates?near=2&model=1")
    group = page.locator(".duplicate-group").first
    shown = group.locator(".duplicate")
    assert "kept" in (shown.first.get_attribute("class") or "")
    expect(shown.first.locator(".keep")).to_contain_text("the first")
    expect(shown.nth(1).locator(".keep")).to_contain_text(re.compile("same code|bits? away"))
    expect(group.locator(".duplicate.discarded")).to_have_count(shown.count() - 1)
    second = shown.nth(1).get_attribute("data-id")
    shown.nth(1).locator("input").check()
    expect(shown.nth(1)).to_have_class(re.compile("kept"))
    with page.expect_download() as saved:
        page.get_by_role("button", name="Export ids to discard").click()
    discarded = saved.value.path().read_text(encoding="utf-8").split()
    assert second not in discarded
    assert len(discarded) == ask(page, "models/1/duplicates?radius=2")["n_extra"] - 1
    page.reload()
    wait_until_idle(page)
    expect(page.locator(".duplicate").nth(1)).to_have_class(re.compile("kept"))
    shoot(page, "small-duplicates")


def test_two_models_are_compared_where_they_differ_most(visitor: Visitor) -> None:
    page = visitor.open("#compare?query=item%3Ad003")
    expect(page.locator(".side")).to_have_count(2)
    expect(page.locator(".differing li")).not_to_have_count(0)
    expect(page.locator(".differing li").first).to_contain_text("common")
    expect(page.locator(".differences")).to_contain_text("by code alone")
    common = set(ids_of(page.locator(".side").nth(0).locator(".hit"))) & set(
        ids_of(page.locator(".side").nth(1).locator(".hit"))
    )
    expect(page.locator(".compare > .query b")).to_have_text(str(len(common)))
    page.locator(".differing button").first.click()
    page.wait_for_url(re.compile("compare.*query=item"))
    wait_until_idle(page)
    shoot(page, "small-compare")


def test_address_reproduces_the_view(visitor: Visitor) -> None:
    address = (
        "#explore?query=item%3Ad042&color=bit%3A5&radius=9&where=digit+%3D+%273%27&weight=3"
        "&at=0.4,0.6,2.5&select=0.2,0.2,0.8,0.2,0.8,0.8&layers=contours,base&rank=hamming"
    )
    page = visitor.open(address)
    first = state(page)
    page.wait_for_timeout(400)
    again = visitor.open(urlsplit(page.url).fragment and f"#{urlsplit(page.url).fragment}")
    # The camera is computed from pixels.
    assert state(again) == {**first, "at": pytest.approx(first["at"], rel=1e-9)}
    camera = "() => { const { x, y, zoom } = bitfoldExplorer.map.camera; return [x, 1 - y, zoom]; }"
    assert again.evaluate(camera) == pytest.approx([0.4, 0.6, 2.5], rel=1e-3)
    expect(again.locator(".selection")).to_be_visible()
    expect(again.get_by_label("Hamming radius")).to_have_value("9")
    shoot(again, "small-address")


def test_copy_as_python(visitor: Visitor) -> None:
    page = visitor.show("#explore?query=item%3Ad003")
    page.get_by_role("button", name="Copy as Python").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    code = page.evaluate("() => navigator.clipboard.readText()")
    compile(code, "copied", "exec")
    assert "import bitfold" in code
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator("#said")).to_have_text("Address copied")
    assert page.evaluate("() => navigator.clipboard.readText()") == page.url


def test_rows_without_labels_have_contours_and_columns(
    visitor: Visitor, rows: Server, browser: Browser
) -> None:
    page = visitor.open(url=rows.url)
    expect(page.locator(".legend")).to_have_attribute("data-by", "density")
    assert page.evaluate("() => bitfoldExplorer.map.marks.contours.length") == 4
    expect(page.locator(".by-code .values").first).to_contain_text("price")
    expect(page.locator(".exact .empty")).to_contain_text("--vectors")
    page.get_by_label("Color the map by").select_option("column:shop")
    expect(page.locator(".legend")).to_contain_text("Oslo")
    wait_until_idle(page)
    shoot(page, "small-rows")


def test_upload(visitor: Visitor, folder: Path) -> None:
    page = visitor.open()
    page.get_by_role("button", name="Upload…").click()
    page.locator("#file").set_input_files(folder / "images" / "d017.png")
    page.wait_for_url(re.compile("query=upload"))
    expect(page.get_by_role("heading", name="Uploaded image")).to_be_visible()
    expect(page.locator(".exact .hit").first).to_have_attribute("data-id", "d017")
    page.get_by_role("button", name="Upload…").click()
    page.locator("#numbers").fill("1, 2, NaN")
    page.get_by_role("button", name="Search with this vector").click()
    expect(page.locator("#upload-message")).to_contain_text("NaN")
    only_http_errors(visitor)


def test_without_webgl_a_plain_canvas_is_used(visitor: Visitor) -> None:
    page = visitor.open(url=f"{visitor.url}&canvas")
    assert page.evaluate("() => bitfoldExplorer.map.layer.kind") == "canvas"
    assert drawn_pixels(page) > 2000


def test_lost_graphics_context_is_restored(visitor: Visitor) -> None:
    page = visitor.open()
    page.evaluate("""() => new Promise(resolve => {
        const { map } = window.bitfoldExplorer;
        const lost = map.layer.gl.gl.getExtension("WEBGL_lose_context");
        map.layer.canvas.addEventListener("webglcontextrestored", () => setTimeout(resolve, 100));
        map.layer.canvas.addEventListener("webglcontextlost", () =>
            setTimeout(() => lost.restoreContext(), 20));
        lost.loseContext();
    })""")
    wait_until_idle(page)
    assert drawn_pixels(page) > 2000
    visitor.complaints = [said for said in visitor.complaints if "CONTEXT_LOST" not in said]


def test_nothing_is_wider_than_a_phone(visitor: Visitor) -> None:
    page = visitor.open("#bits", size="phone", theme="dark")
    for view in ("bits", "duplicates", "compare", "explore"):
        go(page, f"#{view}?query=item%3Ad003")
        width = page.evaluate("() => innerWidth")
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        shoot(page, f"small-{view}-phone-dark")


def test_theme_is_remembered_and_pinch_zooms(visitor: Visitor) -> None:
    page = visitor.open(size="phone")
    ground = "() => getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_role("button", name="Switch between light and dark").click()
    assert page.evaluate(ground) != light
    page.reload()
    wait_until_idle(page)
    assert page.evaluate(ground) != light
    page.locator("canvas.marks").evaluate("""canvas => {
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
    }""")
    assert page.evaluate("() => bitfoldExplorer.map.camera.zoom") > 1.5


def test_stopped_server_is_explained(visitor: Visitor) -> None:
    page = visitor.open()
    page.route("**/api/**", lambda route: route.abort())
    page.get_by_role("button", name="Random").click()
    expect(page.locator("#message")).to_contain_text("Check that bitfold explore is still running")
    only_http_errors(visitor)


def test_docs_are_rendered(visitor: Visitor, digits: Server) -> None:
    page = visitor.open()
    page.goto(f"{digits.origin}/docs")
    page.get_by_text("/api/search", exact=True).click()
    expect(page.locator("details[open] pre")).to_contain_text("groups")


def test_without_the_token_the_page_says_what_to_do(browser: Browser, digits: Server) -> None:
    page = browser.new_page()
    page.goto(digits.origin)
    expect(page.locator("main")).to_contain_text("Open the address that bitfold explore printed")
    page.close()


def test_a_notebook_shows_the_page_in_a_frame(
    browser: Browser, named: Path, tmp_path: Path
) -> None:
    """A page of localhost, as a notebook is, with what ``show`` displays in it."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(MAX_WAIT)
    page = context.new_page()
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    with show(named, label="digit", height=700) as explorer, serve(handler) as port:
        (tmp_path / "notebook.html").write_text(explorer._repr_html_(), encoding="utf-8")
        page.goto(f"http://localhost:{port}/notebook.html")
        frame = page.frame_locator("iframe")
        expect(frame.locator(".map").first).to_have_attribute("data-complete", "true")
        expect(frame.locator("body")).to_have_attribute("data-busy", "false")
        shoot(page, "notebook")
    context.close()


@contextmanager
def serve(handler: partial[SimpleHTTPRequestHandler]) -> Iterator[int]:
    """Serve files on a free port, and yield it."""
    with ThreadingHTTPServer(("localhost", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()
