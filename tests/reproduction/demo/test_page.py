"""The demo's page."""

from __future__ import annotations

import base64
import io
import re
from html.parser import HTMLParser

from PIL import Image
from reproduction.demo.comparison import format_row
from tests.reproduction.demo.conftest import DemoRun

VOID_TAGS = {"meta", "img"}


class PageParser(HTMLParser):
    """Collects the tags, and checks that every tag is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID_TAGS:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def list_images(self, css_class: str = "") -> list[dict[str, str]]:
        images = [attributes for tag, attributes in self.tags if tag == "img"]
        return [image for image in images if css_class in ("", image["class"])]


def read_size(image: dict[str, str]) -> tuple[int, int]:
    head, data = image["src"].split(",")
    assert head == "data:image/png;base64"
    with Image.open(io.BytesIO(base64.b64decode(data))) as opened:
        return opened.size


def test_page_is_well_formed_and_complete(demo_run: DemoRun) -> None:
    page = PageParser(demo_run.page)
    assert len(page.list_images("digit")) == 10 * (1 + 5 * 10)
    assert len(page.list_images("strip")) == 10 * 5
    assert len(page.list_images("bits")) == 10
    assert all(image["alt"] for image in page.list_images())
    assert {read_size(image) for image in page.list_images("digit")} == {(8, 8)}
    assert {read_size(image) for image in page.list_images("strip")} == {(150, 1)}
    assert {read_size(image) for image in page.list_images("bits")} == {(64, 11)}
    assert "command &lt;x&gt;" in demo_run.page


def test_page_loads_nothing_from_elsewhere(demo_run: DemoRun) -> None:
    assert not re.search(r"https?:|url\(|@import|\$", demo_run.page)
    tags = PageParser(demo_run.page).tags
    assert {tag for tag, _ in tags} & {"script", "link", "iframe", "object", "base"} == set()
    sources = [attributes["src"] for _, attributes in tags if "src" in attributes]
    assert all(source.startswith("data:") for source in sources)


def test_only_wrong_digits_are_outlined(demo_run: DemoRun) -> None:
    page = PageParser(demo_run.page)
    classes = [attributes["class"] for tag, attributes in page.tags if tag == "span"]
    tiles = [name.removeprefix("tile ") for name in classes if name.startswith("tile ")]
    texts = [image["alt"] for image in page.list_images("digit")]
    query = ""
    for tile, text in zip(tiles, texts, strict=True):
        label = re.findall(r"\d", text)[0]
        query = label if tile == "query" else query
        assert tile == ("query" if "query" in text else "right" if label == query else "wrong")
    assert [text[-1] for text in texts if "query" in text] == list("0123456789")
    assert "wrong" in tiles


def test_page_has_the_table(demo_run: DemoRun) -> None:
    for result in demo_run.results:
        name, *cells = format_row(result.score)
        row = demo_run.page.split(f'<th scope="row">{name}<small>')[1].split("</tr>")[0]
        assert re.findall("<td>(.*?)</td>", row) == cells
