"""The demo's page: one HTML file with embedded images, which loads nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path
from string import Template

import numpy as np

from bitfold.datasets import Dataset
from reproduction.demo.comparison import (
    COLUMNS,
    DEFAULT_METHOD,
    RADIUS,
    MethodResult,
    choose_queries,
    format_row,
)
from reproduction.demo.images import CLEAR, GRAY, RED, color_mask, draw_digit, embed_image
from reproduction.shared_types import BoolArray, UInt8Array

N_NEAREST = 10
N_RANKED = 150
"""Length of the strips of a ranking: about the number of items of each digit."""

CODE_STEP = 15
"""The codes of every 15th item of the ranking are drawn."""

_TEMPLATE = Path(__file__).with_name("page.html")


def render_page(data: Dataset, results: list[MethodResult], command: str) -> str:
    """Return the page.

    Parameters
    ----------
    data
        The digits.
    results
        The results of the methods and, last, of the exact scan.
    command
        The command that makes the page.
    """
    default = _find_default(results)
    return Template(_TEMPLATE.read_text("utf-8")).substitute(
        title=f"Handwritten digits, found by {default.score.n_bits} bits",
        summary=_summarize(data, results),
        scores=_render_scores(results),
        nearest=_render_nearest(data, results),
        codes=_render_codes(data, default),
        method=escape(default.score.method),
        n_queries=len(data.queries),
        n_database=f"{len(data.database):,}",
        radius=RADIUS,
        n_nearest=N_NEAREST,
        n_ranked=N_RANKED,
        code_step=CODE_STEP,
        command=escape(command),
    )


def _find_default(results: list[MethodResult]) -> MethodResult:
    return next(result for result in results if result.score.method == DEFAULT_METHOD)


def _summarize(data: Dataset, results: list[MethodResult]) -> str:
    """Return the main results in words."""
    codes, scan = _find_default(results), results[-1]
    near = [_find_wrong(data, result, N_NEAREST) for result in (codes, scan)]
    far = [_find_wrong(data, result, N_RANKED).mean() for result in (codes, scan)]
    return (
        f"{DEFAULT_METHOD} codes of {codes.score.n_bits} bits retrieve the same digit with a mean "
        f"average precision of <b>{codes.score.map:.1%}</b>, an exact scan of all pixels with "
        f"<b>{scan.score.map:.1%}</b>. A code takes {codes.score.bytes_per_item} bytes, the pixels "
        f"take {scan.score.bytes_per_item}. Of the {near[0].size} nearest digits shown below, "
        f"{near[0].sum()} are wrong by the codes and {near[1].sum()} by the scan; of the first "
        f"{N_RANKED} items of each ranking, {far[0]:.0%} and {far[1]:.0%}."
    )


def _find_wrong(data: Dataset, result: MethodResult, n_items: int) -> BoolArray:
    """Return which of the first items are another digit than the query, one row per query."""
    labels = data.query_labels[choose_queries(data)]
    return np.asarray(data.labels[result.rankings[:, :n_items]] != labels[:, None])


def _render_scores(results: list[MethodResult]) -> str:
    rows = "\n".join(map(_render_score, results))
    return f'<div class="wide">{_render_table("scores", COLUMNS, rows)}</div>'


def _render_table(css_class: str, columns: Iterable[str], rows: str) -> str:
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    body = f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>"
    return f'<table class="{css_class}">{body}</table>'


def _render_score(result: MethodResult) -> str:
    name, *numbers = format_row(result.score)
    description, n_base_points = result.score.description, result.score.n_base_points
    if n_base_points is not None:
        description += f"; {n_base_points:,} base points"
    head = f'<th scope="row">{escape(name)}<small>{escape(description)}</small></th>'
    return f"<tr>{head}{''.join(f'<td>{number}</td>' for number in numbers)}</tr>"


def _render_nearest(data: Dataset, results: list[MethodResult]) -> str:
    """Return queries and what each method finds nearest to them, as in Fig. 2 of the paper."""
    rows = "\n".join(_render_query(data, results, i) for i in range(len(choose_queries(data))))
    return _render_table("nearest", ["query", *(r.score.method for r in results)], rows)


def _render_query(data: Dataset, results: list[MethodResult], row: int) -> str:
    query = choose_queries(data)[row]
    image = _render_digit(data.queries[query], f"query: a {data.query_labels[query]}", "query")
    cells = "".join(_render_hits(data, result, row) for result in results)
    return f'<tr><th scope="row">{image}</th>{cells}</tr>'


def _render_hits(data: Dataset, result: MethodResult, row: int) -> str:
    """Return the nearest digits, and the strip of the ranking."""
    wrong = _find_wrong(data, result, N_RANKED)[row]
    images = "".join(
        _render_hit(data.database[item], int(data.labels[item]), is_wrong=bool(wrong[rank]))
        for rank, item in enumerate(result.rankings[row, :N_NEAREST])
    )
    text = f"{wrong.sum()} of the first {N_RANKED} wrong"
    strip = embed_image(color_mask(wrong[None], RED, GRAY), text, "strip")
    name = escape(result.score.method)
    return f'<td data-method="{name}"><div class="ten">{images}</div>{strip}</td>'


def _render_hit(pixels: UInt8Array, label: int, *, is_wrong: bool) -> str:
    if is_wrong:
        return _render_digit(pixels, f"a {label}, wrong", "wrong")
    return _render_digit(pixels, f"a {label}", "right")


def _render_digit(pixels: UInt8Array, text: str, css_class: str) -> str:
    image = embed_image(draw_digit(pixels), text, "digit")
    return f'<span class="tile {css_class}">{image}</span>'


def _render_codes(data: Dataset, result: MethodResult) -> str:
    """Return the codes of each query and of items in its ranking, as images of their bits."""
    if result.codes is None:
        return ""
    queries, database = result.codes
    pairs = zip(
        choose_queries(data),
        result.rankings[:, CODE_STEP - 1 : N_RANKED : CODE_STEP],
        strict=True,
    )
    images = (
        _render_bits(
            queries[query].unpack(), database[items].unpack(), int(data.query_labels[query])
        )
        for query, items in pairs
    )
    return f'<div class="codes">{"".join(images)}</div>'


def _render_bits(query: UInt8Array, others: UInt8Array, label: int) -> str:
    """Draw the code of a query above others, whose differing bits are red."""
    bits = np.concatenate([query, others]).astype(bool)
    pixels = color_mask(bits, GRAY, CLEAR)
    pixels[bits != bits[0]] = RED
    distances = ", ".join(str(n) for n in (others != query).sum(axis=1))
    text = f"Code of a {label}, and others that differ from it in {distances} bits"
    image = embed_image(pixels, text, "bits")
    return f"<figure><figcaption>{label}</figcaption>{image}</figure>"
