"""The demo's page: one HTML file with its pictures inside, which needs nothing from outside."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from importlib.resources import files
from string import Template

import numpy as np

from bitfold._types import BoolArray, UInt8Array
from reproduction.demo.comparison import COLUMNS, DEFAULT, RADIUS, Digits, Run, about, cells, shown
from reproduction.demo.images import CLEAR, GRAY, RED, image, ink, paint

TOP = 10
DEPTH = 150
"""How far down the ranking the strips go: about as many as there are of each digit."""
STEP = 15
"""Of those places, every which one has its bits drawn."""


def render(digits: Digits, runs: list[Run], command: str) -> str:
    """Write the page; it names the command that makes it again."""
    template = files("reproduction.demo").joinpath("page.html").read_text("utf-8")
    coded = default(runs)
    return Template(template).substitute(
        title=f"Handwritten digits, found by {coded.score.bits} bits",
        sentences=sentences(digits, runs),
        scores=scores(runs),
        nearest=nearest(digits, runs),
        codes=codes(digits, coded),
        method=escape(coded.score.method),
        n_queries=len(digits.queries),
        n_database=f"{len(digits.database):,}",
        radius=RADIUS,
        top=TOP,
        depth=DEPTH,
        step=STEP,
        command=escape(command),
    )


def default(runs: list[Run]) -> Run:
    """Return the library's default method: the page speaks of it where it speaks of one."""
    return next(run for run in runs if run.score.method == DEFAULT)


def sentences(digits: Digits, runs: list[Run]) -> str:
    """Say in two sentences what is to be seen; the figures are those of this very run."""
    coded, scan = default(runs), runs[-1]
    near = [wrong(digits, run, TOP) for run in (coded, scan)]
    far = [wrong(digits, run, DEPTH).mean() for run in (coded, scan)]
    return (
        f"Codes of {coded.score.bits} bits by {coded.score.method} find digits of the same kind "
        f"with a mean average precision of <b>{coded.score.map:.1%}</b>, an exact scan of all "
        f"pixels with <b>{scan.score.map:.1%}</b>; a code takes {coded.score.bytes_per_item} "
        f"bytes, the pixels {scan.score.bytes_per_item}. "
        f"Of the {near[0].size} nearest digits shown below, {near[0].sum()} are wrong by the codes "
        f"and {near[1].sum()} by the scan; of the first {DEPTH} places of each ranking, "
        f"{far[0]:.0%} and {far[1]:.0%}."
    )


def wrong(digits: Digits, run: Run, depth: int) -> BoolArray:
    """Tell which of the first places hold another digit than the query's, a query a row."""
    labels = digits.query_labels[shown(digits)]
    return np.asarray(digits.labels[run.ranked[:, :depth]] != labels[:, None])


def scores(runs: list[Run]) -> str:
    """Write the table of results."""
    rows = "\n".join(_score(run) for run in runs)
    return f'<div class="wide">{_table("scores", COLUMNS, rows)}</div>'


def _table(kind: str, columns: Iterable[str], rows: str) -> str:
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    return (
        f'<table class="{kind}"><thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table>'
    )


def _score(run: Run) -> str:
    name, *numbers = cells(run.score)
    head = f'<th scope="row">{escape(name)}<small>{escape(about(run.score))}</small></th>'
    return f"<tr>{head}{''.join(f'<td>{number}</td>' for number in numbers)}</tr>"


def nearest(digits: Digits, runs: list[Run]) -> str:
    """Write the paper's first figure: queries, and what each method finds nearest to them."""
    rows = "\n".join(_query(digits, runs, row) for row in range(len(shown(digits))))
    return _table("nearest", ["query", *(run.score.method for run in runs)], rows)


def _query(digits: Digits, runs: list[Run], row: int) -> str:
    query = shown(digits)[row]
    label = int(digits.query_labels[query])
    picture = _digit(digits.queries[query], f"query: a {label}", "query")
    found = "".join(_found(digits, run, row) for run in runs)
    return f'<tr><th scope="row">{picture}</th>{found}</tr>'


def _found(digits: Digits, run: Run, row: int) -> str:
    """Write one cell: the nearest, and the strip of the ranking."""
    missed = wrong(digits, run, DEPTH)[row]
    pictures = "".join(
        _digit(digits.database[item], *_verdict(int(digits.labels[item]), bool(missed[place])))
        for place, item in enumerate(run.ranked[row, :TOP])
    )
    places = f"{missed.sum()} of the first {DEPTH} wrong"
    strip = image(paint(missed[None], RED, GRAY), places, "strip")
    name = escape(run.score.method)
    return f'<td data-method="{name}"><div class="ten">{pictures}</div>{strip}</td>'


def _verdict(label: int, missed: bool) -> tuple[str, str]:
    return (f"a {label}, wrong", "wrong") if missed else (f"a {label}", "right")


def _digit(pixels: UInt8Array, text: str, kind: str) -> str:
    return f'<span class="tile {kind}">{image(ink(pixels), text, "digit")}</span>'


def codes(digits: Digits, run: Run) -> str:
    """Write the codes of each query and of the places below it as pictures of their bits."""
    if run.codes is None:
        return ""
    queries, database = run.codes
    pairs = zip(shown(digits), run.ranked[:, STEP - 1 : DEPTH : STEP], strict=True)
    pictures = (
        _bits(queries[query].unpack(), database[found].unpack(), int(digits.query_labels[query]))
        for query, found in pairs
    )
    return f'<div class="codes">{"".join(pictures)}</div>'


def _bits(own: UInt8Array, others: UInt8Array, label: int) -> str:
    """Draw a query's code above others; a bit that differs from it is red."""
    bits = np.concatenate([own, others]).astype(bool)
    pixels = paint(bits, GRAY, CLEAR)
    pixels[bits != bits[0]] = RED
    apart = ", ".join(str(n) for n in (others != own).sum(axis=1))
    text = f"Code of a {label}, and others that differ from it in {apart} bits"
    return f"<figure><figcaption>{label}</figcaption>{image(pixels, text, 'bits')}</figure>"
