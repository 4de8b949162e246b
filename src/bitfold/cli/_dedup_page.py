"""A web page of the largest groups: one file, without anything from elsewhere."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer

from bitfold._types import Ids
from bitfold.cli._dedup_table import GroupTable
from bitfold.errors import DataError, FormatError
from bitfold.io.formats.request import translate_errors

MAX_GROUPS = 50
"""Largest number of groups on the page."""

MAX_ITEMS = 24
"""Largest number of items of a group on the page."""

MAX_TEXT_LENGTH = 400
"""Largest number of characters of a text on the page."""

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem;
  color-scheme: light dark }
section { border-top: 1px solid #8884; margin-top: 1.5rem }
h2 { font-size: 1.05rem }
ul { display: flex; flex-wrap: wrap; gap: .75rem; list-style: none; padding: 0 }
li { border: 1px solid #8884; border-radius: 6px; padding: .5rem; max-width: 24rem }
li.keep { border-color: #2a8a4a; border-width: 2px }
img { display: block; image-rendering: pixelated; min-width: 96px; max-width: 192px }
small { opacity: .75 }
p.text { margin: 0; overflow-wrap: anywhere }
"""


class PageContent(NamedTuple):
    """Where the page goes, and what it shows of each item."""

    page: Path
    images: Path | None
    texts: Path | None

    @classmethod
    def create(
        cls, page: Path | None, images: Path | None, texts: Path | None
    ) -> PageContent | None:
        """Return the content of a page, if one is wanted."""
        if page is None and (images is not None or texts is not None):
            raise typer.BadParameter("--images and --texts are for the page: use --page.")
        return None if page is None else cls(page, images, texts)

    def render(self, table: GroupTable, ids: Ids, summary: str) -> bytes:
        """Return the page; ``ids`` are those of all items."""
        groups = list(_choose_groups(table))
        shown = np.unique(np.concatenate([table.id[:0], *(table.id[group] for group in groups)]))
        texts = {} if self.texts is None else read_chosen_lines(self.texts, shown)
        images = None if self.images is None else _open_images(self.images, ids)
        return _render(table, groups, summary, texts, images).encode()


def read_chosen_lines(path: Path, ids: Ids) -> dict[int, str]:
    """Read the lines of some items of a text file in UTF-8; line i belongs to item i."""
    wanted = set(ids.tolist())
    with (
        translate_errors(path, "a text file in UTF-8", UnicodeDecodeError),
        path.open(encoding="utf-8", newline="\n") as file,
    ):
        lines = {i: line.rstrip("\r\n") for i, line in enumerate(file) if i in wanted}
    missing = sorted(wanted - lines.keys())
    if missing:
        raise DataError(f"{path} has no line for item {missing[0]}; it needs one line per item.")
    return lines


def _open_images(path: Path, ids: Ids) -> Any:
    try:
        from bitfold.explorer.images import open_images_by_id
    except ImportError as error:
        raise ImportError('--images needs Pillow: pip install "bitfold[explorer]".') from error
    return open_images_by_id(path, ids)


def _choose_groups(table: GroupTable) -> Iterator[slice]:
    """Yield the rows of the largest groups, largest first, ties in the order of the table."""
    offsets = table.offsets
    for group in np.argsort(-np.diff(offsets), kind="stable")[:MAX_GROUPS].tolist():
        yield slice(int(offsets[group]), int(offsets[group + 1]))


def _render(
    table: GroupTable, groups: list[slice], summary: str, texts: dict[int, str], images: Any
) -> str:
    sections = [_render_group(table, group, texts, images) for group in groups]
    lines = "<br>\n".join(escape(line) for line in summary.split("\n"))
    more = table.n_groups - len(groups)
    end = f"<p>{more:,} smaller groups are not shown.</p>" if more else ""
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n<title>Near-duplicates</title>\n'
        f"<style>{STYLE}</style>\n<h1>Near-duplicates</h1>\n<p>{lines}</p>\n"
        f"{''.join(sections)}{end}\n</html>\n"
    )


def _render_group(table: GroupTable, rows: slice, texts: dict[int, str], images: Any) -> str:
    first, size = rows.start, rows.stop - rows.start
    is_matched = table.in_index is not None and bool(table.in_index[first])
    place = ", an item of the index" if is_matched else ""
    shown = range(first, min(rows.stop, first + MAX_ITEMS))
    items = "".join(_render_item(table, row, texts, images) for row in shown)
    more = f"<p>and {size - len(shown):,} more</p>" if size > len(shown) else ""
    return (
        f"<section>\n<h2>Group {table.group[first]}: {size:,} items near "
        f"{table.representative[first]}{place}</h2>\n<ul>\n{items}</ul>\n{more}</section>\n"
    )


def _render_item(table: GroupTable, row: int, texts: dict[int, str], images: Any) -> str:
    item, is_kept = int(table.id[row]), bool(table.keep[row])
    text = escape(texts.get(item, "")[:MAX_TEXT_LENGTH])
    exact = "" if table.exact_distance is None else f", exact {table.exact_distance[row]:.4g}"
    state = "keep" if is_kept else f"distance {table.distance[row]}{exact}"
    return (
        f"<li{' class=keep' if is_kept else ''}>{_render_image(item, images)}"
        f"{f'<p class=text>{text}</p>' if text else ''}<small>{item}: {state}</small></li>\n"
    )


def _render_image(item: int, images: Any) -> str:
    """Return the image of an item within the page, or why it cannot be shown."""
    if images is None or item not in images:
        return ""
    try:
        encoded = base64.b64encode(images.png(item)).decode()
    except (FormatError, DataError, OSError) as error:
        return f"<p class=text>{escape(str(error))}</p>"
    return f'<img alt="" src="data:image/png;base64,{encoded}">'
