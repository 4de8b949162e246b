"""Chromium for the tests of the page: pages that fail on errors, screenshots, and small helpers."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SCREENSHOTS = Path(__file__).parents[3] / "build" / "screenshots"
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}

MAX_WAIT = 100_000
"""Milliseconds after which a wait has failed, even on a busy machine."""

expect.set_options(timeout=MAX_WAIT)

Theme = Literal["light", "dark"]

# WebGL2 by software (SwiftShader), as on a machine without a graphics card.
_FLAGS = ["--enable-unsafe-swiftshader"]


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Start Chromium."""
    # Chromium's sandbox does not start for root, the user of most containers.
    flags = [*_FLAGS, "--no-sandbox"] if os.getuid() == 0 else _FLAGS
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        # The first map would otherwise wait for Chromium to start its graphics process.
        page = opened.new_page()
        page.evaluate("() => { document.createElement('canvas').getContext('webgl2'); }")
        page.close()
        yield opened
        opened.close()


@dataclass
class Visitor:
    """Opens pages of an explorer, and collects what they request and complain about."""

    browser: Browser
    url: str
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    contexts: list[BrowserContext] = field(default_factory=list)
    kept: Page | None = None

    def show(self, hash_: str) -> Page:
        """Show an address in a page that is kept, which is faster than a new one."""
        if self.kept is None:
            self.kept = self.open(hash_)
        else:
            go(self.kept, hash_)
        self.kept.evaluate("() => { const { map } = bitfoldExplorer; if (map) map.fit(); }")
        self.kept.locator('.view:not([hidden]) [data-tool="pan"]').first.click()
        return self.kept

    def open(
        self,
        hash_: str = "",
        *,
        url: str | None = None,
        size: str = "desktop",
        theme: Theme = "light",
        wait: bool = True,
    ) -> Page:
        """Open a page in a window of its own."""
        width, height = SIZES[size]
        context = self.browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=theme,
            has_touch=size == "phone",
            permissions=["clipboard-read", "clipboard-write"],
            reduced_motion="reduce",
        )
        context.set_default_timeout(MAX_WAIT)
        self.contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda said: self._hear(said.type, said.text))
        page.goto(f"{url or self.url}{hash_}")
        if wait:
            wait_until_idle(page)
        return page

    def _hear(self, kind: str, text: str) -> None:
        # Reading pixels back slows a graphics card down, which tests do on purpose.
        if kind in ("error", "warning") and "GPU stall due to ReadPixels" not in text:
            self.complaints.append(text)

    @property
    def hosts(self) -> set[str]:
        """Return the hosts that pages requested something from."""
        return {urlsplit(url).netloc for url in self.requests}

    def close(self) -> None:
        """Close all windows but the kept one; fail if a page complained or used another host."""
        kept = self.kept.context if self.kept else None
        for context in self.contexts:
            if context is not kept:
                context.close()
        self.contexts = [kept] if kept else []
        assert self.complaints == [], self.complaints
        assert all(host.startswith("127.0.0.1:") or not host for host in self.hosts)


def wait_until_idle(page: Page, seconds: float = MAX_WAIT / 1000) -> None:
    """Wait until everything that was requested is shown, and the map is complete."""
    limit = 1000 * seconds
    expect(page.locator("body")).to_have_attribute("data-busy", "false", timeout=limit)
    for element in page.locator(".map:visible").all():
        expect(element).to_have_attribute("data-complete", "true", timeout=limit)


def go(page: Page, hash_: str) -> None:
    """Change the part of the address after #, and wait until it is shown."""
    page.evaluate(
        """hash => new Promise(resolve => {
            if (location.hash === hash) resolve();
            addEventListener("hashchange", () => resolve(), { once: true });
            location.hash = hash;
        })""",
        hash_,
    )
    wait_until_idle(page)


def shoot(page: Page, name: str) -> Path:
    """Save a screenshot of the window in the build folder."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    path = SCREENSHOTS / f"{name}.png"
    page.screenshot(path=path, timeout=60_000)
    return path


def ask(page: Page, path: str) -> Any:
    """Request the API from the page."""
    return page.evaluate(f"async () => (await fetch('/api/{path}')).json()")


def state(page: Page) -> dict[str, Any]:
    """Return the state of the page, which is also in its address."""
    found: dict[str, Any] = page.evaluate("() => ({...window.bitfoldExplorer.state})")
    return found


def drawn_pixels(page: Page) -> int:
    """Return the number of pixels of the first map that points cover."""
    return int(
        page.evaluate("""() => {
            window.bitfoldExplorer.map.draw();  // a frame of WebGL can be read until it is shown
            const canvases = [...document.querySelectorAll(".view:not([hidden]) canvas.points")];
            const copy = Object.assign(document.createElement("canvas"), {
                width: canvases[0].width, height: canvases[0].height });
            const context = copy.getContext("2d");
            for (const canvas of canvases.slice(0, 2)) context.drawImage(canvas, 0, 0);
            const { data } = context.getImageData(0, 0, copy.width, copy.height);
            let n = 0;
            for (let i = 3; i < data.length; i += 4) n += data[i] > 0;
            return n;
        }""")
    )


def place_of(page: Page, point: int) -> tuple[float, float]:
    """Return where an item is in the window."""
    x, y = page.evaluate(
        """point => {
            const { map } = window.bitfoldExplorer;
            const frame = map.top.getBoundingClientRect();
            const at = map.worldOf({ kind: "item", index: point });
            const [x, y] = map.camera.toScreen(...at);
            return [frame.x + x, frame.y + y];
        }""",
        point,
    )
    return x, y


def map_box(page: Page) -> tuple[float, float, float, float]:
    """Return left, top, width and height of the map."""
    box = page.locator("canvas.marks:visible").first.bounding_box()
    assert box is not None
    return box["x"], box["y"], box["width"], box["height"]


def drag(page: Page, places: list[tuple[float, float]]) -> None:
    """Press at the first place, move to the others, and release."""
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=3)
        # A busy page merges movements until its next frame.
        page.evaluate("() => new Promise(requestAnimationFrame)")
    page.mouse.up()
